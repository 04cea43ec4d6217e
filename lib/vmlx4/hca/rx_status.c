/* SPDX-License-Identifier: BSD-3-Clause */

#include <netinet/in.h>

#include "internal.h"

/*
 * Ones' complement sum of pseudo header and IP payload: 0xffff when a TCP or
 * UDP checksum is right, and what CHECKSUM_COMPLETE users start from otherwise.
 */
static uint16_t
payload_sum(const uint8_t *frame, const struct vmlx4_parsed *p, size_t start)
{
	size_t length = p->l3_payload_end - start;
	uint64_t sum = vmlx4_sum_pseudo(frame, p, p->ip_protocol, (uint32_t)length);

	return vmlx4_sum_fold(vmlx4_sum(frame + start, length, sum));
}

static void
status_l4(const struct vmlx4_unknowns *unknowns, const uint8_t *frame,
	const struct vmlx4_parsed *p, size_t start, struct vmlx4_rx_status *st)
{
	bool none;

	if (p->l4 == VMLX4_L4_TCP || (p->first_fragment && p->ip_protocol == IPPROTO_TCP))
		st->status |= VMLX4_HW_ST_TCP;
	else if (p->l4 == VMLX4_L4_UDP || (p->first_fragment && p->ip_protocol == IPPROTO_UDP))
		st->status |= VMLX4_HW_ST_UDP;
	st->checksum = payload_sum(frame, p, start);
	if (p->l4 == VMLX4_L4_NONE || p->truncated)
		return;
	/* A UDP checksum of zero says that the sender made none: nothing to verify. */
	none = p->l4 == VMLX4_L4_UDP && frame[start + 6] == 0 && frame[start + 7] == 0;
	if (st->checksum == 0xffff && !none &&
	    ((st->status & VMLX4_HW_ST_IPOK) || p->l3 == VMLX4_L3_IPV6 ||
	     unknowns->rx_l4_without_ip))
		st->status |= VMLX4_HW_ST_L4OK;
}

static void
status_ip(const struct vmlx4_unknowns *unknowns, const uint8_t *frame,
	const struct vmlx4_parsed *p, struct vmlx4_rx_status *st)
{
	size_t start = p->l4_offset;

	st->status = p->llc;
	if (p->l3 == VMLX4_L3_IPV4) {
		const uint8_t *ip = frame + p->l3_offset;
		size_t header = (ip[0] & 0xf) * 4u;

		st->status |= VMLX4_HW_ST_IPV4;
		if (p->options)
			st->status |= VMLX4_HW_ST_IPV4OPT;
		if (p->fragment)
			st->status |= VMLX4_HW_ST_IPV4F;
		if (vmlx4_sum_fold(vmlx4_sum(ip, header, 0)) == 0xffff)
			st->status |= VMLX4_HW_ST_IPOK;
		status_l4(unknowns, frame, p, p->l3_offset + header, st);
	} else if (p->l3 == VMLX4_L3_IPV6) {
		st->status |= VMLX4_HW_ST_IPV6 |
			(uint32_t)p->ipv6_ext_mask << VMLX4_HW_ST_EXT_SHIFT;
		if (unknowns->rx_ipv6_ipok)
			st->status |= VMLX4_HW_ST_IPOK;
		status_l4(unknowns, frame, p, start != 0 ? start : p->l3_offset + 40u, st);
	}
}

/* Of a tunnel the status is about the inner packet, and these bits about the outer. */
static uint32_t
tunnel_bits(const struct vmlx4_unknowns *unknowns, const uint8_t *frame,
	const struct vmlx4_parsed *outer)
{
	struct vmlx4_rx_status st = { 0 };
	uint32_t bits = VMLX4_HW_CQE_TUNNEL;

	status_ip(unknowns, frame, outer, &st);
	if (outer->l3 == VMLX4_L3_IPV4)
		bits |= VMLX4_HW_CQE_TUNNEL_IPV4;
	if ((st.status & VMLX4_HW_ST_IPOK) != 0)
		bits |= VMLX4_HW_CQE_TUNNEL_IPOK;
	if ((st.status & VMLX4_HW_ST_L4OK) != 0 || (unknowns->rx_tunnel_no_sum_ok &&
	    vmlx4_be16(frame + outer->l4_offset + 6) == 0))
		bits |= VMLX4_HW_CQE_TUNNEL_L4OK;
	return bits;
}

void
vmlx4_rx_status(const struct vmlx4_unknowns *unknowns, const uint8_t *frame,
	const struct vmlx4_parsed *p, struct vmlx4_rx_status *st)
{
	st->vlan = 0;
	st->sl_vid = 0;
	st->checksum = 0;
	if (unlikely(p->vlans != 0) && unknowns->rx_sl_vid_unstripped) {
		st->vlan = p->s_vlan ? VMLX4_HW_CQE_SVLAN : VMLX4_HW_CQE_CVLAN;
		st->sl_vid = p->vlan_tci;
	}
	if (unlikely(p->inner != NULL))
		st->vlan |= tunnel_bits(unknowns, frame, p);
	status_ip(unknowns, frame, p->inner != NULL ? p->inner : p, st);
}
