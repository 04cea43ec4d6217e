/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow rules: where frames go, and what a restart keeps. */

#include <netinet/in.h>

#include "flow_rule.h"

/* ---- frames ---- */

#define NOWHERE UINT16_MAX

/* The queue that a frame comes out of. */
static uint16_t
queue_of(uint16_t port, unsigned int queues, const uint8_t *frame, size_t length)
{
	struct rte_mbuf *pkts[4];
	uint16_t q, got, found = NOWHERE;

	wire_inject(port, frame, length);
	settle();
	for (q = 0; q < queues; q++) {
		got = rte_eth_rx_burst(port, q, pkts, 4);
		CHECK(got <= 1 && (got == 0 || found == NOWHERE));
		if (got == 1) {
			check_mbuf(pkts[0], frame, length);
			found = q;
		}
		free_mbufs(pkts, got);
	}
	return found;
}

static uint16_t
queue_of_flow(uint16_t port, unsigned int queues, const struct frame_flow *flow)
{
	struct rte_ether_addr mac;
	uint8_t frame[100];

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	frame_flow(frame, sizeof(frame), mac.addr_bytes, flow);
	return queue_of(port, queues, frame, sizeof(frame));
}

static uint16_t
queue_of_mac(uint16_t port, const uint8_t dst[6])
{
	uint8_t frame[60];

	frame_make(frame, sizeof(frame), dst, 1);
	return queue_of(port, QUEUES, frame, sizeof(frame));
}

/* ---- tests ---- */

TEST(flow_by_destination_address_and_vlan)
{
	static const uint8_t other[6] = { 2, 9, 9, 9, 9, 9 };
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	uint8_t frame[64], tagged[64];
	struct rte_flow *by_mac, *by_vlan;
	struct rule r;

	CHECK_EQ(queue_of_mac(port, mac_foreign), NOWHERE);
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 2);
	by_mac = rule_create(port, &r);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 2);
	CHECK_EQ(queue_of_mac(port, other), NOWHERE);
	CHECK_EQ(queue_of_mac(port, mac_broadcast), 0);
	/* With a tag as well, and more urgent. */
	r.attr.priority = 0;
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_vlan(&r, 77);
	rule_queue(&r, 3);
	frame_make(frame, 60, mac_foreign, 1);
	memcpy(tagged, frame, 12);
	memcpy(tagged + 12, "\x81\x00\xe0\x4d", 4); /* priority 7, id 77 */
	memcpy(tagged + 16, frame + 12, 48);
	CHECK_EQ(queue_of(port, QUEUES, tagged, 64), 2);
	rule_destroy(port, by_mac);
	by_vlan = rule_create(port, &r);
	CHECK_EQ(queue_of(port, QUEUES, tagged, 64), 3);
	tagged[15] = 0x4e;
	CHECK_EQ(queue_of(port, QUEUES, tagged, 64), NOWHERE);
	CHECK_EQ(queue_of_mac(port, mac_foreign), NOWHERE);
	rule_destroy(port, by_vlan);
}

TEST(flow_by_addresses_and_ports)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	unsigned int what, i;

	for (what = 0; what < 10; what++) {
		uint8_t proto = what % 2 == 0 ? IPPROTO_UDP : IPPROTO_TCP;
		struct frame_flow flow = flow_make(false, proto, what), differs = flow;
		struct rte_flow *made;
		struct rule r;

		rule_begin(&r);
		rule_eth(&r, NULL);
		rule_ipv4(&r, what / 2 == 0 || what / 2 == 4 ? flow.src4 : 0,
			what / 2 == 1 || what / 2 == 4 ? flow.dst4 : 0);
		rule_l4(&r, proto, what / 2 == 2 || what / 2 == 4 ? flow.src_port : 0,
			what / 2 == 3 || what / 2 == 4 ? flow.dst_port : 0);
		rule_queue(&r, 1 + what % 3);
		CHECK_EQ(queue_of_flow(port, QUEUES, &flow), 0);
		made = rule_create(port, &r);
		CHECK_EQ(queue_of_flow(port, QUEUES, &flow), 1 + what % 3);
		differs.proto = proto == IPPROTO_UDP ? IPPROTO_TCP : IPPROTO_UDP;
		CHECK_EQ(queue_of_flow(port, QUEUES, &differs), 0);
		for (i = 0; i < 4; i++) {
			bool named = what / 2 == i || what / 2 == 4;

			differs = flow;
			differs.src4 += i == 0;
			differs.dst4 += i == 1;
			differs.src_port += i == 2;
			differs.dst_port += i == 3;
			CHECK_EQ(queue_of_flow(port, QUEUES, &differs), named ? 0 : 1 + what % 3);
		}
		rule_destroy(port, made);
	}
}

