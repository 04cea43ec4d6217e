/* SPDX-License-Identifier: BSD-3-Clause */

/* Room, stamps, polarity and completion of a send queue. */

#include "ring.h"

static struct ring r;

static int
setup(void **state)
{
	(void)state;
	ring_init(&r);
	return 0;
}

/* A WQE of @blocks blocks. */
static uint16_t
post_blocks(uint32_t blocks)
{
	struct dvq_wqe wqe;
	uint32_t i;

	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < blocks * 4 - 1; i++)
		assert_int_equal(dvq_wqe_data(&wqe, 0x1000, htobe32(0x1100), 8), 0);
	return (uint16_t)dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, DVQ_CTRL_CQE, NULL);
}

static void
test_init_stamps_every_block(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < RING_BLOCKS; i++)
		expect_dump(r.mem + i * 64, "ffffffff eeeeeeee");
	assert_int_equal(dvq_sq_room(&r.sq), RING_BLOCKS - 33);
}

/* Freed in pass 0: bit 31 clear is invalid in pass 1; in pass 1 the reverse. */
static void
test_stamps_by_pass(void **state)
{
	(void)state;
	post_blocks(3);
	assert_int_equal(dvq_sq_complete(&r.sq, 0), 3);
	expect_dump(r.mem, "7fffffff");
	expect_dump(r.mem + 64, "7fffffff");
	expect_dump(r.mem + 128, "7fffffff");
	expect_dump(r.mem + 192, "ffffffff");

	ring_advance(&r, RING_BLOCKS);
	post_blocks(3);
	expect_dump(r.mem, "8000000a");
	assert_int_equal(dvq_sq_complete(&r.sq, RING_BLOCKS), 3);
	expect_dump(r.mem, "ffffffff");
	expect_dump(r.mem + 64, "ffffffff");
	expect_dump(r.mem + 128, "ffffffff");
	expect_dump(r.mem + 192, "7fffffff");

	ring_advance(&r, 2 * RING_BLOCKS);
	post_blocks(1);
	expect_dump(r.mem, "0000000a");
	assert_int_equal(dvq_sq_complete(&r.sq, 2 * RING_BLOCKS), 1);
	expect_dump(r.mem, "7fffffff");
}

/* A WQE across the end of the ring: its blocks belong to two passes. */
static void
test_stamps_of_wrapped_wqe(void **state)
{
	(void)state;
	ring_advance(&r, RING_BLOCKS - 2);
	post_blocks(4);
	expect_dump(r.mem + 62 * 64, "0000000a");
	assert_int_equal(dvq_sq_complete(&r.sq, 62), 4);
	expect_dump(r.mem + 62 * 64, "7fffffff");
	expect_dump(r.mem + 63 * 64, "7fffffff");
	expect_dump(r.mem, "ffffffff");
	expect_dump(r.mem + 64, "ffffffff");
}

/* A ready-made control segment is what dvq_sq_post_block() writes, and touches no more. */
static void
test_control_segment_at_once(void **state)
{
	const struct dvq_ctrl_be ctrl = { { htobe32(DVQ_OP_SEND), htobe32(2),
		htobe32(DVQ_CTRL_SE | DVQ_CTRL_IP_CSUM), 0 } };
	_Alignas(16) uint8_t posted[64];

	(void)state;
	dvq_seg_set(dvq_sq_block_segs(&r.sq), 0x1000, htobe32(0x1100), 60);
	memcpy(posted, r.mem, sizeof(posted));
	dvq_ctrl_store(posted, &ctrl);
	dvq_sq_post_block(&r.sq, 1, DVQ_OP_SEND, 0, DVQ_CTRL_IP_CSUM, NULL);
	assert_memory_equal(posted, r.mem, sizeof(posted));
}

