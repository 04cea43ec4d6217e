/* SPDX-License-Identifier: BSD-3-Clause */

/* Packet types and checksums, in and out. */

#include <netinet/in.h>

#include <rte_ip.h>

#include "harness.h"

struct kind {
	const char *name;
	uint32_t ptype;        /* required, within the mask */
	uint64_t ip, l4;       /* checksum flags with the offload on */
	unsigned int length;
	uint8_t frame[256];
};

#define KINDS 32
#define PTYPE_MASK (RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK)
#define IP4 RTE_PTYPE_L3_IPV4
#define IP6 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN
#define IP_GOOD RTE_MBUF_F_RX_IP_CKSUM_GOOD
#define IP_BAD RTE_MBUF_F_RX_IP_CKSUM_BAD
#define L4_GOOD RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define L4_BAD RTE_MBUF_F_RX_L4_CKSUM_BAD
#define ANY UINT64_MAX

static struct kind *
add_kind(struct kind *kind, const char *name, bool ipv6, uint8_t proto, uint64_t ip, uint64_t l4)
{
	struct frame_flow flow = flow_make(ipv6, proto, kind->length + proto);

	kind->name = name;
	kind->length = 120;
	kind->ip = ip;
	kind->l4 = l4;
	kind->ptype = ipv6 ? IP6 : IP4;
	if (proto == IPPROTO_TCP)
		kind->ptype |= RTE_PTYPE_L4_TCP;
	if (proto == IPPROTO_UDP)
		kind->ptype |= RTE_PTYPE_L4_UDP;
	frame_flow(kind->frame, kind->length, mac_broadcast, &flow);
	return kind;
}

static struct rte_ipv4_hdr *
ip_of(struct kind *kind)
{
	return (struct rte_ipv4_hdr *)(kind->frame + 14);
}

static void
mend_ip(struct kind *kind)
{
	ip_of(kind)->hdr_checksum = 0;
	ip_of(kind)->hdr_checksum = rte_ipv4_cksum(ip_of(kind));
}

/* Four bytes of options (no-operation) in front of the UDP header. */
static void
add_options(struct kind *kind)
{
	memmove(kind->frame + 38, kind->frame + 34, kind->length - 34);
	memset(kind->frame + 34, 1, 4);
	kind->length += 4;
	ip_of(kind)->version_ihl = 0x46;
	ip_of(kind)->total_length = rte_cpu_to_be_16(kind->length - 14);
	/* rte_ipv4_cksum() knows headers of 20 B only. */
	ip_of(kind)->hdr_checksum = 0;
	ip_of(kind)->hdr_checksum = ~rte_raw_cksum(kind->frame + 14, 24);
}

/* A tag in front of what there is: the adapter looks behind it. */
static void
add_tag(struct kind *kind)
{
	memmove(kind->frame + 16, kind->frame + 12, kind->length - 12);
	memcpy(kind->frame + 12, "\x81\x00\x20\x05", 4);
	kind->length += 4;
}

/* Those of before that have an IP header, tagged; and what a frame may have beyond. */
static unsigned int
add_neighbours(struct kind kinds[KINDS], unsigned int n)
{
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, 9);
	unsigned int i, untagged = n;
	struct kind *kind;

	for (i = 0; i < untagged && n < KINDS - 2; i++)
		if (strncmp(kinds[i].name, "IPv", 3) == 0 || kinds[i].ip == IP_GOOD) {
			kinds[n] = kinds[i];
			add_tag(&kinds[n++]);
		}
	/* 4 bytes of data, and zeros up to the shortest frame. */
	kind = add_kind(&kinds[n++], "padded IPv4 UDP", false, IPPROTO_UDP, IP_GOOD, L4_GOOD);
	memset(kind->frame, 0, sizeof(kind->frame));
	frame_flow(kind->frame, 46, mac_broadcast, &flow);
	kind->length = 60;
	kind = add_kind(&kinds[n++], "IPv6 hop-by-hop", true, IPPROTO_HOPOPTS, ANY, ANY);
	kind->ptype = RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
	memcpy(kind->frame + 54, (uint8_t[]){ IPPROTO_UDP, 0, 1, 4, 0, 0, 0, 0 }, 8);
	return n;
}