/* Also where no RSS was configured, and with queues that are no power of two. */
TEST(flow_to_each_queue_of_a_port_without_rss)
{
	static const uint8_t macs[5][6] = {
		{ 2, 1 }, { 2, 2 }, { 2, 3 }, { 2, 4 }, { 2, 5 },
	};
	struct port_conf conf = flow_conf(pool_create(2048, 2048), 5);
	uint8_t frame[60];
	uint16_t port, i;
	struct rule r;

	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	port = port_up(0, &conf);
	for (i = 0; i < 5; i++) {
		rule_begin(&r);
		rule_eth(&r, macs[i]);
		rule_queue(&r, i);
		rule_create(port, &r);
	}
	for (i = 0; i < 5; i++) {
		frame_make(frame, sizeof(frame), macs[i], i);
		CHECK_EQ(queue_of(port, 5, frame, sizeof(frame)), i);
	}
	frame_make(frame, sizeof(frame), mac_broadcast, 1);
	CHECK_EQ(queue_of(port, 5, frame, sizeof(frame)), 0);
}

TEST(flow_drop_and_the_order_of_priorities)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	struct frame_flow flow = flow_make(false, IPPROTO_TCP, 5), other = flow;
	uint16_t port = port_up(0, &conf);
	struct rte_flow *drop, *queue, *all;
	struct rule r;

	other.dst_port++;
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, flow.src4, 0);
	r.attr.priority = 5;
	drop = rule_create(port, &r);
	CHECK_EQ(queue_of_flow(port, QUEUES, &flow), NOWHERE);
	CHECK_EQ(queue_of_flow(port, QUEUES, &other), NOWHERE);
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 0);
	rule_l4(&r, IPPROTO_TCP, 0, flow.dst_port);
	rule_queue(&r, 3);
	r.attr.priority = 6;
	queue = rule_create(port, &r);
	CHECK_EQ(queue_of_flow(port, QUEUES, &flow), NOWHERE);
	rule_destroy(port, queue);
	r.attr.priority = 4;
	queue = rule_create(port, &r);
	CHECK_EQ(queue_of_flow(port, QUEUES, &flow), 3);
	CHECK_EQ(queue_of_flow(port, QUEUES, &other), NOWHERE);
	rule_destroy(port, drop);
	CHECK_EQ(queue_of_flow(port, QUEUES, &other), 0);
	/* Everything, after all rules that say more. */
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_queue(&r, 1);
	r.attr.priority = 0xffd;
	all = rule_create(port, &r);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 1);
	CHECK_EQ(queue_of_flow(port, QUEUES, &flow), 3);
	rule_destroy(port, all);
	rule_destroy(port, queue);
	CHECK_EQ(object_counts().flows, 2); /* the port's own: its address, broadcast */
}

