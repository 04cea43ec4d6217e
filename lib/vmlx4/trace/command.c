/* SPDX-License-Identifier: BSD-3-Clause */

#include <unistd.h>

#include "../uverbs/uverbs.h"
#include "commands.h"
#include "internal.h"

#define FIELDS_MAX 32

/* The parts of a command as memory. */
struct part {
	const uint8_t *bytes;
	size_t size;
};

static struct part
part_of(const struct vmlx4_cmd *cmd, unsigned int part)
{
	switch (part) {
	case VMLX4_IN:
		return (struct part){ cmd->in, cmd->in_len };
	case VMLX4_DRIVER_IN:
		return (struct part){ cmd->drv_in, cmd->drv_in_len };
	case VMLX4_OUT:
		return (struct part){ cmd->out, cmd->out_len };
	default:
		return (struct part){ cmd->drv_out, cmd->drv_out_len };
	}
}

static bool
is_request(const struct vmlx4_command_field *field)
{
	return field->part == VMLX4_IN || field->part == VMLX4_DRIVER_IN;
}

/* False: the command is too short to have the field. */
static bool
field_load(const struct vmlx4_cmd *cmd, const struct vmlx4_command_field *field, uint64_t *value)
{
	struct part part = part_of(cmd, field->part);
	uint8_t byte;
	uint16_t half;
	uint32_t word;

	if (part.size < (size_t)field->offset + field->size)
		return false;
	switch (field->size) {
	case 1:
		memcpy(&byte, part.bytes + field->offset, sizeof(byte));
		*value = byte;
		break;
	case 2:
		memcpy(&half, part.bytes + field->offset, sizeof(half));
		*value = half;
		break;
	case 4:
		memcpy(&word, part.bytes + field->offset, sizeof(word));
		*value = word;
		break;
	default:
		memcpy(value, part.bytes + field->offset, sizeof(*value));
		break;
	}
	return true;
}

static uint64_t
named(uint32_t handle, uint32_t number)
{
	return handle | (uint64_t)number << 32;
}

/* A handle with the number that the queues and segments know the object by. */
static uint64_t
object(struct vmlx4_context *ctx, enum vmlx4_obj_type type, uint32_t handle)
{
	const void *found = vmlx4_obj_find(ctx, handle, type);

	if (found == NULL)
		return named(handle, VMLX4_TRACE_NO_NUMBER);
	switch (type) {
	case VMLX4_MR:
		return named(handle, ((const struct vmlx4_mr *)found)->lkey);
	case VMLX4_CQ:
		return named(handle, ((const struct vmlx4_cq *)found)->cqn);
	case VMLX4_QP:
		return named(handle, ((const struct vmlx4_qp *)found)->qpn);
	case VMLX4_WQ:
		return named(handle, ((const struct vmlx4_wq *)found)->wqn);
	case VMLX4_SRQ:
		return named(handle, ((const struct vmlx4_srq *)found)->srqn);
	case VMLX4_MW:
		return named(handle, ((const struct vmlx4_mw *)found)->rkey);
	case VMLX4_XRCD:
		return named(handle, ((const struct vmlx4_xrcd *)found)->xrcdn);
	default:
		return named(handle, handle);
	}
}

static uint64_t
channel(struct vmlx4_context *ctx, int fd)
{
	const struct vmlx4_channel *found = vmlx4_fd_get(fd, VMLX4_FD_CHANNEL);

	if (found == NULL || found->obj.ctx != ctx)
		return named(UINT32_MAX, VMLX4_TRACE_NO_NUMBER);
	return named(found->obj.handle, found->obj.handle);
}

/* What of a field differs from run to run is left out, or named otherwise. */
static uint64_t
field_value(struct vmlx4_context *ctx, enum vmlx4_field_kind kind, uint64_t value)
{
	switch (kind) {
	case VMLX4_FIELD_ADDRESS:
		return ctx->adapter->trace->raw ? value :
			value & (uint64_t)(sysconf(_SC_PAGESIZE) - 1);
	case VMLX4_FIELD_PD:
		return object(ctx, VMLX4_PD, (uint32_t)value);
	case VMLX4_FIELD_MR:
		return object(ctx, VMLX4_MR, (uint32_t)value);
	case VMLX4_FIELD_CQ:
		return object(ctx, VMLX4_CQ, (uint32_t)value);
	case VMLX4_FIELD_QP:
		return object(ctx, VMLX4_QP, (uint32_t)value);
	case VMLX4_FIELD_WQ:
		return object(ctx, VMLX4_WQ, (uint32_t)value);
	case VMLX4_FIELD_TABLE:
		return object(ctx, VMLX4_TABLE, (uint32_t)value);
	case VMLX4_FIELD_FLOW:
		return object(ctx, VMLX4_FLOW, (uint32_t)value);
	case VMLX4_FIELD_SRQ:
		return object(ctx, VMLX4_SRQ, (uint32_t)value);
	case VMLX4_FIELD_MW:
		return object(ctx, VMLX4_MW, (uint32_t)value);
	case VMLX4_FIELD_XRCD:
		return object(ctx, VMLX4_XRCD, (uint32_t)value);
	case VMLX4_FIELD_CHANNEL:
		return channel(ctx, (int)value);
	default:
		return value;
	}
}

