/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "../profile.h"
#include "uverbs.h"

/* Memory windows: their life. What they are bound to is a matter of the queues (hca/mw.c). */

static int
type_offered(const struct vmlx4_profile *profile, unsigned int type)
{
	uint64_t flag = type == IBV_MW_TYPE_1 ? IBV_DEVICE_MEM_WINDOW :
		IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return -EINVAL;
	return (profile->device_cap_flags & flag) != 0 ? 0 : -EOPNOTSUPP;
}

int
vmlx4_cmd_alloc_mw(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	struct ib_uverbs_alloc_mw_resp reply = { 0 };
	struct ib_uverbs_alloc_mw request;
	struct vmlx4_pd *pd;
	struct vmlx4_mw *mw;
	uint32_t rkey;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	pd = vmlx4_obj_find(ctx, request.pd_handle, VMLX4_PD);
	if (pd == NULL)
		return -EINVAL;
	ret = type_offered(adapter->profile, request.mw_type);
	if (ret == 0)
		ret = vmlx4_mr_key_alloc(adapter, &rkey);
	if (ret < 0)
		return ret;
	mw = vmlx4_obj_new(ctx, VMLX4_MW, sizeof(*mw));
	if (mw == NULL)
		return -ENOMEM;
	mw->pd = pd;
	pd->obj.users++;
	mw->type = request.mw_type;
	mw->rkey = rkey;
	adapter->mw_table[rkey >> 8] = mw;
	reply.mw_handle = mw->obj.handle;
	reply.rkey = rkey;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_mw_release(struct vmlx4_mw *mw)
{
	vmlx4_mw_unbind(mw);
	mw->obj.ctx->adapter->mw_table[mw->rkey >> 8] = NULL;
	mw->pd->obj.users--;
	vmlx4_obj_free(&mw->obj);
}

int
vmlx4_cmd_dealloc_mw(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_dealloc_mw request;
	struct vmlx4_mw *mw;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.mw_handle, VMLX4_MW, &mw);
	if (ret < 0)
		return ret;
	vmlx4_mw_release(mw);
	return 0;
}

/* A window is of the same context as the region and the QP: there its PD is. */
static void
unbind_of(struct vmlx4_context *ctx, const struct vmlx4_mr *mr, const struct vmlx4_qp *qp)
{
	struct vmlx4_obj *obj;

	TAILQ_FOREACH(obj, &ctx->objs, next) {
		struct vmlx4_mw *mw = (struct vmlx4_mw *)(void *)obj;

		if (obj->type == VMLX4_MW && ((mr != NULL && mw->mr == mr) ||
				(qp != NULL && mw->qp == qp)))
			vmlx4_mw_unbind(mw);
	}
}

void
vmlx4_mw_unbind_mr(struct vmlx4_mr *mr)
{
	if (mr->obj.users > 0)
		unbind_of(mr->obj.ctx, mr, NULL);
}

void
vmlx4_mw_unbind_qp(struct vmlx4_qp *qp)
{
	if (qp->obj.ctx->adapter->counts.mws > 0)
		unbind_of(qp->obj.ctx, NULL, qp);
}
