/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is in memory at each barrier: the stores that must come before it, and
 * none that must come after. Each barrier calls at_barrier().
 */

#define DVQ_BARRIER_HOOK(name) at_barrier(#name)
static void at_barrier(const char *name);

#include "sendq.h"

static struct ring r;
static struct sendq strides;

static struct {
	_Alignas(64) uint8_t mem[64];
	_Alignas(8) uint32_t record[2];
	_Alignas(64) uint8_t uar[64];
	struct dvq_cq cq;
	struct dvq_rq rq;
} q;

/* Barriers seen, in order, and the check that a test makes at them. */
static char seen[256];
static void (*check)(const char *name);

static void
at_barrier(const char *name)
{
	if (seen[0] != '\0')
		strcat(seen, " ");
	strcat(seen, name);
	if (check != NULL)
		check(name);
}

static int
setup(void **state)
{
	(void)state;
	check = NULL;
	ring_init(&r);
	memset(&q, 0, sizeof(q));
	memset(q.mem, 0xcc, sizeof(q.mem));
	seen[0] = '\0';
	return 0;
}

/*
 * 8 segments: bytes 4..63 of blocks 1 and 2, then heads, then dword 0, until which that is
 * what it was @before.
 */
static void
check_eight_segments(const char *name, const uint8_t *mem, const char *before,
	const char *rest_of_ctrl)
{
	bool heads = strcmp(name, "block_before_head") != 0;
	bool owner = strcmp(name, "owner_before_doorbell") == 0;

	expect_dump(mem, owner ? "0000000a" : before);
	expect_dump(mem + 4, rest_of_ctrl);
	expect_dump(mem + 64, heads ? "00000040" : "ffffffff");
	expect_dump(mem + 68, "00001100 00000000 00001000 00000040 00001100");
	expect_dump(mem + 128, heads ? "00000040" : "ffffffff");
	expect_dump(mem + 132, "00001100 00000000 00001000");
}

static void
check_three_blocks(const char *name)
{
	check_eight_segments(name, r.mem, "ffffffff", "00000009 00000002 00000000 00000040");
	expect_dump(&r.doorbell, "00000000");
}

static void
test_wqe_of_several_blocks(void **state)
{
	struct dvq_wqe wqe;
	int i;

	(void)state;
	check = check_three_blocks;
	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < 8; i++)
		dvq_wqe_data(&wqe, 0x1000, htobe32(0x1100), 64);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	dvq_sq_ring(&r.sq);
	assert_string_equal(seen, "block_before_head wqe_before_owner owner_before_doorbell");
	expect_dump(&r.doorbell, "00024200");
}

static void
check_one_block(const char *name)
{
	bool owner = strcmp(name, "owner_before_doorbell") == 0;

	expect_dump(r.mem, owner ? "0000000a" : "ffffffff");
	expect_dump(r.mem + 4, "00000002 00000002 00000000 00000040 00001100 00000000 00001000");
	expect_dump(&r.doorbell, "00000000");
}

static void
test_wqe_of_one_block(void **state)
{
	struct dvq_wqe wqe;

	(void)state;
	check = check_one_block;
	dvq_wqe_begin(&wqe, &r.sq);
	dvq_wqe_data(&wqe, 0x1000, htobe32(0x1100), 64);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	dvq_sq_ring(&r.sq);
	assert_string_equal(seen, "wqe_before_owner owner_before_doorbell");
}

static void
test_wqe_in_its_block(void **state)
{
	(void)state;
	check = check_one_block;
	dvq_seg_set(dvq_sq_block_segs(&r.sq), 0x1000, htobe32(0x1100), 64);
	dvq_sq_post_block(&r.sq, 1, DVQ_OP_SEND, 0, 0, NULL);
	dvq_sq_ring(&r.sq);
	assert_string_equal(seen, "wqe_before_owner owner_before_doorbell");
}

/* The headers of LSO and of inline segments at block starts wait as well. */
static void
check_lso(const char *name)
{
	bool heads = strcmp(name, "block_before_head") != 0;

	expect_dump(r.mem, "ffffffff");
	expect_dump(r.mem + 16, "05b40064 00..43..");
	expect_dump(r.mem + 64, heads ? "2c..3.." : "ffffffff");
	expect_dump(r.mem + 68, "30..51..");
}

