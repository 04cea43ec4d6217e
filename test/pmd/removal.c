/* SPDX-License-Identifier: BSD-3-Clause */

/* The device dies or is unplugged, and comes back: what a port answers meanwhile. */

#include <stdio.h>
#include <stdlib.h>

#include <ethdev_driver.h>
#include <rte_dev.h>
#include <rte_flow.h>
#include <rte_interrupts.h>

#include "events.h"
#include "harness.h"

#define BURST 8

static struct port_conf
conf_with_events(struct rte_mempool *pool)
{
	struct port_conf conf = port_conf(pool);

	conf.rxq = conf.txq = 2;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	conf.eth.intr_conf.lsc = 1;
	conf.eth.intr_conf.rmv = 1;
	return conf;
}

/* ---- events ---- */

TEST(removal_is_told_once)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t ports[2], i;
	struct rte_eth_link link;

	for (i = 0; i < 2; i++) {
		ports[i] = port_open(i);
		events_watch(ports[i]);
		port_configure(ports[i], &conf);
		port_start(ports[i], &conf);
		CHECK_EQ(rte_eth_dev_is_removed(ports[i]), 0);
	}
	fault_add("device fatal");
	for (i = 0; i < 2; i++) {
		WAIT_FOR(events_of(ports[i], RTE_ETH_EVENT_INTR_RMV) == 1, 30000);
		WAIT_FOR(events_of(ports[i], RTE_ETH_EVENT_INTR_LSC) == 1, 30000);
		CHECK_EQ(rte_eth_dev_is_removed(ports[i]), 1);
		CHECK_OK(rte_eth_link_get_nowait(ports[i], &link));
		CHECK_EQ(link.link_status, RTE_ETH_LINK_DOWN);
	}
	events_quiet();
	for (i = 0; i < 2; i++) {
		CHECK_EQ(events_of(ports[i], RTE_ETH_EVENT_INTR_RMV), 1);
		CHECK_EQ(events_of(ports[i], RTE_ETH_EVENT_INTR_LSC), 1);
		CHECK_EQ(events_of(ports[i], RTE_ETH_EVENT_INTR_RESET), 0);
		CHECK_EQ(xstat_of(ports[i], "error_device_fatal"), 1);
		port_close(ports[i]);
	}
	CHECK_OK(vmlx4_fault_clear());
}

/* Who did not ask for removals hears of it as of something that a reset cures. */
TEST(removal_without_its_interrupt_is_told_as_reset)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port = port_open(0);

	conf.eth.intr_conf.rmv = 0;
	conf.eth.intr_conf.lsc = 0;
	events_watch(port);
	port_configure(port, &conf);
	port_start(port, &conf);
	fault_add("device fatal");
	WAIT_FOR(events_of(port, RTE_ETH_EVENT_INTR_RESET) == 1, 30000);
	events_quiet();
	CHECK_EQ(events_of(port, RTE_ETH_EVENT_INTR_RESET), 1);
	CHECK_EQ(events_of(port, RTE_ETH_EVENT_INTR_RMV), 0);
	CHECK_EQ(events_of(port, RTE_ETH_EVENT_INTR_LSC), 0);
	CHECK_OK(vmlx4_fault_clear());
}

/* An operation that fails finds out before the event was read. */
TEST(removal_is_found_by_asking)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);

	CHECK_EQ(rte_eth_dev_is_removed(port), 0);
	fault_add("device fatal");
	CHECK_EQ(rte_eth_dev_is_removed(port), 1);
	CHECK_EQ(rte_eth_dev_rx_queue_stop(port, 0), -EIO);
	CHECK_OK(vmlx4_fault_clear());
}

/* Who sleeps until a packet comes wakes up, and finds none. */
TEST(removal_wakes_who_waits_for_packets)
{
	struct port_conf conf = conf_with_events(pool_create(1024, 2048));
	struct rte_epoll_event event;
	struct rte_mbuf *m;
	uint16_t port;

	conf.eth.intr_conf.rxq = 1;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_dev_rx_intr_ctl_q(port, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD,
		NULL));
	CHECK_OK(rte_eth_dev_rx_intr_enable(port, 0));
	CHECK_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 0), 0);
	fault_add("device fatal");
	CHECK_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 3000), 1);
	CHECK_EQ(rte_eth_dev_is_removed(port), 1);
	CHECK_EQ(rte_eth_rx_burst(port, 0, &m, 1), 0);
	CHECK_EQ(rte_eth_dev_rx_intr_disable(port, 0), -EIO);
	CHECK_OK(vmlx4_fault_clear());
}

