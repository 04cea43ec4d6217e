/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects of libibverbs opened, and what mlx4dv has besides mlx4dv_init_obj(). */

#include <errno.h>

#include "live.h"

static const struct ibv_qp_cap small = { .max_send_wr = 16, .max_recv_wr = 16,
	.max_send_sge = 1, .max_recv_sge = 1 };

#define MANY 40u

struct objects {
	struct ibv_cq *cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_wq *wq;
	struct ibv_qp *qp;
};

static void
create_objects(struct live *live, struct objects *o)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1,
		.pd = live->pd };
	struct ibv_qp_init_attr qp = { .qp_type = IBV_QPT_RC, .cap = small };

	o->cq = wq.cq = ibv_create_cq(live->ctx, 31, NULL, NULL, 0);
	o->recv_cq = ibv_create_cq(live->ctx, 63, NULL, NULL, 0);
	o->srq = ibv_create_srq(live->pd, &srq);
	o->wq = ibv_create_wq(live->ctx, &wq);
	qp.send_cq = o->cq;
	qp.recv_cq = o->recv_cq;
	o->qp = ibv_create_qp(live->pd, &qp);
	assert_true(o->cq != NULL && o->recv_cq != NULL && o->srq != NULL && o->wq != NULL &&
		o->qp != NULL);
}

static void
destroy_objects(struct objects *o)
{
	assert_int_equal(ibv_destroy_qp(o->qp), 0);
	assert_int_equal(ibv_destroy_wq(o->wq), 0);
	assert_int_equal(ibv_destroy_srq(o->srq), 0);
	assert_int_equal(ibv_destroy_cq(o->recv_cq), 0);
	assert_int_equal(ibv_destroy_cq(o->cq), 0);
}

/* All 31 of them, each in one request. */
static void
test_every_combination(void **state)
{
	struct live *live = *state;
	struct objects o;
	unsigned int types;

	create_objects(live, &o);
	for (types = 1; types < 32; types++) {
		struct dvq_sendq sq = { 0 };
		struct dvq_rq qp_rq = { 0 }, rq = { 0 };
		struct dvq_cq cq = { 0 }, recv_cq = { 0 };
		struct dvq_srq srq = { 0 };
		struct dvq_open_request req = { .need = DVQ_UAR_OFFSET | DVQ_ARM };

		if ((types & 1) != 0)
			req.qp = o.qp, req.sendq = &sq, req.qp_rq = &qp_rq;
		if ((types & 2) != 0)
			req.ibv_cq = o.cq, req.cq = &cq;
		if ((types & 4) != 0)
			req.ibv_recv_cq = o.recv_cq, req.recv_cq = &recv_cq;
		if ((types & 8) != 0)
			req.ibv_srq = o.srq, req.srq = &srq;
		if ((types & 16) != 0)
			req.wq = o.wq, req.rq = &rq;
		assert_int_equal(dvq_open(&req), 0);
		assert_int_equal(sq.cnt != 0, (types & 1) != 0);
		assert_int_equal(qp_rq.wqe_cnt, (types & 1) != 0 ? 16 : 0);
		assert_int_equal(cq.cqe_cnt, (types & 2) != 0 ? 32 : 0);
		assert_int_equal(recv_cq.cqe_cnt, (types & 4) != 0 ? 64 : 0);
		assert_int_equal(srq.mask, (types & 8) != 0 ? 127 : 0);
		assert_int_equal(rq.wqe_cnt, (types & 16) != 0 ? 8 : 0);
	}
	destroy_objects(&o);
}

/* What the views hold is what libmlx4 says, and a QP of another shape has another stride. */
static void
test_strides(void **state)
{
	static const struct {
		uint32_t sge, inline_data, shift;
	} shapes[] = {
		{ 1, 0, 6 }, { 2, 0, 6 }, { 3, 0, 7 }, { 1, 100, 8 }, { 16, 0, 9 }, { 32, 0, 10 },
	};
	struct live *live = *state;
	struct live_end end;
	unsigned int i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct ibv_qp_cap cap = small;
		struct mlx4dv_qp out = { .comp_mask = 0 };
		struct mlx4dv_obj obj = { .qp.out = &out };

		cap.max_send_sge = shapes[i].sge;
		cap.max_inline_data = shapes[i].inline_data;
		live_open(live, &end, IBV_QPT_RC, &cap, NULL);
		obj.qp.in = end.qp;
		assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP), 0);
		assert_int_equal(end.sq.shift, shapes[i].shift);
		assert_int_equal(end.sq.cnt, out.sq.wqe_cnt);
		assert_ptr_equal(end.sq.buf, (uint8_t *)out.buf.buf + out.sq.offset);
		assert_ptr_equal(end.sq.db, out.sdb);
		assert_int_equal(be32toh(end.sq.qpn_be), end.qp->qp_num << 8);
		assert_true(dvq_sendq_room(&end.sq) >= small.max_send_wr);
		live_close(&end);
	}
}

