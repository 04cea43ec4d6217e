/* SPDX-License-Identifier: BSD-3-Clause */

#include <sys/mman.h>

#include "broken.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mr_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