static void
check_spread(unsigned int configured, const uint16_t *queues, unsigned int n)
{
	struct port_conf conf = flow_conf(pool_create(8192, 2048), configured);
	uint16_t port = port_up(0, &conf);
	unsigned int size = rte_align32pow2(n) == n ? n : 4 * n, i, p;
	unsigned int seen[16] = { 0 };
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 0);
	rule_rss(&r, queues, n, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
		RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	rule_create(port, &r);
	for (i = 0; i < 64; i++)
		for (p = 0; p < 2; p++) {
			struct frame_flow flow = flow_make(false, p ? IPPROTO_UDP : IPPROTO_TCP, i);
			uint32_t hash = flow_hash(&flow, rss_key, true);
			uint16_t queue = queue_of_flow(port, configured, &flow);

			CHECK(queue < configured);
			if (size == n)
				CHECK_EQ(queue, queues[hash % n]);
			seen[queue]++;
		}
	for (i = 0; i < n; i++)
		CHECK(seen[queues[i]] != 0);
	port_close(port);
}

TEST(flow_rss_over_parts_of_the_queues)
{
	static const uint16_t q[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	check_spread(4, q, 2);
	check_spread(4, q + 2, 2);
	check_spread(4, q, 4);
	check_spread(8, q + 4, 4);
	check_spread(8, q + 6, 2);
	check_spread(8, q, 8);
	/* All of a number that is no power of two. */
	check_spread(3, q, 3);
	check_spread(6, q, 6);
	check_spread(6, q + 2, 2);
}

/* One that leads to the same place is harmless, and serves when the first is gone. */
TEST(flow_twice_the_same)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rte_flow *first, *second;
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 1);
	first = rule_create(port, &r);
	second = rule_create(port, &r);
	CHECK(first != second);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 1);
	rule_destroy(port, first);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 1);
	CHECK_EQ(rte_flow_destroy(port, first, NULL), -ENOENT);
	rule_queue(&r, 2);
	rule_refused(port, &r, -EEXIST, "there is a rule");
	rule_destroy(port, second);
	rule_create(port, &r);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 2);
}

TEST(flow_twice_the_same_to_another_queue_is_refused)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rte_flow *first;
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 1);
	first = rule_create(port, &r);
	rule_queue(&r, 2);
	rule_refused(port, &r, -EEXIST, "there is a rule");
	CHECK_EQ(queue_of_mac(port, mac_foreign), 1);
	r.attr.priority = 9;
	rule_create(port, &r);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 1);
	rule_destroy(port, first);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 2);
	CHECK_EQ(rte_flow_destroy(port, first, NULL), -ENOENT);
}

TEST(flow_rules_outlive_a_restart)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_open(0);
	struct rte_flow *flow;
	struct rule r;
	unsigned int i;

	port_configure(port, &conf);
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 3);
	flow = rule_create(port, &r); /* before the start */
	port_start(port, &conf);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(queue_of_mac(port, mac_foreign), 3);
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
	}
	/* Fewer queues than the rule knows. */
	CHECK_OK(rte_eth_dev_stop(port));
	conf.rxq = 2;
	port_configure(port, &conf);
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, conf.pool));
	CHECK_OK(rte_eth_rx_queue_setup(port, 1, 64, SOCKET_ID_ANY, NULL, conf.pool));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL));
	CHECK_EQ(rte_eth_dev_start(port), -EINVAL);
	rule_destroy(port, flow);
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

/*
 * The port is configured anew, and its table begins anew with it: a rule is about a
 * queue, not about a place in the table, and one for several that are no run of the
 * table any more keeps the port from starting.
 */
