/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues stopped, started and set up anew one by one, while the port runs. */

#include <netinet/in.h>

#include "harness.h"

#define QUEUES 4

static struct port_conf
state_conf(struct rte_mempool *pool)
{
	struct port_conf conf = port_conf(pool);

	conf.rxq = QUEUES;
	conf.txq = QUEUES;
	conf.rxd = 64;
	conf.txd = 64;
	conf.promiscuous = false;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
		RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	return conf;
}

static uint8_t
rx_state(uint16_t port, uint16_t queue)
{
	struct rte_eth_rxq_info info;

	CHECK_OK(rte_eth_rx_queue_info_get(port, queue, &info));
	return info.queue_state;
}

static uint8_t
tx_state(uint16_t port, uint16_t queue)
{
	struct rte_eth_txq_info info;

	CHECK_OK(rte_eth_tx_queue_info_get(port, queue, &info));
	return info.queue_state;
}

/* Flows go in; how many come out of each queue. */
static void
receive_flows(uint16_t port, unsigned int flows, unsigned int got[QUEUES])
{
	struct rte_mbuf *pkts[64];
	struct rte_ether_addr mac;
	uint8_t frame[100];
	unsigned int i;
	uint16_t q, n;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	for (i = 0; i < flows; i++) {
		struct frame_flow flow = flow_make(false, IPPROTO_UDP, i);

		frame_flow(frame, sizeof(frame), mac.addr_bytes, &flow);
		wire_inject(port, frame, sizeof(frame));
	}
	settle();
	for (q = 0; q < QUEUES; q++) {
		got[q] = 0;
		while ((n = rte_eth_rx_burst(port, q, pkts, 64)) != 0) {
			free_mbufs(pkts, n);
			got[q] += n;
		}
	}
}

/* Both ways round, so that a queue stops at every place of its ring. */
TEST(queue_state_rx_stop_concerns_one_queue)
{
	struct port_conf conf = state_conf(pool_create(4096, 2048));
	unsigned int all[QUEUES], got[QUEUES], round, whole;
	uint16_t port = port_up(0, &conf), q, victim;

	receive_flows(port, 50, all);
	whole = rte_mempool_in_use_count(conf.pool);
	for (round = 0; round < 60; round++) {
		victim = round % QUEUES;
		CHECK(all[victim] != 0);
		CHECK_OK(rte_eth_dev_rx_queue_stop(port, victim));
		CHECK_OK(rte_eth_dev_rx_queue_stop(port, victim));
		CHECK_EQ(rx_state(port, victim), RTE_ETH_QUEUE_STATE_STOPPED);
		CHECK_EQ(rte_mempool_in_use_count(conf.pool), whole - conf.rxd);
		CHECK_EQ(rte_eth_rx_queue_count(port, victim), 0);
		receive_flows(port, 50, got);
		for (q = 0; q < QUEUES; q++)
			CHECK_EQ(got[q], q == victim ? 0 : all[q]);
		CHECK_OK(rte_eth_dev_rx_queue_start(port, victim));
		CHECK_OK(rte_eth_dev_rx_queue_start(port, victim));
		CHECK_EQ(rx_state(port, victim), RTE_ETH_QUEUE_STATE_STARTED);
		receive_flows(port, 50, got);
		for (q = 0; q < QUEUES; q++)
			CHECK_EQ(got[q], all[q]);
	}
	CHECK_EQ(rte_mempool_in_use_count(conf.pool), whole);
}

TEST(queue_state_packets_that_nobody_polled_are_counted)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	uint8_t frame[60];
	unsigned int i;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < 7; i++)
		wire_inject(port, frame, sizeof(frame));
	settle();
	CHECK_OK(rte_eth_dev_rx_queue_stop(port, 0));
	CHECK_EQ(xstat_of(port, "rx_unpolled_packets"), 7);
	CHECK_OK(rte_eth_dev_rx_queue_start(port, 0));
	for (i = 0; i < 5; i++)
		wire_inject(port, frame, sizeof(frame));
	settle();
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_EQ(xstat_of(port, "rx_unpolled_packets"), 12);
	CHECK_EQ(stats_of(port).ierrors, 0);
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

static uint16_t
deferred_port(const struct port_conf *conf)
{
	struct rte_eth_dev_info info;
	uint16_t port = port_open(0), q;

	port_configure(port, conf);
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	info.default_rxconf.rx_deferred_start = 1;
	info.default_txconf.tx_deferred_start = 1;
	for (q = 0; q < QUEUES; q++) {
		CHECK_OK(rte_eth_rx_queue_setup(port, q, 64, SOCKET_ID_ANY,
			q == 1 ? &info.default_rxconf : NULL, conf->pool));
		CHECK_OK(rte_eth_tx_queue_setup(port, q, 64, SOCKET_ID_ANY,
			q == 2 ? &info.default_txconf : NULL));
	}
	CHECK_OK(rte_eth_dev_start(port));
	return port;
}

static unsigned int
send_on(uint16_t port, uint16_t queue, struct rte_mempool *pool, unsigned int n)
{
	struct rte_mbuf *pkts[64];
	unsigned int i, sent;
	uint8_t frame[60];

	for (i = 0; i < n; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
	}
	sent = rte_eth_tx_burst(port, queue, pkts, n);
	free_mbufs(pkts + sent, n - sent);
	return sent;
}

