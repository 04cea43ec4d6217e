/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"

/* Completion queues and their arms. */

static void
test_cq_overrun(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 9; i++)
		card_post(b->sq, i, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_CQ_OVERRUN);
}

static void
test_cq_consumer(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	b->cq->db[0] = htobe32(3);
	step(b);
	reported(b, VMLX4_RULE_CQ_CONSUMER);
}

static void
test_cq_arm(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t word[2] = { htobe32(1u << 28 | 2u << 24 | b->cq->cqn), 0 };

	(void)state;
	b->cq->channel = &b->card.channel;
	memcpy(b->card.ctx->pages + 0x20, word, 8); /* the record was not written */
	step(b);
	reported(b, VMLX4_RULE_CQ_ARM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_cq_consumer),
		cmocka_unit_test(test_cq_arm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
