/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "burst.h"

/* WQEs, and the frames they point to, are fetched this far ahead. */
#define SQ_WQE_AHEAD 10
#define SQ_FRAME_AHEAD 5

static uint8_t *
sq_wqe(const struct vmlx4_sq *sq, uint32_t index)
{
	return sq->buf + ((size_t)(index & (sq->wqe_cnt - 1)) << sq->stride_shift);
}

static inline bool
sq_owned(const struct vmlx4_sq *sq, uint32_t dw0)
{
	return (dw0 >> 31) == ((sq->ci & sq->wqe_cnt) != 0);
}

static inline uint32_t
sq_strides(const struct vmlx4_sq *sq, uint32_t size)
{
	return size == 0 ? 1 : ((size - 1) >> sq->stride_shift) + 1;
}

/* ---- life ---- */

static bool
sq_listed(const struct vmlx4_sq *sq)
{
	return sq->live || sq->error;
}

static void
sq_kick(struct vmlx4_qp *qp)
{
	qp->sq.pending = true;
	qp->sq.idle.since = 0;
	qp->obj.ctx->scan = true;
}

void
vmlx4_sq_reset(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;

	if (sq_listed(sq))
		TAILQ_REMOVE(&qp->obj.ctx->sqs, qp, sq_next);
	vmlx4_sq_check_end(qp);
	sq->ci = 0;
	sq->live = false;
	sq->error = false;
	sq->pending = false;
	sq->cq_blocked = false;
	sq->careful = false;
}

void
vmlx4_sq_ready(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;

	if (sq->wqe_cnt == 0 || sq->buf == NULL || sq->cq == NULL)
		return;
	if (!sq_listed(sq))
		TAILQ_INSERT_TAIL(&qp->obj.ctx->sqs, qp, sq_next);
	if (sq->check == NULL && vmlx4_strict(qp->obj.ctx->adapter))
		sq->check = vmlx4_sq_check_new(qp);
	sq->live = true;
	sq->error = false;
	/* WQEs may have been posted before: their doorbells are gone. */
	sq_kick(qp);
}

void
vmlx4_sq_pause(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;

	if (sq_listed(sq))
		TAILQ_REMOVE(&qp->obj.ctx->sqs, qp, sq_next);
	sq->live = false;
	sq->pending = false;
}

/* Complete what is posted as flushed. */
static unsigned int
sq_flush(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;
	unsigned int n = 0;

	while (n < sq->wqe_cnt && !sq->cq->error) {
		uint8_t *wqe = sq_wqe(sq, sq->ci);
		uint32_t dw0 = vmlx4_load_be32((const uint32_t *)(const void *)wqe);

		if (!sq_owned(sq, dw0))
			break;
		vmlx4_cq_write_error(sq->cq, qp->qpn, true, (uint16_t)sq->ci,
			VMLX4_HW_SYN_FLUSH);
		if (sq->port != NULL)
			sq->port->stats.tx_errors++;
		sq->ci += sq_strides(sq, (vmlx4_be32(wqe + 4) & VMLX4_HW_DS) * 16);
		n++;
	}
	sq->pending = false;
	return n;
}

void
vmlx4_sq_error(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;

	if (sq->wqe_cnt == 0 || sq->buf == NULL || sq->cq == NULL)
		return;
	if (!sq_listed(sq))
		TAILQ_INSERT_TAIL(&qp->obj.ctx->sqs, qp, sq_next);
	vmlx4_flight_end(qp);
	sq->live = false;
	sq->error = true;
	sq_flush(qp);
}

/* ---- execution ---- */

bool
vmlx4_sq_write_cqe(struct vmlx4_qp *qp, uint32_t index, uint32_t opcode, uint32_t byte_cnt)
{
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(sq->cq);

	if (unlikely(cqe == NULL))
		return false;
	memset(cqe, 0, offsetof(struct vmlx4_hw_cqe, owner_op));
	cqe->vlan_qpn = htobe32(qp->qpn);
	cqe->byte_cnt = htobe32(byte_cnt);
	cqe->wqe_index = htobe16((uint16_t)index);
	vmlx4_cq_commit(sq->cq, cqe, (uint8_t)opcode | VMLX4_HW_CQE_SEND);
	return true;
}

static inline bool
sq_complete(struct vmlx4_qp *qp, uint32_t opcode)
{
	if (unlikely(qp->sq.check != NULL) && vmlx4_flight_hold(qp, qp->sq.ci, opcode, 0))
		return true;
	return vmlx4_sq_write_cqe(qp, qp->sq.ci, opcode, 0);
}

