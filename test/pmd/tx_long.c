/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Chains whose WQEs take several blocks, in bursts: of any pools, at every place of the
 * ring, with what makes no sense among them.
 */

#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "harness.h"

#define MAX_SEGMENTS 31
#define BURST 24
#define SEGMENT 200          /* bytes, at most */

static struct rte_mempool *pools[3];

struct sample {
	uint8_t bytes[MAX_SEGMENTS * SEGMENT];
	size_t length;
	struct rte_mbuf *m;
	const char *drop;         /* the counter of one that is not to be sent, or NULL */
};

static struct sample samples[BURST];

static uint16_t
long_port(struct rte_mempool *rx_pool, uint16_t txd)
{
	struct port_conf conf = port_conf(rx_pool);
	unsigned int i;

	/* Each has memory of its own, and the queue a key for each. */
	for (i = 0; i < RTE_DIM(pools); i++)
		pools[i] = pool_create(2048, SEGMENT);
	conf.txd = txd;
	conf.rxd = 32;
	conf.eth.rxmode.mtu = 9000;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return port_up(0, &conf);
}

/* A chain of so many segments; only the first has a length for sure. */
static void
make_chain(struct rng *rng, struct sample *to, unsigned int segs, bool mixed)
{
	struct rte_mempool *one = pools[rng_below(rng, RTE_DIM(pools))];
	struct rte_mbuf **link = &to->m, *m = NULL;
	unsigned int i, left = (unsigned int)to->length, length;

	for (i = 0; i < segs; i++, link = &m->next) {
		m = rte_pktmbuf_alloc(mixed ? pools[rng_below(rng, RTE_DIM(pools))] : one);
		CHECK(m != NULL);
		length = i + 1 == segs ? left : RTE_MIN(left, 1 + rng_below(rng, SEGMENT - 1));
		length = RTE_MIN(length, (unsigned int)SEGMENT);
		memcpy(rte_pktmbuf_append(m, (uint16_t)length),
			to->bytes + to->length - left, length);
		left -= length;
		*link = m;
	}
	/* Without what found no room. */
	to->length -= left;
	to->m->nb_segs = (uint16_t)segs;
	to->m->pkt_len = (uint32_t)to->length;
}

static struct rte_mbuf *
segment_at(struct rte_mbuf *m, unsigned int index)
{
	while (index-- != 0)
		m = m->next;
	return m;
}

/* Empty segments take no part; counts that are not true have the packet dropped. */
static void
spoil(struct rng *rng, struct sample *to, unsigned int segs)
{
	struct rte_mbuf *empty, *before = segment_at(to->m, rng_below(rng, segs));

	switch (rng_below(rng, 12)) {
	case 0:
		if (segs == MAX_SEGMENTS)
			return;
		empty = rte_pktmbuf_alloc(pools[0]);
		CHECK(empty != NULL);
		empty->next = before->next;
		before->next = empty;
		to->m->nb_segs++;
		return;
	case 1:
		to->m->nb_segs++;
		break;
	case 2:
		/* Of one that claims to be alone nobody looks at more. */
		if (segs <= 2)
			return;
		to->m->nb_segs--;
		break;
	default:
		return;
	}
	to->drop = "tx_drop_segments";
}

static void
make_sample(struct rng *rng, struct sample *to, bool mixed, uint64_t serial)
{
	unsigned int segs = 1 + rng_below(rng, MAX_SEGMENTS);

	if (rng_below(rng, 3) == 0)
		segs = 4 + rng_below(rng, 5);
	to->drop = NULL;
	to->length = RTE_MAX(60u, segs + rng_below(rng, segs * SEGMENT - segs));
	frame_make(to->bytes, to->length, mac_foreign, serial);
	make_chain(rng, to, segs, mixed);
	spoil(rng, to, segs);
}

/* Send a burst, and see on the wire what of it is to be there. */
static void
send_samples(uint16_t port, unsigned int n)
{
	unsigned int i, sent = 0, dropped = 0;
	struct rte_mbuf *pkts[BURST];
	uint64_t before = xstat_of(port, "tx_drop_segments");

	capture_clear(port);
	for (i = 0; i < n; i++)
		pkts[i] = samples[i].m;
	tx_all(port, 0, pkts, n);
	for (i = 0; i < n; i++) {
		if (samples[i].drop != NULL)
			dropped++;
		else
			check_capture(port, sent++, samples[i].bytes, samples[i].length);
	}
	CHECK_EQ(capture_count(port), sent);
	CHECK_EQ(xstat_of(port, "tx_drop_segments") - before, dropped);
}

static void
send_many(uint16_t txd, uint64_t seed, bool mixed)
{
	uint16_t port = long_port(pool_create(256, 2048), txd);
	struct rng rng = { seed };
	unsigned int round, i, n;
	uint64_t serial = 0;

	capture_start(port);
	for (round = 0; round < 250; round++) {
		n = 1 + rng_below(&rng, BURST);
		for (i = 0; i < n; i++)
			make_sample(&rng, &samples[i], mixed, serial++);
		send_samples(port, n);
	}
	/* One more burst, of nothing, has the last ones back. */
	for (i = 0; i < 3; i++) {
		settle();
		CHECK_EQ(rte_eth_tx_burst(port, 0, NULL, 0), 0);
	}
	for (i = 0; i < RTE_DIM(pools); i++)
		CHECK_EQ(rte_mempool_avail_count(pools[i]), 2048);
	CHECK_EQ(xstat_of(port, "tx_drop_size"), 0);
	CHECK_EQ(stats_of(port).oerrors, xstat_of(port, "tx_drop_segments"));
}

