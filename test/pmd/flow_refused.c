/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow rules that are refused, each with its reason. */

#include <netinet/in.h>

#include "flow_rule.h"

TEST(flow_rss_that_the_adapter_cannot_do_is_refused)
{
	static const uint16_t odd[] = { 1, 2 }, gap[] = { 0, 2 }, back[] = { 1, 0 };
	static const uint16_t three[] = { 0, 1, 2 }, none[] = { 0, 9 };
	const uint64_t all = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
		RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 0);
	rule_rss(&r, odd, 2, all);
	rule_refused(port, &r, -ENOTSUP, "one after the other");
	rule_rss(&r, gap, 2, all);
	rule_refused(port, &r, -ENOTSUP, "one after the other");
	rule_rss(&r, back, 2, all);
	rule_refused(port, &r, -ENOTSUP, "one after the other");
	rule_rss(&r, three, 3, all);
	rule_refused(port, &r, -ENOTSUP, "one after the other");
	rule_rss(&r, none, 2, all);
	rule_refused(port, &r, -EINVAL, "no RX queue");
	rule_rss(&r, three, 0, all);
	rule_refused(port, &r, -EINVAL, "without queues");
	rule_rss(&r, three, 2, all);
	r.rss.key_len = 39;
	rule_refused(port, &r, -ENOTSUP, "40 bytes");
	rule_rss(&r, three, 2, all);
	r.rss.func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR;
	rule_refused(port, &r, -ENOTSUP, "Toeplitz");
	rule_rss(&r, three, 2, all);
	r.rss.level = 2;
	rule_refused(port, &r, -ENOTSUP, "outermost");
	/* Ports of UDP, but TCP and the rest not at all: one QP cannot. */
	rule_rss(&r, three, 2, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	rule_refused(port, &r, -ENOTSUP, "no hash");
	/* With a pattern that leaves UDP alone it can. */
	rule_l4(&r, IPPROTO_UDP, 0, 0);
	rule_create(port, &r);
}

TEST(flow_what_the_kernel_would_ignore_is_refused)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	uint16_t port = port_up(0, &conf);
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	r.eth.type = htobe16(0x0800);
	r.eth_mask.type = UINT16_MAX;
	rule_refused(port, &r, -ENOTSUP, "source address and type");
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	memset(&r.eth_mask.src, 0xff, 6);
	rule_refused(port, &r, -ENOTSUP, "source address and type");
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	r.eth_mask.dst.addr_bytes[5] = 0xf0;
	rule_refused(port, &r, -ENOTSUP, "wholly");
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_vlan(&r, 5);
	r.vlan_mask.tci = UINT16_MAX;
	rule_refused(port, &r, -ENOTSUP, "mask 0x0fff");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 1, 0);
	r.ip_mask.hdr.src_addr = htobe32(0xffffff00);
	rule_refused(port, &r, -ENOTSUP, "wholly");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 1, 0);
	r.ip_mask.hdr.type_of_service = 0xff;
	rule_refused(port, &r, -ENOTSUP, "addresses");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 1, 0);
	rule_l4(&r, IPPROTO_TCP, 80, 0);
	r.tcp_mask.hdr.tcp_flags = 2;
	rule_refused(port, &r, -ENOTSUP, "ports");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_l4(&r, IPPROTO_UDP, 0, 53);
	rule_refused(port, &r, -ENOTSUP, "behind one of IPv4");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 0, 0);
	rule_l4(&r, IPPROTO_UDP, 0, 53);
	r.attr.priority = 1;
	rule_refused(port, &r, -ENOTSUP, "priority 0");
	CHECK_EQ(object_counts().flows, 2);
}

TEST(flow_what_nobody_can_do_is_refused)
{
	struct port_conf conf = flow_conf(pool_create(2048, 2048), QUEUES);
	struct rte_flow_item_ipv6 ip6 = { 0 };
	struct rte_flow_item *item;
	uint16_t port = port_up(0, &conf);
	struct rule r;

	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_item(&r, RTE_FLOW_ITEM_TYPE_IPV6, &ip6, NULL);
	rule_refused(port, &r, -ENOTSUP, "eth, vlan, ipv4");
	rule_begin(&r);
	rule_eth(&r, NULL);
	rule_ipv4(&r, 1, 0);
	item = &r.pattern[1];
	item->last = &r.ip;
	rule_refused(port, &r, -ENOTSUP, "ranges");
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	r.actions[0].type = RTE_FLOW_ACTION_TYPE_MARK;
	rule_refused(port, &r, -ENOTSUP, "drop, queue and rss");
	r.actions[0].type = RTE_FLOW_ACTION_TYPE_DROP;
	r.actions[1].type = RTE_FLOW_ACTION_TYPE_DROP;
	rule_refused(port, &r, -ENOTSUP, "one of");
	r.actions[0].type = RTE_FLOW_ACTION_TYPE_END;
	rule_refused(port, &r, -EINVAL, "needs an action");
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 99);
	rule_refused(port, &r, -EINVAL, "no RX queue");
	rule_queue(&r, 1);
	r.attr.group = 1;
	rule_refused(port, &r, -ENOTSUP, "group");
	r.attr.group = 0;
	r.attr.egress = 1;
	rule_refused(port, &r, -ENOTSUP, "ingress");
	r.attr.egress = 0;
	r.attr.priority = 0xffe;
	rule_refused(port, &r, -ENOTSUP, "priority");
	CHECK_EQ(object_counts().flows, 2);
}
