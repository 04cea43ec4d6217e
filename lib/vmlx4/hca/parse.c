/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

enum {
	ETH_IPV4 = 0x0800,
	ETH_CVLAN = 0x8100,
	ETH_IPV6 = 0x86dd,
	ETH_SVLAN = 0x88a8,
	PROTO_HOPOPTS = 0,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_DSTOPTS = 60,
};

/* The header of TCP or UDP must lie in the frame as a whole. */
static void
parse_l4(size_t end, struct vmlx4_parsed *p)
{
	size_t room = end - p->l4_offset;

	if (p->fragment)
		return;
	if (p->ip_protocol == PROTO_TCP && room >= 20)
		p->l4 = VMLX4_L4_TCP;
	else if (p->ip_protocol == PROTO_UDP && room >= 8)
		p->l4 = VMLX4_L4_UDP;
}

/* Where the IP packet ends, given what its header says. */
static size_t
packet_end(size_t length, size_t l3, size_t total, struct vmlx4_parsed *p)
{
	size_t end = l3 + total;

	if (end > length) {
		p->truncated = true;
		end = length;
	}
	if (end > UINT16_MAX)
		end = UINT16_MAX;
	p->l3_payload_end = (uint16_t)end;
	return end;
}

static void
parse_ipv4(const uint8_t *frame, size_t length, size_t l3, bool headers,
	struct vmlx4_parsed *p)
{
	const uint8_t *ip = frame + l3;
	size_t header, total, end;
	uint16_t frag;

	if (length < l3 + 20 || (ip[0] >> 4) != 4)
		return;
	header = (ip[0] & 0xf) * 4u;
	total = headers ? length - l3 : vmlx4_be16(ip + 2);
	if (header < 20 || length < l3 + header || total < header)
		return;
	end = packet_end(length, l3, total, p);
	frag = vmlx4_be16(ip + 6);
	p->l3 = VMLX4_L3_IPV4;
	p->l3_offset = (uint16_t)l3;
	p->options = header > 20;
	p->ip_protocol = ip[9];
	p->fragment = (frag & 0x3fff) != 0;
	p->first_fragment = (frag & 0x3fff) == 0x2000;
	if ((frag & 0x1fff) != 0)
		return;
	p->l4_offset = (uint16_t)(l3 + header);
	parse_l4(end, p);
}

/*
 * Bits of the extension header mask: only the one of the fragment header is
 * public; the others follow the order of the headers in a packet.
 */
static uint8_t
ext_bit(uint8_t next)
{
	switch (next) {
	case PROTO_HOPOPTS:
		return 0x01;
	case PROTO_ROUTING:
		return 0x02;
	case PROTO_DSTOPTS:
		return 0x04;
	case PROTO_AH:
		return 0x08;
	case PROTO_FRAGMENT:
		return VMLX4_HW_EXT_FRAGMENT;
	default:
		return 0;
	}
}

static void
parse_ipv6(const uint8_t *frame, size_t length, size_t l3, bool headers,
	struct vmlx4_parsed *p)
{
	size_t off = l3 + 40, total, end, step;
	uint8_t next, bit;

	if (length < l3 + 40 || (frame[l3] >> 4) != 6)
		return;
	total = headers ? length - l3 : 40u + vmlx4_be16(frame + l3 + 4);
	end = packet_end(length, l3, total, p);
	p->l3 = VMLX4_L3_IPV6;
	p->l3_offset = (uint16_t)l3;
	next = frame[l3 + 6];
	while ((bit = ext_bit(next)) != 0 && end >= off + 8) {
		p->ipv6_ext_mask |= bit;
		if (next == PROTO_FRAGMENT) {
			uint16_t frag = vmlx4_be16(frame + off + 2);

			p->fragment = true;
			p->first_fragment = (frag & 0xfff8) == 0;
			next = frame[off];
			off += 8;
			if (!p->first_fragment)
				break;
			continue;
		}
		p->ipv6_ext = true;
		step = next == PROTO_AH ? (frame[off + 1] + 2u) * 4u : (frame[off + 1] + 1u) * 8u;
		next = frame[off];
		off += step;
	}
	p->ip_protocol = next;
	if (bit != 0 || off > end)
		return;
	p->l4_offset = (uint16_t)off;
	parse_l4(end, p);
}

static inline void
parse(const uint8_t *frame, size_t length, bool headers, struct vmlx4_parsed *p)
{
	size_t off = 14;
	uint16_t type;

	memset(p, 0, sizeof(*p));
	if (length < 14)
		return;
	type = vmlx4_be16(frame + 12);
	while (unlikely(type == ETH_CVLAN || type == ETH_SVLAN) && p->vlans < 2 &&
	       length >= off + 4) {
		if (p->vlans++ == 0) {
			p->s_vlan = type == ETH_SVLAN;
			p->vlan_tci = vmlx4_be16(frame + off);
		}
		type = vmlx4_be16(frame + off + 2);
		off += 4;
	}
	p->ethertype = type;
	if (type == ETH_IPV4)
		parse_ipv4(frame, length, off, headers, p);
	else if (type == ETH_IPV6)
		parse_ipv6(frame, length, off, headers, p);
	else if (type < 0x600 && length >= off + 3)
		p->llc = length >= off + 8 && frame[off] == 0xaa &&
			frame[off + 1] == 0xaa ? 3 : 1;
}

void
vmlx4_parse(const uint8_t *frame, size_t length, struct vmlx4_parsed *p)
{
	parse(frame, length, false, p);
}

void
vmlx4_parse_headers(const uint8_t *frame, size_t length, struct vmlx4_parsed *p)
{
	parse(frame, length, true, p);
}

bool
vmlx4_parse_inner(const uint8_t *frame, const struct vmlx4_parsed *outer, bool headers,
	struct vmlx4_parsed *inner)
{
	size_t at = outer->l4_offset + VMLX4_VXLAN_HEADERS;

	if (at + 14 > outer->l3_payload_end)
		return false;
	parse(frame + at, outer->l3_payload_end - at, headers, inner);
	if (inner->l3 == VMLX4_L3_NONE)
		return true;
	inner->l3_offset += (uint16_t)at;
	inner->l3_payload_end += (uint16_t)at;
	if (inner->l4_offset != 0)
		inner->l4_offset += (uint16_t)at;
	return true;
}
