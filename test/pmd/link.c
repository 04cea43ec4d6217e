/* SPDX-License-Identifier: BSD-3-Clause */

/* Link state and its interrupt, and the flags of the netdev. */

#include <net/if.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

/* Longer than any re-check of the driver: nothing more is to come after it. */
#define QUIET_MS 400
#define CARRIER_DELAY_NS 250000000 /* as test_ethdev.py has it */

static struct events {
	atomic_uint count;
	atomic_uint last_status;
} events[2];

/* In EAL's interrupt thread. */
static int
on_lsc(uint16_t port, enum rte_eth_event_type type, void *arg, void *result)
{
	struct rte_eth_link link;

	(void)type;
	(void)result;
	if (rte_eth_link_get_nowait(port, &link) == 0) {
		struct events *ev = arg;

		atomic_store(&ev->last_status, link.link_status);
		atomic_fetch_add(&ev->count, 1);
	}
	return 0;
}

static void
set_netdev_flags(const char *name, unsigned int flags)
{
	struct ifreq request = { .ifr_flags = flags };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	strcpy(request.ifr_name, name);
	CHECK(ioctl(fd, SIOCSIFFLAGS, &request) == 0);
	close(fd);
}

static unsigned int
link_status(uint16_t port)
{
	struct rte_eth_link link;

	CHECK_OK(rte_eth_link_get_nowait(port, &link));
	return link.link_status;
}

static unsigned int
flags_of(const char *name)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	strcpy(request.ifr_name, name);
	CHECK(ioctl(fd, SIOCGIFFLAGS, &request) == 0);
	close(fd);
	return (unsigned short)request.ifr_flags;
}

static unsigned int
netdev_flags(uint16_t port)
{
	char name[IFNAMSIZ];

	port_netdev(port, name);
	return flags_of(name);
}

static uint16_t
lsc_port(unsigned int which, struct rte_mempool *pool, bool lsc)
{
	struct port_conf conf = port_conf(pool);
	uint16_t port = port_open(which);

	conf.eth.intr_conf.lsc = lsc;
	atomic_store(&events[which].count, 0);
	CHECK_OK(rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_LSC, on_lsc,
		&events[which]));
	port_configure(port, &conf);
	port_start(port, &conf);
	return port;
}

static void
quiet(void)
{
	unsigned int i;

	for (i = 0; i < QUIET_MS / 10; i++) {
		settle();
		sleep_ms(10);
	}
}

TEST(link_is_up_with_the_speed_of_the_card)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	CHECK_OK(rte_eth_link_get(port, &link));
	CHECK_EQ(link.link_status, RTE_ETH_LINK_UP);
	CHECK_EQ(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
	CHECK(link.link_speed == 10000 || link.link_speed == 40000 || link.link_speed == 56000);
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK((info.speed_capa & rte_eth_speed_bitflag(link.link_speed,
		RTE_ETH_LINK_FULL_DUPLEX)) != 0);
}

/*
 * Runs with wires that are not connected to each other, so that pulling one
 * cable concerns one port: each change is told once, on that port alone.
 */
TEST(link_change_is_told_once_and_on_its_own_port)
{
	struct rte_mempool *pool = pool_create(2048, 2048);
	uint16_t ports[2] = { lsc_port(0, pool, true), lsc_port(1, pool, true) };
	unsigned int told[2] = { 0, 0 }, i;

	quiet();
	CHECK_EQ(atomic_load(&events[0].count), 0);
	CHECK_EQ(atomic_load(&events[1].count), 0);
	for (i = 0; i < 6; i++) {
		unsigned int which = i / 2 % 2 == 0, up = i % 2;

		CHECK_OK(vmlx4_set_carrier(port_verbs(ports[which]), up));
		told[which]++;
		WAIT_FOR(atomic_load(&events[which].count) >= told[which], 30000);
		quiet();
		CHECK_EQ(atomic_load(&events[0].count), told[0]);
		CHECK_EQ(atomic_load(&events[1].count), told[1]);
		CHECK_EQ(atomic_load(&events[which].last_status), up);
		CHECK_EQ(link_status(ports[which]), up);
		CHECK_EQ(link_status(ports[!which]), RTE_ETH_LINK_UP);
		CHECK_EQ(!!(netdev_flags(ports[which]) & IFF_RUNNING), up);
	}
	check_traffic(ports[0]);
	check_traffic(ports[1]);
}

TEST(link_without_the_interrupt_is_read_but_not_told)
{
	uint16_t port = lsc_port(0, pool_create(1024, 2048), false);
	unsigned int up;

	for (up = 0; up <= 1; up++) {
		CHECK_OK(vmlx4_set_carrier(port_verbs(port), up));
		WAIT_FOR(link_status(port) == up, 30000);
		quiet();
		CHECK_EQ(link_status(port), up);
		CHECK_EQ(atomic_load(&events[0].count), 0);
	}
	check_traffic(port);
}

/* The event was before the port was there: its start has to look, and again. */
static void
wait_first_carrier(uint16_t port)
{
	CHECK_EQ(link_status(port), RTE_ETH_LINK_DOWN);
	CHECK_OK(vmlx4_clock_advance(CARRIER_DELAY_NS));
	WAIT_FOR(atomic_load(&events[0].count) == 1, 30000);
	CHECK_EQ(atomic_load(&events[0].last_status), RTE_ETH_LINK_UP);
}