/* ---- operations ---- */

/* What needs the device says that it is gone, and changes nothing. */
static void
check_refusals(uint16_t port, const struct port_conf *conf)
{
	struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 9 } };
	struct rte_ether_addr group = { { 1, 0, 0x5e, 0, 0, 1 } };
	struct rte_eth_rss_conf rss = { .rss_hf = RTE_ETH_RSS_IPV4 };
	struct rte_eth_fc_conf pause = { .mode = RTE_ETH_FC_NONE };
	uint64_t clock;

	CHECK_EQ(rte_eth_dev_set_link_up(port), -EIO);
	CHECK_EQ(rte_eth_dev_set_link_down(port), -EIO);
	CHECK_EQ(rte_eth_dev_mac_addr_add(port, &mac, 0), -EIO);
	CHECK_EQ(rte_eth_dev_default_mac_addr_set(port, &mac), -EIO);
	CHECK_EQ(rte_eth_dev_set_mc_addr_list(port, &group, 1), -EIO);
	CHECK_EQ(rte_eth_dev_set_mtu(port, 1400), -EIO);
	CHECK_EQ(rte_eth_dev_set_vlan_offload(port, 0), -EIO);
	CHECK_EQ(rte_eth_promiscuous_disable(port), -EIO);
	CHECK_EQ(rte_eth_allmulticast_enable(port), -EIO);
	CHECK_EQ(rte_eth_dev_rss_hash_update(port, &rss), -EIO);
	CHECK_EQ(rte_eth_dev_flow_ctrl_get(port, &pause), -EIO);
	CHECK_EQ(rte_eth_dev_flow_ctrl_set(port, &pause), -EIO);
	CHECK_EQ(rte_eth_read_clock(port, &clock), -EIO);
	CHECK_EQ(rte_eth_promiscuous_get(port), conf->promiscuous);
	CHECK_EQ(rte_eth_allmulticast_get(port), 0);
}

static void
check_queue_refusals(uint16_t port)
{
	uint16_t queue;

	for (queue = 0; queue < 2; queue++) {
		CHECK_EQ(rte_eth_dev_rx_queue_stop(port, queue), -EIO);
		CHECK_EQ(rte_eth_dev_tx_queue_stop(port, queue), -EIO);
		CHECK_EQ(rte_eth_dev_rx_intr_enable(port, queue), -EIO);
		CHECK_EQ(rte_eth_dev_rx_intr_disable(port, queue), -EIO);
	}
}

static void
check_flow_refusals(uint16_t port, struct rte_flow *flow)
{
	struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_item pattern[] = {
		{ .type = RTE_FLOW_ITEM_TYPE_ETH }, { .type = RTE_FLOW_ITEM_TYPE_END },
	};
	struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_DROP }, { .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct rte_flow_error error;

	CHECK_EQ(rte_flow_validate(port, &attr, pattern, actions, &error), -EIO);
	CHECK(rte_flow_create(port, &attr, pattern, actions, &error) == NULL);
	CHECK_EQ(rte_errno, EIO);
	CHECK_EQ(rte_flow_flush(port, &error), -EIO);
	CHECK_EQ(rte_flow_isolate(port, 1, &error), -EIO);
	if (flow != NULL)
		CHECK_EQ(rte_flow_destroy(port, flow, &error), -EIO);
}

/* Memory of ours, which needs no device. */
static void
check_answers(uint16_t port, uint64_t received, uint64_t sent)
{
	struct rte_eth_dev_info info;
	struct rte_eth_rss_conf rss = { 0 };
	struct rte_ether_addr mac;
	char firmware[64];
	FILE *null = fopen("/dev/null", "w");
	uint16_t mtu;

	CHECK(null != NULL);
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.device != NULL);
	CHECK_EQ(info.err_handle_mode, RTE_ETH_ERROR_HANDLE_MODE_PASSIVE);
	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	CHECK_OK(rte_eth_dev_get_mtu(port, &mtu));
	CHECK_OK(rte_eth_dev_fw_version_get(port, firmware, sizeof(firmware)));
	CHECK_OK(rte_eth_dev_rss_hash_conf_get(port, &rss));
	CHECK_OK(rte_eth_dev_priv_dump(port, null));
	CHECK(rte_eth_xstats_get(port, NULL, 0) > 0);
	CHECK_EQ(stats_of(port).ipackets, received);
	CHECK_EQ(stats_of(port).opackets, sent);
	fclose(null);
}

