/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory windows: what their keys open, when, and for whom. */

#include <errno.h>

#include "device.h"

#define SIZE 4096

struct bench {
	struct device *device;
	struct ibv_cq *cq;
	struct ibv_qp *qp;      /* binds the windows… */
	struct ibv_qp *far;     /* …that its peer writes to */
	struct ibv_mr *mr;      /* may be bound, and not be reached from afar */
	uint8_t *memory;
};

static void
connect_both(struct bench *b)
{
	transport_connect(b->qp, 1, b->far->qp_num);
	transport_connect(b->far, 1, b->qp->qp_num);
}

static struct bench
bench_new(struct device *device)
{
	struct bench b = { .device = device, .cq = device_cq(device, 31) };

	b.memory = device_memory(SIZE);
	b.mr = ibv_reg_mr(device->pd, b.memory, SIZE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(b.mr);
	b.qp = device_transport(device, b.cq, IBV_QPT_RC);
	b.far = device_transport(device, b.cq, IBV_QPT_RC);
	connect_both(&b);
	return b;
}

static void
bench_end(struct bench *b)
{
	assert_int_equal(ibv_destroy_qp(b->qp), 0);
	assert_int_equal(ibv_destroy_qp(b->far), 0);
	assert_int_equal(ibv_dereg_mr(b->mr), 0);
	assert_int_equal(ibv_destroy_cq(b->cq), 0);
	free(b->memory);
}

/* Start anew after an error. */
static void
again(struct bench *b)
{
	assert_int_equal(qp_to(b->qp, IBV_QPS_RESET, 0), 0);
	assert_int_equal(qp_to(b->far, IBV_QPS_RESET, 0), 0);
	connect_both(b);
}

/* How the only completion ends. */
static enum ibv_wc_status
finish(struct bench *b)
{
	struct ibv_wc wc;

	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(b->cq, 1, &wc), 1);
	return wc.status;
}

static enum ibv_wc_status
run(struct bench *b, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	return finish(b);
}

/* Eight bytes with that key, to an offset of the region. */
static enum ibv_wc_status
write_to(struct bench *b, uint32_t rkey, uint64_t addr)
{
	struct ibv_sge sge = { (uintptr_t)b->memory, 8, b->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	};

	return run(b, b->far, &wr);
}

static enum ibv_wc_status
bind_type_1(struct bench *b, struct ibv_mw *mw, uint64_t offset, uint64_t length)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { b->mr, (uintptr_t)b->memory + offset, length,
			length == 0 ? 0 : IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
	return finish(b);
}

static enum ibv_wc_status
bind_type_2(struct bench *b, struct ibv_mw *mw, uint32_t rkey, struct ibv_mr *mr,
	unsigned int access)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { mw, rkey, { mr, (uintptr_t)b->memory + 512, 512, access } },
	};

	return run(b, b->qp, &wr);
}

static void
test_type_1(void **state)
{
	struct bench b = bench_new(*state);
	uint64_t base = (uintptr_t)b.memory;
	struct ibv_mw *mw = ibv_alloc_mw(b.device->pd, IBV_MW_TYPE_1);
	uint32_t first;

	assert_non_null(mw);
	first = mw->rkey;
	assert_int_equal(bind_type_1(&b, mw, 1024, 512), IBV_WC_SUCCESS);
	assert_int_equal(mw->rkey, (first & ~0xffu) | ((first + 1) & 0xff));
	memcpy(b.memory, "abcdefgh", 8);
	assert_int_equal(write_to(&b, mw->rkey, base + 1024), IBV_WC_SUCCESS);
	assert_memory_equal(b.memory + 1024, "abcdefgh", 8);
	assert_int_equal(write_to(&b, mw->rkey, base + 1024 + 504), IBV_WC_SUCCESS);
	/* Over its end; the region's own key never opened anything. */
	assert_int_equal(write_to(&b, mw->rkey, base + 1024 + 505), IBV_WC_REM_ACCESS_ERR);
	again(&b);
	assert_int_equal(write_to(&b, b.mr->rkey, base + 1024), IBV_WC_REM_ACCESS_ERR);
	again(&b);
	/* Bound anew it is elsewhere, and the old key is void. */
	first = mw->rkey;
	assert_int_equal(bind_type_1(&b, mw, 2048, 8), IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, mw->rkey, base + 2048), IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, first, base + 2048), IBV_WC_REM_ACCESS_ERR);
	again(&b);
	/* The region stays while a window is bound to it; a length of 0 ends that. */
	assert_int_equal(ibv_dereg_mr(b.mr), EBUSY);
	assert_int_equal(bind_type_1(&b, mw, 0, 0), IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, mw->rkey, base + 2048), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	bench_end(&b);
}

