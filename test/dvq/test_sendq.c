/* SPDX-License-Identifier: BSD-3-Clause */

/* Strides, room, polarity, stamps and completion of a send queue of any QP. */

#include "sendq.h"

#define LKEY 0xa1b2c3d4u

static struct sendq s;

static int
setup(void **state)
{
	(void)state;
	sendq_init(&s, 7, 64);
	return 0;
}

/* A WQE of @segs data segments; 0 or what refused it. */
static int
post_segs(uint32_t segs)
{
	struct dvq_send send;
	uint32_t i;
	int ret = dvq_send_begin(&send, &s.sq);

	for (i = 0; i < segs && ret == 0; i++)
		ret = dvq_send_data(&send, 0x1000 + i, LKEY, 0x100 + i);
	if (ret == 0)
		dvq_send_end(&send, DVQ_OP_SEND, DVQ_CTRL_CQE, 0);
	return ret;
}

static void
test_one_wqe_per_stride(void **state)
{
	uint8_t shift;

	(void)state;
	for (shift = 6; shift <= 10; shift++) {
		sendq_init(&s, shift, 64);
		assert_int_equal(post_segs(1), 0);
		assert_int_equal(post_segs(2), 0);
		expect_dump(s.mem, "0000000a 00000002 0000000c 00000000"
			"00000100 a1b2c3d4 00000000 00001000 eeeeeeee");
		expect_dump(s.mem + (1u << shift), "0000000a 00000003 0000000c 00000000");
		assert_int_equal(s.sq.pi, 2);
	}
}

/* The bit flips with each pass over the strides, also of a ring of wide ones. */
static void
test_owner_polarity_by_strides(void **state)
{
	(void)state;
	sendq_init(&s, 9, 32);
	sendq_advance(&s, 31);
	post_segs(1);
	post_segs(1);
	expect_dump(s.mem + 31 * 512, "0000000a");
	expect_dump(s.mem, "8000000a");
	assert_int_equal(dvq_sendq_complete(&s.sq, 32), 2);
	sendq_advance(&s, 64);
	post_segs(1);
	expect_dump(s.mem, "0000000a");
}

static void
test_full(void **state)
{
	uint32_t i;

	(void)state;
	/* 64 strides of 128 bytes, 2048 bytes and one stride kept free. */
	assert_int_equal(dvq_sendq_room(&s.sq), 47);
	for (i = 0; i < 47; i++)
		assert_int_equal(post_segs(1), 0);
	assert_int_equal(dvq_sendq_room(&s.sq), 0);
	assert_int_equal(post_segs(1), -ENOMEM);
	assert_int_equal(dvq_post_nop(&s.sq, 0), -ENOMEM);
	assert_int_equal(s.sq.pi, 47);
	/* The stride behind was not touched. */
	expect_dump(s.mem + 47 * 128, "80000000 eeeeeeee");
	assert_int_equal(dvq_sendq_complete(&s.sq, 10), 11);
	assert_int_equal(dvq_sendq_room(&s.sq), 11);
	assert_int_equal(post_segs(1), 0);
}

static void
test_too_long(void **state)
{
	(void)state;
	assert_int_equal(post_segs(7), 0);
	assert_int_equal(post_segs(8), -EMSGSIZE);
	assert_int_equal(s.sq.pi, 1);
	sendq_init(&s, 6, 64);
	assert_int_equal(post_segs(3), 0);
	assert_int_equal(post_segs(4), -EMSGSIZE);
	/* ds counts to 63 units, whatever the stride. */
	sendq_init(&s, 10, 64);
	assert_int_equal(post_segs(62), 0);
	assert_int_equal(post_segs(63), -EMSGSIZE);
	expect_dump(s.mem, "0000000a 0000003f");
}

/* The first dwords of later blocks come last but for the owner's: see test_order.c. */
static void
test_later_blocks(void **state)
{
	(void)state;
	post_segs(7);
	expect_dump(s.mem, "0000000a 00000008 0000000c 00000000"
		"00000100 a1b2c3d4 00000000 00001000"
		"00000101 a1b2c3d4 00000000 00001001"
		"00000102 a1b2c3d4 00000000 00001002"
		"00000103 a1b2c3d4 00000000 00001003"
		"00000104 a1b2c3d4 00000000 00001004"
		"00000105 a1b2c3d4 00000000 00001005"
		"00000106 a1b2c3d4 00000000 00001006"
		"80000000 eeeeeeee");
}

