/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "show.h"

/*
 * The pcapng format, as the IETF's draft-ietf-opsawg-pcapng describes it: a section
 * header, a description of each interface, then a block for each frame. In the
 * byte order of this machine, which readers find out.
 */

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u

#define OPTION_END 0
#define OPTION_SECTION_APPLICATION 4
#define OPTION_INTERFACE_NAME 2
#define OPTION_INTERFACE_TSRESOL 9
#define OPTION_PACKET_FLAGS 2

#define INBOUND 1u
#define OUTBOUND 2u
#define NANOSECONDS 9 /* time unit: 10^-9 s */

struct block {
	FILE *out;
	size_t used;
	uint8_t bytes[65536 + 1024];
};

static void
put(struct block *block, const void *bytes, size_t size)
{
	memcpy(block->bytes + block->used, bytes, size);
	block->used += size;
	while (block->used % 4 != 0)
		block->bytes[block->used++] = 0;
}

static void
put32(struct block *block, uint32_t value)
{
	put(block, &value, sizeof(value));
}

static void
put_option(struct block *block, uint16_t code, const void *value, uint16_t size)
{
	uint16_t head[2] = { code, size };

	put(block, head, sizeof(head));
	put(block, value, size);
}

static void
begin(struct block *block, uint32_t type)
{
	block->used = 0;
	put32(block, type);
	put32(block, 0); /* total length, see end() */
}

static void
end(struct block *block)
{
	uint32_t length;

	put_option(block, OPTION_END, "", 0);
	length = (uint32_t)block->used + 4;
	memcpy(block->bytes + 4, &length, sizeof(length));
	put32(block, length);
	fwrite(block->bytes, 1, block->used, block->out);
}

static void
write_section(struct block *block, const struct trace *trace)
{
	uint16_t version[2] = { 1, 0 };
	uint64_t unknown_length = UINT64_MAX;
	char application[64];

	begin(block, BLOCK_SECTION);
	put32(block, BYTE_ORDER_MAGIC);
	put(block, version, sizeof(version));
	put(block, &unknown_length, sizeof(unknown_length));
	snprintf(application, sizeof(application), "vmlx4 %.32s", trace->writer);
	put_option(block, OPTION_SECTION_APPLICATION, application,
		(uint16_t)strlen(application));
	end(block);
}

static void
write_interface(struct block *block, const struct trace *trace, unsigned int i)
{
	uint16_t link[2] = { LINKTYPE_ETHERNET, 0 };
	uint8_t unit = NANOSECONDS;
	size_t length = strnlen(trace->ifname[i], IFNAMSIZ);

	begin(block, BLOCK_INTERFACE);
	put(block, link, sizeof(link));
	put32(block, trace->snaplen);
	put_option(block, OPTION_INTERFACE_NAME, trace->ifname[i], (uint16_t)length);
	put_option(block, OPTION_INTERFACE_TSRESOL, &unit, sizeof(unit));
	end(block);
}

static void
write_frame(struct block *block, const struct trace *trace, const struct record *record)
{
	struct vmlx4_trace_frame head;
	/* A stepped run has no date; its clock is as good as any. */
	uint64_t time = record->time + (trace->wall != 0 ? trace->wall : trace->start);
	uint32_t flags;

	memcpy(&head, record->payload, sizeof(head));
	flags = head.direction == VMLX4_TRACE_OUT ? OUTBOUND : INBOUND;
	begin(block, BLOCK_PACKET);
	put32(block, record->port - 1);
	put32(block, (uint32_t)(time >> 32));
	put32(block, (uint32_t)time);
	put32(block, le32toh(head.kept));
	put32(block, le32toh(head.length));
	put(block, (const uint8_t *)record->payload + sizeof(head), le32toh(head.kept));
	put_option(block, OPTION_PACKET_FLAGS, &flags, sizeof(flags));
	end(block);
}

static bool
on_the_wire(const struct record *record)
{
	struct vmlx4_trace_frame head;

	if (record->kind != VMLX4_TRACE_FRAME)
		return false;
	memcpy(&head, record->payload, sizeof(head));
	return (head.flags & VMLX4_TRACE_FRAME_DOWN) == 0;
}

int
pcapng_write(struct show *show)
{
	static struct block block;
	bool is_stdout = strcmp(show->pcapng, "-") == 0, failed;
	struct trace *trace = &show->trace;
	struct record record;
	enum trace_next next;
	unsigned int i;

	block.out = is_stdout ? stdout : fopen(show->pcapng, "we");
	if (block.out == NULL)
		return complain("option pcapng: \"%s\": %s: give a file in a folder that you may "
			"write", show->pcapng, strerror(errno));
	write_section(&block, trace);
	for (i = 0; i < trace->ports; i++)
		write_interface(&block, trace, i);
	while ((next = trace_next(trace, &record)) == TRACE_RECORD)
		if (on_the_wire(&record) && filter_passes(show, &record))
			write_frame(&block, trace, &record);
	failed = ferror(block.out) != 0;
	/* The last of it is written by the close. */
	failed = (is_stdout ? fflush(stdout) : fclose(block.out)) != 0 || failed;
	if (failed)
		return complain("%s: %s", show->pcapng, strerror(errno));
	return next == TRACE_CORRUPT ? EXIT_USAGE : 0;
}
