/* SPDX-License-Identifier: BSD-3-Clause */

/* Completion queues and their channels; port events. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "device.h"

static void
test_entries(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 100);
	struct mlx4dv_cq view = { .comp_mask = MLX4DV_CQ_MASK_UAR };
	struct mlx4dv_obj obj = { .cq = { .in = cq, .out = &view } };
	uint32_t i;

	assert_int_equal(cq->cqe, 127);
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ), 0);
	assert_int_equal(view.cqe_cnt, 128);
	/* Every entry belongs to the adapter in the first pass: owner bit 1. */
	for (i = 0; i < view.cqe_cnt; i++) {
		const uint8_t *entry = (const uint8_t *)view.buf.buf + i * view.cqe_size;

		assert_int_equal(entry[view.cqe_size - 1] & 0x80, 0x80);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int
create_raw(struct device *device, uint32_t cqe, uint32_t vector, int32_t channel,
	uint64_t buf, uint64_t db)
{
	struct ib_uverbs_create_cq core = {
		.cqe = cqe,
		.comp_vector = vector,
		.comp_channel = channel,
	};
	struct mlx4_ib_create_cq driver = { .buf_addr = buf, .db_addr = db };
	uint32_t reply[4]; /* cq_handle, cqe; cqn, reserved */
	struct ib_uverbs_destroy_cq destroy;
	struct ib_uverbs_destroy_cq_resp events;
	int ret = write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_CQ, &core, sizeof(core),
		&driver, sizeof(driver), reply, sizeof(reply));

	if (ret != 0)
		return ret;
	destroy = (struct ib_uverbs_destroy_cq){ .cq_handle = reply[0] };
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_CQ, &destroy,
		sizeof(destroy), &events, sizeof(events)), 0);
	return 0;
}

static void
test_illegal_requests(void **state)
{
	struct device *device = *state;
	uint64_t buf = (uintptr_t)device_memory(8192), db = buf + 4096;

	assert_int_equal(create_raw(device, 15, 0, -1, buf, db), 0);
	assert_int_equal(create_raw(device, 0, 0, -1, buf, db), EINVAL);
	assert_int_equal(create_raw(device, 4194304, 0, -1, buf, db), EINVAL);
	assert_int_equal(create_raw(device, 15, device->ctx->num_comp_vectors, -1, buf, db),
		EINVAL);
	assert_int_equal(create_raw(device, 15, 0, 0, buf, db), EBADF);
	assert_int_equal(create_raw(device, 15, 0, -1, buf + 64, db), EINVAL);
	assert_int_equal(create_raw(device, 15, 0, -1, buf, db + 4), EINVAL);
	assert_int_equal(create_raw(device, 15, 0, -1, 0x1000, db), EFAULT);
	assert_int_equal(create_raw(device, 15, 0, -1, buf, 0x1000), EFAULT);
	free((void *)(uintptr_t)buf);
}

static void
test_extended_flags(void **state)
{
	struct device *device = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ib_uverbs_ex_create_cq raw = {
		.cqe = 15,
		.comp_channel = -1,
		.flags = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
	};
	struct mlx4_ib_create_cq driver = { 0 };
	uint64_t reply[4];
	struct ibv_cq_ex *cq = ibv_create_cq_ex(device->ctx, &attr);

	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_CREATE_CQ, &raw,
		sizeof(raw), &driver, sizeof(driver), reply, sizeof(reply)), EINVAL);
	raw.flags = 0;
	raw.comp_mask = 1;
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_CREATE_CQ, &raw,
		sizeof(raw), &driver, sizeof(driver), reply, sizeof(reply)), EINVAL);
}

static void
test_resize(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ib_uverbs_resize_cq bare = { .cq_handle = cq->handle, .cqe = 63 };
	struct ib_uverbs_resize_cq_resp reply;
	struct ibv_wc wc;

	assert_int_equal(ibv_resize_cq(cq, 15), 0);
	assert_int_equal(cq->cqe, 15);
	assert_int_equal(ibv_resize_cq(cq, 100), 0);
	assert_int_equal(cq->cqe, 127);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	assert_int_equal(ibv_resize_cq(cq, 7), 0);
	assert_int_equal(cq->cqe, 7);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	/* Without mlx4's part, as some libraries send it. */
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_RESIZE_CQ, &bare,
		sizeof(bare), &reply, sizeof(reply)), EFAULT);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A receive queue at the end of which nothing was sent, put into error: flushes. */
static struct ibv_qp *
flushing_qp(struct device *device, struct ibv_cq *cq, unsigned int receives)
{
	struct ibv_qp *qp = device_qp(device, cq);
	struct ibv_recv_wr *bad, wr = { 0 };

	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	while (receives-- > 0) {
		wr.wr_id = receives;
		assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
	}
	assert_int_equal(qp_to(qp, IBV_QPS_ERR, 0), 0);
	return qp;
}

