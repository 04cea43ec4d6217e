/* SPDX-License-Identifier: BSD-3-Clause */

/* Calls of set-up against a libmlx4 whose answers each test makes up. */

#include "ring.h"

#include <infiniband/mlx4dv.h>

static struct {
	int ret;
	struct mlx4dv_context device;
	enum mlx4dv_set_ctx_attr_type type;
	unsigned int created;
} lib;

/* Is there for dvq_create_qp(), dvq_datagram_init() and the like, which are not asked here. */
int
mlx4dv_init_obj(struct mlx4dv_obj *obj, uint64_t types)
{
	(void)obj;
	(void)types;
	return EINVAL;
}

int
mlx4dv_query_device(struct ibv_context *ctx, struct mlx4dv_context *attr)
{
	(void)ctx;
	assert_int_equal(attr->comp_mask, 0);
	*attr = lib.device;
	return lib.ret;
}

int
mlx4dv_set_context_attr(struct ibv_context *ctx, enum mlx4dv_set_ctx_attr_type type, void *attr)
{
	(void)ctx;
	assert_non_null(attr);
	lib.type = type;
	return lib.ret;
}

struct ibv_qp *
mlx4dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx4dv_qp_init_attr *mlx4)
{
	static struct ibv_qp qp;

	(void)ctx;
	assert_non_null(attr);
	assert_int_equal(mlx4->comp_mask, MLX4DV_QP_INIT_ATTR_MASK_INL_RECV);
	lib.created = mlx4->inl_recv_sz;
	return &qp;
}

/* By where this function lies, the context is seen to be of the same library. */
static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)wc;
	return n;
}

static struct ibv_context ctx = { .ops.poll_cq = poll_cq };

static int
setup(void **state)
{
	(void)state;
	memset(&lib, 0, sizeof(lib));
	lib.device.max_inl_recv_sz = 512;
	return 0;
}

/* Of structures of another version nothing is believed. */
static void
test_another_version(void **state)
{
	struct dvq_device device = { .max_inline_recv = 7 };
	struct ibv_qp_init_attr_ex attr = { .comp_mask = 0 };

	(void)state;
	lib.device.version = 1;
	assert_int_equal(dvq_query_device(&ctx, &device), -ENOTSUP);
	assert_int_equal(device.max_inline_recv, 7);
	errno = 0;
	assert_null(dvq_create_qp(&ctx, &attr, 64));
	assert_int_equal(errno, ENOTSUP);
	lib.device.version = 0;
	assert_int_equal(dvq_query_device(&ctx, &device), 0);
	assert_int_equal(device.max_inline_recv, 512);
}

static void
test_what_libmlx4_refuses(void **state)
{
	struct dvq_device device = { .max_inline_recv = 7 };

	(void)state;
	lib.ret = EIO;
	assert_int_equal(dvq_query_device(&ctx, &device), -EIO);
	assert_int_equal(device.max_inline_recv, 7);
	assert_int_equal(dvq_set_wqs_range(&ctx, 8), -EIO);
	assert_int_equal(lib.type, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ);
	assert_int_equal(dvq_set_allocator(&ctx, NULL, NULL, NULL), -EIO);
	assert_int_equal(lib.type, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS);
}

/* More than the device can is not asked of libmlx4, which might round it down. */
static void
test_inline_receive_up_to_the_most(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .comp_mask = 0 };

	(void)state;
	assert_non_null(dvq_create_qp(&ctx, &attr, 512));
	assert_int_equal(lib.created, 512);
	lib.created = 0;
	assert_null(dvq_create_qp(&ctx, &attr, 513));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(lib.created, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_another_version, setup),
		cmocka_unit_test_setup(test_what_libmlx4_refuses, setup),
		cmocka_unit_test_setup(test_inline_receive_up_to_the_most, setup),
	};

	return cmocka_run_group_tests_name("dvq: set-up", tests, NULL, NULL);
}