TEST(tx_long_chains_of_one_pool)
{
	send_many(128, 3, false);
}

TEST(tx_long_chains_of_many_pools)
{
	send_many(128, 4, true);
}

/* Where a WQE may take a good part of the ring, and wraps every few of them. */
TEST(tx_long_chains_on_a_small_ring)
{
	send_many(32, 5, true);
}

/* CQEs are asked for often enough: the ring drains while bursts of chains alone keep coming. */
TEST(tx_long_chains_drain)
{
	uint16_t port = long_port(pool_create(256, 2048), 512), lengths[16];
	uint8_t frame[16 * 40] = { 2, 0, 0, 0, 0, 9 };
	unsigned int round, i, sent;
	struct rte_mbuf *pkts[16];

	for (i = 0; i < RTE_DIM(lengths); i++)
		lengths[i] = 40;
	for (round = 0; round < 200; round++) {
		for (i = 0; i < RTE_DIM(pkts); i++)
			pkts[i] = mbuf_chain(pools[round % RTE_DIM(pools)], lengths,
				4 + (round + i) % 13, frame);
		sent = rte_eth_tx_burst(port, 0, pkts, RTE_DIM(pkts));
		CHECK_EQ(sent, RTE_DIM(pkts));
		/* The adapter is behind by two bursts, of up to 80 blocks. */
		CHECK(vmlx4_step(RTE_DIM(pkts)) >= 0);
	}
	settle();
	CHECK_EQ(rte_eth_tx_burst(port, 0, NULL, 0), 0);
	CHECK_EQ(stats_of(port).opackets, 200 * RTE_DIM(pkts));
}

/* Into the ring until it takes no more, while the adapter stands still. */
TEST(tx_long_chains_fill_the_ring)
{
	uint16_t port = long_port(pool_create(256, 2048), 96), lengths[MAX_SEGMENTS];
	static uint8_t frames[96][MAX_SEGMENTS * 30];
	unsigned int round, i, n, segs[96];
	struct rte_mbuf *m;

	for (i = 0; i < MAX_SEGMENTS; i++)
		lengths[i] = 30;
	capture_start(port);
	for (round = 0; round < 12; round++) {
		capture_clear(port);
		for (n = 0; n < RTE_DIM(segs); n++) {
			segs[n] = 4 + (n + round) % (MAX_SEGMENTS - 4);
			frame_make(frames[n], segs[n] * 30, mac_foreign, n);
			m = mbuf_chain(pools[0], lengths, segs[n], frames[n]);
			if (rte_eth_tx_burst(port, 0, &m, 1) == 0) {
				rte_pktmbuf_free(m);
				break;
			}
		}
		/* 223 blocks can be filled, of up to 8 each. */
		CHECK_MSG(n > 30 && n < RTE_DIM(segs), "%u chains are in a ring of 256 blocks", n);
		settle();
		CHECK_EQ(capture_count(port), n);
		for (i = 0; i < n; i++)
			check_capture(port, i, frames[i], segs[i] * 30);
	}
}

/* UDP over IPv4 with its checksums, or with none yet. */
static void
udp_frame(uint8_t *frame, uint16_t length, unsigned int serial, bool done)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + RTE_ETHER_HDR_LEN);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	uint16_t l3 = length - RTE_ETHER_HDR_LEN;

	frame_make(frame, length, mac_foreign, serial);
	((struct rte_ether_hdr *)frame)->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF, .time_to_live = 9, .next_proto_id = IPPROTO_UDP,
		.total_length = rte_cpu_to_be_16(l3), .src_addr = RTE_BE32(0xc6120001),
		.dst_addr = rte_cpu_to_be_32(serial),
	};
	*udp = (struct rte_udp_hdr){ .dgram_len = rte_cpu_to_be_16(l3 - sizeof(*ip)) };
	if (!done)
		return;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
}

/* Each chain asks for checksums of its own, or for none, whatever those before it did. */
TEST(tx_long_chains_with_checksums)
{
	struct port_conf conf = port_conf(pool_create(4096, 256));
	unsigned int round, i, segs, asks;
	uint16_t port, lengths[MAX_SEGMENTS], length;
	struct rte_mbuf *pkts[BURST];
	struct rng rng = { 6 };

	for (i = 0; i < MAX_SEGMENTS; i++)
		lengths[i] = i == 0 ? 64 : 20;
	conf.txd = 128;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
		RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	port = port_up(0, &conf);
	capture_start(port);
	for (round = 0; round < 40; round++) {
		capture_clear(port);
		for (i = 0; i < BURST; i++) {
			segs = 1 + rng_below(&rng, MAX_SEGMENTS);
			length = (uint16_t)(64 + 20 * (segs - 1));
			asks = rng_below(&rng, 2);
			udp_frame(samples[i].bytes, length, i, asks == 0);
			pkts[i] = mbuf_chain(conf.pool, lengths, segs, samples[i].bytes);
			pkts[i]->l2_len = RTE_ETHER_HDR_LEN;
			pkts[i]->l3_len = sizeof(struct rte_ipv4_hdr);
			if (asks != 0)
				pkts[i]->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
					RTE_MBUF_F_TX_UDP_CKSUM;
			udp_frame(samples[i].bytes, length, i, true);
			samples[i].length = length;
		}
		tx_all(port, 0, pkts, BURST);
		CHECK_EQ(capture_count(port), BURST);
		for (i = 0; i < BURST; i++)
			check_capture(port, i, samples[i].bytes, samples[i].length);
	}
}
