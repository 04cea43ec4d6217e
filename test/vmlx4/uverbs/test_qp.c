/* SPDX-License-Identifier: BSD-3-Clause */

/* RAW_PACKET QPs: states, sizes, numbers. */

#include <errno.h>

#include "device.h"

static void
test_states(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);

	assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, 0), EINVAL); /* no port */
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, IBV_QP_QKEY), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_SQE, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_SQD, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_SQD, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, IBV_QP_CUR_STATE), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_ERR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), EINVAL);
	assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_port_must_exist(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ib_uverbs_modify_qp raw = {
		.qp_handle = qp->handle,
		.attr_mask = IBV_QP_STATE | IBV_QP_PORT,
		.qp_state = IBV_QPS_INIT,
		.port_num = 3,
	};

	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &raw,
		sizeof(raw), NULL, 0), EINVAL);
	raw.port_num = 2;
	raw.qp_state = 9;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &raw,
		sizeof(raw), NULL, 0), EINVAL);
	raw.qp_state = IBV_QPS_INIT;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &raw,
		sizeof(raw), NULL, 0), 0);
	raw.attr_mask = 1u << 25; /* a rate limit */
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &raw,
		sizeof(raw), NULL, 0), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_query(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ib_uverbs_query_qp raw = { .qp_handle = qp->handle };
	struct ib_uverbs_query_qp_resp reply;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RESET);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(init.cap.max_recv_wr, 8);
	/* libmlx4 knows how much it reserved. */
	assert_true(init.cap.max_send_wr >= 8);
	assert_true(init.cap.max_send_sge >= 1);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_QUERY_QP, &raw, sizeof(raw),
		&reply, sizeof(reply)), 0);
	assert_int_equal(reply.max_recv_wr, 8);
	assert_int_equal(reply.max_send_wr + reply.max_send_sge + reply.max_inline_data, 0);
	assert_int_equal(reply.path_mtu, 7);
	raw.qp_handle = cq->handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_QUERY_QP, &raw, sizeof(raw),
		&reply, sizeof(reply)), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_rounding(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 100, .max_recv_wr = 100, .max_send_sge = 3,
			.max_recv_sge = 3 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = ibv_create_qp(device->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 128);
	assert_int_equal(attr.cap.max_recv_sge, 4);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int
create_raw(struct device *device, const struct ib_uverbs_create_qp *core,
	const struct mlx4_ib_create_qp *driver)
{
	struct ib_uverbs_create_qp_resp reply;
	struct ib_uverbs_destroy_qp destroy;
	uint32_t events[2];
	int ret = write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_QP, core, sizeof(*core),
		driver, sizeof(*driver), &reply, sizeof(reply));

	if (ret != 0)
		return ret;
	destroy = (struct ib_uverbs_destroy_qp){ .qp_handle = reply.qp_handle };
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_QP, &destroy,
		sizeof(destroy), events, sizeof(uint32_t)), 0);
	return 0;
}

static void
test_illegal_requests(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	uint64_t memory = (uintptr_t)device_memory(16384);
	struct ib_uverbs_create_qp core = {
		.pd_handle = device->pd->handle, .send_cq_handle = cq->handle,
		.recv_cq_handle = cq->handle, .max_send_wr = 4, .max_recv_wr = 1,
		.max_send_sge = 1, .max_recv_sge = 1, .qp_type = IBV_QPT_RAW_PACKET,
	};
	struct mlx4_ib_create_qp driver = {
		.buf_addr = memory, .db_addr = memory + 12288, .log_sq_bb_count = 6,
		.log_sq_stride = 6,
	};

#define REFUSES(member, value, error) do { \
	uint64_t good = member; \
	member = value; \
	assert_int_equal(create_raw(device, &core, &driver), error); \
	member = good; \
} while (0)
	assert_int_equal(create_raw(device, &core, &driver), 0);
	REFUSES(core.pd_handle, 999, EINVAL);
	REFUSES(core.pd_handle, cq->handle, EINVAL);
	REFUSES(core.send_cq_handle, 999, EINVAL);
	REFUSES(core.recv_cq_handle, device->pd->handle, EINVAL);
	REFUSES(core.is_srq, 1, EINVAL);
	REFUSES(core.qp_type, IBV_QPT_XRC_RECV, EINVAL); /* the PD is no domain */
	REFUSES(core.qp_type, IBV_QPT_DRIVER, EOPNOTSUPP);
	REFUSES(core.qp_type, 0, EINVAL);
	REFUSES(core.qp_type, 77, EINVAL);
	REFUSES(core.max_recv_wr, 0, EINVAL);
	REFUSES(core.max_recv_sge, 0, EINVAL);
	REFUSES(core.max_recv_wr, 16352, EINVAL);
	REFUSES(core.max_recv_sge, 33, EINVAL);
	REFUSES(driver.log_sq_stride, 5, EINVAL);
	REFUSES(driver.log_sq_stride, 11, EINVAL);
	REFUSES(driver.log_sq_bb_count, 15, EINVAL);
	REFUSES(driver.log_sq_bb_count, 200, EINVAL);
	REFUSES(driver.inl_recv_sz, 513, EINVAL);
	REFUSES(driver.buf_addr, memory + 64, EINVAL);
	REFUSES(driver.buf_addr, 0x1000, EFAULT);
	REFUSES(driver.db_addr, memory + 2, EINVAL);
	REFUSES(driver.db_addr, 0x1000, EFAULT);
