/* SPDX-License-Identifier: BSD-3-Clause */

/* The MTU: what it lets in and out, and that the netdev has it. */

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

static unsigned int
netdev_mtu(uint16_t port)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	port_netdev(port, request.ifr_name);
	CHECK(ioctl(fd, SIOCGIFMTU, &request) == 0);
	close(fd);
	return request.ifr_mtu;
}

static unsigned int
port_mtu(uint16_t port)
{
	uint16_t mtu;

	CHECK_OK(rte_eth_dev_get_mtu(port, &mtu));
	return mtu;
}

/* Run with several initial MTUs of the netdev: see test_ethdev.py. */
TEST(mtu_is_read_at_probe)
{
	uint16_t port = port_open(0);

	CHECK_EQ(port_mtu(port), netdev_mtu(port));
}

static unsigned int
received(uint16_t port, unsigned int length)
{
	struct rte_mbuf *pkts[2];
	uint8_t frame[FRAME_MAX];
	unsigned int got;

	frame_make(frame, length, mac_foreign, length);
	wire_inject(port, frame, length);
	got = rx_all(port, 0, pkts, 2);
	if (got > 0)
		check_mbuf(pkts[0], frame, length);
	free_mbufs(pkts, got);
	return got;
}

TEST(mtu_of_the_configuration_is_applied)
{
	struct port_conf conf = port_conf(pool_create(2048, 9216));
	uint16_t port = port_open(0);
	unsigned int i;

	conf.eth.rxmode.mtu = 9000;
	port_configure(port, &conf);
	port_start(port, &conf);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(port_mtu(port), 9000);
		CHECK_EQ(netdev_mtu(port), 9000);
		CHECK_EQ(received(port, 9014), 1);
		CHECK_EQ(received(port, 60), 1);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_EQ(port_mtu(port), 9000);
		CHECK_OK(rte_eth_dev_start(port));
	}
}

/* A full frame fits, with one or two VLAN tags as well; a longer one does not. */
TEST(mtu_decides_what_is_received)
{
	static const uint16_t mtus[] = { 1500, 576, 1400, 4000, 9000 };
	struct port_conf conf = port_conf(pool_create(2048, 9600));
	uint16_t port = port_open(0);
	unsigned int i, extra;

	for (i = 0; i < RTE_DIM(mtus); i++) {
		conf.eth.rxmode.mtu = mtus[i];
		port_configure(port, &conf);
		port_start(port, &conf);
		for (extra = 14; extra <= 22; extra++)
			CHECK_EQ(received(port, mtus[i] + extra), 1);
		for (extra = 23; extra < 200; extra += 11)
			CHECK_EQ(received(port, mtus[i] + extra), 0);
		CHECK_EQ(received(port, 60), 1);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(mtu_set_and_limits)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	struct rte_eth_dev_info info;
	uint16_t port = port_open(0);
	uint16_t mtu;

	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.min_mtu >= 46 && info.min_mtu <= 576);
	CHECK(info.max_mtu >= 9000 && info.max_rx_pktlen >= info.max_mtu + 14u);
	port_configure(port, &conf);
	for (mtu = info.min_mtu; mtu < info.max_mtu; mtu += 97) {
		CHECK_OK(rte_eth_dev_set_mtu(port, mtu));
		CHECK_EQ(port_mtu(port), mtu);
		CHECK_EQ(netdev_mtu(port), mtu);
	}
	CHECK_OK(rte_eth_dev_set_mtu(port, info.max_mtu));
	CHECK_OK(rte_eth_dev_set_mtu(port, info.min_mtu));
	CHECK_EQ(rte_eth_dev_set_mtu(port, info.min_mtu - 1), -EINVAL);
	CHECK_EQ(rte_eth_dev_set_mtu(port, info.max_mtu + 1), -EINVAL);
	CHECK_EQ(port_mtu(port), info.min_mtu);
}

/* While started: a larger frame size than the buffers hold must not be promised. */
TEST(mtu_set_while_started_is_kept_or_refused)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	int ret;

	CHECK_OK(rte_eth_dev_set_mtu(port, 1400));
	CHECK_EQ(received(port, 1414), 1);
	CHECK_OK(rte_eth_dev_set_mtu(port, 1500));
	CHECK_EQ(received(port, 1514), 1);
	ret = rte_eth_dev_set_mtu(port, 9000);
	CHECK_MSG(ret == -EINVAL || ret == -EBUSY,
		"buffers of 2 kB without scatter were promised 9000 B (returned %d)", ret);
	CHECK_EQ(port_mtu(port), 1500);
	CHECK_EQ(netdev_mtu(port), 1500);
	check_traffic(port);
}

TEST(mtu_of_one_port_is_not_the_others)
{
	struct port_conf conf = port_conf(pool_create(2048, 9216));
	uint16_t first, second;

	conf.eth.rxmode.mtu = 9000;
	first = port_up(0, &conf);
	conf.eth.rxmode.mtu = 1500;
	second = port_up(1, &conf);
	CHECK_EQ(received(first, 9014), 1);
	CHECK_EQ(received(second, 9014), 0);
	CHECK_EQ(received(second, 1514), 1);
	CHECK_EQ(port_mtu(first), 9000);
	CHECK_EQ(netdev_mtu(second), 1500);
}

/* Somebody else changed the interface meanwhile: the port's own MTU counts. */
TEST(mtu_of_the_port_is_applied_again_at_start)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	struct ifreq request = { .ifr_mtu = 600 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_OK(rte_eth_dev_stop(port));
	port_netdev(port, request.ifr_name);
	CHECK(ioctl(fd, SIOCSIFMTU, &request) == 0);
	close(fd);
	CHECK_EQ(netdev_mtu(port), 600);
	CHECK_OK(rte_eth_dev_start(port));
	CHECK_EQ(netdev_mtu(port), port_mtu(port));
	CHECK_EQ(received(port, 1514), 1);
}