static unsigned int
make_kinds(struct kind kinds[KINDS])
{
	struct kind *kind;
	unsigned int n = 0;

	memset(kinds, 0, KINDS * sizeof(*kinds));
	add_kind(&kinds[n++], "IPv4 UDP", false, IPPROTO_UDP, IP_GOOD, L4_GOOD);
	add_kind(&kinds[n++], "IPv4 TCP", false, IPPROTO_TCP, IP_GOOD, L4_GOOD);
	add_kind(&kinds[n++], "IPv4 ICMP", false, IPPROTO_ICMP, IP_GOOD, ANY);
	add_kind(&kinds[n++], "IPv6 UDP", true, IPPROTO_UDP, ANY, L4_GOOD);
	add_kind(&kinds[n++], "IPv6 TCP", true, IPPROTO_TCP, ANY, L4_GOOD);
	kind = add_kind(&kinds[n++], "bad IPv4 checksum", false, IPPROTO_UDP, IP_BAD, ANY);
	ip_of(kind)->hdr_checksum ^= 0x0100;
	kind = add_kind(&kinds[n++], "bad UDP checksum", false, IPPROTO_UDP, IP_GOOD, L4_BAD);
	kind->frame[100] ^= 1;
	kind = add_kind(&kinds[n++], "bad TCP checksum", false, IPPROTO_TCP, IP_GOOD, L4_BAD);
	kind->frame[100] ^= 1;
	kind = add_kind(&kinds[n++], "bad IPv6 UDP checksum", true, IPPROTO_UDP, ANY, L4_BAD);
	kind->frame[100] ^= 1;
	/* No checksum is not a bad one. */
	kind = add_kind(&kinds[n++], "UDP without checksum", false, IPPROTO_UDP, IP_GOOD, ANY);
	kind->frame[40] = kind->frame[41] = 0;
	kind = add_kind(&kinds[n++], "first fragment", false, IPPROTO_UDP, IP_GOOD, ANY);
	ip_of(kind)->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG);
	kind->ptype = IP4 | RTE_PTYPE_L4_FRAG;
	mend_ip(kind);
	kind = add_kind(&kinds[n++], "later fragment", false, IPPROTO_UDP, IP_GOOD, ANY);
	ip_of(kind)->fragment_offset = rte_cpu_to_be_16(100);
	kind->ptype = IP4 | RTE_PTYPE_L4_FRAG;
	mend_ip(kind);
	kind = add_kind(&kinds[n++], "IPv4 options", false, IPPROTO_UDP, IP_GOOD, L4_GOOD);
	add_options(kind);
	kind->ptype = RTE_PTYPE_L3_IPV4_EXT | RTE_PTYPE_L4_UDP;
	kind = add_kind(&kinds[n++], "IPv6 fragment", true, IPPROTO_FRAGMENT, ANY, ANY);
	kind->ptype = RTE_PTYPE_L3_IPV6_EXT | RTE_PTYPE_L4_FRAG;
	memcpy(kind->frame + 54, (uint8_t[]){ IPPROTO_UDP, 0, 0, 1, 1, 2, 3, 4 }, 8);
	kind = add_kind(&kinds[n++], "ARP", false, IPPROTO_UDP, ANY, ANY);
	kind->ptype = 0;
	kind->frame[13] = 0x06;
	kind = &kinds[n++];
	kind->name = "not IP";
	kind->length = 90;
	kind->ip = kind->l4 = ANY;
	frame_make(kind->frame, kind->length, mac_broadcast, 5);
	return add_neighbours(kinds, n);
}

/* "May have options" is right as well; "has none" is not, when it has. */
static bool
l3_told(uint32_t told, uint32_t want)
{
	told &= RTE_PTYPE_L3_MASK;
	if (want == RTE_PTYPE_L3_IPV4 || want == RTE_PTYPE_L3_IPV4_EXT)
		return told == want || told == RTE_PTYPE_L3_IPV4_EXT_UNKNOWN;
	return told == want;
}

/*
 * Never a verdict on what has no checksum or cannot be checked; right verdicts
 * on the rest; the packet types told are those promised.
 */
static void
check_kind(uint16_t port, const struct kind *kind, bool offload, const uint32_t *supported,
	int nb_supported)
{
	struct rte_mbuf *m;
	uint64_t ip, l4;
	uint32_t part;
	int i, layer;

	wire_inject(port, kind->frame, kind->length);
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	check_mbuf(m, kind->frame, kind->length);
	ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	if (!offload)
		CHECK_MSG(ip == 0 && l4 == 0, "%s: flags 0x%llx without the offload", kind->name,
			(unsigned long long)m->ol_flags);
	else
		CHECK_MSG((kind->ip == ANY ? ip != IP_BAD : ip == kind->ip) &&
			(kind->l4 == ANY ? l4 != L4_BAD : l4 == kind->l4),
			"%s: flags 0x%llx", kind->name, (unsigned long long)m->ol_flags);
	CHECK_EQ(m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0);
	CHECK_MSG(l3_told(m->packet_type, kind->ptype & RTE_PTYPE_L3_MASK) &&
		((kind->ptype & RTE_PTYPE_L4_MASK) == 0 ||
		((kind->ptype ^ m->packet_type) & RTE_PTYPE_L4_MASK) == 0),
		"%s: packet type 0x%x, not 0x%x", kind->name, m->packet_type, kind->ptype);
	CHECK_EQ(m->packet_type & (RTE_PTYPE_TUNNEL_MASK | RTE_PTYPE_INNER_L3_MASK), 0);
	for (layer = 0; layer < 3; layer++) {
		part = m->packet_type & 0xfu << 4 * layer;
		for (i = 0; part != 0 && i < nb_supported; i++)
			if ((supported[i] & 0xfu << 4 * layer) == part)
				part = 0;
		CHECK_MSG(part == 0, "%s: packet type 0x%x is not among the supported ones",
			kind->name, m->packet_type);
	}
	rte_pktmbuf_free(m);
}