#undef REFUSES
	free((void *)(uintptr_t)memory);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* BlueFlame writes the QPN where the VLAN insertion bits are. */
static void
test_numbers_of_sending_qps(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp[200];
	int i, k;

	for (i = 0; i < 200; i++) {
		qp[i] = device_qp(device, cq);
		assert_int_equal(qp[i]->qp_num & 0xc0, 0);
		assert_true(qp[i]->qp_num >= 64 && qp[i]->qp_num < 1 << 19);
		for (k = 0; k < i; k++)
			assert_int_not_equal(qp[i]->qp_num, qp[k]->qp_num);
	}
	for (i = 0; i < 200; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_create_flags(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	uint64_t memory = (uintptr_t)device_memory(16384);
	struct ib_uverbs_ex_create_qp core = {
		.pd_handle = device->pd->handle, .send_cq_handle = cq->handle,
		.recv_cq_handle = cq->handle, .max_send_wr = 4, .max_recv_wr = 1,
		.max_send_sge = 1, .max_recv_sge = 1, .qp_type = IBV_QPT_RAW_PACKET,
		.create_flags = IBV_QP_CREATE_SCATTER_FCS,
	};
	struct mlx4_ib_create_qp driver = {
		.buf_addr = memory, .db_addr = memory + 12288, .log_sq_bb_count = 6,
		.log_sq_stride = 6,
	};
	struct ib_uverbs_ex_create_qp_resp reply;
	uint32_t command = IB_USER_VERBS_EX_CMD_CREATE_QP;

	assert_int_equal(write_ex(device->ctx, command, &core, sizeof(core), &driver,
		sizeof(driver), &reply, sizeof(reply)), EINVAL);
	core.create_flags = 0;
	core.comp_mask = 2;
	assert_int_equal(write_ex(device->ctx, command, &core, sizeof(core), &driver,
		sizeof(driver), &reply, sizeof(reply)), EINVAL);
	free((void *)(uintptr_t)memory);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A datagram on Ethernet has neither LSO nor checksums: all that could ask for them. */
static void
test_no_offloads_of_datagrams(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_UD);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD, .pd = device->pd, .send_cq = cq, .recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = 1, /* of LSO, which has no name outside of the kernel */
	};
	struct ibv_device_attr_ex caps;
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM }, *bad;

	assert_int_equal(ibv_query_device_ex(device->ctx, NULL, &caps), 0);
	assert_int_equal(caps.tso_caps.supported_qpts, 1u << IBV_QPT_RAW_PACKET);
	assert_null(ibv_create_qp_ex(device->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(transport_to_init(qp, 1), 0);
	assert_int_equal(ibv_query_gid(device->ctx, 1, 0, &to.grh.dgid), 0);
	wr.wr.ud.ah = ibv_create_ah(device->pd, &to);
	assert_non_null(wr.wr.ud.ah);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.send_flags = 0;
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_ah(wr.wr.ud.ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_multicast_is_for_datagrams(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	union ibv_gid gid = { .raw = { 0xff, 0x12 } };

	assert_int_equal(ibv_attach_mcast(qp, &gid, 0), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A drained send queue rests where it is; receives go on. */
static void
test_drained(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 31);
	struct ibv_qp *qp = device_qp(device, cq);
	uint8_t *memory = device_memory(8192);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge out = { (uintptr_t)memory, 60, mr->lkey };
	struct ibv_sge in = { (uintptr_t)memory + 4096, 2048, mr->lkey };
	struct ibv_send_wr *bad, send = {
		.wr_id = 1, .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 2, .sg_list = &in, .num_sge = 1 };
	struct ibv_flow_attr all = {
		.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(all), .port = 1,
	};
	struct ibv_flow *flow = ibv_create_flow(qp, &all);
	struct ibv_wc wc[2];

	assert_non_null(flow);
	memory[0] = 2;
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(qp, &send, &bad), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	assert_int_equal(qp_to(qp, IBV_QPS_SQD, 0), 0);
	send.wr_id = 3;
	assert_int_equal(ibv_post_send(qp, &send, &bad), 0);
	vmlx4_inject(1, memory, 60);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(cq, 2, wc), 1);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	free(memory);
}

/* A QP that came back from RESET starts at the first entry again. */
static void
test_flush_and_reset(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 31);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ibv_recv_wr *bad, wr = { .wr_id = 7 };
	struct ibv_wc wc[4];
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
		assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
		assert_int_equal(qp_to(qp, IBV_QPS_ERR, 0), 0);
		if (i != 1) {
			assert_int_equal(ibv_poll_cq(cq, 4, wc), 2);
			assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(wc[0].wr_id, 7);
		}
		assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
		assert_int_equal(ibv_poll_cq(cq, 4, wc), 0);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_states),
		cmocka_unit_test_device(test_port_must_exist),
		cmocka_unit_test_device(test_query),
		cmocka_unit_test_device(test_rounding),
		cmocka_unit_test_device(test_illegal_requests),
		cmocka_unit_test_device(test_numbers_of_sending_qps),
		cmocka_unit_test_device(test_create_flags),
		cmocka_unit_test_device(test_no_offloads_of_datagrams),
		cmocka_unit_test_device(test_multicast_is_for_datagrams),
		cmocka_unit_test_device(test_drained),
		cmocka_unit_test_device(test_flush_and_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
