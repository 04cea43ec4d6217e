/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "internal.h"
#include "../profile.h"

/*
 * Records are written through a mapping: what was written is in the file whatever
 * becomes of the process. Room on the disk is asked for before it is mapped, as a
 * store to a page without any would be a SIGBUS.
 */

#define WINDOW (4u << 20)
#define HEAD_MAX (3u * PATH_MAX + 512)
#define OTHERS_MAX 1000 /* files of one run */

/* Not so when a program closed all descriptors, and has a file of its own there now. */
static bool
is_ours(const struct vmlx4_trace *trace)
{
	struct stat st;

	return fstat(trace->fd, &st) == 0 && st.st_dev == trace->device &&
		st.st_ino == trace->inode;
}

/* Map the file from the position on, for at least size bytes; a negative errno. */
static int
window_move(struct vmlx4_trace *trace, size_t size)
{
	uint64_t end = trace->at + trace->used;
	uint64_t at = end & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
	int ret;

	if (trace->window != NULL)
		munmap(trace->window, WINDOW);
	trace->window = NULL;
	trace->at = at;
	trace->used = (size_t)(end - at);
	if (size > WINDOW - trace->used)
		return -EFBIG;
	if (!is_ours(trace))
		return -EBADF;
	ret = posix_fallocate(trace->fd, (off_t)at, WINDOW);
	if (ret != 0)
		return -ret;
	trace->window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd,
		(off_t)at);
	if (trace->window != MAP_FAILED)
		return 0;
	trace->window = NULL;
	return -errno;
}

/* Room for a record; said once when there is no more. */
static bool
window_has(struct vmlx4_trace *trace, size_t size)
{
	int ret;

	if (trace->window == NULL)
		return false;
	if (size <= WINDOW - trace->used)
		return true;
	ret = window_move(trace, size);
	if (ret == 0)
		return true;
	fprintf(stderr, "vmlx4: trace %s: %s: it ends here, records from now on are lost\n",
		trace->file, strerror(-ret));
	return false;
}

void *
vmlx4_trace_begin(struct vmlx4_adapter *adapter, enum vmlx4_trace_kind kind, unsigned int port,
	const struct vmlx4_context *ctx, size_t size)
{
	struct vmlx4_trace *trace = adapter->trace;
	size_t whole = (sizeof(struct vmlx4_trace_record) + size + 7) & ~(size_t)7;
	struct vmlx4_trace_record *record;

	if (!window_has(trace, whole)) {
		trace->lost++;
		return NULL;
	}
	/* All zeroes, as the file only grows, but for what a record left in the middle. */
	if (trace->begun != 0)
		memset(trace->window + trace->used, 0, trace->begun);
	trace->begun = whole;
	record = (struct vmlx4_trace_record *)(void *)(trace->window + trace->used);
	record->kind = (uint8_t)kind;
	record->port = (uint8_t)port;
	record->context = htole16(ctx != NULL ? (uint16_t)ctx->number : 0);
	record->time = htole64(vmlx4_time(adapter));
	return record + 1;
}

void
vmlx4_trace_done(struct vmlx4_trace *trace, size_t size)
{
	struct vmlx4_trace_record *record =
		(struct vmlx4_trace_record *)(void *)(trace->window + trace->used);
	size_t whole = (sizeof(*record) + size + 7) & ~(size_t)7;

	/* From here on a crash leaves the record in the file. */
	__atomic_store_n(&record->size, htole32((uint32_t)whole), __ATOMIC_RELEASE);
	trace->used += whole;
	trace->begun = 0;
}

/* ---- beginning ---- */

/*
 * The launcher took an older trace of this name away, so one that is there is of
 * another process of this run.
 */
