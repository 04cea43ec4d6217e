/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Raw Ethernet through a send queue of strides: inline data, BlueFlame, and frames
 * received into their WQE. Port 1 sends, port 2 has the other end of the cable.
 */

#include "live.h"

struct raw {
	struct live_end tx, rx;
	struct ibv_flow *flow;
};

static const uint8_t to[6] = { 0x02, 0, 0, 0, 0, 0x02 };

static void
raw_state(struct ibv_qp *qp, uint8_t port, enum ibv_qp_state last)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	if (last == IBV_QPS_RTR)
		return;
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* A QP that receives up to this many bytes into its WQEs. */
static void
open_receiver(struct live *live, struct raw *raw, uint32_t inline_recv)
{
	struct live_end *rx = &raw->rx;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 1, .max_recv_wr = 16, .max_send_sge = 1,
			.max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = live->pd };
	struct dvq_open_request req = { .qp_rq = &rx->rq, .cq = &rx->cq };
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			.port = 2 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	rx->channel = NULL;
	rx->ibv_cq = ibv_create_cq(live->ctx, 63, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = rx->ibv_cq;
	rx->qp = dvq_create_qp(live->ctx, &attr, inline_recv);
	assert_non_null(rx->qp);
	req.qp = rx->qp;
	req.ibv_cq = rx->ibv_cq;
	assert_int_equal(dvq_open(&req), 0);
	raw_state(rx->qp, 2, IBV_QPS_RTR);
	memcpy(rule.eth.val.dst_mac, to, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	raw->flow = ibv_create_flow(rx->qp, &rule.attr);
	assert_non_null(raw->flow);
}

static void
raw_open(struct live *live, struct raw *raw, uint32_t inline_recv)
{
	const struct ibv_qp_cap cap = { .max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 4,
		.max_recv_sge = 1, .max_inline_data = 300 };

	live_open(live, &raw->tx, IBV_QPT_RAW_PACKET, &cap, NULL);
	assert_int_equal(raw->tx.sq.shift, 9);
	raw_state(raw->tx.qp, 1, IBV_QPS_RTS);
	open_receiver(live, raw, inline_recv);
}

static void
raw_close(struct raw *raw)
{
	assert_int_equal(ibv_destroy_flow(raw->flow), 0);
	live_close(&raw->rx);
	live_close(&raw->tx);
}

static void
make_frame(uint8_t *frame, uint32_t size, uint8_t seed)
{
	uint32_t i;

	memset(frame, 0x02, 12);
	memcpy(frame, to, 6);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	for (i = 14; i < size; i++)
		frame[i] = (uint8_t)(seed + i);
}

/* Post a buffer of 2 KiB, receive a frame and compare it. */
static void
expect_frame(struct live *live, struct raw *raw, const uint8_t *frame, uint32_t size, bool in_wqe)
{
	struct live_end *rx = &raw->rx;
	const struct dvq_cqe *cqe = dvq_cq_poll(&rx->cq);
	const uint8_t *found;

	(void)live;
	assert_non_null(cqe);
	assert_int_equal(dvq_cqe_wc_status(cqe), IBV_WC_SUCCESS);
	assert_int_equal(dvq_cqe_byte_cnt(cqe), size);
	assert_int_equal(dvq_cqe_is_inline(cqe), in_wqe);
	found = dvq_rq_inline_data(&rx->rq, dvq_rq_complete(&rx->rq), cqe);
	assert_int_equal(found != NULL, in_wqe);
	assert_memory_equal(in_wqe ? found : live->mem + 4096, frame, size);
	dvq_cq_update_ci(&rx->cq);
}

static void
post_buffer(struct live *live, struct raw *raw)
{
	struct dvq_sge sge = live_sge(live, 4096, 2048);

	memset(live->mem + 4096, 0, 2048);
	assert_int_equal(dvq_post_recv(&raw->rx.rq, &sge, 1), 0);
	dvq_rq_publish(&raw->rx.rq);
}

static void
test_inline_data_of_every_length(void **state)
{
	struct live *live = *state;
	uint8_t frame[400];
	struct raw raw;
	uint32_t size;

	raw_open(live, &raw, 0);
	for (size = 60; size <= 300; size += 3) {
		make_frame(frame, size, (uint8_t)size);
		post_buffer(live, &raw);
		assert_int_equal(dvq_post_send_inline(&raw.tx.sq, frame, size,
			DVQ_CTRL_CQE | DVQ_CTRL_SE), 0);
		memset(frame, 0, 16);
		dvq_sendq_ring(&raw.tx.sq);
		assert_int_equal(dvq_sendq_complete(&raw.tx.sq, live_wait(&raw.tx).wqe_index), 1);
		make_frame(frame, size, (uint8_t)size);
		expect_frame(live, &raw, frame, size, false);
	}
	raw_close(&raw);
}

/* WQEs of one to eight blocks, three times round: stamps, polarity, and the checker. */
static void
test_gather(void **state)
{
	struct live *live = *state;
	struct raw raw;
	struct dvq_sge sge[4];
	uint32_t i, n;

	raw_open(live, &raw, 0);
	make_frame(live->mem, 200, 1);
	for (i = 0; i < 3 * raw.tx.sq.cnt; i++) {
		n = i % 4 + 1;
		sge[0] = live_sge(live, 0, 200 - 10 * (n - 1));
		sge[1] = live_sge(live, 190, 10);
		sge[1].addr -= 10 * (n - 2);
		sge[2] = sge[1];
		sge[2].addr += 10;
		sge[3] = sge[2];
		sge[3].addr += 10;
		post_buffer(live, &raw);
		assert_int_equal(dvq_post_send(&raw.tx.sq, sge, n, DVQ_CTRL_CQE | DVQ_CTRL_SE), 0);
		dvq_sendq_ring(&raw.tx.sq);
		assert_int_equal(dvq_sendq_complete(&raw.tx.sq, live_wait(&raw.tx).wqe_index), 1);
		expect_frame(live, &raw, live->mem, 200, false);
	}
	raw_close(&raw);
}

/* Both buffers in turn, the ordinary way for what is too long, and then on. */
static void
test_blueflame(void **state)
{
	struct live *live = *state;
	uint8_t frame[300];
	struct dvq_send send;
	struct dvq_bf bf;
	struct raw raw;
	uint32_t i, size;

	raw_open(live, &raw, 0);
	assert_int_equal(dvq_bf_open(&bf, live->ctx, DVQ_BF_REG_SIZE), 0);
	for (i = 0; i < 100; i++) {
		size = 60 + i % 11 * 20;
		make_frame(frame, size, (uint8_t)i);
		post_buffer(live, &raw);
		assert_int_equal(dvq_send_begin(&send, &raw.tx.sq), 0);
		assert_int_equal(dvq_send_inline(&send, frame, size), 0);
		assert_int_equal(dvq_send_end_bf(&send, DVQ_OP_SEND, DVQ_CTRL_CQE | DVQ_CTRL_SE, 0,
			&bf), i);
		assert_int_equal(dvq_sendq_complete(&raw.tx.sq, live_wait(&raw.tx).wqe_index), 1);
		expect_frame(live, &raw, frame, size, false);
	}
	dvq_bf_close(&bf);
	raw_close(&raw);
}

static int
poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return 0;
}

