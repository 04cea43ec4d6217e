/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/* How requests end, and queues. */

static bool
complete(struct vmlx4_qp *qp, const struct vmlx4_ib_request *request)
{
	uint32_t bytes = vmlx4_ib_is_read(request->opcode) ? request->length : 0;

	if (qp->sq.check != NULL &&
	    vmlx4_flight_hold(qp, request->index, request->opcode, bytes))
		return true;
	return vmlx4_sq_write_cqe(qp, request->index, request->opcode, bytes);
}

/* Everything begun and not completed is flushed. */
static void
flush_requests(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	vmlx4_ib_timers_cancel(qp);
	vmlx4_flight_end(qp);
	for (; ib->tx.first != ib->tx.last && !qp->sq.cq->error; ib->tx.first++) {
		vmlx4_cq_write_error(qp->sq.cq, qp->qpn, true,
			(uint16_t)vmlx4_ib_request_at(ib, ib->tx.first)->index,
			VMLX4_HW_SYN_FLUSH);
		qp->sq.port->stats.tx_errors++;
	}
	ib->tx.first = ib->tx.last;
	ib->tx.current = ib->tx.last;
	ib->tx.sent = 0;
	ib->tx.reads = 0;
	ib->tx.failed = false;
	ib->tx.rnr_waits = false;
}

/* A send queue in error, of a QP that goes on receiving. */
static void
send_queue_error(struct vmlx4_qp *qp)
{
	qp->state = IBV_QPS_SQE;
	flush_requests(qp);
	vmlx4_sq_error(qp);
}

static void
queues_error(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_context *ctx = qp->obj.ctx;

	if (ib->tx.requests != NULL)
		flush_requests(qp);
	ib->tx.draining = false;
	vmlx4_sq_error(qp);
	if (ib->rx.has_wqe)
		vmlx4_ib_recv_error(qp, VMLX4_HW_SYN_FLUSH);
	ib->rx.message = 0;
	vmlx4_rq_error(&qp->rq);
	if (qp->srq != NULL)
		vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_QP_LAST_WQE_REACHED,
			qp->obj.user_handle);
}

void
vmlx4_ib_error(struct vmlx4_qp *qp)
{
	vmlx4_ib_answers_drop(qp);
	queues_error(qp);
}

void
vmlx4_ib_fatal(struct vmlx4_qp *qp, int event)
{
	struct vmlx4_context *ctx = qp->obj.ctx;

	if (qp->state == IBV_QPS_ERR)
		return;
	qp->state = IBV_QPS_ERR;
	if (event >= 0)
		vmlx4_async_event(ctx->adapter, ctx, (unsigned int)event, qp->obj.user_handle);
	queues_error(qp); /* what was answered still leaves */
}

/* Who cannot report a completion is caught by the catastrophe of a local work queue. */
int
vmlx4_ib_untold(const struct vmlx4_cq *cq)
{
	return cq != NULL && cq->error ? IBV_EVENT_QP_FATAL : -1;
}

/* The oldest request failed. */
static void
stop(struct vmlx4_qp *qp, const struct vmlx4_ib_request *request)
{
	vmlx4_flight_end(qp);
	qp->sq.port->stats.tx_errors++;
	if (!request->no_error_cqe)
		vmlx4_cq_write_error(qp->sq.cq, qp->qpn, true, (uint16_t)request->index,
			request->syndrome);
	qp->ib->tx.first++;
	if (qp->qp_type == IBV_QPT_UD || qp->qp_type == IBV_QPT_UC)
		send_queue_error(qp);
	else
		vmlx4_ib_fatal(qp, vmlx4_ib_untold(qp->sq.cq));
}

static void
drained(struct vmlx4_qp *qp)
{
	struct vmlx4_context *ctx = qp->obj.ctx;

	qp->ib->tx.notify = false;
	vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_SQ_DRAINED, qp->obj.user_handle);
}

void
vmlx4_ib_reap(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	while (ib->tx.first != ib->tx.last) {
		const struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, ib->tx.first);

		if (request->syndrome != 0) {
			stop(qp, request);
			return;
		}
		if (!request->done)
			return;
		if (request->signaled && !complete(qp, request)) {
			vmlx4_ib_fatal(qp, vmlx4_ib_untold(qp->sq.cq));
			return;
		}
		ib->tx.first++;
	}
	vmlx4_ib_timers_cancel(qp);
	ib->tx.rnr_waits = false;
	if (ib->tx.draining && ib->tx.notify)
		drained(qp);
}

void
vmlx4_ib_fail(struct vmlx4_qp *qp, struct vmlx4_ib_request *request, uint8_t syndrome)
{
	request->syndrome = syndrome;
	qp->ib->tx.failed = true;
	vmlx4_ib_reap(qp);
}
