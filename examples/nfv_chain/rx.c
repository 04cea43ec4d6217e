/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_ethdev.h>
#include <rte_icmp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "chain.h"

/*
 * RX: take packets from the ports, and let through what the stages behind can trust
 * to be whole: IPv4, no fragment, headers in one piece, checksums right. It sets
 * l2_len and l3_len of the mbuf, by which the others find the headers.
 */

static struct chain *chain;

static unsigned int
l4_min(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return sizeof(struct rte_tcp_hdr);
	case IPPROTO_UDP:
		return sizeof(struct rte_udp_hdr);
	case IPPROTO_ICMP:
		return sizeof(struct rte_icmp_hdr);
	default:
		return 0;
	}
}

static bool
checksums_right(const struct rte_mbuf *m, struct rte_ipv4_hdr *ip)
{
	uint64_t ip_flags = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint64_t l4_flags = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	/* What the port does not say of the packet's data stays as it is: see nat.c. */
	if (ip_flags == RTE_MBUF_F_RX_IP_CKSUM_BAD || l4_flags == RTE_MBUF_F_RX_L4_CKSUM_BAD)
		return false;
	/* Over a header that is right the sum is 0xffff, whose complement is 0. */
	return ip_flags == RTE_MBUF_F_RX_IP_CKSUM_GOOD ||
		rte_raw_cksum(ip, rte_ipv4_hdr_len(ip)) == 0xffff;
}

static enum drop
look_at(struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip;
	unsigned int total, header;

	if (m->data_len < sizeof(*eth))
		return DROP_MALFORMED;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return DROP_ARP;
	if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return DROP_NOT_IPV4;
	if (!rte_is_same_ether_addr(&eth->dst_addr, &chain->mac[m->port]))
		return DROP_OTHER_MAC;
	if (m->data_len < sizeof(*eth) + sizeof(*ip))
		return DROP_MALFORMED;
	m->l2_len = sizeof(*eth);
	ip = packet_ip(m);
	header = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	if (ip->version_ihl >> 4 != IPVERSION || header < sizeof(*ip) || total < header ||
	    sizeof(*eth) + total > m->pkt_len)
		return DROP_MALFORMED;
	m->l3_len = header;
	if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return DROP_FRAGMENT;
	if (total - header < l4_min(ip->next_proto_id) ||
	    m->data_len < sizeof(*eth) + header + l4_min(ip->next_proto_id))
		return DROP_MALFORMED;
	return checksums_right(m, ip) ? DROP_NONE : DROP_CHECKSUM;
}

static unsigned int
poll_port(struct stage *stage, uint16_t port)
{
	struct rte_mbuf *pkts[BURST];
	unsigned int n, i, left = 0;
	enum drop cause;

	/* With no room behind us packets wait in the port, which counts what it misses. */
	if (rte_ring_free_count(stage->out) < BURST)
		return 0;
	n = rte_eth_rx_burst(port, 0, pkts, BURST);
	count(&stage->taken, n);
	for (i = 0; i < n; i++) {
		pkts[i]->port = port;
		cause = look_at(pkts[i]);
		if (cause == DROP_NONE)
			pkts[left++] = pkts[i];
		else
			stage_drop(stage, pkts[i], cause);
	}
	if (left > 0)
		rte_ring_sp_enqueue_bulk(stage->out, (void **)pkts, left, NULL);
	count(&stage->passed, left);
	return n;
}

static unsigned int
rx_poll(struct stage *stage)
{
	unsigned int moved = 0, i;

	for (i = 0; i < PORTS_MAX; i++)
		if (chain->config.ports[i].line != 0)
			moved += poll_port(stage, (uint16_t)i);
	return moved;
}

static int
rx_open(struct chain *shared, struct stage *stage)
{
	(void)stage;
	chain = shared;
	return 0;
}

const struct stage_ops rx_ops = { .name = "rx", .open = rx_open, .poll = rx_poll };
