/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

static void
store_sum(uint8_t *at, uint16_t sum)
{
	memcpy(at, &sum, 2);
}

static void
fill_ip(uint8_t *ip)
{
	size_t header = (ip[0] & 0xf) * 4u;

	store_sum(ip + 10, 0);
	store_sum(ip + 10, (uint16_t)~vmlx4_sum_fold(vmlx4_sum(ip, header, 0)));
}

/* What the field held before does not matter: the card overwrites it. */
static void
fill_l4(uint8_t *frame, const struct vmlx4_parsed *p)
{
	size_t length = p->l3_payload_end - p->l4_offset;
	uint8_t *l4 = frame + p->l4_offset;
	uint8_t *at = l4 + (p->l4 == VMLX4_L4_TCP ? 16 : 6);
	uint64_t sum = vmlx4_sum_pseudo(frame, p, p->ip_protocol, (uint32_t)length);
	uint16_t done;

	store_sum(at, 0);
	done = (uint16_t)~vmlx4_sum_fold(vmlx4_sum(l4, length, sum));
	if (done == 0 && p->l4 == VMLX4_L4_UDP)
		done = 0xffff; /* zero would say that there is none */
	store_sum(at, done);
}

static void
fill(uint8_t *frame, bool ip, bool l4, const struct vmlx4_parsed *p)
{
	if (l4 && p->l4 != VMLX4_L4_NONE)
		fill_l4(frame, p);
	if (ip && p->l3 == VMLX4_L3_IPV4)
		fill_ip(frame + p->l3_offset);
}

void
vmlx4_tx_checksums(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask)
{
	struct vmlx4_parsed outer, inner;
	bool tunnel = ask->inner_ip || ask->inner_l4;

	if (!tunnel && !ask->csum_ip && !ask->csum_l4)
		return;
	vmlx4_parse(frame, length, &outer);
	if (tunnel && vmlx4_is_vxlan(frame, &outer, ask->vxlan_port) &&
	    vmlx4_parse_inner(frame, &outer, false, &inner))
		fill(frame, ask->inner_ip, ask->inner_l4, &inner);
	/* The checksum of an outer UDP header is never computed. */
	fill(frame, ask->csum_ip, ask->csum_l4 && !tunnel, &outer);
}

size_t
vmlx4_tx_vlan(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask)
{
	if (ask->vlan_type == 0 || length < 12)
		return length;
	memmove(frame + 16, frame + 12, length - 12);
	vmlx4_put_be16(frame + 12, ask->vlan_type);
	vmlx4_put_be16(frame + 14, ask->vlan_tci);
	return length + 4;
}
