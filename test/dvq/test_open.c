/* SPDX-License-Identifier: BSD-3-Clause */

/* dvq_open() against a libmlx4 whose answers each test makes up. */

#include "ring.h"

#include <infiniband/mlx4dv.h>

static struct {
	int ret;
	unsigned int calls;
	uint64_t types;
	uint64_t qp_mask, cq_mask, srq_mask;
	struct mlx4dv_qp qp;
	struct mlx4dv_cq cq;
	struct mlx4dv_srq srq;
	struct mlx4dv_rwq wq;
	int query_ret;
	struct ibv_srq_attr srq_attr;
} lib;

/* Takes the place of libmlx4's, which knows only its own objects. */
int
mlx4dv_init_obj(struct mlx4dv_obj *obj, uint64_t types)
{
	lib.calls++;
	lib.types = types;
	if ((types & MLX4DV_OBJ_QP) != 0) {
		lib.qp_mask = obj->qp.out->comp_mask;
		*obj->qp.out = lib.qp;
	}
	if ((types & MLX4DV_OBJ_CQ) != 0) {
		lib.cq_mask = obj->cq.out->comp_mask;
		*obj->cq.out = lib.cq;
	}
	if ((types & MLX4DV_OBJ_SRQ) != 0) {
		lib.srq_mask = obj->srq.out->comp_mask;
		*obj->srq.out = lib.srq;
	}
	if ((types & MLX4DV_OBJ_RWQ) != 0)
		*obj->rwq.out = lib.wq;
	return lib.ret;
}

int
ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	(void)srq;
	*attr = lib.srq_attr;
	return lib.query_ret;
}

/* By where this function lies, the context is seen to be of the same library. */
static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)wc;
	return n;
}

static uint8_t ring[64 * 256];
static uint8_t uar[4096];
static uint32_t records[5];
static struct ibv_context ctx = { .ops.poll_cq = poll_cq };
static struct ibv_qp ibv_qp = { .context = &ctx, .qp_num = 0x242 };
static struct ibv_cq ibv_cq = { .context = &ctx }, ibv_recv_cq = { .context = &ctx };
static struct ibv_srq ibv_srq = { .context = &ctx, .handle = 7 };
static struct ibv_wq ibv_wq = { .context = &ctx, .wq_num = 0x24a };
static struct dvq_sq sq;
static struct dvq_sendq sendq;
static struct dvq_cq cq, recv_cq;
static struct dvq_srq srq;
static struct dvq_rq rq, qp_rq;
static char error[200];

static int
setup(void **state)
{
	unsigned int i;

	(void)state;
	memset(&lib, 0, sizeof(lib));
	memset(records, 0, sizeof(records));
	error[0] = '\0';
	lib.qp = (struct mlx4dv_qp){
		.rdb = &records[0],
		.sdb = (uint32_t *)(uar + 0x14),
		.doorbell_qpn = htobe32(0x24200),
		.sq = { .wqe_cnt = 128, .wqe_shift = 6, .offset = 64 },
		.rq = { .wqe_cnt = 1, .wqe_shift = 4, .offset = 64 + 128 * 64 },
		.buf = { .buf = ring, .length = sizeof(ring) },
		.comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET,
		.uar_mmap_offset = 4096,
	};
	lib.cq = (struct mlx4dv_cq){
		.buf = { .buf = ring, .length = sizeof(ring) },
		.cqe_cnt = 64,
		.cqn = 0x83,
		.set_ci_db = &records[1],
		.arm_db = &records[2],
		.arm_sn = 3,
		.cqe_size = 64,
		.comp_mask = MLX4DV_CQ_MASK_UAR,
		.cq_uar = uar,
	};
	lib.wq = (struct mlx4dv_rwq){
		.rdb = &records[3],
		.rq = { .wqe_cnt = 32, .wqe_shift = 6, .offset = 64 },
		.buf = { .buf = ring, .length = sizeof(ring) },
	};
	lib.srq = (struct mlx4dv_srq){
		.buf = { .buf = ring, .length = sizeof(ring) },
		.wqe_shift = 6, .head = 0, .tail = 63, .db = &records[4],
	};
	lib.srq_attr = (struct ibv_srq_attr){ .max_wr = 63, .max_sge = 2 };
	for (i = 0; i < 64; i++)
		*(uint16_t *)(void *)(ring + i * 64 + 2) = htobe16((uint16_t)((i + 1) % 64));
	return 0;
}

