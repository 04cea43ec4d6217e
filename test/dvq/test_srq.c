/* SPDX-License-Identifier: BSD-3-Clause */

/* The list of free WQEs of an SRQ, on plain memory as libmlx4 initialises it. */

#include "ring.h"

#define CNT 16u
#define STRIDE 64u

static struct {
	_Alignas(64) uint8_t mem[CNT * STRIDE];
	uint32_t record;
	struct dvq_srq srq;
} s;

static const struct dvq_sge buffer = { .addr = UINT64_C(0x1122334455667788),
	.lkey = 0x44332211, .len = 0x800 };

static int
setup(void **state)
{
	uint32_t i;

	(void)state;
	memset(&s, 0, sizeof(s));
	for (i = 0; i < CNT; i++)
		*(uint16_t *)(void *)(s.mem + i * STRIDE + 2) = htobe16((i + 1) % CNT);
	s.srq = (struct dvq_srq){
		.buf = s.mem, .mask = CNT - 1, .head = 0, .tail = CNT - 1,
		.db = &s.record, .stride_shift = 6, .max_sge = 3, .number = 4,
	};
	return 0;
}

static void
test_wqe_and_record(void **state)
{
	(void)state;
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), 0);
	expect_dump(s.mem, "0000 0001 00000000 00000000 00000000"
		"00000800 44332211 11223344 55667788"
		"00000000 00000100 00000000 00000000");
	assert_int_equal(s.record, 0);
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), 1);
	dvq_srq_publish(&s.srq);
	assert_int_equal(s.record, htobe32(2));
	/* No segment at all: a message of no bytes. */
	assert_int_equal(dvq_srq_post(&s.srq, NULL, 0), 2);
	expect_dump(s.mem + 2 * STRIDE + 16, "00000000 00000100");
}

static void
test_full(void **state)
{
	uint32_t i;

	(void)state;
	/* The tail stays free: libmlx4 posts count - 1 as well. */
	for (i = 0; i < CNT - 1; i++)
		assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), (int)i);
	assert_int_equal(s.srq.head, s.srq.tail);
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), -ENOMEM);
	assert_int_equal(s.srq.pi, CNT - 1);
	assert_int_equal(dvq_srq_complete(&s.srq, 3), 0);
	/* The old tail comes first now, and the one that came back is the tail. */
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), CNT - 1);
	assert_int_equal(s.srq.tail, 3);
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), -ENOMEM);
}

static void
test_too_long(void **state)
{
	const struct dvq_sge four[4] = { buffer, buffer, buffer, buffer };

	(void)state;
	assert_int_equal(dvq_srq_post(&s.srq, four, 4), -EMSGSIZE);
	assert_int_equal(s.srq.head, 0);
	assert_int_equal(dvq_srq_room(&s.srq), CNT - 1);
	/* As many as fit have no end mark. */
	assert_int_equal(dvq_srq_post(&s.srq, four, 3), 0);
	expect_dump(s.mem + 48, "00000800 44332211");
}

static void
test_completion_of_what_cannot_be(void **state)
{
	(void)state;
	assert_int_equal(dvq_srq_complete(&s.srq, 0), -ERANGE);
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), 0);
	assert_int_equal(dvq_srq_complete(&s.srq, CNT), -ERANGE);
	assert_int_equal(dvq_srq_complete(&s.srq, 0xffff), -ERANGE);
	assert_int_equal(dvq_srq_complete(&s.srq, 0), 0);
	assert_int_equal(dvq_srq_complete(&s.srq, 0), -ERANGE);
}

/*
 * Posted and completed in any order, 200 000 times: no WQE is posted twice, and the
 * links that an adapter follows name the WQEs in the order of posting.
 */
static void
test_any_order(void **state)
{
	uint32_t random = 1, steps, posted = 0, n = 0, pick;
	int in_flight[CNT], number, follows = -1;
	bool used[CNT] = { false };

	(void)state;
	for (steps = 0; steps < 200000; steps++) {
		random = random * 1664525u + 1013904223u;
		if ((random >> 30 & 1) != 0 && n < CNT - 1) {
			number = dvq_srq_post(&s.srq, &buffer, 1);
			assert_in_range(number, 0, CNT - 1);
			assert_false(used[number]);
			/* What an adapter reads: the link of the WQE before. */
			if (follows >= 0)
				assert_int_equal(number, follows);
			used[number] = true;
			in_flight[n++] = number;
			follows = be16toh(dvq_srq_wqe(&s.srq, (uint32_t)number)->next);
			posted++;
		} else if (n != 0) {
			pick = (random >> 8) % n;
			assert_int_equal(dvq_srq_complete(&s.srq, (uint16_t)in_flight[pick]), 0);
			used[in_flight[pick]] = false;
			in_flight[pick] = in_flight[--n];
		}
		assert_int_equal(dvq_srq_room(&s.srq), CNT - 1 - n);
	}
	dvq_srq_publish(&s.srq);
	assert_true(posted > 65536);
	assert_int_equal(s.record, htobe32(posted & 0xffff));
}

/* Whoever writes into a free WQE does not lead the program out of the ring. */
static void
test_links_stay_in_the_ring(void **state)
{
	uint16_t number;

	(void)state;
	memset(s.mem, 0xff, 2);
	*(uint16_t *)(void *)(s.mem + 2) = htobe16(CNT + 3);
	assert_int_equal(dvq_srq_post(&s.srq, &buffer, 1), 0);
	assert_int_equal(s.srq.head, 3);
	*(uint16_t *)(void *)(s.mem + 3 * STRIDE + 2) = htobe16(0xfff5);
	assert_int_equal(dvq_srq_post_each(&s.srq, &buffer, &number, 1), 1);
	assert_int_equal(number, 3);
	assert_int_equal(s.srq.head, 5);
}

static void
test_each(void **state)
{
	struct dvq_sge many[CNT];
	uint16_t numbers[CNT];
	uint32_t i;

	(void)state;
	for (i = 0; i < CNT; i++) {
		many[i] = buffer;
		many[i].len = 0x100 + i;
	}
	assert_int_equal(dvq_srq_post_each(&s.srq, many, numbers, 4), 4);
	assert_int_equal(numbers[3], 3);
	expect_dump(s.mem + 3 * STRIDE, "0000 0004 00000000 00000000 00000000"
		"00000103 44332211 11223344 55667788"
		"00000000 00000100 00000000 00000000");
	assert_int_equal(dvq_srq_complete(&s.srq, 2), 0);
	/* No more than there is room for, in the order of the list. */
	assert_int_equal(dvq_srq_post_each(&s.srq, many, numbers, CNT), CNT - 4);
	assert_int_equal(numbers[0], 4);
	assert_int_equal(numbers[CNT - 5], CNT - 1);
	assert_int_equal(dvq_srq_room(&s.srq), 0);
	assert_int_equal(dvq_srq_post_each(&s.srq, many, numbers, 1), 0);
	dvq_srq_publish(&s.srq);
	assert_int_equal(s.record, htobe32(CNT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wqe_and_record, setup),
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_too_long, setup),
		cmocka_unit_test_setup(test_completion_of_what_cannot_be, setup),
		cmocka_unit_test_setup(test_any_order, setup),
		cmocka_unit_test_setup(test_links_stay_in_the_ring, setup),
		cmocka_unit_test_setup(test_each, setup),
	};

	return cmocka_run_group_tests_name("dvq: shared receive queues", tests, NULL, NULL);
}