TEST(queue_state_deferred_queues_wait_for_their_start)
{
	struct port_conf conf = state_conf(pool_create(4096, 2048));
	unsigned int got[QUEUES], round;
	uint16_t port = deferred_port(&conf);

	for (round = 0; round < 3; round++) {
		CHECK_EQ(rx_state(port, 1), RTE_ETH_QUEUE_STATE_STOPPED);
		CHECK_EQ(rx_state(port, 0), RTE_ETH_QUEUE_STATE_STARTED);
		CHECK_EQ(tx_state(port, 2), RTE_ETH_QUEUE_STATE_STOPPED);
		receive_flows(port, 50, got);
		CHECK(got[0] != 0 && got[1] == 0);
		CHECK_EQ(send_on(port, 2, conf.pool, 5), 0);
		CHECK_EQ(send_on(port, 1, conf.pool, 5), 5);
		CHECK_OK(rte_eth_dev_rx_queue_start(port, 1));
		CHECK_OK(rte_eth_dev_tx_queue_start(port, 2));
		receive_flows(port, 50, got);
		CHECK(got[1] != 0);
		CHECK_EQ(send_on(port, 2, conf.pool, 5), 5);
		settle();
		/* A restart defers them again. */
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
	}
}

TEST(queue_state_tx_stop_gives_everything_back)
{
	struct port_conf conf = state_conf(pool_create(4096, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int whole = rte_mempool_in_use_count(conf.pool), round, lost = 0;

	for (round = 0; round < 80; round++) {
		CHECK_EQ(send_on(port, 0, conf.pool, 20), 20);
		if (round % 2 == 0)
			settle();
		else
			lost += 20;
		CHECK_OK(rte_eth_dev_tx_queue_stop(port, 0));
		CHECK_OK(rte_eth_dev_tx_queue_stop(port, 0));
		CHECK_EQ(tx_state(port, 0), RTE_ETH_QUEUE_STATE_STOPPED);
		CHECK_EQ(rte_mempool_in_use_count(conf.pool), whole);
		CHECK_EQ(xstat_of(port, "tx_lost_packets"), lost);
		CHECK_EQ(send_on(port, 0, conf.pool, 3), 0);
		/* The others send. */
		CHECK_EQ(send_on(port, 1 + round % 3, conf.pool, 3), 3);
		settle();
		CHECK(rte_eth_tx_done_cleanup(port, 1 + round % 3, 0) >= 0);
		settle();
		CHECK(rte_eth_tx_done_cleanup(port, 1 + round % 3, 0) >= 0);
		CHECK_OK(rte_eth_dev_tx_queue_start(port, 0));
		CHECK_OK(rte_eth_dev_tx_queue_start(port, 0));
	}
	CHECK_EQ(wire_stats(port).tx_frames, 80 / 2 * 20 + 80 * 3);
}

TEST(queue_state_tx_queue_is_set_up_anew_while_the_port_runs)
{
	static const uint16_t sizes[] = { 64, 512, 8, 100 };
	struct port_conf conf = state_conf(pool_create(4096, 2048));
	struct vmlx4_object_counts before, after;
	struct rte_eth_dev_info info;
	uint16_t port = port_up(0, &conf);
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK((info.dev_capa & RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP) != 0);
	CHECK((info.dev_capa & RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP) == 0);
	before = object_counts();
	/* Not under its own feet. */
	CHECK_EQ(rte_eth_tx_queue_setup(port, 1, 64, SOCKET_ID_ANY, NULL), -EBUSY);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(send_on(port, 1, conf.pool, 5), 5);
		CHECK_OK(rte_eth_dev_tx_queue_stop(port, 1));
		CHECK_OK(rte_eth_tx_queue_setup(port, 1, sizes[i % 4], SOCKET_ID_ANY, NULL));
		CHECK_EQ(send_on(port, 1, conf.pool, 5), 0);
		CHECK_OK(rte_eth_dev_tx_queue_start(port, 1));
		CHECK_EQ(send_on(port, 1, conf.pool, 7), 7);
		CHECK_EQ(send_on(port, 0, conf.pool, 3), 3);
		settle();
	}
	after = object_counts();
	CHECK_EQ(after.qps, before.qps);
	CHECK_EQ(after.cqs, before.cqs);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

TEST(queue_state_stop_after_a_failure_and_before_the_start)
{
	struct port_conf conf = state_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);

	port_configure(port, &conf);
	CHECK(rte_eth_dev_rx_queue_start(port, 0) < 0);
	port_start(port, &conf);
	CHECK_EQ(rte_eth_dev_rx_queue_stop(port, QUEUES), -EINVAL);
	/* The queue is dead and nobody has seen it yet. */
	CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, 0x04));
	CHECK_EQ(send_on(port, 0, conf.pool, 8), 8);
	settle();
	CHECK_OK(rte_eth_dev_tx_queue_stop(port, 0));
	CHECK_OK(rte_eth_dev_tx_queue_start(port, 0));
	CHECK_EQ(send_on(port, 0, conf.pool, 8), 8);
	settle();
	CHECK_EQ(wire_stats(port).tx_frames, 8);
}