static void
test_room(void **state)
{
	uint32_t room = RING_BLOCKS - 33;
	uint16_t last;

	(void)state;
	post_blocks(1);
	assert_int_equal(dvq_sq_room(&r.sq), room - 1);
	last = post_blocks(8);
	assert_int_equal(last, 1);
	assert_int_equal(dvq_sq_room(&r.sq), room - 9);
	assert_int_equal(dvq_sq_complete(&r.sq, last), 9);
	assert_int_equal(dvq_sq_room(&r.sq), room);
	while (dvq_sq_room(&r.sq) != 0)
		post_nop(&r.sq);
	assert_int_equal(r.sq.pi - r.sq.ci, room);
}

/* What a CQE names is checked before it frees anything. */
static void
test_completion_out_of_range(void **state)
{
	(void)state;
	assert_int_equal(dvq_sq_complete(&r.sq, 0), -ERANGE);
	post_blocks(2);
	post_blocks(2);
	assert_int_equal(dvq_sq_complete(&r.sq, 4), -ERANGE);
	assert_int_equal(dvq_sq_complete(&r.sq, 0xffff), -ERANGE);
	assert_int_equal(dvq_sq_complete(&r.sq, 0x8000), -ERANGE);
	assert_int_equal(r.sq.ci, 0);
	expect_dump(r.mem, "0000000a");
	assert_int_equal(dvq_sq_complete(&r.sq, 0), 2);
	assert_int_equal(dvq_sq_complete(&r.sq, 0), -ERANGE);
	assert_int_equal(dvq_sq_complete(&r.sq, 2), 2);
}

/* A size in the ring that reaches beyond what was posted is not believed. */
static void
test_completion_of_overwritten_wqe(void **state)
{
	(void)state;
	post_blocks(1);
	r.mem[7] = 0x3f;
	assert_int_equal(dvq_sq_complete(&r.sq, 0), -ERANGE);
	r.mem[7] = 0;
	assert_int_equal(dvq_sq_complete(&r.sq, 0), -ERANGE);
	assert_int_equal(r.sq.ci, 0);
}

static void
test_completion_before_the_failed(void **state)
{
	(void)state;
	post_blocks(1);
	post_blocks(3);
	post_blocks(2);
	assert_int_equal(dvq_sq_complete_before(&r.sq, 6), -ERANGE);
	assert_int_equal(dvq_sq_complete_before(&r.sq, 4), 4);
	assert_int_equal(dvq_sq_complete_before(&r.sq, 4), 0);
	assert_int_equal(r.sq.ci, 4);
	expect_dump(r.mem, "7fffffff");
	expect_dump(r.mem + 4 * 64, "0000000a");
}

/* A queue of WQEs of one block goes without stamps until its first longer one. */
static void
test_single_blocks(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(dvq_sq_complete_single(&r.sq, 0), -ERANGE);
	post_blocks(1);
	post_blocks(1);
	post_blocks(1);
	assert_int_equal(dvq_sq_complete_single(&r.sq, 3), -ERANGE);
	assert_int_equal(dvq_sq_complete_single(&r.sq, 0xffff), -ERANGE);
	assert_int_equal(r.sq.ci, 0);
	assert_int_equal(dvq_sq_complete_single(&r.sq, 1), 2);
	assert_int_equal(r.sq.ci, 2);
	expect_dump(r.mem, "0000000a 00000004");
	expect_dump(r.mem + 64, "0000000a 00000004");

	dvq_sq_stamp_free(&r.sq);
	/* Those that come again in this pass, those of the next one; not what is in flight. */
	expect_dump(r.mem, "7fffffff 00000004");
	expect_dump(r.mem + 64, "7fffffff 00000004");
	expect_dump(r.mem + 128, "0000000a 00000004");
	for (i = 3; i < RING_BLOCKS; i++)
		expect_dump(r.mem + i * 64, "ffffffff eeeeeeee");
}

