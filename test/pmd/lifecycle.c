/* SPDX-License-Identifier: BSD-3-Clause */

/* Configure, start, stop, close, reset: any number of times, from any state. */

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_dev.h>
#include <rte_malloc.h>

#include "harness.h"

static void
echo_32(uint16_t port)
{
	unsigned int i;

	for (i = 0; i < 32; i++)
		check_traffic(port);
}

TEST(lifecycle_start_stop_100_times_with_traffic)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct vmlx4_object_counts first = object_counts();
	unsigned int i;

	for (i = 0; i < 100; i++) {
		echo_32(port);
		capture_clear(port);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
	}
	echo_32(port);
	CHECK_EQ(object_counts().qps, first.qps);
	CHECK_EQ(object_counts().mrs, first.mrs);
	CHECK_EQ(object_counts().flows, first.flows);
}

TEST(lifecycle_configure_cycle_grows_nothing)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct vmlx4_object_counts first = { 0 }, now;
	struct rte_malloc_socket_stats heap_first = { 0 }, heap_now;
	size_t libc_first = 0, libc_now;
	unsigned int i;

	conf.rxq = conf.txq = 2;
	for (i = 0; i < 120; i++) {
		port_configure(port, &conf);
		port_start(port, &conf);
		if (i == 20) {
			first = object_counts();
			CHECK_OK(rte_malloc_get_socket_stats(0, &heap_first));
			libc_first = mallinfo2().uordblks;
		}
		if (i < 119)
			CHECK_OK(rte_eth_dev_stop(port));
	}
	now = object_counts();
	first.mrs_registered = now.mrs_registered;
	CHECK_MSG(memcmp(&first, &now, sizeof(now)) == 0,
		"adapter objects grew: QPs %u -> %u, CQs %u -> %u, WQs %u -> %u, MRs %u -> %u",
		first.qps, now.qps, first.cqs, now.cqs, first.wqs, now.wqs, first.mrs, now.mrs);
	CHECK_OK(rte_malloc_get_socket_stats(0, &heap_now));
	CHECK_MSG(heap_now.heap_allocsz_bytes <= heap_first.heap_allocsz_bytes + 4096,
		"the DPDK heap grew from %zu to %zu B in 99 cycles",
		heap_first.heap_allocsz_bytes, heap_now.heap_allocsz_bytes);
	libc_now = mallinfo2().uordblks;
	CHECK_MSG(libc_now <= libc_first + 32768,
		"the heap grew from %zu to %zu B in 99 cycles", libc_first, libc_now);
	check_traffic(port);
}

/* Each state that close must be able to leave: the harness looks for leaks. */
TEST(lifecycle_close_from_every_state)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	unsigned int state;

	conf.rxq = conf.txq = 3;
	for (state = 0; state < 9; state++) {
		uint16_t port = port_open(0);

		if (state >= 1)
			CHECK_OK(rte_eth_dev_configure(port, 3, 3, &conf.eth));
		if (state == 2 || state >= 4)
			CHECK_OK(rte_eth_rx_queue_setup(port, 1, 64, SOCKET_ID_ANY, NULL,
				conf.pool));
		if (state == 3 || state >= 4)
			CHECK_OK(rte_eth_tx_queue_setup(port, 2, 64, SOCKET_ID_ANY, NULL));
		if (state >= 5)
			port_configure(port, &conf);
		if (state >= 6)
			port_start(port, &conf);
		if (state == 7)
			CHECK_OK(rte_eth_dev_stop(port));
		if (state == 8) {
			CHECK_OK(rte_eth_dev_stop(port));
			CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
		}
		port_close(port);
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	}
}

/* A start that cannot succeed leaves a port that can be closed, or tried again. */
TEST(lifecycle_start_without_queues_set_up_is_refused)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);

	conf.rxq = conf.txq = 2;
	CHECK_OK(rte_eth_dev_configure(port, 2, 2, &conf.eth));
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, conf.pool));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	CHECK(rte_eth_dev_start(port) < 0);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}

TEST(lifecycle_start_with_too_small_a_pool_unwinds)
{
	struct port_conf conf = port_conf(pool_create(100, 2048));
	struct port_conf good = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	unsigned int i;

	for (i = 0; i < 5; i++) {
		port_configure(port, &conf);
		CHECK_EQ(rte_eth_dev_start(port), -ENOMEM);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	}
	port_configure(port, &good);
	port_start(port, &good);
	check_traffic(port);
}

TEST(lifecycle_pending_tx_is_freed_by_close)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *pkts[100];
	uint8_t frame[200];
	unsigned int i;

	for (i = 0; i < 100; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
	}
	CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, 100), 100);
	port_close(port);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
}