/* The QP goes to the error state, and with it its other queue. */
static void
sq_fault(struct vmlx4_qp *qp, uint32_t dw0, uint32_t strides, uint8_t syndrome)
{
	struct vmlx4_sq *sq = &qp->sq;

	vmlx4_flight_end(qp);
	sq->port->stats.tx_errors++;
	if ((dw0 & VMLX4_HW_NEC) == 0)
		vmlx4_cq_write_error(sq->cq, qp->qpn, true, (uint16_t)sq->ci, syndrome);
	sq->ci += strides;
	qp->state = IBV_QPS_ERR;
	vmlx4_sq_error(qp);
	if (qp->rq.live)
		vmlx4_rq_error(&qp->rq);
}

static void
sq_ask(struct vmlx4_qp *qp, const uint8_t *wqe, struct vmlx4_tx_ask *ask)
{
	uint32_t dw0 = vmlx4_be32(wqe), dw1 = vmlx4_be32(wqe + 4);
	uint32_t dw2 = vmlx4_be32(wqe + 8), dw3 = vmlx4_be32(wqe + 12);
	bool pro = qp->obj.ctx->adapter->profile->tunnel_offload;
	bool s_vlan = (dw1 & VMLX4_HW_INS_SVLAN) != 0;

	if ((dw1 & VMLX4_HW_INS_SVLAN) && (dw1 & VMLX4_HW_INS_CVLAN))
		s_vlan = vmlx4_unknowns(qp->obj.ctx->adapter)->tx_vlan_both;
	ask->csum_ip = (dw2 & VMLX4_HW_CSUM_IP) != 0;
	ask->csum_l4 = (dw2 & VMLX4_HW_CSUM_L4) != 0;
	ask->inner_ip = pro && (dw0 & VMLX4_HW_IIP) != 0;
	ask->inner_l4 = pro && (dw0 & VMLX4_HW_ILP) != 0;
	ask->vxlan_port = vmlx4_vxlan_port(qp->obj.ctx->adapter);
	ask->loop = vmlx4_loopback_ask(qp->sq.port, dw2, dw3);
	ask->dmac_hi = dw2 >> 16;
	ask->dmac_lo = dw3;
	ask->qp = qp;
	ask->vlan_type = 0;
	ask->vlan_tci = (uint16_t)(dw1 >> 16);
	if ((dw1 & (VMLX4_HW_INS_SVLAN | VMLX4_HW_INS_CVLAN)) != 0)
		ask->vlan_type = s_vlan ? 0x88a8 : 0x8100;
}

/* One frame of any number of segments; a syndrome. */
static uint8_t
sq_send(struct vmlx4_qp *qp, const struct vmlx4_gather *g, const struct vmlx4_tx_ask *ask)
{
	static uint8_t frame[VMLX4_MAX_FRAME + 4]; /* the adapter is locked */
	struct vmlx4_port *port = qp->sq.port;
	bool touch = ask->csum_ip || ask->csum_l4 || ask->inner_ip || ask->inner_l4 ||
		ask->vlan_type != 0;
	size_t length = g->length;

	if (length == 0)
		return vmlx4_unknowns(port->adapter)->tx_empty_error ? VMLX4_HW_SYN_LOC_LEN : 0;
	if (length > vmlx4_port_max_frame(port) || length > VMLX4_MAX_FRAME) {
		port->stats.tx_oversize++;
		return vmlx4_unknowns(port->adapter)->tx_oversize_error ? VMLX4_HW_SYN_LOC_LEN : 0;
	}
	if (g->segs == 1 && !touch) {
		vmlx4_tx_emit(port, g->base[0], length, ask);
		return 0;
	}
	vmlx4_gather_copy(g, frame);
	length = vmlx4_tx_vlan(frame, length, ask);
	vmlx4_tx_checksums(frame, length, ask);
	vmlx4_tx_emit(port, frame, length, ask);
	return 0;
}

static uint8_t
sq_lso(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size,
	const struct vmlx4_tx_ask *ask, struct vmlx4_gather *g)
{
	uint8_t header[VMLX4_HW_MAX_WQE + 4];
	uint32_t dw = vmlx4_be32(wqe + 16), length = VMLX4_HW_LSO_HEADER(dw);
	uint32_t payload = 16 + ((4 + length + 15) & ~15u);

	if (length < 14 || 20 + length > size)
		return VMLX4_HW_SYN_LOC_QP_OP;
	if (payload > 64 && (vmlx4_be32(wqe) & VMLX4_HW_BLH) == 0 &&
	    vmlx4_unknowns(qp->obj.ctx->adapter)->tx_lso_needs_blh != 0)
		return VMLX4_HW_SYN_LOC_QP_OP;
	vmlx4_gather(qp, wqe, payload, size, g);
	if (g->syndrome != 0)
		return g->syndrome;
	if (g->length > qp->obj.ctx->adapter->profile->max_tso) {
		vmlx4_violation(qp->obj.ctx->adapter, VMLX4_RULE_LSO_LENGTH, "SQ", qp->qpn,
			qp->sq.ci, "%u bytes to be cut, the card takes %u", g->length,
			qp->obj.ctx->adapter->profile->max_tso);
		return VMLX4_HW_SYN_LOC_LEN;
	}
	memcpy(header, wqe + 20, length);
	return vmlx4_tx_lso(qp->sq.port, header, length, g, VMLX4_HW_LSO_MSS(dw), ask);
}

