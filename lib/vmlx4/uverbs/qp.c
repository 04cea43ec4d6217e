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
	uint32_t pd_handle, send_cq_handle, recv_cq_handle, srq_handle;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
	uint8_t sq_sig_all, qp_type, is_srq;
};

/* Copies between structures whose members have the same names. */
#define REQUEST_FROM(r) { \
	.user_handle = (r).user_handle, \
	.pd_handle = (r).pd_handle, \
	.send_cq_handle = (r).send_cq_handle, \
	.recv_cq_handle = (r).recv_cq_handle, \
	.srq_handle = (r).srq_handle, \
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

/* What a new QP refers to; what its type does not have is NULL. */
struct qp_parents {
	struct vmlx4_pd *pd;
	struct vmlx4_cq *send_cq, *recv_cq;
	struct vmlx4_srq *srq;
	struct vmlx4_xrcd *xrcd;
	struct vmlx4_table *table;
};

/* 0: the type is one that the adapter has, and this user may have it. */
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
		return 0;
	case IBV_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

/*
 * XRC parts what other types have together: the sender has no receive queue, the
 * receiver nothing but a domain, whose handle stands where the PD's would be.
 */
static int
qp_parents(struct vmlx4_context *ctx, struct qp_request *request, struct qp_parents *parents)
{
	memset(parents, 0, sizeof(*parents));
	if (request->qp_type == IBV_QPT_XRC_RECV) {
		parents->xrcd = vmlx4_obj_find(ctx, request->pd_handle, VMLX4_XRCD);
		return parents->xrcd != NULL ? 0 : -EINVAL;
	}
	if (request->qp_type == IBV_QPT_XRC_SEND) {
		request->max_recv_wr = 0;
		request->max_recv_sge = 0;
	} else {
		if (request->is_srq != 0) {
			parents->srq = vmlx4_obj_find(ctx, request->srq_handle, VMLX4_SRQ);
			if (parents->srq == NULL || parents->srq->xrcd != NULL)
				return -EINVAL;
		}
		parents->recv_cq = vmlx4_obj_find(ctx, request->recv_cq_handle, VMLX4_CQ);
		if (parents->recv_cq == NULL)
			return -EINVAL;
	}
	parents->pd = vmlx4_obj_find(ctx, request->pd_handle, VMLX4_PD);
	parents->send_cq = vmlx4_obj_find(ctx, request->send_cq_handle, VMLX4_CQ);
	return parents->pd == NULL || parents->send_cq == NULL ? -EINVAL : 0;
}

static void
qp_adopt(struct vmlx4_qp *qp, const struct qp_parents *parents)
{
	if ((qp->pd = parents->pd) != NULL)
		qp->pd->obj.users++;
	if ((qp->send_cq = parents->send_cq) != NULL)
		qp->send_cq->obj.users++;
	if ((qp->recv_cq = parents->recv_cq) != NULL)
		qp->recv_cq->obj.users++;
	if ((qp->srq = parents->srq) != NULL)
		qp->srq->obj.users++;
	if ((qp->xrcd = parents->xrcd) != NULL)
		qp->xrcd->obj.users++;
	if ((qp->table = parents->table) != NULL)
		qp->table->obj.users++;
}

static void
qp_disown(struct vmlx4_qp *qp)
{
	if (qp->pd != NULL)
		qp->pd->obj.users--;
	if (qp->send_cq != NULL)
		qp->send_cq->obj.users--;
	if (qp->recv_cq != NULL)
		qp->recv_cq->obj.users--;
	if (qp->srq != NULL)
		qp->srq->obj.users--;
	if (qp->xrcd != NULL)
		qp->xrcd->obj.users--;
	if (qp->table != NULL)
		qp->table->obj.users--;
}

static struct vmlx4_qp *
qp_build(struct vmlx4_context *ctx, const struct qp_request *request,
	const struct qp_parents *parents, bool bf_safe)
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
	if (request->qp_type == IBV_QPT_XRC_RECV)
		qp->qpn |= VMLX4_QPN_XRC;
	qp->qp_type = request->qp_type;
	qp->state = IBV_QPS_RESET;
	qp->real = qp;
	TAILQ_INIT(&qp->opened);
	qp_adopt(qp, parents);
	qp->sq_sig_all = request->sq_sig_all != 0;
	ctx->adapter->qp_table[qpn] = qp;
	return qp;
}

uint32_t
vmlx4_max_inline_receive(const struct vmlx4_profile *profile)
{
	return profile->max_sge * 16; /* a WQE with all the segments it can have */
}

