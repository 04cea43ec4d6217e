/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../launcher.h"
#include "reader.h"

/* ---- the file and its head ---- */

static bool
map_file(struct trace *trace)
{
	int fd = open(trace->file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = MAP_FAILED;

	if (fd < 0 || fstat(fd, &st) < 0) {
		complain("%s: %s: name a file that \"vmlx4 exec --trace\" wrote", trace->file,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	trace->size = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
	if (trace->size > 0)
		bytes = mmap(NULL, trace->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED) {
		complain("%s: no trace, as it is %s: name a file that \"vmlx4 exec --trace\" wrote",
			trace->file, S_ISREG(st.st_mode) ? "empty" : "no regular file");
		return false;
	}
	trace->bytes = bytes;
	return true;
}

/* The text at *at, which moves behind it; NULL: it has no end before end. */
static const char *
take_text(const struct trace *trace, size_t *at, size_t end)
{
	const char *text = (const char *)trace->bytes + *at;
	size_t length = strnlen(text, end - *at);

	if (length == end - *at)
		return NULL;
	*at += length + 1;
	return text;
}

static bool
read_texts(struct trace *trace, size_t size)
{
	size_t at = sizeof(struct vmlx4_trace_head);
	unsigned int i;

	trace->writer = take_text(trace, &at, size);
	if (trace->writer == NULL)
		return false;
	trace->profile = take_text(trace, &at, size);
	if (trace->profile == NULL)
		return false;
	trace->options = take_text(trace, &at, size);
	if (trace->options == NULL)
		return false;
	for (i = 0; i < trace->ports; i++) {
		trace->ifname[i] = take_text(trace, &at, size);
		if (trace->ifname[i] == NULL)
			return false;
	}
	return true;
}

static bool
read_head(struct trace *trace)
{
	struct vmlx4_trace_head head;
	size_t size;

	if (trace->size < sizeof(head) ||
			memcmp(trace->bytes, VMLX4_TRACE_MAGIC, sizeof(head.magic)) != 0) {
		complain("%s: no trace: name a file that \"vmlx4 exec --trace\" wrote",
			trace->file);
		return false;
	}
	memcpy(&head, trace->bytes, sizeof(head));
	if (le32toh(head.version) != VMLX4_TRACE_VERSION) {
		complain("%s: version %u of the format, this program reads %u: use the vmlx4 that "
			"wrote it", trace->file, le32toh(head.version), VMLX4_TRACE_VERSION);
		return false;
	}
	size = le32toh(head.size);
	trace->flags = le32toh(head.flags);
	trace->snaplen = le32toh(head.snaplen);
	trace->ports = le32toh(head.ports);
	trace->seed = le64toh(head.seed);
	trace->start = le64toh(head.start);
	trace->wall = le64toh(head.wall);
	trace->at = size;
	if (size < sizeof(head) || size > trace->size || size % 8 != 0 || trace->ports < 1 ||
			trace->ports > VMLX4_MAX_PORTS || !read_texts(trace, size)) {
		complain("%s: corrupt: the head makes no sense", trace->file);
		return false;
	}
	if (le32toh(head.commands) == vmlx4_trace_commands_hash())
		return true;
	complain("%s: written by vmlx4 %.32s with other tables of commands: use the one that wrote "
		"it", trace->file, trace->writer);
	return false;
}

bool
trace_open(struct trace *trace, const char *file)
{
	*trace = (struct trace){ .file = file };
	if (!map_file(trace))
		return false;
	if (read_head(trace))
		return true;
	trace_close(trace);
	return false;
}

void
trace_close(struct trace *trace)
{
	munmap((void *)(uintptr_t)trace->bytes, trace->size);
	trace->bytes = NULL;
}

/* ---- records ---- */

void
record_command(const struct record *record, struct command *command)
{
	struct vmlx4_trace_command raw;

	memcpy(&raw, record->payload, sizeof(raw));
	command->number = le32toh(raw.command);
	command->result = (int32_t)le32toh((uint32_t)raw.result);
	command->entry = vmlx4_trace_command_entry(le16toh(raw.entry));
	command->present = le32toh(raw.present);
	command->values = (const uint8_t *)record->payload + sizeof(raw);
	command->blob = command->values + 8 * (size_t)__builtin_popcount(command->present);
	command->blob_size = le16toh(raw.blob);
}

uint64_t
command_value(const struct command *command, unsigned int n)
{
	uint64_t value;

	memcpy(&value, command->values + 8 * (size_t)n, sizeof(value));
	return le64toh(value);
}

static bool
command_fits(const struct record *record)
{
	struct command command;
	size_t needed;

	record_command(record, &command);
	needed = (size_t)(command.blob - (const uint8_t *)record->payload) + command.blob_size;
	if (needed > record->size)
		return false;
	if (command.entry == NULL)
		return command.present == 0;
	return command.entry->count >= 32 || command.present >> command.entry->count == 0;
}

static bool
wqe_fits(const struct record *record)
{
	struct vmlx4_trace_wqe wqe;
	uint32_t size;

	memcpy(&wqe, record->payload, sizeof(wqe));
	size = le32toh(wqe.size);
	return size % 16 == 0 && size <= record->size - sizeof(wqe) &&
		(record->kind == VMLX4_TRACE_RQE || size >= 16);
}

static bool
frame_fits(const struct record *record)
{
	struct vmlx4_trace_frame frame;

	memcpy(&frame, record->payload, sizeof(frame));
	return le32toh(frame.kept) <= record->size - sizeof(frame) &&
		le32toh(frame.kept) <= VMLX4_TRACE_SNAPLEN_MAX &&
		le32toh(frame.kept) <= le32toh(frame.length);
}

/* So many texts, each with its end. */
static bool
texts_fit(const struct record *record, size_t at, unsigned int count)
{
	const uint8_t *bytes = record->payload, *end;

	for (; count > 0; count--) {
		end = memchr(bytes + at, '\0', record->size - at);
		if (end == NULL)
			return false;
		at = (size_t)(end - bytes) + 1;
	}
	return true;
}

/* What is fixed of each kind. */
static const size_t least[VMLX4_TRACE_KINDS] = {
	[VMLX4_TRACE_END] = sizeof(struct vmlx4_trace_end),
	[VMLX4_TRACE_COMMAND] = sizeof(struct vmlx4_trace_command),
	[VMLX4_TRACE_RESULT] = sizeof(struct vmlx4_trace_command),
	[VMLX4_TRACE_DOORBELL] = sizeof(struct vmlx4_trace_doorbell),
	[VMLX4_TRACE_WQE] = sizeof(struct vmlx4_trace_wqe),
	[VMLX4_TRACE_RQE] = sizeof(struct vmlx4_trace_wqe),
	[VMLX4_TRACE_CQE] = sizeof(struct vmlx4_trace_cqe),
	[VMLX4_TRACE_FRAME] = sizeof(struct vmlx4_trace_frame),
	[VMLX4_TRACE_EVENT] = sizeof(struct vmlx4_trace_event),
	[VMLX4_TRACE_LINK] = sizeof(struct vmlx4_trace_link),
	[VMLX4_TRACE_VIOLATION] = sizeof(struct vmlx4_trace_violation),
	[VMLX4_TRACE_COUNTER] = sizeof(struct vmlx4_trace_counter),
};

static bool
payload_fits(const struct trace *trace, const struct record *record)
{
	if (record->kind >= VMLX4_TRACE_KINDS || record->size < least[record->kind] ||
			record->port > trace->ports)
		return false;
	switch (record->kind) {
	case VMLX4_TRACE_COMMAND:
	case VMLX4_TRACE_RESULT:
		return command_fits(record);
	case VMLX4_TRACE_WQE:
	case VMLX4_TRACE_RQE:
		return wqe_fits(record);
	case VMLX4_TRACE_FRAME:
		return record->port != 0 && frame_fits(record);
	case VMLX4_TRACE_VIOLATION:
		return texts_fit(record, sizeof(struct vmlx4_trace_violation), 3);
	case VMLX4_TRACE_COUNTER:
		return texts_fit(record, sizeof(struct vmlx4_trace_counter), 1);
	case VMLX4_TRACE_FAULT:
		return texts_fit(record, 0, 1);
	default:
		return true;
	}
}

/* What is at a place of the file; the size of the record, 0: nothing, or nothing good. */
static size_t
read_record(const struct trace *trace, size_t at, struct record *record, bool *corrupt)
{
	struct vmlx4_trace_record head;
	size_t size;

	*corrupt = false;
	if (at == trace->size)
		return 0;
	*corrupt = true;
	if (trace->size - at < sizeof(head))
		return 0;
	memcpy(&head, trace->bytes + at, sizeof(head));
	size = le32toh(head.size);
	*corrupt = size != 0;
	if (size == 0 || size < sizeof(head) || size % 8 != 0 || size > trace->size - at)
		return 0;
	record->kind = (enum vmlx4_trace_kind)head.kind;
	record->port = head.port;
	record->context = le16toh(head.context);
	record->time = le64toh(head.time) - trace->start;
	record->payload = trace->bytes + at + sizeof(head);
	record->size = size - sizeof(head);
	*corrupt = !payload_fits(trace, record);
	return *corrupt ? 0 : size;
}

enum trace_next
trace_next(struct trace *trace, struct record *record)
{
	bool corrupt;
	size_t size = read_record(trace, trace->at, record, &corrupt);

	trace->at += size;
	if (size > 0)
		return TRACE_RECORD;
	if (!corrupt)
		return TRACE_STOPS;
	complain("%s: corrupt, or cut off, at byte %zu: what was before it is all there is",
		trace->file, trace->at);
	return TRACE_CORRUPT;
}

bool
trace_result(const struct trace *trace, struct record *record)
{
	size_t at = trace->at, size;
	bool corrupt;

	/* Commands come one at a time. */
	while ((size = read_record(trace, at, record, &corrupt)) > 0) {
		if (record->kind == VMLX4_TRACE_RESULT)
			return true;
		if (record->kind == VMLX4_TRACE_COMMAND)
			return false;
		at += size;
	}
	return false;
}
