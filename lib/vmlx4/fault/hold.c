/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "internal.h"

/*
 * Completions that show late. They lie in the CQ, whole but for the dword with
 * the owner bit, and so does all that completes behind them: a CQ has an order.
 */

struct vmlx4_held {
	struct vmlx4_cq *cq;
	struct vmlx4_timer timer;
	uint32_t count;            /* CQEs withheld, the last ones of the CQ */
	uint32_t batch;            /* CQEs that the batch still waits for… */
	uint32_t batch_size;       /* …of so many */
	struct {
		uint32_t last;     /* the dword, host order */
		uint64_t at;       /* ns */
	} cqe[];                   /* cq->cqe_cnt of them, by index in the CQ */
};

uint32_t
vmlx4_fault_visible(const struct vmlx4_cq *cq)
{
	return cq->pi - (cq->held != NULL ? cq->held->count : 0);
}

/* The trace has a CQE when the program can see it. */
static void
trace_shown(const struct vmlx4_cq *cq, const struct vmlx4_hw_cqe *cqe, uint32_t index)
{
	struct vmlx4_cq then;

	if (!vmlx4_traced(cq->obj.ctx->adapter))
		return;
	then = *cq;
	then.pi = index;
	vmlx4_trace_cqe(&then, cqe);
}

static void
show_until(struct vmlx4_held *held, uint64_t until)
{
	struct vmlx4_cq *cq = held->cq;
	uint32_t shown = 0;

	while (held->count != 0) {
		uint32_t index = cq->pi - held->count, slot = index & (cq->cqe_cnt - 1);
		struct vmlx4_hw_cqe *cqe = vmlx4_cq_entry(cq, index);

		if (held->cqe[slot].at > until)
			break;
		__atomic_store_n(&cqe->owner_op, htobe32(held->cqe[slot].last), __ATOMIC_RELEASE);
		trace_shown(cq, cqe, index);
		held->count--;
		shown++;
	}
	if (held->count != 0)
		vmlx4_timer_arm(cq->obj.ctx->adapter, &held->timer,
			held->cqe[(cq->pi - held->count) & (cq->cqe_cnt - 1)].at);
	else
		vmlx4_timer_cancel(cq->obj.ctx->adapter, &held->timer);
	if (held->count == 0)
		held->batch = 0;
	if (shown != 0)
		vmlx4_cq_check_arm(cq);
}

static void
held_timer(struct vmlx4_timer *timer)
{
	struct vmlx4_held *held = (struct vmlx4_held *)(void *)
		((char *)timer - offsetof(struct vmlx4_held, timer));

	show_until(held, vmlx4_time(held->cq->obj.ctx->adapter));
}

static struct vmlx4_held *
held_get(struct vmlx4_cq *cq)
{
	struct vmlx4_held *held = cq->held;

	if (held == NULL)
		held = calloc(1, sizeof(*held) + cq->cqe_cnt * sizeof(held->cqe[0]));
	if (held == NULL)
		return NULL;
	held->cq = cq;
	held->timer.fire = held_timer;
	cq->held = held;
	return held;
}

/* The port of the queue that completed, or 0. */
static unsigned int
port_of(const struct vmlx4_adapter *adapter, uint32_t qpn)
{
	const struct vmlx4_qp *qp = adapter->qp_table[qpn & (VMLX4_QP_TABLE - 1)];
	const struct vmlx4_wq *wq = adapter->wq_table[qpn & (VMLX4_QP_TABLE - 1)];
	const struct vmlx4_port *port = qp != NULL ? qp->port : wq != NULL ? wq->port : NULL;

	return port != NULL ? port->number : 0;
}

