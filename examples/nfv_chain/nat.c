/* SPDX-License-Identifier: BSD-3-Clause */

#include <netinet/ip_icmp.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_icmp.h>

#include "chain.h"
#include "nat_table.h"

/*
 * NAT: what leaves from an inside port to an outside one gets the outside address and
 * a port of its own, and what comes back to that port gets what was there before.
 * Between inside ports nothing changes.
 */

#define AGE_ENTRIES 16u  /* looked at each round */

static struct chain *chain;
static struct nat_table *table;

/* Where things are behind the IP header, in 16-bit words. */
static const struct {
	uint8_t protocol, source, destination, sum;
} layout[NAT_PROTOS] = {
	[NAT_TCP] = { IPPROTO_TCP, 0, 1, 8 },
	[NAT_UDP] = { IPPROTO_UDP, 0, 1, 3 },
	[NAT_ICMP] = { IPPROTO_ICMP, 2, 2, 1 }, /* the identifier of an echo */
};

/* RFC 1624: a sum that was wrong stays wrong. */
static void
adjust(uint16_t *sum, const uint16_t *before, const uint16_t *after, unsigned int words)
{
	uint32_t total = (uint16_t)~*sum;
	unsigned int i;

	for (i = 0; i < words; i++)
		total += (uint32_t)(uint16_t)~before[i] + after[i];
	while (total >> 16 != 0)
		total = (total & 0xffff) + (total >> 16);
	*sum = (uint16_t)~total;
}

/*
 * The sum of the data after a change. The port computes it anew if it can, but only of
 * what another port has found right: else a broken packet would become a good one.
 */
