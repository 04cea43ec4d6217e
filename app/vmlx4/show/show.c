/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <string.h>

#include "hca/hw.h"
#include "show.h"

/* ---- the kinds of records that take but a few words ---- */

static void
print_doorbell(const struct record *record)
{
	struct vmlx4_trace_doorbell bell;

	memcpy(&bell, record->payload, sizeof(bell));
	if (bell.what == VMLX4_TRACE_BELL_ARM)
		printf("arm cq 0x%x sn %u %s ci 0x%x", le32toh(bell.number), bell.sn,
			bell.command == VMLX4_HW_ARM_SOLICITED ? "solicited" :
			bell.command == VMLX4_HW_ARM_NEXT ? "next" : "no command",
			le32toh(bell.index));
	else
		printf("%s qp 0x%x", bell.what == VMLX4_TRACE_BELL_SEND ? "send" : "blueflame",
			le32toh(bell.number));
}

static const char *
event_text(uint32_t type)
{
	static const char * const texts[] = {
		"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED",
		"PATH_MIG", "PATH_MIG_ERR", "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR",
		"LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE", "SRQ_ERR", "SRQ_LIMIT_REACHED",
		"QP_LAST_WQE_REACHED", "CLIENT_REREGISTER", "GID_CHANGE", "WQ_FATAL",
	};

	return type < sizeof(texts) / sizeof(texts[0]) ? texts[type] : "unknown type";
}

static void
print_event(const struct record *record)
{
	struct vmlx4_trace_event event;

	memcpy(&event, record->payload, sizeof(event));
	if (event.completion != 0)
		printf("completion");
	else
		printf("async %s", event_text(le32toh(event.type)));
	if (event.object == VMLX4_TRACE_CQ)
		printf(" cq 0x%x", le32toh(event.number));
	else if (event.object == VMLX4_TRACE_QP)
		printf(" qp 0x%x", le32toh(event.number));
	else if (event.object == VMLX4_TRACE_SRQ)
		printf(" srq 0x%x", le32toh(event.number));
	else if (record->port != 0)
		printf(" port %u", record->port);
}

static void
print_link(const struct record *record)
{
	struct vmlx4_trace_link link;

	memcpy(&link, record->payload, sizeof(link));
	printf("port %u %s", record->port, link.up != 0 ? "up" : "down");
}

static void
print_violation(const struct record *record)
{
	struct vmlx4_trace_violation violation;
	const char *rule = (const char *)record->payload + sizeof(violation);
	const char *queue = rule + strlen(rule) + 1, *text = queue + strlen(queue) + 1;

	memcpy(&violation, record->payload, sizeof(violation));
	printf("%s: %s 0x%x #%u: %s", rule, queue, le32toh(violation.number),
		le32toh(violation.index), text);
}

static void
print_counter(const struct record *record)
{
	struct vmlx4_trace_counter counter;

	memcpy(&counter, record->payload, sizeof(counter));
	printf("port %u %s +%" PRIu64, record->port,
		(const char *)record->payload + sizeof(counter), le64toh(counter.more));
}

void
print_bytes(const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (i % 16 == 0)
			printf("\n%27s%04zx ", "", i);
		printf("%s%02x", i % 4 == 0 ? " " : "", bytes[i]);
	}
}

/* ---- all of them ---- */

