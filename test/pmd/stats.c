/* SPDX-License-Identifier: BSD-3-Clause */

/* Counters: exact, per queue, zero after a reset, readable in every state. */

#include <stdlib.h>

#include "harness.h"

TEST(stats_are_exact_and_zero_after_reset)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_eth_stats stats, zero = { 0 };
	struct rte_mbuf *m;
	unsigned int i, round;
	uint8_t frame[1514];
	uint64_t bytes;

	for (round = 0; round < 3; round++) {
		for (i = 0, bytes = 0; i < 70; i++) {
			unsigned int length = 60 + 20 * i;

			frame_make(frame, length, mac_foreign, i);
			wire_inject(port, frame, length);
			bytes += length;
		}
		CHECK_EQ(rx_discard(port), 70);
		for (i = 0; i < 50; i++) {
			m = mbuf_frame(conf.pool, frame, 100);
			tx_all(port, 0, &m, 1);
		}
		stats = stats_of(port);
		CHECK_EQ(stats.ipackets, 70);
		CHECK_EQ(stats.ibytes, bytes);
		CHECK_EQ(stats.opackets, 50);
		CHECK_EQ(stats.obytes, 50 * 100);
		CHECK_EQ(stats.imissed + stats.ierrors + stats.oerrors + stats.rx_nombuf, 0);
		CHECK_EQ(queue_xstat_of(port, "rx", 0, "packets"), 70);
		CHECK_EQ(queue_xstat_of(port, "rx", 0, "bytes"), bytes);
		CHECK_EQ(queue_xstat_of(port, "tx", 0, "packets"), 50);
		CHECK_EQ(queue_xstat_of(port, "tx", 0, "bytes"), 50 * 100);
		CHECK_OK(rte_eth_stats_reset(port));
		stats = stats_of(port);
		CHECK(memcmp(&stats, &zero, sizeof(zero)) == 0);
	}
}

static void
inject_flows(uint16_t port, unsigned int n)
{
	struct frame_flow flow;
	uint8_t frame[90];
	unsigned int i;

	for (i = 0; i < n; i++) {
		flow = flow_make(false, 17, i);
		frame_flow(frame, sizeof(frame), mac_foreign, &flow);
		wire_inject(port, frame, sizeof(frame));
	}
}

TEST(stats_of_the_queues_sum_up_to_the_port)
{
	static const uint16_t counts[][2] = { { 4, 2 }, { 3, 7 }, { 16, 16 }, { 1, 5 } };
	struct rte_mempool *pool = pool_create(12000, 2048);
	uint16_t port = port_open(0);
	unsigned int c, i;

	for (c = 0; c < RTE_DIM(counts); c++) {
		struct port_conf conf = port_conf(pool);
		uint64_t ip = 0, ib = 0, op = 0, ob = 0;
		struct rte_eth_stats stats;
		struct rte_mbuf *m;
		uint8_t frame[100];

		conf.rxq = counts[c][0];
		conf.txq = counts[c][1];
		conf.rxd = conf.txd = 256;
		conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
			RTE_ETH_RSS_NONFRAG_IPV4_UDP;
		port_configure(port, &conf);
		port_start(port, &conf);
		CHECK_OK(rte_eth_stats_reset(port));
		inject_flows(port, 100);
		CHECK_EQ(rx_discard(port), 100);
		for (i = 0; i < 60; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			m = mbuf_frame(pool, frame, 60 + i % 40);
			tx_all(port, i % conf.txq, &m, 1);
		}
		stats = stats_of(port);
		for (i = 0; i < conf.rxq; i++) {
			CHECK_EQ(queue_xstat_of(port, "rx", i, "errors"), 0);
			ip += queue_xstat_of(port, "rx", i, "packets");
			ib += queue_xstat_of(port, "rx", i, "bytes");
		}
		for (i = 0; i < conf.txq; i++) {
			CHECK(queue_xstat_of(port, "tx", i, "packets") != 0);
			op += queue_xstat_of(port, "tx", i, "packets");
			ob += queue_xstat_of(port, "tx", i, "bytes");
		}
		CHECK_EQ(stats.ipackets, 100);
		CHECK_EQ(stats.ipackets, ip);
		CHECK_EQ(stats.ibytes, ib);
		CHECK_EQ(stats.opackets, 60);
		CHECK_EQ(stats.opackets, op);
		CHECK_EQ(stats.obytes, ob);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

TEST(stats_imissed_is_what_was_not_received)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port;
	struct rte_eth_stats stats;
	uint8_t frame[100];
	unsigned int i, round, got, injected = 0, received = 0;

	conf.rxd = 64;
	port = port_up(0, &conf);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 640; i++, injected++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			wire_inject(port, frame, sizeof(frame));
		}
		settle();
		got = rx_discard(port);
		CHECK(got >= 64 && got < 640);
		received += got;
		stats = stats_of(port);
		CHECK_EQ(stats.ipackets, received);
		CHECK_EQ(stats.imissed, injected - received);
		CHECK_EQ(stats.rx_nombuf + stats.ierrors, 0);
	}
	CHECK_OK(rte_eth_stats_reset(port));
	CHECK_EQ(stats_of(port).imissed, 0);
	for (i = 0; i < 200; i++)
		wire_inject(port, frame, sizeof(frame));
	settle();
	got = rx_discard(port);
	CHECK_EQ(stats_of(port).imissed, 200 - got);
}

/* A port's misses are its own, and those of before it was opened nobody's. */
TEST(stats_imissed_is_of_this_port_and_this_life)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t first, second;
	uint8_t frame[100];
	unsigned int i;

	conf.rxd = 64;
	first = port_up(0, &conf);
	second = port_up(1, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < 300; i++)
		wire_inject(second, frame, sizeof(frame));
	settle();
	CHECK_EQ(stats_of(first).imissed, 0);
	CHECK(stats_of(second).imissed > 0);
	port_close(second);
	second = port_up(1, &conf);
	CHECK_EQ(stats_of(second).imissed, 0);
	check_traffic(second);
}

