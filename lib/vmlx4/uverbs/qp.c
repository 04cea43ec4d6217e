/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <stdlib.h>
#include <string.h>

#include "../profile.h"
#include "uverbs.h"

#define SQ_MIN_STRIDE 6        /* log2 */
#define SQ_MAX_STRIDE 10
#define SQ_MAX_WQES 16384u
#define CREATE_FLAG_BLOCK_SELF_MCAST_LB (1u << 1)
#define RAW_QP_MTU 7 /* in the context of a raw packet QP: no limit of its own */
/* The one flag that mlx4 takes from programs. */
#define CREATE_FLAGS_USER CREATE_FLAG_BLOCK_SELF_MCAST_LB

/* The common part of both forms of the command. */
struct qp_request {
	uint64_t user_handle;
	uint32_t pd_handle, send_cq_handle, recv_cq_handle;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
	uint8_t sq_sig_all, qp_type, is_srq;
};

/* Copies between structures whose members have the same names. */
#define REQUEST_FROM(r) { \
	.user_handle = (r).user_handle, \
	.pd_handle = (r).pd_handle, \
	.send_cq_handle = (r).send_cq_handle, \
	.recv_cq_handle = (r).recv_cq_handle, \
	.max_send_wr = (r).max_send_wr, \
	.max_recv_wr = (r).max_recv_wr, \
	.max_send_sge = (r).max_send_sge, \
	.max_recv_sge = (r).max_recv_sge, \
	.max_inline_data = (r).max_inline_data, \
	.sq_sig_all = (r).sq_sig_all, \
	.qp_type = (r).qp_type, \
	.is_srq = (r).is_srq, \
}

static int
qp_room(const struct vmlx4_adapter *adapter)
{
	return adapter->counts.wqs + adapter->counts.qps >=
		vmlx4_profile_max_qp(adapter->profile, adapter->options.ports) ? -ENOMEM : 0;
}

static struct vmlx4_qp *
qp_build(struct vmlx4_context *ctx, const struct qp_request *request, struct vmlx4_pd *pd,
	bool bf_safe)
{
	struct vmlx4_qp *qp;
	uint32_t qpn;

	if (vmlx4_qpn_alloc(ctx->adapter, 1, bf_safe, &qpn) < 0)
		return NULL;
	qp = vmlx4_obj_new(ctx, VMLX4_QP, sizeof(*qp));
	if (qp == NULL) {
		vmlx4_qpn_free(ctx->adapter, qpn, 1);
		return NULL;
	}
	qp->obj.user_handle = request->user_handle;
	qp->qpn = qpn;
	qp->qp_type = request->qp_type;
	qp->state = IBV_QPS_RESET;
	qp->pd = pd;
	pd->obj.users++;
	qp->sq_sig_all = request->sq_sig_all != 0;
	ctx->adapter->qp_table[qpn] = qp;
	return qp;
}

static int
qp_cqs(struct vmlx4_context *ctx, const struct qp_request *request, struct vmlx4_cq **send_cq,
	struct vmlx4_cq **recv_cq)
{
	*send_cq = vmlx4_obj_find(ctx, request->send_cq_handle, VMLX4_CQ);
	*recv_cq = vmlx4_obj_find(ctx, request->recv_cq_handle, VMLX4_CQ);
	return *send_cq == NULL || *recv_cq == NULL ? -EINVAL : 0;
}

uint32_t
vmlx4_max_inline_receive(const struct vmlx4_profile *profile)
{
	return profile->max_sge * 16; /* a WQE with all the segments it can have */
}

/* Sizes and places of the two queues, as the library and the kernel compute them. */
static int
qp_queues(struct vmlx4_context *ctx, struct qp_request *request,
	const struct mlx4_ib_create_qp *driver, struct vmlx4_sq *sq, struct vmlx4_rq *rq)
{
	uint64_t sq_size, rq_size;
	int ret;

	if (driver->log_sq_stride < SQ_MIN_STRIDE || driver->log_sq_stride > SQ_MAX_STRIDE ||
			driver->log_sq_bb_count > 31 ||
			1u << driver->log_sq_bb_count > SQ_MAX_WQES)
		return -EINVAL;
	if (driver->inl_recv_sz > vmlx4_max_inline_receive(ctx->adapter->profile))
		return -EINVAL;
	ret = vmlx4_rq_size(rq, &request->max_recv_wr, &request->max_recv_sge,
		ctx->adapter->profile);
	if (ret < 0)
		return ret;
	rq->inline_size = driver->inl_recv_sz;
	while (1u << rq->stride_shift < driver->inl_recv_sz)
		rq->stride_shift++;
	sq->wqe_cnt = 1u << driver->log_sq_bb_count;
	sq->stride_shift = driver->log_sq_stride;
	sq_size = (uint64_t)sq->wqe_cnt << sq->stride_shift;
	rq_size = (uint64_t)rq->wqe_cnt << rq->stride_shift;
	ret = vmlx4_pin_check(ctx, driver->buf_addr, sq_size + rq_size, driver->db_addr, NULL);
	if (ret == 0)
		ret = vmlx4_memory_check_queue(driver->buf_addr, sq_size + rq_size);
	if (ret == 0)
		ret = vmlx4_memory_check_db(driver->db_addr, sizeof(uint32_t));
	if (ret < 0)
		return ret;
	/* The queue with the wider stride comes first; the SQ if they are alike. */
	sq->buf = (uint8_t *)(uintptr_t)driver->buf_addr;
	rq->buf = (uint8_t *)(uintptr_t)driver->buf_addr;
	if (rq->stride_shift > sq->stride_shift)
		sq->buf += rq_size;
	else
		rq->buf += sq_size;
	rq->db = (uint32_t *)(uintptr_t)driver->db_addr;
	return 0;
}

