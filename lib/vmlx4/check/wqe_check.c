/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "../hca/internal.h"
#include "../ib/transport.h"
#include "../profile.h"
#include "wqe_check.h"

/* What a send WQE says, apart from where it lies and when. */

/* Dword 0: bits that no source gives a meaning on a raw packet QP. */
#define DW0_RESERVED 0x470000a0u
/* On a QP with a transport neither the checksums nor LSO have a meaning. */
#define DW0_RESERVED_IB 0x5f0000e0u
#define MIN_INLINE 17u /* shorter inline frames hang the card [K: MIN_PKT_LEN] */
#define ETH_HEADER 14u

static void
report(struct vmlx4_qp *qp, enum vmlx4_rule rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void
report(struct vmlx4_qp *qp, enum vmlx4_rule rule, const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	vmlx4_violation(qp->obj.ctx->adapter, rule, "SQ", qp->qpn, qp->sq.ci, "%s", text);
}

static void
check_dword0(struct vmlx4_qp *qp, uint32_t dw0, uint32_t reserved)
{
	uint32_t index = (dw0 & VMLX4_HW_BF_INDEX) >> 8;

	if (unlikely((dw0 & reserved) != 0))
		report(qp, VMLX4_RULE_SQ_RESERVED, "dword 0 is %#x: the bits %#x mean nothing",
			dw0, dw0 & reserved);
	if (unlikely(index != 0 && index != (uint16_t)qp->sq.ci))
		report(qp, VMLX4_RULE_SQ_INDEX, "dword 0 is %#x: index %#x for WQE %#x", dw0,
			index, (uint16_t)qp->sq.ci);
	if (unlikely((dw0 & (VMLX4_HW_IIP | VMLX4_HW_ILP)) != 0 &&
	    !qp->obj.ctx->adapter->profile->tunnel_offload))
		report(qp, VMLX4_RULE_SQ_TUNNEL, "dword 0 is %#x: this card has no inner checksums",
			dw0);
}

static void
check_cqe_bits(struct vmlx4_qp *qp, uint32_t dw2)
{
	uint32_t c = dw2 & VMLX4_HW_CQE_ALWAYS;

	if (unlikely(c != 0 && c != VMLX4_HW_CQE_ALWAYS))
		report(qp, VMLX4_RULE_SQ_CQE_BITS, "flags %#x have one of the two C bits", dw2);
}

static void
check_flags(struct vmlx4_qp *qp, uint32_t op, uint32_t dw1, uint32_t dw2)
{
	if (unlikely((dw1 >> 8) != 0 && (dw1 >> 8) != qp->qpn &&
	    (dw1 & (VMLX4_HW_INS_CVLAN | VMLX4_HW_INS_SVLAN)) == 0))
		report(qp, VMLX4_RULE_SQ_DWORD1,
			"bytes 4..6 are %06x and no VLAN insertion is asked for", dw1 >> 8);
	check_cqe_bits(qp, dw2);
	if (unlikely((op == VMLX4_HW_OP_SEND || op == VMLX4_HW_OP_LSO) && (dw2 & VMLX4_HW_SE) == 0))
		report(qp, VMLX4_RULE_SQ_SE, "flags %#x lack SE: the card would append an ICRC",
			dw2);
}

/* Where the frame starts, or NULL when six bytes of it do not lie together. */
static const uint8_t *
frame_start(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t op, uint32_t size)
{
	uint32_t count;

	if (size < 32)
		return NULL;
	if (op == VMLX4_HW_OP_LSO)
		return wqe + 20;
	count = vmlx4_be32(wqe + 16);
	if ((count & VMLX4_HW_INLINE) != 0)
		return (count & ~VMLX4_HW_INLINE) >= 6 ? wqe + 20 : NULL;
	if (count < 6)
		return NULL;
	return vmlx4_mr_lookup(qp->obj.ctx->adapter, qp->pd, vmlx4_be32(wqe + 20),
		(uint64_t)vmlx4_be32(wqe + 24) << 32 | vmlx4_be32(wqe + 28), 6, 0);
}

/* Bytes 0, 1 in the upper half of the flags, the others in the last dword. */
static void
check_dmac(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t op, uint32_t size)
{
	static const uint8_t none[6];
	const uint8_t *frame;

	if (memcmp(wqe + 8, none, 2) == 0 && memcmp(wqe + 12, none, 4) == 0)
		return;
	frame = frame_start(qp, wqe, op, size);
	if (frame == NULL || (memcmp(wqe + 8, frame, 2) == 0 &&
	    memcmp(wqe + 12, frame + 2, 4) == 0))
		return;
	report(qp, VMLX4_RULE_SQ_DMAC, "the control segment has destination %04x%08x, the frame "
		"%04x%08x", vmlx4_be16(wqe + 8), vmlx4_be32(wqe + 12), vmlx4_be16(frame),
		vmlx4_be32(frame + 2));
}

/* All of the frame lies in the WQE: how long is it? */
static void
check_inline(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	uint32_t at = 16, sum = 0, dw;

	while (at + 4 <= size && ((dw = vmlx4_be32(wqe + at)) & VMLX4_HW_INLINE) != 0) {
		dw &= ~VMLX4_HW_INLINE;
		if (dw > VMLX4_HW_MAX_INLINE)
			return; /* which is said elsewhere */
		sum += dw;
		at += (4 + dw + 15) & ~15u;
	}
	/* A lone empty segment stands for no bytes at all. */
	if (at >= size && sum != 0 && sum < MIN_INLINE)
		report(qp, VMLX4_RULE_SQ_INLINE_MIN, "an inline frame of %u bytes, the least is %u",
			sum, MIN_INLINE);
}

static bool
lso_has_headers(const uint8_t *header, uint32_t length)
{
	struct vmlx4_parsed p;

	vmlx4_parse(header, length, &p);
	return p.l3 != VMLX4_L3_NONE && !p.fragment && p.ip_protocol == 6 &&
		p.l4_offset != 0 && length >= p.l4_offset + 20u &&
		length == p.l4_offset + (header[p.l4_offset + 12] >> 4) * 4u;
}

static void
check_lso(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size, uint32_t dw0)
{
	uint32_t dw = vmlx4_be32(wqe + 16), length = VMLX4_HW_LSO_HEADER(dw);
	bool tunnel = (dw0 & (VMLX4_HW_IIP | VMLX4_HW_ILP)) != 0;

	if (size < 32)
		report(qp, VMLX4_RULE_LSO_HEADER, "no LSO segment in a WQE of %u bytes", size);
	else if (VMLX4_HW_LSO_MSS(dw) == 0)
		report(qp, VMLX4_RULE_LSO_MSS, "LSO segment %#x: the MSS is 0", dw);
	else if (length < ETH_HEADER || 20 + length > size)
		report(qp, VMLX4_RULE_LSO_HEADER, "LSO segment %#x: %u header bytes in a WQE of %u",
			dw, length, size);
	else if (!tunnel && !lso_has_headers(wqe + 20, length))
		report(qp, VMLX4_RULE_LSO_HEADER, "the %u header bytes are not all headers of a "
			"TCP packet and nothing else", length);
	else if (4 + length > VMLX4_HW_CHUNK && (dw0 & VMLX4_HW_BLH) == 0)
		report(qp, VMLX4_RULE_LSO_BLH, "%u header bytes and dword 0 is %#x: bit 6 is clear",
			length, dw0);
}

/*
 * A port of Ethernet computes checksums for raw packets alone: libmlx4 refuses them to
 * datagrams there, and other types of QPs have no flag for them [rc].
 */
static void
check_no_checksums(struct vmlx4_qp *qp, uint32_t dw2)
{
	if (likely((dw2 & (VMLX4_HW_CSUM_IP | VMLX4_HW_CSUM_L4)) == 0))
		return;
	if (qp->qp_type != IBV_QPT_UD || !qp->port->infiniband)
		report(qp, VMLX4_RULE_SQ_RESERVED, "flags %#x ask for checksums, of which the "
			"port has none for this QP", dw2 & 0xff);
}

/* SE is for solicited events here, and nothing is inserted. */
static void
check_transport(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	uint32_t dw0 = vmlx4_be32(wqe), dw1 = vmlx4_be32(wqe + 4), least;

	check_dword0(qp, dw0, DW0_RESERVED_IB);
	if ((dw1 >> 8) != 0 && (dw1 >> 8) != qp->qpn)
		report(qp, VMLX4_RULE_SQ_DWORD1, "bytes 4..6 are %06x, and not 0 or the QPN",
			dw1 >> 8);
	check_cqe_bits(qp, vmlx4_be32(wqe + 8));
	check_no_checksums(qp, vmlx4_be32(wqe + 8));
	least = vmlx4_ib_wqe_least(qp, (uint8_t)(dw0 & VMLX4_HW_OPCODE));
	if (least == 0)
		report(qp, VMLX4_RULE_SQ_OPCODE, "opcode %#x is none of the QP's transport",
			dw0 & VMLX4_HW_OPCODE);
	else if (size < least)
		report(qp, VMLX4_RULE_SQ_DS, "a WQE of %u bytes, with opcode %#x the least is %u",
			size, dw0 & VMLX4_HW_OPCODE, least);
}

void
vmlx4_wqe_check(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	uint32_t dw0 = vmlx4_be32(wqe), op = dw0 & VMLX4_HW_OPCODE;

	if (qp->ib != NULL) {
		check_transport(qp, wqe, size);
		return;
	}
	check_dword0(qp, dw0, DW0_RESERVED);
	check_flags(qp, op, vmlx4_be32(wqe + 4), vmlx4_be32(wqe + 8));
	if (op == VMLX4_HW_OP_NOP)
		return;
	if (op != VMLX4_HW_OP_SEND && op != VMLX4_HW_OP_LSO) {
		report(qp, VMLX4_RULE_SQ_OPCODE, "opcode %#x is none of a raw packet queue", op);
		return;
	}
	check_dmac(qp, wqe, op, size);
	if (op == VMLX4_HW_OP_LSO)
		check_lso(qp, wqe, size, dw0);
	else if (size >= 32 && (vmlx4_be32(wqe + 16) & VMLX4_HW_INLINE) != 0)
		check_inline(qp, wqe, size);
}
