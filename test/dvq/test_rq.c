/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive WQEs and their doorbell record. */

#include "ring.h"

#define WQES 8u
#define SEGS 4u

static struct {
	_Alignas(64) uint8_t mem[WQES * SEGS * 16];
	uint32_t record;
	struct dvq_rq rq;
} q;

static int
setup(void **state)
{
	(void)state;
	memset(&q, 0, sizeof(q));
	memset(q.mem, RING_FILL, sizeof(q.mem));
	q.rq = (struct dvq_rq){
		.buf = q.mem,
		.wqe_cnt = WQES,
		.db = &q.record,
		.stride_shift = 6,
		.max_sge = SEGS,
	};
	return 0;
}

static const struct dvq_sge sge[SEGS] = {
	{ UINT64_C(0x00007f0012345680), 0, 2048 },
	{ UINT64_C(0x00007f0012346000), 0, 2176 },
	{ UINT64_C(0x00007f0012347000), 0, 1 },
	{ UINT64_C(0x00007f0012348000), 0, 0x7fffffff },
};

static void
post(uint32_t n)
{
	struct dvq_sge copy[SEGS];
	uint32_t i;

	memcpy(copy, sge, sizeof(copy));
	for (i = 0; i < SEGS; i++)
		copy[i].lkey = 0x00012300 + i;
	dvq_rq_post(&q.rq, copy, n);
}

/* Piece by piece it is the same list, with a key that is big endian already. */
static void
test_list_by_hand(void **state)
{
	struct dvq_data_seg *seg = dvq_rq_wqe(&q.rq, q.rq.pi + 1);

	(void)state;
	dvq_rq_set_seg(seg, sge[0].addr, htobe32(0x00012300), 2048);
	dvq_rq_terminate(seg + 1);
	post(1);
	assert_memory_equal(q.mem, seg, 2 * sizeof(*seg));
	expect_dump(&seg[2], "eeeeeeee eeeeeeee");
}

static void
test_short_list_is_terminated(void **state)
{
	(void)state;
	post(1);
	expect_dump(q.mem,
		"00000800 00012300 00007f00 12345680"
		"00000000 00000100 00000000 00000000" /* count 0, invalid lkey */
		"eeeeeeee eeeeeeee");
	post(3);
	expect_dump(q.mem + 64,
		"00000800 00012300 00007f00 12345680"
		"00000880 00012301 00007f00 12346000"
		"00000001 00012302 00007f00 12347000"
		"00000000 00000100 00000000 00000000"
		"eeeeeeee");
}

static void
test_full_list_has_no_terminator(void **state)
{
	(void)state;
	post(4);
	expect_dump(q.mem,
		"00000800 00012300 00007f00 12345680"
		"00000880 00012301 00007f00 12346000"
		"00000001 00012302 00007f00 12347000"
		"7fffffff 00012303 00007f00 12348000"
		"eeeeeeee");
}

static void
test_record(void **state)
{
	(void)state;
	post(4);
	post(4);
	expect_dump(&q.record, "00000000");
	dvq_rq_publish(&q.rq);
	expect_dump(&q.record, "00000002");
	assert_int_equal(dvq_rq_room(&q.rq), WQES - 2);
}

static void
test_ring_wraps(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < WQES; i++)
		post(4);
	assert_int_equal(dvq_rq_room(&q.rq), 0);
	q.rq.ci++;
	post(1);
	expect_dump(q.mem, "00000800 00012300 00007f00 12345680 00000000 00000100");
	dvq_rq_publish(&q.rq);
	expect_dump(&q.record, "00000009");
}

/* The record counts modulo 2^16. */
static void
test_record_wraps_at_65536(void **state)
{
	(void)state;
	q.rq.pi = 65535;
	q.rq.ci = 65535;
	dvq_rq_publish(&q.rq);
	expect_dump(&q.record, "0000ffff");
	post(4);
	dvq_rq_publish(&q.rq);
	expect_dump(&q.record, "00000000");
	post(4);
	dvq_rq_publish(&q.rq);
	expect_dump(&q.record, "00000001");
	assert_int_equal(dvq_rq_room(&q.rq), WQES - 2);
}

static void
test_reset(void **state)
{
	(void)state;
	post(4);
	dvq_rq_publish(&q.rq);
	dvq_rq_reset(&q.rq);
	expect_dump(&q.record, "00000000");
	assert_int_equal(dvq_rq_room(&q.rq), WQES);
	assert_ptr_equal(dvq_rq_wqe(&q.rq, q.rq.pi), q.mem);
}

static void
test_checked(void **state)
{
	struct dvq_sge many[SEGS + 1] = { { 0x1000, 7, 64 } };
	uint32_t i;

	(void)state;
	assert_int_equal(dvq_post_recv(&q.rq, many, SEGS + 1), -EMSGSIZE);
	for (i = 0; i < WQES; i++)
		assert_int_equal(dvq_post_recv(&q.rq, many, i % SEGS + 1), 0);
	assert_int_equal(dvq_post_recv(&q.rq, many, 1), -ENOMEM);
	assert_int_equal(q.rq.pi, WQES);
	assert_int_equal(dvq_rq_complete(&q.rq), 0);
	assert_int_equal(dvq_post_recv(&q.rq, many, 0), 0);
	expect_dump(q.mem, "00000000 00000100 00000000 00000000");
}

static void
test_each(void **state)
{
	struct dvq_sge many[WQES];
	uint32_t i;

	(void)state;
	for (i = 0; i < WQES; i++)
		many[i] = (struct dvq_sge){ 0x1000, 7, 64 + i };
	assert_int_equal(dvq_post_recv_each(&q.rq, many, 5), 5);
	expect_dump(q.mem + 4 * 64, "00000044 00000007 00000000 00001000 00000000 00000100");
	assert_int_equal(dvq_post_recv_each(&q.rq, many, 5), 3);
	assert_int_equal(dvq_post_recv_each(&q.rq, many, 5), 0);
	assert_int_equal(dvq_rq_room(&q.rq), 0);
	expect_dump(q.mem + 5 * 64, "00000040 00000007");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list_by_hand, setup),
		cmocka_unit_test_setup(test_short_list_is_terminated, setup),
		cmocka_unit_test_setup(test_full_list_has_no_terminator, setup),
		cmocka_unit_test_setup(test_record, setup),
		cmocka_unit_test_setup(test_ring_wraps, setup),
		cmocka_unit_test_setup(test_record_wraps_at_65536, setup),
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_checked, setup),
		cmocka_unit_test_setup(test_each, setup),
	};

	return cmocka_run_group_tests_name("dvq: receive queue", tests, NULL, NULL);
}
