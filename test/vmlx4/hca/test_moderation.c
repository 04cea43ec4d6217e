/* SPDX-License-Identifier: BSD-3-Clause */

#include "arm.h"

/* Moderation delays the event of an armed CQ, and never a CQE. */

static void
later(struct arm *a, uint64_t ns)
{
	a->card.adapter->time.stepped += ns;
	vmlx4_engine_pass(a->card.adapter, 0);
}

static void
test_by_count(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 3, 0);
	do_arm(a, 1, 2, 0);
	complete(a);
	complete(a);
	/* The CQEs are there. */
	assert_int_equal(card_cqe(a->cq, 0)[31], 0x01);
	assert_int_equal(card_cqe(a->cq, 1)[31], 0x01);
	assert_int_equal(events(a), 0);
	later(a, 1000000000); /* no period: no time is too long */
	assert_int_equal(events(a), 0);
	complete(a);
	assert_int_equal(events(a), 1);
	complete(a);
	assert_int_equal(events(a), 0);
	/* Counted from the consumer index of the arm: one is there, two are missing. */
	do_arm(a, 2, 2, 3);
	complete(a);
	assert_int_equal(events(a), 0);
	complete(a);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

static void
test_by_period(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 0, 20);
	do_arm(a, 1, 2, 0);
	later(a, 1000000);
	/* From the first CQE on, not from the arm, nor from a later one. */
	complete(a);
	later(a, 19000);
	complete(a);
	assert_int_equal(events(a), 0);
	later(a, 999);
	assert_int_equal(events(a), 0);
	later(a, 1);
	assert_int_equal(events(a), 1);
	later(a, 1000000);
	assert_int_equal(events(a), 0);
	/* The arm finds CQEs: the time begins with it. */
	do_arm(a, 2, 2, 0);
	assert_int_equal(events(a), 0);
	later(a, 20000);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

/* Whichever comes first; the count ends the timer too. */
static void
test_both(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 2, 20);
	do_arm(a, 1, 2, 0);
	complete(a);
	complete(a);
	assert_int_equal(events(a), 1);
	do_arm(a, 2, 2, 2);
	later(a, 19000);
	complete(a);
	later(a, 1000);
	assert_int_equal(events(a), 0); /* of the old timer nothing is left */
	later(a, 19000);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

/* Nobody armed: no event, however many. */
static void
test_not_armed(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 1, 10);
	complete(a);
	complete(a);
	later(a, 1000000);
	assert_int_equal(events(a), 0);
	arm_free(a);
}

static void
test_errors_at_once(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 8, 1000);
	do_arm(a, 1, 2, 0);
	complete(a);
	assert_int_equal(events(a), 0);
	vmlx4_cq_write_error(a->cq, 0x40, true, 0, 0x04);
	assert_int_equal(events(a), 1);
	/* That one is consumed; the next waits again. */
	do_arm(a, 2, 2, 2);
	complete(a);
	assert_int_equal(events(a), 0);
	later(a, 1000000);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

/* Switched off, or set lower, while CQEs wait. */
static void
test_set_anew(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 8, 1000);
	do_arm(a, 1, 2, 0);
	complete(a);
	vmlx4_moderation_set(a->cq, 8, 10);
	assert_int_equal(events(a), 0);
	later(a, 10000);
	assert_int_equal(events(a), 1);
	do_arm(a, 2, 2, 1);
	complete(a);
	assert_int_equal(events(a), 0);
	vmlx4_moderation_set(a->cq, 0, 0);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

static void
test_count_without_period(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	a->card.adapter->options.unknowns.cq_count_needs_period = 1;
	vmlx4_moderation_set(a->cq, 8, 0);
	do_arm(a, 1, 2, 0);
	complete(a);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

/* A CQ that goes while its event waits. */
static void
test_destroyed(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	vmlx4_moderation_set(a->cq, 8, 10);
	do_arm(a, 1, 2, 0);
	complete(a);
	vmlx4_moderation_end(a->cq);
	later(a, 1000000);
	assert_int_equal(events(a), 0);
	arm_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_count),
		cmocka_unit_test(test_by_period),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_not_armed),
		cmocka_unit_test(test_errors_at_once),
		cmocka_unit_test(test_set_anew),
		cmocka_unit_test(test_count_without_period),
		cmocka_unit_test(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