static struct vmlx4_fault_rule *
find_rule(struct vmlx4_cq *cq, uint32_t qpn, bool send)
{
	struct vmlx4_adapter *adapter = cq->obj.ctx->adapter;
	unsigned int direction = send ? VMLX4_FAULT_DIR_TX : VMLX4_FAULT_DIR_RX;
	struct vmlx4_fault_rule *rule = NULL, *hit = NULL;

	while ((rule = vmlx4_fault_next(adapter->faults, rule, VMLX4_FAULT_CQE)) != NULL) {
		const struct vmlx4_fault_spec *spec = &rule->spec;

		if ((spec->directions != 0 && (spec->directions & direction) == 0) ||
		    (spec->qpn != 0 && spec->qpn != qpn) ||
		    (spec->cqn != 0 && spec->cqn != cq->cqn) ||
		    (spec->port != 0 && spec->port != port_of(adapter, qpn)))
			continue;
		if (vmlx4_fault_hits(rule) && hit == NULL)
			hit = rule;
	}
	return hit;
}

/* When the CQE may show, by a rule that hit it. */
static uint64_t
delay(struct vmlx4_held *held, struct vmlx4_fault_rule *rule, uint32_t qpn, uint64_t now)
{
	struct vmlx4_fault_stats *stats = &rule->adapter->fault_state->stats;
	struct vmlx4_cq *cq = held->cq;

	if (rule->spec.action == VMLX4_FAULT_LATE) {
		vmlx4_fault_log(rule, &stats->cqes_late, NULL, "CQN %#x index %#x, QPN %#x",
			cq->cqn, cq->pi, qpn);
		return now + rule->spec.late;
	}
	if (held->batch != 0)
		return now; /* one of a batch that has begun */
	held->batch = rule->spec.n;
	held->batch_size = rule->spec.n;
	vmlx4_fault_log(rule, &stats->cqe_batches, NULL, "CQN %#x index %#x, QPN %#x",
		cq->cqn, cq->pi, qpn);
	return now + rule->spec.within;
}

/* The batch is complete with the CQE that comes next: all of it may show. */
static void
batch_end(struct vmlx4_held *held, uint64_t now)
{
	struct vmlx4_cq *cq = held->cq;
	uint32_t i;

	for (i = 0; i < held->batch_size && i <= held->count; i++)
		held->cqe[(cq->pi - i) & (cq->cqe_cnt - 1)].at = now;
}

bool
vmlx4_fault_hold_cqe(struct vmlx4_cq *cq, struct vmlx4_hw_cqe *cqe, uint32_t last)
{
	struct vmlx4_adapter *adapter = cq->obj.ctx->adapter;
	uint32_t qpn = be32toh(cqe->vlan_qpn) & 0xffffff;
	struct vmlx4_fault_rule *rule = find_rule(cq, qpn, (last & VMLX4_HW_CQE_SEND) != 0);
	struct vmlx4_held *held = cq->held;
	uint64_t now;

	if (rule == NULL && (held == NULL || held->count == 0))
		return false;
	held = held_get(cq);
	if (held == NULL)
		return false;
	now = vmlx4_time(adapter);
	held->cqe[cq->pi & (cq->cqe_cnt - 1)].at = rule != NULL ? delay(held, rule, qpn, now) : now;
	held->cqe[cq->pi & (cq->cqe_cnt - 1)].last = last;
	if (held->batch != 0 && --held->batch == 0)
		batch_end(held, now);
	/* The caller counts it as written; the timer looks behind that. */
	held->count++;
	vmlx4_timer_arm(adapter, &held->timer,
		held->cqe[(cq->pi + 1 - held->count) & (cq->cqe_cnt - 1)].at);
	return true;
}

void
vmlx4_fault_show_cqes(struct vmlx4_adapter *adapter, struct vmlx4_context *only)
{
	struct vmlx4_context *ctx;
	struct vmlx4_obj *obj;

	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		if (only != NULL && ctx != only)
			continue;
		TAILQ_FOREACH(obj, &ctx->objs, next) {
			struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;

			if (obj->type == VMLX4_CQ && cq->held != NULL && cq->held->count != 0)
				show_until(cq->held, UINT64_MAX);
		}
	}
}

void
vmlx4_fault_cq_gone(struct vmlx4_cq *cq)
{
	if (cq->held == NULL)
		return;
	vmlx4_timer_cancel(cq->obj.ctx->adapter, &cq->held->timer);
	free(cq->held);
	cq->held = NULL;
}
