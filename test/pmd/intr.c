/* SPDX-License-Identifier: BSD-3-Clause */

/* Receive interrupts: one event for each arm, on the queue that has the packet. */

#include <netinet/in.h>

#include <rte_interrupts.h>

#include "harness.h"

#define QUEUES 4
#define MOST 128              /* entries of the adapter's RSS table */

static struct port_conf
intr_conf(struct rte_mempool *pool, uint16_t queues)
{
	struct port_conf conf = port_conf(pool);

	conf.rxq = queues;
	conf.rxd = 64;
	conf.promiscuous = false;
	conf.eth.intr_conf.rxq = 1;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
		RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	return conf;
}

static uintptr_t
tag_of(uint16_t port, uint16_t queue)
{
	return (uintptr_t)port << 16 | queue | 0x100000000u;
}

static void
watch(uint16_t port, uint16_t queues)
{
	uint16_t q;

	for (q = 0; q < queues; q++)
		CHECK_OK(rte_eth_dev_rx_intr_ctl_q(port, q, RTE_EPOLL_PER_THREAD,
			RTE_INTR_EVENT_ADD, (void *)tag_of(port, q)));
}

static void
unwatch(uint16_t port, uint16_t queues)
{
	uint16_t q;

	for (q = 0; q < queues; q++)
		CHECK_OK(rte_eth_dev_rx_intr_ctl_q(port, q, RTE_EPOLL_PER_THREAD,
			RTE_INTR_EVENT_DEL, NULL));
}

/* The queue that woke us; 0: none. */
static uintptr_t
woken(void)
{
	struct rte_epoll_event event[8];
	int n;

	settle();
	n = rte_epoll_wait(RTE_EPOLL_PER_THREAD, event, RTE_DIM(event), 0);
	CHECK(n == 0 || n == 1);
	return n == 0 ? 0 : (uintptr_t)event[0].epdata.data;
}

static void
inject_flow(uint16_t port, uint32_t seed)
{
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, seed);
	struct rte_ether_addr mac;
	uint8_t frame[100];

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	frame_flow(frame, sizeof(frame), mac.addr_bytes, &flow);
	wire_inject(port, frame, sizeof(frame));
}

/* Take the one packet there is; its queue. */
static uint16_t
take(uint16_t port, uint16_t queues)
{
	struct rte_mbuf *pkts[4];
	uint16_t q, got, found = queues;

	settle();
	for (q = 0; q < queues; q++) {
		got = rte_eth_rx_burst(port, q, pkts, 4);
		CHECK(got <= 1 && (got == 0 || found == queues));
		if (got == 1)
			found = q;
		free_mbufs(pkts, got);
	}
	CHECK(found != queues);
	return found;
}

TEST(intr_wakes_the_queue_with_the_packet)
{
	struct port_conf conf = intr_conf(pool_create(4096, 2048), QUEUES);
	uint16_t ports[2], p, q;
	unsigned int seen = 0, i;

	for (p = 0; p < 2; p++) {
		ports[p] = port_up(p, &conf);
		watch(ports[p], QUEUES);
	}
	for (i = 0; i < 200; i++) {
		p = i % 2;
		for (q = 0; q < 2 * QUEUES; q++)
			CHECK_OK(rte_eth_dev_rx_intr_enable(ports[q / QUEUES], q % QUEUES));
		CHECK_EQ(woken(), 0);
		inject_flow(ports[p], i);
		{
			uintptr_t tag = woken();

			q = take(ports[p], QUEUES);
			CHECK_EQ(tag, tag_of(ports[p], q));
			seen |= 1u << (p * QUEUES + q);
		}
		for (q = 0; q < 2 * QUEUES; q++)
			CHECK_OK(rte_eth_dev_rx_intr_disable(ports[q / QUEUES], q % QUEUES));
		CHECK_EQ(woken(), 0);
	}
	CHECK_EQ(seen, (1u << 2 * QUEUES) - 1);
	for (p = 0; p < 2; p++)
		unwatch(ports[p], QUEUES);
}

TEST(intr_comes_once_per_arm_and_not_without)
{
	struct port_conf conf = intr_conf(pool_create(1024, 2048), 1);
	uint16_t port = port_up(0, &conf);
	unsigned int i;

	watch(port, 1);
	for (i = 0; i < 50; i++) {
		/* Not armed. */
		inject_flow(port, i);
		CHECK_EQ(woken(), 0);
		take(port, 1);
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		inject_flow(port, i);
		CHECK_EQ(woken(), tag_of(port, 0));
		take(port, 1);
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
		/* The arm was answered. */
		inject_flow(port, i);
		CHECK_EQ(woken(), 0);
		/* Armed too late: the packet that waits is told at once. */
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		CHECK_EQ(woken(), tag_of(port, 0));
		take(port, 1);
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
	}
	unwatch(port, 1);
}