static void
check_bursts(uint16_t port, struct rte_mempool *pool)
{
	struct rte_mbuf *pkts[BURST];
	uint8_t frame[100];
	unsigned int i;
	uint16_t queue;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < BURST; i++)
		pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
	for (queue = 0; queue < 2; queue++)
		CHECK_EQ(rte_eth_tx_burst(port, queue, pkts, BURST), 0);
	free_mbufs(pkts, BURST);
	for (queue = 0; queue < 2; queue++) {
		CHECK_EQ(rte_eth_rx_burst(port, queue, pkts, BURST), 0);
		CHECK_EQ(rte_eth_tx_done_cleanup(port, queue, 0), 0);
	}
}

/* Packets that the adapter still had when it went; returns how many. */
static unsigned int
send_unfinished(uint16_t port, struct rte_mempool *pool)
{
	struct rte_mbuf *pkts[BURST];
	uint8_t frame[100];
	unsigned int i;

	frame_make(frame, sizeof(frame), mac_foreign, 2);
	for (i = 0; i < BURST; i++)
		pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
	CHECK_EQ(rte_eth_tx_burst(port, 1, pkts, BURST), BURST);
	return BURST;
}

static struct rte_flow *
drop_rule(uint16_t port)
{
	struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_item_eth spec = { .hdr.dst_addr = { { 2, 0, 0, 0, 0, 0x77 } } };
	struct rte_flow_item_eth mask = {
		.hdr.dst_addr = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	};
	struct rte_flow_item pattern[] = {
		{ .type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &spec, .mask = &mask },
		{ .type = RTE_FLOW_ITEM_TYPE_END },
	};
	struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_DROP }, { .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct rte_flow_error error;
	struct rte_flow *flow = rte_flow_create(port, &attr, pattern, actions, &error);

	CHECK(flow != NULL);
	return flow;
}

/* Each operation while the port runs, then in each state on the way down. */
TEST(removal_each_operation_answers)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_flow *flow = drop_rule(port);
	unsigned int unfinished;

	check_traffic(port);
	unfinished = send_unfinished(port, conf.pool);
	fault_add("device fatal");
	CHECK_EQ(rte_eth_dev_is_removed(port), 1);
	check_refusals(port, &conf);
	check_queue_refusals(port);
	check_flow_refusals(port, flow);
	check_bursts(port, conf.pool);
	check_answers(port, 1, 1 + unfinished);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_stop(port));
	/* Those that the adapter had are lost under a name that says so. */
	CHECK_EQ(xstat_of(port, "tx_lost_packets"), unfinished);
	CHECK_EQ(stats_of(port).oerrors, unfinished);
	check_refusals(port, &conf);
	check_flow_refusals(port, flow);
	check_bursts(port, conf.pool);
	check_answers(port, 1, 1);
	CHECK_EQ(rte_eth_dev_start(port), -EIO);
	CHECK_EQ(rte_eth_dev_configure(port, 2, 2, &conf.eth), -EIO);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	port_close(port);
	CHECK_OK(vmlx4_fault_clear());
}

/* Frames that found no buffer, as far as anyone looked, while there was an interface. */
TEST(removal_leaves_the_missed_frames)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port;
	uint8_t frame[100];
	uint64_t missed;
	unsigned int i;

	conf.rxd = 64;
	port = port_up(0, &conf);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < 300; i++)
		wire_inject(port, frame, sizeof(frame));
	settle();
	missed = stats_of(port).imissed;
	CHECK(missed >= 300 - 2 * 64);
	fault_add("device remove");
	CHECK_EQ(rte_eth_dev_is_removed(port), 1);
	CHECK_EQ(stats_of(port).imissed, missed);
	CHECK_EQ(stats_of(port).ipackets, 0);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_EQ(stats_of(port).imissed, missed);
	CHECK_EQ(xstat_of(port, "rx_unpolled_packets"), 300 - missed);
	CHECK_OK(vmlx4_fault_clear());
}

