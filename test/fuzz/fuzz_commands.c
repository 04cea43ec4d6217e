/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command decoder, all handlers, and what the engine makes of the objects:
 * an input is a program of steps, most of them commands.
 */

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adapter.h"
#include "fuzz.h"
#include "hca/internal.h"
#include "uverbs/uverbs.h"

#define ARENA (64 * 4096u)
#define FILES 2          /* open contexts */
#define STEPS 200        /* of one input */
#define FDS 1024         /* descriptors that may be in use */

enum step {
	STEP_COMMAND,    /* four of ten */
	STEP_POKE = 4,   /* bytes into the arena */
	STEP_DOORBELL,   /* a word into the UAR or BlueFlame page */
	STEP_RUN,        /* the engine */
	STEP_FRAME,      /* arrives at a port */
	STEP_PAGE,       /* of the arena goes or comes back */
	STEP_FILE,       /* the other context, or a new one */
	STEPS_OF
};

/* How a command is wrapped. */
#define MODE_EXTENDED  0x01u
#define MODE_NO_REPLY  0x02u  /* no reply pointer, no room */
#define MODE_DRV_REPLY 0x04u  /* room for mlx4's part of the reply */
#define MODE_SHORT     0x08u  /* the sizes in the header are wrong */
#define MODE_SMALL     0x10u  /* little room for the reply */
#define MODE_BAD_REPLY 0x20u  /* the reply goes where the input says */

static uint8_t *arena;
static bool verbose;     /* FUZZ_VERBOSE: what an input comes to */
static struct vmlx4_adapter *adapter;
static int files[FILES], events[FILES];

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv(VMLX4_OPTIONS_ENV, "step ports=2 strict=report profile=cx3pro ib=2", 1);
	/* In front of everything: the adapter reads the list of mappings up to it. */
	verbose = getenv("FUZZ_VERBOSE") != NULL;
	arena = mmap((void *)(uintptr_t)0x10000000, ARENA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	adapter = vmlx4_adapter_require();
	if (arena == MAP_FAILED || adapter == NULL)
		return -1;
	return 0;
}

static void
open_file(int index)
{
	struct ib_uverbs_get_context_resp reply[4] = { { .async_fd = ~0u } };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context body;
	} command = {
		.hdr = { IB_USER_VERBS_CMD_GET_CONTEXT, sizeof(command) / 4, 6 },
		.body = { .response = (uintptr_t)reply },
	};

	if (files[index] >= 0)
		return;
	files[index] = vmlx4_uverbs_open(adapter, O_CLOEXEC);
	if (files[index] >= 0)
		vmlx4_uverbs_write(adapter, files[index], &command, sizeof(command));
	events[index] = (int)reply[0].async_fd;
}

static void
close_file(int index)
{
	if (files[index] < 0)
		return;
	vmlx4_uverbs_close(adapter, files[index]);
	close(files[index]);
	if (events[index] >= 0)
		close(events[index]);
	files[index] = -1;
}

static void
close_channels(void)
{
	int fd;

	for (fd = 0; fd < FDS; fd++) {
		if (vmlx4_fd_kind(fd) != VMLX4_FD_CHANNEL)
			continue;
		vmlx4_uverbs_close(adapter, fd);
		close(fd);
	}
}

static struct vmlx4_context *
context(int index)
{
	return files[index] < 0 ? NULL : vmlx4_fd_get(files[index], VMLX4_FD_CONTEXT);
}

/* The type of a QP and whether it signals all, in their word of the command: no address. */
#define QP_WORD 0x0f0100000000u

/* libFuzzer learns addresses of this program, which must not be overwritten. */
static bool
is_own(uint64_t word)
{
	uint64_t high = word >> 40;

	/* The shadow of a sanitizer, the program, a sanitizer's heap, libraries and stack. */
	return (word >= 0x7fff8000 && word < 0x8fff7000) ||
		(word >= 0x2008fff7000 && word < 0x10007fff8000) ||
		high == 0x55 || high == 0x56 || (high >= 0x60 && high <= 0x64) ||
		high == 0x7e || high == 0x7f;
}

/* Words that stand for addresses. */
static void
place(uint8_t *bytes, size_t size, bool qp)
{
	size_t at;

	for (at = 0; at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, bytes + at, 8);
		if (word >> 32 != ARENA_MARK && (!is_own(word) ||
				(qp && (word & ~(uint64_t)QP_WORD) == 0)))
			continue;
		word = (uintptr_t)arena + (uint32_t)word % (2 * ARENA);
		memcpy(bytes + at, &word, 8);
	}
}

