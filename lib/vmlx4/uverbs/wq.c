/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <stdlib.h>

#include "../check/rq_check.h"
#include "../hca/guard.h"
#include "../profile.h"
#include "uverbs.h"

#define SEGMENT_SHIFT 4      /* log2 of bytes per receive segment */
#define DUMMY_SQ_BYTES 64u   /* libmlx4 gives each WQ a send queue of one WQE */
#define DUMMY_SQ_SHIFT 6
#define MAX_LOG_TABLE 13     /* that the kernel's interface lets pass */

/*
 * WQNs that were reserved together, so that WQs created one after the other get
 * consecutive numbers: an RSS QP names its queues by the first one and a count.
 */
struct vmlx4_wqn_range {
	struct vmlx4_context *ctx;
	uint32_t base, size;
	uint32_t users;
	bool dirty; /* a number of it was given back: no new WQ gets one */
};

static void
range_put(struct vmlx4_wqn_range *range)
{
	range->dirty = true;
	if (--range->users > 0)
		return;
	vmlx4_qpn_free(range->ctx->adapter, range->base, range->size);
	if (range->ctx->wqn_range == range)
		range->ctx->wqn_range = NULL;
	free(range);
}

static int
range_get(struct vmlx4_context *ctx, unsigned int log_size, struct vmlx4_wqn_range **result,
	uint32_t *wqn)
{
	struct vmlx4_wqn_range *range = ctx->wqn_range;
	int ret;

	if (range != NULL && !range->dirty && range->users < range->size) {
		/* The open range is not full: no second one. */
		if (log_size > 0)
			return -EINVAL;
	} else {
		range = calloc(1, sizeof(*range));
		if (range == NULL)
			return -ENOMEM;
		range->ctx = ctx;
		range->size = 1u << log_size;
		ret = vmlx4_qpn_alloc(ctx->adapter, range->size, false, &range->base);
		if (ret < 0) {
			free(range);
			return ret;
		}
		ctx->wqn_range = range;
	}
	*wqn = range->base + range->users++;
	*result = range;
	return 0;
}

int
vmlx4_rq_size(struct vmlx4_rq *rq, uint32_t *max_wr, uint32_t *max_sge,
	const struct vmlx4_profile *profile)
{
	if (*max_wr == 0 || *max_sge == 0 || *max_wr > profile->max_qp_wr ||
			*max_sge > profile->max_sge)
		return -EINVAL;
	*max_wr = vmlx4_round_up_pow2(*max_wr);
	*max_sge = vmlx4_round_up_pow2(*max_sge);
	rq->wqe_cnt = *max_wr;
	rq->max_sge = *max_sge;
	rq->stride_shift = SEGMENT_SHIFT;
	while ((1u << rq->stride_shift) < *max_sge << SEGMENT_SHIFT)
		rq->stride_shift++;
	return 0;
}

static int
wq_check(const struct vmlx4_adapter *adapter, const struct ib_uverbs_ex_create_wq *request,
	const struct mlx4_ib_create_wq *driver)
{
	uint32_t flags = adapter->profile->scatter_fcs ? IBV_WQ_FLAGS_SCATTER_FCS : 0;

	if (request->comp_mask != 0 || request->wq_type != IBV_WQT_RQ ||
			(request->create_flags & ~flags) != 0)
		return -EOPNOTSUPP;
	if (driver->comp_mask != 0 || driver->reserved[0] != 0 ||
			driver->reserved[1] != 0 || driver->reserved[2] != 0)
		return -EOPNOTSUPP;
	if (driver->log_range_size > 31 ||
			1u << driver->log_range_size > adapter->profile->max_rss_table)
		return -EOPNOTSUPP;
	if (adapter->counts.wqs + adapter->counts.qps >=
			vmlx4_profile_max_qp(adapter->profile, adapter->options.ports))
		return -ENOMEM;
	return 0;
}

static uint64_t
wq_bytes(const struct vmlx4_rq *rq)
{
	return ((uint64_t)rq->wqe_cnt << rq->stride_shift) + DUMMY_SQ_BYTES;
}

/* Where libmlx4 puts the receive queue: behind the dummy SQ unless wider than it. */
static int
wq_memory(struct vmlx4_context *ctx, struct vmlx4_rq *rq, const struct mlx4_ib_create_wq *driver)
{
	uint64_t offset = rq->stride_shift > DUMMY_SQ_SHIFT ? 0 : DUMMY_SQ_BYTES;
	int ret;

	ret = vmlx4_pin_check(ctx, driver->buf_addr, wq_bytes(rq), driver->db_addr, NULL);
	if (ret == 0)
		ret = vmlx4_memory_check_queue(driver->buf_addr, wq_bytes(rq));
	if (ret == 0)
		ret = vmlx4_memory_check_db(driver->db_addr, sizeof(uint32_t));
	rq->buf = (uint8_t *)(uintptr_t)(driver->buf_addr + offset);
	rq->db = (uint32_t *)(uintptr_t)driver->db_addr;
	return ret;
}

