/* SPDX-License-Identifier: BSD-3-Clause */

#include "../uverbs/uverbs.h"
#include "burst.h"
#include "guard.h"

/*
 * A guard (guard.h) met an address of the program that is gone: whose it is, and
 * what becomes of the object. All of it is rare, so nothing is kept for it but
 * which queue the engine is at.
 */

enum owner_kind { NOBODY, A_CQ, AN_SQ, AN_RQ, AN_SRQ, AN_MR };

struct owner {
	enum owner_kind kind;
	struct vmlx4_obj *obj;
};

/* Stands in for a doorbell record that is gone: nothing posted, nothing consumed. */
static uint32_t no_record[2];

static bool
within(uint64_t addr, const void *start, uint64_t size)
{
	return start != NULL && addr - (uintptr_t)start < size;
}

static bool
of_rq(uint64_t addr, const struct vmlx4_rq *rq)
{
	return within(addr, rq->buf, (uint64_t)rq->wqe_cnt << rq->stride_shift) ||
		within(addr, rq->db, sizeof(*rq->db));
}

static enum owner_kind
owner_kind(uint64_t addr, struct vmlx4_obj *obj)
{
	const struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;
	const struct vmlx4_qp *qp = (struct vmlx4_qp *)(void *)obj;
	const struct vmlx4_srq *srq = (struct vmlx4_srq *)(void *)obj;
	const struct vmlx4_wq *wq = (struct vmlx4_wq *)(void *)obj;

	switch (obj->type) {
	case VMLX4_CQ:
		return within(addr, cq->buf, (uint64_t)cq->cqe_cnt * cq->cqe_size) ||
			within(addr, cq->db, 2 * sizeof(*cq->db)) ? A_CQ : NOBODY;
	case VMLX4_QP:
		if (within(addr, qp->sq.buf, (uint64_t)qp->sq.wqe_cnt << qp->sq.stride_shift))
			return AN_SQ;
		return of_rq(addr, &qp->rq) ? AN_RQ : NOBODY;
	case VMLX4_WQ:
		return of_rq(addr, &wq->rq) ? AN_RQ : NOBODY;
	case VMLX4_SRQ:
		return within(addr, srq->buf, (uint64_t)srq->wqe_cnt << srq->stride_shift) ||
			within(addr, srq->db, sizeof(*srq->db)) ? AN_SRQ : NOBODY;
	default:
		return NOBODY;
	}
}

/* Queues first: a program may have registered their memory as well. */
static struct owner
owner_of(const struct vmlx4_adapter *adapter, uint64_t addr)
{
	struct owner owner = { NOBODY, NULL };
	struct vmlx4_context *ctx;
	struct vmlx4_obj *obj;

	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		TAILQ_FOREACH(obj, &ctx->objs, next) {
			const struct vmlx4_mr *mr = (struct vmlx4_mr *)(void *)obj;

			if (obj->type == VMLX4_MR) {
				if (addr - mr->start < mr->length)
					owner = (struct owner){ AN_MR, obj };
				continue;
			}
			if (owner_kind(addr, obj) != NOBODY)
				return (struct owner){ owner_kind(addr, obj), obj };
		}
	}
	return owner;
}

bool
vmlx4_unmapped_ours(const struct vmlx4_adapter *adapter, uint64_t addr)
{
	return owner_of(adapter, addr).kind != NOBODY;
}

static void
report(struct vmlx4_adapter *adapter, const char *queue, uint32_t number, uint32_t index,
	const char *what, uint64_t addr)
{
	vmlx4_violation(adapter, VMLX4_RULE_MR_UNMAPPED, queue, number, index,
		"%s at %#llx is no longer mapped, or not as it was registered", what,
		(unsigned long long)addr);
}

static void
cq_gone(struct vmlx4_cq *cq, uint64_t addr)
{
	struct vmlx4_context *ctx = cq->obj.ctx;

	report(ctx->adapter, "CQ", cq->cqn, cq->pi, "its buffer or record", addr);
	if (!cq->error)
		vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_CQ_ERR, cq->obj.user_handle);
	cq->error = true;
	cq->db = no_record;
	cq->buf = NULL;
}

/* What can no longer be read cannot be flushed either: one completion tells of it. */
static void
sq_gone(struct vmlx4_qp *qp, uint64_t addr)
{
	struct vmlx4_context *ctx = qp->obj.ctx;
	uint16_t index = (uint16_t)qp->sq.ci;

	report(ctx->adapter, "SQ", qp->qpn, index, "its ring", addr);
	if (qp->ib != NULL)
		vmlx4_ib_sq_gone(qp);
	vmlx4_sq_reset(qp);
	qp->sq.buf = NULL;
	qp->state = IBV_QPS_ERR;
	vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_QP_FATAL, qp->obj.user_handle);
	vmlx4_cq_write_error(qp->sq.cq, qp->qpn, true, index, VMLX4_HW_SYN_LOC_PROT);
	if (qp->rq.live)
		vmlx4_rq_error(&qp->rq);
}