static int
rq_check(struct vmlx4_context *ctx, struct qp_request *request,
	const struct mlx4_ib_create_qp *driver, struct vmlx4_rq *rq)
{
	int ret;

	if (driver->inl_recv_sz > vmlx4_max_inline_receive(ctx->adapter->profile))
		return -EINVAL;
	ret = vmlx4_rq_size(rq, &request->max_recv_wr, &request->max_recv_sge,
		ctx->adapter->profile);
	if (ret < 0)
		return ret;
	rq->inline_size = driver->inl_recv_sz;
	while (1u << rq->stride_shift < driver->inl_recv_sz)
		rq->stride_shift++;
	rq->db = (uint32_t *)(uintptr_t)driver->db_addr;
	return vmlx4_memory_check_db(driver->db_addr, sizeof(uint32_t));
}

/* Where receives come from an SRQ there is neither a queue nor a record of it. */
static int
rq_absent(struct qp_request *request, const struct mlx4_ib_create_qp *driver)
{
	if (request->max_recv_wr != 0 || driver->inl_recv_sz != 0)
		return -EINVAL;
	request->max_recv_sge = 0;
	return 0;
}

static uint64_t
sq_bytes(const struct vmlx4_sq *sq)
{
	return (uint64_t)sq->wqe_cnt << sq->stride_shift;
}

static uint64_t
rq_bytes(const struct vmlx4_rq *rq)
{
	return (uint64_t)rq->wqe_cnt << rq->stride_shift;
}

/* Sizes and places of the two queues, as the library and the kernel compute them. */
static int
qp_queues(struct vmlx4_context *ctx, struct qp_request *request, bool has_rq,
	const struct mlx4_ib_create_qp *driver, struct vmlx4_sq *sq, struct vmlx4_rq *rq)
{
	uint64_t size, db = has_rq ? driver->db_addr : 0;
	int ret;

	if (driver->log_sq_stride < SQ_MIN_STRIDE || driver->log_sq_stride > SQ_MAX_STRIDE ||
			driver->log_sq_bb_count > 31 ||
			1u << driver->log_sq_bb_count > SQ_MAX_WQES)
		return -EINVAL;
	ret = has_rq ? rq_check(ctx, request, driver, rq) : rq_absent(request, driver);
	if (ret < 0)
		return ret;
	sq->wqe_cnt = 1u << driver->log_sq_bb_count;
	sq->stride_shift = driver->log_sq_stride;
	size = sq_bytes(sq) + rq_bytes(rq);
	ret = vmlx4_pin_check(ctx, driver->buf_addr, size, db, NULL);
	if (ret == 0)
		ret = vmlx4_memory_check_queue(driver->buf_addr, size);
	if (ret < 0)
		return ret;
	/* The queue with the wider stride comes first; the SQ if they are alike. */
	sq->buf = (uint8_t *)(uintptr_t)driver->buf_addr;
	rq->buf = (uint8_t *)(uintptr_t)driver->buf_addr;
	if (rq->stride_shift > sq->stride_shift)
		sq->buf += rq_bytes(rq);
	else
		rq->buf += sq_bytes(sq);
	return 0;
}

static void
qp_fill(struct vmlx4_qp *qp, const struct qp_request *request, const struct vmlx4_sq *sq,
	const struct vmlx4_rq *rq, bool has_rq)
{
	qp->cap.send_wr = request->max_send_wr;
	qp->cap.send_sge = request->max_send_sge;
	qp->cap.recv_wr = request->max_recv_wr;
	qp->cap.recv_sge = request->max_recv_sge;
	qp->cap.inline_data = request->max_inline_data;
	qp->sq = *sq;
	qp->sq.cq = qp->send_cq;
	qp->rq = *rq;
	qp->rq.qpn = qp->qpn;
	qp->rq.transport = qp->qp_type != IBV_QPT_RAW_PACKET;
	qp->rq.pd = qp->pd;
	qp->rq.cq = has_rq ? qp->recv_cq : NULL;
}

