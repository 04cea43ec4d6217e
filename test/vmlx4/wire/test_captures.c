/* SPDX-License-Identifier: BSD-3-Clause */

/* Capture files of both formats, sound and mangled: what a user may hand over. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "mock.h"
#include "wire/wire.h"

#define PORT (&mock_adapter.ports[0])
#define LENGTH 70u

static char name[] = "/tmp/vmlx4-capture-XXXXXX";
static char error[PATH_MAX + 256];
static struct vmlx4_flow rule = { .priority = 1 };

struct buffer {
	uint8_t bytes[4096];
	size_t used;
};

static void
put(struct buffer *buffer, const void *bytes, size_t length)
{
	assert_true(buffer->used + length <= sizeof(buffer->bytes));
	memcpy(buffer->bytes + buffer->used, bytes, length);
	buffer->used += length;
}

static void
put32(struct buffer *buffer, uint32_t value)
{
	put(buffer, &value, sizeof(value));
}

static void
put_frame(struct buffer *buffer, unsigned int number)
{
	uint8_t frame[LENGTH];

	memset(frame, (int)number, sizeof(frame));
	put(buffer, frame, sizeof(frame));
}

/* The classic format, three frames. */
static void
make_pcap(struct buffer *buffer)
{
	unsigned int i;

	buffer->used = 0;
	put32(buffer, 0xa1b2c3d4);
	put32(buffer, 0x00040002);
	put32(buffer, 0);
	put32(buffer, 0);
	put32(buffer, 65535);
	put32(buffer, DLT_EN10MB);
	for (i = 0; i < 3; i++) {
		put32(buffer, 1000 + i);
		put32(buffer, 0);
		put32(buffer, LENGTH);
		put32(buffer, LENGTH);
		put_frame(buffer, i);
	}
}

/* A block of pcapng around a body of whole words. */
static void
put_block(struct buffer *buffer, uint32_t type, const struct buffer *body)
{
	uint32_t length = 12 + body->used;

	put32(buffer, type);
	put32(buffer, length);
	put(buffer, body->bytes, body->used);
	put32(buffer, length);
}

static void
put_interface(struct buffer *buffer, uint16_t link_type)
{
	struct buffer body = { .used = 0 };

	put32(&body, link_type);
	put32(&body, 65535);
	/* if_tsresol: nanoseconds. */
	put32(&body, 9 | 1 << 16);
	put32(&body, 9);
	put32(&body, 0);
	put_block(buffer, 1, &body);
}

/* pcapng: a section with an interface, a comment nobody needs, three frames. */
static void
make_pcapng(struct buffer *buffer, uint16_t second_link_type)
{
	struct buffer body = { .used = 0 };
	unsigned int i;

	buffer->used = 0;
	put32(&body, 0x1a2b3c4d);
	put32(&body, 1);
	put32(&body, UINT32_MAX);
	put32(&body, UINT32_MAX);
	put_block(buffer, 0x0a0d0d0a, &body);
	put_interface(buffer, DLT_EN10MB);
	put_interface(buffer, second_link_type);
	for (i = 0; i < 3; i++) {
		body.used = 0;
		put32(&body, i % 2);
		put32(&body, 0);
		put32(&body, 5 + i);
		put32(&body, LENGTH);
		put32(&body, LENGTH);
		put_frame(&body, i);
		put(&body, "\0\0", (4 - LENGTH % 4) % 4);
		put_block(buffer, 6, &body);
	}
}