static struct dvq_open_request
everything(void)
{
	return (struct dvq_open_request){
		.qp = &ibv_qp, .sq = &sq, .qp_rq = &qp_rq,
		.ibv_cq = &ibv_cq, .cq = &cq,
		.ibv_srq = &ibv_srq, .srq = &srq,
		.wq = &ibv_wq, .rq = &rq, .missing = DVQ_ARM, /* the last time */
	};
}

static void
test_all_at_once(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.calls, 1);
	assert_int_equal(lib.types, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ |
		MLX4DV_OBJ_RWQ);
	assert_int_equal(lib.qp_mask, MLX4DV_QP_MASK_UAR_MMAP_OFFSET);
	assert_int_equal(lib.cq_mask, MLX4DV_CQ_MASK_UAR);
	assert_int_equal(lib.srq_mask, 0);
	assert_int_equal(req.missing, 0);
	assert_int_equal(req.uar_mmap_offset, 4096);

	assert_ptr_equal(sq.buf, ring + 64);
	assert_int_equal(sq.bb_cnt, 128);
	assert_int_equal(sq.headroom, 33);
	assert_ptr_equal(sq.db, uar + 0x14);
	assert_int_equal(sq.qpn_be, htobe32(0x24200));

	assert_ptr_equal(cq.buf, ring);
	assert_int_equal(cq.cqe_cnt, 64);
	assert_int_equal(cq.cqe_shift, 6);
	assert_int_equal(cq.valid_offset, 32);
	assert_int_equal(cq.arm_sn, 3);
	assert_int_equal(cq.cqn, 0x83);
	assert_ptr_equal(cq.uar, uar);

	assert_ptr_equal(rq.buf, ring + 64);
	assert_int_equal(rq.wqe_cnt, 32);
	assert_int_equal(rq.stride_shift, 6);
	assert_int_equal(rq.max_sge, 4);
	assert_int_equal(qp_rq.max_sge, 1);
	assert_ptr_equal(qp_rq.buf, ring + 64 + 128 * 64);
}

static void
test_single_objects(void **state)
{
	struct dvq_open_request req = { .ibv_cq = &ibv_cq, .cq = &cq };

	(void)state;
	lib.cq.cqe_size = 32;
	records[1] = htobe32(0x123);
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.types, MLX4DV_OBJ_CQ);
	assert_int_equal(cq.cqe_shift, 5);
	assert_int_equal(cq.valid_offset, 0);
	/* A CQ that was polled before goes on where it was. */
	assert_int_equal(cq.ci, 0x123);
	req = (struct dvq_open_request){ .wq = &ibv_wq, .rq = &rq };
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.types, MLX4DV_OBJ_RWQ);
	req = (struct dvq_open_request){ .qp = &ibv_qp, .sq = &sq };
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.types, MLX4DV_OBJ_QP);
}