static void
test_lso_header(void **state)
{
	struct dvq_wqe wqe;
	uint8_t hdr[100];
	uint8_t i;

	(void)state;
	for (i = 0; i < sizeof(hdr); i++)
		hdr[i] = i;
	check = check_lso;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, sizeof(hdr), 1460), 0);
	dvq_wqe_end(&wqe, DVQ_OP_LSO, 0, 0, NULL);
	assert_string_equal(seen, "block_before_head wqe_before_owner");
}

static void
check_inline(const char *name)
{
	bool heads = strcmp(name, "block_before_head") != 0;

	expect_dump(r.mem, "ffffffff");
	expect_dump(r.mem + 64, heads ? "80000014" : "ffffffff");
	expect_dump(r.mem + 68, "2c..19..");
}

static void
test_inline(void **state)
{
	struct dvq_wqe wqe;
	uint8_t data[64];
	uint8_t i;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	check = check_inline;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_inline(&wqe, data, sizeof(data)), 0);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	assert_string_equal(seen, "block_before_head wqe_before_owner");
}

/* The same of a queue of strides, here of 256 bytes: 8 segments of one of them. */
static void
check_stride(const char *name)
{
	check_eight_segments(name, strides.mem, "80000000", "00000009 0000000c 00000000 00000040");
	expect_dump(&strides.doorbell, "00000000");
}

static void
test_stride_of_several_blocks(void **state)
{
	struct dvq_sge sge[8];
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++)
		sge[i] = (struct dvq_sge){ 0x1000, 0x1100, 64 };
	sendq_init(&strides, 8, 32);
	check = check_stride;
	assert_int_equal(dvq_post_send(&strides.sq, sge, 8, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&strides.sq);
	assert_string_equal(seen, "block_before_head wqe_before_owner owner_before_doorbell");
	expect_dump(&strides.doorbell, "00024200");
}

static _Alignas(64) uint8_t blueflame[4096];

/* The WQE is whole in the ring before its copy begins, and the copy before it is flushed. */
static void
check_blueflame(const char *name)
{
	bool ring = strcmp(name, "wqe_before_owner") != 0;
	bool copied = strcmp(name, "blueflame_flush") == 0;

	expect_dump(strides.mem, ring ? "0000000a" : "80000000");
	expect_dump(strides.mem + 4, "00024202 0000000c 00000000 80000005 68656c6c 6f");
	expect_dump(blueflame, copied ? "0000000a 00024202 0000000c 00000000 80000005 68656c6c" :
		"00000000 00000000 00000000 00000000 00000000 00000000");
}

static void
test_blueflame_after_the_ring(void **state)
{
	struct dvq_bf bf = { .page = blueflame, .size = 256 };
	struct dvq_send send;

	(void)state;
	sendq_init(&strides, 7, 64);
	check = check_blueflame;
	assert_int_equal(dvq_send_begin(&send, &strides.sq), 0);
	assert_int_equal(dvq_send_inline(&send, "hello", 5), 0);
	assert_int_equal(dvq_send_end_bf(&send, DVQ_OP_SEND, DVQ_CTRL_CQE, 0, &bf), 0);
	assert_string_equal(seen, "wqe_before_owner wqe_before_blueflame blueflame_flush");
}

static void
check_rq(const char *name)
{
	(void)name;
	expect_dump(q.mem, "00000800 00001100 00000000 00001000");
	expect_dump(&q.record[0], "00000000");
}

static void
test_receive_wqe_before_record(void **state)
{
	const struct dvq_sge sge = { 0x1000, 0x1100, 2048 };

	(void)state;
	q.rq = (struct dvq_rq){
		.buf = q.mem, .wqe_cnt = 4, .db = &q.record[0], .stride_shift = 4, .max_sge = 1,
	};
	check = check_rq;
	dvq_rq_post(&q.rq, &sge, 1);
	dvq_rq_publish(&q.rq);
	assert_string_equal(seen, "rwqe_before_record");
	expect_dump(&q.record[0], "00000001");
}