static void
save(const struct buffer *buffer, size_t length)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(buffer->bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static struct vmlx4_wire *
open_in(const char *file)
{
	struct vmlx4_wire_spec spec = { .kind = VMLX4_WIRE_PCAP };

	strcpy(spec.pcap_in, file);
	error[0] = '\0';
	return vmlx4_wire_open(&spec, PORT, error, sizeof(error));
}

/* Refused in one line, or replayed in frames that there are; how many. */
static int
replay(const char *file)
{
	struct vmlx4_wire *wire;
	unsigned int i, count;

	mock_forget();
	mock_room = MOCK_FRAMES;
	PORT->stats = (struct vmlx4_port_stats){ 0 };
	wire = open_in(file);
	if (wire == NULL) {
		assert_int_not_equal(error[0], '\0');
		assert_null(strchr(error, '\n'));
		return -1;
	}
	for (i = 0; i < 10; i++)
		wire->ops->poll(wire, 64);
	vmlx4_wire_close(wire);
	count = mock_count;
	assert_true(count + PORT->stats.rx_oversize <= 4096 / 16);
	return (int)count;
}

static void
expect_frames(int count)
{
	uint8_t frame[LENGTH];
	int i;

	assert_int_equal(mock_count, count);
	for (i = 0; i < count; i++) {
		memset(frame, i, sizeof(frame));
		assert_int_equal(mock_frames[i].length, LENGTH);
		assert_memory_equal(mock_frames[i].bytes, frame, LENGTH);
	}
}

static void
both_formats_are_replayed(void **state)
{
	struct buffer file;

	(void)state;
	make_pcap(&file);
	save(&file, file.used);
	assert_int_equal(replay(name), 3);
	expect_frames(3);
	make_pcapng(&file, DLT_EN10MB);
	save(&file, file.used);
	assert_int_equal(replay(name), 3);
	expect_frames(3);
}

/* The words of a classic capture, but not the bytes of its frames, the other way round. */
static void
swap_words(struct buffer *file)
{
	size_t at, i;

	for (at = 0; at < file->used; at += 4) {
		if (at >= 24 && (at - 24) % (16 + LENGTH) >= 16) {
			at += LENGTH - 4;
			continue;
		}
		for (i = 0; i < 2; i++) {
			uint8_t byte = file->bytes[at + i];

			file->bytes[at + i] = file->bytes[at + 3 - i];
			file->bytes[at + 3 - i] = byte;
		}
	}
	/* Version 2.4 is two words of half the size. */
	memcpy(file->bytes + 4, "\0\2\0\4", 4);
}

static void
the_classic_format_in_all_its_kinds(void **state)
{
	static const uint32_t magics[] = { 0xa1b2c3d4, 0xa1b23c4d };
	struct buffer file;
	unsigned int i, swapped;

	(void)state;
	for (i = 0; i < 2; i++) {
		for (swapped = 0; swapped < 2; swapped++) {
			make_pcap(&file);
			memcpy(file.bytes, &magics[i], 4);
			if (swapped)
				swap_words(&file);
			save(&file, file.used);
			assert_int_equal(replay(name), 3);
			expect_frames(3);
			assert_true(mock_bursts != 0);
			mock_bursts = 0;
		}
	}
}

/* A capture may be cut while it is replayed. */
static void
a_file_that_ends_early_is_told_of(void **state)
{
	struct vmlx4_wire *wire;
	struct buffer file;

	(void)state;
	make_pcap(&file);
	save(&file, file.used);
	mock_forget();
	mock_room = MOCK_FRAMES;
	PORT->stats = (struct vmlx4_port_stats){ 0 };
	wire = open_in(name);
	assert_non_null(wire);
	assert_int_equal(truncate(name, 24 + 2 * (16 + LENGTH) + 20), 0);
	assert_int_equal(wire->ops->poll(wire, 64), 2);
	expect_frames(2);
	assert_int_equal(PORT->stats.rx_wire_bad, 1);
	assert_int_equal(wire->ops->poll(wire, 64), 0);
	assert_int_equal(PORT->stats.rx_wire_bad, 1);
	vmlx4_wire_close(wire);
}

static void
a_second_interface_of_another_kind_is_refused(void **state)
{
	struct buffer file;

	(void)state;
	make_pcapng(&file, DLT_RAW);
	save(&file, file.used);
	assert_int_equal(replay(name), -1);
	assert_non_null(strstr(error, name));
	assert_non_null(strstr(error, "whole capture file"));
}

static void
lengths_that_lie_are_refused(void **state)
{
	static const uint32_t bad[] = { 0, 65536, 262144, 262145, 0x7fffffff, 0x80000000,
		0xffffffff };
	struct buffer file;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_pcap(&file);
		/* The captured and the true length of the second frame. */
		memcpy(file.bytes + 24 + 16 + LENGTH + 8, &bad[i], 4);
		memcpy(file.bytes + 24 + 16 + LENGTH + 12, &bad[i], 4);
		save(&file, file.used);
		assert_int_equal(replay(name), -1);
		assert_non_null(strstr(error, name));
	}
}

