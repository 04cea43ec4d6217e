/* SPDX-License-Identifier: BSD-3-Clause */

/* TAP and packet wires on real interfaces. */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "veth.h"

static void
packet_carries_both_ways(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	struct virtio_net_hdr none = { .flags = 0 };
	uint8_t frame[1514], got[sizeof(none) + 2000];
	size_t length = make_packet(frame, false, 1472);
	unsigned int i;

	(void)state;
	assert_non_null(wire);
	assert_true(PORT->carrier);
	far_send(&none, frame, length);
	poll_until(wire, 1);
	assert_int_equal(mock_frames[0].length, length);
	assert_memory_equal(mock_frames[0].bytes, frame, length);

	for (i = 0; i < 40; i++) {
		frame[30] = i;
		assert_true(wire->ops->send(wire, frame, length));
	}
	wire->ops->idle(wire);
	for (i = 0; i < 40; i++) {
		frame[30] = i;
		assert_int_equal(recv(far_end, got, sizeof(got), 0),
			length + sizeof(none));
		assert_memory_equal(got + sizeof(none), frame, length);
	}
	/* Its own frames do not come back. */
	wire->ops->poll(wire, 16);
	assert_int_equal(mock_count, 1);
	vmlx4_wire_close(wire);
}

static void
packet_completes_checksums(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	struct virtio_net_hdr vnet = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 34 };
	uint8_t frame[1514];
	unsigned int tcp;

	(void)state;
	assert_non_null(wire);
	for (tcp = 0; tcp < 2; tcp++) {
		size_t length = make_packet(frame, tcp, 333);

		vnet.csum_offset = tcp ? 16 : 6;
		far_send(&vnet, frame, length);
		poll_until(wire, tcp + 1);
		assert_int_equal(mock_frames[tcp].length, length);
		assert_int_equal(l4_sum(mock_frames[tcp].bytes, 14, length), 0xffff);
	}
	vmlx4_wire_close(wire);
}

static void
packet_cuts_segments(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = 54, .gso_size = 1460, .csum_start = 34, .csum_offset = 16,
	};
	static uint8_t frame[65000];
	size_t length = make_packet(frame, true, 30000), at = 0;
	unsigned int i;

	(void)state;
	assert_non_null(wire);
	far_send(&vnet, frame, length);
	poll_until(wire, 21);
	for (i = 0; i < 21; i++) {
		size_t payload = mock_frames[i].length - 54;

		assert_int_equal(payload, i < 20 ? 1460 : 800);
		assert_memory_equal(mock_frames[i].bytes + 54, frame + 54 + at, payload);
		assert_int_equal(l4_sum(mock_frames[i].bytes, 14, mock_frames[i].length), 0xffff);
		at += payload;
	}
	assert_int_equal(PORT->stats.rx_oversize, 0);
	vmlx4_wire_close(wire);
}

static void
vlan_frame(unsigned int tpid, bool partial)
{
	struct virtio_net_hdr vnet = { .flags = partial ? VIRTIO_NET_HDR_F_NEEDS_CSUM : 0,
		.csum_start = partial ? 38 : 0, .csum_offset = partial ? 6 : 0 };
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	uint8_t plain[1514], tagged[1518];
	size_t length = make_packet(plain, false, 100);

	assert_non_null(wire);
	memcpy(tagged, plain, 12);
	tagged[12] = tpid >> 8;
	tagged[13] = tpid;
	tagged[14] = 0x60;
	tagged[15] = 0x2a;
	memcpy(tagged + 16, plain + 12, length - 12);
	far_send(&vnet, tagged, length + 4);
	poll_until(wire, 1);
	assert_int_equal(mock_frames[0].length, length + 4);
	if (partial)
		assert_int_equal(l4_sum(mock_frames[0].bytes, 18, length + 4), 0xffff);
	else
		assert_memory_equal(mock_frames[0].bytes, tagged, length + 4);
	assert_memory_equal(mock_frames[0].bytes, tagged, 38);
	vmlx4_wire_close(wire);
}

static void
packet_keeps_c_vlan(void **state)
{
	(void)state;
	vlan_frame(0x8100, false);
}

static void
packet_keeps_s_vlan(void **state)
{
	(void)state;
	vlan_frame(0x88a8, false);
}

static void
packet_completes_tagged_frames(void **state)
{
	(void)state;
	vlan_frame(0x8100, true);
}

static void
packet_carrier_follows_the_interface(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_PACKET, "near", PORT);
	uint8_t frame[64] = { 0 };
	unsigned int i;

	(void)state;
	assert_non_null(wire);
	assert_true(PORT->carrier);
	command("ip link set far down");
	for (i = 0; i < 2000 && PORT->carrier; i++, usleep(10000))
		wire->ops->poll(wire, 16);
	assert_false(PORT->carrier);
	assert_int_equal(mock_updates, 1);
	command("ip link set far up");
	for (i = 0; i < 2000 && !PORT->carrier; i++, usleep(10000))
		wire->ops->poll(wire, 16);
	assert_true(PORT->carrier);
	assert_int_equal(mock_updates, 2);

	/* What was handed over and could not leave is not counted as sent. */
	command("ip link set near down");
	PORT->stats.tx_frames = 1;
	PORT->stats.tx_bytes = 64;
	assert_true(wire->ops->send(wire, frame, sizeof(frame)));
	wire->ops->idle(wire);
	command("ip link set near up");
	assert_int_equal(PORT->stats.tx_wire_drops, 1);
	assert_int_equal(PORT->stats.tx_frames, 0);
	assert_int_equal(PORT->stats.tx_bytes, 0);
	vmlx4_wire_close(wire);
}