static int
wq_build(struct vmlx4_context *ctx, const struct ib_uverbs_ex_create_wq *request,
	const struct vmlx4_rq *rq, unsigned int log_range, struct vmlx4_wq **result)
{
	struct vmlx4_wqn_range *range;
	struct vmlx4_wq *wq;
	uint32_t wqn;
	int ret;

	ret = range_get(ctx, log_range, &range, &wqn);
	if (ret < 0)
		return ret;
	wq = vmlx4_obj_new(ctx, VMLX4_WQ, sizeof(*wq));
	if (wq == NULL) {
		range_put(range);
		return -ENOMEM;
	}
	wq->obj.user_handle = request->user_handle;
	wq->wqn = wqn;
	wq->range = range;
	wq->state = IBV_WQS_RESET;
	wq->rq = *rq;
	wq->rq.qpn = wqn;
	wq->rq.scatter_fcs = (request->create_flags & IBV_WQ_FLAGS_SCATTER_FCS) != 0;
	wq->rq.pd->obj.users++;
	wq->rq.cq->obj.users++;
	ctx->adapter->wq_table[wqn] = wq;
	*result = wq;
	return 0;
}

int
vmlx4_cmd_create_wq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_create_wq request;
	struct ib_uverbs_ex_create_wq_resp reply = { 0 };
	struct mlx4_ib_create_wq driver;
	struct vmlx4_rq rq = { 0 };
	struct vmlx4_wq *wq = NULL;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	rq.pd = vmlx4_obj_find(ctx, request.pd_handle, VMLX4_PD);
	rq.cq = vmlx4_obj_find(ctx, request.cq_handle, VMLX4_CQ);
	if (rq.pd == NULL || rq.cq == NULL)
		return -EINVAL;
	ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret == 0 && cmd->drv_out_len != 0)
		ret = -EOPNOTSUPP;
	if (ret == 0)
		ret = wq_check(ctx->adapter, &request, &driver);
	if (ret == 0)
		ret = vmlx4_rq_size(&rq, &request.max_wr, &request.max_sge,
			ctx->adapter->profile);
	if (ret == 0)
		ret = wq_memory(ctx, &rq, &driver);
	if (ret == 0)
		ret = wq_build(ctx, &request, &rq, driver.log_range_size, &wq);
	if (ret < 0)
		return ret;
	vmlx4_obj_pin(&wq->obj, driver.buf_addr, wq_bytes(&rq), driver.db_addr);
	reply.response_length = sizeof(reply);
	reply.wq_handle = wq->obj.handle;
	reply.max_wr = request.max_wr;
	reply.max_sge = request.max_sge;
	reply.wqn = wq->wqn;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static void
queue_error(void *rq)
{
	vmlx4_rq_error(rq);
}

/*
 * The state that the program asked for reaches the queue only while an RSS QP
 * uses it. CQEs that it left behind stay in the CQ: removing them after a reset
 * is the library's business, or the driver's that reads the CQ itself.
 */
static void
wq_apply(struct vmlx4_wq *wq)
{
	if (wq->rss_users == 0 || wq->state == IBV_WQS_RESET)
		vmlx4_rq_reset(&wq->rq);
	else if (wq->state == IBV_WQS_RDY)
		vmlx4_rq_ready(&wq->rq);
	else
		vmlx4_guarded(wq->obj.ctx->adapter, queue_error, &wq->rq);
}

static bool
wq_transition_legal(uint32_t from, uint32_t to)
{
	if (to == IBV_WQS_RDY && from == IBV_WQS_ERR)
		return false;
	return !(to == IBV_WQS_ERR && from == IBV_WQS_RESET);
}

int
vmlx4_cmd_modify_wq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_modify_wq request;
	struct mlx4_ib_modify_wq driver;
	struct vmlx4_wq *wq;
	uint32_t from, to;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if (request.attr_mask == 0 || (request.attr_mask & ~(IBV_WQ_ATTR_STATE |
			IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS)) != 0)
		return -EINVAL;
	wq = vmlx4_obj_find(ctx, request.wq_handle, VMLX4_WQ);
	if (wq == NULL)
		return -EINVAL;
	from = (request.attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0 ?
		request.curr_wq_state : wq->state;
	to = (request.attr_mask & IBV_WQ_ATTR_STATE) != 0 ? request.wq_state : from;
	if (from > IBV_WQS_ERR || to > IBV_WQS_ERR)
		return -EINVAL;
	ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret < 0)
		return ret;
	if (driver.comp_mask != 0 || driver.reserved != 0 ||
			(request.attr_mask & IBV_WQ_ATTR_FLAGS) != 0)
		return -EOPNOTSUPP;
	if (!wq_transition_legal(from, to))
		return -EINVAL;
	if (wq->state != to) {
		wq->state = to;
		if (to == IBV_WQS_RESET)
			vmlx4_rq_check_down(&wq->rq, true);
		wq_apply(wq);
	}
	return 0;
}

