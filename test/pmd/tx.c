/* SPDX-License-Identifier: BSD-3-Clause */

/* Sending: every segmentation at every ring position, and what cannot be sent. */

#include "harness.h"

#define MAX_SEGMENTS 31

/* With RTE_ETH_TX_OFFLOAD_MULTI_SEGS, and room for jumbo frames. */
static struct port_conf
tx_conf(struct rte_mempool *pool, uint16_t txd)
{
	struct port_conf conf = port_conf(pool);

	conf.txd = txd;
	conf.rxd = 32;
	conf.eth.rxmode.mtu = 9000;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return conf;
}

TEST(tx_frames_of_every_size_are_exact)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int length, index = 0;
	uint8_t frame[1514];
	struct rte_mbuf *m;

	capture_start(port);
	for (length = 14; length <= 1514; length++) {
		frame_make(frame, length, mac_foreign, length);
		m = mbuf_frame(conf.pool, frame, length);
		tx_all(port, 0, &m, 1);
		check_capture(port, index++, frame, length);
	}
	CHECK_EQ(stats_of(port).opackets, index);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Send one chain and compare it with the concatenation of its segments. */
static void
send_chain(uint16_t port, struct rte_mempool *pool, const uint16_t *lengths, unsigned int n)
{
	static uint64_t seed;
	uint8_t frame[FRAME_MAX];
	unsigned int index = capture_count(port), i;
	struct rte_mbuf *m;
	size_t total = 0;

	for (i = 0; i < n; i++)
		total += lengths[i];
	CHECK(total >= 14 && total <= sizeof(frame));
	frame_make(frame, total, mac_foreign, seed++);
	m = mbuf_chain(pool, lengths, n, frame);
	tx_all(port, 0, &m, 1);
	CHECK_EQ(capture_count(port), index + 1);
	check_capture(port, index, frame, total);
	if (index > 4000)
		capture_clear(port);
}

