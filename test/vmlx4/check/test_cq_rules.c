/* SPDX-License-Identifier: BSD-3-Clause */

#include <unistd.h>

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

static void
complete(struct broken *b, uint32_t index)
{
	card_post(b->sq, index, 0x0e, b->card.arena, 60);
	ring(b);
}

static void
test_consumer_backwards(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	complete(b, 0);
	complete(b, 1);
	b->cq->db[0] = htobe32(2);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	b->cq->db[0] = htobe32(1);
	step(b);
	reported(b, VMLX4_RULE_CQ_BACKWARDS);
}

static void
test_cqe_owner(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++) {
		complete(b, i);
		b->cq->db[0] = htobe32(i + 1);
	}
	assert_int_equal(b->card.adapter->violations, 0);
	card_cqe(b->cq, 0)[31] ^= 0x80; /* "consumed" */
	complete(b, 8);
	reported(b, VMLX4_RULE_CQE_OWNER);
}

/* ---- arms ---- */

static void
arm(struct broken *b, uint32_t sn, uint32_t cmd, uint32_t ci, bool doorbell)
{
	uint32_t word[2] = { htobe32(sn << 28 | cmd << 24 | b->cq->cqn), htobe32(ci) };

	b->card.channel.read_fd = b->card.comp[0];
	b->cq->channel = &b->card.channel;
	b->cq->db[1] = htobe32(sn << 28 | cmd << 24 | ci);
	if (doorbell)
		memcpy(b->card.ctx->pages + 0x20, word, 8);
	step(b);
}

static void
read_event(struct broken *b)
{
	uint64_t event;

	assert_int_equal(read(b->card.comp[0], &event, sizeof(event)), sizeof(event));
}

static void
test_arms_are_clean(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		arm(b, (i + 1) & 3, 2, i, true);
		arm(b, (i + 1) & 3, 2, i, true); /* again, before the event */
		complete(b, i);
		read_event(b);
		b->cq->db[0] = htobe32(i + 1);
	}
	clean(b);
}

static void
test_arm_command(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	arm(b, 1, 4, 0, true);
	reported(b, VMLX4_RULE_CQ_ARM_COMMAND);
}

static void
test_arm_index(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	arm(b, 1, 2, 1, true);
	reported(b, VMLX4_RULE_CQ_ARM_INDEX);
}

static void
test_arm_sn(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	arm(b, 1, 2, 0, true);
	complete(b, 0);
	arm(b, 1, 2, 1, true); /* the event is not read yet: nothing is lost */
	assert_int_equal(b->card.adapter->violations, 0);
	read_event(b);
	complete(b, 1);
	arm(b, 1, 2, 2, true);
	reported(b, VMLX4_RULE_CQ_ARM_SN);
}

static void
test_arm_without_doorbell(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	arm(b, 1, 2, 0, false);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	step(b);
	step(b);
	reported(b, VMLX4_RULE_CQ_ARM_DOORBELL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_cq_consumer),
		cmocka_unit_test(test_cq_arm),
		cmocka_unit_test(test_consumer_backwards),
		cmocka_unit_test(test_cqe_owner),
		cmocka_unit_test(test_arms_are_clean),
		cmocka_unit_test(test_arm_command),
		cmocka_unit_test(test_arm_index),
		cmocka_unit_test(test_arm_sn),
		cmocka_unit_test(test_arm_without_doorbell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