/* Values of the request or of the reply; which fields there are. */
static uint32_t
collect(struct vmlx4_context *ctx, const struct vmlx4_command_entry *entry,
	const struct vmlx4_cmd *cmd, bool request, uint64_t *values, unsigned int *count)
{
	uint64_t mask = 0, value;
	uint32_t present = 0;
	unsigned int i;

	*count = 0;
	for (i = 0; i < entry->count && i < FIELDS_MAX; i++) {
		const struct vmlx4_command_field *field = &entry->fields[i];

		if (is_request(field) != request || !field_load(cmd, field, &value))
			continue;
		if (field->kind == VMLX4_FIELD_MASK)
			mask = value;
		if (field->when != 0 && (mask & field->when) == 0)
			continue;
		values[(*count)++] = htole64(field_value(ctx, field->kind, value));
		present |= 1u << i;
	}
	return present;
}

/* Flow specs as they are; of a list of WQs their numbers. */
static void
copy_blob(struct vmlx4_context *ctx, const struct vmlx4_command_entry *entry,
	const uint8_t *from, size_t size, uint8_t *to)
{
	uint32_t handle, number;
	size_t at;

	memcpy(to, from, size);
	for (at = 0; entry->blob == VMLX4_BLOB_WQS && at + sizeof(handle) <= size;
	     at += sizeof(handle)) {
		memcpy(&handle, from + at, sizeof(handle));
		number = htole32((uint32_t)(object(ctx, VMLX4_WQ, handle) >> 32));
		memcpy(to + at, &number, sizeof(number));
	}
}

static void
command_record(struct vmlx4_context *ctx, enum vmlx4_trace_kind kind, uint32_t command,
	const struct vmlx4_cmd *cmd, int result)
{
	const struct vmlx4_command_entry *entry;
	struct vmlx4_trace_command *out;
	uint64_t values[FIELDS_MAX];
	unsigned int index, count = 0;
	uint32_t present = 0;
	size_t blob = 0, size;

	entry = vmlx4_trace_command_find(command, cmd != NULL ? cmd->in : NULL,
		cmd != NULL ? cmd->in_len : 0, &index);
	if (entry != NULL && cmd != NULL && result >= 0)
		present = collect(ctx, entry, cmd, kind == VMLX4_TRACE_COMMAND, values, &count);
	if (kind == VMLX4_TRACE_COMMAND && entry != NULL && cmd != NULL &&
			entry->blob != VMLX4_BLOB_NONE && cmd->in_len > entry->blob_offset)
		blob = cmd->in_len - entry->blob_offset;
	if (blob > VMLX4_BLOB_MAX)
		blob = VMLX4_BLOB_MAX;
	size = sizeof(*out) + count * sizeof(values[0]) + blob;
	out = vmlx4_trace_begin(ctx->adapter, kind, 0, ctx, size);
	if (out == NULL)
		return;
	out->command = htole32(command);
	out->result = (int32_t)htole32((uint32_t)result);
	out->entry = htole16(entry != NULL ? (uint16_t)index : VMLX4_TRACE_NO_ENTRY);
	out->blob = htole16((uint16_t)blob);
	out->present = htole32(present);
	memcpy(out + 1, values, count * sizeof(values[0]));
	if (blob > 0)
		copy_blob(ctx, entry, (const uint8_t *)cmd->in + entry->blob_offset, blob,
			(uint8_t *)(out + 1) + count * sizeof(values[0]));
	vmlx4_trace_done(ctx->adapter->trace, size);
}

void
vmlx4_trace_write_command(struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd)
{
	vmlx4_trace_write_counters(ctx->adapter);
	command_record(ctx, VMLX4_TRACE_COMMAND, command, cmd, 0);
}

void
vmlx4_trace_write_result(struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd, int result)
{
	command_record(ctx, VMLX4_TRACE_RESULT, command, cmd, result);
}
