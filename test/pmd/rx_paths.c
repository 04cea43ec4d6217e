/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random traffic, and a line for each packet received: the receive paths of all
 * instruction sets must print the same. test_rx_paths.py compares them; alone, each
 * test checks that what came is what was sent, and how many.
 */

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

#include "harness.h"

#define ROUNDS 60
#define RING 128
#define SPARE 90           /* mbufs beyond the rings': now and then there are none */
#define BURST_MAX 80

/* FNV-1a */
static uint64_t
digest(const struct rte_mbuf *m)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	uint16_t i;

	for (; m != NULL; m = m->next)
		for (i = 0; i < m->data_len; i++)
			hash = (hash ^ rte_pktmbuf_mtod(m, const uint8_t *)[i]) *
				UINT64_C(0x100000001b3);
	return hash;
}

static void
print_packet(const struct rte_mbuf *m)
{
	printf("packet len %u %u segs %u off %u port %u refcnt %u flags %" PRIx64 " type %x "
		"hash %x vlan %x/%x data %" PRIx64 "\n", m->pkt_len, m->data_len, m->nb_segs,
		m->data_off, m->port, rte_mbuf_refcnt_read(m), m->ol_flags, m->packet_type,
		(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0,
		(m->ol_flags & RTE_MBUF_F_RX_VLAN) != 0 ? m->vlan_tci : 0,
		(m->ol_flags & RTE_MBUF_F_RX_QINQ) != 0 ? m->vlan_tci_outer : 0, digest(m));
}

/* An ordinary frame most of the time; else one that some branch is there for. */
static size_t
random_frame(struct rng *rng, uint8_t *frame)
{
	static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_TCP, IPPROTO_SCTP };
	size_t length = 94 + rng_below(rng, rng_below(rng, 4) == 0 ? 1400 : 60);
	uint32_t kind = rng_below(rng, 16), at = 14 + rng_below(rng, 40);
	struct frame_flow flow = flow_make(rng_below(rng, 3) == 0, protos[rng_below(rng, 3)],
		rng_next(rng));

	if (kind == 0) {
		frame_make(frame, length, mac_foreign, rng_next(rng));
		return length;
	}
	frame_flow(frame, length, mac_foreign, &flow);
	/* Damage somewhere in the headers: checksums, options, fragments, versions. */
	if (kind <= 3)
		frame[at] ^= (uint8_t)(1u << rng_below(rng, 8));
	/* A tag, or two. */
	for (; kind >= 14 && length < 1490; kind = rng_below(rng, 30)) {
		memmove(frame + 16, frame + 12, length - 12);
		frame[12] = rng_below(rng, 4) == 0 ? 0x88 : 0x81;
		frame[13] = frame[12] == 0x88 ? 0xa8 : 0x00;
		frame[14] = (uint8_t)rng_below(rng, 16);
		frame[15] = (uint8_t)rng_next(rng);
		length += 4;
	}
	return length;
}

static void
print_mode(uint16_t port)
{
	struct rte_eth_burst_mode mode;

	CHECK_OK(rte_eth_rx_burst_mode_get(port, 0, &mode));
	printf("mode %s\n", mode.info);
}

static void
run_with(struct rte_mempool *pool, uint64_t offloads, uint64_t seed, uint16_t queues)
{
	struct port_conf conf = port_conf(pool);
	struct rte_mbuf *m[BURST_MAX], *kept[SPARE];
	struct rng rng = { seed };
	unsigned int round, i, n, q, nb_kept = 0, wanted, got;
	uint8_t frame[FRAME_MAX];
	uint64_t sent = 0, came = 0;
	uint16_t port;

	conf.rxq = queues;
	conf.rxd = RING;
	conf.eth.rxmode.offloads = offloads;
	if ((offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 || queues > 1) {
		conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
			RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
			RTE_ETH_RSS_IPV6;
	}
	port = port_up(0, &conf);
	print_mode(port);
	for (round = 0; round < ROUNDS; round++) {
		wanted = rng_below(&rng, BURST_MAX) + 1;
		for (i = 0; i < wanted; i++)
			wire_inject(port, frame, random_frame(&rng, frame));
		settle();
		sent += wanted;
		/* Bursts of any length, from any queue. */
		for (q = 0; q < queues; q++)
			do {
				n = rng_below(&rng, BURST_MAX) + 1;
				got = rte_eth_rx_burst(port, (uint16_t)q, m, (uint16_t)n);
				for (i = 0; i < got; i++)
					print_packet(m[i]);
				came += got;
				/* Some stay away for a while. */
				for (i = 0; i < got; i++)
					if (nb_kept < SPARE && rng_below(&rng, 3) == 0)
						kept[nb_kept++] = m[i];
					else
						rte_pktmbuf_free(m[i]);
			} while (got != 0);
		if (rng_below(&rng, 4) == 0) {
			free_mbufs(kept, nb_kept);
			nb_kept = 0;
		}
	}
	free_mbufs(kept, nb_kept);
	/* A burst without mbufs gives no packet and is not the last one. */
	came += rx_discard(port);
	CHECK_EQ(came + xstat_of(port, "rx_mbuf_allocation_errors") +
		xstat_of(port, "rx_missed_errors"), sent);
	CHECK(xstat_of(port, "rx_mbuf_allocation_errors") != 0);
	port_close(port);
}

static void
run(uint64_t offloads, uint64_t seed, uint16_t queues)
{
	run_with(pool_create((queues == 1 ? 1 : 4) * RING + SPARE, 2048), offloads, seed,
		queues);
}

TEST(rx_paths_plain)
{
	run(0, 1, 1);
}

TEST(rx_paths_keep_crc)
{
	run(RTE_ETH_RX_OFFLOAD_KEEP_CRC, 2, 1);
}

TEST(rx_paths_offloads)
{
	run(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH, 3, 1);
}

TEST(rx_paths_hash_alone)
{
	run(RTE_ETH_RX_OFFLOAD_RSS_HASH, 4, 1);
}

TEST(rx_paths_vlan)
{
	run(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH |
		RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 5, 1);
}

TEST(rx_paths_qinq)
{
	run(RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_QINQ_STRIP, 6, 1);
}

TEST(rx_paths_three_queues)
{
	run(RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH, 7, 3);
}

/* Fresh mbufs of any of three regions. */
TEST(rx_paths_pool_in_pieces)
{
	run_with(pool_in_chunks("pieces", 3), RTE_ETH_RX_OFFLOAD_CHECKSUM |
		RTE_ETH_RX_OFFLOAD_RSS_HASH, 8, 1);
}

TEST(rx_scattered_frames_from_a_pool_in_pieces)
{
	struct port_conf conf = port_conf(pool_in_chunks("pieces", 3));
	uint8_t frame[FRAME_MAX];
	struct rng rng = { 9 };
	struct rte_mbuf *m;
	uint16_t port;
	unsigned int i;

	conf.rxd = 128;
	conf.eth.rxmode.mtu = 4000;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	port = port_up(0, &conf);
	for (i = 0; i < 500; i++) {
		size_t length = 60 + rng_below(&rng, 3955);

		frame_make(frame, length, mac_foreign, i);
		wire_inject(port, frame, length);
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, length);
		rte_pktmbuf_free(m);
	}
}
