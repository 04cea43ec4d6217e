/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "../adapter.h"
#include "../check/uar_check.h"
#include "../fault/fault.h"
#include "../hca/guard.h"
#include "../profile.h"
#include "../trace/trace.h"
#include "uverbs.h"

/*
 * The device file's write(): a header, a fixed core part, mlx4's own part. The
 * sizes are checked as the kernel checks them; what is not in the tables is not
 * offered (EOPNOTSUPP), never a pretended success.
 *
 * What a kernel asks of a user is in privileges.c: nothing, unless wanted.
 */

#define COMMAND_MAX (2 * 8 * 65536u + 64)

struct method {
	vmlx4_handler *handler;
	uint16_t in_size;   /* least core request */
	uint16_t out_size;  /* least core reply; 0: none */
	bool driver_part;   /* what follows the core part is mlx4's */
};

#define END_OF(type, member) \
	(offsetof(type, member) + sizeof(((type *)NULL)->member))
#define IO(handler, request, reply) \
	{ handler, sizeof(struct request), sizeof(struct reply), false }
#define IO_DRIVER(handler, request, reply) \
	{ handler, sizeof(struct request), sizeof(struct reply), true }
#define IN(handler, request) { handler, sizeof(struct request), 0, false }

static const struct method methods[] = {
	[IB_USER_VERBS_CMD_GET_CONTEXT] = IO_DRIVER(vmlx4_cmd_get_context,
		ib_uverbs_get_context, ib_uverbs_get_context_resp),
	[IB_USER_VERBS_CMD_QUERY_DEVICE] = IO(vmlx4_cmd_query_device,
		ib_uverbs_query_device, ib_uverbs_query_device_resp),
	[IB_USER_VERBS_CMD_QUERY_PORT] = IO(vmlx4_cmd_query_port,
		ib_uverbs_query_port, ib_uverbs_query_port_resp),
	[IB_USER_VERBS_CMD_ALLOC_PD] = IO_DRIVER(vmlx4_cmd_alloc_pd,
		ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp),
	[IB_USER_VERBS_CMD_DEALLOC_PD] = IN(vmlx4_cmd_dealloc_pd, ib_uverbs_dealloc_pd),
	[IB_USER_VERBS_CMD_REG_MR] = IO_DRIVER(vmlx4_cmd_reg_mr,
		ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp),
	[IB_USER_VERBS_CMD_REREG_MR] = IO_DRIVER(vmlx4_cmd_rereg_mr,
		ib_uverbs_rereg_mr, ib_uverbs_rereg_mr_resp),
	[IB_USER_VERBS_CMD_DEREG_MR] = IN(vmlx4_cmd_dereg_mr, ib_uverbs_dereg_mr),
	[IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL] = IO(vmlx4_cmd_create_channel,
		ib_uverbs_create_comp_channel, ib_uverbs_create_comp_channel_resp),
	[IB_USER_VERBS_CMD_CREATE_CQ] = IO_DRIVER(vmlx4_cmd_create_cq,
		ib_uverbs_create_cq, ib_uverbs_create_cq_resp),
	[IB_USER_VERBS_CMD_RESIZE_CQ] = IO_DRIVER(vmlx4_cmd_resize_cq,
		ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp),
	[IB_USER_VERBS_CMD_DESTROY_CQ] = IO(vmlx4_cmd_destroy_cq,
		ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp),
	[IB_USER_VERBS_CMD_CREATE_QP] = IO_DRIVER(vmlx4_cmd_create_qp,
		ib_uverbs_create_qp, ib_uverbs_create_qp_resp),
	[IB_USER_VERBS_CMD_QUERY_QP] = IO(vmlx4_cmd_query_qp,
		ib_uverbs_query_qp, ib_uverbs_query_qp_resp),
	[IB_USER_VERBS_CMD_MODIFY_QP] = IN(vmlx4_cmd_modify_qp, ib_uverbs_modify_qp),
	[IB_USER_VERBS_CMD_DESTROY_QP] = IO(vmlx4_cmd_destroy_qp,
		ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp),
	[IB_USER_VERBS_CMD_ATTACH_MCAST] = IN(vmlx4_cmd_attach_mcast, ib_uverbs_attach_mcast),
	[IB_USER_VERBS_CMD_DETACH_MCAST] = IN(vmlx4_cmd_detach_mcast, ib_uverbs_detach_mcast),
	[IB_USER_VERBS_CMD_OPEN_QP] = IO_DRIVER(vmlx4_cmd_open_qp,
		ib_uverbs_open_qp, ib_uverbs_create_qp_resp),
	[IB_USER_VERBS_CMD_CREATE_SRQ] = IO_DRIVER(vmlx4_cmd_create_srq,
		ib_uverbs_create_srq, ib_uverbs_create_srq_resp),
	[IB_USER_VERBS_CMD_CREATE_XSRQ] = IO_DRIVER(vmlx4_cmd_create_xsrq,
		ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp),
	[IB_USER_VERBS_CMD_MODIFY_SRQ] = { vmlx4_cmd_modify_srq,
		sizeof(struct ib_uverbs_modify_srq), 0, true },
	[IB_USER_VERBS_CMD_QUERY_SRQ] = IO(vmlx4_cmd_query_srq,
		ib_uverbs_query_srq, ib_uverbs_query_srq_resp),
	[IB_USER_VERBS_CMD_DESTROY_SRQ] = IO(vmlx4_cmd_destroy_srq,
		ib_uverbs_destroy_srq, ib_uverbs_destroy_srq_resp),
	[IB_USER_VERBS_CMD_ALLOC_MW] = IO_DRIVER(vmlx4_cmd_alloc_mw,
		ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp),
	[IB_USER_VERBS_CMD_DEALLOC_MW] = IN(vmlx4_cmd_dealloc_mw, ib_uverbs_dealloc_mw),
	[IB_USER_VERBS_CMD_OPEN_XRCD] = IO_DRIVER(vmlx4_cmd_open_xrcd,
		ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp),
	[IB_USER_VERBS_CMD_CLOSE_XRCD] = IN(vmlx4_cmd_close_xrcd, ib_uverbs_close_xrcd),
};

