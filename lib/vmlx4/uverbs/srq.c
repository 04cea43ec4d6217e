/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>

#include "../hca/guard.h"
#include "../profile.h"
#include "uverbs.h"

/* Shared receive queues: their life. What is taken from them: hca/srq.c. */

#define SEGMENT_SHIFT 4 /* log2 of bytes per segment, and of the one in front of them */
#define MIN_STRIDE 5

/* The common part of both forms of the command. */
struct srq_request {
	uint64_t user_handle;
	uint32_t max_wr, max_sge;
	struct vmlx4_pd *pd;
	struct vmlx4_cq *cq;     /* XRC alone */
	struct vmlx4_xrcd *xrcd;
};

static int
srq_size(struct vmlx4_context *ctx, const struct srq_request *request, struct vmlx4_srq *srq)
{
	const struct vmlx4_profile *profile = ctx->adapter->profile;

	/* max_srq_wr is what QUERY_DEVICE tells: one less than the card's, which stays free. */
	if (request->max_wr > profile->max_srq_wr || request->max_sge > profile->max_srq_sge)
		return -EINVAL;
	srq->wqe_cnt = vmlx4_round_up_pow2(request->max_wr + 1);
	srq->max_sge = request->max_sge;
	srq->stride_shift = MIN_STRIDE;
	while (1u << srq->stride_shift < (1 + srq->max_sge) << SEGMENT_SHIFT)
		srq->stride_shift++;
	return 0;
}

static uint64_t
srq_bytes(const struct vmlx4_srq *srq)
{
	return (uint64_t)srq->wqe_cnt << srq->stride_shift;
}

static int
srq_memory(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd, struct vmlx4_srq *srq,
	struct mlx4_ib_create_srq *driver)
{
	int ret = vmlx4_cmd_drv_in(cmd, driver, sizeof(*driver));

	if (ret == 0)
		ret = vmlx4_pin_check(ctx, driver->buf_addr, srq_bytes(srq), driver->db_addr,
			NULL);
	if (ret == 0)
		ret = vmlx4_memory_check_queue(driver->buf_addr, srq_bytes(srq));
	if (ret == 0)
		ret = vmlx4_memory_check_db(driver->db_addr, sizeof(uint32_t));
	srq->buf = (uint8_t *)(uintptr_t)driver->buf_addr;
	srq->db = (uint32_t *)(uintptr_t)driver->db_addr;
	return ret;
}

static void
srq_reply(const struct vmlx4_cmd *cmd, const struct vmlx4_srq *srq)
{
	struct ib_uverbs_create_srq_resp reply = {
		.srq_handle = srq->obj.handle,
		.max_wr = srq->wqe_cnt - 1,
		.max_sge = srq->max_sge,
		.srqn = srq->xrcd != NULL ? srq->srqn : 0,
	};
	struct mlx4_ib_create_srq_resp driver = { .srqn = srq->srqn };

	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	vmlx4_cmd_drv_out(cmd, &driver, sizeof(driver));
}

static int
srq_create(struct vmlx4_context *ctx, const struct srq_request *request,
	const struct vmlx4_cmd *cmd)
{
	struct vmlx4_srq shape = { .srqn = 0 }, *srq;
	struct mlx4_ib_create_srq driver;
	int ret = srq_size(ctx, request, &shape);

	if (ret == 0)
		ret = srq_memory(ctx, cmd, &shape, &driver);
	if (ret == 0)
		ret = vmlx4_srqn_alloc(ctx->adapter, &shape.srqn);
	if (ret < 0)
		return ret;
	srq = vmlx4_obj_new(ctx, VMLX4_SRQ, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	shape.obj = srq->obj;
	*srq = shape;
	srq->obj.user_handle = request->user_handle;
	srq->pd = request->pd;
	srq->pd->obj.users++;
	if ((srq->cq = request->cq) != NULL)
		srq->cq->obj.users++;
	if ((srq->xrcd = request->xrcd) != NULL)
		srq->xrcd->obj.users++;
	ctx->adapter->srq_table[srq->srqn] = srq;
	vmlx4_obj_pin(&srq->obj, driver.buf_addr, srq_bytes(srq), driver.db_addr);
	srq_reply(cmd, srq);
	return 0;
}

int
vmlx4_cmd_create_srq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct srq_request request = { 0 };
	struct ib_uverbs_create_srq command;
	int ret;

	ret = vmlx4_cmd_in(cmd, &command, sizeof(command));
	if (ret < 0)
		return ret;
	request.user_handle = command.user_handle;
	request.max_wr = command.max_wr;
	request.max_sge = command.max_sge;
	request.pd = vmlx4_obj_find(ctx, command.pd_handle, VMLX4_PD);
	return request.pd != NULL ? srq_create(ctx, &request, cmd) : -EINVAL;
}

