/* SPDX-License-Identifier: BSD-3-Clause */

/* Rules of shared receive queues, each broken. */

#include "broken.h"

#define WQES 4u
#define STRIDE_SHIFT 5

struct shared {
	struct broken *b;
	struct vmlx4_srq srq;
	uint8_t buf[WQES << STRIDE_SHIFT];
	uint32_t record;
};

static void
shared_new(struct shared *s, uint32_t posted)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->b = broken_new(VMLX4_STRICT_REPORT, 6);
	s->record = htobe32(posted);
	s->srq = (struct vmlx4_srq){
		.obj = { .type = VMLX4_SRQ, .ctx = s->b->card.ctx }, .srqn = 0x47,
		.pd = &s->b->card.pd, .buf = s->buf, .wqe_cnt = WQES,
		.stride_shift = STRIDE_SHIFT, .max_sge = 1, .db = &s->record,
	};
	for (i = 0; i < WQES; i++)
		vmlx4_put_be16(s->buf + (i << STRIDE_SHIFT) + 2, (i + 1) % WQES);
}

static void
test_overrun(void **state)
{
	struct vmlx4_rwqe rwqe;
	struct broken *b;
	struct shared s;

	(void)state;
	shared_new(&s, WQES);
	b = s.b;
	assert_false(vmlx4_srq_take(&s.srq, &rwqe));
	reported(b, VMLX4_RULE_SRQ_OVERRUN);
}

static void
test_chain(void **state)
{
	struct vmlx4_rwqe rwqe;
	struct broken *b;
	struct shared s;

	(void)state;
	shared_new(&s, 2);
	b = s.b;
	vmlx4_put_be16(s.buf + (1 << STRIDE_SHIFT) + 2, 1); /* back to itself */
	assert_true(vmlx4_srq_take(&s.srq, &rwqe));
	assert_false(vmlx4_srq_take(&s.srq, &rwqe));
	reported(b, VMLX4_RULE_SRQ_CHAIN);
}

static void
test_full_is_right(void **state)
{
	struct vmlx4_rwqe rwqe;
	struct shared s;
	uint32_t i;

	(void)state;
	shared_new(&s, WQES - 1);
	for (i = 0; i < WQES - 1; i++)
		assert_true(vmlx4_srq_take(&s.srq, &rwqe));
	clean(s.b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_full_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
