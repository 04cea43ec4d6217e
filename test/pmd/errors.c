/* SPDX-License-Identifier: BSD-3-Clause */

/* Error completions, and probing what cannot be probed. */

#include <rte_cycles.h>

#include "harness.h"

#define LOCAL_LENGTH 0x01
#define LOCAL_QP_OP 0x02
#define LOCAL_PROTECTION 0x04
#define ALIVE_MS 30000

static const uint8_t syndromes[] = { LOCAL_LENGTH, LOCAL_QP_OP, LOCAL_PROTECTION };

static unsigned int
send_some(uint16_t port, uint16_t queue, struct rte_mempool *pool, unsigned int n)
{
	struct rte_mbuf *pkts[64];
	uint8_t frame[100];
	unsigned int i, taken;

	frame_make(frame, sizeof(frame), mac_foreign, n);
	for (i = 0; i < n; i++)
		pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
	taken = rte_eth_tx_burst(port, queue, pkts, n);
	free_mbufs(pkts + taken, n - taken);
	return taken;
}

/* All that was taken is either on the wire and counted as sent, or an error. */
static void
check_tx_account(uint16_t port, uint64_t accepted)
{
	struct rte_eth_stats stats = stats_of(port);

	CHECK_EQ(stats.opackets, capture_count(port));
	CHECK_EQ(stats.obytes, 100ull * capture_count(port));
	CHECK_EQ(stats.opackets + stats.oerrors, accepted);
}

/* The queue takes packets again, and they reach the wire. */
static uint64_t
wait_tx_alive(uint16_t port, uint16_t queue, struct rte_mempool *pool)
{
	unsigned int before = capture_count(port), waited;
	uint64_t taken = 0;

	for (waited = 0; waited < ALIVE_MS; waited++) {
		taken += send_some(port, queue, pool, 1);
		settle();
		if (capture_count(port) > before)
			return taken;
		sleep_ms(1);
	}
	FAIL("TX queue %u is dead %u ms after the error", queue, ALIVE_MS);
}

TEST(errors_tx_completion_is_counted_and_the_queue_lives)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	uint64_t accepted = 0, errors;
	unsigned int round;

	capture_start(port);
	for (round = 0; round < 30; round++) {
		uint8_t syndrome = syndromes[round % RTE_DIM(syndromes)];

		errors = stats_of(port).oerrors;
		accepted += send_some(port, 0, conf.pool, round);
		settle();
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, syndrome));
		accepted += send_some(port, 0, conf.pool, 1 + round);
		settle();
		accepted += wait_tx_alive(port, 0, conf.pool);
		CHECK(stats_of(port).oerrors > errors);
		accepted += send_some(port, 0, conf.pool, 32);
		settle();
		accepted += wait_tx_alive(port, 0, conf.pool);
		rte_eth_tx_done_cleanup(port, 0, 0);
		check_tx_account(port, accepted);
	}
	CHECK_EQ(stats_of(port).ierrors, 0);
	CHECK(wire_stats(port).tx_errors >= 30);
}

/* The other queues do not notice. */
TEST(errors_tx_of_one_queue_leave_the_others_alone)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint64_t accepted = 0;
	uint16_t port, queue;
	unsigned int round;

	conf.txq = 4;
	port = port_up(0, &conf);
	capture_start(port);
	for (round = 0; round < 12; round++) {
		uint16_t victim = round % 4;

		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, LOCAL_PROTECTION));
		accepted += send_some(port, victim, conf.pool, 5);
		settle();
		for (queue = 0; queue < 4; queue++)
			if (queue != victim) {
				unsigned int before = capture_count(port);

				CHECK_EQ(send_some(port, queue, conf.pool, 20), 20);
				settle();
				CHECK_EQ(capture_count(port), before + 20);
				accepted += 20;
			}
		accepted += wait_tx_alive(port, victim, conf.pool);
		rte_eth_tx_done_cleanup(port, victim, 0);
		check_tx_account(port, accepted);
	}
}

/* Full ring, every packet fails or is flushed; stop and close in that state. */
TEST(errors_tx_full_ring_fails_then_stop)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	unsigned int round, i;
	uint16_t port;

	conf.txd = 64;
	port = port_up(0, &conf);
	for (round = 0; round < 10; round++) {
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, LOCAL_PROTECTION));
		for (i = 0; i < 3; i++)
			send_some(port, 0, conf.pool, 32);
		settle();
		/* Sometimes the driver has seen the error before the stop, sometimes not. */
		if (round % 2 == 0)
			send_some(port, 0, conf.pool, 1);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_traffic(port);
		capture_clear(port);
	}
}

