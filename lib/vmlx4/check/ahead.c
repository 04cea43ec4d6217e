/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/internal.h"
#include "ahead.h"
#include "sq_ring.h"

#define BLOCKS (VMLX4_HW_PREFETCH / VMLX4_HW_CHUNK)
#define UNUSED_STRIDE 0x80000000u /* dword 0 of a block that libmlx4 initialised */

struct vmlx4_ahead {
	unsigned int kept;      /* of these */
	struct {
		bool kept;
		uint32_t block; /* running number */
		uint8_t data[VMLX4_HW_CHUNK];
	} blocks[BLOCKS];
};

struct vmlx4_ahead *
vmlx4_ahead_new(void)
{
	return vmlx4_zalloc(sizeof(struct vmlx4_ahead));
}

static uint32_t
blocks_per_stride(const struct vmlx4_sq *sq)
{
	return (1u << sq->stride_shift) / VMLX4_HW_CHUNK;
}

static void
read_block(const struct vmlx4_sq *sq, struct vmlx4_ahead *ahead, uint32_t block)
{
	uint32_t mask = sq->wqe_cnt * blocks_per_stride(sq) - 1, dw0;
	const uint8_t *at = sq->buf + (size_t)(block & mask) * VMLX4_HW_CHUNK;
	unsigned int i = block % BLOCKS;

	/* What was taken for written is not fetched again. */
	if (ahead->blocks[i].kept && ahead->blocks[i].block == block)
		return;
	ahead->kept -= ahead->blocks[i].kept;
	/* Orders: the dword that says "written", before the rest. */
	dw0 = vmlx4_load_be32((const uint32_t *)(const void *)at);
	ahead->blocks[i].kept = (dw0 & VMLX4_HW_STAMP) != VMLX4_HW_STAMP && dw0 != UNUSED_STRIDE;
	ahead->kept += ahead->blocks[i].kept;
	ahead->blocks[i].block = block;
	memcpy(ahead->blocks[i].data, at, VMLX4_HW_CHUNK);
	/* The dword that was judged: it may have been written meanwhile. */
	vmlx4_put_be32(ahead->blocks[i].data, dw0);
}

void
vmlx4_ahead_read(struct vmlx4_qp *qp, struct vmlx4_ahead *ahead)
{
	const struct vmlx4_sq *sq = &qp->sq;
	uint32_t first = sq->ci * blocks_per_stride(sq), i;

	for (i = 0; i < BLOCKS && i < sq->wqe_cnt * blocks_per_stride(sq); i++)
		read_block(sq, ahead, first + i);
}

static bool
posted(const struct vmlx4_sq *sq, const uint8_t *block)
{
	return (vmlx4_be32(block) >> 31) == ((sq->ci & sq->wqe_cnt) != 0);
}

/* The control segment but for what libmlx4 adds for BlueFlame behind the owner bit. */
static bool
same_control(const uint8_t *a, const uint8_t *b, uint32_t qpn)
{
	uint32_t a1 = vmlx4_be32(a + 4), b1 = vmlx4_be32(b + 4);

	if ((a1 >> 8) == 0 && (b1 >> 8) == qpn)
		b1 &= 0xff;
	return ((vmlx4_be32(a) ^ vmlx4_be32(b)) & ~VMLX4_HW_BF_INDEX) == 0 && a1 == b1 &&
		memcmp(a + 8, b + 8, 8) == 0;
}

static void
compare_first(struct vmlx4_qp *qp, const uint8_t *then, const uint8_t *now, uint32_t size)
{
	if (!posted(&qp->sq, then))
		return; /* it is fetched again once it is announced */
	if (same_control(then, now, qp->qpn) &&
	    (size <= 16 || memcmp(then + 16, now + 16, size - 16) == 0))
		return;
	vmlx4_violation(qp->obj.ctx->adapter, VMLX4_RULE_SQ_OWNER_LAST, "SQ", qp->qpn, qp->sq.ci,
		"read ahead with the owner bit of this pass (dword 0 %#x), and changed since",
		vmlx4_be32(then));
}

static void
compare_later(struct vmlx4_qp *qp, const uint8_t *then, const uint8_t *now, uint32_t at,
	uint32_t size)
{
	enum vmlx4_rule rule = memcmp(then, now, 4) == 0 ? VMLX4_RULE_SQ_FIRST_DWORD :
		VMLX4_RULE_SQ_STAMP;

	if (memcmp(then, now, size) == 0)
		return;
	vmlx4_violation(qp->obj.ctx->adapter, rule, "SQ", qp->qpn, qp->sq.ci,
		"the block at byte %u of the WQE was read ahead with dword 0 %#x, which reads as "
		"written, and changed since", at, vmlx4_be32(then));
}

void
vmlx4_ahead_compare(struct vmlx4_qp *qp, struct vmlx4_ahead *ahead, const uint8_t *wqe,
	uint32_t size)
{
	uint32_t block = qp->sq.ci * blocks_per_stride(&qp->sq), at;

	if (likely(ahead->kept == 0))
		return;
	for (at = 0; at < size; at += VMLX4_HW_CHUNK, block++) {
		uint32_t rest = size - at < VMLX4_HW_CHUNK ? size - at : VMLX4_HW_CHUNK;
		unsigned int i = block % BLOCKS;

		if (!ahead->blocks[i].kept || ahead->blocks[i].block != block)
			continue;
		ahead->blocks[i].kept = false;
		ahead->kept--;
		if (at == 0)
			compare_first(qp, ahead->blocks[i].data, wqe, rest);
		else
			compare_later(qp, ahead->blocks[i].data, wqe + at, at, rest);
	}
}
