/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>

#include "../fault/fault.h"
#include "../hca/guard.h"
#include "../hca/hw.h"
#include "../profile.h"
#include "../trace/trace.h"
#include "uverbs.h"

#define CQ_ATTR_MODERATE 1u
#define CQE_OP_RESIZE 0x16u /* tells the program to go on in the new buffer */

/* What both forms of the command ask for. */
struct cq_request {
	uint64_t user_handle;
	uint32_t cqe;
	uint32_t comp_vector;
	int32_t comp_channel;
	bool timestamps;
};

static int
cq_channel(struct vmlx4_context *ctx, int32_t fd, struct vmlx4_channel **channel)
{
	*channel = NULL;
	if (fd < 0)
		return 0;
	*channel = vmlx4_fd_get(fd, VMLX4_FD_CHANNEL);
	if (*channel == NULL || (*channel)->obj.ctx != ctx)
		return -EBADF;
	return 0;
}

static int
cq_check(struct vmlx4_context *ctx, const struct cq_request *request,
	const struct mlx4_ib_create_cq *driver, uint32_t cqe_cnt)
{
	const struct vmlx4_adapter *adapter = ctx->adapter;
	uint64_t size = (uint64_t)cqe_cnt * adapter->options.cqe_size;
	int ret;

	ret = vmlx4_pin_check(ctx, driver->buf_addr, size, driver->db_addr, NULL);
	if (ret == 0)
		ret = vmlx4_memory_check_queue(driver->buf_addr, size);
	if (ret < 0)
		return ret;
	/* No timestamps without a clock. */
	if (request->timestamps && adapter->profile->core_clock_khz == 0)
		return -EINVAL;
	return vmlx4_memory_check_db(driver->db_addr, 2 * sizeof(uint32_t));
}

static void
cq_init(void *cq)
{
	vmlx4_cq_init(cq);
}

static int
cq_create(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd,
	const struct cq_request *request, struct vmlx4_cq **result)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	struct mlx4_ib_create_cq driver;
	struct mlx4_ib_create_cq_resp reply = { 0 };
	struct vmlx4_channel *channel;
	struct vmlx4_cq *cq;
	uint32_t cqn, cqe_cnt;
	int ret;

	if (request->comp_vector >= VMLX4_COMP_VECTORS)
		return -EINVAL;
	ret = cq_channel(ctx, request->comp_channel, &channel);
	if (ret < 0)
		return ret;
	if (request->cqe < 1 || request->cqe > adapter->profile->max_cqe)
		return -EINVAL;
	cqe_cnt = vmlx4_round_up_pow2(request->cqe + 1);
	ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret == 0)
		ret = cq_check(ctx, request, &driver, cqe_cnt);
	if (ret == 0)
		ret = vmlx4_cqn_alloc(adapter, &cqn);
	if (ret < 0)
		return ret;
	cq = vmlx4_obj_new(ctx, VMLX4_CQ, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->obj.user_handle = request->user_handle;
	cq->channel = channel;
	if (channel != NULL)
		channel->obj.users++;
	cq->cqn = cqn;
	cq->cqe_cnt = cqe_cnt;
	cq->cqe_size = adapter->options.cqe_size;
	cq->buf = (uint8_t *)(uintptr_t)driver.buf_addr;
	cq->db = (uint32_t *)(uintptr_t)driver.db_addr;
	cq->timestamps = request->timestamps;
	cq->fired_sn = 0xff;
	cq->error = true; /* until it has entries: no event tells of it */
	if (!vmlx4_guarded(adapter, cq_init, cq)) {
		/* Unmapped since it was looked at. */
		vmlx4_cq_release(cq);
		return -EFAULT;
	}
	vmlx4_obj_pin(&cq->obj, driver.buf_addr, (uint64_t)cqe_cnt * cq->cqe_size,
		driver.db_addr);
	adapter->cq_table[cqn] = cq;
	reply.cqn = cqn;
	vmlx4_cmd_drv_out(cmd, &reply, sizeof(reply));
	*result = cq;
	return 0;
}

int
vmlx4_cmd_create_cq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_create_cq request;
	struct ib_uverbs_create_cq_resp reply;
	struct cq_request wanted;
	struct vmlx4_cq *cq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	wanted = (struct cq_request){
		.user_handle = request.user_handle,
		.cqe = request.cqe,
		.comp_vector = request.comp_vector,
		.comp_channel = request.comp_channel,
	};
	ret = cq_create(ctx, cmd, &wanted, &cq);
	if (ret < 0)
		return ret;
	reply.cq_handle = cq->obj.handle;
	reply.cqe = cq->cqe_cnt - 1;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

