/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the adapter does to packets on their way out beyond checksums: VLAN tags,
 * TCP segmentation. The wire is judged by the standards alone.
 */

#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "harness.h"

#define MAX_PACKET 40000
#define TCP_LEN 32            /* with 12 bytes of options */

static struct port_conf
offload_conf(struct rte_mempool *pool, uint64_t offloads)
{
	struct port_conf conf = port_conf(pool);

	conf.rxd = 32;
	conf.txd = 64;
	conf.eth.txmode.offloads = offloads | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	return conf;
}

/* ---- VLAN ---- */

static void
with_tag(uint8_t *tagged, const uint8_t *frame, size_t length, uint16_t tci)
{
	memcpy(tagged, frame, 12);
	tagged[12] = 0x81;
	tagged[13] = 0x00;
	tagged[14] = tci >> 8;
	tagged[15] = (uint8_t)tci;
	memcpy(tagged + 16, frame + 12, length - 12);
}

TEST(tx_vlan_tag_is_inserted_in_chains_of_any_length)
{
	static const uint16_t lengths[12] = { 20, 80, 3, 60, 60, 60, 60, 60, 60, 60, 60, 60 };
	struct port_conf conf = offload_conf(pool_create(1024, 2048),
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
	uint16_t port = port_up(0, &conf);
	uint8_t frame[700], tagged[704];
	unsigned int round, segments, i, index = 0;
	struct rte_mbuf *m;
	size_t length;

	capture_start(port);
	for (round = 0; round < 20; round++)
		for (segments = 1; segments <= RTE_DIM(lengths); segments++) {
			uint16_t tci = (uint16_t)(0x2000 * segments + 7 * round + 1);

			for (i = 0, length = 0; i < segments; i++)
				length += lengths[i];
			frame_make(frame, length, mac_foreign, segments);
			m = mbuf_chain(conf.pool, lengths, segments, frame);
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = tci;
			tx_all(port, 0, &m, 1);
			with_tag(tagged, frame, length, tci);
			check_capture(port, index++, tagged, length + 4);
			/* The next one has none: nothing is left of the tag. */
			m = mbuf_chain(conf.pool, lengths, segments, frame);
			m->vlan_tci = tci;
			tx_all(port, 0, &m, 1);
			check_capture(port, index++, frame, length);
		}
}

TEST(tx_vlan_flag_without_the_offload_is_ignored)
{
	struct port_conf conf = offload_conf(pool_create(1024, 2048), 0);
	uint16_t port = port_up(0, &conf);
	uint8_t frame[100];
	struct rte_mbuf *m;

	capture_start(port);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	m = mbuf_frame(conf.pool, frame, sizeof(frame));
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 5;
	CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 0);
	tx_all(port, 0, &m, 1);
	check_capture(port, 0, frame, sizeof(frame));
}

/* The longest that fits with its tag is sent; one byte more is a drop with a name. */
TEST(tx_vlan_tag_counts_towards_the_longest_frame)
{
	struct port_conf conf = offload_conf(pool_create(1024, 2048),
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
	uint16_t port = port_up(0, &conf);
	uint8_t frame[1519], tagged[1522];
	struct rte_mbuf *m;

	capture_start(port);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	m = mbuf_frame(conf.pool, frame, 1518);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0xfff;
	CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 1);
	tx_all(port, 0, &m, 1);
	with_tag(tagged, frame, 1518, 0xfff);
	check_capture(port, 0, tagged, sizeof(tagged));
	m = mbuf_frame(conf.pool, frame, 1519);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 0);
	tx_all(port, 0, &m, 1);
	CHECK_EQ(xstat_of(port, "tx_drop_size"), 1);
	CHECK_EQ(capture_count(port), 1);
}

/* ---- TSO ---- */

struct tso {
	bool ipv6, vlan;
	uint8_t flags;        /* TCP flags of the packet */
	uint16_t mss;
	uint32_t payload;
	uint32_t header;      /* up to the payload */
	uint16_t first;       /* bytes of the first mbuf */
	uint16_t rest;        /* bytes of each other one */
};

static uint8_t packet[MAX_PACKET];

static uint32_t
l3_len(const struct tso *t)
{
	return t->ipv6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
}