static void
test_resize_keeps_completions(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp[2] = { flushing_qp(device, cq, 3), NULL };
	struct ibv_wc wc[8];

	assert_int_equal(ibv_poll_cq(cq, 1, wc), 1);
	assert_int_equal(ibv_resize_cq(cq, 40), 0);
	qp[1] = flushing_qp(device, cq, 4);
	/* Two from before, four from after, in order. */
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 6);
	assert_int_equal(wc[0].qp_num, qp[0]->qp_num);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].wr_id, 0);
	assert_int_equal(wc[2].qp_num, qp[1]->qp_num);
	assert_int_equal(wc[2].wr_id, 3);
	assert_int_equal(wc[5].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_resize_cq(cq, 3), 0);
	assert_int_equal(ibv_poll_cq(cq, 8, wc), 0);
	assert_int_equal(ibv_destroy_qp(qp[0]), 0);
	assert_int_equal(ibv_destroy_qp(qp[1]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Completions in flight while the CQ grows and shrinks: none is lost, none comes twice. */
static void
test_resize_under_traffic(void **state)
{
	static const int sizes[] = { 63, 15, 127, 31, 511, 20, 40 };
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 20);
	struct ibv_qp *qp = device_qp(device, cq);
	uint8_t *memory = device_memory(4096);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096, 0);
	struct ibv_sge sge = { (uintptr_t)memory, 60, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t sent = 0, seen = 0;
	struct ibv_wc wc[16];
	int round, n, i;

	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	for (round = 0; round < 2000; round++) {
		while (sent - seen < 8) {
			wr.wr_id = sent++;
			assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		}
		/* Some complete before the resize, the others after it. */
		vmlx4_step(1 + round % 8);
		assert_int_equal(ibv_resize_cq(cq, sizes[round % 7]), 0);
		n = ibv_poll_cq(cq, round % 5, wc);
		vmlx4_step(0);
		for (i = 0; i < n; i++)
			assert_int_equal(wc[i].wr_id, seen++);
		n = ibv_poll_cq(cq, round % 3 * 4, wc);
		for (i = 0; i < n; i++) {
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[i].wr_id, seen++);
		}
	}
	n = ibv_poll_cq(cq, 16, wc);
	assert_int_equal(sent - seen, n);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	free(memory);
}

/* The polling of an extended CQ, with what libmlx4 reads of a CQE field by field. */
static void
test_extended_poll(void **state)
{
	struct device *device = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS & ~(IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL),
	};
	struct ibv_poll_cq_attr poll = { 0 };
	uint8_t *memory = device_memory(4096);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096, 0);
	struct ibv_sge sge = { (uintptr_t)memory, 60, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int stamps, i;

	for (stamps = 0; stamps < 2; stamps++) {
		struct ibv_values_ex now = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
		struct ibv_cq_ex *cq;
		struct ibv_qp *qp;

		attr.wc_flags |= stamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0;
		cq = ibv_create_cq_ex(device->ctx, &attr);
		assert_non_null(cq);
		qp = device_qp(device, ibv_cq_ex_to_cq(cq));
		assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
		assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
		assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
		assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
		for (i = 0; i < 3; i++) {
			wr.wr_id = i;
			assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		}
		vmlx4_step(0);
		assert_int_equal(ibv_query_rt_values_ex(device->ctx, &now), 0);
		assert_int_equal(ibv_start_poll(cq, &poll), 0);
		for (i = 0; i < 3; i++) {
			assert_int_equal(cq->wr_id, i);
			assert_int_equal(cq->status, IBV_WC_SUCCESS);
			assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_SEND);
			assert_int_equal(ibv_wc_read_qp_num(cq), qp->qp_num);
			assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
			if (stamps)
				assert_in_range(ibv_wc_read_completion_ts(cq), 1,
					(uint64_t)now.raw_clock.tv_nsec);
			assert_int_equal(ibv_next_poll(cq), i < 2 ? 0 : ENOENT);
		}
		ibv_end_poll(cq);
		assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(memory);
}

static void
test_moderation(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ib_uverbs_ex_modify_cq raw = { .cq_handle = cq->handle, .attr_mask = 1 };
	uint32_t command = IB_USER_VERBS_EX_CMD_MODIFY_CQ;

	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), NULL, 0, NULL, 0), 0);
	raw.attr_mask = 0;
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), NULL, 0, NULL, 0),
		EINVAL);
	raw.attr_mask = 2;
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), NULL, 0, NULL, 0),
		EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static bool
readable(int fd)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, 0) == 1;
}