static int
file_create(struct vmlx4_trace *trace, const char *name)
{
	struct stat st;
	unsigned int i;

	for (i = 1; i < OTHERS_MAX; i++) {
		snprintf(trace->file, sizeof(trace->file), i == 1 ? "%s" : "%s.%u", name, i);
		trace->fd = open(trace->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (trace->fd >= 0 || errno != EEXIST)
			break;
	}
	if (trace->fd < 0 || fstat(trace->fd, &st) < 0)
		return -errno;
	trace->device = st.st_dev;
	trace->inode = st.st_ino;
	return window_move(trace, HEAD_MAX);
}

/* The options but for those that name a place of this one run. */
static void
options_text(const char *text, char *out, size_t size)
{
	static const char * const places[] = { "sysfs=", "stats=", "trace=", "faults-log=" };
	size_t used = 0, i;

	out[0] = '\0';
	while (*text != '\0') {
		size_t length = 0;
		bool shown = true;

		while (text[length] != '\0' && text[length] != ' ')
			length += text[length] == '\\' && text[length + 1] != '\0' ? 2 : 1;
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			shown &= strncmp(text, places[i], strlen(places[i])) != 0;
		if (shown && length > 0 && used + length + 2 < size)
			used += (size_t)snprintf(out + used, size - used, "%s%.*s",
				used > 0 ? " " : "", (int)length, text);
		text += length;
		while (*text == ' ')
			text++;
	}
}

static uint64_t
wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static size_t
head_texts(const struct vmlx4_adapter *adapter, char *at, size_t room)
{
	const char *given = getenv(VMLX4_OPTIONS_ENV);
	char options[2 * PATH_MAX];
	size_t used = 0;
	unsigned int i;

	options_text(given != NULL ? given : "", options, sizeof(options));
	used += (size_t)snprintf(at, room, "%s", VMLX4_VERSION) + 1;
	used += (size_t)snprintf(at + used, room - used, "%s", adapter->profile->name) + 1;
	used += (size_t)snprintf(at + used, room - used, "%s", options) + 1;
	for (i = 0; i < adapter->options.ports; i++)
		used += (size_t)snprintf(at + used, room - used, "%s",
			adapter->ports[i].netdev.name) + 1;
	return used;
}

static void
head_write(struct vmlx4_adapter *adapter)
{
	const struct vmlx4_options *options = &adapter->options;
	struct vmlx4_trace *trace = adapter->trace;
	struct vmlx4_trace_head *head = (struct vmlx4_trace_head *)(void *)trace->window;
	size_t size = sizeof(*head);

	size += head_texts(adapter, (char *)(head + 1), HEAD_MAX - sizeof(*head));
	size = (size + 7) & ~(size_t)7;
	head->version = htole32(VMLX4_TRACE_VERSION);
	head->size = htole32((uint32_t)size);
	head->commands = htole32(vmlx4_trace_commands_hash());
	head->flags = htole32((options->trace_raw ? VMLX4_TRACE_RAW : 0) |
		(options->step ? VMLX4_TRACE_STEPPED : 0));
	head->seed = htole64(options->seed);
	head->start = htole64(vmlx4_time(adapter));
	head->wall = htole64(options->step ? 0 : wall_clock());
	head->snaplen = htole32(options->trace_snaplen);
	head->ports = htole32(options->ports);
	memcpy(head->magic, VMLX4_TRACE_MAGIC, sizeof(head->magic));
	trace->used = size;
}

int
vmlx4_trace_open(struct vmlx4_adapter *adapter, char *error, size_t error_size)
{
	const char *name = adapter->options.trace_file;
	struct vmlx4_trace *trace;
	unsigned int i;
	int ret;

	if (name[0] == '\0')
		return 0;
	trace = calloc(1, sizeof(*trace));
	if (trace == NULL)
		return -ENOMEM;
	trace->raw = adapter->options.trace_raw;
	trace->snaplen = adapter->options.trace_snaplen;
	ret = file_create(trace, name);
	if (ret < 0) {
		snprintf(error, error_size, "option trace: \"%s\": %s: give a file in a folder "
			"that you may write, on a disk with room", name, strerror(-ret));
		if (trace->fd >= 0)
			close(trace->fd);
		free(trace);
		return ret;
	}
	adapter->trace = trace;
	head_write(adapter);
	/* What holds at the beginning. */
	for (i = 0; i < adapter->options.ports; i++)
		vmlx4_trace_link(&adapter->ports[i]);
	return 0;
}

void
vmlx4_trace_close(struct vmlx4_adapter *adapter)
{
	struct vmlx4_trace *trace = adapter->trace;
	struct vmlx4_trace_end *end;

	if (trace == NULL)
		return;
	vmlx4_trace_write_counters(adapter);
	end = vmlx4_trace_begin(adapter, VMLX4_TRACE_END, 0, NULL, sizeof(*end));
	if (end != NULL) {
		end->lost = htole64(trace->lost);
		vmlx4_trace_done(trace, sizeof(*end));
	} else {
		fprintf(stderr, "vmlx4: trace %s: %llu records were lost\n", trace->file,
			(unsigned long long)trace->lost);
	}
	adapter->trace = NULL;
	/* What was asked for beyond is given back; if that fails it is zeroes. */
	if (is_ours(trace) && ftruncate(trace->fd, (off_t)(trace->at + trace->used)) < 0)
		fprintf(stderr, "vmlx4: trace %s: %s\n", trace->file, strerror(errno));
	if (trace->window != NULL)
		munmap(trace->window, WINDOW);
	if (is_ours(trace))
		close(trace->fd);
	free(trace);
}
