/* SPDX-License-Identifier: BSD-3-Clause */

/* unix: and shm: wires: what passes, and when the port has a carrier. */

#include <poll.h>

#include "far_ends.h"

static void
fill(uint8_t *frame, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		frame[i] = seed + i * 7 + i / 256;
}

static void
carries_both_ways(void **state)
{
	static const size_t lengths[] = { 1, 13, 14, 60, 61, 64, 1514, 9014 };
	static uint8_t frame[9014];
	struct vmlx4_wire *wires[2];
	unsigned int way, i;

	(void)state;
	open_both(&wires[0], &wires[1]);
	for (way = 0; way < 2; way++) {
		for (i = 0; i < 8; i++) {
			fill(frame, lengths[i], i);
			assert_true(wires[way]->ops->send(wires[way], frame, lengths[i]));
		}
		/* What a pass of the engine does: it polls all wires. */
		pump(wires[way], 1);
		pump(wires[way ^ 1], 1);
		assert_int_equal(mock_count, 8);
		for (i = 0; i < 8; i++) {
			fill(frame, lengths[i], i);
			assert_int_equal(mock_frames[i].port, 2 - way);
			assert_int_equal(mock_frames[i].length, lengths[i]);
			assert_memory_equal(mock_frames[i].bytes, frame, lengths[i]);
		}
		mock_forget();
	}
	vmlx4_wire_close(wires[0]);
	vmlx4_wire_close(wires[1]);
}