TEST(offload_packet_types_and_checksums_of_each_kind)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct kind kinds[KINDS];
	uint32_t supported[64];
	unsigned int n = make_kinds(kinds), i, offload;
	int nb_supported;

	for (offload = 0; offload < 2; offload++) {
		conf.eth.rxmode.offloads = offload ? RTE_ETH_RX_OFFLOAD_CHECKSUM : 0;
		port_configure(port, &conf);
		port_start(port, &conf);
		nb_supported = rte_eth_dev_get_supported_ptypes(port, PTYPE_MASK, supported,
			RTE_DIM(supported));
		CHECK(nb_supported > 0 && nb_supported <= (int)RTE_DIM(supported));
		for (i = 0; i < n; i++)
			check_kind(port, &kinds[i], offload, supported, nb_supported);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

/* ---- sending ---- */

#define TX_CHECKSUMS (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | \
	RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static void
require_tx(uint16_t port, uint64_t offloads)
{
	struct rte_eth_dev_info info;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	if ((info.tx_offload_capa & offloads) != offloads)
		test_skip("TX offloads 0x%llx are not offered", (unsigned long long)offloads);
}

/* "No checksum" stays none, and a fragment is not touched behind its IP header. */
TEST(offload_tx_ip_checksum_only_where_asked)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct kind kinds[KINDS];
	uint8_t want[256];
	struct rte_mbuf *m;
	unsigned int n = make_kinds(kinds), i;

	require_tx(port, TX_CHECKSUMS);
	conf.eth.txmode.offloads = TX_CHECKSUMS;
	port_configure(port, &conf);
	port_start(port, &conf);
	capture_start(port);
	for (i = 0; i < n; i++) {
		memcpy(want, kinds[i].frame, kinds[i].length);
		m = mbuf_frame(conf.pool, kinds[i].frame, kinds[i].length);
		if (kinds[i].ip != ANY && ip_of(&kinds[i])->version_ihl == 0x45) {
			struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(want + 14);

			ip->hdr_checksum = 0;
			ip->hdr_checksum = rte_ipv4_cksum(ip);
			m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
			m->l2_len = 14;
			m->l3_len = 20;
			/* Whatever was there is to be overwritten. */
			rte_pktmbuf_mtod_offset(m, uint8_t *, 24)[0] ^= 0x55;
		}
		tx_all(port, 0, &m, 1);
		check_capture(port, i, want, kinds[i].length);
	}
}

