/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

/* The link, the device, queues and the clock, and what the program is told. */

static void
fault(const char *text)
{
	char error[256];

	if (vmlx4_fault_add(text, error, sizeof(error)) != 0)
		fail_msg("%s", error);
}

static struct vmlx4_fault_stats
stats(void)
{
	struct vmlx4_fault_stats now;

	assert_int_equal(vmlx4_fault_stats(&now), 0);
	return now;
}

static int
clear(void **state)
{
	assert_int_equal(vmlx4_fault_clear(), 0);
	return device_teardown(state);
}
#define FAULTY(f) cmocka_unit_test_setup_teardown(f, device_setup, clear)

/* The next asynchronous event, acknowledged; -1: none. */
static int
next_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };

	if (poll(&fd, 1, 0) != 1)
		return -1;
	assert_int_equal(ibv_get_async_event(ctx, event), 0);
	ibv_ack_async_event(event);
	return (int)event->event_type;
}

static enum ibv_port_state
port_state(struct ibv_context *ctx, uint8_t port)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(ctx, port, &attr), 0);
	return attr.state;
}

static void
wait_ns(uint64_t ns)
{
	assert_int_equal(vmlx4_clock_advance(ns), 0);
	vmlx4_step(0);
}

static void
link_flaps(void **state)
{
	struct ibv_context *ctx = ((struct device *)*state)->ctx;
	uint64_t before = stats().links_down;
	struct ibv_async_event event;
	unsigned int i;

	fault("link port=2 down at=10ms for=2ms every=5ms count=3");
	wait_ns(9000000);
	assert_int_equal(port_state(ctx, 2), IBV_PORT_ACTIVE);
	assert_int_equal(next_event(ctx, &event), -1);
	wait_ns(1000000);
	for (i = 0; i < 3; i++) {
		assert_int_equal(port_state(ctx, 2), IBV_PORT_DOWN);
		assert_int_equal(port_state(ctx, 1), IBV_PORT_ACTIVE);
		assert_int_equal(next_event(ctx, &event), IBV_EVENT_PORT_ERR);
		assert_int_equal(event.element.port_num, 2);
		wait_ns(2000000);
		assert_int_equal(port_state(ctx, 2), IBV_PORT_ACTIVE);
		assert_int_equal(next_event(ctx, &event), IBV_EVENT_PORT_ACTIVE);
		wait_ns(3000000);
	}
	assert_int_equal(port_state(ctx, 2), IBV_PORT_ACTIVE);
	assert_int_equal(next_event(ctx, &event), -1);
	assert_int_equal(stats().links_down, before + 3);
}

/* Two faults and a cable out: the link is up when nothing keeps it down. */
static void
link_is_down_for_many_reasons(void **state)
{
	struct ibv_context *ctx = ((struct device *)*state)->ctx;
	struct ibv_async_event event;

	fault("link down; link port=1 down for=1ms");
	assert_int_equal(port_state(ctx, 1), IBV_PORT_DOWN);
	assert_int_equal(port_state(ctx, 2), IBV_PORT_DOWN);
	assert_int_equal(vmlx4_set_carrier(1, 0), 0);
	wait_ns(1000000);
	assert_int_equal(port_state(ctx, 1), IBV_PORT_DOWN);
	assert_int_equal(vmlx4_fault_clear(), 0);
	assert_int_equal(port_state(ctx, 1), IBV_PORT_DOWN);
	assert_int_equal(port_state(ctx, 2), IBV_PORT_ACTIVE);
	assert_int_equal(vmlx4_set_carrier(1, 1), 0);
	assert_int_equal(port_state(ctx, 1), IBV_PORT_ACTIVE);
	while (next_event(ctx, &event) >= 0)
		;
}

