/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "mock.h"
#include "wire/wire.h"

static char folder[] = "vmlx4-pcap-XXXXXX";
static char in_name[PATH_MAX], out_name[PATH_MAX], error[PATH_MAX + 256];

/* Takes the place of libc's: the test moves the clock instead of waiting. */
static unsigned long skew_ms;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += skew_ms / 1000;
	now->tv_nsec += skew_ms % 1000 * 1000000;
	now->tv_sec += now->tv_nsec / 1000000000;
	now->tv_nsec %= 1000000000;
	return ret;
}

/* Frame i has a length and bytes of its own. */
static size_t
make_frame(unsigned int i, uint8_t frame[9014])
{
	static const size_t lengths[] = { 14, 60, 61, 1514, 9014, 333 };
	size_t length = lengths[i % 6], j;

	for (j = 0; j < length; j++)
		frame[j] = i + j * 5 + j / 256;
	return length;
}

static void
write_capture(const char *name, int link_type, unsigned int count, unsigned int cut)
{
	pcap_t *pcap = pcap_open_dead(link_type, 65535);
	pcap_dumper_t *dump = pcap_dump_open(pcap, name);
	uint8_t frame[9014];
	unsigned int i;

	assert_non_null(dump);
	for (i = 0; i < count; i++) {
		struct pcap_pkthdr header = { .ts = { .tv_sec = 1000 + i } };

		header.len = make_frame(i, frame);
		header.caplen = i + 1 == cut ? header.len - 1 : header.len;
		pcap_dump((u_char *)dump, &header, frame);
	}
	pcap_dump_close(dump);
	pcap_close(pcap);
}

static struct vmlx4_wire *
open_wire(const char *in, const char *out, struct vmlx4_port *port)
{
	struct vmlx4_wire_spec spec = { .kind = VMLX4_WIRE_PCAP };

	strcpy(spec.pcap_in, in);
	strcpy(spec.pcap_out, out);
	error[0] = '\0';
	return vmlx4_wire_open(&spec, port, error, sizeof(error));
}

static void
expect_frames(unsigned int first, unsigned int count)
{
	uint8_t frame[9014];
	unsigned int i;

	assert_int_equal(mock_count, first + count);
	for (i = first; i < first + count; i++) {
		assert_int_equal(mock_frames[i].length, make_frame(i, frame));
		assert_memory_equal(mock_frames[i].bytes, frame, mock_frames[i].length);
	}
}

static void
replays_in_order_and_loses_nothing(void **state)
{
	struct vmlx4_flow rule = { .priority = 1 };
	struct vmlx4_port *port = &mock_adapter.ports[0];
	struct vmlx4_wire *wire;

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	write_capture(in_name, DLT_EN10MB, 20, 0);
	wire = open_wire(in_name, "", port);
	assert_non_null(wire);

	/* No rule, then no link: nothing moves. */
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	mock_add_rule(&rule);
	port->active = false;
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	port->active = true;
	/* Bounded batches. */
	assert_int_equal(wire->ops->poll(wire, 8), 8);
	expect_frames(0, 8);
	/* The receive queue runs dry: the frame waits and counts nowhere. */
	mock_room = 3;
	assert_int_equal(wire->ops->poll(wire, 8), 3);
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	assert_int_equal(port->stats.rx_no_wqe, 0);
	mock_room = 100;
	assert_int_equal(wire->ops->poll(wire, 100), 9);
	expect_frames(0, 20);
	assert_int_equal(wire->ops->poll(wire, 100), 0);
	assert_int_equal(port->stats.rx_no_wqe, 0);
	vmlx4_wire_close(wire);
}