/* Flags of a packet's former life are no orders. */
TEST(offload_tx_stray_flags_change_nothing)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct frame_flow flow = flow_make(false, 17, 4);
	uint8_t frame[120];
	struct rte_mbuf *m;
	unsigned int bit, index = 0;

	capture_start(port);
	frame_flow(frame, sizeof(frame), mac_foreign, &flow);
	frame[40] = 0x12; /* a UDP checksum that nobody may mend */
	for (bit = 0; bit < 23; bit++) {
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		m->ol_flags |= 1ull << bit; /* RTE_MBUF_F_RX_* */
		m->vlan_tci = 0x0fff;
		m->packet_type = RTE_PTYPE_L4_UDP;
		m->hash.rss = bit;
		tx_all(port, 0, &m, 1);
		check_capture(port, index++, frame, sizeof(frame));
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Where the L4 checksum lies, from the start of the frame. */
static unsigned int
l4_checksum_at(const struct frame_flow *flow)
{
	return 14 + (flow->ipv6 ? 40 : 20) + (flow->proto == IPPROTO_UDP ? 6 : 16);
}

/*
 * Every combination of IP version, protocol and what is asked for: that is
 * computed, whatever stood there, and nothing else is changed.
 */
TEST(offload_tx_checksums_of_every_kind)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	uint8_t good[300], frame[300], want[300];
	unsigned int i, length, index = 0;
	struct rte_mbuf *m;

	require_tx(port, TX_CHECKSUMS);
	conf.eth.txmode.offloads = TX_CHECKSUMS;
	port_configure(port, &conf);
	port_start(port, &conf);
	capture_start(port);
	for (i = 0; i < 16; i++)
		for (length = 74; length < 300; length += 13) {
			bool udp = i & 1, ipv6 = i & 2, ask_ip = i & 4, ask_l4 = i & 8;
			struct frame_flow flow = flow_make(ipv6, udp ? IPPROTO_UDP : IPPROTO_TCP,
				length);
			unsigned int at = l4_checksum_at(&flow);

			if (ipv6 && ask_ip)
				continue; /* IPv6 has none */
			frame_flow(good, length, mac_foreign, &flow);
			memcpy(frame, good, length);
			frame[at] ^= 0x5a;
			frame[24] ^= ipv6 ? 0 : 0xa5;
			memcpy(want, frame, length);
			if (ask_l4)
				memcpy(want + at, good + at, 2);
			if (ask_ip)
				memcpy(want + 24, good + 24, 2);
			m = mbuf_frame(conf.pool, frame, length);
			m->ol_flags = ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
			m->ol_flags |= ask_ip ? RTE_MBUF_F_TX_IP_CKSUM : 0;
			m->ol_flags |= !ask_l4 ? 0 :
				udp ? RTE_MBUF_F_TX_UDP_CKSUM : RTE_MBUF_F_TX_TCP_CKSUM;
			m->l2_len = 14;
			m->l3_len = ipv6 ? 40 : 20;
			m->l4_len = udp ? 8 : 20;
			tx_all(port, 0, &m, 1);
			check_capture(port, index++, want, length);
		}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

#define VXLAN_HEADERS (14 + 20 + 8 + 8)

/* An IPv4/UDP/VXLAN header in front of a whole frame. */
static unsigned int
encapsulate(uint8_t *frame, const uint8_t *inner, unsigned int length)
{
	struct frame_flow outer = flow_make(false, IPPROTO_UDP, 4789);

	outer.dst_port = 4789;
	memset(frame, 0, VXLAN_HEADERS);
	frame_flow(frame, VXLAN_HEADERS + length, mac_broadcast, &outer);
	memset(frame + 40, 0, 10); /* no outer UDP checksum; VXLAN header */
	frame[42] = 0x08;
	memcpy(frame + VXLAN_HEADERS, inner, length);
	return VXLAN_HEADERS + length;
}

/* Tunnel flags ask for what they name: outer, inner, or both. */
TEST(offload_tx_tunnel_checksums)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct frame_flow flow = flow_make(false, IPPROTO_TCP, 5);
	uint16_t port = port_open(0);
	uint8_t inner[200], good[300], frame[300], want[300];
	unsigned int i, length;
	struct rte_mbuf *m;

	require_tx(port, TX_CHECKSUMS | RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM);
	conf.eth.txmode.offloads = TX_CHECKSUMS | RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM;
	port_configure(port, &conf);
	port_start(port, &conf);
	capture_start(port);
	frame_flow(inner, sizeof(inner), mac_sender, &flow);
	length = encapsulate(good, inner, sizeof(inner));
	for (i = 0; i < 8; i++) {
		bool outer = i & 1, inner_ip = i & 2, inner_l4 = i & 4;

		memcpy(frame, good, length);
		frame[24] ^= 0x11;
		frame[VXLAN_HEADERS + 24] ^= 0x22;
		frame[VXLAN_HEADERS + 50] ^= 0x33;
		memcpy(want, frame, length);
		if (outer)
			memcpy(want + 24, good + 24, 2);
		if (inner_ip)
			memcpy(want + VXLAN_HEADERS + 24, good + VXLAN_HEADERS + 24, 2);
		if (inner_l4)
			memcpy(want + VXLAN_HEADERS + 50, good + VXLAN_HEADERS + 50, 2);
		m = mbuf_frame(conf.pool, frame, length);
		m->ol_flags = RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_IPV4 |
			RTE_MBUF_F_TX_TUNNEL_VXLAN;
		m->ol_flags |= outer ? RTE_MBUF_F_TX_OUTER_IP_CKSUM : 0;
		m->ol_flags |= inner_ip ? RTE_MBUF_F_TX_IP_CKSUM : 0;
		m->ol_flags |= inner_l4 ? RTE_MBUF_F_TX_TCP_CKSUM : 0;
		m->outer_l2_len = 14;
		m->outer_l3_len = 20;
		m->l2_len = 8 + 8 + 14;
		m->l3_len = 20;
		m->l4_len = 20;
		tx_all(port, 0, &m, 1);
		check_capture(port, i, want, length);
	}
	/* The outer one alone, of a packet whose inner part has no flags at all. */
	m = mbuf_frame(conf.pool, frame, length);
	memcpy(want, frame, length);
	memcpy(want + 24, good + 24, 2);
	m->ol_flags = RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_IPV6 |
		RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IP_CKSUM;
	m->outer_l2_len = 14;
	m->outer_l3_len = 20;
	tx_all(port, 0, &m, 1);
	check_capture(port, 8, want, length);
	CHECK_EQ(stats_of(port).oerrors, 0);
}