static void
test_nothing_visible_before_end(void **state)
{
	struct dvq_send send;
	uint32_t i;

	(void)state;
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	for (i = 0; i < 7; i++)
		assert_int_equal(dvq_send_data(&send, 0x1000, LKEY, 8), 0);
	expect_dump(s.mem, "80000000");
	expect_dump(s.mem + 64, "ffffffff");
}

/* Later blocks of a completed WQE are stamps again; first ones need none. */
static void
test_stamps(void **state)
{
	(void)state;
	post_segs(7);
	post_segs(1);
	post_segs(4);
	assert_int_equal(dvq_sendq_complete(&s.sq, 0), 1);
	expect_dump(s.mem, "0000000a");
	expect_dump(s.mem + 64, "ffffffff a1b2c3d4");
	/* Those in flight are as they were. */
	expect_dump(s.mem + 2 * 128 + 64, "00000103");
	assert_int_equal(dvq_sendq_complete(&s.sq, 2), 2);
	expect_dump(s.mem + 128 + 64, "ffffffff eeeeeeee");
	expect_dump(s.mem + 2 * 128 + 64, "ffffffff a1b2c3d4");
}

/* The size is read from the ring, which others can write to: no stamp beyond the stride. */
static void
test_stamps_stay_in_the_stride(void **state)
{
	(void)state;
	post_segs(7);
	s.mem[7] = 0x3f;
	assert_int_equal(dvq_sendq_complete(&s.sq, 0), 1);
	expect_dump(s.mem + 64, "ffffffff");
	expect_dump(s.mem + 128, "80000000");
	expect_dump(s.mem + 256, "80000000");
}

/* Indices that wrapped round do not look like a wide WQE for ever. */
static void
test_stamps_after_two_billion(void **state)
{
	(void)state;
	s.sq.pi = s.sq.ci = 0x80000010u;
	s.sq.wide = 5;
	post_segs(1);
	assert_int_equal(dvq_sendq_complete(&s.sq, 0x10), 1);
	assert_int_equal(s.sq.wide, 0x80000010u);
	post_segs(7);
	assert_int_equal(s.sq.wide, 0x80000012u);
	assert_int_equal(dvq_sendq_complete(&s.sq, 0x11), 1);
	expect_dump(s.mem + 0x11 * 128 + 64, "ffffffff");
}

static void
test_completion_of_what_is_not_in_flight(void **state)
{
	(void)state;
	assert_int_equal(dvq_sendq_complete(&s.sq, 0), -ERANGE);
	post_segs(1);
	post_segs(1);
	assert_int_equal(dvq_sendq_complete(&s.sq, 2), -ERANGE);
	assert_int_equal(dvq_sendq_complete(&s.sq, 0xffff), -ERANGE);
	assert_int_equal(s.sq.ci, 0);
	assert_int_equal(dvq_sendq_complete(&s.sq, 1), 2);
	assert_int_equal(dvq_sendq_complete(&s.sq, 1), -ERANGE);
}

/* The CQE has 16 bits of the index; several WQEs complete with the last one. */
static void
test_completion_beyond_16_bits(void **state)
{
	(void)state;
	sendq_advance(&s, 0xfffe);
	post_segs(1);
	post_segs(1);
	post_segs(1);
	assert_int_equal(dvq_sendq_complete(&s.sq, 0), 3);
	assert_int_equal(s.sq.ci, 0x10001);
}

static void
test_ring_and_reset(void **state)
{
	(void)state;
	post_segs(7);
	assert_int_equal(s.doorbell, 0);
	dvq_sendq_ring(&s.sq);
	assert_int_equal(s.doorbell, htobe32(0x024200));
	dvq_sendq_reset(&s.sq);
	assert_int_equal(dvq_sendq_room(&s.sq), 47);
	assert_int_equal(s.sq.pi, 0);
	assert_int_equal(s.sq.wide, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_wqe_per_stride, setup),
		cmocka_unit_test_setup(test_owner_polarity_by_strides, setup),
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_too_long, setup),
		cmocka_unit_test_setup(test_later_blocks, setup),
		cmocka_unit_test_setup(test_nothing_visible_before_end, setup),
		cmocka_unit_test_setup(test_stamps, setup),
		cmocka_unit_test_setup(test_stamps_stay_in_the_stride, setup),
		cmocka_unit_test_setup(test_stamps_after_two_billion, setup),
		cmocka_unit_test_setup(test_completion_of_what_is_not_in_flight, setup),
		cmocka_unit_test_setup(test_completion_beyond_16_bits, setup),
		cmocka_unit_test_setup(test_ring_and_reset, setup),
	};

	return cmocka_run_group_tests_name("dvq: send queues of strides", tests, NULL, NULL);
}