static void
test_destroyed_objects(void **state)
{
	struct live *live = *state;
	struct dvq_cq cq;
	struct dvq_sendq sq;
	struct dvq_srq srq;
	struct dvq_open_request cq_req = { .cq = &cq };
	struct dvq_open_request qp_req = { .sendq = &sq };
	struct dvq_open_request srq_req = { .srq = &srq };
	struct objects o;

#ifdef __SANITIZE_ADDRESS__
	/* Its heap leaves what was freed as it was. */
	skip();
#endif
	create_objects(live, &o);
	cq_req.ibv_cq = o.cq;
	qp_req.qp = o.qp;
	srq_req.ibv_srq = o.srq;
	destroy_objects(&o);
	assert_int_equal(dvq_open(&cq_req), -EINVAL);
	assert_non_null(strstr(cq_req.error, "was it destroyed?"));
	assert_int_equal(dvq_open(&qp_req), -EINVAL);
	assert_int_equal(dvq_open(&srq_req), -EINVAL);
}

/* So many that the heap puts their memory together and leaves what was in it. */
static void
test_many_destroyed_objects(void **state)
{
	struct live *live = *state;
	struct objects o[MANY];
	unsigned int i;

#ifdef __SANITIZE_ADDRESS__
	/* It ends the program that reads what was freed. */
	skip();
#endif
	for (i = 0; i < MANY; i++)
		create_objects(live, &o[i]);
	for (i = 0; i < MANY; i++)
		destroy_objects(&o[i]);
	for (i = 0; i < MANY; i++) {
		struct dvq_sendq sq;
		struct dvq_cq cq;
		struct dvq_srq srq;
		struct dvq_rq rq;
		struct dvq_open_request qp_req = { .qp = o[i].qp, .sendq = &sq };
		struct dvq_open_request cq_req = { .ibv_cq = o[i].cq, .cq = &cq };
		struct dvq_open_request srq_req = { .ibv_srq = o[i].srq, .srq = &srq };
		struct dvq_open_request wq_req = { .wq = o[i].wq, .rq = &rq };

		assert_int_not_equal(dvq_open(&qp_req), 0);
		assert_int_not_equal(dvq_open(&cq_req), 0);
		assert_int_not_equal(dvq_open(&srq_req), 0);
		assert_int_not_equal(dvq_open(&wq_req), 0);
	}
}

static void
test_no_receive_queue_with_an_srq(void **state)
{
	struct live *live = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 15, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(live->pd, &attr);
	struct dvq_rq rq;
	struct dvq_open_request req = { .qp_rq = &rq };
	struct live_end end;

	assert_non_null(srq);
	live_open(live, &end, IBV_QPT_RC, &small, srq);
	req.qp = end.qp;
	assert_int_equal(dvq_open(&req), -ENOTSUP);
	assert_non_null(strstr(req.error, "it receives from its SRQ"));
	live_close(&end);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* Of which some WQEs are posted and some came back out of order. */
static void
test_srq_used_through_verbs_before(void **state)
{
	struct live *live = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 31, .max_sge = 2 } };
	struct ibv_srq *ibv_srq = ibv_create_srq(live->pd, &attr);
	struct ibv_sge sge = { .addr = (uintptr_t)live->mem, .length = 64,
		.lkey = live->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct dvq_srq srq;
	struct dvq_open_request req = { .ibv_srq = ibv_srq, .srq = &srq };
	int i;

	assert_non_null(ibv_srq);
	for (i = 0; i < 5; i++)
		assert_int_equal(ibv_post_srq_recv(ibv_srq, &wr, &bad), 0);
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(dvq_srq_room(&srq), 26);
	assert_int_equal(srq.pi, 5);
	assert_int_equal(srq.head, 5);
	assert_int_equal(ibv_destroy_srq(ibv_srq), 0);
}

