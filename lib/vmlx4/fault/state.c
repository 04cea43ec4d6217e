/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>

#include "../sysfs/sysfs.h"
#include "../uverbs/uverbs.h"
#include "internal.h"

/* Faults that begin at some time or after some events: link, device, QP, CQ, clock. */

/* ---- what happens ---- */

static void
link_set(struct vmlx4_fault_rule *rule, bool down)
{
	struct vmlx4_adapter *adapter = rule->adapter;
	unsigned int i;

	rule->is_down = down;
	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_port *port = &adapter->ports[i];

		if (rule->spec.port != 0 && rule->spec.port != port->number)
			continue;
		if (down)
			port->unplugged++;
		else
			port->unplugged--;
		vmlx4_port_update(port);
	}
}

/* Its queues stand still; only the program's memory is left to look at. */
static void
object_die(struct vmlx4_obj *obj)
{
	struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;
	struct vmlx4_qp *qp = (struct vmlx4_qp *)(void *)obj;

	if (obj->type == VMLX4_QP) {
		vmlx4_sq_reset(qp);
		vmlx4_rq_reset(&qp->rq);
		qp->state = IBV_QPS_ERR;
	} else if (obj->type == VMLX4_WQ) {
		vmlx4_rq_reset(&((struct vmlx4_wq *)(void *)obj)->rq);
	} else if (obj->type == VMLX4_CQ) {
		/* Armed or not: who waits must learn that nothing comes any more. */
		vmlx4_fault_cq_gone(cq);
		if (cq->channel != NULL)
			vmlx4_comp_event(cq);
	}
}

static void
device_away(struct vmlx4_adapter *adapter, bool away)
{
	if (adapter->away == away)
		return;
	/* Who sees the one must not find the other. */
	if (away)
		__atomic_store_n(&adapter->away, true, __ATOMIC_RELEASE);
	vmlx4_sysfs_away(&adapter->options, away);
	if (!away)
		__atomic_store_n(&adapter->away, false, __ATOMIC_RELEASE);
}

static void
device_die(struct vmlx4_faults *faults, bool remove)
{
	struct vmlx4_adapter *adapter = faults->adapter;
	struct vmlx4_context *ctx;
	struct vmlx4_obj *obj;
	unsigned int i;

	/* The programs hear of it when it is gone. */
	if (remove)
		device_away(adapter, true);
	if (faults->dead)
		return;
	faults->dead = true;
	for (i = 0; i < adapter->options.ports; i++) {
		/* No PORT_ERR: the card tells of nothing but its end. */
		adapter->ports[i].unplugged++;
		adapter->ports[i].active = false;
		vmlx4_netdev_sysfs_update(&adapter->ports[i]);
	}
	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		if (ctx->dead) /* of an earlier time */
			continue;
		ctx->dead = true;
		TAILQ_FOREACH(obj, &ctx->objs, next)
			object_die(obj);
		vmlx4_async_event(adapter, ctx, IBV_EVENT_DEVICE_FATAL, 0);
	}
}

/* As after a reset of the card: new contexts work, the old ones never again. */
static void
device_return(struct vmlx4_faults *faults)
{
	struct vmlx4_adapter *adapter = faults->adapter;
	unsigned int i;

	if (!faults->dead)
		return;
	faults->dead = false;
	device_away(adapter, false);
	for (i = 0; i < adapter->options.ports; i++) {
		adapter->ports[i].unplugged--;
		vmlx4_port_update(&adapter->ports[i]);
	}
}

static unsigned int
qp_event(enum vmlx4_fault_action action)
{
	return action == VMLX4_FAULT_REQUEST_ERROR ? IBV_EVENT_QP_REQ_ERR :
		action == VMLX4_FAULT_ACCESS_ERROR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_FATAL;
}