static void
test_type_2(void **state)
{
	struct bench b = bench_new(*state);
	uint64_t base = (uintptr_t)b.memory;
	struct ibv_mw *mw = ibv_alloc_mw(b.device->pd, IBV_MW_TYPE_2);
	uint32_t rkey;
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };

	assert_non_null(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(bind_type_2(&b, mw, rkey, b.mr, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, rkey, base + 512), IBV_WC_SUCCESS);
	/* Not again while it is bound. */
	assert_int_equal(bind_type_2(&b, mw, ibv_inc_rkey(rkey), b.mr, 0), IBV_WC_MW_BIND_ERR);
	again(&b);
	assert_int_equal(write_to(&b, rkey, base + 512), IBV_WC_SUCCESS);
	wr.invalidate_rkey = rkey;
	assert_int_equal(run(&b, b.qp, &wr), IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, rkey, base + 512), IBV_WC_REM_ACCESS_ERR);
	again(&b);
	/* It is free, and the key of a region is not one to invalidate. */
	rkey = ibv_inc_rkey(rkey);
	assert_int_equal(bind_type_2(&b, mw, rkey, b.mr, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	wr.invalidate_rkey = b.mr->rkey;
	assert_int_not_equal(run(&b, b.qp, &wr), IBV_WC_SUCCESS);
	again(&b);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	bench_end(&b);
}

/* A window of type 2 is the QP's that bound it. */
static void
test_another_qp(void **state)
{
	struct bench b = bench_new(*state);
	struct ibv_mw *mw = ibv_alloc_mw(b.device->pd, IBV_MW_TYPE_2);
	uint64_t base = (uintptr_t)b.memory;
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_qp *swap;

	assert_int_equal(bind_type_2(&b, mw, rkey, b.mr, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	assert_int_equal(write_to(&b, rkey, base + 512), IBV_WC_SUCCESS);
	/* The peer of the other one: in the same PD, and yet not. */
	swap = b.qp;
	b.qp = b.far;
	b.far = swap;
	assert_int_equal(write_to(&b, rkey, base + 512), IBV_WC_REM_ACCESS_ERR);
	/* With its QP the binding goes. */
	assert_int_equal(ibv_dereg_mr(b.mr), EBUSY);
	bench_end(&b);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* What a window may be bound to. */
static void
test_regions_that_do_not_fit(void **state)
{
	struct bench b = bench_new(*state);
	struct ibv_mw *mw = ibv_alloc_mw(b.device->pd, IBV_MW_TYPE_2);
	struct ibv_mr *closed = ibv_reg_mr(b.device->pd, b.memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *readable = ibv_reg_mr(b.device->pd, b.memory, SIZE, IBV_ACCESS_MW_BIND);
	struct ibv_mr *small = ibv_reg_mr(b.device->pd, b.memory, 512,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

#define REFUSES(mr, key, access) do { \
	assert_int_equal(bind_type_2(&b, mw, key, mr, access), IBV_WC_MW_BIND_ERR); \
	again(&b); \
} while (0)
	REFUSES(closed, rkey, IBV_ACCESS_REMOTE_READ);
	REFUSES(readable, rkey, IBV_ACCESS_REMOTE_WRITE);
	REFUSES(small, rkey, IBV_ACCESS_REMOTE_READ);
	REFUSES(b.mr, b.mr->rkey, IBV_ACCESS_REMOTE_READ); /* a key that is no window's */
	REFUSES(b.mr, rkey + 0x100, IBV_ACCESS_REMOTE_READ);
#undef REFUSES
	assert_int_equal(bind_type_2(&b, mw, rkey, readable, IBV_ACCESS_REMOTE_READ),
		IBV_WC_SUCCESS);
	/* Its key does not open what it was not bound for. */
	assert_int_equal(write_to(&b, rkey, (uintptr_t)b.memory + 512), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(closed), 0);
	assert_int_equal(ibv_dereg_mr(readable), 0);
	assert_int_equal(ibv_dereg_mr(small), 0);
	bench_end(&b);
}

static void
test_illegal_requests(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_alloc_mw request = { .pd_handle = 999, .mw_type = IBV_MW_TYPE_1 };
	struct ib_uverbs_dealloc_mw end = { .mw_handle = 999 };
	struct ib_uverbs_alloc_mw_resp reply;
	uint32_t command = IB_USER_VERBS_CMD_ALLOC_MW;

	assert_int_equal(write_plain(device->ctx, command, &request, sizeof(request), &reply,
		sizeof(reply)), EINVAL);
	request.pd_handle = device->pd->handle;
	request.mw_type = 3;
	assert_int_equal(write_plain(device->ctx, command, &request, sizeof(request), &reply,
		sizeof(reply)), EINVAL);
	request.mw_type = 0;
	assert_int_equal(write_plain(device->ctx, command, &request, sizeof(request), &reply,
		sizeof(reply)), EINVAL);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DEALLOC_MW, &end,
		sizeof(end), NULL, 0), ENOENT);
	end.mw_handle = device->pd->handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DEALLOC_MW, &end,
		sizeof(end), NULL, 0), EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_type_1),
		cmocka_unit_test_device(test_type_2),
		cmocka_unit_test_device(test_another_qp),
		cmocka_unit_test_device(test_regions_that_do_not_fit),
		cmocka_unit_test_device(test_illegal_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
