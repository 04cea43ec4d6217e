/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "uverbs.h"

/*
 * An XRC receiver belongs to its domain: whoever has the domain open may have a
 * handle of the QP too, and the QP lasts until the last handle goes. Its object is
 * that of one handle; each other is an object of its own that leads there.
 */

static struct vmlx4_qp *
find_in_domain(const struct vmlx4_adapter *adapter, const struct vmlx4_xrcd *xrcd, uint32_t qpn)
{
	struct vmlx4_qp *qp = vmlx4_qp_by_number(adapter, qpn);

	return qp != NULL && qp->xrcd != NULL && qp->xrcd->xrcdn == xrcd->xrcdn ? qp : NULL;
}

int
vmlx4_cmd_open_qp(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_create_qp_resp reply = { 0 };
	struct ib_uverbs_open_qp request;
	struct vmlx4_qp *real, *handle;
	struct vmlx4_xrcd *xrcd;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	xrcd = vmlx4_obj_find(ctx, request.pd_handle, VMLX4_XRCD);
	if (xrcd == NULL || request.qp_type != IBV_QPT_XRC_RECV)
		return -EINVAL;
	real = find_in_domain(ctx->adapter, xrcd, request.qpn);
	if (real == NULL)
		return -EINVAL;
	handle = vmlx4_obj_new(ctx, VMLX4_QP, sizeof(*handle));
	if (handle == NULL)
		return -ENOMEM;
	handle->obj.user_handle = request.user_handle;
	handle->qpn = real->qpn;
	handle->qp_type = real->qp_type;
	handle->xrcd = xrcd;
	xrcd->obj.users++;
	handle->real = real;
	TAILQ_INIT(&handle->opened);
	TAILQ_INSERT_TAIL(&real->opened, handle, opened_next);
	reply.qp_handle = handle->obj.handle;
	reply.qpn = real->qpn;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static void
handle_free(struct vmlx4_qp *handle)
{
	handle->xrcd->obj.users--;
	vmlx4_obj_free(&handle->obj);
}

bool
vmlx4_qp_handed_over(struct vmlx4_qp *qp)
{
	struct vmlx4_qp *heir = TAILQ_FIRST(&qp->opened);
	struct vmlx4_xrcd *xrcd = qp->xrcd;
	uint32_t events = qp->async_events;

	if (qp->real != qp) {
		TAILQ_REMOVE(&qp->real->opened, qp, opened_next);
		handle_free(qp);
		return true;
	}
	if (heir == NULL)
		return false;
	TAILQ_REMOVE(&qp->opened, heir, opened_next);
	vmlx4_obj_swap(&qp->obj, &heir->obj);
	qp->xrcd = heir->xrcd;
	qp->async_events = heir->async_events;
	heir->xrcd = xrcd;
	heir->async_events = events;
	handle_free(heir);
	return true;
}