static void
expect_refusal(struct dvq_open_request *req, int err, const char *word)
{
	memset(&sq, 0x5a, sizeof(sq));
	memset(&cq, 0x5a, sizeof(cq));
	memset(&rq, 0x5a, sizeof(rq));
	memset(&srq, 0x5a, sizeof(srq));
	memset(&sendq, 0x5a, sizeof(sendq));
	req->error[0] = '\0';
	assert_int_equal(dvq_open(req), err);
	if (strstr(req->error, word) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", req->error, word);
	/* Nothing was filled in. */
	assert_int_equal(sq.bb_cnt, 0x5a5a5a5a);
	assert_int_equal(cq.cqe_cnt, 0x5a5a5a5a);
	assert_int_equal(rq.wqe_cnt, 0x5a5a5a5a);
	assert_int_equal(srq.mask, 0x5a5a5a5a);
	assert_int_equal(sendq.cnt, 0x5a5a5a5a);
}

static void
test_senseless_requests(void **state)
{
	struct dvq_open_request req = { .qp = NULL };

	(void)state;
	assert_int_equal(dvq_open(NULL), -EINVAL);
	expect_refusal(&req, -EINVAL, "nothing to open");
	req = (struct dvq_open_request){ .qp = &ibv_qp };
	expect_refusal(&req, -EINVAL, "QP");
	req = (struct dvq_open_request){ .cq = &cq };
	expect_refusal(&req, -EINVAL, "CQ");
	req = (struct dvq_open_request){ .wq = &ibv_wq };
	expect_refusal(&req, -EINVAL, "WQ");
	req = (struct dvq_open_request){ .srq = &srq };
	expect_refusal(&req, -EINVAL, "SRQ");
	req = (struct dvq_open_request){ .ibv_recv_cq = &ibv_recv_cq };
	expect_refusal(&req, -EINVAL, "second CQ");
	req = (struct dvq_open_request){ .ibv_cq = &ibv_cq, .cq = &cq, .ibv_recv_cq = &ibv_cq,
		.recv_cq = &recv_cq };
	expect_refusal(&req, -EINVAL, "two views of one CQ");
	req = (struct dvq_open_request){ .qp = &ibv_qp, .sq = &sq, .sendq = &sendq };
	expect_refusal(&req, -EINVAL, "two views of one SQ");
	req = (struct dvq_open_request){ .ibv_cq = &ibv_cq, .cq = &cq, .need = 4 };
	expect_refusal(&req, -EOPNOTSUPP, "unknown bits 0x4");
	assert_int_equal(lib.calls, 0);
}

static void
test_libmlx4_refuses(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.ret = EOPNOTSUPP;
	expect_refusal(&req, -EOPNOTSUPP, "QP CQ SRQ WQ");
	lib.ret = -1;
	expect_refusal(&req, -EINVAL, "mlx4dv_init_obj");
}

static void
test_wrong_stride(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.qp.sq.wqe_shift = 7;
	expect_refusal(&req, -ENOTSUP, "128 bytes");
	assert_non_null(strstr(req.error, "0x000242"));
	assert_non_null(strstr(req.error, "max_inline_data"));
}

static void
test_wrong_counts(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.qp.sq.wqe_cnt = 100;
	expect_refusal(&req, -ENOTSUP, "100 blocks");
	lib.qp.sq.wqe_cnt = 32;
	expect_refusal(&req, -ENOTSUP, "32 blocks");
	lib.qp.sq.wqe_cnt = 128;
	lib.cq.cqe_cnt = 63;
	expect_refusal(&req, -ENOTSUP, "63 entries");
	lib.cq.cqe_cnt = 64;
	lib.cq.cqe_size = 128;
	expect_refusal(&req, -ENOTSUP, "CQE of 128 bytes");
	lib.cq.cqe_size = 64;
	lib.wq.rq.wqe_cnt = 0;
	expect_refusal(&req, -ENOTSUP, "WQ 0x00024a");
}

/* An older libmlx4 leaves the bit clear: the fields mean nothing then. */
static void
test_missing_answers(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.qp.comp_mask = 0;
	req.need = DVQ_UAR_OFFSET;
	expect_refusal(&req, -ENOTSUP, "UAR offset");
	assert_non_null(strstr(req.error, "rdma-core 15"));
	/* Nobody needs it: it is told, and everything else works. */
	req.need = DVQ_ARM;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(req.missing, DVQ_UAR_OFFSET);

	req = (struct dvq_open_request){ .ibv_cq = &ibv_cq, .cq = &cq, .need = DVQ_ARM };
	lib.cq.comp_mask = 0;
	expect_refusal(&req, -ENOTSUP, "UAR page");
	req.need = 0;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(req.missing, DVQ_ARM);
	assert_null(cq.uar);
}

/* The UAR page is the context's: with a QP it is known where a CQ is armed. */
static void
test_uar_of_an_old_library_by_the_qp(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.cq.comp_mask = 0;
	lib.cq.cq_uar = NULL;
	req.need = DVQ_ARM;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(req.missing, 0);
	assert_ptr_equal(cq.uar, uar);
}

/* That of another context would be no place to arm it. */
static void
test_uar_of_an_old_library_and_two_contexts(void **state)
{
	struct ibv_context other = { .ops.poll_cq = poll_cq };
	struct ibv_cq foreign = { .context = &other };
	struct dvq_open_request req = everything();

	(void)state;
	lib.cq.comp_mask = 0;
	lib.cq.cq_uar = NULL;
	req.ibv_cq = &foreign;
	req.need = DVQ_ARM;
	expect_refusal(&req, -ENOTSUP, "UAR page");
}

/* What was not asked for must not be answered. */
static void
test_unexpected_answer(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.srq.comp_mask = 2;
	expect_refusal(&req, -EOPNOTSUPP, "comp_mask 0x2 for the SRQ");
	lib.srq.comp_mask = 0;
	lib.qp.comp_mask = 5;
	expect_refusal(&req, -EOPNOTSUPP, "comp_mask 0x5 for the QP");
}

static void
test_sendq_of_every_stride(void **state)
{
	struct dvq_open_request req = { .qp = &ibv_qp, .sendq = &sendq };
	int shift;

	(void)state;
	for (shift = 6; shift <= 10; shift++) {
		lib.qp.sq.wqe_shift = shift;
		assert_int_equal(dvq_open(&req), 0);
		assert_int_equal(sendq.shift, shift);
		assert_int_equal(sendq.cnt, 128);
		assert_int_equal(sendq.limit, 128 - (2048 >> shift) - 1);
		assert_int_equal(sendq.max_bytes, shift == 10 ? 1008 : 1 << shift);
		assert_ptr_equal(sendq.buf, ring + 64);
	}
	lib.qp.sq.wqe_shift = 11;
	expect_refusal(&req, -ENOTSUP, "128 strides of 2^11 bytes");
	lib.qp.sq.wqe_shift = 6;
	lib.qp.sq.wqe_cnt = 32;
	expect_refusal(&req, -ENOTSUP, "32 strides");
}

static void
test_two_cqs(void **state)
{
	struct dvq_open_request req = { .ibv_cq = &ibv_cq, .cq = &cq, .ibv_recv_cq = &ibv_recv_cq,
		.recv_cq = &recv_cq };

	(void)state;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.calls, 2);
	assert_int_equal(recv_cq.cqn, 0x83);
	req = (struct dvq_open_request){ .ibv_recv_cq = &ibv_recv_cq, .recv_cq = &recv_cq };
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.calls, 3);
}

