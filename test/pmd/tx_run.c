/* SPDX-License-Identifier: BSD-3-Clause */

/* Where the short ways of transmit bursts end: stamps, many pools, packets in between. */

#include "harness.h"

#define POOLS 80

static unsigned int serial;

/* Frame number @serial, of so many segments; segments keep the order of their bytes. */
static struct rte_mbuf *
numbered(struct rte_mempool *pool, unsigned int segs)
{
	uint16_t lengths[31];
	uint8_t frame[31 * 40];
	unsigned int i;

	for (i = 0; i < segs; i++)
		lengths[i] = i == 0 ? 60 : 21;
	frame_make(frame, 60 + 21 * (segs - 1), mac_foreign, serial++);
	return mbuf_chain(pool, lengths, segs, frame);
}

static void
check_numbered(uint16_t port, unsigned int first, const unsigned int *segs, unsigned int n)
{
	uint8_t frame[31 * 40];
	unsigned int i;

	for (i = 0; i < n; i++) {
		frame_make(frame, 60 + 21 * (segs[i] - 1), mac_foreign, first + i);
		check_capture(port, i, frame, 60 + 21 * (segs[i] - 1));
	}
}

/* Send packets of so many segments in one burst, and see them on the wire. */
static void
send_numbered(uint16_t port, struct rte_mempool *pool, const unsigned int *segs, unsigned int n)
{
	struct rte_mbuf *pkts[64];
	unsigned int first = serial, i;

	capture_clear(port);
	for (i = 0; i < n; i++)
		pkts[i] = numbered(pool, segs[i]);
	tx_all(port, 0, pkts, n);
	CHECK_EQ(capture_count(port), n);
	check_numbered(port, first, segs, n);
}

static void
send_singles(uint16_t port, struct rte_mempool *pool, unsigned int n)
{
	static const unsigned int one[64] = { [0 ... 63] = 1 };

	for (; n > 64; n -= 64)
		send_numbered(port, pool, one, 64);
	send_numbered(port, pool, one, n);
}

/*
 * A queue set up without MULTI_SEGS stamps no blocks until the first WQE of several; the
 * adapter has read ahead by then. At many places of the ring, in either pass.
 */
TEST(tx_run_first_long_chain_without_multi_segs)
{
	static const unsigned int mixed[] = { 31, 1, 5, 2, 31, 4, 1, 1, 12, 3, 31, 1 };
	struct port_conf conf = port_conf(pool_create(2048, 256));
	uint16_t port;
	unsigned int before;

	conf.txd = 96;
	port = port_up(0, &conf);
	capture_start(port);
	for (before = 1; before < 300; before += 13) {
		send_singles(port, conf.pool, before);
		send_numbered(port, conf.pool, mixed, RTE_DIM(mixed));
		send_singles(port, conf.pool, 70);
		send_numbered(port, conf.pool, mixed, RTE_DIM(mixed));
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(rte_eth_dev_start(port));
	}
	CHECK_EQ(xstat_of(port, "tx_drop_segments"), 0);
}

/* The same with the ring full of packets that the adapter has not got to. */
TEST(tx_run_first_long_chain_on_a_full_ring)
{
	struct port_conf conf = port_conf(pool_create(2048, 256));
	unsigned int segs[97], queued, stuck = 0, i;
	struct rte_mbuf *m;
	uint16_t port;

	conf.txd = 96;
	port = port_up(0, &conf);
	capture_start(port);
	send_singles(port, conf.pool, 50);
	capture_clear(port);
	serial = 0;
	for (queued = 0; queued < 96; queued++) {
		m = numbered(conf.pool, 1);
		segs[queued] = 1;
		if (rte_eth_tx_burst(port, 0, &m, 1) == 0) {
			rte_pktmbuf_free(m);
			serial--;
			break;
		}
	}
	CHECK(queued > 64);
	m = numbered(conf.pool, 31);
	segs[queued] = 31;
	while (rte_eth_tx_burst(port, 0, &m, 1) == 0) {
		CHECK(vmlx4_step(1) >= 0);
		CHECK_MSG(stuck++ < 1000, "the long chain is never taken");
	}
	settle();
	CHECK_EQ(capture_count(port), queued + 1);
	check_numbered(port, 0, segs, queued + 1);
	for (i = 0; i < 3; i++) {
		settle();
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	}
}

