/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_REST_H_
#define VMLX4_REST_H_

/*
 * What the engine's thread does between passes that found no work: it spins for a while,
 * then yields the CPU, then sleeps, at last longer. Where others want the same CPU a
 * yield lasts until all of them had their turn, and a program that polls for what the
 * engine is to do next waits as long: there the thread sleeps instead, since who wakes is
 * put before them. It spins first there too: one late yield on a machine with a CPU for
 * each must not put it to sleep between any two frames.
 */

#include <stdbool.h>
#include <stdint.h>

enum vmlx4_rest_kind {
	VMLX4_REST_NONE,       /* it worked */
	VMLX4_REST_SPIN,
	VMLX4_REST_YIELD,
	VMLX4_REST_NAP,
	VMLX4_REST_SLEEP,
};

struct vmlx4_rest {
	unsigned int idle;     /* passes without work */
	uint64_t crowded_until; /* others want the CPU; 0: not that we know */
};

/* After a pass. now: ns, read only while it is crowded. */
enum vmlx4_rest_kind vmlx4_rest_next(struct vmlx4_rest *rest, bool worked, uint64_t now);
/* A yield lasted from..to. */
void vmlx4_rest_yielded(struct vmlx4_rest *rest, uint64_t from, uint64_t to);

#endif /* VMLX4_REST_H_ */
