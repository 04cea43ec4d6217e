/* SPDX-License-Identifier: BSD-3-Clause */

#include "burst.h"

/*
 * Dword 0 without owner and BlueFlame index, the size in dword 1 without tag,
 * and the flags without both C bits: a SEND of one segment. Other bits of these
 * words, also those that nobody uses, are for the general way.
 */
#define DW0_MASK (~(VMLX4_HW_OWNER | VMLX4_HW_NEC | VMLX4_HW_BF_INDEX))
#define DW1_MASK (VMLX4_HW_INS_SVLAN | VMLX4_HW_INS_CVLAN | 0xffu)
#define DW2_MASK (0xffffu & ~VMLX4_HW_CQE_ALWAYS)

static inline bool
is_plain(const struct vmlx4_hw_ctrl *ctrl, uint32_t dw0)
{
	return (dw0 & DW0_MASK) == VMLX4_HW_OP_SEND &&
		(ctrl->vlan_size & htobe32(DW1_MASK)) == htobe32(2) &&
		(ctrl->flags & htobe32(DW2_MASK)) == htobe32(VMLX4_HW_SE);
}

/* What a burst is made from. */
struct gleaned {
	struct vmlx4_burst frames;
	uint32_t signaled;   /* bit i: the i-th WQE wants a CQE */
};
_Static_assert(VMLX4_BURST <= 32, "a bit per WQE");

/* Read plain WQEs from the head on; the queue's index is behind them afterwards. */
static bool
glean(struct vmlx4_qp *qp, unsigned int budget, bool strict, struct gleaned *out)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_mr_cache cache = { 0 };
	uint32_t least = vmlx4_unknowns(adapter)->tx_min_frame, room;
	uint32_t most = (uint32_t)vmlx4_port_max_frame(sq->port);
	unsigned int n;

	room = vmlx4_cq_room(sq->cq, budget);
	out->signaled = 0;
	for (n = 0; n < budget; n++) {
		const uint8_t *wqe = sq->buf +
			((size_t)(sq->ci & (sq->wqe_cnt - 1)) << sq->stride_shift);
		const struct vmlx4_hw_ctrl *ctrl = (const void *)wqe;
		const struct vmlx4_hw_data *seg = (const void *)(ctrl + 1);
		uint32_t dw0 = vmlx4_load_be32(&ctrl->owner_opcode), length, cqe;
		const uint8_t *frame;

		if ((dw0 >> 31) != ((sq->ci & sq->wqe_cnt) != 0) || !is_plain(ctrl, dw0))
			break;
		length = be32toh(seg->byte_count);
		cqe = (ctrl->flags & htobe32(VMLX4_HW_CQE_ALWAYS)) ==
			htobe32(VMLX4_HW_CQE_ALWAYS);
		if (unlikely(length < least || length - 1 >= most || cqe > room))
			break;
		frame = vmlx4_mr_cached(&cache, adapter, qp->pd, be32toh(seg->lkey),
			be64toh(seg->addr), length, 0);
		if (unlikely(frame == NULL))
			break;
		if (unlikely(strict) && !vmlx4_sq_check_wqe(qp, wqe, 32)) {
			out->frames.count = n;
			return false;
		}
		__builtin_prefetch(frame);
		out->frames.frame[n] = frame;
		out->frames.length[n] = length;
		out->signaled |= cqe << n;
		room -= cqe;
		sq->ci++;
	}
	out->frames.count = n;
	return true;
}

/*
 * Meet a frame that is gone (guard.h) before any is out, and with the queue still
 * at the first one.
 */
static void
touch(const struct vmlx4_burst *burst)
{
	unsigned int i;

	for (i = 0; i < burst->count; i++) {
		const uint8_t *frame = burst->frame[i], *last = frame + burst->length[i] - 1;

		__atomic_load_n(frame, __ATOMIC_RELAXED);
		for (; last - frame >= VMLX4_PAGE; frame += VMLX4_PAGE)
			__atomic_load_n(frame + VMLX4_PAGE, __ATOMIC_RELAXED);
		__atomic_load_n(last, __ATOMIC_RELAXED);
	}
}

/* One after the other: the CQ is special, or filled up meanwhile. */
static void
complete_general(struct vmlx4_qp *qp, uint16_t index)
{
	struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(qp->sq.cq);

	if (cqe == NULL) {
		qp->state = IBV_QPS_ERR; /* its CQ ran over */
		vmlx4_sq_error(qp);
		return;
	}
	memset(cqe, 0, offsetof(struct vmlx4_hw_cqe, owner_op));
	cqe->vlan_qpn = htobe32(qp->qpn);
	cqe->wqe_index = htobe16(index);
	vmlx4_cq_commit(qp->sq.cq, cqe, VMLX4_HW_OP_SEND | VMLX4_HW_CQE_SEND);
}

static void
complete(struct vmlx4_qp *qp, uint32_t first, uint32_t signaled)
{
	struct vmlx4_cq *cq = qp->sq.cq;
	struct vmlx4_cqe_words cqe = { .word = { htobe64((uint64_t)qp->qpn << 32) } };
	bool plain = !cq->timestamps && !cq->error;

	for (; signaled != 0 && qp->sq.live; signaled &= signaled - 1) {
		uint16_t index = (uint16_t)(first + (unsigned int)__builtin_ctz(signaled));

		if (unlikely(!plain || cq->room == 0)) {
			complete_general(qp, index);
			continue;
		}
		cqe.word[3] = vmlx4_cqe_last(cq, index, 0, VMLX4_HW_OP_SEND | VMLX4_HW_CQE_SEND);
		vmlx4_cq_put(cq, &cqe);
	}
	if (unlikely(cq->channel != NULL))
		vmlx4_cq_check_arm(cq);
}

static void
count_sent(struct vmlx4_port *port, const struct vmlx4_burst *burst)
{
	unsigned int i;

	for (i = 0; i < burst->count; i++)
		port->stats.tx_bytes += burst->length[i];
	port->stats.tx_frames += burst->count;
}

unsigned int
vmlx4_sq_burst(struct vmlx4_qp *qp, unsigned int budget, bool strict, bool *torn)
{
	struct vmlx4_port *port = qp->sq.port;
	uint32_t first = qp->sq.ci;
	struct gleaned burst;

	*torn = false;
	if (!vmlx4_port_bursts(port) || vmlx4_unknowns(port->adapter)->tx_cq_full_stalls ||
			qp->sq.careful)
		return 0;
	*torn = !glean(qp, budget < VMLX4_BURST ? budget : VMLX4_BURST, strict, &burst);
	if (burst.frames.count == 0)
		return 0;
	qp->sq.ci = first;
	touch(&burst.frames);
	qp->sq.ci = first + burst.frames.count;
	port->wire->ops->send_burst(port->wire, &burst.frames);
	count_sent(port, &burst.frames);
	if (burst.signaled != 0)
		complete(qp, first, burst.signaled);
	return burst.frames.count;
}