static int
qp_create(struct vmlx4_context *ctx, struct qp_request *request, const struct vmlx4_cmd *cmd,
	struct vmlx4_qp **result)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	bool raw = request->qp_type == IBV_QPT_RAW_PACKET, has_rq;
	/* The kernel owns the queues of an XRC receiver, which nobody posts to. */
	bool kernels = request->qp_type == IBV_QPT_XRC_RECV;
	struct mlx4_ib_create_qp driver = { 0 };
	struct qp_parents parents;
	struct vmlx4_sq sq = { 0 };
	struct vmlx4_rq rq = { 0 };
	struct vmlx4_qp *qp;
	int ret = qp_type_check(adapter, request->qp_type);

	if (ret == 0)
		ret = qp_parents(ctx, request, &parents);
	if (ret == 0)
		ret = qp_room(adapter);
	if (ret < 0)
		return ret;
	has_rq = parents.recv_cq != NULL && parents.srq == NULL;
	if (!kernels)
		ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret == 0)
		ret = kernels ? rq_absent(request, &driver) :
			qp_queues(ctx, request, has_rq, &driver, &sq, &rq);
	if (ret < 0)
		return ret;
	qp = qp_build(ctx, request, &parents,
		raw && request->max_send_wr > 0 && adapter->profile->bf_reg_size != 0);
	if (qp == NULL)
		return -ENOMEM;
	qp_fill(qp, request, &sq, &rq, has_rq);
	if (!raw && (qp->ib = vmlx4_ib_new(qp)) == NULL) {
		vmlx4_qp_release(qp);
		return -ENOMEM;
	}
	if (!kernels)
		vmlx4_obj_pin(&qp->obj, driver.buf_addr, sq_bytes(&sq) + rq_bytes(&rq),
			has_rq ? driver.db_addr : 0);
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
	struct qp_parents parents = {
		.table = vmlx4_obj_find(ctx, command->rwq_ind_tbl_handle, VMLX4_TABLE),
		.pd = vmlx4_obj_find(ctx, command->pd_handle, VMLX4_PD),
	};
	struct vmlx4_qp *qp;
	int ret;

	if (command->qp_type == IBV_QPT_RAW_PACKET && ctx->adapter->options.no_net_raw)
		return -EPERM;
	if (parents.table == NULL || parents.pd == NULL || command->max_recv_wr != 0 ||
			command->max_recv_sge != 0 || command->is_srq != 0)
		return -EINVAL;
	if (command->max_send_wr != 0 || command->create_flags != 0 ||
			command->qp_type != IBV_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	ret = qp_room(ctx->adapter);
	if (ret < 0)
		return ret;
	qp = qp_build(ctx, &request, &parents, false);
	if (qp == NULL)
		return -ENOMEM;
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

struct vmlx4_qp *
vmlx4_qp_find(struct vmlx4_context *ctx, uint32_t handle)
{
	struct vmlx4_qp *qp = vmlx4_obj_find(ctx, handle, VMLX4_QP);

	return qp != NULL ? qp->real : NULL;
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
	qp = vmlx4_qp_find(ctx, request.qp_handle);
	if (qp == NULL)
		return -EINVAL;
	if (qp->table != NULL)
		return -EOPNOTSUPP;
	memset(&reply, 0, sizeof(reply));
	reply.qp_state = qp->state;
	reply.cur_qp_state = qp->state;
	/* Of the send side of a program's QP mlx4 knows the ring only: libmlx4 fills it in. */
	reply.max_recv_wr = qp->cap.recv_wr;
	reply.max_recv_sge = qp->cap.recv_sge;
	reply.sq_sig_all = qp->sq_sig_all;
	if (qp->state != IBV_QPS_RESET) {
		reply.port_num = qp->port->number;
		reply.path_mtu = RAW_QP_MTU;
		/* Stored as a power of two: none at all is not to be had. */
		reply.max_rd_atomic = 1;
		reply.max_dest_rd_atomic = 1;
		if (qp->ib != NULL)
			vmlx4_qp_attr_report(qp, &reply);
	}
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static void
queues_reset(struct vmlx4_qp *qp)
{
	if (qp->table != NULL) {
		if (qp->state != IBV_QPS_RESET)
			vmlx4_table_down(qp->table);
	} else if (qp->ib != NULL) {
		vmlx4_ib_reset(qp);
	} else if (qp->qp_type == IBV_QPT_RAW_PACKET) {
		vmlx4_sq_reset(qp);
		vmlx4_rq_reset(&qp->rq);
	}
}

void
vmlx4_qp_release(struct vmlx4_qp *qp)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint32_t index = qp->qpn & (VMLX4_QP_TABLE - 1);

	if (vmlx4_qp_handed_over(qp))
		return;
	queues_reset(qp);
	vmlx4_mcast_leave_all(qp);
	vmlx4_mw_unbind_qp(qp);
	adapter->qp_table[index] = NULL;
	vmlx4_qpn_free(adapter, index, 1);
	qp_disown(qp);
	vmlx4_ib_free(qp->ib);
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
