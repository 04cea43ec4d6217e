/* SPDX-License-Identifier: BSD-3-Clause */

#include "../check/sq_ring.h"
#include "transport.h"

/* What becomes of requests: answers, and times without. */

/* Time before a request is tried again after RNR NAK, by its 5 bits, in 10 us (9.7.5.2.8). */
static const uint32_t rnr_times[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

/* ---- timers ---- */

void
vmlx4_ib_retry_arm(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint64_t time = (4096ull << (ib->attr.timeout & 31)) *
		vmlx4_unknowns(adapter)->rc_timeout_factor;

	if (ib->attr.timeout == 0 || ib->tx.retry.timer.armed)
		return; /* for ever, or it runs */
	vmlx4_timer_arm(adapter, &ib->tx.retry.timer, vmlx4_time(adapter) + time);
}

/* Is the time over, and what arrived until then not looked at yet? */
static void
overdue(struct vmlx4_ib *ib, bool on)
{
	struct vmlx4_ib_work *work = ib->qp->obj.ctx->adapter->ib;

	if (ib->tx.overdue == on)
		return;
	ib->tx.overdue = on;
	if (on)
		TAILQ_INSERT_TAIL(&work->overdue, ib, overdue_next);
	else
		TAILQ_REMOVE(&work->overdue, ib, overdue_next);
}

/* The peer answered: all tries are left, and the time starts anew. */
static void
progress(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	ib->tx.retries = ib->attr.retry_cnt;
	ib->tx.rnr_retries = ib->attr.rnr_retry;
	ib->tx.implied = false;
	overdue(ib, false);
	vmlx4_timer_cancel(qp->obj.ctx->adapter, &ib->tx.retry.timer);
	if (ib->tx.first != ib->tx.last)
		vmlx4_ib_retry_arm(qp);
}

/* Once more, or not. */
static void
try_again(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	if (ib->tx.first == ib->tx.last)
		return;
	if (ib->tx.retries == 0) {
		vmlx4_ib_fail(qp, vmlx4_ib_request_at(ib, ib->tx.first),
			VMLX4_HW_SYN_RETRY_EXC);
		return;
	}
	ib->tx.retries--;
	vmlx4_ib_go_back(qp);
}

/* An engine that was away for long may find the answer among what has arrived. */
static void
retry_due(struct vmlx4_timer *timer)
{
	overdue(((struct vmlx4_ib_timer *)(void *)timer)->qp->ib, true);
}

void
vmlx4_ib_answer_missed(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	overdue(ib, false);
	if (ib->tx.first == ib->tx.last || ib->tx.rnr_waits)
		return;
	/* Nothing is under way while the port lets nothing out. */
	if (!vmlx4_ib_may_send(qp) || (ib->tx.current == ib->tx.first &&
	    ib->tx.sent <= vmlx4_ib_request_at(ib, ib->tx.first)->acked)) {
		vmlx4_ib_kick(qp);
		vmlx4_ib_retry_arm(qp);
		return;
	}
	qp->port->stats.tx_roce_timeouts++;
	try_again(qp);
	if (ib->tx.first != ib->tx.last)
		vmlx4_ib_retry_arm(qp);
}

static void
rnr_due(struct vmlx4_timer *timer)
{
	struct vmlx4_qp *qp = ((struct vmlx4_ib_timer *)(void *)timer)->qp;

	qp->ib->tx.rnr_waits = false;
	vmlx4_ib_kick(qp);
}

void
vmlx4_ib_timers_init(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	ib->tx.retry.qp = qp;
	ib->tx.retry.timer.fire = retry_due;
	ib->tx.rnr.qp = qp;
	ib->tx.rnr.timer.fire = rnr_due;
}

void
vmlx4_ib_timers_cancel(struct vmlx4_qp *qp)
{
	vmlx4_timer_cancel(qp->obj.ctx->adapter, &qp->ib->tx.retry.timer);
	vmlx4_timer_cancel(qp->obj.ctx->adapter, &qp->ib->tx.rnr.timer);
	overdue(qp->ib, false);
}

/* ---- answers ---- */

/* The request that a PSN belongs to, or NULL: of none that is under way. */
static struct vmlx4_ib_request *
request_of(struct vmlx4_ib *ib, uint32_t psn)
{
	uint32_t i;

	for (i = ib->tx.first; i != ib->tx.last; i++) {
		struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, i);

		if (request->packets != 0 && !request->done &&
		    ((psn - request->psn) & VMLX4_PSN_MASK) < request->packets)
			return request;
	}
	return NULL;
}

