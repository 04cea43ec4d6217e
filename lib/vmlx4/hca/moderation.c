/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * Moderation of completion events (MODIFY_CQ): a CQE is written when its work is
 * done, but the event of an armed CQ waits until so many CQEs are there, or so
 * much time is over since the first of them.
 */

#define NS_PER_US 1000u

static void
fire(struct vmlx4_timer *timer)
{
	struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)((uint8_t *)timer -
		offsetof(struct vmlx4_cq, moderation.timer));

	cq->moderation.due = true;
	vmlx4_cq_check_arm(cq);
	cq->moderation.due = false;
}

bool
vmlx4_moderation_holds(struct vmlx4_cq *cq, uint32_t waiting, uint32_t errors)
{
	struct vmlx4_adapter *adapter = cq->obj.ctx->adapter;
	struct vmlx4_timer *timer = &cq->moderation.timer;
	uint16_t count = cq->moderation.count, period = cq->moderation.period;

	/* An error is told of at once. */
	if (cq->moderation.due || errors != 0 || (count != 0 && waiting >= count) ||
	    (period == 0 && (count <= 1 || vmlx4_unknowns(adapter)->cq_count_needs_period))) {
		vmlx4_timer_cancel(adapter, timer);
		return false;
	}
	timer->fire = fire;
	if (period != 0 && !timer->armed)
		vmlx4_timer_arm(adapter, timer,
			vmlx4_time(adapter) + (uint64_t)period * NS_PER_US);
	return true;
}

void
vmlx4_moderation_set(struct vmlx4_cq *cq, uint16_t count, uint16_t period)
{
	cq->moderation.count = count;
	cq->moderation.period = period;
	vmlx4_timer_cancel(cq->obj.ctx->adapter, &cq->moderation.timer);
	/* What waits is judged anew. */
	if (cq->channel != NULL)
		vmlx4_cq_check_arm(cq);
}

void
vmlx4_moderation_end(struct vmlx4_cq *cq)
{
	vmlx4_timer_cancel(cq->obj.ctx->adapter, &cq->moderation.timer);
}
