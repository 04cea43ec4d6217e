/* SPDX-License-Identifier: BSD-3-Clause */

/* Rates and delays, to the nanosecond of a stepped adapter's clock. */

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
#include "profile.h"
#include "wire/backends.h"
#include "wire/lane.h"

#define PORT (&mock_adapter.ports[0])

static uint64_t start;

static struct vmlx4_wire *
open_first(const char *text)
{
	char error[256] = "", options[256];
	struct vmlx4_wire *wire;

	snprintf(options, sizeof(options), "ports=1 step mtu=9000 %s", text);
	mock_reset(options);
	wire = vmlx4_wire_open(&mock_adapter.options.wire[0], PORT, error, sizeof(error));
	assert_string_equal(error, "");
	assert_non_null(wire);
	PORT->wire = wire;
	start = mock_adapter.time.stepped;
	return wire;
}

static bool
send_one(struct vmlx4_wire *wire, size_t length, unsigned int number)
{
	static uint8_t frame[65535];
	bool sent;

	memcpy(frame, &number, sizeof(number));
	sent = wire->ops->send(wire, frame, length);
	PORT->stats.tx_frames += sent;
	PORT->stats.tx_bytes += sent ? length : 0;
	return sent;
}

/* The frames that have arrived by start + ns, all in all. */
static unsigned int
arrived_at(uint64_t ns)
{
	assert_true(start + ns >= mock_adapter.time.stepped);
	mock_adapter.time.stepped = start + ns;
	while (vmlx4_timers_run(&mock_adapter) != 0)
		;
	return PORT->stats.rx_frames;
}

static void
a_frame_takes_its_time(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,rate=1G");
	unsigned int i;

	(void)state;
	/* 1000 bytes, and 24 of FCS, preamble and gap. */
	for (i = 0; i < 3; i++)
		assert_true(send_one(wire, 1000, i));
	assert_int_equal(arrived_at(8191), 0);
	assert_int_equal(arrived_at(8192), 1);
	assert_int_equal(arrived_at(16383), 1);
	assert_int_equal(arrived_at(16384), 2);
	assert_int_equal(arrived_at(100000), 3);
	/* The next one starts when it is sent; a short one is as long as the shortest. */
	assert_true(send_one(wire, 14, 3));
	assert_int_equal(arrived_at(100000 + 671), 3);
	assert_int_equal(arrived_at(100000 + 672), 4);
	for (i = 0; i < 4; i++)
		assert_memory_equal(mock_frames[i].bytes, &i, sizeof(i));
	vmlx4_wire_close(wire);
}

static void
no_fraction_is_lost(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,rate=40G");
	unsigned int i;

	(void)state;
	/* 84 bytes in 16.8 ns each. */
	for (i = 0; i < 200; i++)
		assert_true(send_one(wire, 60, i));
	assert_int_equal(arrived_at(16), 0);
	assert_int_equal(arrived_at(17), 1);
	assert_int_equal(arrived_at(33), 1);
	assert_int_equal(arrived_at(34), 2);
	assert_int_equal(arrived_at(84), 5);
	assert_int_equal(arrived_at(3359), 199);
	assert_int_equal(arrived_at(3360), 200);
	vmlx4_wire_close(wire);
}

static void
the_rate_of_the_card(void **state)
{
	struct vmlx4_wire *wire = open_first("profile=cx3pro-10g wire=loop,rate=profile");

	(void)state;
	assert_int_equal(mock_adapter.profile->speed_mbps, 10000);
	assert_true(send_one(wire, 1226, 0));
	assert_int_equal(arrived_at(999), 0);
	assert_int_equal(arrived_at(1000), 1);
	vmlx4_wire_close(wire);
}

static void
a_delay_comes_on_top(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,delay=5us");

	(void)state;
	assert_true(send_one(wire, 60, 0));
	assert_int_equal(arrived_at(2000), 0);
	assert_true(send_one(wire, 60, 1));
	assert_int_equal(arrived_at(4999), 0);
	assert_int_equal(arrived_at(5000), 1);
	assert_int_equal(arrived_at(6999), 1);
	assert_int_equal(arrived_at(7000), 2);
	vmlx4_wire_close(wire);

	wire = open_first("wire=loop,rate=1G,delay=1ms");
	assert_true(send_one(wire, 1000, 0));
	assert_int_equal(arrived_at(1008191), 0);
	assert_int_equal(arrived_at(1008192), 1);
	vmlx4_wire_close(wire);
}

/* The times at which 100 frames arrive, one sent each microsecond. */
static void
jittered(const char *text, uint64_t times[100])
{
	struct vmlx4_wire *wire = open_first(text);
	unsigned int sent = 0, arrived = 0;
	uint64_t ns;

	for (ns = 0; arrived < 100; ns += 10) {
		unsigned int now = arrived_at(ns);

		while (arrived < now)
			times[arrived++] = ns;
		if (ns % 1000 == 0 && sent < 100)
			assert_true(send_one(wire, 60, sent++));
		assert_true(ns < 1000000);
	}
	for (sent = 0; sent < 100; sent++)
		assert_memory_equal(mock_frames[sent].bytes, &sent, sizeof(sent));
	vmlx4_wire_close(wire);
}