static void
request_done(struct vmlx4_ib *ib, struct vmlx4_ib_request *request)
{
	request->done = true;
	request->acked = request->packets;
	ib->tx.reads -= vmlx4_ib_is_read(request->opcode);
}

/*
 * All up to a PSN arrived. A read among them without its response: that got lost,
 * since the peer answers in order. False then.
 */
static bool
acknowledge(struct vmlx4_qp *qp, uint32_t psn)
{
	struct vmlx4_ib *ib = qp->ib;
	bool moved = false, whole = true;
	uint32_t i;

	for (i = ib->tx.first; i != ib->tx.last; i++) {
		struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, i);
		int32_t ahead = vmlx4_psn_diff(psn, request->psn);

		if (request->done || (request->packets == 0 && request->syndrome == 0))
			continue;
		if (ahead < 0 || request->packets == 0)
			break;
		if (vmlx4_ib_is_read(request->opcode)) {
			/* Refused in the middle: what there is of its response is here. */
			whole = (uint32_t)ahead < request->acked;
			break;
		}
		if ((uint32_t)ahead + 1 >= request->packets) {
			request_done(ib, request);
			moved = true;
			continue;
		}
		if ((uint32_t)ahead + 1 > request->acked) {
			request->acked = (uint32_t)ahead + 1;
			moved = true;
		}
		break;
	}
	if (moved) {
		vmlx4_ib_reap(qp);
		if (qp->sq.live)
			progress(qp);
		vmlx4_ib_kick(qp);
	}
	return whole;
}

/* An answer is missing: ask again, but once only until one comes. */
static void
answer_missing(struct vmlx4_qp *qp)
{
	if (qp->ib->tx.implied)
		return;
	qp->ib->tx.implied = true;
	try_again(qp);
}

static void
rnr_nak(struct vmlx4_qp *qp, uint8_t syndrome)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;

	qp->port->stats.tx_roce_rnr++;
	if (ib->tx.rnr_waits || ib->tx.first == ib->tx.last)
		return;
	if (ib->attr.rnr_retry != 7) { /* which means: for ever */
		if (ib->tx.rnr_retries == 0) {
			vmlx4_ib_fail(qp, vmlx4_ib_request_at(ib, ib->tx.first),
				VMLX4_HW_SYN_RNR_RETRY);
			return;
		}
		ib->tx.rnr_retries--;
	}
	ib->tx.rnr_waits = true;
	vmlx4_timer_cancel(adapter, &ib->tx.retry.timer);
	vmlx4_timer_arm(adapter, &ib->tx.rnr.timer,
		vmlx4_time(adapter) + rnr_times[syndrome & 31] * 10000ull);
	vmlx4_ib_go_back(qp);
}

static void
nak(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib_request *request;
	uint8_t syndrome;

	switch (packet->syndrome) {
	case VMLX4_NAK_SEQUENCE:
		qp->port->stats.tx_roce_sequence++;
		try_again(qp);
		return;
	case VMLX4_NAK_INVALID_REQUEST:
		syndrome = VMLX4_HW_SYN_REM_INV_REQ;
		break;
	case VMLX4_NAK_REMOTE_ACCESS:
		syndrome = VMLX4_HW_SYN_REM_ACCESS;
		break;
	default:
		syndrome = VMLX4_HW_SYN_REM_OP;
		break;
	}
	request = request_of(qp->ib, packet->psn);
	if (request != NULL)
		vmlx4_ib_fail(qp, request, syndrome);
}