/*
 * Until a frame comes up again. The one that comes need not be the last one put
 * in: the queue is filled again a moment before the burst may look at it.
 */
static void
wait_rx_alive(uint16_t port, unsigned int *received)
{
	struct rte_mbuf *pkts[8];
	unsigned int waited, got;
	uint8_t frame[100];

	for (waited = 0; waited < ALIVE_MS; waited++) {
		frame_make(frame, sizeof(frame), mac_foreign, 4711);
		wire_inject(port, frame, sizeof(frame));
		got = rx_all(port, 0, pkts, 8);
		if (got > 0) {
			check_mbuf(pkts[0], frame, sizeof(frame));
			free_mbufs(pkts, got);
			*received += got + rx_discard(port);
			return;
		}
		sleep_ms(1);
	}
	FAIL("the RX queue is dead %u ms after the error", ALIVE_MS);
}

static void
check_rx_errors(struct port_conf *conf)
{
	uint16_t port = port_up(0, conf);
	unsigned int round, i, received = 0;
	uint64_t errors;
	struct rte_mbuf *m;
	uint8_t frame[1514];

	for (round = 0; round < 30; round++) {
		uint8_t syndrome = syndromes[round % RTE_DIM(syndromes)];

		errors = stats_of(port).ierrors;
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, syndrome));
		for (i = 0; i < round; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			wire_inject(port, frame, sizeof(frame));
		}
		received += rx_discard(port);
		wait_rx_alive(port, &received);
		CHECK(stats_of(port).ierrors > errors);
		/* Alive for good: every frame from now on. */
		for (i = 0; i < 3u * conf->rxd; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			wire_inject(port, frame, sizeof(frame));
			CHECK_EQ(rx_all(port, 0, &m, 1), 1);
			check_mbuf(m, frame, sizeof(frame));
			rte_pktmbuf_free(m);
			received++;
		}
	}
	CHECK_EQ(stats_of(port).ipackets, received);
	CHECK_EQ(stats_of(port).rx_nombuf, 0);
	CHECK_EQ(stats_of(port).oerrors, 0);
	/* The ring has all its buffers again, the pool the rest. */
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_EQ(rte_mempool_avail_count(conf->pool), conf->pool->size);
}

TEST(errors_rx_completion_is_counted_and_the_queue_lives)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));

	conf.rxd = 64;
	check_rx_errors(&conf);
}

TEST(errors_rx_completion_of_a_scattered_queue)
{
	struct port_conf conf = port_conf(pool_create(2048, 512));

	conf.rxd = 32;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	check_rx_errors(&conf);
}

/* The buffers of the ring are all it takes: the application holds every other. */
TEST(errors_rx_recovery_takes_no_mbuf_of_the_pool)
{
	struct port_conf conf = port_conf(pool_create(512, 2048));
	struct rte_mbuf *held[512 + 1];
	unsigned int n = 0, received = 0, round, i;
	uint64_t until;
	uint8_t frame[100];
	uint16_t port;

	conf.rxd = 64;
	port = port_up(0, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 1; round <= 5; round++) {
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		wire_inject(port, frame, sizeof(frame));
		until = rte_get_timer_cycles() + ALIVE_MS * rte_get_timer_hz() / 1000;
		while (xstat_of(port, "rx_queue_recoveries") < round) {
			CHECK(rte_get_timer_cycles() < until);
			CHECK_EQ(rx_discard(port), 0);
			for (i = 0; i < 20000; i++)
				if (rte_mempool_get(conf.pool, (void **)&held[n]) == 0)
					n++;
		}
	}
	CHECK_EQ(n, 512 - 64);
	CHECK_EQ(stats_of(port).rx_nombuf, 0);
	rte_mempool_put_bulk(conf.pool, (void **)held, n);
	wait_rx_alive(port, &received);
}

#define SPREAD 48

static void
inject_spread(uint16_t port)
{
	uint8_t frame[100];
	unsigned int i;

	for (i = 0; i < SPREAD; i++) {
		struct frame_flow flow = flow_make(false, 17, i);

		frame_flow(frame, sizeof(frame), mac_foreign, &flow);
		wire_inject(port, frame, sizeof(frame));
	}
}

/* Some of what comes may have waited in a ring while its queue was down. */
static bool
all_rings_alive(uint16_t port)
{
	inject_spread(port);
	return rx_discard(port) >= SPREAD;
}