static void
command(struct input *in, int index)
{
	static uint64_t reply[128];
	uint8_t number = take8(in), mode = take8(in);
	uint8_t core = take8(in), driver = take8(in);
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t rest[16 + 512];
	} whole = { .hdr = { .command = number } };
	uint64_t response = (mode & MODE_NO_REPLY) != 0 ? 0 : (uintptr_t)reply;
	uint16_t out = (mode & MODE_NO_REPLY) != 0 ? 0 : (mode & MODE_SMALL) != 0 ? 1 : 64;
	size_t head = sizeof(whole.hdr), size;
	ssize_t ret;

	if ((mode & MODE_EXTENDED) != 0) {
		core = (uint8_t)(core & ~7);
		driver = (uint8_t)(driver & ~7);
		head += 16;
	}
	size = (size_t)core + driver;
	take(in, (uint8_t *)&whole + head, size);
	place((uint8_t *)&whole + head, size, number == IB_USER_VERBS_CMD_CREATE_QP);
	if ((mode & MODE_BAD_REPLY) != 0)
		memcpy(&response, (uint8_t *)&whole + head, 8);
	if ((mode & MODE_EXTENDED) != 0) {
		struct ib_uverbs_ex_cmd_hdr ex = {
			.response = response, .provider_in_words = driver / 8,
			.provider_out_words = (mode & MODE_DRV_REPLY) != 0 ? 6 : 0,
		};

		whole.hdr.command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		whole.hdr.in_words = core / 8;
		whole.hdr.out_words = out == 64 ? 40 : out;
		memcpy(whole.rest, &ex, sizeof(ex));
	} else {
		whole.hdr.in_words = (uint16_t)((head + size) / 4);
		whole.hdr.out_words = out;
		if (size >= 8 && (mode & MODE_NO_REPLY) == 0)
			memcpy(whole.rest, &response, 8);
		size &= ~(size_t)3;
	}
	if ((mode & MODE_SHORT) != 0)
		whole.hdr.in_words ^= 1;
	if (files[index] < 0)
		return;
	ret = vmlx4_uverbs_write(adapter, files[index], &whole, head + size);
	if (verbose)
		fprintf(stderr, "%s %u: %s\n", (mode & MODE_EXTENDED) != 0 ? "extended" : "command",
			number, ret < 0 ? strerror((int)-ret) : "done");
}

static void
run_engine(void)
{
	unsigned int i;

	for (i = 0; i < 64 && adapter->engine != NULL; i++)
		if (vmlx4_engine_pass(adapter, 64) == 0)
			break;
	if (adapter->engine != NULL)
		vmlx4_engine_audit(adapter);
}

static void
doorbell(struct input *in, int index)
{
	static const uint16_t words[] = { 0x14, 0x20, 0x24, 0x1004, 0x1104 };
	struct vmlx4_context *ctx = context(index);
	uint16_t at = words[take8(in) % 5];
	uint32_t value = (uint32_t)take16(in) << 8;

	if (ctx != NULL)
		memcpy(ctx->pages + at, &(uint32_t){ htobe32(value) }, 4);
}

static void
frame(struct input *in)
{
	uint8_t bytes[256], port = take8(in);
	size_t size = take(in, bytes, take8(in));

	if (adapter->engine != NULL && size > 0)
		vmlx4_port_receive(&adapter->ports[port % 2], bytes, size);
}

static void
page(struct input *in)
{
	uint8_t which = take8(in);
	int protection = (which & 0x80) != 0 ? PROT_NONE : PROT_READ | PROT_WRITE;

	if ((which & 0xc0) == 0x40)
		protection = PROT_READ;
	mprotect(arena + which % (ARENA / 4096) * 4096, 4096, protection);
}

static int
one_step(struct input *in, int index)
{
	static uint8_t bytes[256];
	size_t at, size;

	switch (take8(in) % STEPS_OF) {
	default:
		command(in, index);
		break;
	case STEP_POKE:
		at = (size_t)take16(in) * 8 % ARENA;
		size = take(in, bytes, take8(in));
		place(bytes, size, false);
		if (at + size <= ARENA && vmlx4_guard_writable(arena + at, size + 1))
			memcpy(arena + at, bytes, size);
		break;
	case STEP_DOORBELL:
		doorbell(in, index);
		break;
	case STEP_RUN:
		run_engine();
		break;
	case STEP_FRAME:
		frame(in);
		break;
	case STEP_PAGE:
		page(in);
		break;
	case STEP_FILE:
		at = take8(in);
		index = at & 1;
		if ((at & 2) != 0)
			close_file(index);
		open_file(index);
		break;
	}
	return index;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	int index = 0, i;

	memset(arena, 0, ARENA);
	for (i = 0; i < FILES; i++)
		files[i] = -1;
	/* The same numbers for the same commands. */
	vmlx4_numbers_free(adapter->numbers);
	adapter->numbers = vmlx4_numbers_new();
	if (adapter->numbers == NULL)
		return 0;
	open_file(0);
	for (i = 0; i < STEPS && in.left > 0; i++)
		index = one_step(&in, index);
	mprotect(arena, ARENA, PROT_READ | PROT_WRITE);
	run_engine();
	close_channels();
	for (i = 0; i < FILES; i++)
		close_file(i);
	return 0;
}
