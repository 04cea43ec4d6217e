/* SPDX-License-Identifier: BSD-3-Clause */

/* QPs with a transport: states, attributes of each step, what is reported of them. */

#include <errno.h>

#include "device.h"

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

#define ALL ((IBV_QP_DEST_QPN << 1) - 1) /* attributes */
#define EACH(i) (i = 0; i < sizeof(types) / sizeof(types[0]); i++)

/* Attributes for a step of a QP that is alone: it is its own peer. */
static void
attr_of(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state)
{
	transport_attr(attr, 1, qp->qp_num);
	assert_int_equal(ibv_query_gid(qp->context, 1, 0, &attr->ah_attr.grh.dgid), 0);
	attr->qp_state = state;
}

static int
step(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr;

	attr_of(qp, &attr, state);
	return ibv_modify_qp(qp, &attr, mask);
}

/* A step takes what it needs, not less, and nothing that it does not know. */
static void
exact(struct ibv_qp *qp, enum ibv_qp_state state)
{
	int mask = transport_mask(qp, state), bit;

	for (bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if ((mask & bit) != 0 && bit != IBV_QP_STATE)
			assert_int_equal(step(qp, state, mask & ~bit), EINVAL);
	assert_int_equal(step(qp, state, mask | IBV_QP_CAP), EINVAL);
	assert_int_equal(step(qp, state, mask | IBV_QP_EN_SQD_ASYNC_NOTIFY), EINVAL);
	assert_int_equal(step(qp, state, mask), 0);
}

static void
test_each_step_takes_its_attributes(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	size_t i;

	for EACH(i) {
		struct ibv_qp *qp = device_transport(device, cq, types[i]);

		assert_int_equal(step(qp, IBV_QPS_RTR, transport_mask(qp, IBV_QPS_RTR)), EINVAL);
		assert_int_equal(step(qp, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
		exact(qp, IBV_QPS_INIT);
		assert_int_equal(step(qp, IBV_QPS_RTS, transport_mask(qp, IBV_QPS_RTS)), EINVAL);
		exact(qp, IBV_QPS_RTR);
		exact(qp, IBV_QPS_RTS);
		assert_int_equal(step(qp, IBV_QPS_RTR, transport_mask(qp, IBV_QPS_RTR)), EINVAL);
		assert_int_equal(step(qp, IBV_QPS_SQE, IBV_QP_STATE), EINVAL);
		assert_int_equal(step(qp, IBV_QPS_ERR, IBV_QP_STATE), 0);
		assert_int_equal(step(qp, IBV_QPS_RESET, IBV_QP_STATE), 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_the_program_says_where_it_is(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_RC);
	struct ibv_qp_attr attr;

	transport_connect(qp, 1, qp->qp_num);
	attr_of(qp, &attr, IBV_QPS_RTS);
	attr.cur_qp_state = IBV_QPS_SQD; /* it is not */
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	attr.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.cur_qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_values(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_RC);
	int init = transport_mask(qp, IBV_QPS_INIT), rtr = transport_mask(qp, IBV_QPS_RTR);
	int rts = transport_mask(qp, IBV_QPS_RTS);
	struct ibv_qp_attr attr;

#define REFUSES(mask, member, value, error) do { \
	attr_of(qp, &attr, next); \
	attr.member = value; \
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), error); \
} while (0)
	enum ibv_qp_state next = IBV_QPS_INIT;
	REFUSES(init, port_num, 3, EINVAL);
	REFUSES(init, port_num, 0, EINVAL);
	REFUSES(init, pkey_index, 128, EINVAL);
	assert_int_equal(step(qp, next, init), 0);
	next = IBV_QPS_RTR;
	REFUSES(rtr, path_mtu, 0, EINVAL);
	REFUSES(rtr, path_mtu, 6, EINVAL);
	REFUSES(rtr, max_dest_rd_atomic, 17, EINVAL);
	REFUSES(rtr, ah_attr.is_global, 0, EINVAL);
	REFUSES(rtr, ah_attr.port_num, 2, EINVAL); /* not where it was before */
	REFUSES(rtr, ah_attr.port_num, 3, EINVAL);
	REFUSES(rtr, ah_attr.grh.sgid_index, 128, EINVAL);
	REFUSES(rtr, ah_attr.grh.sgid_index, 9, ENODATA);
	/* No migration on Ethernet. */
	REFUSES(rtr | IBV_QP_ALT_PATH, alt_port_num, 2, EINVAL);
	assert_int_equal(step(qp, next, rtr), 0);
	next = IBV_QPS_RTS;
	REFUSES(rts, max_rd_atomic, 129, EINVAL);
	assert_int_equal(step(qp, next, rts), 0);
#undef REFUSES
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_reported_as_set(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr set, got;

	transport_connect(qp, 1, 0xabcde);
	attr_of(qp, &set, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(qp, &got, ALL, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_RTS);
	assert_int_equal(got.port_num, 1);
	assert_int_equal(got.path_mtu, set.path_mtu);
	assert_int_equal(got.dest_qp_num, 0xabcde);
	assert_int_equal(got.rq_psn, set.rq_psn);
	assert_int_equal(got.sq_psn, set.sq_psn);
	assert_int_equal(got.qp_access_flags, set.qp_access_flags);
	assert_int_equal(got.max_rd_atomic, 4);
	assert_int_equal(got.max_dest_rd_atomic, 4);
	assert_int_equal(got.min_rnr_timer, set.min_rnr_timer);
	assert_int_equal(got.timeout, set.timeout);
	assert_int_equal(got.retry_cnt, set.retry_cnt);
	assert_int_equal(got.rnr_retry, set.rnr_retry);
	assert_int_equal(got.ah_attr.is_global, 1);
	assert_int_equal(got.ah_attr.port_num, 1);
	assert_int_equal(got.ah_attr.grh.hop_limit, 1);
	assert_memory_equal(&got.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, 16);
	assert_int_equal(got.alt_port_num, 0);
	assert_int_equal(init.cap.max_recv_wr, 8);
	/* All of it is forgotten. */
	assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(transport_to_init(qp, 2), 0);
	assert_int_equal(ibv_query_qp(qp, &got, ALL, &init), 0);
	assert_int_equal(got.port_num, 2);
	assert_int_equal(got.dest_qp_num, 0);
	assert_int_equal(got.path_mtu, 0);
	assert_int_equal(got.ah_attr.is_global, 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The card counts what is under way in powers of two; none at all is one. */
static void
test_reads_are_rounded(void **state)
{
	static const uint8_t rounded[][2] = { { 0, 1 }, { 1, 1 }, { 3, 4 }, { 5, 8 }, { 16, 16 } };
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;
	size_t i;

	for (i = 0; i < sizeof(rounded) / sizeof(rounded[0]); i++) {
		assert_int_equal(transport_to_init(qp, 1), 0);
		attr_of(qp, &attr, IBV_QPS_RTR);
		attr.max_dest_rd_atomic = attr.max_rd_atomic = rounded[i][0];
		assert_int_equal(ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_RTR)), 0);
		attr.qp_state = IBV_QPS_RTS;
		assert_int_equal(ibv_modify_qp(qp, &attr, transport_mask(qp, IBV_QPS_RTS)), 0);
		assert_int_equal(ibv_query_qp(qp, &got, ALL, &init), 0);
		assert_int_equal(got.max_rd_atomic, rounded[i][1]);
		assert_int_equal(got.max_dest_rd_atomic, rounded[i][1]);
		/* Who answers no reads has no atomics either. */
		assert_int_equal(got.qp_access_flags, rounded[i][0] == 0 ?
			(int)IBV_ACCESS_REMOTE_WRITE : (int)attr.qp_access_flags);
		assert_int_equal(qp_to(qp, IBV_QPS_RESET, 0), 0);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

struct two {
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *from, *to;
};

static void
two_new(struct device *device, struct two *two)
{
	two->cq = device_cq(device, 15);
	two->mr = ibv_reg_mr(device->pd, device_memory(8192), 8192, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(two->mr);
	two->from = device_transport(device, two->cq, IBV_QPT_RC);
	two->to = device_transport(device, two->cq, IBV_QPT_RC);
	transport_connect(two->from, 1, two->to->qp_num);
	transport_connect(two->to, 1, two->from->qp_num);
}

static void
two_free(struct two *two)
{
	void *memory = two->mr->addr;

	assert_int_equal(ibv_destroy_qp(two->from), 0);
	assert_int_equal(ibv_destroy_qp(two->to), 0);
	assert_int_equal(ibv_destroy_cq(two->cq), 0);
	assert_int_equal(ibv_dereg_mr(two->mr), 0);
	free(memory);
}

/* A message of three packets. */
static void
send_three(struct two *two)
{
	struct ibv_sge sge = { (uintptr_t)two->mr->addr, 3000, two->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED }, *bad;

	assert_int_equal(ibv_post_send(two->from, &wr, &bad), 0);
	vmlx4_step(0);
}

static void
receive_and_step(struct two *two)
{
	struct ibv_sge sge = { (uintptr_t)two->mr->addr + 4096, 4096, two->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	assert_int_equal(ibv_post_recv(two->to, &wr, &bad), 0);
	vmlx4_clock_advance(1000000); /* what a peer that is not ready waits for */
	for (i = 0; i < 10; i++)
		vmlx4_step(0);
}

static struct ibv_qp_attr
query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, ALL, &init), 0);
	return attr;
}

static void
test_next_psns(void **state)
{
	struct two two;

	two_new(*state, &two);
	/* Of packets that nobody took, the first is the next one again. */
	send_three(&two);
	assert_int_equal(query(two.from).sq_psn, 0x123456);
	assert_int_equal(query(two.to).rq_psn, 0x123456);
	receive_and_step(&two);
	assert_int_equal(query(two.from).sq_psn, 0x123459);
	assert_int_equal(query(two.from).rq_psn, 0x123456);
	assert_int_equal(query(two.to).rq_psn, 0x123459);
	assert_int_equal(query(two.to).sq_psn, 0x123456);
	/* An error leaves them, a reset does not. */
	assert_int_equal(qp_to(two.from, IBV_QPS_ERR, 0), 0);
	assert_int_equal(query(two.from).sq_psn, 0x123459);
	assert_int_equal(qp_to(two.from, IBV_QPS_RESET, 0), 0);
	assert_int_equal(transport_to_init(two.from, 1), 0);
	assert_int_equal(query(two.from).sq_psn, 0);
	two_free(&two);
}

/* A queue drains until what was begun has its answer. */
static void
test_draining(void **state)
{
	struct device *device = *state;
	struct ibv_async_event event;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct two two;

	two_new(device, &two);
	send_three(&two);
	assert_int_equal(query(two.from).sq_draining, 0);
	assert_int_equal(ibv_modify_qp(two.from, &attr, IBV_QP_STATE |
		IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(query(two.from).sq_draining, 1);
	assert_int_equal(query(two.from).qp_state, IBV_QPS_SQD);
	assert_int_equal(query(two.from).cur_qp_state, IBV_QPS_SQD);
	receive_and_step(&two);
	assert_int_equal(query(two.from).sq_draining, 0);
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	two_free(&two);
}

/* What has no connection has no reads under way: the least that the context can hold. */
static void
test_not_connected(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *ud = device_transport(device, cq, IBV_QPT_UD);

	assert_int_equal(query(ud).max_rd_atomic, 0); /* in RESET there is no context */
	transport_connect(ud, 1, 0);
	assert_int_equal(query(ud).max_rd_atomic, 1);
	assert_int_equal(query(ud).max_dest_rd_atomic, 1);
	assert_int_equal(query(ud).sq_psn, 0x123456);
	assert_int_equal(query(ud).qkey, 0x1ee7);
	assert_int_equal(query(ud).path_mtu, IBV_MTU_4096);
	assert_int_equal(query(ud).ah_attr.is_global, 0);
	assert_int_equal(ibv_destroy_qp(ud), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A drained queue may get another way to its peer, with the port in the address. */
static void
test_drained_and_moved(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_transport(device, cq, IBV_QPT_RC);
	struct ibv_async_event event;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	transport_connect(qp, 1, qp->qp_num);
	attr_of(qp, &attr, IBV_QPS_SQD);
	attr.en_sqd_async_notify = 1;
	assert_int_equal(ibv_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, qp);
	ibv_ack_async_event(&event);
	transport_attr(&attr, 2, qp->qp_num);
	assert_int_equal(ibv_query_gid(device->ctx, 2, 0, &attr.ah_attr.grh.dgid), 0);
	attr.timeout = 3;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT), 0);
	assert_int_equal(ibv_query_qp(qp, &attr, ALL, &init), 0);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(attr.ah_attr.port_num, 2);
	assert_int_equal(attr.timeout, 3);
	assert_int_equal(attr.qp_state, IBV_QPS_SQD);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Sizes: an SRQ takes the place of the receive queue, and of its record. */
static int
create(struct device *device, const struct ib_uverbs_create_qp *core,
	const struct mlx4_ib_create_qp *driver)
{
	struct ib_uverbs_create_qp_resp reply;
	struct ib_uverbs_destroy_qp destroy;
	uint32_t events[2];
	int ret = write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_QP, core, sizeof(*core),
		driver, sizeof(*driver), &reply, sizeof(reply));

	if (ret != 0)
		return ret;
	if (core->is_srq)
		assert_int_equal(reply.max_recv_wr + reply.max_recv_sge, 0);
	destroy = (struct ib_uverbs_destroy_qp){ .qp_handle = reply.qp_handle };
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_QP, &destroy,
		sizeof(destroy), events, sizeof(uint32_t)), 0);
	return 0;
}

static void
test_receives_from_an_srq(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(device->pd, &srq_attr);
	uint64_t memory = (uintptr_t)device_memory(16384);
	struct ib_uverbs_create_qp core = {
		.pd_handle = device->pd->handle, .send_cq_handle = cq->handle,
		.recv_cq_handle = cq->handle, .srq_handle = srq->handle, .is_srq = 1,
		.max_send_wr = 4, .max_send_sge = 1, .qp_type = IBV_QPT_RC,
	};
	struct mlx4_ib_create_qp driver = {
		.buf_addr = memory, .log_sq_bb_count = 6, .log_sq_stride = 6,
	};

	assert_int_equal(create(device, &core, &driver), 0);
	core.max_recv_wr = 1;
	assert_int_equal(create(device, &core, &driver), EINVAL);
	core.max_recv_wr = 0;
	core.srq_handle = cq->handle;
	assert_int_equal(create(device, &core, &driver), EINVAL);
	core.srq_handle = 999;
	assert_int_equal(create(device, &core, &driver), EINVAL);
	core.srq_handle = srq->handle;
	driver.inl_recv_sz = 16;
	assert_int_equal(create(device, &core, &driver), EINVAL);
	free((void *)(uintptr_t)memory);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_each_step_takes_its_attributes),
		cmocka_unit_test_device(test_the_program_says_where_it_is),
		cmocka_unit_test_device(test_values),
		cmocka_unit_test_device(test_reported_as_set),
		cmocka_unit_test_device(test_reads_are_rounded),
		cmocka_unit_test_device(test_next_psns),
		cmocka_unit_test_device(test_draining),
		cmocka_unit_test_device(test_not_connected),
		cmocka_unit_test_device(test_drained_and_moved),
		cmocka_unit_test_device(test_receives_from_an_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
