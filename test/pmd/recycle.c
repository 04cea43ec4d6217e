/* SPDX-License-Identifier: BSD-3-Clause */

/* rte_eth_recycle_mbufs(): what was sent is received into, past the pool. */

#include <rte_version.h>

#include "harness.h"

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)

#define LOCAL_PROTECTION 0x04
#define ALIVE_MS 30000

static void
put_in(uint16_t port, unsigned int n, unsigned int first)
{
	uint8_t frame[200];
	unsigned int i;

	for (i = 0; i < n; i++) {
		frame_make(frame, 60 + (first + i) % 100, mac_foreign, first + i);
		wire_inject(port, frame, 60 + (first + i) % 100);
	}
	settle();
}

/* Receive, check, send on; returns how many. */
static unsigned int
forward(uint16_t port, unsigned int first)
{
	struct rte_mbuf *pkts[64];
	uint8_t frame[200];
	uint16_t got = rte_eth_rx_burst(port, 0, pkts, RTE_DIM(pkts)), i;

	for (i = 0; i < got; i++) {
		frame_make(frame, 60 + (first + i) % 100, mac_foreign, first + i);
		check_mbuf(pkts[i], frame, 60 + (first + i) % 100);
		CHECK_EQ(pkts[i]->data_off, RTE_PKTMBUF_HEADROOM);
	}
	CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, got), got);
	settle();
	return got;
}

TEST(recycle_spares_the_pool)
{
	struct port_conf conf = port_conf(pool_create(512, 2048));
	struct rte_eth_recycle_rxq_info info;
	unsigned int round, total = 0, reused = 0, n;
	uint16_t port;

	conf.rxd = conf.txd = 128;
	port = port_up(0, &conf);
	capture_start(port);
	CHECK_OK(rte_eth_recycle_rx_queue_info_get(port, 0, &info));
	CHECK(info.mp == conf.pool);
	CHECK_EQ(info.mbuf_ring_size, 128);
	/* A full ring takes nothing. */
	CHECK_EQ(rte_eth_recycle_mbufs(port, 0, port, 0, &info), 0);
	for (round = 0; round < 400; round++) {
		n = 1 + round % 30;
		put_in(port, n, total);
		reused += rte_eth_recycle_mbufs(port, 0, port, 0, &info);
		/* The first call may have asked for the completion that the next one finds. */
		settle();
		reused += rte_eth_recycle_mbufs(port, 0, port, 0, &info);
		CHECK_EQ(forward(port, total), n);
		total += n;
	}
	/* Nearly all: those that were under way at the time come from the pool. */
	CHECK_MSG(reused > total * 9 / 10, "%u of %u recycled", reused, total);
	CHECK_EQ(capture_count(port), total);
	CHECK_EQ(stats_of(port).ipackets, total);
	CHECK_EQ(stats_of(port).opackets, total);
}

/* Nobody recycles: the ring is filled from the pool; an empty one costs frames, not the queue. */
TEST(recycle_not_called_is_as_ever)
{
	struct port_conf conf = port_conf(pool_create(64 + 40, 2048));
	struct rte_eth_recycle_rxq_info info;
	struct rte_mbuf *held[256];
	unsigned int i, count = 0, total = 0;
	uint16_t port;

	conf.rxd = 64;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_recycle_rx_queue_info_get(port, 0, &info));
	for (i = 0; i < 300; i++) {
		put_in(port, 1, i);
		count += rte_eth_rx_burst(port, 0, held + count, 4);
		CHECK(count <= 64 + 40);
	}
	CHECK(count >= 40 + 64 * 3 / 4);
	CHECK_EQ(stats_of(port).rx_nombuf, 300 - count);
	free_mbufs(held, count);
	for (i = 0; i < 20; i++)
		rx_discard(port);
	for (i = 0; i < 300; i++) {
		put_in(port, 3, total);
		CHECK_EQ(rx_all(port, 0, held, 8), 3);
		free_mbufs(held, 3);
	}
	CHECK_EQ(stats_of(port).ierrors, 0);
}