void
vmlx4_wq_release(struct vmlx4_wq *wq)
{
	struct vmlx4_adapter *adapter = wq->obj.ctx->adapter;

	vmlx4_rq_reset(&wq->rq);
	adapter->wq_table[wq->wqn] = NULL;
	wq->rq.pd->obj.users--;
	wq->rq.cq->obj.users--;
	range_put(wq->range);
	vmlx4_obj_free(&wq->obj);
}

int
vmlx4_cmd_destroy_wq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_destroy_wq request;
	struct ib_uverbs_ex_destroy_wq_resp reply = { 0 };
	struct vmlx4_wq *wq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0 && request.comp_mask != 0)
		ret = -EOPNOTSUPP;
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.wq_handle, VMLX4_WQ, &wq);
	if (ret < 0)
		return ret;
	vmlx4_wq_release(wq);
	/* mlx4 raises no events for WQs. */
	reply.response_length = sizeof(reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

/* ---- indirection tables ---- */

int
vmlx4_table_up(struct vmlx4_table *table, struct vmlx4_port *port)
{
	uint32_t i;

	for (i = 0; i < table->size; i++)
		if (table->wq[i]->rss_users > 0 && table->wq[i]->port != port)
			return -EINVAL;
	for (i = 0; i < table->size; i++) {
		struct vmlx4_wq *wq = table->wq[i];

		wq->port = port;
		if (wq->rss_users++ == 0)
			wq_apply(wq);
	}
	return 0;
}

void
vmlx4_table_down(struct vmlx4_table *table)
{
	uint32_t i;

	for (i = 0; i < table->size; i++) {
		struct vmlx4_wq *wq = table->wq[i];

		if (--wq->rss_users == 0) {
			vmlx4_rq_check_down(&wq->rq, false);
			wq_apply(wq);
			wq->port = NULL;
		}
	}
}

static int
table_fill(struct vmlx4_context *ctx, struct vmlx4_table *table, const uint32_t *handles)
{
	uint32_t i;

	for (i = 0; i < table->size; i++) {
		table->wq[i] = vmlx4_obj_find(ctx, handles[i], VMLX4_WQ);
		if (table->wq[i] == NULL ||
				table->wq[i]->wqn != table->wq[0]->wqn + i)
			return -EINVAL;
	}
	return table->wq[0]->wqn % table->size != 0 ? -EINVAL : 0;
}

int
vmlx4_cmd_create_table(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	const struct ib_uverbs_ex_create_rwq_ind_table *request = cmd->in;
	struct ib_uverbs_ex_create_rwq_ind_table_resp reply = { 0 };
	struct vmlx4_table *table;
	uint32_t size, i;
	int ret;

	if (request->comp_mask != 0)
		return -EOPNOTSUPP;
	if (request->log_ind_tbl_size > MAX_LOG_TABLE)
		return -EINVAL;
	size = 1u << request->log_ind_tbl_size;
	if (cmd->in_len < sizeof(*request) + size * sizeof(request->wq_handles[0]))
		return -ENOSPC;
	/* The handles are padded to eight bytes; nothing else may follow. */
	ret = vmlx4_cmd_rest_zero(cmd, sizeof(*request) + size * sizeof(request->wq_handles[0]));
	if (ret == 0)
		ret = vmlx4_cmd_drv_zero(cmd);
	if (ret < 0)
		return ret;
	if (size > ctx->adapter->profile->max_rss_table)
		return -EINVAL;
	table = vmlx4_obj_new(ctx, VMLX4_TABLE,
		sizeof(*table) + size * sizeof(table->wq[0]));
	if (table == NULL)
		return -ENOMEM;
	table->size = size;
	ret = table_fill(ctx, table, request->wq_handles);
	if (ret < 0) {
		vmlx4_obj_free(&table->obj);
		return ret;
	}
	for (i = 0; i < size; i++)
		table->wq[i]->obj.users++;
	reply.response_length = sizeof(reply);
	reply.ind_tbl_handle = table->obj.handle;
	/* The card knows no such number; the library wants one that is not 0. */
	reply.ind_tbl_num = table->wq[0]->wqn;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_table_release(struct vmlx4_table *table)
{
	uint32_t i;

	for (i = 0; i < table->size; i++)
		table->wq[i]->obj.users--;
	vmlx4_obj_free(&table->obj);
}

int
vmlx4_cmd_destroy_table(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_destroy_rwq_ind_table request;
	struct vmlx4_table *table;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0 && request.comp_mask != 0)
		ret = -EOPNOTSUPP;
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.ind_tbl_handle, VMLX4_TABLE, &table);
	if (ret < 0)
		return ret;
	vmlx4_table_release(table);
	return 0;
}
