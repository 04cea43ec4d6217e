/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

void
vmlx4_time_init(struct vmlx4_adapter *adapter)
{
	TAILQ_INIT(&adapter->time.timers);
	adapter->time.stepped = VMLX4_STEPPED_START_NS;
	adapter->time.next = VMLX4_NEVER;
}

uint64_t
vmlx4_time(const struct vmlx4_adapter *adapter)
{
	return adapter->options.step ? adapter->time.stepped : vmlx4_now_ns();
}

static void
timers_changed(struct vmlx4_time *time)
{
	struct vmlx4_timer *first = TAILQ_FIRST(&time->timers);

	/* The engine reads it without the lock before it sleeps. */
	__atomic_store_n(&time->next, first != NULL ? first->at : VMLX4_NEVER, __ATOMIC_RELAXED);
}

void
vmlx4_timer_arm(struct vmlx4_adapter *adapter, struct vmlx4_timer *timer, uint64_t at)
{
	struct vmlx4_time *time = &adapter->time;
	struct vmlx4_timer *before;

	vmlx4_timer_cancel(adapter, timer);
	timer->at = at;
	timer->armed = true;
	/* Most are the latest so far. */
	TAILQ_FOREACH_REVERSE(before, &time->timers, vmlx4_timer_list, next)
		if (before->at <= at)
			break;
	if (before != NULL)
		TAILQ_INSERT_AFTER(&time->timers, before, timer, next);
	else
		TAILQ_INSERT_HEAD(&time->timers, timer, next);
	timers_changed(time);
}

void
vmlx4_timer_cancel(struct vmlx4_adapter *adapter, struct vmlx4_timer *timer)
{
	if (!timer->armed)
		return;
	timer->armed = false;
	TAILQ_REMOVE(&adapter->time.timers, timer, next);
	timers_changed(&adapter->time);
}

unsigned int
vmlx4_timers_run(struct vmlx4_adapter *adapter)
{
	uint64_t now = vmlx4_time(adapter);
	struct vmlx4_timer *timer;
	unsigned int n = 0;

	/* One that arms itself for now has its turn in the next pass. */
	while (n < 64 && (timer = TAILQ_FIRST(&adapter->time.timers)) != NULL &&
	       timer->at <= now) {
		vmlx4_timer_cancel(adapter, timer);
		timer->fire(timer);
		n++;
	}
	return n;
}