int
vmlx4_cmd_create_xsrq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct srq_request request = { 0 };
	struct ib_uverbs_create_xsrq command;
	int ret;

	ret = vmlx4_cmd_in(cmd, &command, sizeof(command));
	if (ret < 0)
		return ret;
	request.user_handle = command.user_handle;
	request.max_wr = command.max_wr;
	request.max_sge = command.max_sge;
	if (command.srq_type == IBV_SRQT_XRC) {
		request.xrcd = vmlx4_obj_find(ctx, command.xrcd_handle, VMLX4_XRCD);
		request.cq = vmlx4_obj_find(ctx, command.cq_handle, VMLX4_CQ);
		if (request.xrcd == NULL || request.cq == NULL)
			return -EINVAL;
	} else if (command.srq_type != IBV_SRQT_BASIC) {
		return -EOPNOTSUPP; /* the card matches no tags */
	}
	request.pd = vmlx4_obj_find(ctx, command.pd_handle, VMLX4_PD);
	return request.pd != NULL ? srq_create(ctx, &request, cmd) : -EINVAL;
}

/* Reads the record. */
static void
look(void *srq)
{
	vmlx4_srq_check_limit(srq);
}

int
vmlx4_cmd_modify_srq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_modify_srq request;
	struct vmlx4_srq *srq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	srq = vmlx4_obj_find(ctx, request.srq_handle, VMLX4_SRQ);
	/* An SRQ of mlx4 keeps its size. */
	if (srq == NULL || (request.attr_mask & IBV_SRQ_MAX_WR) != 0)
		return -EINVAL;
	if ((request.attr_mask & IBV_SRQ_LIMIT) == 0)
		return 0;
	if (request.srq_limit >= srq->wqe_cnt)
		return -EINVAL;
	srq->limit = request.srq_limit;
	if (ctx->adapter->options.unknowns.srq_limit_at_once != 0)
		vmlx4_guarded(ctx->adapter, look, srq);
	return 0;
}

int
vmlx4_cmd_query_srq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_query_srq request;
	struct ib_uverbs_query_srq_resp reply = { 0 };
	const struct vmlx4_srq *srq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	srq = vmlx4_obj_find(ctx, request.srq_handle, VMLX4_SRQ);
	if (srq == NULL)
		return -EINVAL;
	reply.max_wr = srq->wqe_cnt - 1;
	reply.max_sge = srq->max_sge;
	reply.srq_limit = srq->limit;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_srq_release(struct vmlx4_srq *srq)
{
	srq->obj.ctx->adapter->srq_table[srq->srqn] = NULL;
	srq->pd->obj.users--;
	if (srq->cq != NULL)
		srq->cq->obj.users--;
	if (srq->xrcd != NULL)
		srq->xrcd->obj.users--;
	vmlx4_obj_free(&srq->obj);
}

int
vmlx4_cmd_destroy_srq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_destroy_srq request;
	struct ib_uverbs_destroy_srq_resp reply;
	struct vmlx4_srq *srq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.srq_handle, VMLX4_SRQ, &srq);
	if (ret < 0)
		return ret;
	reply.events_reported = srq->async_events -
		vmlx4_async_drop(ctx, srq->obj.user_handle, VMLX4_SRQ_EVENT_CODES);
	vmlx4_srq_release(srq);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}
