/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "hca/hw.h"
#include "show.h"

static const char * const names[VMLX4_TRACE_KINDS] = {
	[VMLX4_TRACE_END] = "end",
	[VMLX4_TRACE_COMMAND] = "cmd",
	[VMLX4_TRACE_RESULT] = "result",
	[VMLX4_TRACE_CLOSE] = "close",
	[VMLX4_TRACE_DOORBELL] = "doorbell",
	[VMLX4_TRACE_WQE] = "wqe",
	[VMLX4_TRACE_RQE] = "rqe",
	[VMLX4_TRACE_CQE] = "cqe",
	[VMLX4_TRACE_FRAME] = "frame",
	[VMLX4_TRACE_EVENT] = "event",
	[VMLX4_TRACE_LINK] = "link",
	[VMLX4_TRACE_VIOLATION] = "violation",
	[VMLX4_TRACE_COUNTER] = "drop",
	[VMLX4_TRACE_FAULT] = "fault",
};

const char *
kind_name(enum vmlx4_trace_kind kind)
{
	return names[kind];
}

static uint32_t
kind_bit(const char *name, size_t length)
{
	unsigned int kind;

	for (kind = 0; kind < VMLX4_TRACE_KINDS; kind++) {
		/* The end is no event, and a result goes with its command. */
		if (kind == VMLX4_TRACE_END || kind == VMLX4_TRACE_RESULT)
			continue;
		if (strlen(names[kind]) == length && memcmp(names[kind], name, length) == 0)
			return 1u << kind;
	}
	return 0;
}

uint32_t
kinds_parse(const char *list, char *bad, size_t size)
{
	uint32_t kinds = 0;

	for (;;) {
		size_t length = strcspn(list, ",");
		uint32_t bit = kind_bit(list, length);

		if (bit == 0) {
			snprintf(bad, size, "%.*s", (int)length, list);
			return 0;
		}
		kinds |= bit;
		if (list[length] == '\0')
			return kinds;
		list += length + 1;
	}
}

/* ---- queues ---- */

static bool
any(const uint32_t *numbers, unsigned int count, uint32_t number)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

static bool
is_qp(const struct filter *filter, uint32_t number)
{
	return any(filter->qp, filter->qps, number);
}

static bool
is_cq(const struct filter *filter, uint32_t number)
{
	return any(filter->cq, filter->cqs, number);
}

/* Does the command, or its result, name one of the queues? */
static bool
command_names(const struct filter *filter, const struct record *record)
{
	struct command command;
	unsigned int i, n = 0;

	record_command(record, &command);
	for (i = 0; i < 32; i++) {
		const struct vmlx4_command_field *field;
		uint32_t number;

		if ((command.present & 1u << i) == 0)
			continue;
		field = &command.entry->fields[i];
		number = (uint32_t)(command_value(&command, n++) >> 32);
		if (number == VMLX4_TRACE_NO_NUMBER)
			continue;
		if (field->kind == VMLX4_FIELD_CQ ? is_cq(filter, number) :
				(field->kind == VMLX4_FIELD_QP || field->kind == VMLX4_FIELD_WQ) &&
				is_qp(filter, number))
			return true;
	}
	return false;
}

static bool
doorbell_names(const struct filter *filter, const struct record *record)
{
	struct vmlx4_trace_doorbell bell;

	memcpy(&bell, record->payload, sizeof(bell));
	return bell.what == VMLX4_TRACE_BELL_ARM ? is_cq(filter, le32toh(bell.number)) :
		is_qp(filter, le32toh(bell.number));
}

static bool
cqe_names(const struct filter *filter, const struct record *record)
{
	struct vmlx4_trace_cqe cqe;
	uint32_t qpn;

	memcpy(&cqe, record->payload, sizeof(cqe));
	memcpy(&qpn, cqe.bytes, sizeof(qpn));
	return is_cq(filter, le32toh(cqe.number)) || is_qp(filter, be32toh(qpn) & 0xffffff);
}

static bool
event_names(const struct filter *filter, const struct record *record)
{
	struct vmlx4_trace_event event;

	memcpy(&event, record->payload, sizeof(event));
	return (event.object == VMLX4_TRACE_CQ && is_cq(filter, le32toh(event.number))) ||
		(event.object == VMLX4_TRACE_QP && is_qp(filter, le32toh(event.number)));
}

static bool
violation_names(const struct filter *filter, const struct record *record)
{
	struct vmlx4_trace_violation violation;
	const char *queue = (const char *)record->payload + sizeof(violation);

	memcpy(&violation, record->payload, sizeof(violation));
	queue += strlen(queue) + 1; /* behind the name of the rule */
	return strcmp(queue, "CQ") == 0 ? is_cq(filter, le32toh(violation.number)) :
		is_qp(filter, le32toh(violation.number));
}

static bool
names_queue(const struct show *show, const struct record *record)
{
	const struct filter *filter = &show->filter;
	struct vmlx4_trace_wqe wqe;
	struct record result;

	switch (record->kind) {
	case VMLX4_TRACE_COMMAND:
		return command_names(filter, record) ||
			(trace_result(&show->trace, &result) && command_names(filter, &result));
	case VMLX4_TRACE_DOORBELL:
		return doorbell_names(filter, record);
	case VMLX4_TRACE_WQE:
	case VMLX4_TRACE_RQE:
		memcpy(&wqe, record->payload, sizeof(wqe));
		return is_qp(filter, le32toh(wqe.number));
	case VMLX4_TRACE_CQE:
		return cqe_names(filter, record);
	case VMLX4_TRACE_EVENT:
		return event_names(filter, record);
	case VMLX4_TRACE_VIOLATION:
		return violation_names(filter, record);
	default:
		return false;
	}
}

bool
filter_passes(const struct show *show, const struct record *record)
{
	const struct filter *filter = &show->filter;

	if ((filter->kinds & 1u << record->kind) == 0 || record->time < filter->from ||
			record->time > filter->to)
		return false;
	if (filter->port != 0 && record->port != filter->port)
		return false;
	return filter->qps + filter->cqs == 0 || names_queue(show, record);
}
