/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include "../counters.h"
#include "../hca/internal.h"
#include "../ib/packet.h"
#include "internal.h"
#include "segments.h"

/* One function for each kind of record; those of commands are in command.c. */

/* ---- what was dropped ---- */

static void
counter(struct vmlx4_port *port, const char *name, uint64_t now, uint64_t *seen)
{
	struct vmlx4_trace_counter *out;
	size_t size = sizeof(*out) + strlen(name) + 1;
	uint64_t more = now - *seen;

	if (more == 0)
		return;
	*seen = now;
	out = vmlx4_trace_begin(port->adapter, VMLX4_TRACE_COUNTER, port->number, NULL, size);
	if (out == NULL)
		return;
	out->more = htole64(more);
	memcpy(out + 1, name, strlen(name) + 1);
	vmlx4_trace_done(port->adapter->trace, size);
}

void
vmlx4_trace_write_counters(struct vmlx4_adapter *adapter)
{
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_port *port = &adapter->ports[i];
		struct vmlx4_port_stats *seen = &adapter->trace->seen[i];

#define COUNTER(name) counter(port, #name, port->stats.name, &seen->name);
		VMLX4_DROP_COUNTERS(COUNTER)
#undef COUNTER
	}
}

/* Drops come before what happened after them. */
static void *
begin(struct vmlx4_adapter *adapter, enum vmlx4_trace_kind kind, const struct vmlx4_port *port,
	const struct vmlx4_context *ctx, size_t size)
{
	vmlx4_trace_write_counters(adapter);
	return vmlx4_trace_begin(adapter, kind, port != NULL ? port->number : 0, ctx, size);
}

/* ---- queues ---- */

void
vmlx4_trace_write_close(struct vmlx4_context *ctx)
{
	if (begin(ctx->adapter, VMLX4_TRACE_CLOSE, NULL, ctx, 0) != NULL)
		vmlx4_trace_done(ctx->adapter->trace, 0);
}

void
vmlx4_trace_write_doorbell(struct vmlx4_context *ctx, enum vmlx4_trace_bell what, uint32_t word,
	uint32_t index)
{
	struct vmlx4_trace_doorbell *out;

	out = begin(ctx->adapter, VMLX4_TRACE_DOORBELL, NULL, ctx, sizeof(*out));
	if (out == NULL)
		return;
	out->what = (uint8_t)what;
	if (what == VMLX4_TRACE_BELL_ARM) {
		out->sn = VMLX4_HW_ARM_SN(word);
		out->command = VMLX4_HW_ARM_CMD(word);
		out->number = htole32(VMLX4_HW_ARM_LOW24(word));
		out->index = htole32(index);
	} else {
		out->number = htole32(word >> 8);
	}
	vmlx4_trace_done(ctx->adapter->trace, sizeof(*out));
}

void
vmlx4_trace_write_wqe(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	struct vmlx4_context *ctx = qp->obj.ctx;
	struct vmlx4_trace *trace = ctx->adapter->trace;
	struct vmlx4_trace_wqe *out;
	uint32_t qp_type = qp->ib != NULL ? qp->qp_type : 0, first;
	uint8_t *copy;

	if (size < 16)
		size = 16; /* the control segment was read in any case */
	out = begin(ctx->adapter, VMLX4_TRACE_WQE, qp->sq.port, ctx, sizeof(*out) + size);
	if (out == NULL)
		return;
	out->number = htole32(qp->qpn);
	out->index = htole32(qp->sq.ci);
	out->size = htole32(size);
	out->length = htole32(qp_type);
	copy = (uint8_t *)(out + 1);
	memcpy(copy, wqe, size);
	if (!trace->raw && (vmlx4_be32(copy) & VMLX4_HW_OPCODE) != VMLX4_HW_OP_NOP) {
		first = vmlx4_segments_of_send(copy, size, qp_type);
		if (qp_type == 0)
			vmlx4_trace_clear_header(copy, size, first);
		else
			vmlx4_trace_remote_place(ctx->adapter, copy, size,
				qp_type == VMLX4_TRACE_QP_UD, out->places);
		vmlx4_trace_places(ctx, copy, size, first, out->places);
	}
	vmlx4_trace_done(trace, sizeof(*out) + size);
}