TEST(intr_survives_restarts_and_reads_its_descriptors)
{
	struct port_conf conf = intr_conf(pool_create(4096, 2048), 3);
	uint16_t port = port_up(0, &conf);
	unsigned int i;
	uint16_t q;

	for (i = 0; i < 10; i++) {
		CHECK(rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0) >= 0);
		CHECK(rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0) !=
			rte_eth_dev_rx_intr_ctl_q_get_fd(port, 2));
		watch(port, 3);
		for (q = 0; q < 3; q++)
			CHECK_OK(rte_eth_dev_rx_intr_enable(port, q));
		inject_flow(port, i);
		CHECK(woken() != 0);
		/* Stopped with a packet and an event untaken. */
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK(rte_eth_dev_rx_intr_enable(port, 0) < 0);
		CHECK_OK(rte_eth_dev_start(port));
	}
}

TEST(intr_of_as_many_queues_as_there_are_and_of_none)
{
	struct port_conf conf = intr_conf(pool_create(16384, 2048), MOST);
	uint16_t port = port_up(0, &conf);
	unsigned int i;
	uint16_t q;

	watch(port, MOST);
	for (i = 0; i < 300; i++) {
		for (q = 0; q < MOST; q++)
			CHECK_OK(rte_eth_dev_rx_intr_enable(port, q));
		inject_flow(port, i);
		CHECK_EQ(woken(), tag_of(port, take(port, MOST)));
		for (q = 0; q < MOST; q++)
			CHECK_OK(rte_eth_dev_rx_intr_disable(port, q));
	}
	unwatch(port, MOST);
	port_close(port);
	conf = intr_conf(conf.pool, 2);
	conf.eth.intr_conf.rxq = 0;
	port = port_up(0, &conf);
	CHECK(rte_eth_dev_rx_intr_enable(port, 0) < 0);
	CHECK(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD,
		NULL) < 0);
}

/* Who takes a part of what there is, arms and sleeps must be woken for the rest. */
TEST(intr_comes_for_packets_left_in_the_queue)
{
	struct port_conf conf = intr_conf(pool_create(1024, 2048), 1);
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *pkts[8];
	unsigned int i, round, got;

	watch(port, 1);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 20; i++)
			inject_flow(port, round);
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		for (got = 0; got < 20; got += i) {
			CHECK_EQ(woken(), tag_of(port, 0));
			CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
			i = rte_eth_rx_burst(port, 0, pkts, 1 + round % 8);
			CHECK(i != 0);
			free_mbufs(pkts, i);
			CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		}
		CHECK_EQ(woken(), 0);
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
	}
	unwatch(port, 1);
}

/* A burst that a filter leaves nothing of returns 0 although a packet waits behind it. */
TEST(intr_comes_for_a_packet_behind_filtered_ones)
{
	struct port_conf conf = intr_conf(pool_create(1024, 2048), 1);
	uint16_t port;
	struct rte_mbuf *pkts[8];
	uint8_t tagged[64];
	unsigned int i, round, asleep;

	conf.promiscuous = true;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	port = port_up(0, &conf);
	watch(port, 1);
	frame_make(tagged, sizeof(tagged), mac_foreign, 1);
	memcpy(tagged + 12, "\x81\x00\x00\x07", 4);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 40; i++)
			wire_inject(port, tagged, sizeof(tagged));
		inject_flow(port, round);
		for (asleep = 0;; asleep++) {
			CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
			CHECK_EQ(woken(), tag_of(port, 0));
			CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
			if (rte_eth_rx_burst(port, 0, pkts, 8) != 0)
				break;
			CHECK(asleep < 40);
		}
		rte_pktmbuf_free(pkts[0]);
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		CHECK_EQ(woken(), 0);
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
	}
	unwatch(port, 1);
}

/* An error wakes whoever sleeps, and so does the first packet after the queue's recovery. */
TEST(intr_comes_for_an_error_and_after_it)
{
	struct port_conf conf = intr_conf(pool_create(1024, 2048), 1);
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *pkts[8];
	unsigned int round;

	watch(port, 1);
	for (round = 0; round < 10; round++) {
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_RX, port_verbs(port), 1, 0x04));
		inject_flow(port, round);
		CHECK_EQ(woken(), tag_of(port, 0));
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
		CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 8), 0);
		WAIT_FOR(xstat_of(port, "rx_queue_recoveries") > round, 2000);
		CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 8), 0);
		CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
		inject_flow(port, round);
		CHECK_EQ(woken(), tag_of(port, 0));
		CHECK_OK(rte_eth_dev_rx_intr_disable(port, 0));
		CHECK_EQ(rte_eth_rx_burst(port, 0, pkts, 8), 1);
		rte_pktmbuf_free(pkts[0]);
	}
	unwatch(port, 1);
}
