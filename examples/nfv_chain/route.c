/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_ether.h>

#include "chain.h"

/*
 * Route: the longest prefix of the destination gives the next hop; one hop less to
 * live, new addresses below, and the checksum of the header. The mbuf's port is the
 * one to leave by from here on.
 */

#define HOP_MASK 0x00ffffffu /* above it a bulk lookup leaves flags of the table */

static struct chain *chain;

static enum drop
forward(struct rte_mbuf *m, uint32_t found)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = packet_ip(m);
	const struct hop *hop;

	if ((found & RTE_LPM_LOOKUP_SUCCESS) == 0)
		return DROP_NO_ROUTE;
	hop = &chain->hops[found & HOP_MASK];
	if (hop->kind == HOP_LOCAL)
		return DROP_TO_ROUTER;
	if (ip->time_to_live <= 1)
		return DROP_TTL;
	if (hop->kind == HOP_NO_NEIGHBOUR)
		return DROP_NO_NEIGHBOUR;
	if (rte_be_to_cpu_16(ip->total_length) > chain->mtu[hop->port])
		return DROP_TOO_BIG;
	ip->time_to_live--;
	ip->hdr_checksum = 0;
	if (chain->tx_ip_cksum)
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	else
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	eth->dst_addr = hop->mac;
	eth->src_addr = chain->mac[hop->port];
	m->port = hop->port;
	return DROP_NONE;
}

static unsigned int
route_filter(struct stage *stage, struct rte_mbuf **pkts, unsigned int n)
{
	uint32_t to[BURST], found[BURST];
	unsigned int i, left = 0;
	enum drop cause;

	for (i = 0; i < n; i++)
		to[i] = rte_be_to_cpu_32(packet_ip(pkts[i])->dst_addr);
	rte_lpm_lookup_bulk(chain->lpm, to, found, n);
	for (i = 0; i < n; i++) {
		cause = forward(pkts[i], found[i]);
		if (cause == DROP_NONE)
			pkts[left++] = pkts[i];
		else
			stage_drop(stage, pkts[i], cause);
	}
	return left;
}

static int
route_open(struct chain *shared, struct stage *stage)
{
	(void)stage;
	chain = shared;
	return 0;
}

const struct stage_ops route_ops = {
	.name = "route", .open = route_open, .filter = route_filter,
};