static void
make_packet(struct tso *t, uint32_t seed)
{
	struct frame_flow flow = flow_make(t->ipv6, IPPROTO_TCP, seed);
	struct rte_tcp_hdr *tcp;

	t->header = RTE_ETHER_HDR_LEN + l3_len(t) + TCP_LEN;
	frame_flow(packet, t->header + t->payload, mac_foreign, &flow);
	tcp = (struct rte_tcp_hdr *)(packet + RTE_ETHER_HDR_LEN + l3_len(t));
	tcp->data_off = TCP_LEN / 4 << 4;
	tcp->tcp_flags = t->flags;
	tcp->sent_seq = htobe32(0xfffff000u + seed);
	/* What the adapter has to fill in is wrong. */
	tcp->cksum = htobe16(0xdead);
	if (!t->ipv6)
		((struct rte_ipv4_hdr *)(packet + RTE_ETHER_HDR_LEN))->hdr_checksum = 0xbeef;
}

static struct rte_mbuf *
make_mbuf(const struct tso *t, struct rte_mempool *pool)
{
	uint16_t lengths[40];
	uint32_t total = t->header + t->payload, at = 0;
	unsigned int n = 0;
	struct rte_mbuf *m;

	for (; at < total; at += lengths[n - 1]) {
		uint32_t len = n == 0 ? t->first : t->rest;

		CHECK(n < RTE_DIM(lengths));
		lengths[n++] = (uint16_t)RTE_MIN(len, total - at);
	}
	m = mbuf_chain(pool, lengths, n, packet);
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG |
		(t->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM);
	if (t->vlan) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 0x6123;
	}
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = l3_len(t);
	m->l4_len = TCP_LEN;
	m->tso_segsz = t->mss;
	return m;
}

/* Piece number i: every field of its headers, and its payload. */
static void
check_piece(const struct tso *t, const uint8_t *wire, size_t length, unsigned int i)
{
	const struct rte_tcp_hdr *whole =
		(const void *)(packet + RTE_ETHER_HDR_LEN + l3_len(t));
	const struct rte_ipv4_hdr *ip = (const void *)(wire + RTE_ETHER_HDR_LEN);
	const struct rte_tcp_hdr *tcp = (const void *)(wire + RTE_ETHER_HDR_LEN + l3_len(t));
	uint32_t from = i * t->mss, len = RTE_MIN((uint32_t)t->mss, t->payload - from);
	bool last = from + len == t->payload;
	uint8_t flags = t->flags;

	CHECK_EQ(length, RTE_MAX(t->header + len, 60u));
	CHECK(memcmp(wire, packet, RTE_ETHER_HDR_LEN) == 0);
	CHECK(memcmp(wire + t->header, packet + t->header + from, len) == 0);
	if (!last)
		flags &= ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	if (i != 0)
		flags &= ~RTE_TCP_CWR_FLAG;
	CHECK_EQ(tcp->tcp_flags, flags);
	CHECK_EQ(be32toh(tcp->sent_seq), be32toh(whole->sent_seq) + from);
	CHECK(memcmp(tcp + 1, whole + 1, TCP_LEN - sizeof(*tcp)) == 0);
	if (t->ipv6) {
		const struct rte_ipv6_hdr *ip6 = (const void *)ip;

		CHECK_EQ(be16toh(ip6->payload_len), TCP_LEN + len);
		CHECK_EQ(rte_ipv6_udptcp_cksum_verify(ip6, tcp), 0);
		return;
	}
	CHECK_EQ(be16toh(ip->total_length), l3_len(t) + TCP_LEN + len);
	CHECK_EQ((uint16_t)(be16toh(ip->packet_id) - be16toh(((const struct rte_ipv4_hdr *)
		(const void *)(packet + RTE_ETHER_HDR_LEN))->packet_id)), i);
	CHECK_EQ(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	CHECK_EQ(rte_ipv4_udptcp_cksum_verify(ip, tcp), 0);
}

static void
check_tso(uint16_t port, struct rte_mempool *pool, struct tso t, uint32_t seed)
{
	unsigned int pieces = (t.payload + t.mss - 1) / t.mss, first = capture_count(port), i;
	struct rte_mbuf *m;

	make_packet(&t, seed);
	m = make_mbuf(&t, pool);
	CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 1);
	tx_all(port, 0, &m, 1);
	CHECK_EQ(capture_count(port) - first, pieces);
	for (i = 0; i < pieces; i++) {
		uint8_t untagged[MAX_PACKET];
		size_t length;
		const uint8_t *wire = capture_frame(port, first + i, &length);

		if (t.vlan) {
			CHECK(wire[12] == 0x81 && wire[13] == 0 && wire[14] == 0x61 &&
				wire[15] == 0x23);
			memcpy(untagged, wire, 12);
			memcpy(untagged + 12, wire + 16, length - 16);
			wire = untagged;
			length -= 4;
		}
		check_piece(&t, wire, length, i);
	}
	if (first > 1000)
		capture_clear(port);
}

