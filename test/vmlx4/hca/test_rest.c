/* SPDX-License-Identifier: BSD-3-Clause */

/* How the engine's thread spends its idle passes, and how soon it gets a CPU again. */

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "hca/rest.h"
#include "hca/turns.h"

/* Passes without work until it rests in another way than so; all in that way. */
static unsigned int
passes(struct vmlx4_rest *rest, enum vmlx4_rest_kind kind, enum vmlx4_rest_kind next,
       uint64_t now)
{
	unsigned int n = 1;

	for (;;) {
		enum vmlx4_rest_kind got = vmlx4_rest_next(rest, false, now);

		if (got != kind) {
			assert_int_equal(got, next);
			return n;
		}
		n++;
	}
}

static void
alone_it_spins_yields_naps_sleeps(void **state)
{
	struct vmlx4_rest rest = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(vmlx4_rest_next(&rest, true, 0), VMLX4_REST_NONE);
		assert_int_equal(passes(&rest, VMLX4_REST_SPIN, VMLX4_REST_YIELD, 0), 400);
		vmlx4_rest_yielded(&rest, 1000, 1800); /* nobody else was there */
		assert_int_equal(passes(&rest, VMLX4_REST_YIELD, VMLX4_REST_NAP, 0), 200);
		assert_int_equal(passes(&rest, VMLX4_REST_NAP, VMLX4_REST_SLEEP, 0), 2000);
	}
}

#define MS 1000000u

/* Passes that follow each other by a microsecond; in the end one that rests otherwise. */
static unsigned int
spins_in_us(struct vmlx4_rest *rest, uint64_t *now, enum vmlx4_rest_kind next)
{
	enum vmlx4_rest_kind got;
	unsigned int n = 0;

	assert_int_equal(vmlx4_rest_next(rest, true, 0), VMLX4_REST_NONE);
	while ((got = vmlx4_rest_next(rest, false, *now)) == VMLX4_REST_SPIN) {
		*now += 1000;
		n++;
	}
	assert_int_equal(got, next);
	return n;
}

/* Somebody used two yields: no more of them for a tenth of a second, and then a try. */
static void
in_a_crowd_it_naps_instead_of_yields(void **state)
{
	struct vmlx4_rest rest = { 0 };
	uint64_t now = 5 * MS;

	(void)state;
	assert_int_equal(spins_in_us(&rest, &now, VMLX4_REST_YIELD), 399);
	vmlx4_rest_yielded(&rest, now, now + 3 * MS);
	now += 3 * MS;
	/* Once is an accident. */
	assert_int_equal(vmlx4_rest_next(&rest, false, now), VMLX4_REST_YIELD);
	vmlx4_rest_yielded(&rest, now, now + 3 * MS);
	now += 3 * MS;
	assert_int_equal(vmlx4_rest_next(&rest, false, now), VMLX4_REST_NAP);
	now += 99 * MS;
	/* It works between the naps, and does not nap after each frame. */
	assert_int_equal(spins_in_us(&rest, &now, VMLX4_REST_NAP), 5);
	now += MS;
	assert_int_equal(spins_in_us(&rest, &now, VMLX4_REST_YIELD), 399);
	assert_int_equal(rest.crowded_until, 0);
	/* They are still there. */
	vmlx4_rest_yielded(&rest, now, now + 3 * MS);
	now += 3 * MS;
	assert_int_equal(vmlx4_rest_next(&rest, false, now), VMLX4_REST_NAP);
}

/* Between two passes of a spin others had the CPU: it spun its share away. */
static void
who_spins_in_a_crowd_is_told_by_the_clock(void **state)
{
	struct vmlx4_rest rest = { 0 };
	uint64_t now = 5 * MS;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(vmlx4_rest_next(&rest, true, 0), VMLX4_REST_NONE);
		assert_int_equal(vmlx4_rest_next(&rest, false, now), VMLX4_REST_SPIN);
		assert_int_equal(rest.crowded_until, 0);
		now += 3 * MS;
		vmlx4_rest_next(&rest, false, now);
	}
	assert_int_not_equal(rest.crowded_until, 0);
	assert_int_equal(spins_in_us(&rest, &now, VMLX4_REST_NAP), 5);
	/* Work that takes long is no spin, nor is a nap. */
	now += 101 * MS;
	for (i = 0; i < 3; i++) {
		assert_int_equal(vmlx4_rest_next(&rest, false, now), i == 0 ? VMLX4_REST_NAP :
			VMLX4_REST_SPIN);
		assert_int_equal(vmlx4_rest_next(&rest, true, 0), VMLX4_REST_NONE);
		now += 3 * MS;
	}
	assert_int_equal(rest.crowded_until, 0);
}

static struct sched_attr
attributes(void)
{
	struct sched_attr attr = { .size = sizeof(attr) };

	assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
	return attr;
}

/* The kernel grants them, and takes nothing else for them; an old one says nothing. */
static void
turns_are_short(void **state)
{
	struct sched_attr before = attributes(), after;

	(void)state;
	if (before.sched_policy != SCHED_NORMAL || before.sched_runtime == 0)
		skip();
	vmlx4_short_turns();
	after = attributes();
	assert_int_equal(after.sched_runtime, 100000);
	assert_int_equal(after.sched_nice, before.sched_nice);
	assert_int_equal(after.sched_policy, SCHED_NORMAL);
	/* Not ours to change. */
	before.sched_policy = SCHED_BATCH;
	assert_int_equal(syscall(SYS_sched_setattr, 0, &before, 0), 0);
	vmlx4_short_turns();
	after = attributes();
	assert_int_equal(after.sched_policy, SCHED_BATCH);
	assert_int_equal(after.sched_runtime, before.sched_runtime);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_it_spins_yields_naps_sleeps),
		cmocka_unit_test(in_a_crowd_it_naps_instead_of_yields),
		cmocka_unit_test(who_spins_in_a_crowd_is_told_by_the_clock),
		cmocka_unit_test(turns_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
