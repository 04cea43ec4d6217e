/* SPDX-License-Identifier: BSD-3-Clause */

/* How far a queue has come: count, descriptor status, the address to sleep on. */

#include <rte_power_intrinsics.h>

#include "harness.h"

static void
inject(uint16_t port, unsigned int n)
{
	uint8_t frame[60];
	unsigned int i;

	for (i = 0; i < n; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
}

static void
check_rx(uint16_t port, unsigned int ready, unsigned int descriptors)
{
	unsigned int i;

	CHECK_EQ(rte_eth_rx_queue_count(port, 0), ready);
	for (i = 0; i < descriptors; i++)
		CHECK_EQ(rte_eth_rx_descriptor_status(port, 0, i), i < ready ?
			RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL);
	CHECK_EQ(rte_eth_rx_descriptor_status(port, 0, descriptors), -EINVAL);
	CHECK_EQ(rte_eth_rx_descriptor_status(port, 0, UINT16_MAX), -EINVAL);
}

TEST(desc_rx_count_and_status_follow_the_packets)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_mbuf *pkts[64];
	uint16_t port, got;
	unsigned int round;

	conf.rxd = 64;
	port = port_up(0, &conf);
	/* Rounds of 7 + 50 end at every place of the ring. */
	for (round = 0; round < 40; round++) {
		check_rx(port, 0, 64);
		inject(port, 7);
		check_rx(port, 7, 64);
		got = rte_eth_rx_burst(port, 0, pkts, 3);
		CHECK_EQ(got, 3);
		free_mbufs(pkts, got);
		check_rx(port, 4, 64);
		inject(port, 50);
		check_rx(port, 54, 64);
		got = rx_all(port, 0, pkts, 64);
		CHECK_EQ(got, 54);
		free_mbufs(pkts, got);
	}
	inject(port, 100);
	check_rx(port, 64, 64);
}

TEST(desc_rx_count_of_scattered_frames_is_in_packets)
{
	struct port_conf conf = port_conf(pool_create(4096, 512));
	struct rte_mbuf *pkts[8];
	uint8_t frame[1500];
	uint16_t port, got;
	unsigned int i;

	conf.rxd = 64;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	for (i = 0; i < 5; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
	check_rx(port, 5, 64);
	got = rx_all(port, 0, pkts, 8);
	CHECK_EQ(got, 5);
	CHECK(pkts[0]->nb_segs > 1);
	free_mbufs(pkts, got);
	check_rx(port, 0, 64);
}

static void
check_tx(uint16_t port, unsigned int done, unsigned int descriptors)
{
	unsigned int i;

	for (i = 0; i < descriptors; i++)
		CHECK_MSG(rte_eth_tx_descriptor_status(port, 0, i) == (i < done ?
			RTE_ETH_TX_DESC_DONE : RTE_ETH_TX_DESC_FULL),
			"descriptor %u is %d", i, rte_eth_tx_descriptor_status(port, 0, i));
	CHECK_EQ(rte_eth_tx_descriptor_status(port, 0, descriptors), -EINVAL);
}

static unsigned int
send_some(uint16_t port, struct rte_mempool *pool, unsigned int n, unsigned int segments)
{
	static const uint16_t lengths[] = { 20, 20, 20, 20, 20 };
	struct rte_mbuf *pkts[64];
	uint8_t frame[100];
	unsigned int i, sent;

	frame_make(frame, sizeof(frame), mac_foreign, n);
	for (i = 0; i < n; i++)
		pkts[i] = mbuf_chain(pool, lengths, segments, frame);
	sent = rte_eth_tx_burst(port, 0, pkts, n);
	free_mbufs(pkts + sent, n - sent);
	return sent;
}

/* Packets of 1 and of 5 segments (one and two blocks of the ring), all round it. */
TEST(desc_tx_status_alone_sees_packets_sent)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	unsigned int round;
	uint16_t port;

	conf.txd = 64;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	for (round = 0; round < 40; round++) {
		check_tx(port, 64, 64);
		CHECK_EQ(send_some(port, conf.pool, 10, 1), 10);
		check_tx(port, 64 - 10, 64);
		CHECK_EQ(send_some(port, conf.pool, 7, 5), 7);
		check_tx(port, 64 - 17, 64);
		/* With no call but this one, all are seen to be sent in the end. */
		WAIT_FOR(rte_eth_tx_descriptor_status(port, 0, 63) == RTE_ETH_TX_DESC_DONE, 10);
	}
	CHECK_EQ(rte_mempool_in_use_count(conf.pool), conf.rxd);
}

TEST(desc_monitor_sleeps_only_without_a_packet)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_power_monitor_cond cond;
	struct rte_mbuf *pkts[4];
	uint16_t port, got;
	unsigned int i;

	conf.rxd = 8;
	port = port_open(0);
	port_configure(port, &conf);
	CHECK_EQ(rte_eth_get_monitor_addr(port, 0, &cond), -EINVAL);
	port_start(port, &conf);
	CHECK_EQ(rte_eth_get_monitor_addr(port, 1, &cond), -EINVAL);
	/* Through the whole ring, and so both values of the owner bit. */
	for (i = 0; i < 40; i++) {
		memset(&cond, 0, sizeof(cond));
		CHECK_OK(rte_eth_get_monitor_addr(port, 0, &cond));
		CHECK_EQ(cond.size, 1);
		CHECK_EQ(cond.fn(*(volatile uint8_t *)cond.addr, cond.opaque), 0);
		inject(port, 1);
		CHECK(cond.fn(*(volatile uint8_t *)cond.addr, cond.opaque) < 0);
		got = rx_all(port, 0, pkts, 4);
		CHECK_EQ(got, 1);
		free_mbufs(pkts, got);
	}
}