/* Everything but the plain case, from a WQE that lies contiguous. */
static uint8_t
sq_execute(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t dw0, uint32_t size)
{
	static struct vmlx4_gather g; /* the adapter is locked */
	struct vmlx4_port *port = qp->sq.port;
	struct vmlx4_tx_ask ask;

	if (unlikely(port->adapter->faults != NULL)) {
		uint8_t syndrome = vmlx4_fault_wqe(port, qp->qpn, true);

		if (syndrome != 0)
			return syndrome;
	}
	if ((dw0 & VMLX4_HW_OPCODE) == VMLX4_HW_OP_NOP)
		return 0;
	sq_ask(qp, wqe, &ask);
	switch (dw0 & VMLX4_HW_OPCODE) {
	case VMLX4_HW_OP_SEND:
		/* Nothing behind the control segment is as wrong as a torn segment. */
		vmlx4_gather(qp, wqe, size < 32 ? size + 16 : 16, size, &g);
		return g.syndrome != 0 ? g.syndrome : sq_send(qp, &g, &ask);
	case VMLX4_HW_OP_LSO:
		return sq_lso(qp, wqe, size, &ask, &g);
	default:
		return VMLX4_HW_SYN_LOC_QP_OP;
	}
}

/* A WQE may run over the end of the ring: lay it out in one piece. */
static const uint8_t *
sq_linear(const struct vmlx4_sq *sq, const uint8_t *wqe, uint32_t size)
{
	static uint8_t copy[1024]; /* the adapter is locked */
	size_t room = ((size_t)sq->wqe_cnt << sq->stride_shift) - (size_t)(wqe - sq->buf);

	if (likely(size <= room))
		return wqe;
	memcpy(copy, wqe, room);
	memcpy(copy + room, sq->buf, size - room);
	return copy;
}

/* One segment, no offload, and nobody watching: the frame stays where it is. */
static inline const uint8_t *
sq_plain_frame(struct vmlx4_qp *qp, const struct vmlx4_hw_ctrl *ctrl, uint32_t dw0,
	uint32_t *length)
{
	const struct vmlx4_hw_data *seg = (const struct vmlx4_hw_data *)(const void *)(ctrl + 1);
	uint32_t size;

	if ((dw0 & (VMLX4_HW_OPCODE | VMLX4_HW_IIP | VMLX4_HW_ILP)) != VMLX4_HW_OP_SEND ||
	    (be32toh(ctrl->vlan_size) & (VMLX4_HW_INS_SVLAN | VMLX4_HW_INS_CVLAN |
	    VMLX4_HW_DS)) != 2 ||
	    (be32toh(ctrl->flags) & (VMLX4_HW_CSUM_IP | VMLX4_HW_CSUM_L4 | VMLX4_HW_FL |
	    VMLX4_HW_DMAC_GROUP)) != 0 ||
	    vmlx4_may_loop(qp->sq.port, ctrl) ||
	    qp->sq.port->adapter->faults != NULL)
		return NULL;
	size = be32toh(seg->byte_count);
	if (unlikely(size - 1 >= 0x7fffffffu))
		return NULL;
	*length = size;
	return vmlx4_mr_lookup(qp->obj.ctx->adapter, qp->pd, be32toh(seg->lkey),
		be64toh(seg->addr), size, 0);
}

static inline void
sq_prefetch(const struct vmlx4_sq *sq)
{
	uint32_t ahead = sq->ci + SQ_FRAME_AHEAD;
	const uint8_t *wqe = sq_wqe(sq, ahead);
	const struct vmlx4_hw_data *seg = (const struct vmlx4_hw_data *)(const void *)
		(wqe + sizeof(struct vmlx4_hw_ctrl));

	/* What is not posted yet is left to the driver that is about to write it. */
	if ((wqe[0] >> 7) != ((ahead & sq->wqe_cnt) != 0))
		return;
	__builtin_prefetch(sq_wqe(sq, sq->ci + SQ_WQE_AHEAD));
	/* Perhaps not even a segment: a prefetch does not fault. */
	__builtin_prefetch((const void *)(uintptr_t)be64toh(seg->addr));
}