TEST(tx_chains_of_1_to_31_segments)
{
	static const uint16_t sizes[] = { 1, 13, 14, 60, 290, 64, 128, 63, 65 };
	struct port_conf conf = tx_conf(pool_create(2048, 2048), 64);
	uint16_t port = port_up(0, &conf);
	uint16_t lengths[MAX_SEGMENTS];
	unsigned int n, s, i;

	capture_start(port);
	for (n = 1; n <= MAX_SEGMENTS; n++)
		for (s = 0; s < RTE_DIM(sizes); s++) {
			for (i = 0; i < n; i++)
				lengths[i] = sizes[(s + i) % RTE_DIM(sizes)];
			lengths[0] = 60;
			send_chain(port, conf.pool, lengths, n);
		}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

TEST(tx_zero_length_segment_at_each_position)
{
	struct port_conf conf = tx_conf(pool_create(2048, 2048), 64);
	uint16_t port = port_up(0, &conf);
	uint16_t lengths[MAX_SEGMENTS];
	unsigned int n, position, i;

	capture_start(port);
	for (n = 2; n <= MAX_SEGMENTS; n++)
		for (position = 0; position < n; position++) {
			/* One empty segment, then all empty but this one. */
			for (i = 0; i < n; i++)
				lengths[i] = i == position ? 0 : 61 + i;
			send_chain(port, conf.pool, lengths, n);
			for (i = 0; i < n; i++)
				lengths[i] = i == position ? 77 : 0;
			send_chain(port, conf.pool, lengths, n);
		}
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(stats_of(port).opackets, wire_stats(port).tx_frames);
}

/*
 * A chain of n segments starts at every block of the ring, so that it crosses
 * the end of the ring at every offset: single packets (one block) between the
 * chains make the period odd, and the ring is a power of two.
 */
TEST(tx_chains_cross_the_ring_end_at_every_offset)
{
	struct port_conf conf = tx_conf(pool_create(2048, 2048), 64);
	uint16_t port = port_up(0, &conf);
	static const uint16_t single = 64;
	uint16_t lengths[MAX_SEGMENTS];
	unsigned int n, i, j;

	capture_start(port);
	for (n = 1; n <= MAX_SEGMENTS; n++) {
		unsigned int blocks = (16 + 16 * n + 63) / 64;

		for (i = 0; i < 300; i++) {
			for (j = 0; j < n; j++)
				lengths[j] = 20 + (i + j) % 200;
			send_chain(port, conf.pool, lengths, n);
			if (blocks % 2 == 0)
				send_chain(port, conf.pool, &single, 1);
		}
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

static struct rte_mbuf *
random_chain(struct rte_mempool *pool, struct rng *rng, uint64_t seed, uint8_t *frame,
	size_t *length)
{
	unsigned int n = 1 + rng_below(rng, MAX_SEGMENTS), i;
	uint16_t lengths[MAX_SEGMENTS];

	*length = 0;
	for (i = 0; i < n; i++) {
		lengths[i] = rng_below(rng, 5) == 0 ? 0 : rng_below(rng, 1514 / n);
		if (i == n - 1 && *length + lengths[i] < 60)
			lengths[i] += 60;
		*length += lengths[i];
	}
	frame_make(frame, *length, mac_foreign, seed);
	return mbuf_chain(pool, lengths, n, frame);
}

/* The adapter takes a few WQEs now and then, so the ring is full most of the time. */
TEST(tx_ten_thousand_chains_with_a_slow_adapter)
{
	struct port_conf conf = tx_conf(pool_create(8192, 1600), 64);
	uint16_t port = port_up(0, &conf);
	struct rng rng = { 10000 }, check = { 10000 };
	unsigned int sent, stuck = 0, i;
	uint8_t frame[FRAME_MAX];
	size_t length;

	capture_start(port);
	for (sent = 0; sent < 10000; sent++) {
		struct rte_mbuf *m = random_chain(conf.pool, &rng, sent, frame, &length);

		while (rte_eth_tx_burst(port, 0, &m, 1) == 0) {
			CHECK(vmlx4_step(1 + sent % 5) >= 0);
			CHECK_MSG(stuck++ < 1000, "stuck at packet %u", sent);
		}
		stuck = 0;
	}
	settle();
	CHECK_EQ(capture_count(port), sent);
	for (i = 0; i < sent; i++) {
		struct rte_mbuf *m = random_chain(conf.pool, &check, i, frame, &length);

		check_capture(port, i, frame, length);
		rte_pktmbuf_free(m);
	}
	CHECK_EQ(stats_of(port).opackets, sent);
}

TEST(tx_full_ring_takes_a_part_and_goes_on)
{
	struct port_conf conf = port_conf(pool_create(4096, 1600));
	unsigned int i, round, taken, part;
	struct rte_mbuf *pkts[1024];
	uint8_t frame[100];
	uint16_t port;

	conf.txd = 64;
	port = port_up(0, &conf);
	capture_start(port);
	for (round = 0; round < 20; round++) {
		capture_clear(port);
		for (i = 0; i < 1024; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
		}
		taken = rte_eth_tx_burst(port, 0, pkts, 1024);
		CHECK(taken >= 64 && taken < 1024);
		part = rte_eth_tx_burst(port, 0, pkts + taken, 1024 - taken);
		CHECK_MSG(part == 0, "%u more were taken by a full ring", part);
		/* What was not taken is still ours, whole and untouched. */
		for (i = taken; i < 1024; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			check_mbuf(pkts[i], frame, sizeof(frame));
		}
		tx_all(port, 0, pkts + taken, 1024 - taken);
		CHECK_EQ(capture_count(port), 1024);
		for (i = 0; i < 1024; i++) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			check_capture(port, i, frame, sizeof(frame));
		}
	}
	CHECK_EQ(stats_of(port).opackets, 20 * 1024);
	CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, 0), 0);
}

/* A packet that can never be sent is dropped and counted, and the next one goes. */
static void
check_dropped(uint16_t port, struct rte_mempool *pool, struct rte_mbuf *bad)
{
	struct rte_eth_stats before = stats_of(port), after;
	unsigned int index = capture_count(port);
	struct rte_mbuf *pkts[2] = { bad };
	uint8_t frame[64];

	frame_make(frame, sizeof(frame), mac_foreign, index);
	pkts[1] = mbuf_frame(pool, frame, sizeof(frame));
	tx_all(port, 0, pkts, 2);
	CHECK_EQ(capture_count(port), index + 1);
	check_capture(port, index, frame, sizeof(frame));
	after = stats_of(port);
	CHECK_EQ(after.oerrors, before.oerrors + 1);
	CHECK_EQ(after.opackets, before.opackets + 1);
	CHECK_EQ(after.obytes, before.obytes + sizeof(frame));
}

/* Within the limit that dev_info tells it is sent; beyond it is dropped and counted. */
TEST(tx_chain_length_limit_is_true)
{
	static const unsigned int counts[] = { 1, 30, 31, 32, 33, 40, 64, 200 };
	struct port_conf conf = tx_conf(pool_create(2048, 2048), 64);
	uint16_t port = port_up(0, &conf), lengths[256];
	struct rte_eth_dev_info info;
	uint8_t frame[FRAME_MAX];
	unsigned int i;

	for (i = 0; i < RTE_DIM(lengths); i++)
		lengths[i] = 30;
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.tx_desc_lim.nb_seg_max >= MAX_SEGMENTS);
	CHECK(info.tx_desc_lim.nb_mtu_seg_max >= 1);
	CHECK(info.tx_desc_lim.nb_mtu_seg_max <= info.tx_desc_lim.nb_seg_max);
	capture_start(port);
	for (i = 0; i < 20 * RTE_DIM(counts); i++) {
		unsigned int n = counts[i % RTE_DIM(counts)];

		if (n <= info.tx_desc_lim.nb_seg_max) {
			send_chain(port, conf.pool, lengths, n);
			continue;
		}
		frame_make(frame, 30 * n, mac_foreign, i);
		check_dropped(port, conf.pool, mbuf_chain(conf.pool, lengths, n, frame));
	}
}

