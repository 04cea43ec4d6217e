/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues: the chain, the record, the limit. */

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "card.h"

#define WQES 8u
#define STRIDE_SHIFT 6

struct bench {
	struct card card;
	struct vmlx4_srq srq;
	uint8_t buf[WQES << STRIDE_SHIFT];
	uint32_t record;
	uint32_t head, tail; /* of the free list, as a program keeps them */
	uint16_t posted;
};

static void
link_to(struct bench *b, uint32_t from, uint32_t to)
{
	vmlx4_put_be16(b->buf + (from << STRIDE_SHIFT) + 2, (uint16_t)to);
}

static uint32_t
next_of(const struct bench *b, uint32_t at)
{
	return vmlx4_be16(b->buf + (at << STRIDE_SHIFT) + 2);
}

static struct bench *
bench_new(enum vmlx4_strict strict)
{
	struct bench *b = calloc(1, sizeof(*b));
	uint32_t i;

	assert_non_null(b);
	card_new(&b->card, strict);
	b->srq = (struct vmlx4_srq){
		.obj = { .type = VMLX4_SRQ, .ctx = b->card.ctx, .user_handle = 0x5432 },
		.srqn = 0x47, .pd = &b->card.pd, .buf = b->buf, .wqe_cnt = WQES,
		.stride_shift = STRIDE_SHIFT, .max_sge = 2, .db = &b->record,
	};
	TAILQ_INSERT_HEAD(&b->card.ctx->objs, &b->srq.obj, next);
	for (i = 0; i < WQES; i++)
		link_to(b, i, (i + 1) % WQES);
	b->tail = WQES - 1;
	return b;
}

static void
bench_free(struct bench *b)
{
	TAILQ_REMOVE(&b->card.ctx->objs, &b->srq.obj, next);
	card_free(&b->card);
	free(b);
}

static void
post(struct bench *b, uint32_t count)
{
	for (; count > 0; count--) {
		assert_int_not_equal(b->head, b->tail);
		b->head = next_of(b, b->head);
		b->posted++;
	}
	b->record = htobe32(b->posted);
}

/* As a program that got its completion. */
static void
give_back(struct bench *b, uint32_t index)
{
	link_to(b, b->tail, index);
	b->tail = index;
}

static uint32_t
take(struct bench *b)
{
	struct vmlx4_rwqe rwqe;

	if (!vmlx4_srq_take(&b->srq, &rwqe))
		return UINT32_MAX;
	assert_ptr_equal(rwqe.seg, b->buf + ((uint32_t)rwqe.index << STRIDE_SHIFT) + 16);
	assert_int_equal(rwqe.max_sge, 3);
	assert_ptr_equal(rwqe.pd, &b->card.pd);
	return rwqe.index;
}

/* The type of the next event, or UINT32_MAX. */
static uint32_t
event(struct bench *b)
{
	struct { uint64_t element; uint32_t type, reserved; } desc;

	if (recv(b->card.async[0], &desc, sizeof(desc), MSG_DONTWAIT) != sizeof(desc))
		return UINT32_MAX;
	assert_int_equal(desc.element, b->srq.obj.user_handle);
	return desc.type;
}

static void
test_takes_what_is_posted(void **state)
{
	struct bench *b = bench_new(VMLX4_STRICT_REPORT);

	(void)state;
	assert_int_equal(take(b), UINT32_MAX);
	post(b, 2);
	assert_int_equal(take(b), 0);
	assert_int_equal(take(b), 1);
	assert_int_equal(take(b), UINT32_MAX);
	post(b, 5);
	assert_int_equal(take(b), 2);
	assert_int_equal(b->card.adapter->violations, 0);
	bench_free(b);
}

/* WQEs come back in any order, and the chain goes by that. */
static void
test_follows_the_chain(void **state)
{
	struct bench *b = bench_new(VMLX4_STRICT_REPORT);
	uint32_t i;

	(void)state;
	post(b, WQES - 1);
	for (i = 0; i < WQES - 1; i++)
		assert_int_equal(take(b), i);
	give_back(b, 3);
	give_back(b, 0);
	give_back(b, 6);
	post(b, 3);
	assert_int_equal(take(b), 7);
	assert_int_equal(take(b), 3);
	assert_int_equal(take(b), 0);
	assert_int_equal(take(b), UINT32_MAX);
	assert_int_equal(b->card.adapter->violations, 0);
	bench_free(b);
}

/* The record has 16 bits that count round. */
static void
test_record_goes_round(void **state)
{
	struct bench *b = bench_new(VMLX4_STRICT_REPORT);
	uint32_t i, index;

	(void)state;
	for (i = 0; i < 70000; i++) {
		post(b, 1);
		index = take(b);
		assert_int_not_equal(index, UINT32_MAX);
		give_back(b, index);
	}
	assert_int_equal(take(b), UINT32_MAX);
	assert_int_equal(b->card.adapter->violations, 0);
	bench_free(b);
}

static void
test_limit_is_told_once(void **state)
{
	struct bench *b = bench_new(VMLX4_STRICT_REPORT);

	(void)state;
	post(b, 4);
	b->srq.limit = 3;
	vmlx4_srq_check_limit(&b->srq);
	assert_int_equal(event(b), UINT32_MAX);
	take(b); /* three are left, not fewer */
	assert_int_equal(event(b), UINT32_MAX);
	take(b);
	assert_int_equal(event(b), IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(b->srq.limit, 0);
	take(b);
	assert_int_equal(event(b), UINT32_MAX);
	/* Armed anew, above what is there. */
	b->srq.limit = 2;
	vmlx4_srq_check_limit(&b->srq);
	assert_int_equal(event(b), IBV_EVENT_SRQ_LIMIT_REACHED);
	bench_free(b);
}

static void
test_broken_chain_ends_it(void **state)
{
	struct bench *b = bench_new(VMLX4_STRICT_OFF);

	(void)state;
	link_to(b, 0, WQES);
	post(b, 1);
	assert_int_equal(take(b), UINT32_MAX);
	assert_int_equal(event(b), IBV_EVENT_SRQ_ERR);
	link_to(b, 0, 1);
	assert_int_equal(take(b), UINT32_MAX);
	assert_int_equal(event(b), UINT32_MAX);
	bench_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_what_is_posted),
		cmocka_unit_test(test_follows_the_chain),
		cmocka_unit_test(test_record_goes_round),
		cmocka_unit_test(test_limit_is_told_once),
		cmocka_unit_test(test_broken_chain_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