static void
qp_fail(struct vmlx4_fault_rule *rule, struct vmlx4_qp *qp, const char *when)
{
	struct vmlx4_adapter *adapter = rule->adapter;

	if ((rule->spec.qpn != 0 && rule->spec.qpn != qp->qpn) ||
	    (rule->spec.port != 0 && (qp->port == NULL || qp->port->number != rule->spec.port)) ||
	    qp->table != NULL || qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_ERR)
		return;
	vmlx4_fault_log(rule, &adapter->fault_state->stats.qp_errors, when, "QPN %#x", qp->qpn);
	if (qp->ib != NULL) {
		vmlx4_ib_fatal(qp, (int)qp_event(rule->spec.action));
		return;
	}
	qp->state = IBV_QPS_ERR;
	if (qp->sq.live)
		vmlx4_sq_error(qp);
	if (qp->rq.live)
		vmlx4_rq_error(&qp->rq);
	vmlx4_async_event(adapter, qp->obj.ctx, qp_event(rule->spec.action), qp->obj.user_handle);
}

static void
cq_fail(struct vmlx4_fault_rule *rule, struct vmlx4_cq *cq, const char *when)
{
	if ((rule->spec.cqn != 0 && rule->spec.cqn != cq->cqn) || cq->error)
		return;
	vmlx4_fault_log(rule, &rule->adapter->fault_state->stats.cq_errors, when, "CQN %#x",
		cq->cqn);
	cq->error = true;
	vmlx4_async_event(rule->adapter, cq->obj.ctx, IBV_EVENT_CQ_ERR, cq->obj.user_handle);
}

static void
objects_fail(struct vmlx4_fault_rule *rule, const char *when)
{
	struct vmlx4_context *ctx;
	struct vmlx4_obj *obj;

	TAILQ_FOREACH(ctx, &rule->adapter->contexts, next)
		TAILQ_FOREACH(obj, &ctx->objs, next) {
			if (obj->type == VMLX4_QP && rule->spec.subject == VMLX4_FAULT_QP)
				qp_fail(rule, (struct vmlx4_qp *)(void *)obj, when);
			else if (obj->type == VMLX4_CQ && rule->spec.subject == VMLX4_FAULT_CQ)
				cq_fail(rule, (struct vmlx4_cq *)(void *)obj, when);
		}
}

/* ---- when ---- */

static void
link_down(struct vmlx4_fault_rule *rule, const char *when)
{
	struct vmlx4_adapter *adapter = rule->adapter;
	uint64_t from = rule->spec.trigger == VMLX4_FAULT_AT_FRAME ||
		rule->spec.trigger == VMLX4_FAULT_AT_COMMAND ? vmlx4_time(adapter) : rule->next;

	vmlx4_fault_log(rule, &adapter->fault_state->stats.links_down, when, "%s", "");
	link_set(rule, true);
	if (rule->spec.duration != 0)
		vmlx4_timer_arm(adapter, &rule->timer, from + rule->spec.duration);
}

static void
link_up(struct vmlx4_fault_rule *rule)
{
	vmlx4_fault_note(rule->adapter->fault_state, "up again: %s", rule->spec.text);
	link_set(rule, false);
	if (rule->spec.period == 0 || rule->hits >= rule->spec.count)
		return;
	rule->next += rule->spec.period;
	vmlx4_timer_arm(rule->adapter, &rule->timer, rule->next);
}

static void
device_down(struct vmlx4_fault_rule *rule, const char *when)
{
	struct vmlx4_adapter *adapter = rule->adapter;
	struct vmlx4_faults *faults = adapter->fault_state;

	vmlx4_fault_log(rule, &faults->stats.device_fatals, when, "%s", "");
	device_die(faults, rule->spec.action == VMLX4_FAULT_REMOVE);
	if (rule->spec.duration == 0)
		return;
	rule->is_down = true;
	vmlx4_timer_arm(adapter, &rule->timer, vmlx4_time(adapter) + rule->spec.duration);
}