/* With more queues than one, each on several WQs: the survivors go on. */
TEST(errors_rx_of_one_queue_of_three)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	unsigned int round;
	uint16_t port;

	conf.rxq = 3;
	conf.rxd = 256;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
		RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	port = port_up(0, &conf);
	for (round = 0; round < 10; round++) {
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		inject_spread(port);
		rx_discard(port);
		WAIT_FOR(all_rings_alive(port), ALIVE_MS);
		inject_spread(port);
		CHECK_EQ(rx_discard(port), SPREAD);
		CHECK(stats_of(port).ierrors > round);
	}
}

/*
 * The application holds every mbuf there is when the queue fails: it cannot be
 * filled again until some come back, and then it is.
 */
TEST(errors_rx_while_the_pool_is_empty)
{
	struct port_conf conf = port_conf(pool_create(64 + 40, 2048));
	struct rte_mbuf *held[64 + 40];
	unsigned int round, n, received = 0;
	uint8_t frame[100];
	uint16_t port;

	conf.rxd = 64;
	port = port_up(0, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 0; round < 5; round++) {
		for (n = 0; rte_mempool_avail_count(conf.pool) > 0; n++)
			held[n] = rte_pktmbuf_alloc(conf.pool);
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_discard(port), 0);
		sleep_ms(60);
		rx_discard(port);
		free_mbufs(held, n);
		wait_rx_alive(port, &received);
	}
	CHECK(stats_of(port).ierrors >= 5);
}

TEST(errors_rx_then_stop_and_start)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	unsigned int round, i;
	uint8_t frame[100];
	uint16_t port;

	conf.rxd = 64;
	port = port_up(0, &conf);
	for (round = 0; round < 10; round++) {
		frame_make(frame, sizeof(frame), mac_foreign, round);
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, LOCAL_PROTECTION));
		for (i = 0; i < 10; i++)
			wire_inject(port, frame, sizeof(frame));
		settle();
		/* Sometimes the driver has seen the error before the stop, sometimes not. */
		if (round % 2 == 0)
			rx_discard(port);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_traffic(port);
		capture_clear(port);
	}
}

/* ---- probing ---- */

TEST(errors_probe_with_bad_arguments_is_refused)
{
	static const char *const bad[] = {
		"device=%s,port=0", "device=%s,port=3", "device=%s,port=x", "device=%s,port=-1",
		"device=%s,port=", "device=%s,port=1x", "device=%s,port=4294967297",
		"device=%s,port=1,colour=blue", "device=no_%s,port=1", "device=,port=1%.0s",
		"device=%s,port=1,port=2",
	};
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	char args[80];
	unsigned int i;
	uint16_t port;

	for (i = 0; i < RTE_DIM(bad); i++) {
		struct vmlx4_object_counts before = object_counts(), after;

		snprintf(args, sizeof(args), bad[i], verbs_device());
		CHECK_MSG(port_probe("net_mlx4dv5", args) < 0, "'%s' was accepted", args);
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
		after = object_counts();
		CHECK_MSG(memcmp(&before, &after, sizeof(after)) == 0, "'%s' leaks", args);
	}
	/* The same name is free for the right arguments. */
	snprintf(args, sizeof(args), "device=%s,port=2", verbs_device());
	CHECK_OK(port_probe("net_mlx4dv5", args));
	CHECK_OK(rte_eth_dev_get_port_by_name("net_mlx4dv5", &port));
	CHECK_OK(rte_eth_dev_close(port));
	CHECK_OK(rte_eal_hotplug_remove("vdev", "net_mlx4dv5"));
	port = port_up(0, &conf);
	check_traffic(port);
}

TEST(errors_probe_of_a_port_that_is_taken)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	char args[80];

	/* EAL takes the same name for the device that it has: nothing new comes up. */
	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	port_probe("net_mlx4dv0", args);
	CHECK_EQ(rte_eth_dev_count_avail(), 1);
	check_traffic(port);
}

TEST(errors_two_ports_have_distinct_names_and_interfaces)
{
	uint16_t ports[2] = { port_open(0), port_open(1) };
	char names[2][RTE_ETH_NAME_MAX_LEN], netdevs[2][16];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		CHECK_OK(rte_eth_dev_get_name_by_port(ports[i], names[i]));
		port_netdev(ports[i], netdevs[i]);
	}
	CHECK(strcmp(names[0], names[1]) != 0);
	CHECK(strcmp(netdevs[0], netdevs[1]) != 0);
}