static void
print_record(const struct show *show, const struct record *record)
{
	printf("%14.9f  %-9s ", (double)record->time / 1e9, kind_name(record->kind));
	switch (record->kind) {
	case VMLX4_TRACE_COMMAND:
		print_command(show, record);
		break;
	case VMLX4_TRACE_CLOSE:
		printf("ctx %u", record->context);
		break;
	case VMLX4_TRACE_DOORBELL:
		print_doorbell(record);
		break;
	case VMLX4_TRACE_WQE:
		print_wqe(show, record);
		break;
	case VMLX4_TRACE_RQE:
		print_rqe(show, record);
		break;
	case VMLX4_TRACE_CQE:
		print_cqe(show, record);
		break;
	case VMLX4_TRACE_FRAME:
		print_frame(show, record);
		break;
	case VMLX4_TRACE_EVENT:
		print_event(record);
		break;
	case VMLX4_TRACE_LINK:
		print_link(record);
		break;
	case VMLX4_TRACE_VIOLATION:
		print_violation(record);
		break;
	case VMLX4_TRACE_COUNTER:
		print_counter(record);
		break;
	case VMLX4_TRACE_FAULT:
		printf("%s", (const char *)record->payload);
		break;
	case VMLX4_TRACE_END:
	case VMLX4_TRACE_RESULT:
	case VMLX4_TRACE_KINDS:
		break;
	}
	putchar('\n');
}

static void
print_head(const struct trace *trace)
{
	printf("# vmlx4 %s, profile %s, seed %" PRIu64 "%s%s\n", trace->writer, trace->profile,
		trace->seed, trace->flags & VMLX4_TRACE_STEPPED ? ", stepped" : "",
		trace->flags & VMLX4_TRACE_RAW ? ", raw addresses" : "");
	if (trace->options[0] != '\0')
		printf("# options: %s\n", trace->options);
}

static void
print_end(bool orderly, uint64_t lost)
{
	if (!orderly)
		printf("# it stops here: the run did not come to its end, or still goes on\n");
	else if (lost != 0)
		printf("# %" PRIu64 " records were lost, as the disk was full\n", lost);
}

/* CQEs do not tell that they carry a timestamp in place of other fields. */
static void
remember_timestamps(struct show *show, const struct record *record)
{
	struct command command;
	struct record result;
	unsigned int i, n = 0;
	bool stamped = false;

	record_command(record, &command);
	if (command.entry == NULL || strcmp(command.entry->name, "create_cq_ex") != 0 ||
			!trace_result(&show->trace, &result))
		return;
	for (i = 0; i < command.entry->count; i++) {
		if ((command.present & 1u << i) == 0)
			continue;
		if (strcmp(command.entry->fields[i].name, "flags") == 0)
			stamped = (command_value(&command, n) &
				IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) != 0;
		n++;
	}
	record_command(&result, &command);
	if (command.present == 0 || command.entry == NULL)
		return;
	if (command.entry->fields[__builtin_ctz(command.present)].kind == VMLX4_FIELD_CQ)
		show->timestamps[command_value(&command, 0) >> 32 & 0xffff] = stamped;
}

static int
print_all(struct show *show)
{
	struct vmlx4_trace_end end = { 0 };
	enum trace_next next;
	struct record record;
	bool orderly = false;

	print_head(&show->trace);
	while ((next = trace_next(&show->trace, &record)) == TRACE_RECORD) {
		if (record.kind == VMLX4_TRACE_COMMAND)
			remember_timestamps(show, &record);
		if (record.kind == VMLX4_TRACE_END) {
			memcpy(&end, record.payload, sizeof(end));
			orderly = true;
		} else if (record.kind != VMLX4_TRACE_RESULT && filter_passes(show, &record)) {
			print_record(show, &record);
		}
		if (ferror(stdout))
			break;
	}
	if (next != TRACE_CORRUPT)
		print_end(orderly, le64toh(end.lost));
	/* Who reads us may have seen enough; anything else is a fault. */
	if (fflush(stdout) != 0 && errno != EPIPE)
		return complain("standard output: %s", strerror(errno));
	return next == TRACE_CORRUPT ? EXIT_USAGE : 0;
}

int
show_command(int argc, char **argv)
{
	static struct show show;
	int ret = show_arguments(argc, argv, &show);

	if (ret != 0)
		return ret > 0 ? 0 : EXIT_USAGE;
	if (!trace_open(&show.trace, show.file))
		return EXIT_USAGE;
	ret = show.pcapng != NULL ? pcapng_write(&show) : print_all(&show);
	trace_close(&show.trace);
	return ret;
}
