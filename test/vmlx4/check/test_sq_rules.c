/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"
#include "frames.h"

/* Send queues: the ring, its stamps and the WQEs. */

/* Post number i, take its completion if it has one, and free the blocks that did. */
static void
post_and_free(struct broken *b, uint32_t i, bool stamp)
{
	bool signaled = i % 4 == 3;
	uint32_t k;

	card_post(b->sq, i, signaled ? 0x0e : 0x02, b->card.arena, 60);
	ring(b);
	for (k = i - 3; signaled && stamp && k != i + 1; k++) {
		uint32_t dw0 = htobe32(k & 128 ? 0xffffffff : 0x7fffffff);

		memcpy(b->sq->sq.buf + ((size_t)(k & 127) << 6), &dw0, 4);
	}
	b->cq->db[0] = htobe32(b->cq->pi);
	step(b);
}

/* The control: many passes over the ring, freed blocks stamped as they should be. */
static void
test_good_driver_is_clean(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		post_and_free(b, i, true);
	assert_int_equal(b->sq->sq.ci, 1000);
	clean(b);
}

/* libmlx4 leaves the first block of a WQE alone: its owner bit goes stale by itself. */
static void
test_unstamped_first_blocks_are_fine(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		post_and_free(b, i, false);
	assert_int_equal(b->sq->sq.ci, 1000);
	clean(b);
}

static void
test_lkey_send(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena + CARD_ARENA - 30, 60);
	ring(b);
	reported(b, VMLX4_RULE_LKEY);
}

static void
test_lkey_other_pd(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	struct vmlx4_pd other = { .obj.ctx = b->card.ctx };

	(void)state;
	b->card.mr.pd = &other;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_LKEY);
}

static void
test_ownership(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 128, 0x0e, b->card.arena, 60); /* the pass after this one */
	ring(b);
	step(b);
	step(b);
	reported(b, VMLX4_RULE_SQ_OWNERSHIP);
}

/* A block of a two-block WQE freed without a stamp: one pass later it looks posted. */
static void
test_stamp(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t stale = htobe32(60);

	(void)state;
	memcpy(b->sq->sq.buf + 10 * 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	step(b);
	step(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

/* Far enough ahead to be no WQE in the making: said at once, also in full flow. */
static void
test_stamp_far_ahead(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t stale = htobe32(60);

	(void)state;
	memcpy(b->sq->sq.buf + 20 * 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

/* Wide strides: the later blocks of a stride must be stamped. */
static void
test_stamp_inside_stride(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 7);
	uint32_t stale = htobe32(0x8000002c);

	(void)state;
	memcpy(b->sq->sq.buf + 10 * 128 + 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

static void
test_headroom(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 95; i++) /* 128 less 2 KiB and one stride */
		card_post(b->sq, i, i == 94 ? 0x0e : 0x02, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0);
	for (i = 95; i < 95 + 96; i++)
		card_post(b->sq, i, 0x02, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 191);
	reported(b, VMLX4_RULE_SQ_HEADROOM);
}

static void
test_first_dword_last(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t wqe[20] = { 0x0a, 5, 0x0e, 0 };
	unsigned int i;

	(void)state;
	for (i = 4; i < 20; i += 4) {
		wqe[i] = 20;
		wqe[i + 1] = CARD_LKEY;
		wqe[i + 2] = (uint32_t)(a >> 32);
		wqe[i + 3] = (uint32_t)a;
	}
	card_put(b->sq->sq.buf, wqe, 20);
	memset(b->sq->sq.buf + 64, 0xff, 4); /* the owner bit was given too early */
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_SQ_FIRST_DWORD);
}

static void
test_doorbell(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	step(b); /* the look that RTS brings */
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	step(b);
	step(b); /* by then it is executed */
	assert_int_equal(b->sq->sq.ci, 1);
	reported(b, VMLX4_RULE_SQ_DOORBELL);
}

/* Idle for long, then posted, then rung a step later: no violation. */
static void
test_doorbell_late_is_fine(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		step(b);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	step(b);
	ring(b);
	step(b);
	step(b);
	assert_int_equal(b->sq->sq.ci, 1);
	clean(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_driver_is_clean),
		cmocka_unit_test(test_unstamped_first_blocks_are_fine),
		cmocka_unit_test(test_lkey_send),
		cmocka_unit_test(test_lkey_other_pd),
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_stamp_far_ahead),
		cmocka_unit_test(test_stamp_inside_stride),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_first_dword_last),
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_doorbell_late_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
