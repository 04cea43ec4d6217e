/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_REST_H_
#define VMLX4_REST_H_

/*
 * What the engine's thread does between passes that found no work: it spins for a while,
 * then yields the CPU, then sleeps, at last longer. Where others want the same CPU that is
 * the wrong way: who has spun away its share, and who yields, waits until the others have
 * used theirs, milliseconds later, and a program that polls for what the engine is to do
 * next waits as long. Who sleeps is put before them when it wakes. So there the thread
 * spins for some microseconds, so as not to sleep between any two frames, and then sleeps.
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
	uint64_t since;        /* when the first of them was */
	uint64_t spun;         /* when it spun last; 0: not before this pass */
	uint64_t late_at;      /* when it came back late last; 0: never */
	uint64_t crowded_until; /* others want the CPU; 0: not that we know */
};

/* After a pass. now: ns, read only of one without work. */
enum vmlx4_rest_kind vmlx4_rest_next(struct vmlx4_rest *rest, bool worked, uint64_t now);
/* A yield lasted from..to. */
void vmlx4_rest_yielded(struct vmlx4_rest *rest, uint64_t from, uint64_t to);

#endif /* VMLX4_REST_H_ */
