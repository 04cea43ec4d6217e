/* SPDX-License-Identifier: BSD-3-Clause */

/* Rules that copy and let frames go on; what can be asked of a rule. */

#include <netinet/in.h>

#include "flow_rule.h"

static const uint8_t group[6] = { 1, 0, 0x5e, 1, 2, 3 };
static const uint8_t multicast_bit[6] = { 1 };

/* passthru / queue @queue */
static void
copy_begin(struct rule *r, uint16_t queue)
{
	rule_begin(r);
	r->queue.index = queue;
	r->actions[0] = (struct rte_flow_action){ RTE_FLOW_ACTION_TYPE_PASSTHRU, NULL };
	r->actions[1] = (struct rte_flow_action){ RTE_FLOW_ACTION_TYPE_QUEUE, &r->queue };
}

static struct rte_flow *
copy_create(uint16_t port, struct rule *r)
{
	struct rte_flow_error error = { 0 };
	struct rte_flow *flow;

	r->pattern[r->items].type = RTE_FLOW_ITEM_TYPE_END;
	CHECK_OK(rte_flow_validate(port, &r->attr, r->pattern, r->actions, &error));
	flow = rte_flow_create(port, &r->attr, r->pattern, r->actions, &error);
	CHECK_MSG(flow != NULL, "not made: %s", error.message);
	return flow;
}

/* The frame comes out of these queues, whole from each, and of no other. */
static void
check_queues(uint16_t port, const uint8_t *dst, unsigned int queues)
{
	static uint64_t seed;
	struct rte_mbuf *pkts[4];
	uint8_t frame[200];
	unsigned int q, got;

	frame_make(frame, sizeof(frame), dst, seed++);
	wire_inject(port, frame, sizeof(frame));
	settle();
	for (q = 0; q < QUEUES; q++) {
		got = rte_eth_rx_burst(port, q, pkts, RTE_DIM(pkts));
		CHECK_MSG(got == (queues >> q & 1), "%u frames from queue %u", got, q);
		if (got == 1)
			check_mbuf(pkts[0], frame, sizeof(frame));
		free_mbufs(pkts, got);
	}
}

static void
rule_eth_bit(struct rule *r, bool multicast)
{
	memcpy(&r->eth_mask.dst, multicast_bit, 6);
	if (multicast)
		memcpy(&r->eth.dst, multicast_bit, 6);
	rule_item(r, RTE_FLOW_ITEM_TYPE_ETH, &r->eth, &r->eth_mask);
}

TEST(flow_copy_of_what_comes_in)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rte_ether_addr mac;
	struct rte_flow *flow;
	struct rule all, some;
	unsigned int round;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	CHECK_OK(rte_eth_allmulticast_enable(port));
	copy_begin(&all, 3);
	rule_eth(&all, NULL);
	flow = copy_create(port, &all);
	for (round = 0; round < 3; round++) {
		check_queues(port, mac.addr_bytes, 1 << 0 | 1 << 3);
		check_queues(port, group, 1 << 0 | 1 << 3);
		check_queues(port, mac_foreign, 1 << 3);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
	}
	rule_destroy(port, flow);
	check_queues(port, mac.addr_bytes, 1 << 0);
	check_queues(port, mac_foreign, 0);
	copy_begin(&some, 2);
	rule_eth_bit(&some, true);
	flow = copy_create(port, &some);
	check_queues(port, mac.addr_bytes, 1 << 0);
	check_queues(port, group, 1 << 0 | 1 << 2);
	rule_destroy(port, flow);
	copy_begin(&some, 1);
	rule_eth_bit(&some, false);
	copy_create(port, &some);
	check_queues(port, mac.addr_bytes, 1 << 0 | 1 << 1);
	check_queues(port, group, 1 << 0);
}

/* Ingress and egress: a mirror of the port. */
TEST(flow_copy_of_what_leaves_too)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rte_ether_addr mac;
	struct rte_flow *flow;
	struct rte_mbuf *m;
	struct rule mirror;
	uint8_t frame[300];
	unsigned int i;

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	copy_begin(&mirror, 3);
	mirror.attr.egress = 1;
	flow = copy_create(port, &mirror);
	for (i = 0; i < 100; i++) {
		check_queues(port, mac.addr_bytes, 1 << 0 | 1 << 3);
		frame_make(frame, sizeof(frame), mac_foreign, i);
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		tx_all(port, 0, &m, 1);
		CHECK_EQ(rx_all(port, 3, &m, 1), 1);
		check_mbuf(m, frame, sizeof(frame));
		rte_pktmbuf_free(m);
	}
	rule_destroy(port, flow);
	m = mbuf_frame(conf.pool, frame, sizeof(frame));
	tx_all(port, 0, &m, 1);
	CHECK_EQ(rx_discard(port), 0);
}

