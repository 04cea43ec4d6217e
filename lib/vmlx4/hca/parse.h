/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_PARSE_H_
#define VMLX4_PARSE_H_

/*
 * The adapter's packet parser: used by receive, steering, RSS and TX offloads.
 * Nothing that it reports lies outside the frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vmlx4_l3 { VMLX4_L3_NONE, VMLX4_L3_IPV4, VMLX4_L3_IPV6 };
enum vmlx4_l4 { VMLX4_L4_NONE, VMLX4_L4_TCP, VMLX4_L4_UDP };

struct vmlx4_parsed {
	uint16_t l3_offset;      /* from the start of the frame; 0: no L3 */
	uint16_t l4_offset;      /* behind the IP headers; 0: later fragment or no IP */
	uint16_t l3_payload_end; /* end of the IP packet (padding excluded) */
	uint8_t l3;              /* enum vmlx4_l3 */
	uint8_t l4;              /* enum vmlx4_l4; NONE for fragments */
	uint8_t ip_protocol;
	bool fragment;           /* any fragment, also the first */
	bool first_fragment;
	bool truncated;          /* the frame ends before the IP packet does */
	bool options;            /* IPv4 IHL > 5 */
	bool ipv6_ext;           /* extension headers other than a fragment header */
	uint8_t ipv6_ext_mask;   /* which, as the CQE tells it (hw.h) */
	uint8_t llc;             /* 802.2: 1 LLC, 3 LLC and SNAP */
	uint8_t vlans;           /* tags in front of L3: 0, 1, 2 */
	bool s_vlan;             /* the outer tag is 802.1ad */
	uint16_t vlan_tci;       /* of the outer tag, host order */
	uint16_t ethertype;      /* behind the tags, host order */
	/* Not the parser's: set by whoever knows. */
	uint8_t mac_index;       /* in the port's MAC table, of the destination */
	const struct vmlx4_parsed *inner; /* of a tunnel; offsets in the whole frame */
};

void vmlx4_parse(const uint8_t *frame, size_t length, struct vmlx4_parsed *parsed);

/*
 * Headers without what follows them, as an LSO WQE has them: the lengths in
 * them are not looked at.
 */
void vmlx4_parse_headers(const uint8_t *frame, size_t length, struct vmlx4_parsed *parsed);

#define VMLX4_VXLAN_HEADERS 16u /* UDP and VXLAN */

/* Is what was parsed a VXLAN packet, by its UDP destination port? */
static inline bool
vmlx4_is_vxlan(const uint8_t *frame, const struct vmlx4_parsed *parsed, unsigned int port)
{
	return parsed->l4 == VMLX4_L4_UDP &&
		((unsigned int)frame[parsed->l4_offset + 2] << 8 |
		frame[parsed->l4_offset + 3]) == port;
}

/*
 * The packet inside of a VXLAN packet. False, and nothing written, when there is
 * no room for an Ethernet header. headers: as for vmlx4_parse_headers().
 */
bool vmlx4_parse_inner(const uint8_t *frame, const struct vmlx4_parsed *outer, bool headers,
	struct vmlx4_parsed *inner);

#endif /* VMLX4_PARSE_H_ */
