/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_FLOW_RULE_H_
#define TEST_PMD_FLOW_RULE_H_

/* Flow rules, put together from items and an action. */

#include <rte_flow.h>

#include "harness.h"

#define QUEUES 4

extern uint8_t rss_key[40];

struct rule {
	struct rte_flow_attr attr;
	struct rte_flow_item pattern[5];
	struct rte_flow_action actions[3];
	struct rte_flow_item_eth eth, eth_mask;
	struct rte_flow_item_vlan vlan, vlan_mask;
	struct rte_flow_item_ipv4 ip, ip_mask;
	struct rte_flow_item_udp l4, l4_mask; /* the ports of TCP lie alike */
	struct rte_flow_item_tcp tcp, tcp_mask;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint16_t queues[16];
	unsigned int items;
};

/* RSS is on and hashes nothing: all goes to queue 0, so that a rule stands out. */
struct port_conf flow_conf(struct rte_mempool *pool, uint16_t queues);

/* Drops what its pattern, yet to come, matches. */
void rule_begin(struct rule *r);
struct rte_flow_item *rule_item(struct rule *r, enum rte_flow_item_type type, const void *spec,
	const void *mask);

/* Items; with dst NULL, or 0 in place of a value, that is not matched. */
void rule_eth(struct rule *r, const uint8_t dst[6]);
void rule_vlan(struct rule *r, uint16_t vid);
void rule_ipv4(struct rule *r, uint32_t src, uint32_t dst);
void rule_l4(struct rule *r, uint8_t proto, uint16_t src, uint16_t dst);

/* Actions in place of the drop. */
void rule_queue(struct rule *r, uint16_t queue);
void rule_rss(struct rule *r, const uint16_t *queues, unsigned int n, uint64_t types);

/* Valid, and made; the test fails if not. */
struct rte_flow *rule_create(uint16_t port, struct rule *r);

/* Refused with this errno and a message with these words, by both calls. */
void rule_refused(uint16_t port, struct rule *r, int err, const char *words);
void rule_destroy(uint16_t port, struct rte_flow *flow);

#endif /* TEST_PMD_FLOW_RULE_H_ */