TEST(tx_prepare_refuses_what_burst_would_drop)
{
	struct port_conf conf = tx_conf(pool_create(1024, 2048), 64);
	uint16_t port = port_up(0, &conf), lengths[40];
	struct rte_eth_dev_info info;
	struct rte_mbuf *pkts[3];
	uint8_t frame[FRAME_MAX];
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	for (i = 0; i < RTE_DIM(lengths); i++)
		lengths[i] = 40;
	frame_make(frame, 40 * 40, mac_foreign, 1);
	pkts[0] = mbuf_frame(conf.pool, frame, 60);
	pkts[1] = mbuf_chain(conf.pool, lengths, info.tx_desc_lim.nb_seg_max + 1, frame);
	pkts[2] = mbuf_frame(conf.pool, frame, 60);
	rte_errno = 0;
	CHECK_EQ(rte_eth_tx_prepare(port, 0, pkts, 3), 1);
	CHECK_EQ(rte_errno, EINVAL);
	rte_pktmbuf_free(pkts[1]);
	pkts[1] = mbuf_chain(conf.pool, lengths, info.tx_desc_lim.nb_seg_max, frame);
	CHECK_EQ(rte_eth_tx_prepare(port, 0, pkts, 3), 3);
	capture_start(port);
	tx_all(port, 0, pkts, 3);
	CHECK_EQ(capture_count(port), 3);
}

TEST(tx_empty_packets_are_dropped)
{
	struct port_conf conf = tx_conf(pool_create(1024, 2048), 64);
	uint16_t port = port_up(0, &conf);
	static const uint16_t none[4];
	unsigned int n, round;

	capture_start(port);
	for (round = 0; round < 50; round++)
		for (n = 1; n <= 4; n++)
			check_dropped(port, conf.pool,
				mbuf_chain(conf.pool, none, n, mac_foreign));
}

TEST(tx_oversize_packets_are_dropped)
{
	struct port_conf conf = tx_conf(pool_create(1024, 9600), 64);
	static uint8_t frame[FRAME_MAX];
	struct rte_eth_stats before;
	struct rte_mbuf *m;
	unsigned int length;
	uint16_t port;

	conf.eth.rxmode.mtu = 1500;
	port = port_up(0, &conf);
	capture_start(port);
	for (length = 1500 + 14; length <= 1500 + 22; length++) {
		uint16_t size = length;

		send_chain(port, conf.pool, &size, 1);
	}
	/*
	 * Beyond the MTU and the headers it does not reach the wire, and whoever
	 * drops it, it is not counted as sent.
	 */
	for (length = 1500 + 23; length < 9600; length += 123) {
		unsigned int index = capture_count(port);

		before = stats_of(port);
		frame_make(frame, length, mac_foreign, length);
		m = mbuf_frame(conf.pool, frame, length);
		tx_all(port, 0, &m, 1);
		CHECK_EQ(capture_count(port), index);
		CHECK_EQ(stats_of(port).opackets, before.opackets);
		CHECK_EQ(stats_of(port).oerrors, before.oerrors + 1);
	}
	check_traffic(port);
}

/* nb_segs that does not fit the chain: dropped whole, not sent in part. */
TEST(tx_malformed_chains_are_dropped)
{
	struct port_conf conf = tx_conf(pool_create(1024, 2048), 64);
	static const uint16_t lengths[] = { 60, 60, 60 };
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *m;
	uint8_t frame[180];
	unsigned int i;

	capture_start(port);
	frame_make(frame, sizeof(frame), mac_foreign, 3);
	for (i = 0; i < 20; i++) {
		m = mbuf_chain(conf.pool, lengths, 3, frame);
		m->nb_segs = 4; /* the chain ends early */
		check_dropped(port, conf.pool, m);
	}
}

TEST(tx_data_offsets_0_to_2000)
{
	struct port_conf conf = port_conf(pool_create(512, 2200));
	uint16_t port = port_up(0, &conf), offset;
	uint8_t frame[64];
	struct rte_mbuf *m;

	capture_start(port);
	for (offset = 0; offset <= 2000; offset++) {
		frame_make(frame, sizeof(frame), mac_foreign, offset);
		m = rte_pktmbuf_alloc(conf.pool);
		CHECK(m != NULL);
		m->data_off = offset;
		m->data_len = m->pkt_len = sizeof(frame);
		memcpy(rte_pktmbuf_mtod(m, void *), frame, sizeof(frame));
		tx_all(port, 0, &m, 1);
		check_capture(port, offset, frame, sizeof(frame));
	}
}