static void
link_goes_with_a_frame(void **state)
{
	struct ibv_context *ctx = ((struct device *)*state)->ctx;
	struct ibv_async_event event;
	struct vmlx4_port_stats port, then;
	uint8_t frame[64] = { 2 };
	unsigned int i;

	fault("link port=1 down frame=2 for=1ms");
	assert_int_equal(vmlx4_port_stats(1, &port), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(vmlx4_inject(1, frame, sizeof(frame)), 0);
		assert_int_equal(vmlx4_inject(2, frame, sizeof(frame)), 0);
		vmlx4_step(0);
		assert_int_equal(port_state(ctx, 1), i == 0 ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
	}
	assert_int_equal(vmlx4_inject(1, frame, sizeof(frame)), 0);
	wait_ns(1000000);
	assert_int_equal(port_state(ctx, 1), IBV_PORT_ACTIVE);
	assert_int_equal(vmlx4_port_stats(1, &then), 0);
	assert_int_equal(then.rx_no_rule, port.rx_no_rule + 3);
	while (next_event(ctx, &event) >= 0)
		;
}

/* A QP and a CQ with work of their own. */
struct queue {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
};

static void
queue_new(struct device *device, struct queue *queue)
{
	struct ibv_recv_wr wr, *wrong;
	struct ibv_sge sge;

	queue->memory = device_memory(4096);
	queue->mr = ibv_reg_mr(device->pd, queue->memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	queue->channel = ibv_create_comp_channel(device->ctx);
	assert_non_null(queue->channel);
	queue->cq = ibv_create_cq(device->ctx, 15, queue, queue->channel, 0);
	assert_non_null(queue->cq);
	queue->qp = device_qp(device, queue->cq);
	assert_int_equal(qp_to(queue->qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(queue->qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(queue->qp, IBV_QPS_RTS, 0), 0);
	sge = (struct ibv_sge){ (uintptr_t)queue->memory, 2048, queue->mr->lkey };
	wr = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(ibv_post_recv(queue->qp, &wr, &wrong), 0);
}

static void
queue_free(struct queue *queue)
{
	assert_int_equal(ibv_destroy_qp(queue->qp), 0);
	assert_int_equal(ibv_destroy_cq(queue->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(queue->channel), 0);
	assert_int_equal(ibv_dereg_mr(queue->mr), 0);
	free(queue->memory);
}

static int
queue_send(struct queue *queue)
{
	struct ibv_sge sge = { (uintptr_t)queue->memory, 64, queue->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED }, *wrong;
	int ret = ibv_post_send(queue->qp, &wr, &wrong);

	vmlx4_step(0);
	return ret;
}

static void
qp_ends(struct device *device, const char *text, int type)
{
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct queue queue;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	queue_new(device, &queue);
	fault(text);
	vmlx4_step(0);
	assert_int_equal(next_event(device->ctx, &event), type);
	assert_ptr_equal(event.element.qp, queue.qp);
	assert_int_equal(ibv_query_qp(queue.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(ibv_poll_cq(queue.cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(next_event(device->ctx, &event), -1);
	queue_free(&queue);
	assert_int_equal(vmlx4_fault_clear(), 0);
}

static void
qp_errors(void **state)
{
	uint64_t before = stats().qp_errors;

	qp_ends(*state, "qp fatal", IBV_EVENT_QP_FATAL);
	qp_ends(*state, "qp request-error port=1", IBV_EVENT_QP_REQ_ERR);
	qp_ends(*state, "qp access-error at=1us; qp fatal port=2; qp fatal qpn=5",
		IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(stats().qp_errors, before + 3);
}

static void
cq_error(void **state)
{
	struct device *device = *state;
	struct ibv_async_event event;
	struct queue queue;
	struct ibv_wc wc;

	queue_new(device, &queue);
	fault("cq error at=1ms");
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 1, &wc), 1);
	wait_ns(1000000);
	assert_int_equal(next_event(device->ctx, &event), IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, queue.cq);
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 1, &wc), 0);
	queue_free(&queue);
}

/* A CQ with completions held back can be resized and destroyed. */
static void
held_completions_and_commands(void **state)
{
	struct device *device = *state;
	struct queue queue;
	struct ibv_wc wc[4];

	queue_new(device, &queue);
	fault("cqe late=1s");
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 0);
	assert_int_equal(ibv_resize_cq(queue.cq, 200), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 2);
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 0);
	assert_int_equal(ibv_query_qp(queue.qp, &(struct ibv_qp_attr){ 0 }, IBV_QP_STATE,
		&(struct ibv_qp_init_attr){ 0 }), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 0);
	/* After RESET nothing of the QP may come any more. */
	assert_int_equal(qp_to(queue.qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 0);
	wait_ns(2000000000);
	assert_int_equal(ibv_poll_cq(queue.cq, 4, wc), 0);
	queue_free(&queue);
}

static void
device_dies(void **state)
{
	struct device *device = *state;
	struct ibv_context *other = device_open();
	uint64_t before = stats().device_fatals;
	struct vmlx4_port_stats port, then;
	struct ibv_async_event event;
	struct ibv_port_attr attr;
	struct queue queue;
	struct ibv_cq *cq;
	uint8_t frame[64] = { 2 };
	struct ibv_wc wc;
	void *cq_context;

	queue_new(device, &queue);
	fault("device fatal at=1ms");
	assert_int_equal(vmlx4_port_stats(1, &port), 0);
	wait_ns(1000000);
	assert_int_equal(next_event(device->ctx, &event), IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(next_event(other, &event), IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(next_event(device->ctx, &event), -1);
	/* Who waits for a completion wakes up. */
	assert_int_equal(ibv_get_cq_event(queue.channel, &cq, &cq_context), 0);
	assert_ptr_equal(cq, queue.cq);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_query_port(device->ctx, 1, &attr), EIO);
	assert_null(ibv_alloc_pd(other));
	assert_int_equal(errno, EIO);
	/* The library looks for another file then and has its own errno. */
	assert_null(ibv_open_device(device->ctx->device));
	assert_int_equal(open("/dev/infiniband/uverbs0", O_RDWR), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(queue_send(&queue), 0);
	assert_int_equal(vmlx4_inject(1, frame, sizeof(frame)), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(queue.cq, 1, &wc), 0);
	assert_int_equal(vmlx4_port_stats(1, &then), 0);
	assert_int_equal(then.tx_frames, port.tx_frames);
	assert_int_equal(then.rx_link_down, port.rx_link_down + 1);
	assert_int_equal(stats().device_fatals, before + 1);

	/* The card is reset: a new context works, the old ones stay dead. */
	assert_int_equal(vmlx4_fault_clear(), 0);
	assert_int_equal(ibv_query_port(device->ctx, 1, &attr), EIO);
	assert_int_equal(ibv_destroy_qp(queue.qp), EIO);
	assert_int_equal(next_event(other, &event), -1);
	assert_int_equal(ibv_close_device(other), 0);
	other = device_open();
	assert_int_equal(port_state(other, 1), IBV_PORT_ACTIVE);
	assert_int_equal(ibv_close_device(other), 0);
	free(queue.memory);
}

/* The context cannot be taken down in order; all goes with it. */
static int
close_dead(void **state)
{
	struct device *device = *state;
	struct vmlx4_object_counts counts;
	struct ibv_context *other;

	assert_int_equal(vmlx4_fault_clear(), 0);
	assert_int_equal(ibv_dealloc_pd(device->pd), EIO);
	assert_int_equal(ibv_close_device(device->ctx), 0);
	free(device);
	other = device_open();
	assert_int_equal(vmlx4_object_counts(&counts), 0);
	assert_int_equal(counts.contexts, 1);
	assert_int_equal(counts.pds + counts.mrs + counts.cqs + counts.qps, 0);
	return ibv_close_device(other);
}

static int
devices(void)
{
	struct ibv_device **list;
	int n = -1;

	list = ibv_get_device_list(&n);
	assert_non_null(list);
	ibv_free_device_list(list);
	return n;
}

static bool
in_sysfs(const char *entry)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", getenv("SYSFS_PATH"), entry);
	return access(path, F_OK) == 0;
}

static const char * const entries[] = {
	"class/infiniband_verbs/uverbs0", "class/infiniband/mlx4_0", "class/net/vmlx4p1",
	"class/net/vmlx4p2", "bus/pci/devices/0000:05:00.0/vendor",
};

static void
check_presence(bool there)
{
	struct stat st;
	unsigned int i;

	assert_int_equal(devices(), there);
	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		assert_int_equal(in_sysfs(entries[i]), there);
	assert_int_equal(if_nametoindex("vmlx4p1") != 0, there);
	assert_int_equal(stat("/dev/infiniband/uverbs0", &st), there ? 0 : -1);
	if (!there) {
		assert_int_equal(errno, ENOENT);
		assert_int_equal(open("/dev/infiniband/uverbs0", O_RDWR), -1);
		assert_int_equal(errno, ENOENT);
	}
}

/* Gone from the machine, and back after a time, or at the word of the program. */
static void
device_leaves_and_returns(void **state)
{
	struct device *device = *state;
	struct ibv_async_event event;
	struct ibv_context *other;
	unsigned int i;

	check_presence(true);
	for (i = 0; i < 3; i++) {
		other = device_open();
		fault(i == 1 ? "device remove" : "device remove for=5ms");
		assert_int_equal(next_event(other, &event), IBV_EVENT_DEVICE_FATAL);
		assert_int_equal(next_event(device->ctx, &event),
			i == 0 ? IBV_EVENT_DEVICE_FATAL : -1);
		check_presence(false);
		wait_ns(4000000);
		check_presence(false);
		if (i == 1)
			assert_int_equal(vmlx4_fault_clear(), 0);
		else
			wait_ns(1000000);
		check_presence(true);
		assert_int_equal(ibv_close_device(other), 0);
		other = device_open();
		assert_int_equal(port_state(other, 1), IBV_PORT_ACTIVE);
		assert_int_equal(port_state(other, 2), IBV_PORT_ACTIVE);
		assert_int_equal(ibv_close_device(other), 0);
	}
}

static uint64_t
raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(ibv_query_rt_values_ex(ctx, &values), 0);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u +
		(uint64_t)values.raw_clock.tv_nsec;
}

static void
clock_stands_still(void **state)
{
	struct ibv_context *ctx = ((struct device *)*state)->ctx;
	uint64_t before = raw_clock(ctx), stuck;

	wait_ns(1000000);
	assert_true(raw_clock(ctx) > before);
	fault("clock stuck at=1ms");
	wait_ns(1000000);
	stuck = raw_clock(ctx);
	assert_true(stuck > before);
	wait_ns(1000000);
	assert_int_equal(raw_clock(ctx), stuck);
	assert_int_equal(vmlx4_fault_clear(), 0);
	wait_ns(1000000);
	assert_true(raw_clock(ctx) > stuck);
}

static void
clock_is_missing(void **state)
{
	struct ibv_context *ctx = ((struct device *)*state)->ctx, *other;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr), 0);
	assert_true(attr.hca_core_clock != 0);
	fault("clock missing");
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr), 0);
	assert_int_equal(attr.hca_core_clock, 0);
	assert_int_equal(attr.completion_timestamp_mask, 0);
	/* This context was opened while there was one. */
	raw_clock(ctx);
	other = device_open();
	assert_int_not_equal(ibv_query_rt_values_ex(other, &values), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FAULTY(link_flaps),
		FAULTY(link_is_down_for_many_reasons),
		FAULTY(link_goes_with_a_frame),
		FAULTY(qp_errors),
		FAULTY(cq_error),
		FAULTY(held_completions_and_commands),
		cmocka_unit_test_setup_teardown(device_dies, device_setup, close_dead),
		cmocka_unit_test_setup_teardown(device_leaves_and_returns, device_setup,
			close_dead),
		FAULTY(clock_stands_still),
		FAULTY(clock_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
