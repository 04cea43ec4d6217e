/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include "../check/mr_check.h"
#include "uverbs.h"

#define ACCESS_NEEDS_LOCAL_WRITE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define ACCESS_WRITES (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
/* Flags a kernel knows; of these the card has no on-demand paging. */
#define ACCESS_KNOWN 0xffu
#define ACCESS_OPTIONAL 0x3ff00000u

static int
access_check(uint32_t access)
{
	if ((access & ~(ACCESS_KNOWN | ACCESS_OPTIONAL)) != 0 ||
			(access & IBV_ACCESS_ON_DEMAND) != 0)
		return -EINVAL;
	if ((access & ACCESS_NEEDS_LOCAL_WRITE) != 0 &&
			(access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	return 0;
}

/* The card maps whole pages: both addresses have the same place in one. */
static int
same_place(uint64_t start, uint64_t iova)
{
	uint64_t in_page = sysconf(_SC_PAGESIZE) - 1;

	return ((start ^ iova) & in_page) != 0 ? -EINVAL : 0;
}

static int
range_check(uint64_t start, uint64_t length, uint64_t iova, uint32_t access, bool *writable)
{
	int ret;

	if (length == 0 || start + length < start || iova + length < iova)
		return -EINVAL;
	ret = vmlx4_memory_look(start, length, writable);
	return ret == 0 && (access & ACCESS_WRITES) != 0 && !*writable ? -EFAULT : ret;
}

int
vmlx4_cmd_reg_mr(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	struct ib_uverbs_reg_mr request;
	struct ib_uverbs_reg_mr_resp reply = { 0 };
	struct vmlx4_pd *pd;
	struct vmlx4_mr *mr;
	uint32_t lkey;
	bool writable;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	pd = vmlx4_obj_find(ctx, request.pd_handle, VMLX4_PD);
	if (pd == NULL)
		return -EINVAL;
	ret = same_place(request.start, request.hca_va);
	if (ret == 0)
		ret = access_check(request.access_flags);
	if (ret == 0)
		ret = vmlx4_pin_check(ctx, request.start, request.length, 0, NULL);
	if (ret == 0)
		ret = range_check(request.start, request.length, request.hca_va,
			request.access_flags, &writable);
	if (ret == 0)
		ret = vmlx4_mr_key_alloc(adapter, &lkey);
	if (ret < 0)
		return ret;
	mr = vmlx4_obj_new(ctx, VMLX4_MR, sizeof(*mr));
	if (mr == NULL)
		return -ENOMEM;
	mr->pd = pd;
	pd->obj.users++;
	mr->lkey = lkey;
	mr->access = request.access_flags;
	mr->start = request.start;
	mr->length = request.length;
	mr->iova = request.hca_va;
	vmlx4_obj_pin(&mr->obj, mr->start, mr->length, 0);
	/* mlx4 pins for writing when it can, so that the access may be changed. */
	mr->writable = writable;
	adapter->mr_table[lkey >> 8] = mr;
	adapter->counts.mr_bytes += mr->length;
	adapter->counts.mrs_registered++;
	reply.mr_handle = mr->obj.handle;
	reply.lkey = lkey;
	reply.rkey = lkey;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static int
rereg_check(struct vmlx4_context *ctx, const struct ib_uverbs_rereg_mr *request,
	const struct vmlx4_mr *mr, struct vmlx4_pd **pd, bool *writable)
{
	int ret;

	*pd = mr->pd;
	if ((request->flags & IBV_REREG_MR_CHANGE_PD) != 0) {
		*pd = vmlx4_obj_find(ctx, request->pd_handle, VMLX4_PD);
		if (*pd == NULL)
			return -EINVAL;
	}
	if ((request->flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
		ret = access_check(request->access_flags);
		if (ret < 0)
			return ret;
		/* Memory that was pinned for reading does not become writable. */
		if ((request->access_flags & ACCESS_WRITES) != 0 && !mr->writable)
			return -EPERM;
	}
	if ((request->flags & IBV_REREG_MR_CHANGE_TRANSLATION) == 0)
		return 0;
	/* mlx4 pins the new range for the access that stands in the command. */
	ret = vmlx4_pin_check(ctx, request->start, request->length, 0, &mr->obj);
	if (ret == 0)
		ret = range_check(request->start, request->length, request->hca_va,
			request->access_flags, writable);
	return ret;
}

/* What needs no object to be found wrong. */
static int
rereg_flags(const struct ib_uverbs_rereg_mr *request)
{
	if (request->flags == 0)
		return -EINVAL;
	if ((request->flags & ~(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			IBV_REREG_MR_CHANGE_ACCESS)) != 0)
		return -EOPNOTSUPP;
	return (request->flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0 ?
		same_place(request->start, request->hca_va) : 0;
}

int
vmlx4_cmd_rereg_mr(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_rereg_mr request;
	struct ib_uverbs_rereg_mr_resp reply = { 0 };
	struct vmlx4_mr *mr;
	struct vmlx4_pd *pd;
	bool writable;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	ret = rereg_flags(&request);
	if (ret == 0)
		ret = vmlx4_obj_get(ctx, request.mr_handle, VMLX4_MR, &mr);
	if (ret < 0)
		return ret;
	ret = rereg_check(ctx, &request, mr, &pd, &writable);
	if (ret < 0)
		return ret;
	vmlx4_mr_check_use(mr);
	if (pd != mr->pd) {
		mr->pd->obj.users--;
		pd->obj.users++;
		mr->pd = pd;
		/* The PD may be younger than the MR: keep the order of release. */
		TAILQ_REMOVE(&ctx->objs, &mr->obj, next);
		TAILQ_INSERT_HEAD(&ctx->objs, &mr->obj, next);
	}
	if ((request.flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
		mr->access = request.access_flags;
	if ((request.flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		ctx->adapter->counts.mr_bytes += request.length - mr->length;
		mr->start = request.start;
		mr->length = request.length;
		mr->iova = request.hca_va;
		mr->writable = writable;
		vmlx4_obj_pin(&mr->obj, mr->start, mr->length, 0);
	}
	reply.lkey = mr->lkey;
	reply.rkey = mr->lkey;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_mr_release(struct vmlx4_mr *mr)
{
	struct vmlx4_adapter *adapter = mr->obj.ctx->adapter;

	vmlx4_mw_unbind_mr(mr);
	adapter->mr_table[mr->lkey >> 8] = NULL;
	adapter->counts.mr_bytes -= mr->length;
	mr->pd->obj.users--;
	vmlx4_obj_free(&mr->obj);
}

int
vmlx4_cmd_dereg_mr(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_dereg_mr request;
	struct vmlx4_mr *mr;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.mr_handle, VMLX4_MR, &mr);
	if (ret < 0)
		return ret;
	vmlx4_mr_check_use(mr);
	vmlx4_mr_release(mr);
	return 0;
}
