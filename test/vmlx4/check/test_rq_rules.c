/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"

/* Receive queues. */

static void
test_lkey_receive_without_write(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	b->card.mr.access = 0;
	card_post_recv(b->rq, 0, b->card.arena, 2048);
	card_rq_record(b->rq, 1);
	receive(b);
	reported(b, VMLX4_RULE_LKEY);
}

/* The buffer ends behind the region although this frame would have fitted. */
static void
test_lkey_receive_tail(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post_recv(b->rq, 0, b->card.arena + CARD_ARENA - 100, 2048);
	card_rq_record(b->rq, 1);
	receive(b);
	assert_int_equal(b->card.adapter->ports[1].stats.rx_frames, 1);
	reported(b, VMLX4_RULE_LKEY);
}

static void
test_rq_overrun(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		card_post_recv(b->rq, i, b->card.arena, 2048);
	card_rq_record(b->rq, 5);
	receive(b);
	reported(b, VMLX4_RULE_RQ_OVERRUN);
}

static void
test_rq_wqe(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_OFF, 6);

	(void)state;
	b->card.mr.length = (uint64_t)1 << 40; /* so that only the count is wrong */
	b->card.adapter->options.strict = VMLX4_STRICT_REPORT;
	card_post_recv(b->rq, 0, b->card.arena, 0);
	card_rq_record(b->rq, 1);
	receive(b);
	reported(b, VMLX4_RULE_RQ_WQE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lkey_receive_without_write),
		cmocka_unit_test(test_lkey_receive_tail),
		cmocka_unit_test(test_rq_overrun),
		cmocka_unit_test(test_rq_wqe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