/*
 * Runs with --carrier-delay: the event comes long before the interface has its
 * carrier, and no second one. Time is the adapter's, and stands while we look.
 */
TEST(link_late_carrier_is_told_once_when_it_is_there)
{
	struct rte_mempool *pool = pool_create(1024, 2048);
	uint16_t port = lsc_port(0, pool, true);
	unsigned int i;

	wait_first_carrier(port);
	for (i = 1; i <= 2; i++) {
		CHECK_OK(vmlx4_set_carrier(port_verbs(port), 0));
		WAIT_FOR(atomic_load(&events[0].count) == 2 * i, 30000);
		CHECK_EQ(atomic_load(&events[0].last_status), RTE_ETH_LINK_DOWN);
		CHECK_OK(vmlx4_set_carrier(port_verbs(port), 1));
		quiet();
		CHECK_EQ(atomic_load(&events[0].count), 2 * i);
		CHECK_EQ(link_status(port), RTE_ETH_LINK_DOWN);
		CHECK_OK(vmlx4_clock_advance(CARRIER_DELAY_NS));
		WAIT_FOR(atomic_load(&events[0].count) == 2 * i + 1, 30000);
		quiet();
		CHECK_EQ(atomic_load(&events[0].count), 2 * i + 1);
		CHECK_EQ(atomic_load(&events[0].last_status), RTE_ETH_LINK_UP);
		CHECK_EQ(link_status(port), RTE_ETH_LINK_UP);
		CHECK_EQ(!!(netdev_flags(port) & IFF_RUNNING), 1);
	}
	check_traffic(port);
}

/* The port closes while a late carrier is still waited for. */
TEST(link_late_carrier_when_the_port_closes)
{
	struct rte_mempool *pool = pool_create(1024, 2048);
	uint16_t port = lsc_port(0, pool, true);

	wait_first_carrier(port);
	CHECK_OK(vmlx4_set_carrier(port_verbs(port), 0));
	WAIT_FOR(atomic_load(&events[0].count) == 2, 30000);
	CHECK_OK(vmlx4_set_carrier(port_verbs(port), 1));
	settle();
	port_close(port);
	CHECK_OK(vmlx4_clock_advance(CARRIER_DELAY_NS));
	quiet();
	CHECK_EQ(atomic_load(&events[0].count), 2);
}

/* A link that changes while the port is stopped is right after the start. */
TEST(link_changes_while_stopped)
{
	uint16_t port = lsc_port(0, pool_create(1024, 2048), true);
	unsigned int i;

	for (i = 0; i < 4; i++) {
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(vmlx4_set_carrier(port_verbs(port), i % 2));
		settle();
		CHECK_OK(rte_eth_dev_start(port));
		WAIT_FOR(link_status(port) == i % 2, 30000);
	}
	check_traffic(port);
}

/* Flaps faster than anyone looks: the last state is the one that stays. */
TEST(link_flaps_end_in_the_right_state)
{
	uint16_t port = lsc_port(0, pool_create(1024, 2048), true);
	unsigned int round, i;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < 50; i++)
			CHECK_OK(vmlx4_set_carrier(port_verbs(port), (i + round) % 2));
		WAIT_FOR(link_status(port) == (49 + round) % 2, 30000);
		quiet();
		CHECK_EQ(link_status(port), (49 + round) % 2);
		if (atomic_load(&events[0].count) > 0)
			CHECK_EQ(atomic_load(&events[0].last_status), (49 + round) % 2);
	}
	CHECK_OK(vmlx4_set_carrier(port_verbs(port), 1));
}

TEST(link_set_down_and_up_changes_one_flag)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int flags = netdev_flags(port), i;

	CHECK((flags & IFF_UP) != 0);
	for (i = 0; i < 5; i++) {
		CHECK_OK(rte_eth_dev_set_link_down(port));
		CHECK_EQ(netdev_flags(port) & ~IFF_RUNNING, flags & ~(IFF_UP | IFF_RUNNING));
		WAIT_FOR(link_status(port) == RTE_ETH_LINK_DOWN, 30000);
		CHECK_OK(rte_eth_dev_set_link_up(port));
		CHECK_EQ(netdev_flags(port), flags);
		WAIT_FOR(link_status(port) == RTE_ETH_LINK_UP, 30000);
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		CHECK_EQ(netdev_flags(port), flags);
	}
}

/* An interface that was down is up while the port needs it, and down after. */
TEST(link_interface_is_left_as_it_was_found)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	char name[IFNAMSIZ];
	unsigned int flags;
	uint16_t port = port_open(0);

	port_netdev(port, name);
	port_close(port);
	flags = flags_of(name);
	CHECK((flags & IFF_UP) != 0);
	port = port_up(0, &conf);
	check_traffic(port);
	port_close(port);
	CHECK_EQ(flags_of(name), flags);
	set_netdev_flags(name, flags & ~(IFF_UP | IFF_RUNNING));
	flags = flags_of(name);
	CHECK((flags & IFF_UP) == 0);
	port = port_up(0, &conf);
	CHECK((flags_of(name) & IFF_UP) != 0);
	WAIT_FOR(link_status(port) == RTE_ETH_LINK_UP, 30000);
	check_traffic(port);
	port_close(port);
	CHECK_EQ(flags_of(name), flags);
	set_netdev_flags(name, flags | IFF_UP);
}
