/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "../hca/guard.h"
#include "uverbs.h"

/* Attributes of the first version of the interface. */
#define LEGACY_ATTRS ((IBV_QP_DEST_QPN << 1) - 1u)

static int
port_of(const struct vmlx4_qp *qp, unsigned int number, struct vmlx4_port **port)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;

	if (number < 1 || number > adapter->options.ports)
		return -EINVAL;
	*port = &adapter->ports[number - 1];
	/* Raw packets need Ethernet. */
	return qp->qp_type == IBV_QPT_RAW_PACKET && (*port)->infiniband ? -EINVAL : 0;
}

/* Reads what is posted, to flush it. */
static void
queues_error(void *arg)
{
	struct vmlx4_qp *qp = arg;

	vmlx4_sq_error(qp);
	vmlx4_rq_error(&qp->rq);
}

static void
raw_step(struct vmlx4_qp *qp, uint32_t to, struct vmlx4_port *port)
{
	uint32_t from = qp->state;

	qp->state = to;
	if (from == to)
		return;
	switch (to) {
	case IBV_QPS_RESET:
		vmlx4_sq_reset(qp);
		vmlx4_rq_reset(&qp->rq);
		qp->port = NULL;
		qp->sq.port = NULL;
		break;
	case IBV_QPS_INIT:
		qp->port = port;
		qp->sq.port = port;
		break;
	case IBV_QPS_RTR:
		vmlx4_rq_ready(&qp->rq);
		break;
	case IBV_QPS_RTS:
		vmlx4_sq_ready(qp);
		break;
	case IBV_QPS_SQD:
		/* A WQE is executed in one go: none is under way that could be waited for. */
		vmlx4_sq_pause(qp);
		break;
	case IBV_QPS_ERR:
		vmlx4_guarded(qp->obj.ctx->adapter, queues_error, qp);
		break;
	}
}

static void
transport_error(void *arg)
{
	vmlx4_ib_error(arg);
}

/* The same for a QP with a transport, whose attributes are stored. */
static void
transport_step(struct vmlx4_qp *qp, uint32_t to, struct vmlx4_port *port, bool notify)
{
	uint32_t from = qp->state;

	if (port != NULL)
		qp->port = qp->sq.port = port;
	qp->state = to;
	if (from == to)
		return;
	switch (to) {
	case IBV_QPS_RESET:
		vmlx4_ib_reset(qp);
		memset(vmlx4_ib_attr(qp->ib), 0, sizeof(*vmlx4_ib_attr(qp->ib)));
		qp->port = qp->sq.port = NULL;
		break;
	case IBV_QPS_RTR:
		vmlx4_ib_rtr(qp);
		break;
	case IBV_QPS_RTS:
		vmlx4_ib_rts(qp);
		break;
	case IBV_QPS_SQD:
		vmlx4_ib_sqd(qp, notify);
		break;
	case IBV_QPS_ERR:
		vmlx4_guarded(qp->obj.ctx->adapter, transport_error, qp);
		break;
	}
}

/* An RSS QP goes up only; it comes down when it is destroyed. */
static int
rss_modify(struct vmlx4_qp *qp, uint32_t to, struct vmlx4_port *port)
{
	int ret = 0;

	if ((qp->state != IBV_QPS_RESET || to != IBV_QPS_INIT) &&
			(qp->state != IBV_QPS_INIT || to != IBV_QPS_RTR))
		ret = -EOPNOTSUPP;
	if (ret == 0 && to == IBV_QPS_INIT)
		ret = vmlx4_table_up(qp->table, port);
	if (ret < 0)
		return ret;
	if (to == IBV_QPS_INIT)
		qp->port = port;
	qp->state = to;
	return 0;
}

/*
 * What uverbs asks of the port numbers of a path, before the step is looked at: that
 * of the address is the QP's, and a drained queue that gets a new address gets its
 * port as well.
 */
static int
path_port(const struct vmlx4_qp *qp, struct ib_uverbs_modify_qp *request, uint32_t *mask)
{
	const struct ib_uverbs_qp_dest *dest = &request->dest;

	if ((*mask & IBV_QP_AV) == 0)
		return 0;
	if (dest->port_num < 1 || dest->port_num > qp->obj.ctx->adapter->options.ports)
		return -EINVAL;
	if ((*mask & IBV_QP_STATE) != 0 && request->qp_state == IBV_QPS_RTR)
		return qp->port != NULL && dest->port_num == qp->port->number ? 0 : -EINVAL;
	if ((*mask & IBV_QP_PORT) != 0)
		return dest->port_num == request->port_num ? 0 : -EINVAL;
	*mask |= IBV_QP_PORT;
	request->port_num = dest->port_num;
	return 0;
}

static int
transport_modify(struct vmlx4_qp *qp, const struct ib_uverbs_modify_qp *request, uint32_t mask,
	uint32_t to, struct vmlx4_port *port)
{
	uint8_t mac[6] = { 0 };
	int ret = vmlx4_qp_attr_check(qp, request, mask, port != NULL ? port : qp->port, mac);

	if (ret < 0)
		return ret;
	if (to == IBV_QPS_RTS && !vmlx4_ib_requests_new(qp))
		return -ENOMEM;
	/* The attributes first: the step may begin to use them. */
	vmlx4_qp_attr_store(qp, request, mask, mac);
	transport_step(qp, to, port, (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 &&
		request->en_sqd_async_notify != 0);
	return 0;
}

static int
qp_modify(struct vmlx4_context *ctx, struct ib_uverbs_modify_qp *request)
{
	uint32_t mask = request->attr_mask;
	struct vmlx4_port *port = NULL;
	struct vmlx4_qp *qp;
	uint32_t from, to;
	int ret = 0;

	qp = vmlx4_qp_find(ctx, request->qp_handle);
	if (qp == NULL)
		return -EINVAL;
	ret = path_port(qp, request, &mask);
	if (ret == 0 && (mask & IBV_QP_PORT) != 0)
		ret = port_of(qp, request->port_num, &port);
	if (ret < 0)
		return ret;
	mask = vmlx4_qp_mask(qp->qp_type, mask);
	from = (mask & IBV_QP_CUR_STATE) != 0 ? request->cur_qp_state : qp->state;
	to = (mask & IBV_QP_STATE) != 0 ? request->qp_state : from;
	/* The program may be wrong about where the QP is: then the card refuses. */
	if (from > IBV_QPS_ERR || to > IBV_QPS_ERR || from != qp->state ||
			!vmlx4_qp_step_legal(qp->qp_type, from, to, mask))
		return -EINVAL;
	if (qp->table != NULL)
		return rss_modify(qp, to, port);
	if (qp->ib != NULL)
		return transport_modify(qp, request, mask, to, port);
	raw_step(qp, to, port);
	return 0;
}

int
vmlx4_cmd_modify_qp(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_modify_qp request;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if ((request.attr_mask & ~LEGACY_ATTRS) != 0)
		return -EOPNOTSUPP;
	return qp_modify(ctx, &request);
}

int
vmlx4_cmd_modify_qp_ex(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_modify_qp request;
	struct ib_uverbs_ex_modify_qp_resp reply = { 0 };
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	/* IBV_QP_RATE_LIMIT is the only attribute this form adds; mlx4 has none. */
	if ((request.base.attr_mask & ~LEGACY_ATTRS) != 0)
		return -EOPNOTSUPP;
	ret = qp_modify(ctx, &request.base);
	if (ret < 0)
		return ret;
	reply.response_length = sizeof(reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}