TEST(flow_rules_follow_their_queues_when_the_port_is_configured)
{
	struct port_conf conf = flow_conf(pool_create(4096, 2048), QUEUES);
	struct rte_eth_rss_reta_entry64 reta = { .mask = 0xf, .reta = { 3, 2, 1, 0 } };
	static const uint16_t all[] = { 0, 1, 2 };
	uint16_t port = port_open(0);
	struct rte_flow *flow;
	struct rule r;

	port_configure(port, &conf);
	CHECK_OK(rte_eth_dev_rss_reta_update(port, &reta, QUEUES));
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 3);
	flow = rule_create(port, &r);
	port_start(port, &conf);
	CHECK_EQ(queue_of_mac(port, mac_foreign), 3);
	CHECK_OK(rte_eth_dev_stop(port));
	port_configure(port, &conf);
	CHECK_OK(rte_eth_dev_start(port));
	CHECK_EQ(queue_of_mac(port, mac_foreign), 3);
	CHECK_OK(rte_eth_dev_stop(port));
	rule_destroy(port, flow);
	/* All three queues are eight places, which five queues have, too, but not so. */
	conf.rxq = 3;
	port_configure(port, &conf);
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 0);
	rule_rss(&r, all, 3, RTE_ETH_RSS_IPV4);
	flow = rule_create(port, &r);
	conf.rxq = 5;
	port_configure(port, &conf);
	CHECK_EQ(rte_eth_dev_start(port), -EINVAL);
	conf.rxq = 3;
	port_configure(port, &conf);
	CHECK_OK(rte_eth_dev_start(port));
	rule_destroy(port, flow);
	check_traffic(port);
}

TEST(flow_isolated_port_receives_by_rules_alone)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_open(0);
	struct rte_ether_addr mac;
	struct rule r;
	unsigned int i;

	CHECK_OK(rte_flow_isolate(port, 1, NULL));
	port_configure(port, &conf);
	port_start(port, &conf);
	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 2);
	rule_create(port, &r);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(object_counts().flows, 1);
		CHECK_EQ(queue_of_mac(port, mac.addr_bytes), NOWHERE);
		CHECK_EQ(queue_of_mac(port, mac_broadcast), NOWHERE);
		CHECK_EQ(queue_of_mac(port, mac_foreign), 2);
		CHECK_OK(rte_eth_promiscuous_enable(port));
		CHECK_EQ(queue_of_mac(port, mac.addr_bytes), NOWHERE);
		CHECK_OK(rte_eth_promiscuous_disable(port));
		CHECK_OK(rte_flow_isolate(port, 0, NULL));
		CHECK_EQ(queue_of_mac(port, mac.addr_bytes), 0);
		CHECK_EQ(queue_of_mac(port, mac_broadcast), 0);
		CHECK_EQ(queue_of_mac(port, mac_foreign), 2);
		CHECK_OK(rte_flow_isolate(port, 1, NULL));
	}
}

TEST(flow_thousand_rules_flushed_and_dumped)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	struct vmlx4_object_counts before, after;
	uint16_t port = port_up(0, &conf);
	unsigned int i, lines = 0;
	FILE *file = tmpfile();
	char line[256];
	struct rule r;

	before = object_counts();
	for (i = 0; i < 1000; i++) {
		rule_begin(&r);
		rule_eth(&r, NULL);
		rule_ipv4(&r, 0x0a000000 + i, 0x0b000001);
		if (i % 3 != 0)
			rule_queue(&r, i % QUEUES);
		rule_create(port, &r);
	}
	/* Each of them is still known, however many there are. */
	for (i = 0; i < 1000; i++) {
		rule_begin(&r);
		rule_eth(&r, NULL);
		rule_ipv4(&r, 0x0a000000 + i, 0x0b000001);
		rule_queue(&r, (i + 1) % QUEUES);
		rule_refused(port, &r, -EEXIST, "there is a rule");
	}
	CHECK(file != NULL);
	CHECK_OK(rte_flow_dev_dump(port, NULL, file, NULL));
	rewind(file);
	while (fgets(line, sizeof(line), file) != NULL)
		lines++;
	fclose(file);
	CHECK_EQ(lines, 1000);
	/* One QP for each queue and one for what is dropped. */
	CHECK_EQ(object_counts().qps, before.qps + QUEUES + 1);
	CHECK_OK(rte_flow_flush(port, NULL));
	after = object_counts();
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	CHECK_OK(rte_flow_flush(port, NULL));
}
