/* SPDX-License-Identifier: BSD-3-Clause */

/* CQEs decoded in the terms of verbs. */

#include "ring.h"

#define CNT 32u

static struct {
	_Alignas(64) uint8_t mem[CNT * 64];
	uint32_t records[2];
	struct dvq_cq cq;
	uint32_t pi;            /* the adapter's */
} c;

static int
setup_size(uint8_t shift)
{
	uint32_t i;

	memset(&c, 0, sizeof(c));
	c.cq = (struct dvq_cq){
		.buf = c.mem, .cqe_cnt = CNT, .cqe_shift = shift,
		.valid_offset = shift == 6 ? 32 : 0, .set_ci_db = &c.records[0],
		.arm_db = &c.records[1], .cqn = 0x83,
	};
	for (i = 0; i < CNT; i++)
		c.mem[(i << shift) + c.cq.valid_offset + 31] = DVQ_CQE_OWNER;
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	return setup_size(6);
}

/* The adapter writes one; how: is_send, inline bit and opcode. */
static struct dvq_cqe *
write_cqe(uint8_t how)
{
	struct dvq_cqe *cqe = (struct dvq_cqe *)(uintptr_t)dvq_cq_entry(&c.cq, c.pi);

	memset(cqe, 0, 31);
	cqe->vlan_my_qpn = htobe32(0x20000242);
	cqe->rss_hash = htobe32(0xcafe0001);
	cqe->g_mlpath_rqpn = htobe32(0x05000777);
	cqe->byte_cnt = htobe32(1000);
	cqe->wqe_index = htobe16(0x1234);
	cqe->owner_sr_opcode = (uint8_t)(how | dvq_cq_owner(&c.cq, c.pi));
	c.pi++;
	return cqe;
}

static const struct {
	uint8_t how;
	enum ibv_wc_opcode opcode;
	uint8_t flags;
	uint32_t byte_len;
} kinds[] = {
	{ 0x00, IBV_WC_RECV_RDMA_WITH_IMM, DVQ_WC_IMM, 1000 },
	{ 0x01, IBV_WC_RECV, 0, 1000 },
	{ 0x02, IBV_WC_RECV, DVQ_WC_IMM, 1000 },
	{ 0x03, IBV_WC_RECV, DVQ_WC_INVAL, 1000 },
	{ 0x21, IBV_WC_RECV, DVQ_WC_INLINE, 1000 },
	{ 0x40, IBV_WC_SEND, DVQ_WC_SEND, 1000 },
	{ 0x41, IBV_WC_SEND, DVQ_WC_SEND, 1000 },
	{ 0x48, IBV_WC_RDMA_WRITE, DVQ_WC_SEND, 1000 },
	{ 0x49, IBV_WC_RDMA_WRITE, DVQ_WC_SEND, 1000 },
	{ 0x4a, IBV_WC_SEND, DVQ_WC_SEND, 1000 },
	{ 0x4b, IBV_WC_SEND, DVQ_WC_SEND, 1000 },
	{ 0x4e, IBV_WC_SEND, DVQ_WC_SEND, 1000 },
	{ 0x50, IBV_WC_RDMA_READ, DVQ_WC_SEND, 1000 },
	{ 0x51, IBV_WC_COMP_SWAP, DVQ_WC_SEND, 8 },
	{ 0x52, IBV_WC_FETCH_ADD, DVQ_WC_SEND, 8 },
	{ 0x54, IBV_WC_COMP_SWAP, DVQ_WC_SEND, 8 },
	{ 0x55, IBV_WC_FETCH_ADD, DVQ_WC_SEND, 8 },
	{ 0x58, IBV_WC_BIND_MW, DVQ_WC_SEND, 1000 },
	{ 0x5b, IBV_WC_LOCAL_INV, DVQ_WC_SEND, 1000 },
};

static void
test_every_opcode(void **state)
{
	struct dvq_wc wc;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memset(&wc, 0x5a, sizeof(wc));
		dvq_wc_read(write_cqe(kinds[i].how), &wc);
		assert_int_equal(wc.opcode, kinds[i].opcode);
		assert_int_equal(wc.flags, kinds[i].flags);
		assert_int_equal(wc.byte_len, kinds[i].byte_len);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.qpn, 0x242);
		assert_int_equal(wc.wqe_index, 0x1234);
		assert_int_equal(wc.imm_be, htobe32(0xcafe0001));
		assert_int_equal(dvq_wc_src_qp(&wc), 0x777);
		assert_false(dvq_wc_has_grh(&wc));
		assert_int_equal(wc.vendor_err, 0);
	}
}