static void
test_completion_events(void **state)
{
	struct device *device = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(device->ctx);
	struct ibv_cq *cq, *from;
	struct ibv_qp *qp;
	uint64_t word;
	void *context;

	assert_non_null(channel);
	cq = ibv_create_cq(device->ctx, 15, &word, channel, 0);
	assert_non_null(cq);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(read(channel->fd, &word, sizeof(word)), -1);
	assert_int_equal(errno, EAGAIN);
	/* The channel is in use. */
	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	vmlx4_step(0);
	assert_false(readable(channel->fd));
	qp = flushing_qp(device, cq, 3);
	vmlx4_step(0);
	/* One event for one arm, however many completions. */
	assert_true(readable(channel->fd));
	assert_int_equal(ibv_get_cq_event(channel, &from, &context), 0);
	assert_ptr_equal(from, cq);
	assert_ptr_equal(context, &word);
	assert_false(readable(channel->fd));
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	/* Would wait for ever if an event were counted that nobody read. */
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void
test_unread_events_go_with_the_cq(void **state)
{
	struct device *device = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(device->ctx);
	struct ibv_cq *cq[2], *from;
	struct ibv_qp *qp[2];
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), i;
	void *context;

	epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event);
	for (i = 0; i < 2; i++) {
		cq[i] = ibv_create_cq(device->ctx, 15, NULL, channel, 0);
		assert_non_null(cq[i]);
		assert_int_equal(ibv_req_notify_cq(cq[i], 0), 0);
		qp[i] = flushing_qp(device, cq[i], 1);
	}
	vmlx4_step(0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 1);
	assert_int_equal(ibv_destroy_qp(qp[0]), 0);
	assert_int_equal(ibv_destroy_cq(cq[0]), 0);
	/* The other one's is still there, and it is the only one. */
	assert_int_equal(ibv_get_cq_event(channel, &from, &context), 0);
	assert_ptr_equal(from, cq[1]);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	ibv_ack_cq_events(cq[1], 1);
	assert_int_equal(ibv_destroy_qp(qp[1]), 0);
	assert_int_equal(ibv_destroy_cq(cq[1]), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	close(epoll);
}

#define MANY 700

/* More CQs with an event each than a socket holds by default. */
static void
test_many_events(void **state)
{
	struct device *device = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(device->ctx);
	static struct ibv_cq *cq[MANY];
	static struct ibv_qp *qp[MANY];
	struct ibv_cq *from;
	void *context;
	int i;

	for (i = 0; i < MANY; i++) {
		cq[i] = ibv_create_cq(device->ctx, 7, NULL, channel, 0);
		assert_non_null(cq[i]);
		assert_int_equal(ibv_req_notify_cq(cq[i], 0), 0);
		qp[i] = flushing_qp(device, cq[i], 1);
	}
	vmlx4_step(0);
	for (i = 0; i < MANY; i++) {
		assert_true(readable(channel->fd));
		assert_int_equal(ibv_get_cq_event(channel, &from, &context), 0);
		assert_ptr_equal(from, cq[i]);
		ibv_ack_cq_events(from, 1);
	}
	for (i = 0; i < MANY; i++) {
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		assert_int_equal(ibv_destroy_cq(cq[i]), 0);
	}
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void
test_port_events(void **state)
{
	struct device *device = *state;
	struct ibv_context *other = device_open(), *each[2] = { device->ctx, other };
	struct ibv_async_event event;
	struct ibv_port_attr port;
	int i;

	assert_int_equal(vmlx4_set_carrier(2, 0), 0);
	assert_int_equal(vmlx4_set_carrier(2, 0), 0); /* no news */
	assert_int_equal(ibv_query_port(device->ctx, 2, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(ibv_query_port(device->ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(vmlx4_set_carrier(2, 1), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(ibv_get_async_event(each[i], &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
		assert_int_equal(event.element.port_num, 2);
		ibv_ack_async_event(&event);
		assert_int_equal(ibv_get_async_event(each[i], &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
		ibv_ack_async_event(&event);
		assert_false(readable(each[i]->async_fd));
	}
	assert_int_equal(vmlx4_set_carrier(3, 1), -EINVAL);
	assert_int_equal(ibv_close_device(other), 0);
}

static void
test_in_use(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);

	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(device->pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_entries),
		cmocka_unit_test_device(test_illegal_requests),
		cmocka_unit_test_device(test_extended_flags),
		cmocka_unit_test_device(test_resize),
		cmocka_unit_test_device(test_resize_keeps_completions),
		cmocka_unit_test_device(test_resize_under_traffic),
		cmocka_unit_test_device(test_extended_poll),
		cmocka_unit_test_device(test_moderation),
		cmocka_unit_test_device(test_completion_events),
		cmocka_unit_test_device(test_unread_events_go_with_the_cq),
		cmocka_unit_test_device(test_many_events),
		cmocka_unit_test_device(test_port_events),
		cmocka_unit_test_device(test_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