static void
rq_gone(struct vmlx4_obj *obj, uint64_t addr)
{
	struct vmlx4_qp *qp = obj->type == VMLX4_QP ? (struct vmlx4_qp *)(void *)obj : NULL;
	struct vmlx4_wq *wq = (struct vmlx4_wq *)(void *)obj;
	struct vmlx4_rq *rq = qp != NULL ? &qp->rq : &wq->rq;
	struct vmlx4_context *ctx = obj->ctx;
	uint16_t index = rq->ci;

	report(ctx->adapter, "RQ", rq->qpn, index, "its ring or record", addr);
	vmlx4_rq_reset(rq);
	rq->buf = NULL;
	rq->db = NULL;
	/* mlx4 knows no events of WQs. */
	if (qp != NULL) {
		qp->state = IBV_QPS_ERR;
		vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_QP_FATAL,
			qp->obj.user_handle);
	}
	vmlx4_cq_write_error(rq->cq, rq->qpn, false, index, VMLX4_HW_SYN_LOC_PROT);
	if (qp != NULL)
		vmlx4_sq_error(qp);
}

static void
srq_gone(struct vmlx4_srq *srq, uint64_t addr)
{
	report(srq->obj.ctx->adapter, "SRQ", srq->srqn, srq->head, "its chain or record", addr);
	srq->buf = NULL;
	srq->db = no_record;
	vmlx4_srq_error(srq);
}

/* The port that a receive queue takes frames from. */
static struct vmlx4_port *
rq_port(struct vmlx4_adapter *adapter, const struct vmlx4_rq *rq)
{
	struct vmlx4_qp *qp = adapter->qp_table[rq->qpn];
	struct vmlx4_wq *wq;

	if (qp != NULL && &qp->rq == rq)
		return qp->port;
	wq = adapter->wq_table[rq->qpn];
	return wq != NULL && &wq->rq == rq ? wq->port : NULL;
}

/* A buffer: of the WQE that the engine was at. */
static void
buffer_gone(struct vmlx4_adapter *adapter, struct vmlx4_mr *mr, uint64_t addr, bool write)
{
	struct vmlx4_qp *qp = adapter->tx_active;
	struct vmlx4_rq *rq = adapter->rx_active;
	struct vmlx4_port *port = write && rq != NULL ? rq_port(adapter, rq) : NULL;

	if (adapter->ib != NULL && vmlx4_ib_buffer_gone(adapter, addr))
		return;
	adapter->rx_lost = adapter->rx_burst != NULL;
	if (port != NULL) {
		report(adapter, "RQ", rq->qpn, rq->ci, "a buffer", addr);
		vmlx4_rq_lost_buffer(port, rq);
		/* The frame is out: its sender is done with it. */
		if (qp != NULL && adapter->rx_burst == NULL)
			vmlx4_sq_skip(qp);
	} else if (qp != NULL && !qp->sq.careful) {
		/* Of a burst, perhaps: it starts anew, and finds the WQE. */
		qp->sq.careful = true;
	} else if (qp != NULL) {
		report(adapter, "SQ", qp->qpn, qp->sq.ci, "a buffer", addr);
		vmlx4_sq_lost_buffer(qp);
	} else {
		/* Whoever it was would come here for ever: the key is good no longer. */
		report(adapter, "MR", mr->lkey, 0, "a buffer", addr);
		mr->lkey ^= 0xff;
	}
}

static void
settle_run(void *arriving)
{
	vmlx4_rx_burst_settle(arriving);
}

struct fault {
	struct vmlx4_adapter *adapter;
	uint64_t addr;
	bool write;
};

static void
unmapped_run(void *arg)
{
	const struct fault *fault = arg;
	struct owner owner = owner_of(fault->adapter, fault->addr);

	switch (owner.kind) {
	case A_CQ:
		cq_gone((struct vmlx4_cq *)(void *)owner.obj, fault->addr);
		break;
	case AN_SQ:
		sq_gone((struct vmlx4_qp *)(void *)owner.obj, fault->addr);
		break;
	case AN_RQ:
		rq_gone(owner.obj, fault->addr);
		break;
	case AN_SRQ:
		srq_gone((struct vmlx4_srq *)(void *)owner.obj, fault->addr);
		break;
	case AN_MR:
		buffer_gone(fault->adapter, (struct vmlx4_mr *)(void *)owner.obj, fault->addr,
			fault->write);
		break;
	case NOBODY:
		break;
	}
}

/*
 * To say so meets further memory, which may be gone as well. It ends: each fault
 * takes away what it was about.
 */
void
vmlx4_unmapped(struct vmlx4_adapter *adapter, uint64_t addr, bool write)
{
	struct fault fault = { adapter, addr, write };
	struct vmlx4_arriving *burst = adapter->rx_burst;

	/* A CQ that is gone is found so, and the burst has done with it. */
	adapter->rx_burst = NULL;
	if (burst != NULL)
		vmlx4_guarded(adapter, settle_run, burst);
	adapter->rx_burst = burst;
	vmlx4_flight_forget(adapter);
	vmlx4_guarded(adapter, unmapped_run, &fault);
}

struct pass {
	struct vmlx4_adapter *adapter;
	unsigned int budget, done;
};

static void
pass_run(void *arg)
{
	struct pass *pass = arg;

	pass->done = vmlx4_engine_pass_unguarded(pass->adapter, pass->budget);
}

unsigned int
vmlx4_engine_pass(struct vmlx4_adapter *adapter, unsigned int budget)
{
	struct pass pass = { adapter, budget, 0 };

	if (vmlx4_guarded(adapter, pass_run, &pass))
		return pass.done;
	/* Left in the middle, but it did something: another one is due. */
	adapter->tx_active = NULL;
	adapter->rx_burst = NULL;
	return 1;
}
