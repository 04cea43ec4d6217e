/* SPDX-License-Identifier: BSD-3-Clause */

#include <netinet/in.h>

#include "flow_rule.h"

uint8_t rss_key[40];

__attribute__((constructor)) static void
fill_key(void)
{
	struct rng rng = { 77 };
	unsigned int i;

	for (i = 0; i < sizeof(rss_key); i++)
		rss_key[i] = rng_next(&rng);
}

struct port_conf
flow_conf(struct rte_mempool *pool, uint16_t queues)
{
	struct port_conf conf = port_conf(pool);

	conf.rxq = queues;
	conf.rxd = 64;
	conf.promiscuous = false;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	/* By default all goes to queue 0: what a rule does stands out. */
	conf.eth.rx_adv_conf.rss_conf.rss_hf = 0;
	return conf;
}

void
rule_begin(struct rule *r)
{
	memset(r, 0, sizeof(*r));
	r->attr.ingress = 1;
	r->actions[0].type = RTE_FLOW_ACTION_TYPE_DROP;
}

struct rte_flow_item *
rule_item(struct rule *r, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	r->pattern[r->items] = (struct rte_flow_item){ .type = type, .spec = spec, .mask = mask };
	return &r->pattern[r->items++];
}

void
rule_eth(struct rule *r, const uint8_t dst[6])
{
	if (dst != NULL) {
		memcpy(&r->eth.dst, dst, 6);
		memset(&r->eth_mask.dst, 0xff, 6);
	}
	rule_item(r, RTE_FLOW_ITEM_TYPE_ETH, dst != NULL ? &r->eth : NULL,
		dst != NULL ? &r->eth_mask : NULL);
}

void
rule_vlan(struct rule *r, uint16_t vid)
{
	r->vlan.tci = htobe16(vid);
	r->vlan_mask.tci = htobe16(0xfff);
	rule_item(r, RTE_FLOW_ITEM_TYPE_VLAN, &r->vlan, &r->vlan_mask);
}

void
rule_ipv4(struct rule *r, uint32_t src, uint32_t dst)
{
	r->ip.hdr.src_addr = htobe32(src);
	r->ip.hdr.dst_addr = htobe32(dst);
	r->ip_mask.hdr.src_addr = src != 0 ? UINT32_MAX : 0;
	r->ip_mask.hdr.dst_addr = dst != 0 ? UINT32_MAX : 0;
	rule_item(r, RTE_FLOW_ITEM_TYPE_IPV4, &r->ip, &r->ip_mask);
}

void
rule_l4(struct rule *r, uint8_t proto, uint16_t src, uint16_t dst)
{
	if (proto == IPPROTO_UDP) {
		r->l4.hdr.src_port = htobe16(src);
		r->l4.hdr.dst_port = htobe16(dst);
		r->l4_mask.hdr.src_port = src != 0 ? UINT16_MAX : 0;
		r->l4_mask.hdr.dst_port = dst != 0 ? UINT16_MAX : 0;
		rule_item(r, RTE_FLOW_ITEM_TYPE_UDP, &r->l4, &r->l4_mask);
		return;
	}
	r->tcp.hdr.src_port = htobe16(src);
	r->tcp.hdr.dst_port = htobe16(dst);
	r->tcp_mask.hdr.src_port = src != 0 ? UINT16_MAX : 0;
	r->tcp_mask.hdr.dst_port = dst != 0 ? UINT16_MAX : 0;
	rule_item(r, RTE_FLOW_ITEM_TYPE_TCP, &r->tcp, &r->tcp_mask);
}

void
rule_queue(struct rule *r, uint16_t queue)
{
	r->queue.index = queue;
	r->actions[0] = (struct rte_flow_action){ RTE_FLOW_ACTION_TYPE_QUEUE, &r->queue };
}

void
rule_rss(struct rule *r, const uint16_t *queues, unsigned int n, uint64_t types)
{
	memcpy(r->queues, queues, n * sizeof(queues[0]));
	r->rss = (struct rte_flow_action_rss){
		.types = types, .key = rss_key, .key_len = sizeof(rss_key),
		.queue = r->queues, .queue_num = n,
	};
	r->actions[0] = (struct rte_flow_action){ RTE_FLOW_ACTION_TYPE_RSS, &r->rss };
}

struct rte_flow *
rule_create(uint16_t port, struct rule *r)
{
	struct rte_flow_error error = { 0 };
	struct rte_flow *flow;
	int ret;

	r->pattern[r->items].type = RTE_FLOW_ITEM_TYPE_END;
	r->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
	ret = rte_flow_validate(port, &r->attr, r->pattern, r->actions, &error);
	CHECK_MSG(ret == 0, "not valid: %d, %s", ret, error.message);
	flow = rte_flow_create(port, &r->attr, r->pattern, r->actions, &error);
	CHECK_MSG(flow != NULL, "not made: %s", error.message);
	return flow;
}

void
rule_refused(uint16_t port, struct rule *r, int err, const char *words)
{
	struct rte_flow_error error = { 0 };

	r->pattern[r->items].type = RTE_FLOW_ITEM_TYPE_END;
	CHECK_EQ(rte_flow_validate(port, &r->attr, r->pattern, r->actions, &error), err);
	CHECK_MSG(error.message != NULL && strstr(error.message, words) != NULL,
		"'%s' does not say '%s'", error.message, words);
	CHECK(rte_flow_create(port, &r->attr, r->pattern, r->actions, &error) == NULL);
	CHECK_EQ(rte_errno, -err);
}

void
rule_destroy(uint16_t port, struct rte_flow *flow)
{
	struct rte_flow_error error = { 0 };
	int ret = rte_flow_destroy(port, flow, &error);

	CHECK_MSG(ret == 0, "not destroyed: %d, %s", ret, error.message);
}