static void
test_blueflame_bad_input(void **state)
{
	struct ibv_context other = { .ops.poll_cq = poll_nothing };
	struct live *live = *state;
	struct dvq_bf bf;

	assert_int_equal(dvq_bf_open(&bf, live->ctx, 64), -EINVAL);
	assert_int_equal(dvq_bf_open(&bf, live->ctx, 384), -EINVAL);
	assert_int_equal(dvq_bf_open(NULL, live->ctx, DVQ_BF_REG_SIZE), -EINVAL);
	assert_int_equal(dvq_bf_open(&bf, NULL, DVQ_BF_REG_SIZE), -EINVAL);
	/* Page 1 of another provider's command file is something else. */
	assert_int_equal(dvq_bf_open(&bf, &other, DVQ_BF_REG_SIZE), -EOPNOTSUPP);
}

/* 2500 bytes in pieces of 1000, each behind the headers; these lie in two blocks. */
static void
test_lso(void **state)
{
	static const uint8_t headers[54] = {
		0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00,
		0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
		0, 9, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,
	};
	struct live *live = *state;
	struct dvq_send send;
	struct raw raw;
	uint32_t i, size;

	raw_open(live, &raw, 0);
	for (i = 0; i < 3; i++) {
		struct dvq_sge sge = live_sge(live, 8192 + i * 2048, 2048);

		assert_int_equal(dvq_post_recv(&raw.rx.rq, &sge, 1), 0);
	}
	dvq_rq_publish(&raw.rx.rq);
	for (i = 0; i < 2500; i++)
		live->mem[i] = (uint8_t)(i * 3 + i / 256);
	assert_int_equal(dvq_send_begin(&send, &raw.tx.sq), 0);
	assert_int_equal(dvq_send_lso(&send, headers, sizeof(headers), 1000), 0);
	assert_int_equal(dvq_send_data(&send, (uintptr_t)live->mem, live->mr->lkey, 2500), 0);
	dvq_send_end(&send, DVQ_OP_LSO, DVQ_CTRL_CQE | DVQ_CTRL_SE | DVQ_CTRL_IP_CSUM |
		DVQ_CTRL_L4_CSUM, 0);
	dvq_sendq_ring(&raw.tx.sq);
	assert_int_equal(dvq_sendq_complete(&raw.tx.sq, live_wait(&raw.tx).wqe_index), 1);
	for (i = 0; i < 3; i++) {
		const struct dvq_cqe *cqe = dvq_cq_poll(&raw.rx.cq);

		size = i < 2 ? 1000 : 500;
		assert_non_null(cqe);
		assert_int_equal(dvq_cqe_byte_cnt(cqe), sizeof(headers) + size);
		assert_memory_equal(live->mem + 8192 + i * 2048 + sizeof(headers),
			live->mem + i * 1000, size);
		/* Both checksums are good. */
		assert_int_equal(dvq_cqe_status(cqe) & (DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK),
			DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK);
		dvq_rq_complete(&raw.rx.rq);
	}
	dvq_cq_update_ci(&raw.rx.cq);
	raw_close(&raw);
}

static void
test_received_into_the_wqe(void **state)
{
	struct live *live = *state;
	uint8_t frame[200];
	struct raw raw;
	uint32_t i, size;

	raw_open(live, &raw, 128);
	for (i = 0; i < 40; i++) {
		size = 60 + i * 3;
		make_frame(frame, size, (uint8_t)i);
		post_buffer(live, &raw);
		assert_int_equal(dvq_post_send_inline(&raw.tx.sq, frame, size,
			DVQ_CTRL_CQE | DVQ_CTRL_SE), 0);
		dvq_sendq_ring(&raw.tx.sq);
		assert_int_equal(dvq_sendq_complete(&raw.tx.sq, live_wait(&raw.tx).wqe_index), 1);
		expect_frame(live, &raw, frame, size, size <= 128);
	}
	raw_close(&raw);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_live(test_inline_data_of_every_length),
		cmocka_unit_test_live(test_gather),
		cmocka_unit_test_live(test_blueflame),
		cmocka_unit_test_live(test_blueflame_bad_input),
		cmocka_unit_test_live(test_lso),
		cmocka_unit_test_live(test_received_into_the_wqe),
	};

	return cmocka_run_group_tests_name("dvq: raw Ethernet of strides", tests, NULL, NULL);
}