static void
test_srq(void **state)
{
	struct dvq_open_request req = { .ibv_srq = &ibv_srq, .srq = &srq };

	(void)state;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(srq.mask, 63);
	assert_int_equal(dvq_srq_room(&srq), 63);
	assert_int_equal(srq.max_sge, 2);
	assert_int_equal(srq.number, 7);
	/* One of which some are posted: libmlx4's head moved on, and the record. */
	lib.srq.head = 60;
	records[4] = htobe32(60);
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(dvq_srq_room(&srq), 3);
	assert_int_equal(srq.pi, 60);
}

static void
test_wrong_srq(void **state)
{
	struct dvq_open_request req = { .ibv_srq = &ibv_srq, .srq = &srq };

	(void)state;
	*(uint16_t *)(void *)(ring + 5 * 64 + 2) = htobe16(700);
	expect_refusal(&req, -ENOTSUP, "list of free WQEs, from 0 to 63, is broken");
	*(uint16_t *)(void *)(ring + 5 * 64 + 2) = htobe16(2);
	expect_refusal(&req, -ENOTSUP, "is broken");
	lib.srq_attr.max_wr = 64;
	expect_refusal(&req, -ENOTSUP, "64 WQEs");
	lib.srq_attr.max_wr = 1023;
	expect_refusal(&req, -ENOTSUP, "1023 WQEs");
	lib.query_ret = EINVAL;
	expect_refusal(&req, -EINVAL, "ibv_query_srq() of SRQ 7 failed");
}

