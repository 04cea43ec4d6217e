/* SPDX-License-Identifier: BSD-3-Clause */

/* Shared receive queues: sizes, the limit, who may still use them, bad requests. */

#include <errno.h>

#include "device.h"

static struct ibv_srq *
srq_new(struct device *device, uint32_t max_wr, uint32_t max_sge, struct ibv_srq_attr *got)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ibv_srq *srq = ibv_create_srq(device->pd, &attr);

	if (srq != NULL && got != NULL)
		*got = attr.attr;
	return srq;
}

static void
test_sizes(void **state)
{
	struct device *device = *state;
	struct ibv_srq_attr got;
	struct ibv_srq *srq = srq_new(device, 100, 3, &got);

	assert_non_null(srq);
	assert_int_equal(got.max_wr, 127);
	assert_int_equal(got.max_sge, 3);
	assert_int_equal(ibv_query_srq(srq, &got), 0);
	assert_int_equal(got.max_wr, 127);
	assert_int_equal(got.max_sge, 3);
	assert_int_equal(got.srq_limit, 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	srq = srq_new(device, 16383, 31, NULL);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_null(srq_new(device, 16384, 1, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(srq_new(device, 1, 32, NULL));
	assert_int_equal(errno, EINVAL);
}

static void
test_limit(void **state)
{
	struct device *device = *state;
	struct ibv_srq *srq = srq_new(device, 7, 1, NULL);
	struct ibv_srq_attr attr = { .srq_limit = 8 };
	struct ibv_async_event event;

	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.max_wr = 15;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	/* Nothing is posted, so there is less than the limit. */
	attr.srq_limit = 7;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	/* An event that nobody read goes with the queue. */
	attr.srq_limit = 3;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void
test_in_use(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_srq *srq = srq_new(device, 7, 1, NULL);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(device->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(device->pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int
create(struct device *device, const struct ib_uverbs_create_xsrq *core,
	const struct mlx4_ib_create_srq *driver)
{
	uint8_t bytes[sizeof(struct ib_uverbs_create_srq_resp) + 8]; /* mlx4's part behind */
	struct ib_uverbs_create_srq_resp reply;
	struct ib_uverbs_destroy_srq destroy;
	uint32_t events[2];
	int ret = write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_XSRQ, core, sizeof(*core),
		driver, sizeof(*driver), bytes, sizeof(bytes));

	if (ret != 0)
		return ret;
	memcpy(&reply, bytes, sizeof(reply));
	destroy = (struct ib_uverbs_destroy_srq){ .srq_handle = reply.srq_handle };
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_SRQ, &destroy,
		sizeof(destroy), events, sizeof(uint32_t)), 0);
	return 0;
}

static void
test_illegal_requests(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	uint64_t memory = (uintptr_t)device_memory(8192);
	struct ib_uverbs_create_xsrq core = {
		.pd_handle = device->pd->handle, .srq_type = IBV_SRQT_BASIC,
		.max_wr = 7, .max_sge = 1,
	};
	struct mlx4_ib_create_srq driver = { .buf_addr = memory, .db_addr = memory + 4096 };
	struct ib_uverbs_query_srq query = { .srq_handle = 999 };
	struct ib_uverbs_query_srq_resp reply;
	struct ib_uverbs_modify_srq modify = { .srq_handle = cq->handle };
	struct ib_uverbs_destroy_srq destroy = { .srq_handle = 999 };

#define REFUSES(member, value, error) do { \
	uint64_t good = member; \
	member = value; \
	assert_int_equal(create(device, &core, &driver), error); \
	member = good; \
} while (0)
	assert_int_equal(create(device, &core, &driver), 0);
	REFUSES(core.pd_handle, 999, EINVAL);
	REFUSES(core.pd_handle, cq->handle, EINVAL);
	REFUSES(core.srq_type, IBV_SRQT_XRC, EINVAL); /* without a domain */
	REFUSES(core.srq_type, IBV_SRQT_TM, EOPNOTSUPP);
	REFUSES(core.srq_type, 77, EOPNOTSUPP);
	REFUSES(core.max_wr, 16384, EINVAL);
	REFUSES(core.max_sge, 32, EINVAL);
	REFUSES(driver.buf_addr, memory + 64, EINVAL);
	REFUSES(driver.buf_addr, 0x1000, EFAULT);
	REFUSES(driver.db_addr, memory + 4098, EINVAL);
	REFUSES(driver.db_addr, 0x1000, EFAULT);
#undef REFUSES
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_QUERY_SRQ, &query,
		sizeof(query), &reply, sizeof(reply)), EINVAL);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_SRQ, &modify,
		sizeof(modify), NULL, 0), EINVAL);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_SRQ, &destroy,
		sizeof(destroy), &reply, sizeof(uint32_t)), ENOENT);
	destroy.srq_handle = cq->handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_SRQ, &destroy,
		sizeof(destroy), &reply, sizeof(uint32_t)), EINVAL);
	free((void *)(uintptr_t)memory);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Two QPs take from one queue, in the order of their messages. */
static void
test_two_take_from_one(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 31);
	struct ibv_srq *srq = srq_new(device, 7, 1, NULL);
	uint8_t *memory = device_memory(4096);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)memory, 32, mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	struct ibv_qp *qp[2];
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		qp[i] = ibv_create_qp(device->pd, &attr);
		assert_non_null(qp[i]);
		transport_connect(qp[i], 1, qp[i]->qp_num);
	}
	for (i = 0; i < 6; i++) {
		recv.wr_id = 100 + i;
		sge.addr = (uintptr_t)memory + 256 + 64 * i;
		assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	}
	for (i = 0; i < 6; i++) {
		sge.addr = (uintptr_t)memory + 32 * i;
		memory[32 * i] = (uint8_t)i;
		assert_int_equal(ibv_post_send(qp[i % 2], &send, &bad), 0);
		vmlx4_step(0);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, 100 + i);
		assert_int_equal(wc.qp_num, qp[i % 2]->qp_num);
		assert_int_equal(memory[256 + 64 * i], i);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	free(memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_sizes),
		cmocka_unit_test_device(test_limit),
		cmocka_unit_test_device(test_in_use),
		cmocka_unit_test_device(test_illegal_requests),
		cmocka_unit_test_device(test_two_take_from_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
