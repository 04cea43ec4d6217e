/* SPDX-License-Identifier: BSD-3-Clause */

/* What the port says of itself, and what it says of packets. */

#include <netinet/in.h>

#include <rte_ip.h>

#include "harness.h"

static struct rte_eth_dev_info
info_of(uint16_t port)
{
	struct rte_eth_dev_info info;

	memset(&info, 0, sizeof(info));
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	/* What configure changes by definition. */
	info.nb_rx_queues = info.nb_tx_queues = 0;
	return info;
}

TEST(info_is_not_changed_by_configure_start_stop)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_dev_info first = info_of(port), now;
	unsigned int i;

	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	for (i = 0; i < 4; i++) {
		conf.rxq = 1 + i;
		conf.txq = 4 - i;
		port_configure(port, &conf);
		now = info_of(port);
		/* The table is as large as the number of queues makes it. */
		CHECK(now.reta_size >= conf.rxq);
		first.reta_size = now.reta_size;
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
		port_start(port, &conf);
		now = info_of(port);
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
		CHECK_OK(rte_eth_dev_stop(port));
		now = info_of(port);
		CHECK(memcmp(&first, &now, sizeof(now)) == 0);
	}
}

TEST(info_names_the_driver_and_its_limits)
{
	uint16_t first = port_open(0), second = port_open(1);
	struct rte_eth_dev_info info = info_of(first);
	char version[64] = "";

	CHECK_MSG(strstr(info.driver_name, "net_mlx4dv") != NULL, "driver '%s'",
		info.driver_name);
	CHECK(info.device != NULL);
	CHECK(info.if_index > 0);
	CHECK(info.if_index != info_of(second).if_index);
	CHECK(info.max_rx_queues >= 16 && info.max_tx_queues >= 16);
	CHECK(info.max_mac_addrs > 1);
	CHECK(info.min_rx_bufsize > 0);
	CHECK(info.max_rx_pktlen >= 9018);
	CHECK(info.speed_capa != 0);
	CHECK_EQ(info.hash_key_size, 40);
	CHECK((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0);
	CHECK((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0);
	/* Offered here, the application would take it for working. */
	CHECK_EQ(info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0);
	CHECK_OK(rte_eth_dev_fw_version_get(first, version, sizeof(version)));
	CHECK_MSG(version[0] >= '0' && version[0] <= '9', "firmware '%s'", version);
	CHECK(rte_eth_dev_fw_version_get(first, version, 1) > 1);
}

TEST(info_queue_configuration_default_works)
{
	struct rte_mempool *pool = pool_create(8192, 2048);
	uint16_t port = port_open(0);
	struct rte_eth_dev_info info = info_of(port);
	struct rte_eth_conf eth = { 0 };

	CHECK_OK(rte_eth_dev_configure(port, 1, 1, &eth));
	CHECK_OK(rte_eth_rx_queue_setup(port, 0, 0, SOCKET_ID_ANY, &info.default_rxconf, pool));
	CHECK_OK(rte_eth_tx_queue_setup(port, 0, 0, SOCKET_ID_ANY, &info.default_txconf));
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
}

/* Offloads that were offered can be had, all at once. */
TEST(info_all_offered_offloads_can_be_enabled)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_dev_info info = info_of(port);

	conf.eth.rxmode.offloads = info.rx_offload_capa & ~RTE_ETH_RX_OFFLOAD_KEEP_CRC;
	conf.eth.txmode.offloads = info.tx_offload_capa & ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}

/* As it lies in memory after the frame: CRC-32, least significant byte first. */
static uint32_t
fcs_of(const uint8_t *frame, size_t length)
{
	uint32_t crc = UINT32_MAX;
	unsigned int bit;

	while (length-- > 0) {
		crc ^= *frame++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return rte_cpu_to_le_32(~crc);
}

TEST(info_keep_crc_if_offered_keeps_it)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct rte_mbuf *m;
	uint8_t frame[64];
	unsigned int length;
	uint32_t fcs;

	if ((info_of(port).rx_offload_capa & RTE_ETH_RX_OFFLOAD_KEEP_CRC) == 0)
		test_skip("KEEP_CRC is not offered");
	for (length = 60; length <= 64; length++) {
		conf.eth.rxmode.offloads = length % 2 == 0 ? RTE_ETH_RX_OFFLOAD_KEEP_CRC : 0;
		port_configure(port, &conf);
		port_start(port, &conf);
		frame_make(frame, length, mac_foreign, length);
		wire_inject(port, frame, length);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		/* The length is the frame's; the FCS lies behind the data. */
		CHECK_EQ(m->pkt_len, length);
		CHECK(memcmp(rte_pktmbuf_mtod(m, void *), frame, length) == 0);
		fcs = fcs_of(frame, length);
		if (length % 2 == 0)
			CHECK(memcmp(rte_pktmbuf_mtod_offset(m, void *, length), &fcs, 4) == 0);
		rte_pktmbuf_free(m);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

/* ---- packet types and checksums ---- */

struct kind {
	const char *name;
	uint32_t ptype;        /* required, within the mask */
	uint64_t ip, l4;       /* checksum flags with the offload on */
	unsigned int length;
	uint8_t frame[256];
};

#define KINDS 16
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
	kind = &kinds[n++];
	kind->name = "not IP";
	kind->length = 90;
	kind->ip = kind->l4 = ANY;
	frame_make(kind->frame, kind->length, mac_broadcast, 5);
	return n;
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

TEST(info_packet_types_and_checksums_of_each_kind)
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

/* The other way: UDP that says "no checksum", a fragment: sent as they are. */
TEST(info_tx_checksums_only_where_asked)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	struct rte_eth_dev_info info = info_of(port);
	struct kind kinds[KINDS];
	uint8_t want[256];
	struct rte_mbuf *m;
	unsigned int n = make_kinds(kinds), i;

	if ((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) == 0)
		test_skip("no TX checksum offload");
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
		(info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
			RTE_ETH_TX_OFFLOAD_TCP_CKSUM));
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