static void
check_srq(const char *name)
{
	(void)name;
	expect_dump(q.mem + 16, "00000800 00001100 00000000 00001000");
	expect_dump(&q.record[0], "00000000");
}

static void
test_shared_wqe_before_record(void **state)
{
	const struct dvq_sge sge = { 0x1000, 0x1100, 2048 };
	struct dvq_srq srq = {
		.buf = q.mem, .mask = 1, .head = 0, .tail = 1, .db = &q.record[0],
		.stride_shift = 5, .max_sge = 1,
	};

	(void)state;
	check = check_srq;
	assert_int_equal(dvq_srq_post(&srq, &sge, 1), 0);
	dvq_srq_publish(&srq);
	assert_string_equal(seen, "rwqe_before_record");
	expect_dump(&q.record[0], "00000001");
}

static void
init_cq(void)
{
	q.cq = (struct dvq_cq){
		.buf = q.mem, .cqe_cnt = 2, .cqe_shift = 5, .set_ci_db = &q.record[0],
		.arm_db = &q.record[1], .uar = q.uar, .arm_sn = 1, .cqn = 0x83,
	};
}

/* The adapter's other stores may come in between: they are read afterwards. */
static void
check_poll(const char *name)
{
	(void)name;
	q.mem[23] = 77;
}

static void
test_cqe_is_read_after_its_owner(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	init_cq();
	check = check_poll;
	assert_null(dvq_cq_poll(&q.cq));
	assert_string_equal(seen, "");
	memset(q.mem, 0, 31);
	q.mem[31] = 0x01;
	cqe = dvq_cq_poll(&q.cq);
	assert_non_null(cqe);
	assert_int_equal(dvq_cqe_byte_cnt(cqe), 77);
	assert_string_equal(seen, "owner_before_cqe");
}

static void
test_cqes_are_read_after_their_owners(void **state)
{
	(void)state;
	init_cq();
	assert_int_equal(dvq_cq_ready(&q.cq, 2), 0);
	assert_string_equal(seen, "");
	q.mem[31] = 0x01;
	q.mem[63] = 0x01;
	assert_int_equal(dvq_cq_ready(&q.cq, 2), 2);
	assert_string_equal(seen, "owner_before_cqe");
}

static void
check_ci(const char *name)
{
	(void)name;
	expect_dump(&q.record[0], "00000000");
}

static void
test_consumer_record_comes_last(void **state)
{
	(void)state;
	init_cq();
	q.cq.ci = 3;
	check = check_ci;
	dvq_cq_update_ci(&q.cq);
	assert_string_equal(seen, "cqe_before_ci");
	expect_dump(&q.record[0], "00000003");
}

static void
check_arm(const char *name)
{
	(void)name;
	expect_dump(&q.record[1], "12000003");
	expect_dump(q.uar + 0x20, "00000000 00000000");
}

static void
test_arm_record_before_doorbell(void **state)
{
	(void)state;
	init_cq();
	q.cq.ci = 3;
	check = check_arm;
	dvq_cq_arm(&q.cq, DVQ_CQ_ARM_NEXT);
	assert_string_equal(seen, "arm_before_doorbell");
	expect_dump(q.uar + 0x20, "12000083 00000003");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wqe_of_several_blocks, setup),
		cmocka_unit_test_setup(test_wqe_of_one_block, setup),
		cmocka_unit_test_setup(test_wqe_in_its_block, setup),
		cmocka_unit_test_setup(test_lso_header, setup),
		cmocka_unit_test_setup(test_inline, setup),
		cmocka_unit_test_setup(test_stride_of_several_blocks, setup),
		cmocka_unit_test_setup(test_blueflame_after_the_ring, setup),
		cmocka_unit_test_setup(test_receive_wqe_before_record, setup),
		cmocka_unit_test_setup(test_shared_wqe_before_record, setup),
		cmocka_unit_test_setup(test_cqe_is_read_after_its_owner, setup),
		cmocka_unit_test_setup(test_cqes_are_read_after_their_owners, setup),
		cmocka_unit_test_setup(test_consumer_record_comes_last, setup),
		cmocka_unit_test_setup(test_arm_record_before_doorbell, setup),
	};

	return cmocka_run_group_tests_name("dvq: order of stores", tests, NULL, NULL);
}