/* Frames lie across the ends of what is read at a time, whatever that is. */
static void
replays_a_long_capture(void **state)
{
	struct vmlx4_flow rule = { .priority = 1 };
	struct vmlx4_wire *wire;
	unsigned int count = 0;

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	write_capture(in_name, DLT_EN10MB, 1200, 0);
	wire = open_wire(in_name, "", &mock_adapter.ports[0]);
	assert_non_null(wire);
	mock_add_rule(&rule);
	while (count < 1200) {
		unsigned int n = wire->ops->poll(wire, 30), i;
		uint8_t frame[9014];

		assert_int_equal(n, mock_count);
		assert_int_not_equal(n, 0);
		for (i = 0; i < n; i++) {
			assert_int_equal(mock_frames[i].length, make_frame(count + i, frame));
			assert_memory_equal(mock_frames[i].bytes, frame, mock_frames[i].length);
		}
		count += n;
		mock_forget();
		mock_room = 29; /* and one of them has to wait */
	}
	assert_int_equal(wire->ops->poll(wire, 30), 0);
	assert_int_equal(mock_adapter.ports[0].stats.rx_no_wqe, 0);
	assert_true(mock_bursts > 100);
	vmlx4_wire_close(wire);
}

static void
waits_until_the_rules_stand(void **state)
{
	struct vmlx4_flow rules[2] = { { .priority = 1 }, { .priority = 2 } };
	struct vmlx4_wire *wire;

	(void)state;
	mock_reset("ports=1 mtu=9000");
	write_capture(in_name, DLT_EN10MB, 3, 0);
	wire = open_wire(in_name, "", &mock_adapter.ports[0]);
	assert_non_null(wire);
	mock_add_rule(&rules[0]);
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	skew_ms += 150;
	/* A second rule begins the wait anew. */
	mock_add_rule(&rules[1]);
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	skew_ms += 100;
	assert_int_equal(wire->ops->poll(wire, 8), 0);
	skew_ms += 100;
	assert_int_equal(wire->ops->poll(wire, 8), 3);
	expect_frames(0, 3);
	vmlx4_wire_close(wire);
}

static void
poll_for(struct vmlx4_wire *wire, unsigned int ms)
{
	unsigned int i;

	for (i = 0; i < ms / 100; i++) {
		wire->ops->poll(wire, 8);
		skew_ms += 100;
	}
}

static void
waits_for_a_rule_but_not_for_ever(void **state)
{
	struct vmlx4_flow rules[2] = { { .priority = 1 }, { .priority = 2 } };
	struct vmlx4_port *port = &mock_adapter.ports[0];
	struct vmlx4_wire *wire;

	(void)state;
	mock_reset("ports=1 mtu=9000");
	write_capture(in_name, DLT_EN10MB, 12, 0);
	wire = open_wire(in_name, "", port);
	assert_non_null(wire);
	mock_add_rule(&rules[0]);
	mock_unwanted = true;
	poll_for(wire, 9000);
	assert_int_equal(port->stats.rx_no_rule, 0);
	/* The rule that wants them comes late, as promiscuous mode does. */
	mock_add_rule(&rules[1]);
	mock_unwanted = false;
	mock_room = 5;
	poll_for(wire, 600);
	expect_frames(0, 5);
	/* What nobody has wanted for long is lost, and counted. */
	mock_unwanted = true;
	poll_for(wire, 11000);
	assert_int_equal(port->stats.rx_no_rule, 7);
	assert_int_equal(port->stats.rx_no_wqe, 0);
	expect_frames(0, 5);
	vmlx4_wire_close(wire);
}

static void
stepping_knows_no_patience(void **state)
{
	struct vmlx4_flow rule = { .priority = 1 };
	struct vmlx4_wire *wire;

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	write_capture(in_name, DLT_EN10MB, 3, 0);
	wire = open_wire(in_name, "", &mock_adapter.ports[0]);
	assert_non_null(wire);
	mock_add_rule(&rule);
	mock_unwanted = true;
	assert_int_equal(wire->ops->poll(wire, 8), 3);
	assert_int_equal(mock_adapter.ports[0].stats.rx_no_rule, 3);
	vmlx4_wire_close(wire);
}

