/* SPDX-License-Identifier: BSD-3-Clause */

#include "../check/sq_ring.h"
#include "transport.h"

/* What a send WQE of a transport asks for: the segments behind the control one. */

static uint64_t
be64(const uint8_t *at)
{
	return (uint64_t)vmlx4_be32(at) << 32 | vmlx4_be32(at + 4);
}

/* Which transports have the operation, and how long its segments are. */
struct op {
	bool rc, uc, ud;
	uint8_t segments;      /* bytes between the control segment and the data */
};

static const struct op ops[VMLX4_HW_OPCODE + 1] = {
	[VMLX4_HW_OP_NOP] = { true, true, true, 0 },
	[VMLX4_HW_OP_SEND] = { true, true, true, 0 },
	[VMLX4_HW_OP_SEND_IMM] = { true, true, true, 0 },
	[VMLX4_HW_OP_SEND_INVAL] = { true, true, false, 0 },
	[VMLX4_HW_OP_WRITE] = { true, true, false, 16 },
	[VMLX4_HW_OP_WRITE_IMM] = { true, true, false, 16 },
	[VMLX4_HW_OP_READ] = { true, false, false, 16 },
	[VMLX4_HW_OP_ATOMIC_CS] = { true, false, false, 32 },
	[VMLX4_HW_OP_ATOMIC_FA] = { true, false, false, 32 },
	[VMLX4_HW_OP_MASKED_CS] = { true, false, false, 48 },
	[VMLX4_HW_OP_MASKED_FA] = { true, false, false, 32 },
	[VMLX4_HW_OP_BIND_MW] = { true, true, false, 32 },
	[VMLX4_HW_OP_LOCAL_INVAL] = { true, true, false, 32 },
};

static bool
has_op(const struct vmlx4_qp *qp, const struct op *op)
{
	switch (qp->qp_type) {
	case IBV_QPT_UD:
		return op->ud;
	case IBV_QPT_UC:
		return op->uc;
	default:
		return op->rc;
	}
}

uint32_t
vmlx4_ib_wqe_least(const struct vmlx4_qp *qp, uint8_t opcode)
{
	const struct op *op = &ops[opcode];

	if (!has_op(qp, op))
		return 0;
	return 16u + op->segments +
		(qp->qp_type == IBV_QPT_UD && opcode != VMLX4_HW_OP_NOP ? 48u : 0);
}

/*
 * The peer's address or the key that goes, the operands of atomics, and their masks: as far
 * as there are segments. What an operation has no use for, nobody looks at.
 */
static void
read_operands(const uint8_t *at, uint8_t segments, struct vmlx4_ib_wqe *wqe)
{
	if (segments >= 16) {
		wqe->va = be64(at + 16);
		wqe->rkey = vmlx4_be32(at + 24);
	}
	if (segments >= 32) {
		wqe->swap_add = be64(at + 32);
		wqe->compare = be64(at + 40);
	}
	if (segments >= 48) {
		wqe->swap_mask = be64(at + 48);
		wqe->compare_mask = be64(at + 56);
	}
}

bool
vmlx4_ib_wqe_read(struct vmlx4_qp *qp, uint32_t index, struct vmlx4_ib_wqe *wqe)
{
	static uint8_t copy[1024]; /* the adapter is locked */
	const uint8_t *head = vmlx4_sq_piece(&qp->sq, index, 16, copy);
	uint32_t size = (vmlx4_be32(head + 4) & VMLX4_HW_DS) * 16;
	const uint8_t *at = vmlx4_sq_piece(&qp->sq, index, size < 16 ? 16 : size, copy);
	uint32_t dw1 = vmlx4_be32(at + 4), dw2 = vmlx4_be32(at + 8);
	const struct op *op;

	memset(wqe, 0, sizeof(*wqe));
	wqe->bytes = at;
	wqe->size = size;
	wqe->opcode = (uint8_t)(vmlx4_be32(at) & VMLX4_HW_OPCODE);
	wqe->signaled = (dw2 & VMLX4_HW_CQE_ALWAYS) == VMLX4_HW_CQE_ALWAYS;
	wqe->solicited = (dw2 & VMLX4_HW_SE) != 0;
	wqe->fence = (dw1 & VMLX4_HW_FENCE) != 0;
	wqe->ordered = (dw2 & VMLX4_HW_ORDERED) != 0;
	wqe->imm = vmlx4_be32(at + 12);
	wqe->srqn = qp->qp_type == IBV_QPT_XRC_SEND ? dw2 >> 8 : 0;
	op = &ops[wqe->opcode];
	wqe->data = vmlx4_ib_wqe_least(qp, wqe->opcode);
	if (wqe->data == 0 || wqe->data > size)
		return false;
	if (wqe->data == 64 && qp->qp_type == IBV_QPT_UD)
		wqe->datagram = at + 16;
	read_operands(at, op->segments, wqe);
	return true;
}