/* 0: the type is one that the adapter has. */
static int
qp_type_check(const struct vmlx4_adapter *adapter, uint8_t type)
{
	switch (type) {
	case IBV_QPT_RAW_PACKET:
		return adapter->options.no_net_raw ? -EPERM : 0;
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
	case IBV_QPT_DRIVER:
		/* The adapter carries raw Ethernet only. */
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

static int
qp_create(struct vmlx4_context *ctx, struct qp_request *request, const struct vmlx4_cmd *cmd,
	struct vmlx4_qp **result)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	struct vmlx4_pd *pd = vmlx4_obj_find(ctx, request->pd_handle, VMLX4_PD);
	struct mlx4_ib_create_qp driver;
	struct vmlx4_cq *send_cq, *recv_cq;
	struct vmlx4_sq sq = { 0 };
	struct vmlx4_rq rq = { 0 };
	struct vmlx4_qp *qp;
	int ret = qp_type_check(adapter, request->qp_type);

	if (ret < 0)
		return ret;
	/* No SRQ exists that the handle could name. */
	if (pd == NULL || request->is_srq != 0)
		return -EINVAL;
	ret = qp_cqs(ctx, request, &send_cq, &recv_cq);
	if (ret < 0)
		return ret;
	ret = qp_room(adapter);
	if (ret == 0)
		ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret == 0)
		ret = qp_queues(ctx, request, &driver, &sq, &rq);
	if (ret < 0)
		return ret;
	qp = qp_build(ctx, request, pd,
		request->max_send_wr > 0 && adapter->profile->bf_reg_size != 0);
	if (qp == NULL)
		return -ENOMEM;
	qp->send_cq = send_cq;
	send_cq->obj.users++;
	qp->recv_cq = recv_cq;
	recv_cq->obj.users++;
	qp->cap.send_wr = request->max_send_wr;
	qp->cap.send_sge = request->max_send_sge;
	qp->cap.recv_wr = request->max_recv_wr;
	qp->cap.recv_sge = request->max_recv_sge;
	qp->cap.inline_data = request->max_inline_data;
	qp->sq = sq;
	qp->sq.cq = send_cq;
	qp->rq = rq;
	qp->rq.cq = recv_cq;
	qp->rq.pd = pd;
	qp->rq.qpn = qp->qpn;
	vmlx4_obj_pin(&qp->obj, driver.buf_addr, ((uint64_t)sq.wqe_cnt << sq.stride_shift) +
		((uint64_t)rq.wqe_cnt << rq.stride_shift), driver.db_addr);
	*result = qp;
	return 0;
}

static void
qp_reply(const struct vmlx4_qp *qp, struct ib_uverbs_create_qp_resp *reply)
{
	reply->qp_handle = qp->obj.handle;
	reply->qpn = qp->qpn;
	reply->max_send_wr = qp->cap.send_wr;
	reply->max_recv_wr = qp->cap.recv_wr;
	reply->max_send_sge = qp->cap.send_sge;
	reply->max_recv_sge = qp->cap.recv_sge;
	reply->max_inline_data = qp->cap.inline_data;
}