/* All ways to lay the packet out in mbufs, at every place of the ring. */
TEST(tx_tso_of_ipv4_and_ipv6_in_any_layout)
{
	static const uint16_t layouts[][2] = { { 2048, 2048 }, { 54, 1460 }, { 66, 1000 },
		{ 30, 2000 }, { 20, 1024 }, { 14, 1500 }, { 500, 1300 } };
	static const uint32_t payloads[] = { 1, 536, 537, 1428, 4000, 9001, 29000 };
	static const uint16_t sizes[] = { 536, 1428, 1000 };
	struct port_conf conf = offload_conf(pool_create(2048, 2048),
		RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
	unsigned int l, p, s, seed = 0;
	uint16_t port = port_up(0, &conf);

	capture_start(port);
	for (l = 0; l < RTE_DIM(layouts); l++)
		for (p = 0; p < RTE_DIM(payloads); p++)
			for (s = 0; s < RTE_DIM(sizes); s++, seed++)
				check_tso(port, conf.pool, (struct tso){
					.ipv6 = seed % 2, .vlan = seed % 3 == 0, .mss = sizes[s],
					.flags = RTE_TCP_ACK_FLAG | RTE_TCP_PSH_FLAG |
						(seed % 5 == 0 ? RTE_TCP_FIN_FLAG : 0) |
						(seed % 7 == 0 ? RTE_TCP_CWR_FLAG : 0),
					.payload = payloads[p], .first = layouts[l][0],
					.rest = layouts[l][1],
				}, seed);
	CHECK_EQ(stats_of(port).opackets, seed);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/*
 * TCP inside VXLAN. Each piece is taken apart: the outer headers by their lengths
 * and checksum, the inner frame as any other piece.
 */
#define OUTER (RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr))
#define VXLAN_LEN 8u

static void
make_outer(uint8_t *outer)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(outer + RTE_ETHER_HDR_LEN);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	memset(outer, 0, OUTER + VXLAN_LEN);
	memcpy(outer, mac_foreign, 6);
	memcpy(outer + 6, mac_sender, 6);
	outer[12] = 0x08;
	ip->version_ihl = 0x45;
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->packet_id = htobe16(0xfffe);
	ip->src_addr = htobe32(0x0a000001);
	ip->dst_addr = htobe32(0x0a000002);
	ip->hdr_checksum = 0xbeef;
	udp->src_port = htobe16(1234);
	udp->dst_port = htobe16(4789);
	outer[OUTER] = 0x08; /* a VNI is given */
	outer[OUTER + 5] = 42;
}

static void
check_vxlan_piece(const struct tso *t, const uint8_t *wire, size_t length, unsigned int i)
{
	const struct rte_ipv4_hdr *ip = (const void *)(wire + RTE_ETHER_HDR_LEN);
	const struct rte_udp_hdr *udp = (const void *)(ip + 1);

	CHECK(length > OUTER + VXLAN_LEN);
	CHECK_EQ(be16toh(ip->total_length), length - RTE_ETHER_HDR_LEN);
	CHECK_EQ(be16toh(ip->packet_id), (uint16_t)(0xfffe + i));
	CHECK_EQ(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
	CHECK_EQ(be16toh(udp->dgram_len), length - RTE_ETHER_HDR_LEN - sizeof(*ip));
	CHECK_EQ(udp->dgram_cksum, 0);
	CHECK_EQ(wire[OUTER + 5], 42);
	/* Long enough, so that nothing was padded. */
	check_piece(t, wire + OUTER + VXLAN_LEN, length - OUTER - VXLAN_LEN, i);
}

TEST(tx_tso_inside_vxlan)
{
	struct port_conf conf = offload_conf(pool_create(2048, 2048),
		RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM);
	unsigned int seed, i, pieces;
	struct rte_eth_dev_info info;
	uint16_t port = port_open(0);
	struct rte_mbuf *m;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	if ((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO) == 0)
		test_skip("this card knows no tunnels");
	port_configure(port, &conf);
	port_start(port, &conf);
	capture_start(port);
	for (seed = 0; seed < 60; seed++) {
		struct tso t = { .ipv6 = seed % 2, .mss = 700 + seed, .first = 40 + 30 * seed,
			.rest = 1500, .payload = 2000 + 400 * seed, .flags = RTE_TCP_ACK_FLAG |
				RTE_TCP_PSH_FLAG };
		char *outer;

		make_packet(&t, seed);
		m = make_mbuf(&t, conf.pool);
		outer = rte_pktmbuf_prepend(m, OUTER + VXLAN_LEN);
		CHECK(outer != NULL);
		make_outer((uint8_t *)outer);
		m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IPV4 |
			RTE_MBUF_F_TX_OUTER_IP_CKSUM;
		m->outer_l2_len = RTE_ETHER_HDR_LEN;
		m->outer_l3_len = sizeof(struct rte_ipv4_hdr);
		m->l2_len = sizeof(struct rte_udp_hdr) + VXLAN_LEN + RTE_ETHER_HDR_LEN;
		CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 1);
		tx_all(port, 0, &m, 1);
		pieces = (t.payload + t.mss - 1) / t.mss;
		CHECK_EQ(capture_count(port), pieces);
		for (i = 0; i < pieces; i++) {
			size_t length;
			const uint8_t *wire = capture_frame(port, i, &length);

			check_vxlan_piece(&t, wire, length, i);
		}
		capture_clear(port);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Among packets of other kinds, with the ring full to the last block. */
TEST(tx_tso_in_a_full_ring_with_others)
{
	struct port_conf conf = offload_conf(pool_create(4096, 2048), RTE_ETH_TX_OFFLOAD_TCP_TSO);
	struct tso t = { .mss = 500, .payload = 6000, .first = 40, .rest = 400,
		.flags = RTE_TCP_ACK_FLAG };
	struct rte_mbuf *pkts[96];
	uint16_t port;
	uint8_t frame[60];
	unsigned int round, i, n = 0, sent, want = 0;

	conf.txd = 32;
	port = port_up(0, &conf);
	make_packet(&t, 1);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			pkts[i] = (i + round) % 3 != 0 ? mbuf_frame(conf.pool, frame, 60) :
				make_mbuf(&t, conf.pool);
			want += (i + round) % 3 != 0 ? 1 : 12;
		}
		for (n = 0; n < RTE_DIM(pkts); n += sent) {
			sent = rte_eth_tx_burst(port, 0, pkts + n, RTE_DIM(pkts) - n);
			settle();
			if (sent == 0)
				settle();
		}
	}
	settle();
	CHECK_EQ(wire_stats(port).tx_frames, want);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

static void
refuse(uint16_t port, struct rte_mbuf *m)
{
	uint64_t before = xstat_of(port, "tx_drop_tso");

	CHECK_EQ(rte_eth_tx_prepare(port, 0, &m, 1), 0);
	CHECK_EQ(rte_errno, EINVAL);
	tx_all(port, 0, &m, 1);
	CHECK_EQ(xstat_of(port, "tx_drop_tso"), before + 1);
}

TEST(tx_tso_that_cannot_be_is_dropped_under_a_name)
{
	struct port_conf conf = offload_conf(pool_create(1024, 2048), RTE_ETH_TX_OFFLOAD_TCP_TSO);
	struct tso t = { .mss = 1448, .payload = 3000, .first = 1500, .rest = 1500,
		.flags = RTE_TCP_ACK_FLAG };
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *m;

	capture_start(port);
	make_packet(&t, 1);
	m = make_mbuf(&t, conf.pool);
	m->tso_segsz = 0;
	refuse(port, m);
	m = make_mbuf(&t, conf.pool);
	m->tso_segsz = 1500; /* with its headers longer than the MTU */
	refuse(port, m);
	m = make_mbuf(&t, conf.pool);
	m->l4_len = 0;
	refuse(port, m);
	m = make_mbuf(&t, conf.pool);
	m->l3_len = 300;
	refuse(port, m);
	t.payload = 0;
	m = make_mbuf(&t, conf.pool);
	refuse(port, m);
	t.payload = 3000;
	m = make_mbuf(&t, conf.pool);
	m->pkt_len += 7;
	refuse(port, m);
	CHECK_EQ(capture_count(port), 0);
	check_tso(port, conf.pool, t, 9);
}