static void
jitter_follows_the_seed(void **state)
{
	uint64_t first[100], again[100], other[100], late = 0;
	unsigned int i;

	(void)state;
	jittered("seed=1 wire=loop,delay=2us,jitter=5us", first);
	jittered("seed=1 wire=loop,delay=2us,jitter=5us", again);
	jittered("seed=2 wire=loop,delay=2us,jitter=5us", other);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_not_equal(first, other, sizeof(first));
	for (i = 0; i < 100; i++) {
		assert_true(first[i] >= i * 1000 + 2000);
		assert_true(first[i] <= i * 1000 + 7010);
		late += first[i] - i * 1000 > 4000;
	}
	assert_in_range(late, 20, 95);
}

static void
the_fifo_makes_the_sender_wait(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,rate=1G");
	unsigned int sent;

	(void)state;
	for (sent = 0; PORT->tx_hold == 0; sent++)
		assert_true(send_one(wire, 1000, sent));
	/* Sixty-four frames of 1024 bytes on the wire are 64 KiB. */
	assert_int_equal(sent, 65);
	assert_int_equal(arrived_at(8191), 0);
	assert_int_equal(PORT->tx_hold, VMLX4_HOLD_SHAPER);
	assert_int_equal(arrived_at(8192), 1);
	assert_int_equal(PORT->tx_hold, 0);
	/* A TSO that was begun is not cut off. */
	for (; sent < 200; sent++)
		assert_true(send_one(wire, 1000, sent));
	assert_int_equal(arrived_at(200 * 8192 - 1), 199);
	assert_int_equal(arrived_at(200 * 8192), 200);
	assert_int_equal(PORT->tx_hold, 0);
	assert_int_equal(PORT->stats.tx_wire_drops, 0);
	vmlx4_wire_close(wire);
}

/* More on the way than there is memory for: the sender waits, nothing is lost. */
static void
a_cable_of_any_length(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,delay=10s");
	unsigned int sent;

	(void)state;
	for (sent = 0; PORT->tx_hold == 0; sent++)
		assert_true(send_one(wire, 9000, sent));
	assert_in_range(sent * 9000ull, VMLX4_LANE_BYTES_MAX / 2, VMLX4_LANE_BYTES_MAX);
	assert_int_equal(arrived_at(9999999999), 0);
	/* The port of the tests keeps the first of them. */
	assert_int_equal(arrived_at(10000000000), MOCK_FRAMES);
	assert_int_equal(PORT->stats.rx_no_wqe, sent - MOCK_FRAMES);
	assert_int_equal(PORT->tx_hold, 0);
	assert_int_equal(PORT->stats.tx_wire_drops, 0);
	vmlx4_wire_close(wire);
}

static void
what_is_on_a_cable_that_is_pulled_is_lost(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,delay=5us");
	unsigned int i;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_true(send_one(wire, 100, i));
	PORT->active = false;
	assert_int_equal(arrived_at(10000), 0);
	PORT->active = true;
	assert_int_equal(PORT->stats.tx_wire_drops, 5);
	assert_int_equal(PORT->stats.tx_frames, 0);
	assert_int_equal(PORT->stats.tx_bytes, 0);
	assert_true(send_one(wire, 100, 0));
	assert_int_equal(arrived_at(15000), 1);
	vmlx4_wire_close(wire);
}

static void
bad_lengths_do_no_harm(void **state)
{
	struct vmlx4_wire *wire = open_first("wire=loop,rate=10G,delay=1us");

	(void)state;
	assert_false(send_one(wire, 0, 0));
	assert_false(send_one(wire, 65536, 0));
	assert_false(send_one(wire, (size_t)1 << 40, 0));
	assert_true(send_one(wire, 65535, 0));
	assert_int_equal(arrived_at(1000000), 0);
	assert_int_equal(PORT->stats.rx_oversize, 1);
	vmlx4_wire_close(wire);
}

/* ---- a wire proper of the tests' own ---- */

static bool proper_sends;
static unsigned int proper_sent, proper_closed;

static bool
proper_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	(void)wire;
	(void)frame;
	(void)length;
	proper_sent += proper_sends;
	return proper_sends;
}

static unsigned int
proper_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	static const uint8_t frame[1000];
	unsigned int i;

	for (i = 0; i < budget; i++)
		vmlx4_wire_deliver(wire, frame, sizeof(frame));
	return budget;
}

static void
proper_close(struct vmlx4_wire *wire)
{
	(void)wire;
	proper_closed++;
}