static void
writes_what_the_port_sends(void **state)
{
	struct vmlx4_wire *wire;
	struct vmlx4_flow rule = { .priority = 1 };
	uint8_t frame[9014];
	struct stat st;
	unsigned int i;

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	wire = open_wire("", out_name, &mock_adapter.ports[0]);
	assert_non_null(wire);
	for (i = 0; i < 7; i++)
		assert_true(wire->ops->send(wire, frame, make_frame(i, frame)));
	wire->ops->idle(wire);
	assert_int_equal(stat(out_name, &st), 0);
	assert_int_equal(st.st_size, 24 + 7 * 16 + 14 + 60 + 61 + 1514 + 9014 + 333 + 14);
	vmlx4_wire_close(wire);

	/* The same run opens the adapter again: the file goes on. */
	wire = open_wire("", out_name, &mock_adapter.ports[0]);
	assert_non_null(wire);
	for (; i < 11; i++)
		assert_true(wire->ops->send(wire, frame, make_frame(i, frame)));
	vmlx4_wire_close(wire);

	wire = open_wire(out_name, "", &mock_adapter.ports[0]);
	assert_non_null(wire);
	mock_add_rule(&rule);
	assert_int_equal(wire->ops->poll(wire, 100), 11);
	expect_frames(0, 11);
	vmlx4_wire_close(wire);
}

static void
a_check_leaves_nothing_behind(void **state)
{
	struct vmlx4_wire *wire;
	struct stat st;

	(void)state;
	unlink(out_name);
	wire = open_wire("", out_name, NULL);
	assert_non_null(wire);
	vmlx4_wire_close(wire);
	assert_int_equal(access(out_name, F_OK), -1);

	write_capture(out_name, DLT_EN10MB, 1, 0);
	wire = open_wire("", out_name, NULL);
	assert_non_null(wire);
	vmlx4_wire_close(wire);
	assert_int_equal(stat(out_name, &st), 0);
	assert_int_equal(st.st_size, 24 + 16 + 14);
}

static void
refuses(const char *in, const char *out, const char *what, const char *cure)
{
	assert_null(open_wire(in, out, NULL));
	assert_non_null(strstr(error, in[0] != '\0' ? in : out));
	assert_non_null(strstr(error, what));
	assert_non_null(strstr(error, cure));
	assert_null(strchr(error, '\n'));
}

static void
refuses_bad_captures(void **state)
{
	FILE *file;

	(void)state;
	unlink(in_name);
	refuses(in_name, "", "No such file", "give a capture file");

	write_capture(in_name, DLT_EN10MB, 5, 4);
	refuses(in_name, "", "frame 4: 1513 of 1514 bytes", "-s 0");

	write_capture(in_name, DLT_RAW, 1, 0);
	refuses(in_name, "", "link type RAW", "Ethernet");

	write_capture(in_name, DLT_EN10MB, 5, 0);
	assert_int_equal(truncate(in_name, 24 + 16 + 14 + 16 + 30), 0);
	refuses(in_name, "", "frame 1", "whole capture");

	file = fopen(in_name, "w");
	fputs("no capture at all", file);
	fclose(file);
	refuses(in_name, "", "no capture file", "tcpdump -r");

	refuses("", "/nonexistent/out.pcap", "No such file", "folder");
}

static void
counts_a_full_disk_as_dropped(void **state)
{
	struct vmlx4_wire *wire;
	uint8_t frame[9014];
	bool sent = true;
	unsigned int i;

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	if (access("/dev/full", W_OK) < 0)
		skip();
	wire = open_wire("", "/dev/full", &mock_adapter.ports[0]);
	assert_non_null(wire);
	for (i = 0; i < 100 && sent; i++)
		sent = wire->ops->send(wire, frame, make_frame(4, frame));
	assert_false(sent);
	vmlx4_wire_close(wire);
}

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	/* A comma in the name is one of the things users do. */
	snprintf(in_name, sizeof(in_name), "%s/in, first.pcap", folder);
	snprintf(out_name, sizeof(out_name), "%s/out.pcap", folder);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	mock_reset("");
	unlink(in_name);
	unlink(out_name);
	return rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replays_in_order_and_loses_nothing),
		cmocka_unit_test(replays_a_long_capture),
		cmocka_unit_test(waits_until_the_rules_stand),
		cmocka_unit_test(waits_for_a_rule_but_not_for_ever),
		cmocka_unit_test(stepping_knows_no_patience),
		cmocka_unit_test(writes_what_the_port_sends),
		cmocka_unit_test(a_check_leaves_nothing_behind),
		cmocka_unit_test(refuses_bad_captures),
		cmocka_unit_test(counts_a_full_disk_as_dropped),
	};

	return cmocka_run_group_tests_name("pcap", tests, set_up, tear_down);
}