/* More pools than slots can keep apart in every case; each has a region of its own. */
TEST(tx_run_of_many_pools)
{
	struct port_conf conf = port_conf(pool_create(512, 2048));
	static struct rte_mempool *pools[POOLS];
	static const unsigned int one[64] = { [0 ... 63] = 1 };
	unsigned int round, i, n, first;
	struct rte_mbuf *pkts[64];
	struct rng rng = { 5 };
	uint16_t port;

	for (i = 0; i < POOLS; i++)
		pools[i] = pool_create(64, 256);
	conf.txd = 128;
	port = port_up(0, &conf);
	capture_start(port);
	for (round = 0; round < 60; round++) {
		n = 1 + rng_below(&rng, RTE_DIM(pkts));
		first = serial;
		capture_clear(port);
		for (i = 0; i < n; i++)
			pkts[i] = numbered(pools[round % 3 == 0 ? round % POOLS :
				rng_below(&rng, POOLS)], 1);
		tx_all(port, 0, pkts, n);
		CHECK_EQ(capture_count(port), n);
		check_numbered(port, first, one, n);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Packets of every way among one another: each goes out once, in order, or is counted. */
TEST(tx_run_of_all_sorts)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	unsigned int segs[64], round, i, sent, bad, dropped = 0;
	struct rte_mbuf *pkts[64];
	struct rng rng = { 11 };
	unsigned int first;
	uint16_t port;

	conf.txd = 128;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	capture_start(port);
	serial = 0;
	for (round = 0; round < 150; round++) {
		capture_clear(port);
		first = serial;
		for (i = 0, sent = 0; i < RTE_DIM(pkts); i++) {
			bad = rng_below(&rng, 8);
			segs[sent] = bad > 4 ? 1 : 1 + rng_below(&rng, bad == 4 ? 31 : 6);
			if (bad == 0) {
				/* An empty one. */
				pkts[i] = rte_pktmbuf_alloc(conf.pool);
				dropped++;
				continue;
			}
			pkts[i] = numbered(conf.pool, segs[sent++]);
		}
		tx_all(port, 0, pkts, RTE_DIM(pkts));
		CHECK_EQ(capture_count(port), sent);
		check_numbered(port, first, segs, sent);
	}
	CHECK_EQ(stats_of(port).oerrors, dropped);
	CHECK_EQ(xstat_of(port, "tx_drop_size"), dropped);
	CHECK_EQ(stats_of(port).opackets, serial);
}

/* What the adapter makes of a numbered frame with this tag; 0: it is to have none. */
static void
check_tagged(uint16_t port, unsigned int index, unsigned int number, unsigned int segs,
	uint16_t tci)
{
	uint8_t frame[31 * 40], tagged[31 * 40 + 4];
	size_t length = 60 + 21 * (segs - 1);

	frame_make(frame, length, mac_foreign, number);
	if (tci == 0) {
		check_capture(port, index, frame, length);
		return;
	}
	memcpy(tagged, frame, 12);
	tagged[12] = 0x81;
	tagged[13] = 0;
	tagged[14] = (uint8_t)(tci >> 8);
	tagged[15] = (uint8_t)tci;
	memcpy(tagged + 16, frame + 12, length - 12);
	check_capture(port, index, tagged, length + 4);
}

/* Tags in all packets of a burst, or in some, of one pool or two, with chains in between. */
TEST(tx_run_of_tagged_packets)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	struct rte_mempool *pools[] = { conf.pool, pool_create(512, 256) };
	unsigned int segs[64], round, i, n, first;
	struct rte_mbuf *pkts[64];
	struct rng rng = { 17 };
	uint16_t tci[64], port;

	conf.txd = 128;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	port = port_up(0, &conf);
	capture_start(port);
	serial = 0;
	for (round = 0; round < 200; round++) {
		capture_clear(port);
		first = serial;
		n = 1 + rng_below(&rng, RTE_DIM(pkts));
		for (i = 0; i < n; i++) {
			segs[i] = round % 4 == 3 && rng_below(&rng, 6) == 0 ?
				1 + rng_below(&rng, 6) : 1;
			tci[i] = round % 2 == 0 || rng_below(&rng, 3) != 0 ?
				1 + rng_below(&rng, 0xffff) : 0;
			pkts[i] = numbered(pools[round % 3 == 0 && rng_below(&rng, 2)], segs[i]);
			/* Of one that is not asked for nothing is to be seen. */
			pkts[i]->vlan_tci = tci[i] != 0 ? tci[i] : 0x7fff;
			pkts[i]->ol_flags |= tci[i] != 0 ? RTE_MBUF_F_TX_VLAN : 0;
		}
		tx_all(port, 0, pkts, n);
		CHECK_EQ(capture_count(port), n);
		for (i = 0; i < n; i++)
			check_tagged(port, i, first + i, segs[i], tci[i]);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(stats_of(port).opackets, serial);
}

/* Frames of this length, alone and several in a burst: all go out, or all are dropped. */
static void
check_length(uint16_t port, struct rte_mempool *pool, unsigned int length, bool sent)
{
	static uint8_t frame[FRAME_MAX];
	struct rte_mbuf *pkts[4];
	unsigned int n, i;
	uint64_t dropped;

	frame_make(frame, length, mac_foreign, length);
	for (n = 1; n <= RTE_DIM(pkts); n += 3) {
		dropped = xstat_of(port, "tx_drop_size");
		capture_clear(port);
		for (i = 0; i < n; i++)
			pkts[i] = mbuf_frame(pool, frame, length);
		tx_all(port, 0, pkts, n);
		CHECK_MSG(capture_count(port) == (sent ? n : 0), "%u of %u frames of %u bytes "
			"were sent", capture_count(port), n, length);
		/* By the driver: the adapter would stop the queue. */
		CHECK_EQ(xstat_of(port, "tx_drop_size") - dropped, sent ? 0 : n);
	}
}

/* The MTU changes while the port runs, and with it what the short ways let pass. */
TEST(tx_run_goes_by_the_mtu)
{
	struct port_conf conf = port_conf(pool_create(1024, 9600));
	uint16_t port = port_up(0, &conf);
	unsigned int round;

	capture_start(port);
	for (round = 0; round < 5; round++) {
		CHECK_OK(rte_eth_dev_set_mtu(port, 1500));
		check_length(port, conf.pool, 1500 + 22, true);
		check_length(port, conf.pool, 1500 + 23, false);
		CHECK_OK(rte_eth_dev_set_mtu(port, 9000));
		check_length(port, conf.pool, 9000 + 22, true);
		CHECK_OK(rte_eth_dev_set_mtu(port, 1000));
		check_length(port, conf.pool, 1000 + 22, true);
		check_length(port, conf.pool, 1000 + 23, false);
	}
}