static void
waits_for_the_wire_proper(void **state)
{
	static const struct vmlx4_wire_ops ops = { .send = proper_send, .poll = proper_poll,
		.close = proper_close };
	struct vmlx4_shape shape = { .delay = 1000 };
	struct vmlx4_wire wire = { .ops = &ops, .port = PORT, .fd = -1 };

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	start = mock_adapter.time.stepped;
	assert_int_equal(vmlx4_shape_attach(&wire, &shape), 0);
	proper_sends = true;
	proper_sent = proper_closed = 0;
	assert_true(send_one(&wire, 100, 0));
	assert_true(send_one(&wire, 100, 0));
	PORT->tx_hold |= VMLX4_HOLD_WIRE;
	arrived_at(500000);
	assert_int_equal(proper_sent, 0);
	PORT->tx_hold &= ~VMLX4_HOLD_WIRE;
	arrived_at(510000);
	assert_int_equal(proper_sent, 2);
	assert_int_equal(PORT->stats.tx_wire_drops, 0);
	/* It fails: no longer sent. */
	proper_sends = false;
	assert_true(send_one(&wire, 100, 0));
	arrived_at(511000);
	assert_int_equal(PORT->stats.tx_wire_drops, 1);
	assert_int_equal(PORT->stats.tx_frames, 2);
	/* What the MAC has taken leaves at the end. */
	proper_sends = true;
	assert_true(send_one(&wire, 100, 0));
	vmlx4_wire_close(&wire);
	assert_int_equal(proper_sent, 3);
	assert_int_equal(proper_closed, 1);
	assert_false(mock_adapter.time.next != VMLX4_NEVER);
}

/* From a host's interface, too, frames come no faster than the rate. */
static void
arrivals_are_paced(void **state)
{
	static const struct vmlx4_wire_ops ops = { .send = proper_send, .poll = proper_poll,
		.close = proper_close };
	struct vmlx4_shape shape = { .rate = 1000000000, .delay = 1000 };
	struct vmlx4_wire wire = { .ops = &ops, .port = PORT, .fd = -1 };

	(void)state;
	mock_reset("ports=1 step mtu=9000");
	start = mock_adapter.time.stepped;
	assert_int_equal(vmlx4_shape_attach(&wire, &shape), 0);
	vmlx4_shape_store_arrivals(&wire);
	assert_int_equal(wire.ops->poll(&wire, 70), 70);
	/* Enough is on its way: the rest waits where it is. */
	assert_int_equal(wire.ops->poll(&wire, 70), 0);
	assert_int_equal(arrived_at(9191), 0);
	assert_int_equal(arrived_at(9192), 1);
	assert_int_equal(arrived_at(1000 + 70 * 8192 - 1), 69);
	assert_int_equal(arrived_at(1000 + 70 * 8192), 70);
	assert_int_equal(wire.ops->poll(&wire, 1), 1);
	vmlx4_wire_close(&wire);
}

static void
a_replay_is_paced(void **state)
{
	char folder[] = "/tmp/vmlx4-shape-XXXXXX", text[128], file[64];
	struct vmlx4_flow rule = { .priority = 1 };
	struct pcap_pkthdr header = { .caplen = 1000, .len = 1000 };
	uint8_t frame[1000] = { 0 };
	struct vmlx4_wire *wire;
	pcap_dumper_t *dump;
	pcap_t *pcap;
	unsigned int i;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/in", folder);
	pcap = pcap_open_dead(DLT_EN10MB, 65535);
	dump = pcap_dump_open(pcap, file);
	for (i = 0; i < 20; i++)
		pcap_dump((u_char *)dump, &header, frame);
	pcap_dump_close(dump);
	pcap_close(pcap);
	snprintf(text, sizeof(text), "wire=pcap:in=%s,rate=1G", file);
	wire = open_first(text);
	mock_add_rule(&rule);
	mock_adapter.time.stepped += 5000;
	start = mock_adapter.time.stepped;
	assert_int_equal(wire->ops->poll(wire, 64), 1);
	arrived_at(8191);
	assert_int_equal(wire->ops->poll(wire, 64), 0);
	arrived_at(8192);
	assert_int_equal(wire->ops->poll(wire, 64), 1);
	/* A look that comes late finds what has come meanwhile. */
	arrived_at(10 * 8192);
	assert_int_equal(wire->ops->poll(wire, 64), 9);
	/* The receiver was not ready: the time does not count. */
	mock_room = 0;
	arrived_at(11 * 8192);
	assert_int_equal(wire->ops->poll(wire, 64), 0);
	arrived_at(15 * 8192);
	assert_int_equal(wire->ops->poll(wire, 64), 0);
	mock_room = 100;
	assert_int_equal(wire->ops->poll(wire, 64), 1);
	vmlx4_wire_close(wire);
	unlink(file);
	rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_takes_its_time),
		cmocka_unit_test(no_fraction_is_lost),
		cmocka_unit_test(the_rate_of_the_card),
		cmocka_unit_test(a_delay_comes_on_top),
		cmocka_unit_test(jitter_follows_the_seed),
		cmocka_unit_test(the_fifo_makes_the_sender_wait),
		cmocka_unit_test(a_cable_of_any_length),
		cmocka_unit_test(what_is_on_a_cable_that_is_pulled_is_lost),
		cmocka_unit_test(bad_lengths_do_no_harm),
		cmocka_unit_test(waits_for_the_wire_proper),
		cmocka_unit_test(arrivals_are_paced),
		cmocka_unit_test(a_replay_is_paced),
	};

	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
