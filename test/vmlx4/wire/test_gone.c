/* SPDX-License-Identifier: BSD-3-Clause */

/* Interfaces that go down, go away, come back, shrink or are slow under a wire. */

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "veth.h"

/* Poll, which in a stepped adapter looks at the interface, until the carrier is so. */
static void
poll_carrier(struct vmlx4_wire *wire, bool carrier)
{
	unsigned int i;

	for (i = 0; i < 4000 && PORT->carrier != carrier; i++, usleep(5000))
		wire->ops->poll(wire, 16);
	assert_int_equal(PORT->carrier, carrier);
}

/* A frame each way between the wire and an interface's packet socket. */
static void
carries(struct vmlx4_wire *wire, const char *far_name)
{
	struct virtio_net_hdr none = { .flags = 0 };
	uint8_t frame[1514], got[sizeof(none) + 2000];
	size_t length = make_packet(frame, false, 700);

	close(far_end);
	far_end = open_far_end(far_name);
	mock_forget();
	assert_true(wire->ops->send(wire, frame, length));
	if (wire->ops->idle != NULL)
		wire->ops->idle(wire);
	assert_int_equal(recv(far_end, got, sizeof(got), 0), length + sizeof(none));
	assert_memory_equal(got + sizeof(none), frame, length);
	far_send(&none, frame, length);
	poll_until(wire, 1);
	assert_memory_equal(mock_frames[0].bytes, frame, length);
}

static void
packet_survives_the_interface(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	uint8_t frame[100] = { 0 };

	(void)state;
	mock_adapter.options.step = true;
	assert_non_null(wire);
	/* Down, which the socket reports as an error, and up again. */
	command("ip link set near down");
	poll_carrier(wire, false);
	command("ip link set near up");
	poll_carrier(wire, true);
	carries(wire, "far");
	/* Deleted: what is sent is lost and counted. */
	command("ip link del near");
	poll_carrier(wire, false);
	PORT->stats.tx_frames = 1;
	PORT->stats.tx_bytes = 100;
	assert_true(wire->ops->send(wire, frame, sizeof(frame)));
	wire->ops->idle(wire);
	assert_int_equal(PORT->stats.tx_wire_drops, 1);
	assert_int_equal(PORT->stats.tx_frames, 0);
	wire->ops->poll(wire, 16);
	assert_false(PORT->carrier);
	/* One of the same name takes its place. */
	command("ip link add near type veth peer name far && ip link set near up && "
		"ip link set far up");
	poll_carrier(wire, true);
	carries(wire, "far");
	vmlx4_wire_close(wire);
}

static void
packet_and_a_smaller_mtu(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	uint8_t frame[1514];
	unsigned int i;

	(void)state;
	mock_adapter.options.step = true;
	assert_non_null(wire);
	command("ip link set near mtu 1000");
	PORT->stats.tx_frames = 6;
	PORT->stats.tx_bytes = 6000;
	/* What is too long does not take others with it. */
	for (i = 0; i < 6; i++)
		assert_true(wire->ops->send(wire, frame, make_packet(frame, false,
			i % 2 == 0 ? 300 : 1300)));
	wire->ops->idle(wire);
	assert_int_equal(PORT->stats.tx_wire_drops, 3);
	assert_int_equal(PORT->stats.tx_frames, 3);
	command("ip link set near mtu 1500");
	carries(wire, "far");
	vmlx4_wire_close(wire);
}

/* An interface that is slower than the port: the port waits. */
static void
packet_waits_for_room(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	uint8_t frame[1514] = { 0 };
	unsigned int sent = 0;
	int size = 8192;

	(void)state;
	if (system("tc qdisc add dev near root tbf rate 8mbit burst 1600 latency 10s "
			">/dev/null 2>&1") != 0) {
		vmlx4_wire_close(wire);
		skip(); /* the kernel has no such queue */
	}
	mock_adapter.options.step = true;
	assert_non_null(wire);
	assert_int_equal(setsockopt(wire->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	while (PORT->tx_hold == 0 && sent++ < 5000)
		assert_true(wire->ops->send(wire, frame, sizeof(frame)));
	assert_int_equal(PORT->tx_hold, VMLX4_HOLD_WIRE);
	assert_int_equal(wire->events, POLLOUT);
	/* A TSO that was begun finds room; then nothing does. */
	for (sent = 0; sent < 180; sent++)
		assert_true(wire->ops->send(wire, frame, sizeof(frame)));
	for (sent = 0; sent < 100 && wire->ops->send(wire, frame, sizeof(frame)); sent++)
		;
	assert_in_range(sent, 0, 99);
	command("tc qdisc del dev near root");
	for (sent = 0; sent < 4000 && PORT->tx_hold != 0; sent++, usleep(5000))
		wire->ops->poll(wire, 16);
	assert_int_equal(PORT->tx_hold, 0);
	assert_int_equal(wire->events, 0);
	vmlx4_wire_close(wire);
}

static void
tap_survives_the_interface(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_TAP, "vtap", PORT);

	(void)state;
	mock_adapter.options.step = true;
	assert_non_null(wire);
	command("ip link set vtap down");
	poll_carrier(wire, false);
	command("ip link set vtap up");
	poll_carrier(wire, true);
	carries(wire, "vtap");
	command("ip link del vtap");
	poll_carrier(wire, false);
	/* No TAP, though of its name: it stays unplugged. */
	command("ip link add vtap type veth peer name other && ip link set vtap up");
	wire->ops->poll(wire, 16);
	wire->ops->poll(wire, 16);
	command("ip link del vtap");
	assert_false(PORT->carrier);
	command("ip tuntap add vtap mode tap");
	poll_carrier(wire, true);
	carries(wire, "vtap");
	vmlx4_wire_close(wire);
	command("ip link del vtap");
}

int
main(void)
{
	struct CMUnitTest tests[] = {
		NET_TEST(packet_survives_the_interface),
		NET_TEST(packet_and_a_smaller_mtu),
		NET_TEST(packet_waits_for_room),
		NET_TEST(tap_survives_the_interface),
	};

	return run_on_veth("gone", tests, sizeof(tests) / sizeof(tests[0]));
}
