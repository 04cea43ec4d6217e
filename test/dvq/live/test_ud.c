/* SPDX-License-Identifier: BSD-3-Clause */

/* Datagrams: address handles turned into segments, and who sent what. */

#include "live.h"

#define QKEY 0x11223344u

static void
to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
		IBV_QP_PKEY_INDEX | IBV_QP_QKEY), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static struct ibv_ah *
own_address(struct live *live)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
		.grh = { .hop_limit = 7, .traffic_class = 3, .flow_label = 9 } };
	struct ibv_ah *ah;

	assert_int_equal(ibv_query_gid(live->ctx, 1, 0, &attr.grh.dgid), 0);
	ah = ibv_create_ah(live->pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* What libmlx4 itself writes for the same address handle, in another QP. */
static void
test_segment_of_an_address_handle(void **state)
{
	struct live *live = *state;
	struct ibv_ah *ah = own_address(live);
	struct dvq_datagram_seg to;
	uint8_t gid[16];

	assert_int_equal(dvq_datagram_init(NULL, ah, 0x123456, QKEY), -EINVAL);
	assert_int_equal(dvq_datagram_init(&to, NULL, 0x123456, QKEY), -EINVAL);
	assert_int_equal(dvq_datagram_init(&to, ah, 0x123456, QKEY), 0);
	assert_int_equal(be32toh(to.port_pd) >> 24 & 0xf, 1);
	assert_int_equal(be32toh(to.qpn), 0x123456);
	assert_int_equal(be32toh(to.qkey), QKEY);
	assert_int_equal(to.hop_limit, 7);
	assert_int_equal(to.g_slid & 0x80, 0x80);
	assert_int_equal(be32toh(to.sl_tclass_flowlabel), 3 << 20 | 9);
	assert_int_equal(ibv_query_gid(live->ctx, 1, 0, (void *)gid), 0);
	assert_memory_equal(to.dgid, gid, 16);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void
test_datagrams(void **state)
{
	struct live *live = *state;
	const struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2,
		.max_recv_sge = 1 };
	struct ibv_ah *ah = own_address(live);
	struct dvq_sge buffer = live_sge(live, 8192, 2048), data = live_sge(live, 0, 500);
	struct dvq_datagram_seg to;
	struct live_end a, b;
	struct dvq_wc wc;
	uint32_t i;

	for (i = 0; i < 500; i++)
		live->mem[i] = (uint8_t)(i * 3);
	live_open(live, &a, IBV_QPT_UD, &cap, NULL);
	live_open(live, &b, IBV_QPT_UD, &cap, NULL);
	to_rts(a.qp);
	to_rts(b.qp);
	assert_int_equal(dvq_datagram_init(&to, ah, b.qp->qp_num, QKEY), 0);
	for (i = 0; i < 100; i++) {
		memset(live->mem + 8192, 0, 2048);
		assert_int_equal(dvq_post_recv(&b.rq, &buffer, 1), 0);
		dvq_rq_publish(&b.rq);
		assert_int_equal(i % 2 == 0 ?
			dvq_post_datagram(&a.sq, &to, &data, 1, DVQ_CTRL_CQE) :
			dvq_post_datagram_imm(&a.sq, &to, &data, 1, htobe32(i), DVQ_CTRL_CQE), 0);
		dvq_sendq_ring(&a.sq);
		wc = live_wait(&b);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 540);
		assert_true(dvq_wc_has_grh(&wc));
		assert_int_equal(dvq_wc_src_qp(&wc), a.qp->qp_num);
		assert_int_equal(wc.flags, i % 2 != 0 ? DVQ_WC_IMM : 0);
		if (i % 2 != 0)
			assert_int_equal(wc.imm_be, htobe32(i));
		assert_memory_equal(live->mem + 8192 + 40, live->mem, 500);
		dvq_rq_complete(&b.rq);
		assert_int_equal(dvq_sendq_complete(&a.sq, live_wait(&a).wqe_index), 1);
	}
	live_close(&a);
	live_close(&b);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_live(test_segment_of_an_address_handle),
		cmocka_unit_test_live(test_datagrams),
	};

	return cmocka_run_group_tests_name("dvq: datagrams", tests, NULL, NULL);
}