static void
state_begin(struct vmlx4_fault_rule *rule)
{
	struct vmlx4_faults *faults = rule->adapter->fault_state;
	char when[64];

	switch (rule->spec.trigger) {
	case VMLX4_FAULT_AT_COMMAND:
		snprintf(when, sizeof(when), "command=%" PRIu64, rule->spec.at);
		break;
	case VMLX4_FAULT_AT_FRAME:
		snprintf(when, sizeof(when), "frame=%" PRIu64, rule->spec.at);
		break;
	default:
		snprintf(when, sizeof(when), "at=%" PRIu64 "ns", rule->next - faults->born);
		break;
	}
	switch (rule->spec.subject) {
	case VMLX4_FAULT_LINK:
		link_down(rule, when);
		break;
	case VMLX4_FAULT_DEVICE:
		device_down(rule, when);
		break;
	case VMLX4_FAULT_CLOCK:
		vmlx4_fault_log(rule, &faults->stats.clock_faults, when, "%s", "");
		faults->stuck_at = vmlx4_clock_now(rule->adapter);
		faults->clock_stuck |= rule->spec.action == VMLX4_FAULT_STUCK;
		faults->clock_missing |= rule->spec.action == VMLX4_FAULT_MISSING;
		break;
	default:
		objects_fail(rule, when);
		break;
	}
}

static void
state_timer(struct vmlx4_timer *timer)
{
	struct vmlx4_fault_rule *rule = (struct vmlx4_fault_rule *)(void *)
		((char *)timer - offsetof(struct vmlx4_fault_rule, timer));

	if (!rule->is_down) {
		state_begin(rule);
	} else if (rule->spec.subject == VMLX4_FAULT_DEVICE) {
		rule->is_down = false;
		vmlx4_fault_note(rule->adapter->fault_state, "back again: %s", rule->spec.text);
		device_return(rule->adapter->fault_state);
	} else {
		link_up(rule);
	}
}

void
vmlx4_fault_state_start(struct vmlx4_fault_rule *rule)
{
	rule->timer.fire = state_timer;
	rule->next = vmlx4_time(rule->adapter);
	if (rule->spec.trigger == VMLX4_FAULT_AT_ONCE) {
		state_begin(rule);
	} else if (rule->spec.trigger == VMLX4_FAULT_AT_TIME) {
		rule->next += rule->spec.at;
		vmlx4_timer_arm(rule->adapter, &rule->timer, rule->next);
	}
}

void
vmlx4_fault_state_event(struct vmlx4_faults *faults, enum vmlx4_fault_trigger trigger,
	unsigned int port)
{
	struct vmlx4_fault_rule *rule;

	STAILQ_FOREACH(rule, &faults->rules, list) {
		if (rule->spec.trigger != trigger ||
		    (port != 0 && rule->spec.port != 0 && rule->spec.port != port) ||
		    ++rule->events != rule->spec.at)
			continue;
		/* The engine is in the midst of its queues: as soon as it is through. */
		if (trigger == VMLX4_FAULT_AT_FRAME)
			vmlx4_timer_arm(faults->adapter, &rule->timer,
				vmlx4_time(faults->adapter));
		else
			state_begin(rule);
	}
}

void
vmlx4_fault_state_undo(struct vmlx4_faults *faults)
{
	struct vmlx4_fault_rule *rule = NULL;

	faults->clock_missing = false;
	faults->clock_stuck = false;
	while ((rule = vmlx4_fault_next(faults, rule, VMLX4_FAULT_LINK)) != NULL)
		if (rule->is_down)
			link_set(rule, false);
	device_return(faults);
}

/* ---- what the model asks ---- */

/* Time goes on for a device that is to come back, though nobody has it open. */
bool
vmlx4_fault_device_returns(const struct vmlx4_adapter *adapter)
{
	struct vmlx4_fault_rule *rule = NULL;

	while ((rule = vmlx4_fault_next(adapter->fault_state, rule, VMLX4_FAULT_DEVICE)) != NULL)
		if (rule->is_down)
			return true;
	return false;
}

bool
vmlx4_fault_device_dead(const struct vmlx4_adapter *adapter)
{
	return adapter->faults->dead;
}

uint64_t
vmlx4_fault_clock(const struct vmlx4_adapter *adapter, uint64_t now)
{
	return adapter->faults->clock_stuck ? adapter->faults->stuck_at : now;
}

bool
vmlx4_fault_clock_missing(const struct vmlx4_adapter *adapter)
{
	return adapter->faults->clock_missing;
}