/* A receive queue that was used before goes on where it was. */
static void
test_used_before(void **state)
{
	struct dvq_open_request req = { .wq = &ibv_wq, .rq = &rq };

	(void)state;
	records[3] = htobe32(0x10005);
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(rq.pi, 5);
	assert_int_equal(dvq_rq_room(&rq), 32);
}

/* ---- objects that are none, or not ours ---- */

static void
test_another_provider(void **state)
{
	struct ibv_context theirs = { .ops.poll_cq = (void *)(uintptr_t)ibv_node_type_str };
	struct ibv_cq foreign = { .context = &theirs };
	struct dvq_open_request req = everything();

	(void)state;
	req.ibv_cq = &foreign;
	expect_refusal(&req, -EOPNOTSUPP, "the CQ is of a device that ");
	assert_non_null(strstr(req.error, "libibverbs.so"));
	assert_int_equal(lib.calls, 0);
}

static void
test_destroyed(void **state)
{
	struct ibv_cq gone = { .context = NULL };
	struct dvq_open_request req = { .ibv_cq = &gone, .cq = &cq };

	(void)state;
	expect_refusal(&req, -EINVAL, "was it destroyed?");
	/* What a heap writes into memory that it got back. */
	gone.context = (void *)(uintptr_t)0x5a5a5a5a5a5aULL;
	expect_refusal(&req, -EINVAL, "the CQ is none of an open device");
	req.ibv_cq = (void *)(uintptr_t)0x1000;
	expect_refusal(&req, -EINVAL, "the CQ is none of an open device");
	gone.context = (void *)ring;
	req.ibv_cq = &gone;
	expect_refusal(&req, -EINVAL, "the CQ is none of an open device");
	assert_int_equal(lib.calls, 0);
}

/* What libmlx4 still says of an object whose ring or record is not there any more. */
static void
test_ring_taken_away(void **state)
{
	void *nowhere = (void *)(uintptr_t)4096;
	struct dvq_open_request req = everything();
	int i;

	(void)state;
	lib.qp.buf.buf = nowhere;
	expect_refusal(&req, -EINVAL, "the memory of QP 0x000242 is gone: was it destroyed?");
	for (i = 0; i < 4; i++) {
		setup(NULL);
		lib.cq.buf.buf = i == 0 ? nowhere : ring;
		lib.cq.set_ci_db = i == 1 ? nowhere : &records[1];
		lib.srq.buf.buf = i == 2 ? nowhere : ring;
		lib.wq.rdb = i == 3 ? nowhere : &records[3];
		expect_refusal(&req, -EINVAL, i < 2 ? "CQ 0x000083 is gone" :
			i == 2 ? "SRQ 0x000007 is gone" : "WQ 0x00024a is gone");
	}
}

/* ---- dvq_init_obj(), for what a request of dvq_open() cannot say ---- */

