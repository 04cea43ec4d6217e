/* SPDX-License-Identifier: BSD-3-Clause */

/* Which frames a port takes. */

#include "harness.h"

static const uint8_t multicast[6] = { 0x01, 0x00, 0x5e, 0x00, 0x00, 0x01 };
static const uint8_t slow_protocol[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x02 };

/* How many copies of one frame to this address come up. */
static unsigned int
copies(uint16_t port, const uint8_t *dst)
{
	static uint64_t seed;
	struct rte_mbuf *pkts[8];
	uint8_t frame[90];
	unsigned int got, i;

	frame_make(frame, sizeof(frame), dst, seed++);
	wire_inject(port, frame, sizeof(frame));
	got = rx_all(port, 0, pkts, 8);
	for (i = 0; i < got; i++)
		check_mbuf(pkts[i], frame, sizeof(frame));
	free_mbufs(pkts, got);
	return got;
}

static struct rte_ether_addr
own_mac(uint16_t port)
{
	struct rte_ether_addr mac;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	return mac;
}

static struct rte_ether_addr
numbered_mac(bool group, unsigned int number)
{
	return (struct rte_ether_addr){ .addr_bytes = {
		group ? 0x03 : 0x02, 0xaa, 0x55, number >> 16, number >> 8, number,
	} };
}

static uint16_t
quiet_port(struct rte_mempool *pool)
{
	struct port_conf conf = port_conf(pool);

	conf.promiscuous = false;
	return port_up(0, &conf);
}

static void
check_truth_table(uint16_t port, bool promiscuous, bool all_multicast)
{
	struct rte_ether_addr mac = own_mac(port);

	CHECK_EQ(rte_eth_promiscuous_get(port), promiscuous);
	CHECK_EQ(rte_eth_allmulticast_get(port), all_multicast);
	CHECK_EQ(copies(port, mac.addr_bytes), 1);
	CHECK_EQ(copies(port, mac_broadcast), 1);
	CHECK_EQ(copies(port, multicast), promiscuous || all_multicast);
	CHECK_EQ(copies(port, slow_protocol), promiscuous || all_multicast);
	CHECK_EQ(copies(port, mac_foreign), promiscuous);
}

static void
set_modes(uint16_t port, bool promiscuous, bool all_multicast)
{
	CHECK_OK(promiscuous ? rte_eth_promiscuous_enable(port) :
		rte_eth_promiscuous_disable(port));
	CHECK_OK(all_multicast ? rte_eth_allmulticast_enable(port) :
		rte_eth_allmulticast_disable(port));
}

TEST(mac_promiscuous_and_allmulticast_truth_table)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	unsigned int i;

	/* Every mode from every other, while started. */
	for (i = 0; i < 40; i++) {
		unsigned int mode = (i * i + i / 3) % 4;

		set_modes(port, mode & 1, mode & 2);
		check_truth_table(port, mode & 1, mode & 2);
	}
}

TEST(mac_modes_set_while_stopped_and_kept_over_restart)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	unsigned int mode;

	for (mode = 0; mode < 4; mode++) {
		CHECK_OK(rte_eth_dev_stop(port));
		set_modes(port, mode & 1, mode & 2);
		CHECK_OK(rte_eth_dev_start(port));
		check_truth_table(port, mode & 1, mode & 2);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_truth_table(port, mode & 1, mode & 2);
	}
}

TEST(mac_equals_the_netdev)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr mac = own_mac(port), other;
	uint16_t second = port_open(1);

	CHECK(rte_is_valid_assigned_ether_addr(&mac));
	other = own_mac(second);
	CHECK(rte_is_valid_assigned_ether_addr(&other));
	CHECK(!rte_is_same_ether_addr(&mac, &other));
}

TEST(mac_added_and_removed)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr own = own_mac(port), added = numbered_mac(false, 1);
	unsigned int i;

	for (i = 0; i < 10; i++) {
		CHECK_EQ(copies(port, added.addr_bytes), 0);
		CHECK_OK(rte_eth_dev_mac_addr_add(port, &added, 0));
		CHECK_EQ(copies(port, added.addr_bytes), 1);
		CHECK_EQ(copies(port, own.addr_bytes), 1);
		if (i % 2 == 0) {
			CHECK_OK(rte_eth_dev_stop(port));
			CHECK_OK(rte_eth_dev_start(port));
			CHECK_EQ(copies(port, added.addr_bytes), 1);
		}
		CHECK_OK(rte_eth_dev_mac_addr_remove(port, &added));
	}
	CHECK_EQ(copies(port, own.addr_bytes), 1);
	CHECK(rte_eth_dev_mac_addr_remove(port, &own) < 0);
	CHECK_EQ(copies(port, own.addr_bytes), 1);
}

