/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "device.h"

/* Commands that fail, through libibverbs, and how the C calls behave. */

static char error[256];

static void
fault(const char *text)
{
	if (vmlx4_fault_add(text, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	assert_string_equal(error, "");
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

static void
nth_of_a_kind(void **state)
{
	struct device *device = *state;
	uint64_t before = stats().commands_failed;
	struct ibv_mr *mr[4];
	uint8_t *memory = device_memory(4096);
	unsigned int i;

	fault("command reg_mr nth=2,3 errno=EAGAIN");
	for (i = 0; i < 4; i++) {
		struct ibv_port_attr port;

		assert_int_equal(ibv_query_port(device->ctx, 1, &port), 0);
		errno = 0;
		mr[i] = ibv_reg_mr(device->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
		if (i == 1 || i == 2) {
			assert_null(mr[i]);
			assert_int_equal(errno, EAGAIN);
		} else {
			assert_non_null(mr[i]);
			assert_int_equal(ibv_dereg_mr(mr[i]), 0);
		}
	}
	assert_int_equal(stats().commands_failed, before + 2);
	free(memory);
}

/* What could not be destroyed is still there, and goes the next time. */
static void
destroy_fails(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct vmlx4_object_counts counts;

	fault("command destroy_cq count=1 errno=EBUSY");
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(vmlx4_object_counts(&counts), 0);
	assert_int_equal(counts.cqs, 1);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Both forms of a command are of its kind. */
static void
both_forms(void **state)
{
	struct device *device = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 15,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	fault("command create_cq errno=71 count=2");
	assert_null(ibv_create_cq(device->ctx, 15, NULL, NULL, 0));
	assert_int_equal(errno, 71);
	assert_null(ibv_create_cq_ex(device->ctx, &attr));
	assert_int_equal(errno, 71);
	assert_int_equal(ibv_destroy_cq(device_cq(device, 15)), 0);
}

static void
memory_runs_out(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(65536);
	uint64_t before = stats().commands_failed;
	struct ibv_mr *first, *second;

	fault("memory above=60K");
	first = ibv_reg_mr(device->pd, memory, 40960, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(first);
	assert_null(ibv_reg_mr(device->pd, memory, 20481, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, ENOMEM);
	second = ibv_reg_mr(device->pd, memory, 20480, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(second);
	assert_null(ibv_reg_mr(device->pd, memory, 1, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(ibv_dereg_mr(second), 0);
	second = ibv_reg_mr(device->pd, memory, 1, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(second);
	assert_int_equal(stats().commands_failed, before + 2);
	assert_int_equal(ibv_dereg_mr(first), 0);
	assert_int_equal(ibv_dereg_mr(second), 0);
	free(memory);
}

/* A wrong text says so and adds nothing, not even what is right in it. */
static void
all_or_nothing(void **state)
{
	struct device *device = *state;
	struct ibv_pd *pd;

	assert_int_equal(vmlx4_fault_add("command errno=EIO; link sideways", error,
		sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "faults: fault 2: \"sideways\": link takes"));
	assert_int_equal(vmlx4_fault_add("command errno=", NULL, 0), -EINVAL);
	assert_int_equal(vmlx4_fault_add(NULL, error, sizeof(error)), -EINVAL);
	pd = ibv_alloc_pd(device->ctx);
	assert_non_null(pd);
	fault("command dealloc_pd errno=EIO; command errno=EPERM");
	assert_int_equal(ibv_dealloc_pd(pd), EIO);
	assert_int_equal(vmlx4_fault_clear(), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* ---- each command of a program's life once ---- */

struct life {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_wq *wq[2];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp, *rss;
	struct ibv_flow *flow;
	uint8_t *memory;
};

static bool
born(struct life *life, struct ibv_device *verbs, struct device *view)
{
	life->ctx = ibv_open_device(verbs);
	if (life->ctx == NULL)
		return false;
	view->ctx = life->ctx;
	life->pd = ibv_alloc_pd(life->ctx);
	view->pd = life->pd;
	if (life->pd == NULL)
		return false;
	life->mr = ibv_reg_mr(life->pd, life->memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	life->channel = ibv_create_comp_channel(life->ctx);
	if (life->mr == NULL || life->channel == NULL)
		return false;
	life->cq = ibv_create_cq(life->ctx, 15, NULL, life->channel, 0);
	if (life->cq == NULL || ibv_resize_cq(life->cq, 100) != 0)
		return false;
	life->wq[0] = device_wq(view, life->cq, 1);
	life->wq[1] = life->wq[0] != NULL ? device_wq(view, life->cq, 0) : NULL;
	if (life->wq[1] == NULL || wq_to(life->wq[0], IBV_WQS_RDY) != 0 ||
	    wq_to(life->wq[1], IBV_WQS_RDY) != 0)
		return false;
	life->table = device_table(view, life->wq, 1);
	life->rss = life->table == NULL ? NULL : device_rss_qp(view, life->table,
		IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, NULL);
	return life->rss != NULL;
}

static bool
works(struct life *life)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			.port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth),
			.val = { .dst_mac = { 2, 0, 0, 0, 0, 1 } },
			.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } } },
	};
	struct ibv_qp_init_attr attr = {
		.send_cq = life->cq, .recv_cq = life->cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)life->memory, 64, life->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED }, *wrong;
	struct ibv_qp_attr queried;
	struct ibv_wc wc;

	life->qp = ibv_create_qp(life->pd, &attr);
	if (life->qp == NULL || qp_to(life->qp, IBV_QPS_INIT, IBV_QP_PORT) != 0 ||
	    qp_to(life->qp, IBV_QPS_RTR, 0) != 0 || qp_to(life->qp, IBV_QPS_RTS, 0) != 0)
		return false;
	life->flow = ibv_create_flow(life->qp, &rule.attr);
	if (life->flow == NULL || ibv_query_qp(life->qp, &queried, IBV_QP_STATE, &attr) != 0)
		return false;
	assert_int_equal(ibv_post_send(life->qp, &wr, &wrong), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(life->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	return true;
}

/* An object that refuses to go the first time goes the second, as the fault is over. */
#define GO(object, destroy) do { \
	if ((object) != NULL && destroy(object) != 0) \
		assert_int_equal(destroy(object), 0); \
} while (0)

static void
dies(struct life *life)
{
	unsigned int i;

	GO(life->flow, ibv_destroy_flow);
	GO(life->rss, ibv_destroy_qp);
	GO(life->qp, ibv_destroy_qp);
	GO(life->table, ibv_destroy_rwq_ind_table);
	for (i = 0; i < 2; i++)
		GO(life->wq[i], ibv_destroy_wq);
	GO(life->cq, ibv_destroy_cq);
	GO(life->channel, ibv_destroy_comp_channel);
	GO(life->mr, ibv_dereg_mr);
	GO(life->pd, ibv_dealloc_pd);
}

static void
each_command_of_a_life(void **state)
{
	struct ibv_device *verbs = ((struct device *)*state)->ctx->device;
	struct vmlx4_object_counts before, after;
	bool whole = false;
	unsigned int n;

	assert_int_equal(vmlx4_object_counts(&before), 0);
	for (n = 1; n < 200 && !whole; n++) {
		uint64_t injected = stats().injected;
		struct device view = { 0 };
		struct life life = { .memory = device_memory(4096) };
		char text[64];

		snprintf(text, sizeof(text), "command nth=%u errno=ENOSPC", n);
		fault(text);
		whole = born(&life, verbs, &view) && works(&life);
		dies(&life);
		assert_int_equal(vmlx4_object_counts(&after), 0);
		/* All is gone but the context itself. */
		after.contexts = before.contexts;
		after.mrs_registered = before.mrs_registered;
		assert_memory_equal(&after, &before, sizeof(before));
		if (life.ctx != NULL)
			assert_int_equal(ibv_close_device(life.ctx), 0);
		whole = whole && stats().injected == injected;
		assert_int_equal(vmlx4_fault_clear(), 0);
		free(life.memory);
	}
	/* 30 and some more, as libibverbs asks what the device can. */
	assert_in_range(n, 30, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FAULTY(nth_of_a_kind),
		FAULTY(destroy_fails),
		FAULTY(both_forms),
		FAULTY(memory_runs_out),
		FAULTY(all_or_nothing),
		FAULTY(each_command_of_a_life),
	};
	struct vmlx4_fault_stats none;

	/* Nothing to make fail before there is an adapter. */
	if (vmlx4_fault_add("link down", error, sizeof(error)) != -ENODEV ||
	    strstr(error, "use --faults") == NULL || vmlx4_fault_clear() != -ENODEV ||
	    vmlx4_fault_stats(&none) != -ENODEV)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
