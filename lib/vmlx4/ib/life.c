/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "transport.h"

/* States of a QP with a transport. */

struct vmlx4_ib *
vmlx4_ib_new(struct vmlx4_qp *qp)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_ib *ib;

	if (adapter->ib == NULL)
		adapter->ib = vmlx4_ib_work_new();
	if (adapter->ib == NULL)
		return NULL;
	ib = vmlx4_zalloc(sizeof(*ib));
	if (ib != NULL)
		ib->qp = qp;
	return ib;
}

void
vmlx4_ib_free(struct vmlx4_ib *ib)
{
	if (ib == NULL)
		return;
	vmlx4_ib_timers_cancel(ib->qp);
	vmlx4_ib_answers_drop(ib->qp);
	free(ib->tx.requests);
	free(ib);
}

struct vmlx4_ib_attr *
vmlx4_ib_attr(struct vmlx4_ib *ib)
{
	return &ib->attr;
}

/* Nothing is under way any more, in either direction. */
static void
forget(struct vmlx4_ib *ib)
{
	vmlx4_ib_timers_cancel(ib->qp);
	vmlx4_ib_answers_drop(ib->qp);
	ib->tx.first = ib->tx.last;
	ib->tx.current = ib->tx.last;
	ib->tx.sent = 0;
	ib->tx.reads = 0;
	ib->tx.failed = false;
	ib->tx.rnr_waits = false;
	ib->tx.draining = false;
	ib->tx.notify = false;
	memset(&ib->rx, 0, sizeof(ib->rx));
}

void
vmlx4_ib_reset(struct vmlx4_qp *qp)
{
	forget(qp->ib);
	qp->ib->tx.psn = 0;
	vmlx4_sq_reset(qp);
	vmlx4_rq_reset(&qp->rq);
	qp->sq.port = NULL;
}

void
vmlx4_ib_sq_gone(struct vmlx4_qp *qp)
{
	forget(qp->ib);
}

void
vmlx4_ib_rtr(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	qp->sq.port = qp->port;
	ib->mtu = qp->qp_type == IBV_QPT_UD ? VMLX4_IB_MTU_MAX : 128u << ib->attr.mtu;
	ib->rx.psn = ib->attr.rq_psn & VMLX4_PSN_MASK;
	vmlx4_ib_timers_init(qp);
	vmlx4_rq_ready(&qp->rq);
}

void
vmlx4_ib_rts(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	/* From SQD and SQE on the PSNs go on. */
	if (!ib->tx.draining && !qp->sq.error && !qp->sq.live)
		ib->tx.psn = ib->attr.sq_psn & VMLX4_PSN_MASK;
	ib->tx.retries = ib->attr.retry_cnt;
	ib->tx.rnr_retries = ib->attr.rnr_retry;
	ib->tx.draining = false;
	vmlx4_sq_ready(qp);
}

void
vmlx4_ib_sqd(struct vmlx4_qp *qp, bool notify)
{
	struct vmlx4_ib *ib = qp->ib;

	ib->tx.draining = true;
	ib->tx.notify = notify;
	if (qp->sq.live)
		vmlx4_ib_reap(qp);
}

bool
vmlx4_ib_draining(const struct vmlx4_qp *qp)
{
	return qp->ib->tx.draining && qp->ib->tx.first != qp->ib->tx.last;
}

struct vmlx4_ib_psns
vmlx4_ib_next_psns(const struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_psns next = { .rq = ib->rx.psn, .sq = ib->tx.psn };

	/* Of what was begun and is not sent yet, or is to be sent again. */
	if (ib->tx.current != ib->tx.last) {
		const struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, ib->tx.current);

		next.sq = (request->psn + (ib->tx.sent > request->acked ? ib->tx.sent :
			request->acked)) & VMLX4_PSN_MASK;
	}
	return next;
}
