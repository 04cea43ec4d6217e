/* SPDX-License-Identifier: BSD-3-Clause */

/* dvq_open() against a libmlx4 whose answers each test makes up. */

#include "ring.h"

#include <infiniband/mlx4dv.h>

static struct {
	int ret;
	unsigned int calls;
	uint64_t types;
	uint64_t qp_mask, cq_mask;
	struct mlx4dv_qp qp;
	struct mlx4dv_cq cq;
	struct mlx4dv_rwq wq;
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
	if ((types & MLX4DV_OBJ_RWQ) != 0)
		*obj->rwq.out = lib.wq;
	return lib.ret;
}

static uint8_t ring[64 * 256];
static uint8_t uar[4096];
static uint32_t records[4];
static struct ibv_qp ibv_qp = { .qp_num = 0x242 };
static struct ibv_cq ibv_cq;
static struct ibv_wq ibv_wq = { .wq_num = 0x24a };
static struct dvq_sq sq;
static struct dvq_cq cq;
static struct dvq_rq rq, qp_rq;
static char error[200];

static int
setup(void **state)
{
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
		.arm_sn = 1,
		.cqe_size = 64,
		.comp_mask = MLX4DV_CQ_MASK_UAR,
		.cq_uar = uar,
	};
	lib.wq = (struct mlx4dv_rwq){
		.rdb = &records[3],
		.rq = { .wqe_cnt = 32, .wqe_shift = 6, .offset = 64 },
		.buf = { .buf = ring, .length = sizeof(ring) },
	};
	return 0;
}

static struct dvq_open_request
everything(void)
{
	return (struct dvq_open_request){
		.qp = &ibv_qp, .sq = &sq, .qp_rq = &qp_rq,
		.ibv_cq = &ibv_cq, .cq = &cq,
		.wq = &ibv_wq, .rq = &rq,
		.error = error, .error_size = sizeof(error),
	};
}

static void
test_all_at_once(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(lib.calls, 1);
	assert_int_equal(lib.types, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_RWQ);
	assert_int_equal(lib.qp_mask, MLX4DV_QP_MASK_UAR_MMAP_OFFSET);
	assert_int_equal(lib.cq_mask, MLX4DV_CQ_MASK_UAR);
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
	assert_int_equal(cq.arm_sn, 1);
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
	error[0] = '\0';
	req->error = error;
	req->error_size = sizeof(error);
	assert_int_equal(dvq_open(req), err);
	if (strstr(error, word) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error, word);
	/* Nothing was filled in. */
	assert_int_equal(sq.bb_cnt, 0x5a5a5a5a);
	assert_int_equal(cq.cqe_cnt, 0x5a5a5a5a);
	assert_int_equal(rq.wqe_cnt, 0x5a5a5a5a);
}

static void
test_senseless_requests(void **state)
{
	struct dvq_open_request req = { .error = NULL };

	(void)state;
	expect_refusal(&req, -EINVAL, "nothing to open");
	req = (struct dvq_open_request){ .qp = &ibv_qp };
	expect_refusal(&req, -EINVAL, "QP");
	req = (struct dvq_open_request){ .cq = &cq };
	expect_refusal(&req, -EINVAL, "CQ");
	req = (struct dvq_open_request){ .wq = &ibv_wq };
	expect_refusal(&req, -EINVAL, "WQ");
	assert_int_equal(lib.calls, 0);
}

static void
test_libmlx4_refuses(void **state)
{
	struct dvq_open_request req = everything();

	(void)state;
	lib.ret = EOPNOTSUPP;
	expect_refusal(&req, -EOPNOTSUPP, "QP CQ WQ");
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
	assert_non_null(strstr(error, "0x000242"));
	assert_non_null(strstr(error, "max_inline_data"));
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
	expect_refusal(&req, -ENOTSUP, "UAR offset");
	lib.qp.comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET;
	lib.cq.comp_mask = 0;
	expect_refusal(&req, -ENOTSUP, "UAR page");
}

static void
test_no_error_text_wanted(void **state)
{
	struct dvq_open_request req = { .ibv_cq = &ibv_cq };

	(void)state;
	assert_int_equal(dvq_open(&req), -EINVAL);
	req.error = error;
	memset(error, 'x', sizeof(error));
	req.error_size = 5;
	assert_int_equal(dvq_open(&req), -EINVAL);
	assert_int_equal(error[4], '\0');
	assert_int_equal(error[5], 'x');
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
		cmocka_unit_test_setup(test_no_error_text_wanted, setup),
	};

	return cmocka_run_group_tests_name("dvq: opening queues", tests, NULL, NULL);
}
