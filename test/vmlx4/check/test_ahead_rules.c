/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"

/*
 * The prefetcher as an adversary: what it read ahead, when the queue ran dry
 * behind WQE 0, is not what is executed later.
 */

static uint8_t *
block(struct broken *b, unsigned int index)
{
	return b->sq->sq.buf + 64 * index;
}

static void
run_dry(struct broken *b)
{
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 1);
}

/* WQE 1 has two blocks; all of it but dword 0 of the second. */
static void
put_long(struct broken *b)
{
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t wqe[20] = { 0x0a, 5, 0x0e, 0 };
	unsigned int i;

	for (i = 4; i < 20; i += 4) {
		wqe[i] = 20;
		wqe[i + 1] = CARD_LKEY;
		wqe[i + 2] = (uint32_t)(a >> 32);
		wqe[i + 3] = (uint32_t)a;
	}
	card_put(block(b, 1), wqe, 20);
}

static void
test_stamped_blocks_are_read_again(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	run_dry(b);
	put_long(b);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 3);
	clean(b);
}

/* libmlx4's pattern for strides that were never used. */
static void
test_initial_pattern_is_read_again(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	memcpy(block(b, 2), "\x80\0\0\0", 4);
	run_dry(b);
	put_long(b);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 3);
	clean(b);
}

static void
test_owner_last(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 2, 0x0e, b->card.arena, 60); /* WQE 1 is still missing */
	run_dry(b);
	card_post(b->sq, 2, 0x0e, b->card.arena + 2048, 60);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 3);
	reported(b, VMLX4_RULE_SQ_OWNER_LAST);
}

/* The same WQE as it was: nothing is wrong with an early owner bit as such. */
static void
test_early_and_complete(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 2, 0x0e, b->card.arena, 60);
	run_dry(b);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 3);
	clean(b);
}

static void
test_first_dword_before_the_rest(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t count = 20;

	(void)state;
	card_put(block(b, 2), &count, 1);
	run_dry(b);
	put_long(b);
	ring(b);
	reported(b, VMLX4_RULE_SQ_FIRST_DWORD);
}

static void
test_stale_block(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t count = 60;

	(void)state;
	card_put(block(b, 2), &count, 1);
	run_dry(b);
	put_long(b);
	ring(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamped_blocks_are_read_again),
		cmocka_unit_test(test_initial_pattern_is_read_again),
		cmocka_unit_test(test_owner_last),
		cmocka_unit_test(test_early_and_complete),
		cmocka_unit_test(test_first_dword_before_the_rest),
		cmocka_unit_test(test_stale_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