/* In the second pass, where the free blocks are in two parts. */
static void
test_single_blocks_of_two_passes(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < RING_BLOCKS + 10; i++) {
		post_blocks(1);
		if (i != RING_BLOCKS + 9)
			assert_int_equal(dvq_sq_complete_single(&r.sq, (uint16_t)i), 1);
	}
	dvq_sq_stamp_free(&r.sq);
	for (i = 0; i < 9; i++)
		expect_dump(r.mem + i * 64, "ffffffff 00000004");
	expect_dump(r.mem + 9 * 64, "8000000a 00000004");
	for (i = 10; i < RING_BLOCKS; i++)
		expect_dump(r.mem + i * 64, "7fffffff 00000004");
}

/* The index of a CQE has 16 bits, the counters 32. */
static void
test_index_wraps_at_65536(void **state)
{
	(void)state;
	ring_advance(&r, 65535);
	assert_int_equal(post_blocks(2), 65535);
	assert_int_equal(post_blocks(1), 1);
	assert_int_equal(dvq_sq_complete(&r.sq, 65535), 2);
	assert_int_equal(dvq_sq_complete(&r.sq, 1), 1);
	assert_int_equal(r.sq.ci, 65538);
}

static void
test_counters_wrap_at_32_bits(void **state)
{
	(void)state;
	r.sq.pi = UINT32_MAX;
	r.sq.ci = UINT32_MAX;
	assert_int_equal(post_blocks(2), 65535);
	expect_dump(r.mem + 63 * 64, "8000000a");
	assert_int_equal(dvq_sq_room(&r.sq), RING_BLOCKS - 33 - 2);
	assert_int_equal(dvq_sq_complete(&r.sq, 65535), 2);
	assert_int_equal(r.sq.ci, 1);
}

static void
test_doorbell(void **state)
{
	(void)state;
	post_nop(&r.sq);
	assert_int_equal(r.doorbell, 0);
	dvq_sq_ring(&r.sq);
	expect_dump(&r.doorbell, "00024200");
}

/* Another process has the page of doorbells elsewhere. */
static void
test_doorbell_by_another_mapping(void **state)
{
	uint32_t page[8] = { 0 };

	(void)state;
	post_nop(&r.sq);
	dvq_sq_ring_at(&r.sq, page);
	expect_dump(page, "00000000 00000000 00000000 00000000 00000000 00024200 00000000");
	assert_int_equal(r.doorbell, 0);
}

static void
test_reset(void **state)
{
	(void)state;
	ring_advance(&r, RING_BLOCKS + 7);
	post_blocks(5);
	dvq_sq_reset(&r.sq);
	assert_int_equal(r.sq.pi, 0);
	for (uint32_t i = 0; i < RING_BLOCKS; i++)
		expect_dump(r.mem + i * 64, "ffffffff");
	assert_int_equal(post_blocks(1), 0);
	expect_dump(r.mem, "0000000a");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_init_stamps_every_block, setup),
		cmocka_unit_test_setup(test_control_segment_at_once, setup),
		cmocka_unit_test_setup(test_stamps_by_pass, setup),
		cmocka_unit_test_setup(test_stamps_of_wrapped_wqe, setup),
		cmocka_unit_test_setup(test_room, setup),
		cmocka_unit_test_setup(test_completion_out_of_range, setup),
		cmocka_unit_test_setup(test_completion_of_overwritten_wqe, setup),
		cmocka_unit_test_setup(test_completion_before_the_failed, setup),
		cmocka_unit_test_setup(test_single_blocks, setup),
		cmocka_unit_test_setup(test_single_blocks_of_two_passes, setup),
		cmocka_unit_test_setup(test_index_wraps_at_65536, setup),
		cmocka_unit_test_setup(test_counters_wrap_at_32_bits, setup),
		cmocka_unit_test_setup(test_doorbell, setup),
		cmocka_unit_test_setup(test_doorbell_by_another_mapping, setup),
		cmocka_unit_test_setup(test_reset, setup),
	};

	return cmocka_run_group_tests_name("dvq: send queue", tests, NULL, NULL);
}
