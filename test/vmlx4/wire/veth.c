/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "veth.h"

char error[512];
int far_end = -1; /* packet socket at the other end of the veth */

void
command(const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%s >/dev/null 2>&1", text);
	assert_int_equal(system(line), 0);
}

int
open_far_end(const char *name)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL) };
	struct ifreq ifr = { .ifr_flags = 0 };
	int on = 1, fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct timeval patience = { .tv_sec = 5 };

	assert_true(fd >= 0);
	strcpy(ifr.ifr_name, name);
	assert_int_equal(ioctl(fd, SIOCGIFINDEX, &ifr), 0);
	address.sll_ifindex = ifr.ifr_ifindex;
	assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void
far_send(const struct virtio_net_hdr *vnet, const uint8_t *frame, size_t length)
{
	struct iovec parts[2] = {
		{ .iov_base = (void *)(uintptr_t)vnet, .iov_len = sizeof(*vnet) },
		{ .iov_base = (void *)(uintptr_t)frame, .iov_len = length },
	};

	assert_int_equal(writev(far_end, parts, 2), length + sizeof(*vnet));
}

struct vmlx4_wire *
open_wire(enum vmlx4_wire_kind kind, const char *name, struct vmlx4_port *port)
{
	struct vmlx4_wire_spec spec = { .kind = kind };

	strcpy(spec.ifname, name);
	error[0] = '\0';
	return vmlx4_wire_open(&spec, port, error, sizeof(error));
}

void
poll_until(struct vmlx4_wire *wire, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < 20000 && mock_count < count; i++) {
		wire->ops->poll(wire, 16);
		usleep(1000);
	}
	assert_int_equal(mock_count, count);
}

size_t
make_packet(uint8_t *frame, bool tcp, size_t payload)
{
	size_t header = tcp ? 20 : 8, total = 20 + header + payload, i;
	uint32_t sum = (tcp ? 6 : 17) + header + payload;
	uint8_t *l4 = frame + 34;

	memset(frame, 0, 14 + total);
	memcpy(frame, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0\x45\0", 16);
	frame[16] = total >> 8;
	frame[17] = total;
	frame[22] = 64;
	frame[23] = tcp ? 6 : 17;
	memcpy(frame + 26, "\x0a\0\0\1\x0a\0\0\2", 8);
	for (i = 26; i < 34; i += 2)
		sum += frame[i] << 8 | frame[i + 1];
	memcpy(l4, "\x10\0\x20\0", 4);
	if (tcp) {
		l4[12] = 5 << 4;
		l4[13] = 0x10;
	} else {
		l4[4] = (8 + payload) >> 8;
		l4[5] = 8 + payload;
	}
	for (i = 0; i < payload; i++)
		l4[header + i] = i * 3;
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	l4[tcp ? 16 : 6] = sum >> 8;
	l4[tcp ? 17 : 7] = sum;
	return 14 + total;
}

uint16_t
l4_sum(const uint8_t *frame, size_t l3, size_t length)
{
	uint32_t sum = frame[l3 + 9] + (uint32_t)(length - l3 - 20);
	size_t i;

	for (i = l3 + 12; i < length; i++)
		sum += (i - l3) % 2 == 0 ? frame[i] << 8 : frame[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

int
set_up(void **state)
{
	(void)state;
	mock_reset("ports=1");
	far_end = open_far_end("far");
	return 0;
}

int
tear_down(void **state)
{
	(void)state;
	close(far_end);
	mock_reset("");
	return 0;
}

/* The namespace goes with the process, and all interfaces with it. */
static bool
make_network(void)
{
	/* An ordinary user may have one in a user namespace, if the system lets him. */
	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	return system("{ echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; } 2>/dev/null;"
		"ip link add near type veth peer name far && ip link set near up && "
		"ip link set far up && sleep 0.1") == 0;
}

static void
no_network(void **state)
{
	(void)state;
	skip();
}

int
run_on_veth(const char *title, struct CMUnitTest *tests, size_t count)
{
	bool network = make_network();
	size_t i;

	for (i = 0; !network && i < count; i++) {
		tests[i].test_func = no_network;
		tests[i].setup_func = NULL;
		tests[i].teardown_func = NULL;
	}
	return _cmocka_run_group_tests(title, tests, count, NULL, NULL);
}
