/* SPDX-License-Identifier: BSD-3-Clause */

#include "rest.h"

/* Idle passes before the thread yields, then naps, then sleeps longer. */
#define IDLE_SPIN 400u
#define IDLE_YIELD 600u
#define IDLE_NAP 2600u

#define LATE_NS 200000u            /* a yield that somebody else used… */
#define CROWDED_FOR_NS 100000000u  /* …and will again for a while */

enum vmlx4_rest_kind
vmlx4_rest_next(struct vmlx4_rest *rest, bool worked, uint64_t now)
{
	if (worked) {
		rest->idle = 0;
		return VMLX4_REST_NONE;
	}
	rest->idle++;
	if (rest->crowded_until != 0 && now >= rest->crowded_until)
		rest->crowded_until = 0;
	if (rest->idle < IDLE_SPIN)
		return VMLX4_REST_SPIN;
	if (rest->crowded_until != 0 && rest->idle < IDLE_YIELD)
		rest->idle = IDLE_YIELD;
	if (rest->idle < IDLE_YIELD)
		return VMLX4_REST_YIELD;
	return rest->idle < IDLE_NAP ? VMLX4_REST_NAP : VMLX4_REST_SLEEP;
}

void
vmlx4_rest_yielded(struct vmlx4_rest *rest, uint64_t from, uint64_t to)
{
	if (to - from > LATE_NS)
		rest->crowded_until = to + CROWDED_FOR_NS;
}