void
vmlx4_trace_write_rqe(struct vmlx4_port *port, const struct vmlx4_rq *rq,
	const struct vmlx4_hw_data *wqe, size_t length)
{
	struct vmlx4_context *ctx = rq->cq->obj.ctx;
	struct vmlx4_trace_wqe *out;
	uint32_t segments = 0, size;

	while (segments < rq->max_sge && segments < VMLX4_TRACE_SEGMENTS &&
	       be32toh(wqe[segments].lkey) != VMLX4_HW_LKEY_INVALID)
		segments++;
	size = segments * (uint32_t)sizeof(*wqe);
	out = begin(port->adapter, VMLX4_TRACE_RQE, port, ctx, sizeof(*out) + size);
	if (out == NULL)
		return;
	out->number = htole32(rq->qpn);
	out->index = htole32(rq->ci);
	out->size = htole32(size);
	out->length = htole32((uint32_t)length);
	memcpy(out + 1, wqe, size);
	if (!port->adapter->trace->raw)
		vmlx4_trace_places(ctx, (uint8_t *)(out + 1), size, 0, out->places);
	vmlx4_trace_done(port->adapter->trace, sizeof(*out) + size);
}

void
vmlx4_trace_write_cqe(const struct vmlx4_cq *cq, const struct vmlx4_hw_cqe *cqe)
{
	struct vmlx4_context *ctx = cq->obj.ctx;
	const struct vmlx4_qp *qp = vmlx4_qp_by_number(ctx->adapter,
		be32toh(cqe->vlan_qpn) & 0xffffff);
	struct vmlx4_trace_cqe *out;

	out = begin(ctx->adapter, VMLX4_TRACE_CQE, NULL, ctx, sizeof(*out));
	if (out == NULL)
		return;
	out->number = htole32(cq->cqn);
	out->index = htole32((cq->pi & 0xffffff) |
		(qp != NULL && qp->ib != NULL ? VMLX4_TRACE_CQE_TRANSPORT : 0));
	memcpy(out->bytes, cqe, sizeof(out->bytes));
	vmlx4_trace_done(ctx->adapter->trace, sizeof(*out));
}

/* ---- ports ---- */

void
vmlx4_trace_write_frame(struct vmlx4_port *port, enum vmlx4_trace_direction direction,
	const uint8_t *frame, size_t length)
{
	static uint8_t copy[VMLX4_IB_FRAME_MAX]; /* the adapter is locked */
	struct vmlx4_trace *trace = port->adapter->trace;
	size_t kept = length < trace->snaplen ? length : trace->snaplen;
	struct vmlx4_trace_frame *out;

	if (!trace->raw && vmlx4_trace_packet(port->adapter, frame, length, copy))
		frame = copy;
	out = begin(port->adapter, VMLX4_TRACE_FRAME, port, NULL, sizeof(*out) + kept);
	if (out == NULL)
		return;
	out->length = htole32((uint32_t)length);
	out->kept = htole32((uint32_t)kept);
	out->direction = (uint8_t)direction;
	out->flags = port->active ? 0 : VMLX4_TRACE_FRAME_DOWN;
	memcpy(out + 1, frame, kept);
	vmlx4_trace_done(trace, sizeof(*out) + kept);
}

void
vmlx4_trace_write_link(struct vmlx4_port *port)
{
	struct vmlx4_trace_link *out;

	out = begin(port->adapter, VMLX4_TRACE_LINK, port, NULL, sizeof(*out));
	if (out == NULL)
		return;
	out->up = htole32(port->active);
	vmlx4_trace_done(port->adapter->trace, sizeof(*out));
}