int
vmlx4_cmd_create_cq_ex(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_create_cq request;
	struct ib_uverbs_ex_create_cq_resp reply = { 0 };
	struct cq_request wanted;
	struct vmlx4_cq *cq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	/* This card cannot be told to ignore overruns. */
	if (request.comp_mask != 0 || request.reserved != 0 ||
			(request.flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) != 0)
		return -EINVAL;
	wanted = (struct cq_request){
		.user_handle = request.user_handle,
		.cqe = request.cqe,
		.comp_vector = request.comp_vector,
		.comp_channel = request.comp_channel,
		.timestamps = request.flags != 0,
	};
	ret = cq_create(ctx, cmd, &wanted, &cq);
	if (ret < 0)
		return ret;
	reply.base.cq_handle = cq->obj.handle;
	reply.base.cqe = cq->cqe_cnt - 1;
	reply.response_length = cmd->out_len < sizeof(reply) ? cmd->out_len : sizeof(reply);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

static uint8_t *
cqe_last_byte(uint8_t *buf, uint32_t index, uint32_t cqe_cnt, uint32_t cqe_size)
{
	return buf + ((size_t)(index & (cqe_cnt - 1)) + 1) * cqe_size - 1;
}

static uint8_t
cqe_owner(uint32_t index, uint32_t cqe_cnt)
{
	return (index & cqe_cnt) != 0 ? VMLX4_HW_CQE_OWNER : 0;
}

struct cq_change {
	struct vmlx4_cq *cq;
	uint8_t *buf; /* the new one */
	uint32_t cqe_cnt;
};

/*
 * Every slot of the new buffer is invalid for the pass in which it is written
 * first. Then the special entry in the old buffer hands over, last.
 */
static void
cq_switch(void *arg)
{
	const struct cq_change *change = arg;
	struct vmlx4_cq *cq = change->cq;
	uint32_t first = cq->pi + 1, i, cqe_cnt = change->cqe_cnt;
	uint8_t *buf = change->buf;
	uint8_t *old = cqe_last_byte(cq->buf, cq->pi, cq->cqe_cnt, cq->cqe_size);
	uint8_t owner = cqe_owner(cq->pi, cq->cqe_cnt);
	const struct vmlx4_hw_cqe last = { .owner_op = htobe32(CQE_OP_RESIZE | owner) };

	for (i = first; i != first + cqe_cnt; i++)
		*cqe_last_byte(buf, i, cqe_cnt, cq->cqe_size) =
			cqe_owner(i, cqe_cnt) ^ VMLX4_HW_CQE_OWNER;
	vmlx4_fault_cq_gone(cq); /* none is kept back during this command */
	vmlx4_trace_cqe(cq, &last);
	cq->buf = buf;
	cq->cqe_cnt = cqe_cnt;
	cq->pi = first;
	cq->room = 0; /* it counted entries of the old buffer */
	__atomic_store_n(old, CQE_OP_RESIZE | owner, __ATOMIC_RELEASE);
}

int
vmlx4_cmd_resize_cq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_resize_cq request;
	struct ib_uverbs_resize_cq_resp reply = { 0 };
	struct mlx4_ib_resize_cq driver;
	struct cq_change change;
	struct vmlx4_cq *cq;
	uint32_t cqe_cnt;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	cq = vmlx4_obj_find(ctx, request.cq_handle, VMLX4_CQ);
	if (cq == NULL || request.cqe < 1 || request.cqe > ctx->adapter->profile->max_cqe)
		return -EINVAL;
	cqe_cnt = vmlx4_round_up_pow2(request.cqe + 1);
	if (cqe_cnt != cq->cqe_cnt) {
		/* Old libraries leave mlx4's part out; a kernel then answers EFAULT. */
		if (vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver)) < 0)
			return -EFAULT;
		/* The old one is given back when the new one is there. */
		ret = vmlx4_pin_check(ctx, driver.buf_addr, (uint64_t)cqe_cnt * cq->cqe_size, 0,
			NULL);
		if (ret == 0)
			ret = vmlx4_memory_check_queue(driver.buf_addr,
				(uint64_t)cqe_cnt * cq->cqe_size);
		if (ret < 0)
			return ret;
		/* The entry that hands over needs a place in the old buffer. */
		if (cq->error || !vmlx4_cq_has_room(cq))
			return -EBUSY;
		change = (struct cq_change){
			.cq = cq,
			.buf = (uint8_t *)(uintptr_t)driver.buf_addr,
			.cqe_cnt = cqe_cnt,
		};
		if (!vmlx4_guarded(ctx->adapter, cq_switch, &change))
			return -EFAULT;
		vmlx4_obj_pin(&cq->obj, driver.buf_addr, (uint64_t)cqe_cnt * cq->cqe_size, 0);
	}
	reply.cqe = cq->cqe_cnt - 1;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

int
vmlx4_cmd_modify_cq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_modify_cq request;
	struct vmlx4_cq *cq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if (request.attr_mask == 0 || request.reserved != 0)
		return -EINVAL;
	if (request.attr_mask != CQ_ATTR_MODERATE)
		return -EOPNOTSUPP;
	cq = vmlx4_obj_find(ctx, request.cq_handle, VMLX4_CQ);
	if (cq == NULL)
		return -EINVAL;
	vmlx4_moderation_set(cq, request.attr.cq_count, request.attr.cq_period);
	return 0;
}

void
vmlx4_cq_release(struct vmlx4_cq *cq)
{
	struct vmlx4_context *ctx = cq->obj.ctx;
	struct vmlx4_channel *channel = cq->channel;

	ctx->adapter->cq_table[cq->cqn] = NULL;
	vmlx4_fault_cq_gone(cq);
	vmlx4_moderation_end(cq);
	vmlx4_obj_free(&cq->obj);
	if (channel == NULL)
		return;
	channel->obj.users--;
	/* The program closed the channel before the CQ. */
	if (channel->obj.users == 0 && channel->fd < 0)
		vmlx4_channel_release(channel);
}

int
vmlx4_cmd_destroy_cq(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_destroy_cq request;
	struct ib_uverbs_destroy_cq_resp reply;
	struct vmlx4_cq *cq;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.cq_handle, VMLX4_CQ, &cq);
	if (ret < 0)
		return ret;
	/* The library waits until this many were acknowledged: only those read count. */
	reply.comp_events_reported = cq->comp_events - vmlx4_comp_drop(cq);
	reply.async_events_reported = cq->async_events -
		vmlx4_async_drop(ctx, cq->obj.user_handle, VMLX4_CQ_EVENT_CODES);
	vmlx4_cq_release(cq);
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}
