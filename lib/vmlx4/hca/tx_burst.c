/* SPDX-License-Identifier: BSD-3-Clause */

#include "burst.h"

/*
 * The first two dwords without owner bit, BlueFlame index, NEC, and what the
 * upper half of dword 1 holds: a SEND of one segment. Of the flags all but both
 * C bits. Other bits, also those that nobody uses, are for the general way.
 */
#define DW0_MASK (~(VMLX4_HW_NEC | VMLX4_HW_BF_INDEX))
#define DW1_MASK (VMLX4_HW_INS_SVLAN | VMLX4_HW_INS_CVLAN | 0xffu)
#define DW2_MASK ((0xffffu & ~VMLX4_HW_CQE_ALWAYS) | VMLX4_HW_DMAC_GROUP)

/* What a burst is made from. */
struct gleaned {
	struct vmlx4_burst frames;
	uint64_t bytes;
	uint32_t signaled;   /* bit i: the i-th WQE wants a CQE */
};
_Static_assert(VMLX4_BURST <= 32, "a bit per WQE");

/* Posted, of the pass through the ring that head is of, and plain. */
static inline bool
is_plain(const uint8_t *wqe, uint64_t head)
{
	/* Orders: the owner bit, before the reads of what it hands over. */
	uint64_t word = __atomic_load_n((const uint64_t *)(const void *)wqe, __ATOMIC_ACQUIRE);
	uint32_t flags = ((const struct vmlx4_hw_ctrl *)(const void *)wqe)->flags;

	return (word & htobe64((uint64_t)DW0_MASK << 32 | DW1_MASK)) == head &&
		(flags & htobe32(DW2_MASK)) == htobe32(VMLX4_HW_SE);
}

/*
 * Meet a frame that is gone (guard.h) before any is out, and with the queue still
 * at the first one. It also fetches the frame.
 */
static inline void
touch(const uint8_t *frame, uint32_t length)
{
	const uint8_t *last = frame + length - 1;

	for (; unlikely(last - frame >= VMLX4_PAGE); frame += VMLX4_PAGE)
		__atomic_load_n(frame, __ATOMIC_RELAXED);
	__atomic_load_n(frame, __ATOMIC_RELAXED);
	__atomic_load_n(last, __ATOMIC_RELAXED);
}

/* Read plain WQEs from the head on, to the end of the ring at most. */
static __attribute__((noinline)) void
glean(struct vmlx4_qp *qp, unsigned int budget, struct gleaned *out)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	const struct vmlx4_port *port = qp->sq.port;
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_mr_cache cache = { .pd = qp->pd };
	/* An empty one is special. */
	uint32_t least = vmlx4_unknowns(adapter)->tx_min_frame != 0 ?
		vmlx4_unknowns(adapter)->tx_min_frame : 1;
	uint32_t span = (uint32_t)vmlx4_port_max_frame(port) - least;
	uint32_t room = vmlx4_cq_room(sq->cq, budget);
	const uint32_t at = sq->ci & (sq->wqe_cnt - 1);
	const uint64_t head = htobe64((uint64_t)(VMLX4_HW_OP_SEND |
		((sq->ci & sq->wqe_cnt) != 0 ? VMLX4_HW_OWNER : 0)) << 32 | 2);
	const uint8_t *wqe = sq->buf + ((size_t)at << sq->stride_shift);
	const size_t stride = (size_t)1 << sq->stride_shift;
	uint32_t signaled = 0;
	uint64_t bytes = 0;
	unsigned int n;

	if (budget > sq->wqe_cnt - at)
		budget = sq->wqe_cnt - at;
	/* Each may want a CQE. */
	if (unlikely(budget > room))
		budget = room;
	for (n = 0; n < budget; n++, wqe += stride) {
		const struct vmlx4_hw_ctrl *ctrl = (const void *)wqe;
		const struct vmlx4_hw_data *seg = (const void *)(ctrl + 1);
		const uint8_t *frame;
		uint32_t length;

		if (unlikely(!is_plain(wqe, head) || vmlx4_may_loop(port, ctrl)))
			break;
		length = be32toh(seg->byte_count);
		if (unlikely(length - least > span))
			break;
		frame = vmlx4_mr_cached(&cache, adapter, be32toh(seg->lkey), be64toh(seg->addr),
			length, 0);
		if (unlikely(frame == NULL))
			break;
		touch(frame, length);
		out->frames.frame[n] = frame;
		out->frames.length[n] = length;
		bytes += length;
		if ((ctrl->flags & htobe32(VMLX4_HW_CQE_ALWAYS)) == htobe32(VMLX4_HW_CQE_ALWAYS))
			signaled |= 1u << n;
	}
	out->bytes = bytes;
	out->signaled = signaled;
	out->frames.count = n;
}