static void
acked(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib *ib = qp->ib;

	/* Of long ago, or of what was never sent. */
	if (request_of(ib, packet->psn) == NULL)
		return;
	if (VMLX4_AETH_KIND(packet->syndrome) == VMLX4_AETH_ACK) {
		if (!acknowledge(qp, packet->psn))
			answer_missing(qp);
		return;
	}
	/* What it is about did not arrive, all before did. */
	if (!acknowledge(qp, packet->psn - 1) && packet->syndrome != VMLX4_NAK_SEQUENCE) {
		answer_missing(qp);
		return;
	}
	if (!qp->sq.live)
		return;
	if (VMLX4_AETH_KIND(packet->syndrome) == VMLX4_AETH_RNR)
		rnr_nak(qp, packet->syndrome);
	else if (VMLX4_AETH_KIND(packet->syndrome) == VMLX4_AETH_NAK)
		nak(qp, packet);
}

/* Bytes for the buffers of a read or atomic; a syndrome. */
static uint8_t
read_scatter(struct vmlx4_qp *qp, const struct vmlx4_ib_request *request, const uint8_t *data,
	uint32_t size)
{
	struct vmlx4_ib_where where = { "SQ", qp->qpn, request->index };
	struct vmlx4_ib_wqe wqe;

	if (!vmlx4_ib_wqe_read(qp, request->index, &wqe))
		return VMLX4_HW_SYN_LOC_QP_OP;
	return vmlx4_ib_scatter(qp->obj.ctx->adapter, qp->pd,
		(const struct vmlx4_hw_data *)(const void *)(wqe.bytes + wqe.data),
		(wqe.size - wqe.data) / 16, (uint64_t)request->acked * qp->ib->mtu, data, size,
		&where);
}

/* Is the response the one that comes next, and as long as it has to be? */
static bool
response_fits(const struct vmlx4_ib *ib, const struct vmlx4_ib_request *request,
	const struct vmlx4_ib_packet *packet)
{
	uint32_t left = request->length - request->acked * ib->mtu;
	unsigned int op = VMLX4_BTH_OP(packet->opcode);

	if (request->opcode != VMLX4_HW_OP_READ)
		return op == VMLX4_OP_ATOMIC_ACK;
	if (op == VMLX4_OP_ATOMIC_ACK)
		return false;
	if (left <= ib->mtu)
		return packet->size == left &&
			(op == VMLX4_OP_READ_LAST || op == VMLX4_OP_READ_ONLY);
	return packet->size == ib->mtu &&
		(op == VMLX4_OP_READ_FIRST || op == VMLX4_OP_READ_MIDDLE);
}

static void
response(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_request *request = request_of(ib, packet->psn);
	uint32_t next;
	uint8_t syndrome;

	if (request == NULL || !vmlx4_ib_is_read(request->opcode))
		return; /* a ghost */
	if (!acknowledge(qp, request->psn - 1)) {
		answer_missing(qp);
		return;
	}
	next = (request->psn + request->acked) & VMLX4_PSN_MASK;
	if (packet->psn != next) {
		if (vmlx4_psn_diff(packet->psn, next) > 0)
			answer_missing(qp);
		return;
	}
	if (!response_fits(ib, request, packet)) {
		vmlx4_ib_fail(qp, request, VMLX4_HW_SYN_BAD_RESP);
		return;
	}
	syndrome = request->opcode == VMLX4_HW_OP_READ ?
		read_scatter(qp, request, packet->payload, packet->size) :
		read_scatter(qp, request, (const uint8_t *)&packet->original, 8);
	if (syndrome != 0) {
		vmlx4_ib_fail(qp, request, syndrome);
		return;
	}
	if (++request->acked == request->packets)
		request_done(ib, request);
	vmlx4_ib_reap(qp);
	if (qp->sq.live)
		progress(qp);
	vmlx4_ib_kick(qp);
}

void
vmlx4_ib_answered(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	if (!qp->sq.live)
		return; /* too late */
	if (VMLX4_BTH_OP(packet->opcode) == VMLX4_OP_ACK)
		acked(qp, packet);
	else
		response(qp, packet);
}
