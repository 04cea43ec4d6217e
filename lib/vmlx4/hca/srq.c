/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * Receive WQEs for the transports: of a queue in the order of its ring, of an SRQ in
 * that of its chain. Each WQE of a chain begins with the number of the next one,
 * which the program wrote there when it freed that one: behind the posted ones the
 * chain goes on through those that are free.
 */

struct next { /* [rc] head of an SRQ WQE, big endian */
	uint16_t reserved;
	uint16_t index;
	uint32_t reserved2[3];
};
_Static_assert(sizeof(struct next) == 16, "next segment");

static const struct next *
srq_wqe(const struct vmlx4_srq *srq, uint32_t index)
{
	return (const struct next *)(const void *)(srq->buf +
		((size_t)index << srq->stride_shift));
}

static void
srq_event(struct vmlx4_srq *srq, unsigned int type)
{
	struct vmlx4_context *ctx = srq->obj.ctx;

	vmlx4_async_event(ctx->adapter, ctx, type, srq->obj.user_handle);
}

void
vmlx4_srq_error(struct vmlx4_srq *srq)
{
	if (srq->error)
		return;
	srq->error = true;
	srq_event(srq, IBV_EVENT_SRQ_ERR);
}

static uint32_t
srq_posted(const struct vmlx4_srq *srq)
{
	return (uint16_t)(vmlx4_load_be32(srq->db) - srq->taken);
}

void
vmlx4_srq_check_limit(struct vmlx4_srq *srq)
{
	if (srq->limit == 0 || srq_posted(srq) >= srq->limit)
		return;
	srq->limit = 0; /* once */
	srq_event(srq, IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* One WQE of the chain is always free: the one that the program appends to. */
static bool
chain_holds(struct vmlx4_srq *srq, uint32_t posted)
{
	if (likely(posted < srq->wqe_cnt))
		return true;
	vmlx4_violation(srq->obj.ctx->adapter, VMLX4_RULE_SRQ_OVERRUN, "SRQ", srq->srqn,
		srq->head, "%u WQEs posted, the chain holds %u", posted, srq->wqe_cnt - 1);
	return false;
}

static bool
chain_goes_on(struct vmlx4_srq *srq, uint32_t next)
{
	if (likely(next < srq->wqe_cnt && next != srq->head))
		return true;
	vmlx4_violation(srq->obj.ctx->adapter, VMLX4_RULE_SRQ_CHAIN, "SRQ", srq->srqn, srq->head,
		"the next WQE is number %u, of %u", next, srq->wqe_cnt);
	return false;
}

bool
vmlx4_srq_take(struct vmlx4_srq *srq, struct vmlx4_rwqe *rwqe)
{
	const struct next *wqe;
	uint32_t posted, next;

	if (srq->error)
		return false;
	posted = srq_posted(srq);
	if (posted == 0)
		return false;
	wqe = srq_wqe(srq, srq->head);
	next = be16toh(wqe->index);
	if (!chain_holds(srq, posted) || !chain_goes_on(srq, next)) {
		vmlx4_srq_error(srq);
		return false;
	}
	rwqe->seg = (const struct vmlx4_hw_data *)(const void *)(wqe + 1);
	rwqe->max_sge = (1u << (srq->stride_shift - 4)) - 1;
	rwqe->index = (uint16_t)srq->head;
	rwqe->pd = srq->pd;
	srq->head = next;
	srq->taken++;
	vmlx4_srq_check_limit(srq);
	return true;
}

bool
vmlx4_recv_take(struct vmlx4_qp *qp, struct vmlx4_rwqe *rwqe)
{
	return qp->srq != NULL ? vmlx4_srq_take(qp->srq, rwqe) : vmlx4_rq_take(&qp->rq, rwqe);
}