/* ---- what the program is told ---- */

/* An event names its object by an address of the program's. */
static void
event_object(const struct vmlx4_context *ctx, uint64_t element, struct vmlx4_trace_event *out)
{
	const struct vmlx4_obj *obj;

	TAILQ_FOREACH(obj, &ctx->objs, next) {
		if (obj->user_handle != element || element == 0)
			continue;
		if (obj->type == VMLX4_CQ) {
			out->object = VMLX4_TRACE_CQ;
			out->number = htole32(((const struct vmlx4_cq *)(const void *)obj)->cqn);
		} else if (obj->type == VMLX4_QP) {
			out->object = VMLX4_TRACE_QP;
			out->number = htole32(((const struct vmlx4_qp *)(const void *)obj)->qpn);
		} else if (obj->type == VMLX4_SRQ) {
			out->object = VMLX4_TRACE_SRQ;
			out->number = htole32(((const struct vmlx4_srq *)(const void *)obj)->srqn);
		}
	}
}

void
vmlx4_trace_write_async(struct vmlx4_context *ctx, unsigned int type, uint64_t element)
{
	bool of_port = (type >= IBV_EVENT_PORT_ACTIVE && type <= IBV_EVENT_SM_CHANGE) ||
		type == IBV_EVENT_CLIENT_REREGISTER || type == IBV_EVENT_GID_CHANGE;
	struct vmlx4_port *port = NULL;
	struct vmlx4_trace_event *out;

	if (of_port && element >= 1 && element <= ctx->adapter->options.ports)
		port = &ctx->adapter->ports[element - 1];
	out = begin(ctx->adapter, VMLX4_TRACE_EVENT, port, ctx, sizeof(*out));
	if (out == NULL)
		return;
	out->type = htole32(type);
	if (!of_port)
		event_object(ctx, element, out);
	vmlx4_trace_done(ctx->adapter->trace, sizeof(*out));
}

void
vmlx4_trace_write_completion(struct vmlx4_cq *cq)
{
	struct vmlx4_context *ctx = cq->obj.ctx;
	struct vmlx4_trace_event *out;

	out = begin(ctx->adapter, VMLX4_TRACE_EVENT, NULL, ctx, sizeof(*out));
	if (out == NULL)
		return;
	out->completion = 1;
	out->object = VMLX4_TRACE_CQ;
	out->number = htole32(cq->cqn);
	vmlx4_trace_done(ctx->adapter->trace, sizeof(*out));
}

void
vmlx4_trace_write_violation(struct vmlx4_adapter *adapter, const char *rule, const char *queue,
	uint32_t number, uint32_t index, const char *text)
{
	struct vmlx4_trace_violation *out;
	size_t rule_size = strlen(rule) + 1, queue_size = strlen(queue) + 1, size;
	char told[512], *at;

	if (adapter->trace->raw)
		snprintf(told, sizeof(told), "%s", text);
	else
		vmlx4_trace_text(adapter, text, told, sizeof(told));
	size = sizeof(*out) + rule_size + queue_size + strlen(told) + 1;
	out = begin(adapter, VMLX4_TRACE_VIOLATION, NULL, NULL, size);
	if (out == NULL)
		return;
	out->number = htole32(number);
	out->index = htole32(index);
	at = (char *)(out + 1);
	memcpy(at, rule, rule_size);
	memcpy(at + rule_size, queue, queue_size);
	strcpy(at + rule_size + queue_size, told);
	vmlx4_trace_done(adapter->trace, size);
}

void
vmlx4_trace_write_fault(struct vmlx4_adapter *adapter, const char *text)
{
	size_t size = strlen(text) + 1;
	char *out = begin(adapter, VMLX4_TRACE_FAULT, NULL, NULL, size);

	if (out == NULL)
		return;
	memcpy(out, text, size);
	vmlx4_trace_done(adapter->trace, size);
}