static void
test_datagram(void **state)
{
	struct dvq_cqe *cqe = write_cqe(0x02);
	struct dvq_wc wc;

	(void)state;
	assert_false(dvq_cqe_has_grh(cqe));
	cqe->g_mlpath_rqpn = htobe32(0x80abcdef);
	dvq_wc_read(cqe, &wc);
	assert_int_equal(wc.flags, DVQ_WC_IMM);
	assert_true(dvq_wc_has_grh(&wc));
	assert_int_equal(dvq_wc_src_qp(&wc), 0xabcdef);
	assert_true(dvq_cqe_has_grh(cqe));
	assert_int_equal(dvq_cqe_src_qp(cqe), 0xabcdef);
	assert_int_equal(dvq_cqe_imm_be(cqe), htobe32(0xcafe0001));
}

static void
test_inline_bit(void **state)
{
	(void)state;
	assert_true(dvq_cqe_is_inline(write_cqe(0x21)));
	assert_false(dvq_cqe_is_inline(write_cqe(0x01)));
	/* Of a send the bit belongs to no one. */
	assert_false(dvq_cqe_is_inline(write_cqe(0x6a)));
}

static const struct {
	uint8_t syndrome;
	enum ibv_wc_status status;
} syndromes[] = {
	{ 0x01, IBV_WC_LOC_LEN_ERR }, { 0x02, IBV_WC_LOC_QP_OP_ERR },
	{ 0x04, IBV_WC_LOC_PROT_ERR }, { 0x05, IBV_WC_WR_FLUSH_ERR },
	{ 0x06, IBV_WC_MW_BIND_ERR }, { 0x10, IBV_WC_BAD_RESP_ERR },
	{ 0x11, IBV_WC_LOC_ACCESS_ERR }, { 0x12, IBV_WC_REM_INV_REQ_ERR },
	{ 0x13, IBV_WC_REM_ACCESS_ERR }, { 0x14, IBV_WC_REM_OP_ERR },
	{ 0x15, IBV_WC_RETRY_EXC_ERR }, { 0x16, IBV_WC_RNR_RETRY_EXC_ERR },
	{ 0x22, IBV_WC_REM_ABORT_ERR },
	{ 0x00, IBV_WC_GENERAL_ERR }, { 0x7f, IBV_WC_GENERAL_ERR },
};

static void
test_every_syndrome(void **state)
{
	struct dvq_err_cqe *error;
	struct dvq_wc wc;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(syndromes) / sizeof(syndromes[0]); i++) {
		error = (void *)write_cqe(i % 2 != 0 ? 0x5e : 0x1e);
		error->syndrome = syndromes[i].syndrome;
		error->vendor_err = 0x57;
		dvq_wc_read((const void *)error, &wc);
		assert_int_equal(wc.status, syndromes[i].status);
		assert_int_equal(wc.status, dvq_cqe_wc_status((const void *)error));
		assert_int_equal(wc.flags, i % 2 != 0 ? DVQ_WC_SEND : 0);
		assert_int_equal(wc.vendor_err, 0x57);
		assert_int_equal(wc.byte_len, 0);
		assert_int_equal(wc.qpn, 0x242);
		assert_int_equal(wc.wqe_index, 0x1234);
	}
	assert_int_equal(dvq_cqe_wc_status(write_cqe(0x01)), IBV_WC_SUCCESS);
}

/* Over the end of the ring, and no more than there are or are wanted. */
static void
poll_batches(uint8_t shift)
{
	struct dvq_wc wc[CNT];
	uint32_t i, round;

	setup_size(shift);
	assert_int_equal(dvq_cq_poll_batch(&c.cq, wc, CNT), 0);
	assert_int_equal(c.records[0], 0);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 20; i++)
			write_cqe(0x01)->byte_cnt = htobe32(100 * round + i);
		assert_int_equal(dvq_cq_poll_batch(&c.cq, wc, 16), 16);
		assert_int_equal(c.records[0], htobe32(20 * round + 16));
		assert_int_equal(dvq_cq_poll_batch(&c.cq, wc + 16, 16), 4);
		for (i = 0; i < 20; i++)
			assert_int_equal(wc[i].byte_len, 100 * round + i);
	}
	assert_int_equal(dvq_cq_poll_batch(&c.cq, wc, 0), 0);
	assert_int_equal(c.cq.ci, 200);
}

static void
test_batches(void **state)
{
	(void)state;
	poll_batches(5);
	poll_batches(6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_opcode, setup),
		cmocka_unit_test_setup(test_datagram, setup),
		cmocka_unit_test_setup(test_inline_bit, setup),
		cmocka_unit_test_setup(test_every_syndrome, setup),
		cmocka_unit_test_setup(test_batches, setup),
	};

	return cmocka_run_group_tests_name("dvq: completions decoded", tests, NULL, NULL);
}