/* The structures grew over time: what the first kernels knew is enough. */
static const struct method ex_methods[] = {
	[IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = { vmlx4_cmd_query_device_ex,
		sizeof(struct ib_uverbs_ex_query_device),
		END_OF(struct ib_uverbs_ex_query_device_resp, response_length), true },
	[IB_USER_VERBS_EX_CMD_CREATE_CQ] = IO_DRIVER(vmlx4_cmd_create_cq_ex,
		ib_uverbs_ex_create_cq, ib_uverbs_ex_create_cq_resp),
	[IB_USER_VERBS_EX_CMD_CREATE_QP] = { vmlx4_cmd_create_qp_ex,
		END_OF(struct ib_uverbs_ex_create_qp, create_flags),
		sizeof(struct ib_uverbs_ex_create_qp_resp), true },
	[IB_USER_VERBS_EX_CMD_MODIFY_QP] = { vmlx4_cmd_modify_qp_ex,
		offsetof(struct ib_uverbs_ex_modify_qp, rate_limit),
		sizeof(struct ib_uverbs_ex_modify_qp_resp), true },
	[IB_USER_VERBS_EX_CMD_CREATE_FLOW] = IO_DRIVER(vmlx4_cmd_create_flow,
		ib_uverbs_create_flow, ib_uverbs_create_flow_resp),
	[IB_USER_VERBS_EX_CMD_DESTROY_FLOW] = IN(vmlx4_cmd_destroy_flow,
		ib_uverbs_destroy_flow),
	[IB_USER_VERBS_EX_CMD_CREATE_WQ] = { vmlx4_cmd_create_wq,
		END_OF(struct ib_uverbs_ex_create_wq, max_sge),
		sizeof(struct ib_uverbs_ex_create_wq_resp), true },
	[IB_USER_VERBS_EX_CMD_MODIFY_WQ] = { vmlx4_cmd_modify_wq,
		END_OF(struct ib_uverbs_ex_modify_wq, curr_wq_state), 0, true },
	[IB_USER_VERBS_EX_CMD_DESTROY_WQ] = IO(vmlx4_cmd_destroy_wq,
		ib_uverbs_ex_destroy_wq, ib_uverbs_ex_destroy_wq_resp),
	[IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL] = IO_DRIVER(vmlx4_cmd_create_table,
		ib_uverbs_ex_create_rwq_ind_table, ib_uverbs_ex_create_rwq_ind_table_resp),
	[IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL] = IN(vmlx4_cmd_destroy_table,
		ib_uverbs_ex_destroy_rwq_ind_table),
	[IB_USER_VERBS_EX_CMD_MODIFY_CQ] = IN(vmlx4_cmd_modify_cq, ib_uverbs_ex_modify_cq),
};

static bool
all_zero(const void *memory, size_t size)
{
	const uint8_t *byte = memory;

	while (size > 0 && *byte == 0) {
		byte++;
		size--;
	}
	return size == 0;
}

static int
copy_in(const void *from, size_t have, void *to, size_t size)
{
	size_t copied = have < size ? have : size;

	memcpy(to, from, copied);
	memset((uint8_t *)to + copied, 0, size - copied);
	if (have > size && !all_zero((const uint8_t *)from + size, have - size))
		return -EOPNOTSUPP;
	return 0;
}

static size_t
copy_out(void *to, size_t room, const void *from, size_t size)
{
	if (size > room)
		size = room;
	if (room > 0)
		memset((uint8_t *)to + size, 0, room - size);
	if (size > 0)
		memcpy(to, from, size);
	return size;
}

int
vmlx4_cmd_in(const struct vmlx4_cmd *cmd, void *request, size_t size)
{
	return copy_in(cmd->in, cmd->in_len, request, size);
}

int
vmlx4_cmd_rest_zero(const struct vmlx4_cmd *cmd, size_t from)
{
	return all_zero((const uint8_t *)cmd->in + from, cmd->in_len - from) ? 0 : -EOPNOTSUPP;
}

int
vmlx4_cmd_drv_in(const struct vmlx4_cmd *cmd, void *request, size_t size)
{
	if (cmd->drv_in_len < size)
		return -EINVAL;
	return copy_in(cmd->drv_in, cmd->drv_in_len, request, size);
}

int
vmlx4_cmd_drv_zero(const struct vmlx4_cmd *cmd)
{
	return all_zero(cmd->drv_in, cmd->drv_in_len) ? 0 : -EOPNOTSUPP;
}

size_t
vmlx4_cmd_out(const struct vmlx4_cmd *cmd, const void *reply, size_t size)
{
	return copy_out(cmd->out, cmd->out_len, reply, size);
}

size_t
vmlx4_cmd_drv_out(const struct vmlx4_cmd *cmd, const void *reply, size_t size)
{
	return copy_out(cmd->drv_out, cmd->drv_out_len, reply, size);
}

static const struct method *
find_method(uint32_t command)
{
	uint32_t index = command & IB_USER_VERBS_CMD_COMMAND_MASK;
	const struct method *method = NULL;

	if ((command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
		if (index < sizeof(ex_methods) / sizeof(ex_methods[0]))
			method = &ex_methods[index];
	} else if (index < sizeof(methods) / sizeof(methods[0])) {
		method = &methods[index];
	}
	return method != NULL && method->handler != NULL ? method : NULL;
}

/* A kernel takes away the methods that a card lacks the capability for. */
static bool
offered(const struct vmlx4_profile *profile, uint32_t command)
{
	switch (command ^ IB_USER_VERBS_CMD_FLAG_EXTENDED) {
	case IB_USER_VERBS_EX_CMD_CREATE_FLOW:
	case IB_USER_VERBS_EX_CMD_DESTROY_FLOW:
		return (profile->device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0;
	case IB_USER_VERBS_EX_CMD_CREATE_WQ:
	case IB_USER_VERBS_EX_CMD_MODIFY_WQ:
	case IB_USER_VERBS_EX_CMD_DESTROY_WQ:
	case IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL:
	case IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL:
		return profile->max_rss_table != 0;
	default:
		return true;
	}
}

/* Sizes in units of 4 bytes; the header is part of in_words. */
static int
parse_plain(const struct method *method, const struct ib_uverbs_cmd_hdr *hdr,
	const uint8_t *payload, size_t size, struct vmlx4_cmd *cmd)
{
	size_t out_len = hdr->out_words * 4u;
	uint64_t response = 0;

	if (hdr->in_words * 4u != size + sizeof(*hdr))
		return -EINVAL;
	if (size < method->in_size || out_len < method->out_size)
		return -ENOSPC;
	if (method->out_size > 0)
		memcpy(&response, payload, sizeof(response));
	else
		out_len = 0;
	cmd->in = payload;
	cmd->in_len = method->driver_part ? method->in_size : size;
	cmd->drv_in = payload + cmd->in_len;
	cmd->drv_in_len = size - cmd->in_len;
	cmd->out = (void *)(uintptr_t)response;
	cmd->out_len = method->driver_part ? method->out_size : out_len;
	cmd->drv_out = (void *)((uintptr_t)cmd->out + cmd->out_len);
	cmd->drv_out_len = out_len - cmd->out_len;
	if (out_len > 0 && response == 0)
		return -EFAULT;
	return 0;
}

/* Sizes in units of 8 bytes, without the headers, core and driver part apart. */
static int
parse_extended(const struct method *method, const struct ib_uverbs_cmd_hdr *hdr,
	const uint8_t *payload, size_t size, struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_ex_cmd_hdr ex;

	if (size < sizeof(ex))
		return -EINVAL;
	memcpy(&ex, payload, sizeof(ex));
	size -= sizeof(ex);
	cmd->in = payload + sizeof(ex);
	cmd->in_len = hdr->in_words * 8u;
	cmd->drv_in = payload + sizeof(ex) + cmd->in_len;
	cmd->drv_in_len = ex.provider_in_words * 8u;
	cmd->out = (void *)(uintptr_t)ex.response;
	cmd->out_len = hdr->out_words * 8u;
	cmd->drv_out = (void *)((uintptr_t)cmd->out + cmd->out_len);
	cmd->drv_out_len = ex.provider_out_words * 8u;
	if (cmd->in_len + cmd->drv_in_len != size)
		return -EINVAL;
	if (cmd->in_len < method->in_size)
		return -ENOSPC;
	if (ex.cmd_hdr_reserved != 0)
		return -EINVAL;
	if ((ex.response != 0) != (cmd->out_len + cmd->drv_out_len != 0))
		return -EINVAL;
	return cmd->out_len < method->out_size ? -ENOSPC : 0;
}

/* Find the method and take the command apart. */
static int
decode(struct vmlx4_context *ctx, const struct ib_uverbs_cmd_hdr *hdr, const uint8_t *buffer,
	size_t count, const struct method **found, struct vmlx4_cmd *cmd)
{
	const struct method *method;
	int ret;

	if ((hdr->command & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED |
			IB_USER_VERBS_CMD_COMMAND_MASK)) != 0)
		return -EINVAL;
	method = find_method(hdr->command);
	*found = method;
	if (method == NULL || !offered(ctx->adapter->profile, hdr->command))
		return -EOPNOTSUPP;
	if (!ctx->ready && hdr->command != IB_USER_VERBS_CMD_GET_CONTEXT)
		return -EINVAL;
	if ((hdr->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0)
		ret = parse_extended(method, hdr, buffer + sizeof(*hdr),
			count - sizeof(*hdr), cmd);
	else
		ret = parse_plain(method, hdr, buffer + sizeof(*hdr),
			count - sizeof(*hdr), cmd);
	/* Before anything happens, so that nothing must be taken back. */
	if (ret == 0 && cmd->out_len + cmd->drv_out_len != 0 &&
			!vmlx4_guard_writable(cmd->out, cmd->out_len + cmd->drv_out_len))
		ret = -EFAULT;
	return ret;
}

static ssize_t
run(struct vmlx4_context *ctx, const struct ib_uverbs_cmd_hdr *hdr, const uint8_t *buffer,
	size_t count)
{
	const struct method *method;
	struct vmlx4_cmd cmd;
	int ret = decode(ctx, hdr, buffer, count, &method, &cmd);
	const struct vmlx4_cmd *decoded = ret == 0 ? &cmd : NULL;

	vmlx4_check_command(ctx);
	vmlx4_trace_command(ctx, hdr->command, decoded);
	if (ret == 0 && ctx->adapter->faults != NULL)
		ret = vmlx4_fault_command(ctx, hdr->command, &cmd);
	if (ret == 0)
		ret = ctx->dead ? -EIO : method->handler(ctx, &cmd);
	vmlx4_trace_result(ctx, hdr->command, decoded, ret);
	return ret < 0 ? ret : (ssize_t)count;
}

/* On a copy: another thread of the program may change its buffer meanwhile. */
static ssize_t
execute(struct vmlx4_adapter *adapter, int fd, const uint8_t *buffer, size_t count)
{
	struct ib_uverbs_cmd_hdr hdr;
	struct vmlx4_context *ctx;
	ssize_t ret;
	bool starts;

	memcpy(&hdr, buffer, sizeof(hdr));
	starts = hdr.command == IB_USER_VERBS_CMD_GET_CONTEXT;
	if (starts)
		vmlx4_life_lock();
	vmlx4_lock(adapter);
	ctx = vmlx4_fd_get(fd, VMLX4_FD_CONTEXT);
	ret = ctx != NULL ? run(ctx, &hdr, buffer, count) : -EBADF;
	vmlx4_unlock(adapter);
	if (starts)
		vmlx4_life_unlock();
	if (starts && ret > 0 && adapter->options.wait_link_ms != 0)
		vmlx4_wait_link(adapter);
	return ret;
}

ssize_t
vmlx4_uverbs_write(struct vmlx4_adapter *adapter, int fd, const void *buffer, size_t count)
{
	uint64_t small[64]; /* most commands */
	uint8_t *copy = (uint8_t *)small;
	ssize_t ret = -EFAULT;

	/* The longest has 2^16 words each of the two parts behind the headers. */
	if (count < sizeof(struct ib_uverbs_cmd_hdr) || count > COMMAND_MAX)
		return -EINVAL;
	if (count > sizeof(small)) {
		copy = malloc(count);
		if (copy == NULL)
			return -ENOMEM;
	}
	if (vmlx4_guard_copy(copy, buffer, count))
		ret = execute(adapter, fd, copy, count);
	if (copy != (uint8_t *)small)
		free(copy);
	return ret;
}
