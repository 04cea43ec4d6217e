/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "../hca/guard.h"
#include "uverbs.h"

/* Attributes of the first version of the interface. */
#define LEGACY_ATTRS ((IBV_QP_DEST_QPN << 1) - 1u)

/*
 * States of a RAW_PACKET QP, as the verbs core lets them follow each other.
 *
 *          to: RESET  INIT   RTR    RTS    SQD    SQE    ERR
 * RESET        yes    PORT   -      -      -      -      yes
 * INIT         yes    yes    yes    -      -      -      yes
 * RTR          yes    -      -      yes    -      -      yes
 * RTS          yes    -      -      yes    yes    -      yes
 * SQD          yes    -      -      yes    yes    -      yes
 * ERR          yes    -      -      -      -      -      yes
 *
 * No step takes another attribute than STATE and, from RESET to INIT, PORT.
 */
enum step { ILLEGAL, LEGAL, NEEDS_PORT };

static const uint8_t steps[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_INIT] = NEEDS_PORT,
		[IBV_QPS_ERR] = LEGAL,
	},
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_INIT] = LEGAL,
		[IBV_QPS_RTR] = LEGAL,
		[IBV_QPS_ERR] = LEGAL,
	},
	[IBV_QPS_RTR] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_RTS] = LEGAL,
		[IBV_QPS_ERR] = LEGAL,
	},
	[IBV_QPS_RTS] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_RTS] = LEGAL,
		[IBV_QPS_SQD] = LEGAL,
		[IBV_QPS_ERR] = LEGAL,
	},
	[IBV_QPS_SQD] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_RTS] = LEGAL,
		[IBV_QPS_SQD] = LEGAL,
		[IBV_QPS_ERR] = LEGAL,
	},
	[IBV_QPS_ERR] = {
		[IBV_QPS_RESET] = LEGAL,
		[IBV_QPS_ERR] = LEGAL,
	},
};

static int
port_of(struct vmlx4_adapter *adapter, unsigned int number, struct vmlx4_port **port)
{
	if (number < 1 || number > adapter->options.ports)
		return -EINVAL;
	*port = &adapter->ports[number - 1];
	/* Raw packets need Ethernet. */
	return (*port)->infiniband ? -EINVAL : 0;
}

static int
step_check(uint32_t from, uint32_t to, uint32_t mask)
{
	uint32_t wanted = 0;

	switch (steps[from][to]) {
	case LEGAL:
		break;
	case NEEDS_PORT:
		wanted = IBV_QP_PORT;
		break;
	default:
		return -EINVAL;
	}
	return (mask & ~(uint32_t)IBV_QP_STATE) == wanted ? 0 : -EINVAL;
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

/* An RSS QP goes up only; it comes down when it is destroyed. */
static int
rss_modify(struct vmlx4_qp *qp, uint32_t to, uint32_t mask, struct vmlx4_port *port)
{
	int ret;

	/* What no QP may do comes first, then what this kind may not. */
	ret = step_check(qp->state, to, mask);
	if (ret == 0 && (qp->state != IBV_QPS_RESET || to != IBV_QPS_INIT) &&
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

static int
qp_modify(struct vmlx4_context *ctx, const struct ib_uverbs_modify_qp *request)
{
	uint32_t mask = request->attr_mask;
	struct vmlx4_port *port = NULL;
	struct vmlx4_qp *qp;
	uint32_t to;
	int ret;

	qp = vmlx4_obj_find(ctx, request->qp_handle, VMLX4_QP);
	if (qp == NULL)
		return -EINVAL;
	if ((mask & IBV_QP_PORT) != 0) {
		ret = port_of(ctx->adapter, request->port_num, &port);
		if (ret < 0)
			return ret;
	}
	to = (mask & IBV_QP_STATE) != 0 ? request->qp_state : qp->state;
	if (to > IBV_QPS_ERR)
		return -EINVAL;
	if (qp->table != NULL)
		return rss_modify(qp, to, mask, port);
	ret = step_check(qp->state, to, mask);
	if (ret == 0)
		raw_step(qp, to, port);
	return ret;
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
