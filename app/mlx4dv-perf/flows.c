/* SPDX-License-Identifier: BSD-3-Clause */

/* Flow rules that are in place while bursts are measured, and that no frame matches. */

#include <rte_flow.h>

#include "ethdev.h"

static struct rte_flow *flows[PERF_FLOWS_MAX];
static unsigned int nb_flows;

static struct rte_flow *
flow_create(uint16_t port, unsigned int number, struct rte_flow_error *error)
{
	const struct rte_flow_attr attr = { .ingress = 1 };
	const struct rte_flow_item_eth eth = {
		.dst.addr_bytes = { 2, 0, 0, 1, 0, 0 },
	}, eth_mask = {
		.dst.addr_bytes = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	const struct rte_flow_item_ipv4 ip = {
		.hdr.src_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 0) + number),
	}, ip_mask = { .hdr.src_addr = RTE_BE32(UINT32_MAX) };
	const struct rte_flow_item pattern[] = {
		{ .type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &eth_mask },
		{ .type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask },
		{ .type = RTE_FLOW_ITEM_TYPE_END },
	};
	const struct rte_flow_action_queue queue = { .index = 0 };
	const struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue },
		{ .type = RTE_FLOW_ACTION_TYPE_END },
	};

	return rte_flow_create(port, &attr, pattern, actions, error);
}

const char *
flows_open(uint16_t port, unsigned int count)
{
	struct rte_flow_error error = { 0 };

	for (nb_flows = 0; nb_flows < count; nb_flows++) {
		flows[nb_flows] = flow_create(port, nb_flows, &error);
		if (flows[nb_flows] != NULL)
			continue;
		if (nb_flows == 0)
			return "no flow rules of a MAC and an IPv4 address";
		bench_die("flow rule %u of %u: %s", nb_flows + 1, count,
			error.message != NULL ? error.message : "no reason given");
	}
	return NULL;
}

void
flows_close(uint16_t port)
{
	struct rte_flow_error error;

	while (nb_flows != 0)
		if (rte_flow_destroy(port, flows[--nb_flows], &error) != 0)
			bench_die("a flow rule cannot be destroyed: %s",
				error.message != NULL ? error.message : "no reason given");
}
