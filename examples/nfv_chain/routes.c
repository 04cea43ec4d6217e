/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_errno.h>
#include <rte_lcore.h>

#include "chain.h"

/*
 * The routing table: of an address the next hop, by the longest prefix. Route asks it
 * where a packet goes, and NAT whether that is outside. It is built once.
 */

static int
add(struct chain *chain, unsigned int line, uint32_t address, uint8_t depth, unsigned int hop)
{
	int ret = rte_lpm_add(chain->lpm, address, depth, hop);

	if (ret == 0)
		return 0;
	complain("%s:%u: no room in the routing table (%s): fewer prefixes longer than /24, or "
		"raise number_tbl8s in routes.c", chain->config.file, line, rte_strerror(-ret));
	return -1;
}

/* A prefix of length 0 is none for rte_lpm: two halves stand for it. */
static int
add_route(struct chain *chain, const struct config_route *route)
{
	unsigned int hop = HOP_OF_NEIGHBOUR + route->neighbour;

	if (route->to.depth != 0)
		return add(chain, route->line, route->to.address, route->to.depth, hop);
	if (add(chain, route->line, 0, 1, hop) != 0)
		return -1;
	return add(chain, route->line, 1u << 31, 1, hop);
}

static int
add_port(struct chain *chain, unsigned int number)
{
	const struct config_port *port = &chain->config.ports[number];
	struct hop *hop = &chain->hops[HOP_OF_PORT + number];

	if (port->line == 0)
		return 0;
	hop->kind = HOP_NO_NEIGHBOUR;
	hop->port = (uint16_t)number;
	return add(chain, port->line, port->subnet.address, port->subnet.depth,
		HOP_OF_PORT + number);
}

int
routes_build(struct chain *chain)
{
	const struct config *config = &chain->config;
	struct rte_lpm_config lpm = {
		.max_rules = 2 * ROUTES_MAX + NEIGHBOURS_MAX + 2 * PORTS_MAX + 1,
		.number_tbl8s = 2 * NEIGHBOURS_MAX,
	};
	unsigned int i;

	chain->lpm = rte_lpm_create("nfv_chain", rte_socket_id(), &lpm);
	if (chain->lpm == NULL) {
		complain("no memory for the routing table: %s; give the EAL more (-m)",
			rte_strerror(rte_errno));
		return -1;
	}
	chain->hops[0].kind = HOP_LOCAL;
	/* Routes first: a half of 0.0.0.0/0 may be somebody's prefix of length 1, and
	 * what is added later stays.
	 */
	for (i = 0; i < config->n_routes; i++)
		if (config->routes[i].to.depth == 0 && add_route(chain, &config->routes[i]) != 0)
			return -1;
	for (i = 0; i < config->n_routes; i++)
		if (config->routes[i].to.depth != 0 && add_route(chain, &config->routes[i]) != 0)
			return -1;
	for (i = 0; i < PORTS_MAX; i++)
		if (add_port(chain, i) != 0)
			return -1;
	for (i = 0; i < config->n_neighbours; i++) {
		const struct config_neighbour *one = &config->neighbours[i];

		chain->hops[HOP_OF_NEIGHBOUR + i] = (struct hop){
			.kind = HOP_NEIGHBOUR, .port = one->port, .mac = one->mac,
		};
		if (add(chain, one->line, one->address, 32, HOP_OF_NEIGHBOUR + i) != 0)
			return -1;
	}
	for (i = 0; i < PORTS_MAX; i++)
		if (config->ports[i].line != 0 &&
		    add(chain, config->ports[i].line, config->ports[i].address, 32, 0) != 0)
			return -1;
	if (config->nat.line != 0)
		return add(chain, config->nat.line, config->nat.address, 32, 0);
	return 0;
}
