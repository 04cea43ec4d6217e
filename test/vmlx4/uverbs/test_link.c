/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Links that take their time, under "vmlx4 exec --link-delay 30 --carrier-delay
 * 250". The clock is the adapter's: nothing waits.
 */

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/if.h>

#include "device.h"

#define MS 1000000ull
#define STEP 1000ull /* ns that vmlx4_step() takes */

/* Let the time pass and the adapter see it. */
static void
pass(uint64_t ns)
{
	assert_int_equal(vmlx4_clock_advance(ns - STEP), 0);
	assert_true(vmlx4_step(0) >= 0);
}

static struct ibv_port_attr
port_of(struct device *device, uint8_t number)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(device->ctx, number, &attr), 0);
	return attr;
}

static int
interface_request(unsigned long request, struct ifreq *ifr, unsigned int port)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	assert_true(fd >= 0);
	strcpy(ifr->ifr_name, port == 1 ? "vmlx4p1" : "vmlx4p2");
	ret = ioctl(fd, request, ifr);
	close(fd);
	return ret;
}

static bool
running(unsigned int port)
{
	struct ifreq ifr = { .ifr_flags = 0 };

	assert_int_equal(interface_request(SIOCGIFFLAGS, &ifr, port), 0);
	return (ifr.ifr_flags & IFF_RUNNING) != 0;
}

static void
set_up(unsigned int port, bool up)
{
	struct ifreq ifr = { .ifr_flags = 0 };

	assert_int_equal(interface_request(SIOCGIFFLAGS, &ifr, port), 0);
	ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	assert_int_equal(interface_request(SIOCSIFFLAGS, &ifr, port), 0);
}

/* The next event of the context and its port; -1: there is none. */
static int
next_event(struct device *device, int *port)
{
	struct pollfd fd = { .fd = device->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, 0) != 1)
		return -1;
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	ibv_ack_async_event(&event);
	*port = event.element.port_num;
	return event.event_type;
}

static void
expect_event(struct device *device, int type, int number)
{
	int port = 0;

	assert_int_equal(next_event(device, &port), type);
	assert_int_equal(port, number);
}

static void
expect_silence(struct device *device)
{
	int port;

	assert_int_equal(next_event(device, &port), -1);
}

/* Both ports up and shown, whatever the test before left. */
static void
settle(struct device *device)
{
	int port;

	pass(30 * MS);
	pass(250 * MS);
	while (next_event(device, &port) >= 0)
		;
	assert_true(running(1));
	assert_true(running(2));
}

static void
test_start(void **state)
{
	struct device *device = *state;

	assert_int_equal(port_of(device, 1).state, IBV_PORT_DOWN);
	assert_int_equal(port_of(device, 1).phys_state, 2); /* polling */
	assert_false(running(1));
	pass(29 * MS);
	assert_int_equal(port_of(device, 1).state, IBV_PORT_DOWN);
	expect_silence(device);
	pass(1 * MS);
	expect_event(device, IBV_EVENT_PORT_ACTIVE, 1);
	expect_event(device, IBV_EVENT_PORT_ACTIVE, 2);
	assert_int_equal(port_of(device, 1).state, IBV_PORT_ACTIVE);
	assert_int_equal(port_of(device, 1).phys_state, 5);
	assert_false(running(1));
	pass(249 * MS);
	assert_false(running(1));
	pass(1 * MS);
	assert_true(running(1));
	expect_silence(device);
}

static void
test_cable(void **state)
{
	struct device *device = *state;

	settle(device);
	assert_int_equal(vmlx4_set_carrier(1, 0), 0);
	expect_event(device, IBV_EVENT_PORT_ERR, 1);
	assert_false(running(1));
	assert_int_equal(port_of(device, 1).phys_state, 3);
	assert_int_equal(vmlx4_set_carrier(1, 1), 0);
	expect_silence(device);
	pass(30 * MS);
	expect_event(device, IBV_EVENT_PORT_ACTIVE, 1);
	assert_false(running(1));
	/* Gone before the interface showed it: down is told, and at once. */
	assert_int_equal(vmlx4_set_carrier(1, 0), 0);
	expect_event(device, IBV_EVENT_PORT_ERR, 1);
	pass(250 * MS);
	assert_false(running(1));
	/* Gone while it was negotiated: nobody has heard of it. */
	assert_int_equal(vmlx4_set_carrier(1, 1), 0);
	pass(20 * MS);
	assert_int_equal(vmlx4_set_carrier(1, 0), 0);
	pass(40 * MS);
	expect_silence(device);
	assert_int_equal(port_of(device, 1).state, IBV_PORT_DOWN);
	assert_true(running(2));
	assert_int_equal(vmlx4_set_carrier(1, 1), 0);
	settle(device);
}

static void
test_interface(void **state)
{
	struct device *device = *state;

	settle(device);
	set_up(2, false);
	expect_event(device, IBV_EVENT_PORT_ERR, 2);
	set_up(2, true);
	assert_false(running(2));
	assert_int_equal(port_of(device, 2).phys_state, 2);
	pass(29 * MS);
	expect_silence(device);
	pass(1 * MS);
	expect_event(device, IBV_EVENT_PORT_ACTIVE, 2);
	pass(249 * MS);
	assert_false(running(2));
	pass(1 * MS);
	assert_true(running(2));
	expect_silence(device);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_start),
		cmocka_unit_test_device(test_cable),
		cmocka_unit_test_device(test_interface),
	};

	return cmocka_run_group_tests_name("vmlx4-uverbs-link", tests, NULL, NULL);
}