/* Chains, clones, references and other pools are freed as they want to be. */
TEST(recycle_of_mbufs_that_cannot_be)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_mempool *other = pool_create(256, 2048);
	static const uint16_t lengths[] = { 60, 60, 0 };
	struct rte_eth_recycle_rxq_info info;
	struct rte_mbuf *pkts[5], *origin;
	uint8_t frame[120];
	unsigned int round, n;
	uint16_t port;

	conf.rxd = conf.txd = 64;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_recycle_rx_queue_info_get(port, 0, &info));
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 0; round < 100; round++) {
		put_in(port, 8, 0);
		n = rx_discard(port);
		CHECK_EQ(n, 8);
		origin = mbuf_frame(conf.pool, frame, sizeof(frame));
		pkts[0] = mbuf_chain(conf.pool, lengths, 3, frame);
		pkts[1] = rte_pktmbuf_clone(origin, conf.pool);
		pkts[2] = mbuf_frame(other, frame, sizeof(frame));
		pkts[3] = mbuf_frame(conf.pool, frame, sizeof(frame));
		pkts[4] = mbuf_frame(conf.pool, frame, sizeof(frame));
		rte_mbuf_refcnt_update(pkts[4], 1);
		tx_all(port, 0, pkts, 5);
		settle();
		CHECK(rte_eth_recycle_mbufs(port, 0, port, 0, &info) <= 1);
		rte_pktmbuf_free(origin);
		rte_pktmbuf_free(pkts[4]);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Through a stop of the queue, an error and a restart, with the info of before. */
TEST(recycle_over_stop_and_failure)
{
	struct port_conf conf = port_conf(pool_create(512, 2048));
	struct rte_eth_recycle_rxq_info info;
	unsigned int round, i, total = 0;
	uint8_t frame[100];
	uint16_t port;

	conf.rxd = conf.txd = 64;
	port = port_up(0, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 1; round <= 10; round++) {
		CHECK_OK(rte_eth_recycle_rx_queue_info_get(port, 0, &info));
		for (i = 0; i < 10; i++) {
			put_in(port, 7, total);
			rte_eth_recycle_mbufs(port, 0, port, 0, &info);
			total += forward(port, total);
		}
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		wire_inject(port, frame, sizeof(frame));
		settle();
		rx_discard(port);
		rte_eth_recycle_mbufs(port, 0, port, 0, &info);
		WAIT_FOR(xstat_of(port, "rx_queue_recoveries") == round, ALIVE_MS);
		put_in(port, 7, total);
		total += forward(port, total);
		CHECK_OK(rte_eth_dev_rx_queue_stop(port, 0));
		CHECK_EQ(rte_eth_recycle_mbufs(port, 0, port, 0, &info), 0);
		CHECK_OK(rte_eth_dev_rx_queue_start(port, 0));
		put_in(port, 7, total);
		total += forward(port, total);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_EQ(rte_mempool_avail_count(conf.pool), 512);
		CHECK_OK(rte_eth_dev_start(port));
		/* The old info is of a ring that is gone: no slot of it is free. */
		put_in(port, 7, total);
		total += forward(port, total);
		CHECK_EQ(rte_eth_recycle_mbufs(port, 0, port, 0, &info), 0);
	}
}

/* Queues whose rings are no list of mbufs show one that is never free. */
TEST(recycle_into_scattered_queues_is_none)
{
	struct port_conf conf = port_conf(pool_create(2048, 512));
	struct rte_eth_recycle_rxq_info info;
	struct rte_mbuf *m;
	uint8_t frame[1400];
	unsigned int i;
	uint16_t port;

	conf.rxd = 64;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_recycle_rx_queue_info_get(port, 0, &info));
	for (i = 0; i < 200; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rte_eth_recycle_mbufs(port, 0, port, 0, &info), 0);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, sizeof(frame));
		rte_pktmbuf_free(m);
	}
}

#endif
