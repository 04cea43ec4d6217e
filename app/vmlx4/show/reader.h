/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SHOW_READER_H_
#define SHOW_READER_H_

/* A trace file, record by record. Nothing in it is trusted. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "trace/commands.h"
#include "trace/format.h"

struct trace {
	const char *file;      /* its name */
	const uint8_t *bytes;
	size_t size;
	size_t at;             /* next record */
	/* Of the head, in host order. */
	uint32_t flags, snaplen, ports;
	uint64_t seed, start, wall;
	const char *writer, *profile, *options;
	const char *ifname[VMLX4_MAX_PORTS];
};

/* One record, in host order; every length and text in it has been checked. */
struct record {
	enum vmlx4_trace_kind kind;
	unsigned int port, context;
	uint64_t time;         /* ns since the beginning */
	const void *payload;
	size_t size;           /* of the payload */
};

/* A command taken apart. */
struct command {
	uint32_t number;
	int32_t result;
	const struct vmlx4_command_entry *entry; /* NULL: none is known */
	uint32_t present;
	const uint8_t *values; /* see command_value() */
	const uint8_t *blob;
	size_t blob_size;
};

/* False: complained. */
bool trace_open(struct trace *trace, const char *file);
void trace_close(struct trace *trace);

enum trace_next { TRACE_RECORD, TRACE_STOPS, TRACE_CORRUPT };
/*
 * The next record; TRACE_STOPS: nothing more was written; TRACE_CORRUPT: complained.
 */
enum trace_next trace_next(struct trace *trace, struct record *record);
/* The result of the command that was read last, if it is there. */
bool trace_result(const struct trace *trace, struct record *record);

void record_command(const struct record *record, struct command *command);
/* The n-th value that is present. */
uint64_t command_value(const struct command *command, unsigned int n);

#endif /* SHOW_READER_H_ */