TEST(flow_copies_that_the_card_cannot)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rule r;

	copy_begin(&r, 3);
	rule_eth(&r, mac_foreign);
	rule_refused(port, &r, -ENOTSUP, "is copied whole");
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	rule_vlan(&r, 5);
	rule_refused(port, &r, -ENOTSUP, "is copied whole");
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 1, 2);
	rule_refused(port, &r, -ENOTSUP, "is copied whole");
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	r.attr.priority = 1;
	rule_refused(port, &r, -ENOTSUP, "priority 0");
	copy_begin(&r, 3);
	rule_eth_bit(&r, true);
	r.attr.egress = 1;
	rule_refused(port, &r, -ENOTSUP, "is copied whole");
	copy_begin(&r, 3);
	r.attr.egress = 1;
	r.attr.ingress = 0;
	rule_refused(port, &r, -ENOTSUP, "ingress");
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	r.actions[1].type = RTE_FLOW_ACTION_TYPE_DROP;
	rule_refused(port, &r, -EINVAL, "does not go on");
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	r.actions[1].type = RTE_FLOW_ACTION_TYPE_END;
	rule_refused(port, &r, -EINVAL, "needs an action");
	copy_begin(&r, QUEUES);
	rule_eth(&r, NULL);
	rule_refused(port, &r, -EINVAL, "no RX queue");
	/* Counting in any place. */
	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	r.actions[0].type = RTE_FLOW_ACTION_TYPE_COUNT;
	rule_refused(port, &r, -ENOTSUP, "not counted");
	r.actions[0].type = RTE_FLOW_ACTION_TYPE_PASSTHRU;
	r.actions[1].type = RTE_FLOW_ACTION_TYPE_COUNT;
	rule_refused(port, &r, -ENOTSUP, "not counted");
}

/* Firmware without that sniffer: nothing of the rule is left. */
TEST(flow_copy_without_a_sniffer)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct vmlx4_object_counts before = object_counts();
	struct rte_flow_error error;
	struct rule r;

	copy_begin(&r, 3);
	rule_eth(&r, NULL);
	r.pattern[r.items].type = RTE_FLOW_ITEM_TYPE_END;
	CHECK(rte_flow_create(port, &r.attr, r.pattern, r.actions, &error) == NULL);
	CHECK_EQ(rte_errno, ENOTSUP);
	CHECK_EQ(object_counts().qps, before.qps);
	check_traffic(port);
}

static int
query(uint16_t port, struct rte_flow *flow, enum rte_flow_action_type type, void *data)
{
	const struct rte_flow_action actions[] = {
		{ RTE_FLOW_ACTION_TYPE_VOID, NULL }, { type, NULL },
		{ RTE_FLOW_ACTION_TYPE_END, NULL },
	};
	struct rte_flow_error error = { 0 };
	int ret = rte_flow_query(port, flow, actions, data, &error);

	CHECK(ret == 0 || error.message != NULL);
	return ret;
}

TEST(flow_query_and_handles_that_are_none)
{
	static const uint16_t queues[] = { 2, 3 };
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf), other = port_up(1, &conf);
	struct rte_flow_query_count count = { 0 };
	struct rte_flow_action_queue queue = { 99 };
	struct rte_flow_action_rss rss = { 0 };
	struct rte_flow *to_queue, *to_rss, *drop;
	struct rte_flow_error error;
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 2);
	to_queue = rule_create(port, &r);
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 5);
	rule_rss(&r, queues, 2, RTE_ETH_RSS_IPV4);
	to_rss = rule_create(port, &r);
	memset(&r, 0xee, sizeof(r));
	rule_begin(&r);
	rule_eth(&r, group);
	drop = rule_create(port, &r);
	CHECK_OK(query(port, to_queue, RTE_FLOW_ACTION_TYPE_QUEUE, &queue));
	CHECK_EQ(queue.index, 2);
	CHECK_OK(query(port, to_rss, RTE_FLOW_ACTION_TYPE_RSS, &rss));
	CHECK(rss.queue_num == 2 && rss.queue[0] == 2 && rss.queue[1] == 3);
	CHECK_EQ(rss.types, RTE_ETH_RSS_IPV4);
	CHECK(rss.key_len == 40 && memcmp(rss.key, rss_key, 40) == 0);
	CHECK_EQ(query(port, to_rss, RTE_FLOW_ACTION_TYPE_QUEUE, &queue), -ENOTSUP);
	CHECK_EQ(query(port, drop, RTE_FLOW_ACTION_TYPE_DROP, &queue), -ENOTSUP);
	CHECK_EQ(query(port, to_queue, RTE_FLOW_ACTION_TYPE_COUNT, &count), -ENOTSUP);
	CHECK_EQ(query(port, to_queue, RTE_FLOW_ACTION_TYPE_QUEUE, NULL), -EINVAL);
	/* Of another port, and gone. */
	CHECK_EQ(query(other, to_queue, RTE_FLOW_ACTION_TYPE_QUEUE, &queue), -ENOENT);
	CHECK_EQ(rte_flow_destroy(other, to_queue, &error), -ENOENT);
	CHECK_EQ(rte_flow_dev_dump(other, to_queue, stderr, &error), -ENOENT);
	rule_destroy(port, to_queue);
	CHECK_EQ(query(port, to_queue, RTE_FLOW_ACTION_TYPE_QUEUE, &queue), -ENOENT);
	CHECK_EQ(rte_flow_destroy(port, to_queue, &error), -ENOENT);
	CHECK_OK(rte_flow_flush(port, &error));
	CHECK_OK(rte_flow_flush(port, &error));
	CHECK_EQ(query(port, to_rss, RTE_FLOW_ACTION_TYPE_RSS, &rss), -ENOENT);
}
