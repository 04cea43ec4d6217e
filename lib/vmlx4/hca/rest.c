/* SPDX-License-Identifier: BSD-3-Clause */

#include "rest.h"

/* Idle passes before the thread yields, then naps, then sleeps longer. */
#define IDLE_SPIN 400u
#define IDLE_YIELD 600u
#define IDLE_NAP 2600u

#define LATE_NS 200000u            /* a yield, or a spin, that somebody else used: */
#define LATE_AGAIN_NS 200000000u   /* twice in so much time is no accident… */
#define CROWDED_FOR_NS 100000000u  /* …and then it is like that for a while */
#define CROWDED_SPIN_NS 5000u      /* a quarter of a nap: less than a fair share */

/* When it is over, one late return says that it is not: that is why the one is the longer. */
static void
late(struct vmlx4_rest *rest, uint64_t from, uint64_t to)
{
	if (to - from <= LATE_NS)
		return;
	if (rest->late_at != 0 && to - rest->late_at < LATE_AGAIN_NS)
		rest->crowded_until = to + CROWDED_FOR_NS;
	rest->late_at = to;
}

static bool
may_spin(const struct vmlx4_rest *rest, uint64_t now)
{
	if (rest->crowded_until != 0)
		return rest->idle == 1 || now - rest->since < CROWDED_SPIN_NS;
	return rest->idle < IDLE_SPIN;
}

enum vmlx4_rest_kind
vmlx4_rest_next(struct vmlx4_rest *rest, bool worked, uint64_t now)
{
	if (worked) {
		rest->idle = 0;
		rest->spun = 0;
		return VMLX4_REST_NONE;
	}
	if (rest->idle++ == 0)
		rest->since = now;
	if (rest->spun != 0)
		late(rest, rest->spun, now);
	rest->spun = 0;
	if (rest->crowded_until != 0 && now >= rest->crowded_until)
		rest->crowded_until = 0;
	if (rest->idle < IDLE_SPIN && may_spin(rest, now)) {
		rest->spun = now;
		return VMLX4_REST_SPIN;
	}
	if (rest->crowded_until != 0 && rest->idle < IDLE_YIELD)
		rest->idle = IDLE_YIELD;
	if (rest->idle < IDLE_YIELD)
		return VMLX4_REST_YIELD;
	return rest->idle < IDLE_NAP ? VMLX4_REST_NAP : VMLX4_REST_SLEEP;
}

void
vmlx4_rest_yielded(struct vmlx4_rest *rest, uint64_t from, uint64_t to)
{
	late(rest, from, to);
}