/* What the driver can do on a good day has an answer for the bad one. */
TEST(removal_no_operation_is_forgotten)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port = port_up(0, &conf);
	const struct eth_dev_ops *with = rte_eth_devices[port].dev_ops, *without;
	typedef void (*op_t)(void);
	const op_t *a = (const op_t *)(const void *)with, *b;
	unsigned int i, n = sizeof(*with) / sizeof(op_t), count = 0;

	fault_add("device fatal");
	CHECK_EQ(rte_eth_dev_is_removed(port), 1);
	without = rte_eth_devices[port].dev_ops;
	CHECK(with != without);
	b = (const op_t *)(const void *)without;
	for (i = 0; i < n; i++) {
		CHECK_MSG((a[i] == NULL) == (b[i] == NULL),
			"the operation %u of struct eth_dev_ops (counted from 0) is in one of "
			"mdv_dev_ops and mdv_gone_ops only", i);
		count += a[i] != NULL;
	}
	CHECK(count > 50);
	CHECK_OK(vmlx4_fault_clear());
}

/* ---- gone and back ---- */

/* Reset fails while it is away, and works as soon as it is back. */
TEST(removal_reset_brings_the_port_back)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	uint16_t port = port_open(0);
	unsigned int round;

	events_watch(port);
	for (round = 0; round < 3; round++) {
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
		capture_clear(port);
		fault_add(round == 1 ? "device fatal" : "device remove");
		WAIT_FOR(events_of(port, RTE_ETH_EVENT_INTR_RMV) == round + 1, 30000);
		CHECK_EQ(rte_eth_dev_reset(port), -EIO);
		CHECK_EQ(rte_eth_dev_reset(port), -EIO);
		/* There is no context any more. */
		check_refusals(port, &conf);
		check_flow_refusals(port, NULL);
		CHECK_EQ(rte_eth_dev_configure(port, 1, 1, &conf.eth), -EIO);
		CHECK_EQ(rte_eth_dev_is_removed(port), 1);
		CHECK_EQ(xstat_of(port, "error_reset_failures"), 2 * (round + 1));
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
		CHECK_OK(vmlx4_fault_clear());
		CHECK_OK(rte_eth_dev_reset(port));
		CHECK_EQ(rte_eth_dev_is_removed(port), 0);
	}
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}

/* A virtual function that leaves and returns, with an application that plugs it. */
TEST(removal_detach_and_attach_as_the_device_comes_and_goes)
{
	struct port_conf conf = conf_with_events(pool_create(2048, 2048));
	unsigned int round;
	uint16_t port;
	char args[64];

	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	for (round = 0; round < 4; round++) {
		port = port_open(0);
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
		send_unfinished(port, conf.pool);
		fault_add("device remove");
		port_close(port);
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
		CHECK(port_probe("net_mlx4dv5", args) < 0);
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
		CHECK_OK(vmlx4_fault_clear());
	}
	check_traffic(port_up(0, &conf));
}

/* What keeps rdma-core from losing the memory of queues that it cannot destroy. */
TEST(removal_asks_rdma_core_to_free)
{
	CHECK(getenv("RDMAV_ALLOW_DISASSOC_DESTROY") != NULL);
}

/* Also at each state in which it can catch the port. */
TEST(removal_in_every_state)
{
	struct port_conf conf = conf_with_events(pool_create(4096, 2048));
	unsigned int state;

	for (state = 0; state < 5; state++) {
		uint16_t port = port_open(0);

		if (state >= 1)
			CHECK_OK(rte_eth_dev_configure(port, 2, 2, &conf.eth));
		if (state >= 2)
			port_configure(port, &conf);
		if (state >= 3)
			port_start(port, &conf);
		if (state >= 4)
			CHECK_OK(rte_eth_dev_stop(port));
		fault_add("device remove");
		if (state % 2 == 0)
			CHECK_EQ(rte_eth_dev_is_removed(port), 1);
		if (state == 2)
			CHECK_EQ(rte_eth_dev_start(port), -EIO);
		port_close(port);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
		CHECK_OK(vmlx4_fault_clear());
	}
}
