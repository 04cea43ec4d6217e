/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>

#include "../profile.h"
#include "uverbs.h"

int
vmlx4_cmd_alloc_pd(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_alloc_pd_resp reply = { 0 };
	struct mlx4_ib_alloc_pd_resp driver_reply = { 0 };
	struct vmlx4_pd *pd;

	if (ctx->adapter->counts.pds >= ctx->adapter->profile->max_pd)
		return -ENOMEM;
	pd = vmlx4_obj_new(ctx, VMLX4_PD, sizeof(*pd));
	if (pd == NULL)
		return -ENOMEM;
	/* libmlx4 stores it and hands it on to nobody; handles repeat per context. */
	pd->pdn = pd->obj.handle + 1;
	reply.pd_handle = pd->obj.handle;
	driver_reply.pdn = pd->pdn;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	vmlx4_cmd_drv_out(cmd, &driver_reply, sizeof(driver_reply));
	return 0;
}

void
vmlx4_pd_release(struct vmlx4_pd *pd)
{
	vmlx4_obj_free(&pd->obj);
}

int
vmlx4_cmd_dealloc_pd(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_dealloc_pd request;
	struct vmlx4_pd *pd;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.pd_handle, VMLX4_PD, &pd);
	if (ret < 0)
		return ret;
	vmlx4_pd_release(pd);
	return 0;
}