/* Half of the burst is on the wire and not reaped, half is not, some are received. */
TEST(lifecycle_stop_in_the_middle_of_traffic)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int round;

	for (round = 0; round < 20; round++) {
		struct rte_mbuf *pkts[64];
		uint8_t frame[300];
		unsigned int i;

		for (i = 0; i < 64; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
			wire_inject(port, frame, sizeof(frame));
		}
		CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, 64), 64);
		CHECK(vmlx4_step(1 + 7 * round) >= 0);
		CHECK_OK(rte_eth_dev_stop(port));
		settle();
		CHECK_OK(rte_eth_dev_start(port));
		/* What came before the stop must not come after the start. */
		frame_make(frame, sizeof(frame), mac_foreign, 77);
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, pkts, 64), 1);
		check_mbuf(pkts[0], frame, sizeof(frame));
		rte_pktmbuf_free(pkts[0]);
		check_traffic(port);
	}
}

TEST(lifecycle_dev_reset_then_configured_anew)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_ether_addr before, after;
	unsigned int i;

	CHECK_OK(rte_eth_macaddr_get(port, &before));
	for (i = 0; i < 5; i++) {
		check_traffic(port);
		capture_clear(port);
		CHECK_OK(rte_eth_dev_reset(port));
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
		CHECK_OK(rte_eth_macaddr_get(port, &after));
		CHECK(rte_is_same_ether_addr(&before, &after));
		conf.rxq = conf.txq = 1 + i % 3;
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
	}
}

TEST(lifecycle_queue_state_follows_start_and_stop)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	unsigned int i;

	port_configure(port, &conf);
	for (i = 0; i < 3; i++) {
		CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &rx));
		CHECK_OK(rte_eth_tx_queue_info_get(port, 0, &tx));
		CHECK_EQ(rx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		CHECK_EQ(tx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
		port_start(port, &conf);
		CHECK_OK(rte_eth_rx_queue_info_get(port, 0, &rx));
		CHECK_OK(rte_eth_tx_queue_info_get(port, 0, &tx));
		CHECK_EQ(rx.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
		CHECK_EQ(tx.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(lifecycle_two_ports_live_apart)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t first = port_up(0, &conf), second = port_up(1, &conf);
	unsigned int i;

	for (i = 0; i < 4; i++) {
		check_traffic(first);
		rx_discard(second);
		check_traffic(second);
		rx_discard(first);
		if (i % 2 == 0) {
			port_close(second);
			check_traffic(first);
			second = port_up(1, &conf);
		} else {
			CHECK_OK(rte_eth_dev_stop(first));
			check_traffic(second);
			CHECK_OK(rte_eth_dev_start(first));
		}
	}
}

TEST(lifecycle_probe_and_remove_50_times)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	unsigned int i;

	for (i = 0; i < 50; i++) {
		uint16_t port = port_open(i % 2);

		if (i % 5 == 0) {
			port_configure(port, &conf);
			port_start(port, &conf);
			check_traffic(port);
		}
		port_close(port);
	}
}

/* The vdev goes while the application still has the port started. */
TEST(lifecycle_remove_while_started)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	char args[64];
	uint16_t port;
	unsigned int i;

	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	for (i = 0; i < 3; i++) {
		CHECK_OK(port_probe("net_mlx4dv7", args));
		CHECK_OK(rte_eth_dev_get_port_by_name("net_mlx4dv7", &port));
		port_configure(port, &conf);
		port_start(port, &conf);
		CHECK_OK(rte_eal_hotplug_remove("vdev", "net_mlx4dv7"));
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	}
}

TEST(lifecycle_bursts_on_a_stopped_port_do_nothing)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *pkts[4];
	uint8_t frame[64];
	unsigned int i;

	check_traffic(port);
	CHECK_OK(rte_eth_dev_stop(port));
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	wire_inject(port, frame, sizeof(frame));
	settle();
	for (i = 0; i < 4; i++)
		pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
	CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, 4), 0);
	free_mbufs(pkts, 4);
	CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 4), 0);
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

/* The verbs device is gone when the port wants it again; it can be closed all the same. */
TEST(lifecycle_dev_reset_that_fails)
{
	struct rte_ether_addr group = { .addr_bytes = { 0x01, 0, 0x5e, 0, 0, 1 } };
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	char here[PATH_MAX], away[PATH_MAX + 8];

	snprintf(here, sizeof(here), "%s/class/infiniband_verbs", getenv("SYSFS_PATH"));
	snprintf(away, sizeof(away), "%s.away", here);
	CHECK_OK(rte_eth_dev_set_mc_addr_list(port, &group, 1));
	CHECK(rename(here, away) == 0);
	CHECK(rte_eth_dev_reset(port) < 0);
	CHECK(rename(away, here) == 0);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	CHECK(rte_eth_dev_configure(port, 1, 1, &conf.eth) < 0);
	CHECK(rte_eth_dev_start(port) < 0);
	port_close(port);
	/* As if nothing had been. */
	echo_32(port_up(0, &conf));
}