static void
test_init_obj_bad_input(void **state)
{
	struct mlx4dv_cq out = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .cq = { &ibv_cq, &out } };

	(void)state;
	assert_int_equal(dvq_init_obj(NULL, MLX4DV_OBJ_CQ, error, sizeof(error)), -EINVAL);
	assert_int_equal(dvq_init_obj(&obj, 0, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "no type"));
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ | 0x10, error, sizeof(error)),
		-EOPNOTSUPP);
	assert_non_null(strstr(error, "0x10"));
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ | MLX4DV_OBJ_QP, error, sizeof(error)),
		-EINVAL);
	assert_non_null(strstr(error, "in of the QP is NULL"));
	obj.cq.out = NULL;
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "out of the CQ is NULL"));
	obj.cq.out = &out;
	out.comp_mask = 6;
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ, error, sizeof(error)), -EOPNOTSUPP);
	assert_non_null(strstr(error, "comp_mask of the CQ has the unknown bits 0x6"));
	assert_int_equal(lib.calls, 0);
}

static void
test_init_obj_answers(void **state)
{
	struct mlx4dv_cq out = { .comp_mask = MLX4DV_CQ_MASK_UAR };
	struct mlx4dv_obj obj = { .cq = { &ibv_cq, &out } };

	(void)state;
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ, NULL, 0), 0);
	assert_int_equal(out.comp_mask, MLX4DV_CQ_MASK_UAR);
	assert_int_equal(out.cqn, 0x83);
	/* Nothing asked for, and libmlx4 says so. */
	out.comp_mask = 0;
	lib.cq.comp_mask = 0;
	assert_int_equal(dvq_init_obj(&obj, MLX4DV_OBJ_CQ, NULL, 0), 0);
	assert_int_equal(out.comp_mask, 0);
}

static void
test_short_error_text(void **state)
{
	(void)state;
	assert_int_equal(dvq_init_obj(NULL, MLX4DV_OBJ_CQ, NULL, 0), -EINVAL);
	memset(error, 'x', sizeof(error));
	assert_int_equal(dvq_init_obj(NULL, MLX4DV_OBJ_CQ, error, 5), -EINVAL);
	assert_int_equal(error[4], '\0');
	assert_int_equal(error[5], 'x');
}

/* A program may print it in any case. */
static void
test_no_error_text_of_a_success(void **state)
{
	struct dvq_open_request req = { .ibv_cq = &ibv_cq, .error = "what was there before" };

	(void)state;
	assert_int_equal(dvq_open(&req), -EINVAL);
	assert_string_equal(req.error, "a CQ and its view go together");
	req.cq = &cq;
	assert_int_equal(dvq_open(&req), 0);
	assert_string_equal(req.error, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_at_once, setup),
		cmocka_unit_test_setup(test_single_objects, setup),
		cmocka_unit_test_setup(test_senseless_requests, setup),
		cmocka_unit_test_setup(test_libmlx4_refuses, setup),
		cmocka_unit_test_setup(test_wrong_stride, setup),
		cmocka_unit_test_setup(test_wrong_counts, setup),
		cmocka_unit_test_setup(test_missing_answers, setup),
		cmocka_unit_test_setup(test_uar_of_an_old_library_by_the_qp, setup),
		cmocka_unit_test_setup(test_uar_of_an_old_library_and_two_contexts, setup),
		cmocka_unit_test_setup(test_unexpected_answer, setup),
		cmocka_unit_test_setup(test_sendq_of_every_stride, setup),
		cmocka_unit_test_setup(test_two_cqs, setup),
		cmocka_unit_test_setup(test_srq, setup),
		cmocka_unit_test_setup(test_wrong_srq, setup),
		cmocka_unit_test_setup(test_used_before, setup),
		cmocka_unit_test_setup(test_another_provider, setup),
		cmocka_unit_test_setup(test_destroyed, setup),
		cmocka_unit_test_setup(test_ring_taken_away, setup),
		cmocka_unit_test_setup(test_init_obj_bad_input, setup),
		cmocka_unit_test_setup(test_init_obj_answers, setup),
		cmocka_unit_test_setup(test_short_error_text, setup),
		cmocka_unit_test_setup(test_no_error_text_of_a_success, setup),
	};

	return cmocka_run_group_tests_name("dvq: opening queues", tests, NULL, NULL);
}