static void
packet_names_an_absent_interface(void **state)
{
	(void)state;
	assert_null(open_wire(VMLX4_WIRE_PACKET, "absent0", NULL));
	assert_non_null(strstr(error, "packet:absent0"));
	assert_non_null(strstr(error, "no such interface"));
}

static void
tap_carries_both_ways(void **state)
{
	struct vmlx4_wire *wire;
	struct virtio_net_hdr none = { .flags = 0 };
	uint8_t frame[1514], got[sizeof(none) + 2000];
	size_t length = make_packet(frame, false, 500);

	(void)state;
	wire = open_wire(VMLX4_WIRE_TAP, "vtap", PORT);
	assert_non_null(wire);
	assert_true(wire->fd >= 0);
	assert_true(PORT->carrier);
	command("ip link show vtap up | grep LOWER_UP");
	close(far_end);
	far_end = open_far_end("vtap");

	assert_true(wire->ops->send(wire, frame, length));
	assert_int_equal(recv(far_end, got, sizeof(got), 0), length + sizeof(none));
	assert_memory_equal(got + sizeof(none), frame, length);
	far_send(&none, frame, length);
	poll_until(wire, 1);
	assert_int_equal(mock_frames[0].length, length);
	assert_memory_equal(mock_frames[0].bytes, frame, length);

	/* Longer than the port takes: counted, not delivered. */
	command("ip link set vtap mtu 3000");
	far_send(&none, frame, make_packet(frame, false, 1472));
	poll_until(wire, 2);
	{
		static uint8_t big[3014];

		far_send(&none, big, make_packet(big, false, 2900));
		wire->ops->poll(wire, 16);
		assert_int_equal(PORT->stats.rx_oversize, 1);
		assert_int_equal(mock_count, 2);
	}
	vmlx4_wire_close(wire);
	assert_int_not_equal(system("ip link show vtap >/dev/null 2>&1"), 0);
}

/* The command runs in a network namespace of its own, once a byte comes. */
static pid_t
elsewhere(int to[2], int from[2], const char *text)
{
	pid_t pid;
	char c = 0;

	assert_int_equal(pipe(to) | pipe(from), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) != 0 || write(from[1], &c, 1) != 1 ||
			read(to[0], &c, 1) != 1 || system(text) != 0);
	assert_int_equal(read(from[0], &c, 1), 1);
	return pid;
}

/* Out of sight the interface goes on working; deleted it is an unplugged cable. */
static void
tap_carrier_when_moved_away_and_when_deleted(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_TAP, "vtap", PORT);
	int to[2], from[2], looks, status = -1;
	char text[64];
	pid_t pid;

	(void)state;
	assert_non_null(wire);
	pid = elsewhere(to, from, "ip link del vtap");
	snprintf(text, sizeof(text), "ip link set vtap netns %d", (int)pid);
	command(text);
	for (looks = 0; looks < 30; looks++) {
		wire->ops->poll(wire, 16);
		usleep(10000);
		assert_true(PORT->carrier);
	}
	assert_int_equal(write(to[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (looks = 0; looks < 2000 && PORT->carrier; looks++) {
		wire->ops->poll(wire, 16);
		usleep(10000);
	}
	assert_false(PORT->carrier);
	vmlx4_wire_close(wire);
	for (looks = 0; looks < 2; looks++) {
		close(to[looks]);
		close(from[looks]);
	}
}

static void
tap_says_who_holds_it(void **state)
{
	struct vmlx4_wire *wire = open_wire(VMLX4_WIRE_TAP, "vtap", NULL);

	(void)state;
	assert_non_null(wire);
	assert_null(open_wire(VMLX4_WIRE_TAP, "vtap", NULL));
	assert_non_null(strstr(error, "tap:vtap"));
	assert_non_null(strstr(error, "another program holds it"));
	vmlx4_wire_close(wire);
	/* A veth is no TAP. */
	assert_null(open_wire(VMLX4_WIRE_TAP, "near", NULL));
	assert_non_null(strstr(error, "no plain TAP"));
}

int
main(void)
{
	struct CMUnitTest tests[] = {
		NET_TEST(packet_carries_both_ways),
		NET_TEST(packet_completes_checksums),
		NET_TEST(packet_cuts_segments),
		NET_TEST(packet_keeps_c_vlan),
		NET_TEST(packet_keeps_s_vlan),
		NET_TEST(packet_completes_tagged_frames),
		NET_TEST(packet_carrier_follows_the_interface),
		NET_TEST(packet_names_an_absent_interface),
		NET_TEST(tap_carries_both_ways),
		NET_TEST(tap_carrier_when_moved_away_and_when_deleted),
		NET_TEST(tap_says_who_holds_it),
	};

	return run_on_veth("netif", tests, sizeof(tests) / sizeof(tests[0]));
}