static void
mend_sum(struct rte_mbuf *m, enum nat_proto proto, const uint16_t before[3],
	const uint16_t after[3])
{
	uint16_t *l4 = packet_l4(m);
	uint16_t *sum = &l4[layout[proto].sum];
	struct rte_ipv4_hdr *ip = packet_ip(m);

	if (proto == NAT_ICMP) {
		adjust(sum, &before[2], &after[2], 1); /* addresses are not in it */
		return;
	}
	if (proto == NAT_UDP && *sum == 0)
		return; /* the sender computed none */
	if (chain->tx_l4_cksum && (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) ==
			RTE_MBUF_F_RX_L4_CKSUM_GOOD) {
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | (proto == NAT_TCP ?
			RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
		*sum = rte_ipv4_phdr_cksum(ip, m->ol_flags);
		return;
	}
	adjust(sum, before, after, 3);
	if (proto == NAT_UDP && *sum == 0)
		*sum = 0xffff; /* 0 would say that there is none */
}

/* Put address and port in the place of the source, or of the destination. */
static void
rewrite(struct rte_mbuf *m, enum nat_proto proto, bool source, uint32_t address, uint16_t port)
{
	struct rte_ipv4_hdr *ip = packet_ip(m);
	uint16_t *l4 = packet_l4(m);
	uint16_t *at = &l4[source ? layout[proto].source : layout[proto].destination];
	uint32_t old = source ? ip->src_addr : ip->dst_addr;
	uint16_t before[3] = { [2] = *at }, after[3];

	address = rte_cpu_to_be_32(address);
	memcpy(before, &old, sizeof(old));
	memcpy(after, &address, sizeof(address));
	after[2] = rte_cpu_to_be_16(port);
	*at = after[2];
	if (source)
		ip->src_addr = address;
	else
		ip->dst_addr = address;
	mend_sum(m, proto, before, after);
}

/* What has ports to translate. An ICMP error would have a packet inside: not done here. */
static enum drop
find_proto(struct rte_mbuf *m, bool outward, enum nat_proto *proto)
{
	const struct rte_ipv4_hdr *ip = packet_ip(m);
	const struct rte_icmp_hdr *icmp = packet_l4(m);
	unsigned int i;

	for (i = 0; i < NAT_PROTOS && layout[i].protocol != ip->next_proto_id; i++)
		;
	if (i == NAT_PROTOS)
		return DROP_NAT_PROTOCOL;
	if (i == NAT_ICMP && icmp->icmp_type != (outward ? ICMP_ECHO : ICMP_ECHOREPLY))
		return DROP_NAT_ICMP;
	*proto = i;
	return DROP_NONE;
}

static enum drop
translate_out(struct rte_mbuf *m, uint64_t now)
{
	const struct rte_ipv4_hdr *ip = packet_ip(m);
	const uint16_t *l4 = packet_l4(m);
	enum nat_proto proto = NAT_TCP;
	enum drop cause = find_proto(m, true, &proto);
	struct nat_key key = { 0 };
	int port;

	if (cause != DROP_NONE)
		return cause;
	key.address = rte_be_to_cpu_32(ip->src_addr);
	key.port = rte_be_to_cpu_16(l4[layout[proto].source]);
	key.proto = (uint8_t)proto;
	port = nat_table_out(table, &key, now);
	if (port < 0)
		return DROP_NO_PORT;
	rewrite(m, proto, true, chain->config.nat.address, (uint16_t)port);
	return DROP_NONE;
}

static enum drop
translate_in(struct rte_mbuf *m, uint64_t now)
{
	const struct rte_ipv4_hdr *ip = packet_ip(m);
	const uint16_t *l4 = packet_l4(m);
	enum nat_proto proto = NAT_TCP;
	const struct nat_key *key;
	enum drop cause;

	if (rte_be_to_cpu_32(ip->dst_addr) != chain->config.nat.address)
		return DROP_NOT_TRANSLATED;
	cause = find_proto(m, false, &proto);
	if (cause != DROP_NONE)
		return cause;
	key = nat_table_in(table, proto, rte_be_to_cpu_16(l4[layout[proto].destination]), now);
	if (key == NULL)
		return DROP_NO_TRANSLATION;
	rewrite(m, proto, false, key->address, key->port);
	return DROP_NONE;
}

/* Does the route of a packet lead outside? */
static bool
leaves(struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *ip = packet_ip(m);
	const struct hop *hop;
	uint32_t index;

	if (rte_lpm_lookup(chain->lpm, rte_be_to_cpu_32(ip->dst_addr), &index) != 0)
		return false; /* route.c drops it */
	hop = &chain->hops[index];
	return hop->kind != HOP_LOCAL && chain->config.ports[hop->port].outside;
}

static unsigned int
nat_filter(struct stage *stage, struct rte_mbuf **pkts, unsigned int n)
{
	uint64_t now = rte_rdtsc();
	unsigned int i, left = 0;

	if (table == NULL)
		return n;
	for (i = 0; i < n; i++) {
		enum drop cause = DROP_NONE;

		if (chain->config.ports[pkts[i]->port].outside)
			cause = translate_in(pkts[i], now);
		else if (leaves(pkts[i]))
			cause = translate_out(pkts[i], now);
		if (cause == DROP_NONE)
			pkts[left++] = pkts[i];
		else
			stage_drop(stage, pkts[i], cause);
	}
	return left;
}

static void
nat_tick(void)
{
	if (table == NULL)
		return;
	count(&chain->nat_expired, nat_table_age(table, AGE_ENTRIES, rte_rdtsc()));
	atomic_store_explicit(&chain->nat_used, nat_table_used(table), memory_order_relaxed);
}

static int
nat_open(struct chain *shared, struct stage *stage)
{
	uint64_t timeout[NAT_PROTOS];
	unsigned int i;

	(void)stage;
	chain = shared;
	if (chain->config.nat.line == 0)
		return 0;
	for (i = 0; i < NAT_PROTOS; i++)
		timeout[i] = chain->config.timeout[i] * rte_get_tsc_hz();
	table = nat_table_create(chain->config.nat.ports, timeout);
	if (table != NULL)
		return 0;
	complain("%s:%u: no memory for the translations: %s; give the EAL more (-m), or nat "
		"fewer ports", chain->config.file, chain->config.nat.line,
		rte_strerror(rte_errno));
	return -1;
}

static void
nat_close(void)
{
	nat_table_free(table);
	table = NULL;
}

const struct stage_ops nat_ops = {
	.name = "nat", .open = nat_open, .close = nat_close, .filter = nat_filter,
	.tick = nat_tick,
};