TEST(mac_default_address_changed)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr old = own_mac(port), new, got;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		new = numbered_mac(false, 100 + i);
		if (i % 2 == 1)
			CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_default_mac_addr_set(port, &new));
		if (i % 2 == 1)
			CHECK_OK(rte_eth_dev_start(port));
		got = own_mac(port);
		CHECK(rte_is_same_ether_addr(&got, &new));
		CHECK_EQ(copies(port, new.addr_bytes), 1);
		CHECK_EQ(copies(port, old.addr_bytes), 0);
		CHECK_EQ(copies(port, mac_broadcast), 1);
		old = new;
	}
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_start(port));
	CHECK_EQ(copies(port, new.addr_bytes), 1);
}

TEST(mac_bad_addresses_are_refused)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr own = own_mac(port), zero = { { 0 } }, got;
	struct rte_ether_addr group = numbered_mac(true, 1);

	CHECK(rte_eth_dev_default_mac_addr_set(port, &zero) < 0);
	CHECK(rte_eth_dev_default_mac_addr_set(port, &group) < 0);
	CHECK(rte_eth_dev_mac_addr_add(port, &zero, 0) < 0);
	got = own_mac(port);
	CHECK(rte_is_same_ether_addr(&own, &got));
	CHECK_EQ(copies(port, own.addr_bytes), 1);
}

TEST(mac_table_is_as_large_as_told)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.max_mac_addrs >= 1 && info.max_mac_addrs <= 128);
	for (i = 1; i < info.max_mac_addrs; i++) {
		mac = numbered_mac(false, i);
		CHECK_OK(rte_eth_dev_mac_addr_add(port, &mac, 0));
	}
	for (i = 1; i < info.max_mac_addrs; i += 7) {
		mac = numbered_mac(false, i);
		CHECK_EQ(copies(port, mac.addr_bytes), 1);
	}
	mac = numbered_mac(false, 5000);
	CHECK_EQ(rte_eth_dev_mac_addr_add(port, &mac, 0), -ENOSPC);
	CHECK_EQ(copies(port, mac.addr_bytes), 0);
	mac = numbered_mac(false, 3);
	CHECK_OK(rte_eth_dev_mac_addr_remove(port, &mac));
	CHECK_EQ(copies(port, mac.addr_bytes), 0);
	mac = numbered_mac(false, 5000);
	CHECK_OK(rte_eth_dev_mac_addr_add(port, &mac, 0));
	CHECK_EQ(copies(port, mac.addr_bytes), 1);
	CHECK_EQ(copies(port, mac_broadcast), 1);
}

TEST(mac_multicast_list_replaced_and_flushed)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr list[64], own = own_mac(port), extra = numbered_mac(false, 9);
	unsigned int i, round;

	CHECK_OK(rte_eth_dev_mac_addr_add(port, &extra, 0));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 64; i++)
			list[i] = numbered_mac(true, 1000 * round + i);
		CHECK_OK(rte_eth_dev_set_mc_addr_list(port, list, 64));
		for (i = 0; i < 64; i++)
			CHECK_EQ(copies(port, list[i].addr_bytes), 1);
		CHECK_EQ(copies(port, multicast), 0);
		if (round > 0) {
			list[0] = numbered_mac(true, 1000 * (round - 1));
			CHECK_EQ(copies(port, list[0].addr_bytes), 0);
		}
		CHECK_EQ(copies(port, own.addr_bytes), 1);
		CHECK_EQ(copies(port, extra.addr_bytes), 1);
		CHECK_EQ(copies(port, mac_broadcast), 1);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		CHECK_EQ(copies(port, list[63].addr_bytes), 1);
	}
	CHECK_OK(rte_eth_dev_set_mc_addr_list(port, NULL, 0));
	CHECK_EQ(copies(port, list[63].addr_bytes), 0);
	CHECK_EQ(copies(port, own.addr_bytes), 1);
	CHECK_EQ(copies(port, extra.addr_bytes), 1);
}

/* Overlapping rules must not make two copies of a frame. */
TEST(mac_listed_multicast_in_allmulticast_comes_once)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr list[1];

	memcpy(list[0].addr_bytes, multicast, 6);
	CHECK_OK(rte_eth_dev_set_mc_addr_list(port, list, 1));
	CHECK_EQ(copies(port, multicast), 1);
	set_modes(port, false, true);
	CHECK_EQ(copies(port, multicast), 1);
	set_modes(port, true, true);
	CHECK_EQ(copies(port, multicast), 1);
	set_modes(port, false, false);
	CHECK_EQ(copies(port, multicast), 1);
	CHECK_EQ(copies(port, slow_protocol), 0);
}

TEST(mac_a_full_unicast_table_leaves_room_for_multicast)
{
	uint16_t port = quiet_port(pool_create(1024, 2048));
	struct rte_ether_addr list[4], mac;
	struct rte_eth_dev_info info;
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	for (i = 1; i < info.max_mac_addrs; i++) {
		mac = numbered_mac(false, i);
		CHECK_OK(rte_eth_dev_mac_addr_add(port, &mac, 0));
	}
	for (i = 0; i < 4; i++)
		list[i] = numbered_mac(true, i);
	CHECK_OK(rte_eth_dev_set_mc_addr_list(port, list, 4));
	CHECK_EQ(copies(port, list[3].addr_bytes), 1);
	CHECK_EQ(copies(port, mac.addr_bytes), 1);
}
