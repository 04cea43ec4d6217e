/* SPDX-License-Identifier: BSD-3-Clause */

/* The writer of traces on a card of plain memory, to the byte. */

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "card.h"
#include "trace/commands.h"
#include "trace/internal.h"

#define OTHER_LKEY 0x00020033u

struct bench {
	struct card card;
	struct vmlx4_mr other;   /* over a second area */
	uint8_t *area;
	char folder[64], file[128];
	/* The file, once it is closed. */
	uint8_t *bytes;
	size_t size, at;
};

static int
setup(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct vmlx4_adapter *adapter;
	char error[512] = "";

	card_new(&bench->card, VMLX4_STRICT_OFF);
	adapter = bench->card.adapter;
	strcpy(bench->folder, "/tmp/vmlx4-trace-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	snprintf(bench->file, sizeof(bench->file), "%s/trace", bench->folder);
	strcpy(adapter->options.trace_file, bench->file);
	adapter->options.trace_snaplen = 65535;
	bench->area = aligned_alloc(4096, 4096);
	bench->other = (struct vmlx4_mr){
		.pd = &bench->card.pd, .lkey = OTHER_LKEY, .start = (uintptr_t)bench->area,
		.iova = (uintptr_t)bench->area, .length = 4096,
	};
	adapter->mr_table[OTHER_LKEY >> 8] = &bench->other;
	bench->other.obj.type = VMLX4_MR;
	bench->card.mr.obj.type = VMLX4_MR;
	TAILQ_INSERT_HEAD(&bench->card.ctx->objs, &bench->card.mr.obj, next);
	TAILQ_INSERT_HEAD(&bench->card.ctx->objs, &bench->other.obj, next);
	assert_int_equal(vmlx4_trace_open(adapter, error, sizeof(error)), 0);
	*state = bench;
	return 0;
}

static int
teardown(void **state)
{
	struct bench *bench = *state;

	vmlx4_trace_close(bench->card.adapter);
	TAILQ_REMOVE(&bench->card.ctx->objs, &bench->card.mr.obj, next);
	TAILQ_REMOVE(&bench->card.ctx->objs, &bench->other.obj, next);
	card_free(&bench->card);
	unlink(bench->file);
	rmdir(bench->folder);
	free(bench->area);
	free(bench->bytes);
	free(bench);
	return 0;
}

static void
read_back(struct bench *bench)
{
	struct stat st;
	uint32_t size;
	int fd;

	vmlx4_trace_close(bench->card.adapter);
	fd = open(bench->file, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bench->size = (size_t)st.st_size;
	bench->bytes = malloc(bench->size);
	assert_int_equal(read(fd, bench->bytes, bench->size), st.st_size);
	close(fd);
	memcpy(&size, bench->bytes + offsetof(struct vmlx4_trace_head, size), sizeof(size));
	bench->at = le32toh(size);
}

/* The next record of a kind, or NULL: its payload. */
static const void *
next_of(struct bench *bench, enum vmlx4_trace_kind kind)
{
	struct vmlx4_trace_record head;
	const uint8_t *payload;

	while (bench->at < bench->size) {
		memcpy(&head, bench->bytes + bench->at, sizeof(head));
		assert_true(le32toh(head.size) >= sizeof(head));
		payload = bench->bytes + bench->at + sizeof(head);
		bench->at += le32toh(head.size);
		if (head.kind == kind)
			return payload;
	}
	assert_int_equal(bench->at, bench->size);
	return NULL;
}

/* ---- addresses ---- */

struct placed {
	uint32_t lkey;
	uint64_t addr;
	enum vmlx4_trace_place place;
	uint64_t offset;
};

static void
addresses_become_places(void **state)
{
	struct bench *bench = *state;
	uint64_t arena = (uintptr_t)bench->card.arena, area = (uintptr_t)bench->area;
	const struct placed cases[] = {
		{ CARD_LKEY, arena, VMLX4_TRACE_IN_MR, 0 },
		{ CARD_LKEY, arena + CARD_ARENA - 1, VMLX4_TRACE_IN_MR, CARD_ARENA - 1 },
		/* 64 bytes from here reach into the region. */
		{ OTHER_LKEY, area - 63, VMLX4_TRACE_IN_MR, -(uint64_t)63 },
		{ OTHER_LKEY, area - 64, VMLX4_TRACE_NOWHERE, 0 },
		{ OTHER_LKEY, area + 4096, VMLX4_TRACE_NOWHERE, 0 },
		{ OTHER_LKEY, arena + 5, VMLX4_TRACE_OTHER_MR,
			(uint64_t)(CARD_LKEY >> 8) << 40 | 5 },
		{ 0xdeadbe00, area + 7, VMLX4_TRACE_OTHER_MR,
			(uint64_t)(OTHER_LKEY >> 8) << 40 | 7 },
		{ 0xdeadbe00, 0x1234, VMLX4_TRACE_NOWHERE, 0 },
	};
	const size_t count = sizeof(cases) / sizeof(cases[0]);
	uint8_t wqe[16 + 16 * 8], places[VMLX4_TRACE_SEGMENTS / 4] = { 0 };
	uint64_t offset;
	size_t i;

	memset(wqe, 0, sizeof(wqe));
	for (i = 0; i < count; i++) {
		const uint32_t segment[4] = { 64, cases[i].lkey,
			(uint32_t)(cases[i].addr >> 32), (uint32_t)cases[i].addr };

		card_put(wqe + 16 + 16 * i, segment, 4);
	}
	vmlx4_trace_places(bench->card.ctx, wqe, sizeof(wqe), 16, places);
	for (i = 0; i < count; i++) {
		assert_int_equal(places[i / 4] >> i % 4 * 2 & 3, cases[i].place);
		memcpy(&offset, wqe + 16 + 16 * i + 8, sizeof(offset));
		assert_true(be64toh(offset) == cases[i].offset);
		/* Length and lkey stay. */
		assert_int_equal(vmlx4_be32(wqe + 16 + 16 * i), 64);
		assert_int_equal(vmlx4_be32(wqe + 16 + 16 * i + 4), cases[i].lkey);
	}
}

static void
padding_is_cleared(void **state)
{
	struct bench *bench = *state;
	uint8_t wqe[96], places[VMLX4_TRACE_SEGMENTS / 4] = { 0 };
	unsigned int i;

	/* LSO with a header of 18 bytes, 5 bytes inline, none inline. */
	memset(wqe, 0xaa, sizeof(wqe));
	card_put(wqe, (const uint32_t[]){ VMLX4_HW_OP_LSO, 6 }, 2);
	card_put(wqe + 16, (const uint32_t[]){ 1000 << 16 | 18 }, 1);
	card_put(wqe + 48, (const uint32_t[]){ VMLX4_HW_INLINE | 5 }, 1);
	card_put(wqe + 64, (const uint32_t[]){ VMLX4_HW_INLINE }, 1);
	card_put(wqe + 80, (const uint32_t[]){ 1, CARD_LKEY, 0, 0 }, 4);
	vmlx4_trace_clear_header(wqe, sizeof(wqe), 48);
	vmlx4_trace_places(bench->card.ctx, wqe, sizeof(wqe), 48, places);
	for (i = 20; i < 48; i++)
		assert_int_equal(wqe[i], i < 38 ? 0xaa : 0);
	for (i = 52; i < 64; i++)
		assert_int_equal(wqe[i], i < 57 ? 0xaa : 0);
	for (i = 68; i < 80; i++)
		assert_int_equal(wqe[i], 0);
	assert_int_equal(places[0], VMLX4_TRACE_NOWHERE);
}

/* Behind the control segment is an address there, whatever it looks like, and no header. */
static void
a_transport_has_no_header(void **state)
{
	static const uint32_t lows[] = { 0, 4, 0x1c, 0x5000, 0xffff };
	struct bench *bench = *state;
	struct vmlx4_qp qp = { .obj.ctx = bench->card.ctx, .qpn = 0x141,
		.qp_type = IBV_QPT_RC, .pd = &bench->card.pd,
		.sq.port = &bench->card.adapter->ports[0] };
	uint8_t wqe[48];
	unsigned int i;

	qp.ib = vmlx4_zalloc(64); /* nobody looks into it */
	for (i = 0; i < sizeof(lows) / sizeof(lows[0]); i++) {
		uint64_t addr = (uintptr_t)bench->card.arena + lows[i];

		card_put(wqe, (const uint32_t[]){ VMLX4_HW_OP_WRITE, 3, 0x0c, 0,
			(uint32_t)(addr >> 32), (uint32_t)addr, i == 0 ? 0x1234 : CARD_LKEY, 0,
			64, CARD_LKEY, 0, 0 }, 12);
		vmlx4_trace_write_wqe(&qp, wqe, sizeof(wqe));
	}
	free(qp.ib);
	read_back(bench);
	for (i = 0; i < sizeof(lows) / sizeof(lows[0]); i++) {
		const struct vmlx4_trace_wqe *head = next_of(bench, VMLX4_TRACE_WQE);
		const uint8_t *out = (const uint8_t *)(head + 1);

		assert_non_null(head);
		assert_memory_equal(out, wqe, 16);
		/* By the rkey, or by what region is there. */
		assert_int_equal(head->places[VMLX4_TRACE_SEGMENTS / 4 - 1] >> 6,
			i == 0 ? VMLX4_TRACE_OTHER_MR : VMLX4_TRACE_IN_MR);
		assert_int_equal(vmlx4_be32(out + 16), i == 0 ? CARD_LKEY : 0);
		assert_int_equal(vmlx4_be32(out + 20), lows[i]);
		assert_memory_equal(out + 28, wqe + 28, 12);
	}
}

static void
addresses_in_a_text(void **state)
{
	struct bench *bench = *state;
	const struct vmlx4_adapter *adapter = bench->card.adapter;
	char text[128], out[128];

	snprintf(text, sizeof(text), "lkey 0x10000 for 64 bytes at %#llx: no",
		(unsigned long long)(uintptr_t)bench->card.arena + 0x20);
	vmlx4_trace_text(adapter, text, out, sizeof(out));
	assert_string_equal(out, "lkey 0x10000 for 64 bytes at mr 0x10000+0x20: no");
	vmlx4_trace_text(adapter, "at 0x7f0000000000, 0x12345678", out, sizeof(out));
	assert_string_equal(out, "at (address in no MR), 0x12345678");
	vmlx4_trace_text(adapter, "at 0x7f0000000000", out, 10);
	assert_string_equal(out, "at (addre");
	vmlx4_trace_text(adapter, "0x", out, sizeof(out));
	assert_string_equal(out, "0x");
}

/* ---- the file ---- */

/* As when the program's memory is gone: the engine leaves by a jump. */
static void
a_record_left_in_the_middle_never_was(void **state)
{
	struct bench *bench = *state;
	struct vmlx4_adapter *adapter = bench->card.adapter;
	const struct vmlx4_trace_link *link;
	uint8_t *left;

	vmlx4_trace_link(&adapter->ports[0]);
	left = vmlx4_trace_begin(adapter, VMLX4_TRACE_FRAME, 1, NULL, 500);
	assert_non_null(left);
	memset(left, 0xff, 500);
	vmlx4_trace_link(&adapter->ports[1]);
	read_back(bench);
	assert_null(next_of(bench, VMLX4_TRACE_FRAME));
	bench->at = 0;
	memcpy(&bench->at, bench->bytes + offsetof(struct vmlx4_trace_head, size), 4);
	/* Two of the beginning, and these; no byte of the lost one in the last. */
	next_of(bench, VMLX4_TRACE_LINK);
	next_of(bench, VMLX4_TRACE_LINK);
	next_of(bench, VMLX4_TRACE_LINK);
	link = next_of(bench, VMLX4_TRACE_LINK);
	assert_non_null(link);
	assert_int_equal(le32toh(link->up), 1);
	assert_int_equal(link->zero, 0);
	assert_non_null(next_of(bench, VMLX4_TRACE_END));
	assert_null(next_of(bench, VMLX4_TRACE_LINK));
}

/* The file is mapped piece by piece. */
static void
many_records_are_all_there(void **state)
{
	struct bench *bench = *state;
	struct vmlx4_port *port = &bench->card.adapter->ports[0];
	const unsigned int count = 20000;
	struct vmlx4_trace_frame head;
	uint8_t frame[1514];
	unsigned int i, j;

	for (i = 0; i < count; i++) {
		memset(frame, (int)(i & 0xff), sizeof(frame));
		vmlx4_trace_frame(port, VMLX4_TRACE_OUT, frame, 60 + i % 1400);
	}
	read_back(bench);
	for (i = 0; i < count; i++) {
		const uint8_t *payload = next_of(bench, VMLX4_TRACE_FRAME);

		assert_non_null(payload);
		memcpy(&head, payload, sizeof(head));
		assert_int_equal(le32toh(head.length), 60 + i % 1400);
		assert_int_equal(le32toh(head.kept), 60 + i % 1400);
		for (j = 0; j < 60 + i % 1400; j++)
			assert_int_equal(payload[sizeof(head) + j], i & 0xff);
	}
	assert_null(next_of(bench, VMLX4_TRACE_FRAME));
}

static void
a_second_adapter_gets_a_file_of_its_own(void **state)
{
	struct bench *bench = *state;
	struct vmlx4_adapter *adapter = bench->card.adapter;
	char second[160], error[512];
	struct stat st;

	vmlx4_trace_close(adapter);
	assert_int_equal(vmlx4_trace_open(adapter, error, sizeof(error)), 0);
	vmlx4_trace_close(adapter);
	snprintf(second, sizeof(second), "%s.2", bench->file);
	assert_int_equal(stat(second, &st), 0);
	assert_true(st.st_size > 0);
	unlink(second);
	strcpy(adapter->options.trace_file, "/nonexistent/trace");
	assert_true(vmlx4_trace_open(adapter, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "option trace: \"/nonexistent/trace\": No such file"));
	assert_null(adapter->trace);
}

/* A program that closes all descriptors may have another file under our number. */
static void
a_file_of_the_program_is_left_alone(void **state)
{
	struct bench *bench = *state;
	struct vmlx4_adapter *adapter = bench->card.adapter;
	int fd = adapter->trace->fd, other;
	char name[160];
	struct stat st;

	snprintf(name, sizeof(name), "%s/other", bench->folder);
	other = open(name, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(other, "mine", 4), 4);
	assert_int_equal(dup2(other, fd), fd);
	vmlx4_trace_close(adapter);
	assert_int_equal(fstat(fd, &st), 0); /* still open */
	assert_int_equal(st.st_size, 4);
	close(fd);
	close(other);
	unlink(name);
}

/* ---- tables ---- */

static void
tables_of_commands_are_sound(void **state)
{
	const struct vmlx4_command_entry *entry;
	unsigned int i, j, found;

	(void)state;
	for (i = 0; (entry = vmlx4_trace_command_entry(i)) != NULL; i++) {
		bool mask = false;

		assert_true(entry->count <= 32);
		for (j = 0; j < entry->count; j++) {
			const struct vmlx4_command_field *field = &entry->fields[j];

			assert_true(field->size == 1 || field->size == 2 || field->size == 4 ||
				field->size == 8);
			mask |= field->kind == VMLX4_FIELD_MASK;
			assert_true(field->when == 0 || mask);
		}
		assert_non_null(vmlx4_trace_command_find(entry->command, NULL, 0, &found));
		assert_true(found <= i);
	}
}

static void
an_rss_qp_has_an_entry_of_its_own(void **state)
{
	struct ib_uverbs_ex_create_qp request = { 0 };
	uint32_t command = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_QP;
	unsigned int index;

	(void)state;
	assert_string_equal(vmlx4_trace_command_find(command, &request, sizeof(request),
		&index)->name, "create_qp_ex");
	request.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE;
	assert_string_equal(vmlx4_trace_command_find(command, &request, sizeof(request),
		&index)->name, "create_rss_qp");
	assert_string_equal(vmlx4_trace_command_entry(index)->name, "create_rss_qp");
	assert_null(vmlx4_trace_command_find(0x7f, NULL, 0, &index));
}

#define ON_CARD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_CARD(addresses_become_places),
		ON_CARD(padding_is_cleared),
		ON_CARD(a_transport_has_no_header),
		ON_CARD(addresses_in_a_text),
		ON_CARD(a_record_left_in_the_middle_never_was),
		ON_CARD(many_records_are_all_there),
		ON_CARD(a_second_adapter_gets_a_file_of_its_own),
		ON_CARD(a_file_of_the_program_is_left_alone),
		cmocka_unit_test(tables_of_commands_are_sound),
		cmocka_unit_test(an_rss_qp_has_an_entry_of_its_own),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