/* False: what is from the first torn WQE on is no longer part of the burst. */
static bool
check_burst(struct vmlx4_qp *qp, struct gleaned *burst)
{
	struct vmlx4_sq *sq = &qp->sq;
	uint32_t first = sq->ci, n;

	for (n = 0; n < burst->frames.count; n++) {
		sq->ci = first + n; /* which a report shows */
		if (vmlx4_sq_check_wqe(qp, sq->buf + ((size_t)(sq->ci & (sq->wqe_cnt - 1)) <<
		    sq->stride_shift), 32))
			continue;
		while (burst->frames.count > n)
			burst->bytes -= burst->frames.length[--burst->frames.count];
		burst->signaled &= (1u << n) - 1;
		return false;
	}
	return true;
}

/* One by one: the CQ is special, or filled up meanwhile. */
static void
complete_general(struct vmlx4_qp *qp, uint32_t first, uint32_t signaled)
{
	for (; signaled != 0; signaled &= signaled - 1) {
		struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(qp->sq.cq);

		if (cqe == NULL) {
			qp->state = IBV_QPS_ERR; /* its CQ ran over */
			vmlx4_sq_error(qp);
			return;
		}
		memset(cqe, 0, offsetof(struct vmlx4_hw_cqe, owner_op));
		cqe->vlan_qpn = htobe32(qp->qpn);
		cqe->wqe_index = htobe16((uint16_t)(first + (uint32_t)__builtin_ctz(signaled)));
		vmlx4_cq_commit(qp->sq.cq, cqe, VMLX4_HW_OP_SEND | VMLX4_HW_CQE_SEND);
	}
}

static void
complete(struct vmlx4_qp *qp, uint32_t first, uint32_t signaled)
{
	struct vmlx4_cq *cq = qp->sq.cq;
	uint64_t qpn = vmlx4_memory_pair(htobe32(qp->qpn), 0);
	struct vmlx4_cq_writer writer;
	uint32_t fit;

	if (unlikely(qp->sq.check != NULL))
		signaled = vmlx4_flight_hold_burst(qp, first, signaled);
	if (unlikely(signaled == 0))
		return;
	if (unlikely(cq->timestamps || cq->error ||
	    cq->room < (uint32_t)__builtin_popcount(signaled))) {
		complete_general(qp, first, signaled);
		return;
	}
	if (unlikely(qp->sq.check != NULL))
		vmlx4_cq_check_owner(cq);
	while (signaled != 0) {
		fit = vmlx4_cq_writer_open(&writer, cq, VMLX4_HW_OP_SEND | VMLX4_HW_CQE_SEND);
		for (; signaled != 0 && fit != 0; signaled &= signaled - 1, fit--)
			vmlx4_cq_writer_put(&writer, qpn, 0, 0, vmlx4_cqe_index(
				first + (uint32_t)__builtin_ctz(signaled), 0));
		vmlx4_cq_writer_close(&writer);
	}
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
	if (budget > VMLX4_BURST)
		budget = VMLX4_BURST;
	glean(qp, budget, &burst);
	if (burst.frames.count == 0)
		return 0;
	if (unlikely(strict)) {
		*torn = !check_burst(qp, &burst);
		if (burst.frames.count == 0)
			return 0;
	}
	qp->sq.ci = first + burst.frames.count;
	port->wire->ops->send_burst(port->wire, &burst.frames);
	port->stats.tx_frames += burst.frames.count;
	port->stats.tx_bytes += burst.bytes;
	if (burst.signaled != 0)
		complete(qp, first, burst.signaled);
	return burst.frames.count;
}
