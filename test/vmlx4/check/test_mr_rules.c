/* SPDX-License-Identifier: BSD-3-Clause */

#include <sys/mman.h>

#include "broken.h"
#include "check/mr_check.h"

/* A buffer that is unmapped while its MR lives; test_unmapped.c has what follows. */
static void
test_mr_unmapped(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint8_t *arena = b->card.arena;

	(void)state;
	b->card.mr.obj.type = VMLX4_MR;
	TAILQ_INSERT_HEAD(&b->card.ctx->objs, &b->card.mr.obj, next);
	card_post(b->sq, 0, 0x0e, arena, 60);
	assert_int_equal(mprotect(arena, 4096, PROT_NONE), 0);
	ring(b);
	assert_int_equal(mprotect(arena, 4096, PROT_READ | PROT_WRITE), 0);
	TAILQ_REMOVE(&b->card.ctx->objs, &b->card.mr.obj, next);
	reported(b, VMLX4_RULE_MR_UNMAPPED);
}

/* What DEREG_MR does first. */
static void
deregister(struct broken *b)
{
	b->card.mr.obj.ctx = b->card.ctx;
	vmlx4_mr_check_use(&b->card.mr);
}

static void
test_posted_receive(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post_recv(b->rq, 0, b->card.arena, 2048);
	deregister(b); /* the record does not cover it */
	assert_int_equal(b->card.adapter->violations, 0);
	card_rq_record(b->rq, 1);
	deregister(b);
	reported(b, VMLX4_RULE_MR_IN_USE);
}

static void
test_posted_send(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	deregister(b);
	reported(b, VMLX4_RULE_MR_IN_USE);
}

static void
test_send_in_flight(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x02, b->card.arena, 60); /* no completion covers it */
	ring(b);
	deregister(b);
	reported(b, VMLX4_RULE_MR_IN_USE);
}

static void
test_completed(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x02, b->card.arena, 60);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	ring(b);
	deregister(b);
	clean(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mr_unmapped),
		cmocka_unit_test(test_posted_receive),
		cmocka_unit_test(test_posted_send),
		cmocka_unit_test(test_send_in_flight),
		cmocka_unit_test(test_completed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
