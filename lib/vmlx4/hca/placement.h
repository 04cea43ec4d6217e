/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_PLACEMENT_H_
#define VMLX4_PLACEMENT_H_

/*
 * Which CPUs the engine's thread keeps to. A forwarding core that polls without
 * end and the engine on the same CPU take turns by the scheduler's slices: a ring
 * of packets per slice, a fiftieth of what two CPUs do. The scheduler sees two
 * busy threads and, with something else on the other CPU, leaves them there.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct vmlx4_placement {
	cpu_set_t allowed;     /* what the process may use */
	cpu_set_t chosen;      /* what the engine keeps to at present */
	uint64_t window;       /* start of the window that late counts in, ns */
	unsigned int late;
};

void vmlx4_placement_init(struct vmlx4_placement *placement, const cpu_set_t *allowed);

/*
 * The engine's thread asked to be away for asked_ns and was from..to: when that
 * happens late again and again, keep to the CPUs that fewest of the program's
 * other threads run on.
 */
void vmlx4_placement_rested(struct vmlx4_placement *placement, uint64_t from, uint64_t to,
	uint64_t asked_ns);

/* The allowed CPUs with the fewest busy threads; busy[] by CPU number. */
void vmlx4_placement_choose(const cpu_set_t *allowed, const unsigned int *busy,
	cpu_set_t *chosen);

#endif /* VMLX4_PLACEMENT_H_ */