/* Execute the WQE at the head. False: the queue stops here. */
static bool
sq_step(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t dw0, bool strict)
{
	struct vmlx4_sq *sq = &qp->sq;
	const struct vmlx4_hw_ctrl *ctrl = (const struct vmlx4_hw_ctrl *)(const void *)wqe;
	bool signaled = (be32toh(ctrl->flags) & VMLX4_HW_CQE_ALWAYS) == VMLX4_HW_CQE_ALWAYS;
	uint32_t size = (be32toh(ctrl->vlan_size) & VMLX4_HW_DS) * 16, strides, length;
	const uint8_t *frame, *linear;
	uint8_t syndrome = 0;

	if (signaled && unlikely(vmlx4_unknowns(sq->port->adapter)->tx_cq_full_stalls) &&
	    !vmlx4_cq_has_room(sq->cq)) {
		sq->cq_blocked = true;
		return false;
	}
	sq->cq_blocked = false;
	strides = sq_strides(sq, size);
	linear = sq_linear(sq, wqe, size);
	vmlx4_trace_wqe(qp, linear, size);
	if (unlikely(strict) && !vmlx4_sq_check_wqe(qp, linear, size)) {
		sq_fault(qp, dw0, strides, VMLX4_HW_SYN_LOC_QP_OP);
		return false;
	}
	frame = sq_plain_frame(qp, ctrl, dw0, &length);
	if (likely(frame != NULL && length <= vmlx4_port_max_frame(sq->port)))
		vmlx4_port_send(sq->port, frame, length);
	else
		syndrome = sq_execute(qp, linear, dw0, size);
	if (unlikely(syndrome != 0)) {
		sq_fault(qp, dw0, strides, syndrome);
		return false;
	}
	if (signaled && unlikely(!sq_complete(qp, dw0 & VMLX4_HW_OPCODE))) {
		qp->state = IBV_QPS_ERR; /* its CQ ran over */
		vmlx4_sq_error(qp);
		return false;
	}
	sq->ci += strides;
	return true;
}

/* One WQE, the general way. False: the queue is empty, or stops. */
static bool
sq_next(struct vmlx4_qp *qp, bool strict)
{
	struct vmlx4_sq *sq = &qp->sq;
	const uint8_t *wqe = sq_wqe(sq, sq->ci);
	uint32_t dw0 = vmlx4_load_be32((const uint32_t *)(const void *)wqe);

	if (!sq_owned(sq, dw0)) {
		sq->pending = false;
		if (unlikely(strict))
			vmlx4_sq_check_drained(qp);
		return false;
	}
	sq_prefetch(sq);
	return sq_step(qp, wqe, dw0, strict);
}

/* ---- a WQE that was left in the middle (unmapped.c) ---- */

static uint32_t
sq_head_strides(const struct vmlx4_sq *sq)
{
	const uint8_t *wqe = sq_wqe(sq, sq->ci);

	return sq_strides(sq, (vmlx4_be32(wqe + 4) & VMLX4_HW_DS) * 16);
}

void
vmlx4_sq_lost_buffer(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;

	if (sq->live)
		sq_fault(qp, vmlx4_be32(sq_wqe(sq, sq->ci)), sq_head_strides(sq),
			VMLX4_HW_SYN_LOC_PROT);
}

void
vmlx4_sq_skip(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;
	const uint8_t *wqe = sq_wqe(sq, sq->ci);
	bool signaled = (vmlx4_be32(wqe + 8) & VMLX4_HW_CQE_ALWAYS) == VMLX4_HW_CQE_ALWAYS;

	if (!sq->live)
		return;
	/* What of it did not arrive was lost behind the port. */
	sq->port->stats.tx_wire_drops++;
	if (signaled && !sq_complete(qp, vmlx4_be32(wqe) & VMLX4_HW_OPCODE)) {
		qp->state = IBV_QPS_ERR;
		vmlx4_sq_error(qp);
		return;
	}
	sq->ci += sq_head_strides(sq);
}

unsigned int
vmlx4_sq_run(struct vmlx4_qp *qp, unsigned int budget)
{
	struct vmlx4_sq *sq = &qp->sq;
	bool strict = vmlx4_strict(qp->obj.ctx->adapter), torn;
	unsigned int done = 0;

	if (unlikely(!sq->live))
		return sq->error ? sq_flush(qp) : 0;
	if (unlikely(sq->port->tx_hold != 0))
		return 0;
	if (unlikely(sq->port->pause.paused))
		return 0;
	if (unlikely(strict))
		vmlx4_sq_check_backlog(qp);
	while (done < budget && sq->live && likely(sq->port->tx_hold == 0)) {
		unsigned int n = vmlx4_sq_burst(qp, budget - done, strict, &torn);

		if (unlikely(torn))
			sq_fault(qp, 0, 1, VMLX4_HW_SYN_LOC_QP_OP);
		else if (n == 0)
			n = sq_next(qp, strict) ? 1 : 0;
		if (n == 0)
			break;
		done += n;
	}
	if (unlikely(strict))
		vmlx4_flight_seal(qp);
	return done;
}