int
vmlx4_cmd_create_qp(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_create_qp command;
	struct ib_uverbs_create_qp_resp reply = { 0 };
	struct vmlx4_qp *qp;
	int ret;

	ret = vmlx4_cmd_in(cmd, &command, sizeof(command));
	if (ret == 0) {
		struct qp_request request = REQUEST_FROM(command);

		ret = qp_create(ctx, &request, cmd, &qp);
	}
	if (ret < 0)
		return ret;
	qp_reply(qp, &reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

/* A QP that only spreads frames over the WQs of a table. */
static int
rss_qp_create(struct vmlx4_context *ctx, const struct ib_uverbs_ex_create_qp *command,
	const struct vmlx4_cmd *cmd, struct vmlx4_qp **result)
{
	struct qp_request request = REQUEST_FROM(*command);
	struct vmlx4_table *table =
		vmlx4_obj_find(ctx, command->rwq_ind_tbl_handle, VMLX4_TABLE);
	struct vmlx4_pd *pd = vmlx4_obj_find(ctx, command->pd_handle, VMLX4_PD);
	struct vmlx4_qp *qp;
	int ret;

	if (command->qp_type == IBV_QPT_RAW_PACKET && ctx->adapter->options.no_net_raw)
		return -EPERM;
	if (table == NULL || pd == NULL || command->max_recv_wr != 0 ||
			command->max_recv_sge != 0 || command->is_srq != 0)
		return -EINVAL;
	if (command->max_send_wr != 0 || command->create_flags != 0 ||
			command->qp_type != IBV_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	ret = qp_room(ctx->adapter);
	if (ret < 0)
		return ret;
	qp = qp_build(ctx, &request, pd, false);
	if (qp == NULL)
		return -ENOMEM;
	qp->table = table;
	table->obj.users++;
	ret = vmlx4_rss_parse(qp, cmd);
	if (ret < 0) {
		vmlx4_qp_release(qp);
		return ret;
	}
	*result = qp;
	return 0;
}

int
vmlx4_cmd_create_qp_ex(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_create_qp command;
	struct ib_uverbs_ex_create_qp_resp reply;
	struct vmlx4_qp *qp;
	int ret;

	ret = vmlx4_cmd_in(cmd, &command, sizeof(command));
	if (ret < 0)
		return ret;
	if ((command.comp_mask & ~IB_UVERBS_CREATE_QP_SUP_COMP_MASK) != 0 ||
			command.reserved != 0)
		return -EINVAL;
	if ((command.comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) != 0) {
		ret = rss_qp_create(ctx, &command, cmd, &qp);
	} else if ((command.create_flags & ~CREATE_FLAGS_USER) != 0) {
		ret = -EINVAL;
	} else {
		struct qp_request request = REQUEST_FROM(command);

		ret = qp_create(ctx, &request, cmd, &qp);
		if (ret == 0)
			qp->block_mcast_lb =
				(command.create_flags & CREATE_FLAG_BLOCK_SELF_MCAST_LB) != 0;
	}
	if (ret < 0)
		return ret;
	memset(&reply, 0, sizeof(reply));
	qp_reply(qp, &reply.base);
	reply.response_length = sizeof(reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

int
vmlx4_cmd_query_qp(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_query_qp request;
	struct ib_uverbs_query_qp_resp reply;
	const struct vmlx4_qp *qp;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	qp = vmlx4_obj_find(ctx, request.qp_handle, VMLX4_QP);
	if (qp == NULL)
		return -EINVAL;
	if (qp->table != NULL)
		return -EOPNOTSUPP;
	memset(&reply, 0, sizeof(reply));
	reply.qp_state = qp->state;
	reply.cur_qp_state = qp->state;
	reply.port_num = qp->port != NULL ? qp->port->number : 0;
	/* Of the send side of a program's QP mlx4 knows the ring only: libmlx4 fills it in. */
	reply.max_recv_wr = qp->cap.recv_wr;
	reply.max_recv_sge = qp->cap.recv_sge;
	reply.path_mtu = qp->state != IBV_QPS_RESET ? RAW_QP_MTU : 0;
	reply.sq_sig_all = qp->sq_sig_all;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_qp_release(struct vmlx4_qp *qp)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;

	if (qp->table != NULL) {
		if (qp->state != IBV_QPS_RESET)
			vmlx4_table_down(qp->table);
		qp->table->obj.users--;
	} else {
		vmlx4_sq_reset(qp);
		vmlx4_rq_reset(&qp->rq);
		qp->send_cq->obj.users--;
		qp->recv_cq->obj.users--;
	}
	adapter->qp_table[qp->qpn] = NULL;
	vmlx4_qpn_free(adapter, qp->qpn, 1);
	qp->pd->obj.users--;
	free(qp->rss);
	vmlx4_obj_free(&qp->obj);
}

int
vmlx4_cmd_destroy_qp(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_destroy_qp request;
	struct ib_uverbs_destroy_qp_resp reply;
	struct vmlx4_qp *qp;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.qp_handle, VMLX4_QP, &qp);
	if (ret < 0)
		return ret;
	reply.events_reported = qp->async_events -
		vmlx4_async_drop(ctx, qp->obj.user_handle, VMLX4_QP_EVENT_CODES);
	vmlx4_qp_release(qp);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

/* Multicast groups are for UD QPs: with a raw one the kernel says EINVAL. */
int
vmlx4_cmd_attach_mcast(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	(void)ctx;
	(void)cmd;
	return -EINVAL;
}