/* Each byte of a file in turn: changed, and the file cut in front of it. */
static void
mangle(void (*make)(struct buffer *buffer))
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	unsigned int refused = 0, replayed = 0;
	struct buffer file, mangled;
	size_t at, i;

	make(&file);
	for (at = 0; at < file.used; at++) {
		for (i = 0; i < sizeof(values); i++) {
			mangled = file;
			mangled.bytes[at] = values[i];
			save(&mangled, mangled.used);
			if (replay(name) < 0)
				refused++;
			else
				replayed++;
		}
		save(&file, at);
		replay(name);
	}
	/* The contents of a frame may be anything. */
	assert_true(replayed >= 3 * LENGTH * sizeof(values));
	assert_true(refused > 0);
}

static void
make_two_interfaces(struct buffer *buffer)
{
	make_pcapng(buffer, DLT_EN10MB);
}

static void
a_mangled_pcap_does_no_harm(void **state)
{
	(void)state;
	mangle(make_pcap);
}

static void
a_mangled_pcapng_does_no_harm(void **state)
{
	(void)state;
	mangle(make_two_interfaces);
}

/* A pipe cannot be looked through first: the replay ends where it stops making sense. */
static void
replay_pipe(const struct buffer *file, size_t length, int expect)
{
	char path[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], file->bytes, length), length);
	close(fds[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(replay(path), expect);
	close(fds[0]);
}

static void
a_pipe_ends_where_it_is_cut(void **state)
{
	uint32_t giant = 300000;
	struct buffer file;

	(void)state;
	make_pcap(&file);
	replay_pipe(&file, file.used, 3);
	assert_int_equal(PORT->stats.rx_wire_bad, 0);
	replay_pipe(&file, file.used - 1, 2);
	assert_int_equal(PORT->stats.rx_wire_bad, 1);
	replay_pipe(&file, 10, -1);
	memcpy(file.bytes + 24 + 16 + LENGTH + 8, &giant, 4);
	replay_pipe(&file, file.used, 1);
	assert_int_equal(PORT->stats.rx_wire_bad, 1);
	make_pcapng(&file, DLT_RAW);
	replay_pipe(&file, file.used, 0);
	assert_int_equal(PORT->stats.rx_wire_bad, 1);
}

static int
set_up(void **state)
{
	int fd = mkstemp(name);

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	mock_add_rule(&rule);
	return fd < 0 ? -1 : close(fd);
}

static int
tear_down(void **state)
{
	(void)state;
	mock_reset("");
	return unlink(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_formats_are_replayed),
		cmocka_unit_test(the_classic_format_in_all_its_kinds),
		cmocka_unit_test(a_file_that_ends_early_is_told_of),
		cmocka_unit_test(a_second_interface_of_another_kind_is_refused),
		cmocka_unit_test(lengths_that_lie_are_refused),
		cmocka_unit_test(a_mangled_pcap_does_no_harm),
		cmocka_unit_test(a_mangled_pcapng_does_no_harm),
		cmocka_unit_test(a_pipe_ends_where_it_is_cut),
	};

	return cmocka_run_group_tests_name("captures", tests, set_up, tear_down);
}
