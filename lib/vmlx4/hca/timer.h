/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TIMER_H_
#define VMLX4_TIMER_H_

/*
 * The model's time, and what is to happen later in it. With the engine's thread
 * it is the host's monotonic clock. When stepped it is a clock of the model's
 * own, which only steps and vmlx4_clock_advance() move, so that a run repeats to
 * the byte. All of it is used with the adapter locked.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define VMLX4_STEPPED_START_NS 1000000000u /* when stepped: the time at the start… */
#define VMLX4_STEP_NS 1000u                /* …and what one step takes */
#define VMLX4_NEVER UINT64_MAX

struct vmlx4_adapter;

struct vmlx4_timer {
	uint64_t at;           /* ns */
	bool armed;
	void (*fire)(struct vmlx4_timer *timer); /* disarmed by then; may arm again */
	TAILQ_ENTRY(vmlx4_timer) next;
};
TAILQ_HEAD(vmlx4_timer_list, vmlx4_timer);

struct vmlx4_time {
	uint64_t stepped;      /* ns, when there is no thread */
	uint64_t next;         /* of the timers; VMLX4_NEVER: none */
	struct vmlx4_timer_list timers; /* soonest first; as armed among equals */
};

void vmlx4_time_init(struct vmlx4_adapter *adapter);

/* Nanoseconds from a point that means nothing by itself. */
uint64_t vmlx4_time(const struct vmlx4_adapter *adapter);

/* Once, in the first engine pass at or after at. Armed again: the later call holds. */
void vmlx4_timer_arm(struct vmlx4_adapter *adapter, struct vmlx4_timer *timer, uint64_t at);
/* An object cancels its timers before it goes; harmless if not armed. */
void vmlx4_timer_cancel(struct vmlx4_adapter *adapter, struct vmlx4_timer *timer);

/* Fire what is due; how many. */
unsigned int vmlx4_timers_run(struct vmlx4_adapter *adapter);

#endif /* VMLX4_TIMER_H_ */