/* Clones share their data: it must live until the last of them has been sent. */
TEST(tx_clones_of_one_packet)
{
	struct port_conf conf = tx_conf(pool_create(2048, 2048), 64);
	static const uint16_t lengths[] = { 20, 500, 0, 700 };
	struct rte_mbuf *original, *pkts[40];
	uint16_t port = port_up(0, &conf);
	uint8_t frame[1220];
	unsigned int i, round;

	capture_start(port);
	for (round = 0; round < 20; round++) {
		capture_clear(port);
		frame_make(frame, sizeof(frame), mac_foreign, round);
		original = mbuf_chain(conf.pool, lengths, 4, frame);
		for (i = 0; i < 40; i++) {
			pkts[i] = rte_pktmbuf_clone(original, conf.pool);
			CHECK(pkts[i] != NULL);
		}
		rte_pktmbuf_free(original);
		tx_all(port, 0, pkts, 40);
		CHECK_EQ(capture_count(port), 40);
		for (i = 0; i < 40; i++)
			check_capture(port, i, frame, sizeof(frame));
	}
}

/* The application keeps a reference: the driver gives back its own only. */
TEST(tx_referenced_packet_survives)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	uint8_t frame[600];
	struct rte_mbuf *m;
	unsigned int i;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	m = mbuf_frame(conf.pool, frame, sizeof(frame));
	capture_start(port);
	for (i = 0; i < 300; i++) {
		rte_mbuf_refcnt_update(m, 1);
		tx_all(port, 0, &m, 1);
		check_capture(port, i, frame, sizeof(frame));
		rte_eth_tx_done_cleanup(port, 0, 0);
		CHECK_EQ(rte_mbuf_refcnt_read(m), 1);
	}
	rte_pktmbuf_free(m);
}

TEST(tx_done_cleanup_frees_what_was_sent)
{
	struct port_conf conf = port_conf(pool_create(1024, 1600));
	struct rte_mbuf *pkts[64];
	unsigned int i, round, free_before;
	uint8_t frame[64];
	uint16_t port;

	port = port_up(0, &conf);
	free_before = rte_mempool_avail_count(conf.pool);
	for (round = 0; round < 30; round++) {
		frame_make(frame, sizeof(frame), mac_foreign, round);
		for (i = 0; i < 64; i++)
			pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
		CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, 64), 64);
		CHECK_EQ(rte_eth_tx_done_cleanup(port, 0, 0), 0);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), free_before - 64);
		settle();
		CHECK_EQ(rte_eth_tx_done_cleanup(port, 0, 0), 64);
		CHECK_EQ(rte_mempool_avail_count(conf.pool), free_before);
	}
}

/*
 * Packets posted while a completion was pending ask for none themselves: calls
 * without packets must get them back, by either way.
 */
TEST(tx_idle_queue_drains)
{
	struct port_conf conf = port_conf(pool_create(1024, 1600));
	uint16_t port = port_up(0, &conf);
	unsigned int free_before = rte_mempool_avail_count(conf.pool);
	unsigned int i, n, calls;
	uint8_t frame[64];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (n = 1; n < 100; n++) {
		for (i = 0; i < n; i++) {
			m = mbuf_frame(conf.pool, frame, sizeof(frame));
			CHECK_EQ(rte_eth_tx_burst(port, 0, &m, 1), 1);
		}
		CHECK_EQ(rte_mempool_avail_count(conf.pool), free_before - n);
		for (calls = 0; calls < 3; calls++) {
			settle();
			if (n % 2 == 0)
				CHECK_EQ(rte_eth_tx_burst(port, 0, NULL, 0), 0);
			else
				CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		}
		CHECK_EQ(rte_mempool_avail_count(conf.pool), free_before);
	}
}

TEST(tx_fast_free_returns_all_mbufs)
{
	struct port_conf conf = port_conf(pool_create(2048, 1600));
	struct rte_eth_dev_info info;
	struct rte_mbuf *m;
	uint8_t frame[64];
	unsigned int i;
	uint16_t port = port_open(0);

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	if ((info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) == 0)
		test_skip("MBUF_FAST_FREE is not offered");
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	port_configure(port, &conf);
	port_start(port, &conf);
	capture_start(port);
	for (i = 0; i < 5000; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		tx_all(port, 0, &m, 1);
		check_capture(port, i, frame, sizeof(frame));
	}
}