/* The longest there is passes the wire, and the port counts it. */
static void
giants_are_counted(void **state)
{
	static uint8_t frame[65536];
	struct vmlx4_wire *here, *there;

	(void)state;
	open_both(&here, &there);
	assert_true(here->ops->send(here, frame, 65535));
	assert_false(here->ops->send(here, frame, 65536));
	assert_false(here->ops->send(here, frame, 0));
	pump(here, 1);
	pump(there, 1);
	assert_int_equal(mock_count, 0);
	assert_int_equal(THERE->stats.rx_oversize, 1);
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

static void
a_third_is_refused(void **state)
{
	struct vmlx4_wire *here, *there;
	struct vmlx4_port *ports[] = { NULL, THERE };
	unsigned int i;

	(void)state;
	open_both(&here, &there);
	pumped = here;
	for (i = 0; i < 2; i++) {
		assert_null(open_end(ports[i]));
		assert_non_null(strstr(error, name));
		assert_non_null(strstr(error, "two adapters are on it already"));
		assert_non_null(strstr(error, "another name"));
		assert_null(strchr(error, '\n'));
	}
	pumped = NULL;
	assert_true(HERE->carrier);
	pump(there, 1);
	assert_true(THERE->carrier);
	vmlx4_wire_close(there);
	vmlx4_wire_close(here);
}

static void
carrier_follows_the_other_process(void **state)
{
	struct vmlx4_wire *here, *there;
	uint8_t frame[60] = { 0 };
	unsigned int round;

	(void)state;
	open_both(&here, &there);
	for (round = 0; round < 3; round++) {
		/* The guest goes, the host waits; then the host, and the guest takes its place. */
		vmlx4_wire_close(there);
		pump(here, 3);
		assert_false(HERE->carrier);
		assert_false(here->ops->send(here, frame, sizeof(frame)));
		there = open_other_end(here, THERE);
		assert_true(HERE->carrier);
		assert_true(THERE->carrier);

		vmlx4_wire_close(here);
		pump(there, 3);
		assert_false(THERE->carrier);
		here = open_other_end(there, HERE);
		assert_true(HERE->carrier);
		assert_true(THERE->carrier);
		assert_true(here->ops->send(here, frame, sizeof(frame)));
		pump(here, 1);
		pump(there, 1);
		assert_int_equal(mock_count, round + 1);
		/* Now here is the guest: change the roles back. */
		vmlx4_wire_close(there);
		pump(here, 3);
		there = open_other_end(here, THERE);
		assert_true(HERE->carrier);
	}
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

static void
carrier_follows_the_other_port(void **state)
{
	struct vmlx4_wire *here, *there;

	(void)state;
	open_both(&here, &there);
	HERE->netdev.flags = 0;
	pump(here, 1);
	pump(there, 1);
	assert_false(THERE->carrier);
	assert_true(HERE->carrier);
	HERE->netdev.flags = IFF_UP;
	pump(here, 1);
	pump(there, 1);
	assert_true(THERE->carrier);
	/* vmlx4_set_carrier(): the cable is pulled at this end. */
	HERE->carrier = false;
	pump(here, 1);
	pump(there, 1);
	assert_false(THERE->carrier);
	HERE->carrier = true;
	pump(here, 1);
	pump(there, 1);
	assert_true(THERE->carrier);
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

static void
what_was_sent_before_the_end_arrives(void **state)
{
	struct vmlx4_wire *here, *there;
	uint8_t frame[60] = { 0 };
	unsigned int i;

	(void)state;
	open_both(&here, &there);
	for (i = 0; i < 200; i++)
		assert_true(there->ops->send(there, frame, sizeof(frame)));
	vmlx4_wire_close(there);
	pump(here, 10);
	assert_int_equal(mock_count, 200);
	assert_false(HERE->carrier);
	vmlx4_wire_close(here);
}

static void
what_nobody_took_is_counted(void **state)
{
	struct vmlx4_wire *here, *there;
	uint8_t frame[100] = { 0 };
	unsigned int i;

	(void)state;
	open_both(&here, &there);
	for (i = 0; i < 10; i++)
		assert_true(here->ops->send(here, frame, sizeof(frame)));
	HERE->stats.tx_frames = 30;
	HERE->stats.tx_bytes = 3000;
	vmlx4_wire_close(there);
	pump(here, 10);
	assert_int_equal(HERE->stats.tx_wire_drops, 10);
	assert_int_equal(HERE->stats.tx_frames, 20);
	assert_int_equal(HERE->stats.tx_bytes, 2000);
	vmlx4_wire_close(here);
}

/* Send until the port is to wait; how many. */
static unsigned int
send_until_held(struct vmlx4_wire *wire)
{
	uint8_t frame[1514] = { 0 };
	unsigned int count;

	for (count = 0; wire->port->tx_hold == 0; count++) {
		memcpy(frame, &count, sizeof(count));
		assert_true(wire->ops->send(wire, frame, sizeof(frame)));
		assert_true(count < 100000);
	}
	/* Enough room is left for the frames of a TSO. */
	for (; count % 180 != 0; count++) {
		memcpy(frame, &count, sizeof(count));
		assert_true(wire->ops->send(wire, frame, sizeof(frame)));
	}
	return count;
}

static void
expect_in_order(struct vmlx4_wire *here, struct vmlx4_wire *there, unsigned int count)
{
	unsigned int next = 0, number, i, polls;

	for (polls = 0; next < count && polls < 10000; polls++) {
		pump(here, 1);
		there->ops->poll(there, 64);
		for (i = 0; i < mock_count; i++, next++) {
			memcpy(&number, mock_frames[i].bytes, sizeof(number));
			assert_int_equal(number, next);
		}
		mock_forget();
		mock_room = MOCK_FRAMES;
	}
	assert_int_equal(next, count);
}

static void
a_slow_reader_makes_the_sender_wait(void **state)
{
	struct vmlx4_wire *here, *there;
	unsigned int count;

	(void)state;
	open_both(&here, &there);
	count = send_until_held(here);
	pump(here, 3);
	assert_int_not_equal(HERE->tx_hold, 0);
	expect_in_order(here, there, count);
	pump(here, 2);
	assert_int_equal(HERE->tx_hold, 0);
	assert_int_equal(HERE->stats.tx_wire_drops, 0);
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

static void
a_deaf_reader_does_not_hold_the_sender_for_ever(void **state)
{
	struct vmlx4_wire *here, *there;
	uint8_t frame[1514] = { 0 };
	unsigned int count;

	(void)state;
	open_both(&here, &there);
	count = send_until_held(here);
	mock_adapter.time.stepped += 199000000;
	pump(here, 1);
	assert_int_not_equal(HERE->tx_hold, 0);
	mock_adapter.time.stepped += 1000000;
	pump(here, 1);
	assert_int_equal(HERE->tx_hold, 0);
	assert_false(here->ops->send(here, frame, sizeof(frame)));
	assert_int_equal(HERE->tx_hold, 0);
	/* It is there again. */
	expect_in_order(here, there, count);
	pump(here, 1);
	assert_true(here->ops->send(here, frame, sizeof(frame)));
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

static bool
readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void
a_sleeper_is_woken(void **state)
{
	struct vmlx4_wire *here, *there;
	uint8_t frame[60] = { 0 };

	(void)state;
	open_both(&here, &there);
	pump(there, 2);
	there->ops->idle(there);
	pump(there, 2);
	assert_true(there->fd >= 0);
	assert_false(readable(there->fd));
	assert_true(here->ops->send(here, frame, sizeof(frame)));
	pump(here, 1);
	assert_true(readable(there->fd));
	pump(there, 2);
	assert_int_equal(mock_count, 1);
	assert_false(readable(there->fd));
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ALL(carries_both_ways),
		ALL(giants_are_counted),
		ALL(a_third_is_refused),
		ALL(carrier_follows_the_other_process),
		ALL(carrier_follows_the_other_port),
		ALL(what_was_sent_before_the_end_arrives),
		ALL(what_nobody_took_is_counted),
		ALL(a_slow_reader_makes_the_sender_wait),
		ALL(a_deaf_reader_does_not_hold_the_sender_for_ever),
		ALL(a_sleeper_is_woken),
	};

	return run_wire_tests("far", tests, sizeof(tests) / sizeof(tests[0]));
}
