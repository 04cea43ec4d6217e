/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"

/* Buffers and WQEs between doorbell and completion. */

#define LAG_NS 2000u

static struct broken *
lagging(void)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	b->card.adapter->options.completion_lag_ns = LAG_NS;
	memset(b->card.arena, 0x5a, 4096);
	return b;
}

/* Whether the CQE at an index of the first pass is there. */
static bool
completed(struct broken *b, uint32_t index)
{
	return (card_cqe(b->cq, index)[31] & 0x80) == 0;
}

static void
test_completion_lags(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_watch(&b->card, 1);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	assert_int_equal(card_sent.count, 1);
	assert_false(completed(b, 0));
	later(b, LAG_NS - 1);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	ring(b);
	assert_false(completed(b, 0));
	later(b, 1);
	step(b);
	assert_true(completed(b, 0));
	assert_int_equal(card_cqe(b->cq, 0)[25], 0);
	assert_false(completed(b, 1));
	later(b, LAG_NS);
	step(b);
	assert_true(completed(b, 1));
	assert_int_equal(card_cqe(b->cq, 1)[25], 1);
	clean(b);
}

static void
test_buffer(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	b->card.arena[59] ^= 1;
	later(b, LAG_NS);
	step(b);
	assert_true(completed(b, 0));
	reported(b, VMLX4_RULE_SQ_BUFFER_FLIGHT);
}

/* Beside the buffer, or after the completion: nobody's business. */
static void
test_buffer_next_door(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	b->card.arena[60] ^= 1;
	later(b, LAG_NS);
	step(b);
	assert_true(completed(b, 0));
	b->card.arena[59] ^= 1;
	clean(b);
}

/* A WQE without a CQE of its own is in flight until the next one that has one. */
static void
test_buffer_unsignalled(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x02, b->card.arena, 60);
	ring(b);
	b->card.arena[0] ^= 1;
	card_post(b->sq, 1, 0x0e, b->card.arena + 2048, 60);
	ring(b);
	assert_true(completed(b, 0));
	reported(b, VMLX4_RULE_SQ_BUFFER_FLIGHT);
}

static void
test_buffer_lso(void **state)
{
	struct broken *b = lagging();
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t wqe[24] = { 0x0e, 6, 0x0e, 0, 1000u << 16 | 54 };
	uint32_t seg[4] = { 3000, CARD_LKEY, (uint32_t)(a >> 32), (uint32_t)a };

	(void)state;
	wqe[8] = 0x08004500;
	wqe[9] = 40u << 16; /* length */
	wqe[10] = 0x4006;   /* TTL, TCP */
	memcpy(&wqe[20], seg, sizeof(seg));
	card_put(b->sq->sq.buf, wqe, 24);
	b->sq->sq.buf[20 + 46] = 0x50;
	ring(b);
	assert_false(completed(b, 0));
	b->card.arena[2999] ^= 1;
	later(b, LAG_NS);
	step(b);
	reported(b, VMLX4_RULE_SQ_BUFFER_FLIGHT);
}

/* The queue goes before the completion: the buffer was in use until then. */
static void
test_buffer_until_reset(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	b->card.arena[0] ^= 1;
	vmlx4_sq_reset(b->sq);
	assert_true(completed(b, 0));
	reported(b, VMLX4_RULE_SQ_BUFFER_FLIGHT);
}

static void
test_wqe(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	b->sq->sq.buf[31] ^= 64; /* its address */
	later(b, LAG_NS);
	step(b);
	reported(b, VMLX4_RULE_SQ_WQE_FLIGHT);
}

/* A stamp before the completion. */
static void
test_wqe_stamped_early(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	memcpy(b->sq->sq.buf, "\x7f\xff\xff\xff", 4);
	later(b, LAG_NS);
	step(b);
	reported(b, VMLX4_RULE_SQ_WQE_FLIGHT);
}

/* Round the ring without a single completion: who said that WQE 0 was executed? */
static void
test_wqe_overwritten(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 128; i++) {
		card_post(b->sq, i, 0x02, b->card.arena, 60);
		ring(b);
	}
	assert_int_equal(b->card.adapter->violations, 0);
	card_post(b->sq, 128, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_WQE_FLIGHT);
}

/* libmlx4 adds them when the WQE may already have been executed. */
static void
test_blueflame_fields_may_follow(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	ring(b);
	b->sq->sq.buf[64 + 2] = 0x01; /* index 1 */
	b->sq->sq.buf[64 + 5] = 0x01; /* QPN 0x100 */
	later(b, LAG_NS);
	step(b);
	assert_true(completed(b, 1));
	clean(b);
}

/* An error CQE covers what was executed before: those complete first. */
static void
test_completions_before_an_error(void **state)
{
	struct broken *b = lagging();

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	card_post(b->sq, 1, 0x02, b->card.arena + CARD_ARENA, 60); /* lkey */
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x4a);
	assert_int_equal(card_cqe(b->cq, 1)[31], 0x5e);
	assert_int_equal(b->cq->pi, 2);
	reported(b, VMLX4_RULE_LKEY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completion_lags),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_buffer_next_door),
		cmocka_unit_test(test_buffer_unsignalled),
		cmocka_unit_test(test_buffer_lso),
		cmocka_unit_test(test_buffer_until_reset),
		cmocka_unit_test(test_wqe),
		cmocka_unit_test(test_wqe_stamped_early),
		cmocka_unit_test(test_wqe_overwritten),
		cmocka_unit_test(test_blueflame_fields_may_follow),
		cmocka_unit_test(test_completions_before_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
