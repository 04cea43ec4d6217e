/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uverbs.h"

static uint32_t *
obj_count(struct vmlx4_adapter *adapter, enum vmlx4_obj_type type)
{
	struct vmlx4_object_counts *counts = &adapter->counts;

	switch (type) {
	case VMLX4_PD:
		return &counts->pds;
	case VMLX4_MR:
		return &counts->mrs;
	case VMLX4_CHANNEL:
		return &counts->channels;
	case VMLX4_CQ:
		return &counts->cqs;
	case VMLX4_QP:
		return &counts->qps;
	case VMLX4_WQ:
		return &counts->wqs;
	case VMLX4_TABLE:
		return &counts->tables;
	case VMLX4_FLOW:
		return &counts->flows;
	case VMLX4_SRQ:
		return &counts->srqs;
	case VMLX4_MW:
		return &counts->mws;
	case VMLX4_XRCD:
		return &counts->xrcds;
	case VMLX4_OBJ_TYPES:
		break;
	}
	abort();
}

static int
handle_alloc(struct vmlx4_context *ctx, uint32_t *handle)
{
	uint32_t i = ctx->handle_hint, room;
	struct vmlx4_obj **table;

	while (i < ctx->handle_room && ctx->by_handle[i] != NULL)
		i++;
	if (i == ctx->handle_room) {
		room = ctx->handle_room == 0 ? 64 : 2 * ctx->handle_room;
		table = realloc(ctx->by_handle, room * sizeof(table[0]));
		if (table == NULL)
			return -ENOMEM;
		memset(&table[i], 0, (room - i) * sizeof(table[0]));
		ctx->by_handle = table;
		ctx->handle_room = room;
	}
	ctx->handle_hint = i + 1;
	*handle = i;
	return 0;
}

void *
vmlx4_obj_new(struct vmlx4_context *ctx, enum vmlx4_obj_type type, size_t size)
{
	struct vmlx4_obj *obj = vmlx4_zalloc(size);

	if (obj == NULL || handle_alloc(ctx, &obj->handle) < 0) {
		free(obj);
		return NULL;
	}
	obj->type = type;
	obj->ctx = ctx;
	ctx->by_handle[obj->handle] = obj;
	TAILQ_INSERT_HEAD(&ctx->objs, obj, next);
	(*obj_count(ctx->adapter, type))++;
	return obj;
}

void
vmlx4_obj_free(struct vmlx4_obj *obj)
{
	struct vmlx4_context *ctx = obj->ctx;

	vmlx4_obj_unpin(obj);
	ctx->by_handle[obj->handle] = NULL;
	if (obj->handle < ctx->handle_hint)
		ctx->handle_hint = obj->handle;
	TAILQ_REMOVE(&ctx->objs, obj, next);
	(*obj_count(ctx->adapter, obj->type))--;
	free(obj);
}

void
vmlx4_obj_swap(struct vmlx4_obj *a, struct vmlx4_obj *b)
{
	struct vmlx4_obj place = *a;

	TAILQ_REMOVE(&a->ctx->objs, a, next);
	TAILQ_INSERT_BEFORE(b, a, next);
	TAILQ_REMOVE(&b->ctx->objs, b, next);
	TAILQ_INSERT_HEAD(&place.ctx->objs, b, next);
	a->ctx = b->ctx;
	a->handle = b->handle;
	a->user_handle = b->user_handle;
	b->ctx = place.ctx;
	b->handle = place.handle;
	b->user_handle = place.user_handle;
	a->ctx->by_handle[a->handle] = a;
	b->ctx->by_handle[b->handle] = b;
}

void *
vmlx4_obj_find(struct vmlx4_context *ctx, uint32_t handle, enum vmlx4_obj_type type)
{
	struct vmlx4_obj *obj;

	if (handle >= ctx->handle_room)
		return NULL;
	obj = ctx->by_handle[handle];
	return obj != NULL && obj->type == type ? obj : NULL;
}

int
vmlx4_obj_get(struct vmlx4_context *ctx, uint32_t handle, enum vmlx4_obj_type type, void *found)
{
	struct vmlx4_obj *obj = vmlx4_obj_find(ctx, handle, type);

	if (obj == NULL)
		return handle < ctx->handle_room && ctx->by_handle[handle] != NULL ?
			-EINVAL : -ENOENT;
	*(struct vmlx4_obj **)found = obj;
	return 0;
}

int
vmlx4_obj_find_idle(struct vmlx4_context *ctx, uint32_t handle, enum vmlx4_obj_type type,
	void *found)
{
	int ret = vmlx4_obj_get(ctx, handle, type, found);

	return ret == 0 && (*(struct vmlx4_obj **)found)->users > 0 ? -EBUSY : ret;
}

static void
obj_release(struct vmlx4_obj *obj)
{
	/* obj is the first member of each of these. */
	switch (obj->type) {
	case VMLX4_PD:
		vmlx4_pd_release((struct vmlx4_pd *)obj);
		break;
	case VMLX4_MR:
		vmlx4_mr_release((struct vmlx4_mr *)obj);
		break;
	case VMLX4_CHANNEL:
		vmlx4_channel_release((struct vmlx4_channel *)obj);
		break;
	case VMLX4_CQ:
		vmlx4_cq_release((struct vmlx4_cq *)obj);
		break;
	case VMLX4_QP:
		vmlx4_qp_release((struct vmlx4_qp *)obj);
		break;
	case VMLX4_WQ:
		vmlx4_wq_release((struct vmlx4_wq *)obj);
		break;
	case VMLX4_TABLE:
		vmlx4_table_release((struct vmlx4_table *)obj);
		break;
	case VMLX4_FLOW:
		vmlx4_flow_release((struct vmlx4_flow *)obj);
		break;
	case VMLX4_SRQ:
		vmlx4_srq_release((struct vmlx4_srq *)obj);
		break;
	case VMLX4_MW:
		vmlx4_mw_release((struct vmlx4_mw *)obj);
		break;
	case VMLX4_XRCD:
		vmlx4_xrcd_release((struct vmlx4_xrcd *)obj);
		break;
	case VMLX4_OBJ_TYPES:
		abort();
	}
}

/* An object refers only to older ones, so the youngest goes first. */
void
vmlx4_obj_release_all(struct vmlx4_context *ctx)
{
	struct vmlx4_obj *obj;

	ctx->closing = true;
	while ((obj = TAILQ_FIRST(&ctx->objs)) != NULL)
		obj_release(obj);
	free(ctx->by_handle);
	ctx->by_handle = NULL;
	ctx->handle_room = 0;
	ctx->handle_hint = 0;
}