static void
test_query_device(void **state)
{
	struct live *live = *state;
	struct mlx4dv_context attr;
	struct dvq_device device;
	struct ibv_context closed = { .cmd_fd = -1 };

	assert_int_equal(dvq_query_device(live->ctx, &device), 0);
	assert_int_equal(mlx4dv_query_device(live->ctx, &attr), 0);
	assert_int_equal(device.max_inline_recv, attr.max_inl_recv_sz);
	assert_int_equal(device.max_inline_recv, 512);
	assert_int_equal(dvq_query_device(&closed, &device), -EINVAL);
	assert_int_equal(dvq_query_device(NULL, &device), -EINVAL);
	assert_int_equal(dvq_query_device(live->ctx, NULL), -EINVAL);
	closed.ops.poll_cq = (void *)(uintptr_t)strlen;
	assert_int_equal(dvq_query_device(&closed, &device), -EOPNOTSUPP);
}

/* As a table of an RSS QP wants them: in sequence, the first a multiple of their number. */
static void
test_wqs_in_sequence(void **state)
{
	struct live *live = *state;
	struct ibv_cq *cq = ibv_create_cq(live->ctx, 31, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1,
		.pd = live->pd, .cq = cq };
	struct ibv_wq *wqs[8];
	unsigned int i;

	assert_int_equal(dvq_set_wqs_range(live->ctx, 0), -EINVAL);
	assert_int_equal(dvq_set_wqs_range(live->ctx, 6), -EINVAL);
	assert_int_equal(dvq_set_wqs_range(live->ctx, 8), 0);
	for (i = 0; i < 8; i++) {
		wqs[i] = ibv_create_wq(live->ctx, &attr);
		assert_non_null(wqs[i]);
		assert_int_equal(wqs[i]->wq_num, wqs[0]->wq_num + i);
	}
	assert_int_equal(wqs[0]->wq_num % 8, 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(ibv_destroy_wq(wqs[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ---- memory of one's own ---- */

struct heap {
	uint8_t *memory;
	size_t used, allocated, released;
};

#define HEAP_BYTES (1u << 20)

static void *
heap_alloc(size_t size, void *data)
{
	struct heap *heap = data;
	uint8_t *memory = heap->memory + heap->used;

	size = (size + 4095) & ~(size_t)4095;
	if (heap->used + size > HEAP_BYTES)
		return NULL;
	heap->used += size;
	heap->allocated++;
	memset(memory, 0, size);
	return memory;
}

static void
heap_release(void *memory, void *data)
{
	struct heap *heap = data;

	assert_true((uint8_t *)memory >= heap->memory &&
		(uint8_t *)memory < heap->memory + HEAP_BYTES);
	heap->released++;
}

static void
test_allocator(void **state)
{
	struct live *live = *state;
	struct heap heap = { .memory = aligned_alloc(4096, HEAP_BYTES) };
	struct live_end end;

	assert_non_null(heap.memory);
	assert_int_equal(dvq_set_allocator(live->ctx, heap_alloc, NULL, &heap), -EINVAL);
	assert_int_equal(dvq_set_allocator(live->ctx, heap_alloc, heap_release, &heap), 0);
	live_open(live, &end, IBV_QPT_RC, &small, NULL);
	assert_true(heap.allocated >= 2);
	assert_in_range((uintptr_t)end.sq.buf, (uintptr_t)heap.memory,
		(uintptr_t)heap.memory + HEAP_BYTES);
	assert_in_range((uintptr_t)end.cq.buf, (uintptr_t)heap.memory,
		(uintptr_t)heap.memory + HEAP_BYTES);
	live_close(&end);
	assert_int_equal(heap.released, heap.allocated);
	assert_int_equal(dvq_set_allocator(live->ctx, NULL, NULL, NULL), 0);
	free(heap.memory);
}

static void
test_inline_receive_beyond_the_device(void **state)
{
	struct live *live = *state;
	struct ibv_cq *cq = ibv_create_cq(live->ctx, 31, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = small, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = live->pd };

	errno = 0;
	assert_null(dvq_create_qp(live->ctx, NULL, 0));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(dvq_create_qp(live->ctx, &attr, 513));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_live(test_every_combination),
		cmocka_unit_test_live(test_strides),
		cmocka_unit_test_live(test_destroyed_objects),
		cmocka_unit_test_live(test_many_destroyed_objects),
		cmocka_unit_test_live(test_no_receive_queue_with_an_srq),
		cmocka_unit_test_live(test_srq_used_through_verbs_before),
		cmocka_unit_test_live(test_query_device),
		cmocka_unit_test_live(test_wqs_in_sequence),
		cmocka_unit_test_live(test_allocator),
		cmocka_unit_test_live(test_inline_receive_beyond_the_device),
	};

	return cmocka_run_group_tests_name("dvq: objects of verbs", tests, NULL, NULL);
}