TEST(stats_are_readable_in_every_state)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_open(0);
	uint64_t kept;

	CHECK_EQ(stats_of(port).ipackets, 0);
	CHECK_OK(rte_eth_stats_reset(port));
	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &conf.eth));
	CHECK_EQ(stats_of(port).ipackets, 0);
	CHECK_OK(rte_eth_stats_reset(port));
	port_configure(port, &conf);
	CHECK_EQ(stats_of(port).opackets, 0);
	port_start(port, &conf);
	check_traffic(port);
	kept = stats_of(port).ipackets;
	CHECK_EQ(kept, 1);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_EQ(stats_of(port).ipackets, kept);
	CHECK_EQ(stats_of(port).opackets, 1);
	CHECK_OK(rte_eth_stats_reset(port));
	CHECK_EQ(stats_of(port).ipackets, 0);
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
	CHECK_EQ(stats_of(port).ipackets, 1);
}

static void
check_xstats(uint16_t port, unsigned int expected_zero)
{
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;
	uint64_t *by_id, *ids, id;
	int n = rte_eth_xstats_get(port, NULL, 0), i, j;

	CHECK(n > 0);
	CHECK_EQ(rte_eth_xstats_get_names(port, NULL, 0), n);
	names = calloc(n, sizeof(*names));
	values = calloc(n, sizeof(*values));
	by_id = calloc(n, sizeof(*by_id));
	ids = calloc(n, sizeof(*ids));
	CHECK_EQ(rte_eth_xstats_get_names(port, names, n), n);
	CHECK_EQ(rte_eth_xstats_get(port, values, n), n);
	for (i = 0; i < n; i++) {
		CHECK_EQ(values[i].id, i);
		CHECK(names[i].name[0] != '\0');
		CHECK(strnlen(names[i].name, sizeof(names[i].name)) < sizeof(names[i].name));
		for (j = 0; j < i; j++)
			CHECK_MSG(strcmp(names[i].name, names[j].name) != 0, "two of %s",
				names[i].name);
		CHECK_OK(rte_eth_xstats_get_id_by_name(port, names[i].name, &id));
		CHECK_EQ(id, i);
		ids[i] = n - 1 - i;
		if (expected_zero)
			CHECK_MSG(values[i].value == 0, "%s is %llu after the reset",
				names[i].name, (unsigned long long)values[i].value);
	}
	CHECK_EQ(rte_eth_xstats_get_by_id(port, ids, by_id, n), n);
	for (i = 0; i < n; i++)
		CHECK_EQ(by_id[i], values[n - 1 - i].value);
	free(names);
	free(values);
	free(by_id);
	free(ids);
}

TEST(stats_xstats_are_consistent)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_open(0);

	check_xstats(port, true);
	conf.rxq = 3;
	conf.txq = 5;
	port_configure(port, &conf);
	check_xstats(port, true);
	port_start(port, &conf);
	check_traffic(port);
	check_xstats(port, false);
	CHECK_EQ(xstat_of(port, "rx_good_packets"), 1);
	CHECK_EQ(xstat_of(port, "tx_good_packets"), 1);
	CHECK_EQ(xstat_of(port, "rx_q0_packets"), 1);
	CHECK_OK(rte_eth_xstats_reset(port));
	check_xstats(port, true);
	CHECK_OK(rte_eth_dev_stop(port));
	check_xstats(port, true);
}

/* Each reason to drop a packet on the way out has its own name. */
TEST(stats_xstats_of_the_interface)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	uint8_t frame[60];
	unsigned int i;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < 3; i++) {
		wire_inject(port, frame, sizeof(frame));
		settle();
	}
	CHECK_EQ(rx_discard(port), 3);
	CHECK_EQ(xstat_of(port, "netdev_rx_packets"), 3);
	CHECK_EQ(xstat_of(port, "netdev_rx_bytes"), 3 * sizeof(frame));
	CHECK_OK(rte_eth_xstats_reset(port));
	CHECK_EQ(xstat_of(port, "netdev_rx_packets"), 0);
	wire_inject(port, frame, sizeof(frame));
	CHECK_EQ(rx_discard(port), 1);
	CHECK_EQ(xstat_of(port, "netdev_rx_packets"), 1);
	CHECK_EQ(xstat_of(port, "netdev_tx_packets"), 0);
}

TEST(stats_xstats_name_the_reason_of_a_drop)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	struct rte_mbuf *m;
	uint16_t port, lengths[64];
	uint8_t frame[64 * 20];
	unsigned int i, n, hits = 0;
	struct rte_eth_xstat_name names[256];
	struct rte_eth_xstat before[256], after[256];

	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	for (i = 0; i < 64; i++)
		lengths[i] = 20;
	n = rte_eth_xstats_get_names(port, names, 256);
	CHECK(n > 0 && n <= 256);
	CHECK_EQ(rte_eth_xstats_get(port, before, n), n);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	m = mbuf_chain(conf.pool, lengths, 64, frame);
	tx_all(port, 0, &m, 1);
	CHECK_EQ(rte_eth_xstats_get(port, after, n), n);
	for (i = 0; i < n; i++)
		if (after[i].value != before[i].value) {
			CHECK_EQ(after[i].value, before[i].value + 1);
			/* The generic sum, and what tells the reason. */
			hits += strcmp(names[i].name, "tx_errors") != 0;
		}
	CHECK(hits >= 1);
	CHECK_EQ(xstat_of(port, "tx_errors"), 1);
}
