/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

static void
malformed(struct vmlx4_qp *qp, struct vmlx4_gather *g, enum vmlx4_rule rule, uint32_t at,
	uint32_t dword, const char *what)
{
	g->syndrome = VMLX4_HW_SYN_LOC_QP_OP;
	vmlx4_violation(qp->obj.ctx->adapter, rule, "SQ", qp->qpn, qp->sq.ci,
		"segment %#x at byte %u: %s", dword, at, what);
}

static void
add(struct vmlx4_gather *g, const uint8_t *base, uint32_t size)
{
	if (size == 0)
		return;
	g->base[g->segs] = base;
	g->size[g->segs++] = size;
	g->length += size;
}

/* Bytes in the WQE itself; returns what the segment occupies. */
static uint32_t
gather_inline(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t at, uint32_t end,
	struct vmlx4_gather *g)
{
	uint32_t header = vmlx4_be32(wqe + at), size = header & ~VMLX4_HW_INLINE;
	uint32_t room = VMLX4_HW_CHUNK - at % VMLX4_HW_CHUNK - 4;

	if (size > VMLX4_HW_MAX_INLINE || size > room)
		malformed(qp, g, VMLX4_RULE_SQ_INLINE, at, header,
			"inline data crosses a 64-byte boundary");
	else if (at + 4 + size > end)
		malformed(qp, g, VMLX4_RULE_SQ_DS, at, header,
			"inline data ends behind the WQE");
	else
		add(g, wqe + at + 4, size);
	return (4 + size + 15) & ~15u;
}

static void
gather_pointer(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t at,
	struct vmlx4_gather *g)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint32_t size = vmlx4_be32(wqe + at), lkey = vmlx4_be32(wqe + at + 4);
	uint64_t addr = (uint64_t)vmlx4_be32(wqe + at + 8) << 32 | vmlx4_be32(wqe + at + 12);
	const uint8_t *base;

	if (unlikely(size == 0)) {
		malformed(qp, g, VMLX4_RULE_SQ_ZERO, at, size, "stands for 2^31 bytes");
		g->syndrome = VMLX4_HW_SYN_LOC_PROT;
		return;
	}
	base = vmlx4_mr_lookup(adapter, qp->pd, lkey, addr, size, 0);
	if (likely(base != NULL && size < 0x80000000u - g->length)) {
		add(g, base, size);
		return;
	}
	g->syndrome = VMLX4_HW_SYN_LOC_PROT;
	vmlx4_violation(adapter, VMLX4_RULE_LKEY, "SQ", qp->qpn, qp->sq.ci,
		"lkey %#x for %u bytes at %#llx: %s", lkey, size, (unsigned long long)addr,
		vmlx4_mr_reason(adapter, qp->pd, lkey, addr, size, 0));
}

void
vmlx4_gather(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t offset,
	uint32_t size, struct vmlx4_gather *g)
{
	uint32_t at = offset;

	g->segs = 0;
	g->length = 0;
	g->syndrome = 0;
	if (offset > size)
		malformed(qp, g, VMLX4_RULE_SQ_DS, offset, 0, "begins behind the WQE");
	while (at < size && g->syndrome == 0) {
		if (vmlx4_be32(wqe + at) & VMLX4_HW_INLINE) {
			at += gather_inline(qp, wqe, at, size, g);
		} else {
			gather_pointer(qp, wqe, at, g);
			at += 16;
		}
	}
}

void
vmlx4_gather_copy(const struct vmlx4_gather *g, uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < g->segs; i++) {
		memcpy(to, g->base[i], g->size[i]);
		to += g->size[i];
	}
}
