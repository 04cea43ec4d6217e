/* SPDX-License-Identifier: BSD-3-Clause */

#include "arm.h"

/* Arming: one event per arm, none lost, none twice. */

/* Bits 47:16 lag behind when bits 15:0 are zero, if the card is such a one. */
static void
test_timestamp_carry(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);
	struct vmlx4_adapter *adapter = a->card.adapter;
	uint64_t before, ts[2];
	unsigned int i;

	(void)state;
	a->cq->timestamps = true;
	do { /* to a time whose lower half is zero */
		adapter->time.stepped++;
	} while ((vmlx4_clock_now(adapter) & 0xffff) != 0);
	before = vmlx4_clock_now(adapter) & 0xffffffffffff;
	complete(a);
	adapter->options.unknowns.rx_timestamp_carry = 1;
	complete(a);
	for (i = 0; i < 2; i++) {
		const uint8_t *cqe = card_cqe(a->cq, i);

		ts[i] = (uint64_t)vmlx4_be32(cqe + 12) << 16 | (uint64_t)cqe[29] << 8 | cqe[30];
	}
	assert_int_equal(ts[0], before);
	assert_int_equal(ts[1], before - 0x10000);
	arm_free(a);
}

static void
test_one_event_per_arm(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	complete(a);
	assert_int_equal(events(a), 0); /* never armed */
	do_arm(a, 1, 2, 1);
	assert_int_equal(events(a), 0);
	complete(a);
	assert_int_equal(events(a), 1);
	complete(a);
	assert_int_equal(events(a), 0);
	assert_int_equal(a->cq->comp_events, 1);
	do_arm(a, 2, 2, 3);
	complete(a);
	assert_int_equal(events(a), 1);
	assert_int_equal(a->card.adapter->violations, 0);
	arm_free(a);
}

/* CQEs that came before the arm, at its consumer index or behind: at once. */
static void
test_race_with_completion(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	complete(a);
	do_arm(a, 1, 2, 0);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

static void
test_rearm_before_the_event(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	complete(a);
	do_arm(a, 1, 2, 1);
	do_arm(a, 1, 2, 1);
	complete(a);
	assert_int_equal(events(a), 1);
	/* The sn of a delivered event arms nothing. */
	do_arm(a, 1, 2, 2);
	complete(a);
	assert_int_equal(events(a), 0);
	arm_free(a);
}

static void
test_solicited(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	do_arm(a, 1, 1, 0);
	complete(a);
	assert_int_equal(events(a), 0);
	vmlx4_cq_write_error(a->cq, 0x40, false, 0, 0x01);
	assert_int_equal(events(a), 1);
	arm_free(a);
}

/* Indices of 24 bits wrap; the consumer may lag behind over the wrap. */
static void
test_index_wrap(void **state)
{
	struct arm *a = arm_new(VMLX4_STRICT_REPORT);

	(void)state;
	a->cq->pi = 0xffffff;
	card_cqe(a->cq, 0xffffff)[31] = 0; /* as the pass before left it */
	a->cq->db[0] = htobe32(0xffffff);
	a->cq->room = 0;
	do_arm(a, 1, 2, 0xffffff);
	assert_int_equal(events(a), 0);
	complete(a);
	assert_int_equal(events(a), 1);
	complete(a);
	assert_true(vmlx4_cq_has_room(a->cq));
	do_arm(a, 2, 2, 0);
	assert_int_equal(events(a), 1);
	assert_int_equal(a->card.adapter->violations, 0);
	arm_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timestamp_carry),
		cmocka_unit_test(test_one_event_per_arm),
		cmocka_unit_test(test_race_with_completion),
		cmocka_unit_test(test_rearm_before_the_event),
		cmocka_unit_test(test_solicited),
		cmocka_unit_test(test_index_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
