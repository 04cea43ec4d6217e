/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Short frames inside their WQEs, with tx_inline=N. Their memory is registered by nobody
 * where a test says so: what got onto the wire all the same was in the WQE.
 */

#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "harness.h"

#define NAME "net_mlx4dv5"
#define MIN_LEN 14
#define MIN_INLINE 17         /* shorter ones the adapter cannot take */

static uint16_t
port_up_inline(unsigned int bytes, const struct port_conf *conf)
{
	struct rte_eth_burst_mode mode;
	char args[32];
	uint16_t port;

	snprintf(args, sizeof(args), ",tx_inline=%u", bytes);
	port = port_up_with(NAME, args, conf);
	capture_start(port);
	capture_clear(port);
	CHECK_OK(rte_eth_tx_burst_mode_get(port, 0, &mode));
	CHECK_MSG(strcmp(mode.info, bytes != 0 ? "Scalar Inline" : "Scalar") == 0,
		"it sends in the mode %s", mode.info);
	return port;
}

static struct port_conf
chains_conf(struct rte_mempool *pool, uint64_t offloads)
{
	struct port_conf conf = port_conf(pool);

	conf.txd = 32;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | offloads;
	return conf;
}

static void
nothing(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

/* A packet in memory that is in no pool and that nobody can register: not the heap's. */
static struct rte_mbuf *
external(struct rte_mempool *pool, uint8_t *memory, uint16_t length)
{
	static struct rte_mbuf_ext_shared_info info = { .free_cb = nothing };
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CHECK(m != NULL);
	rte_mbuf_ext_refcnt_set(&info, 1);
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, 300, &info);
	m->data_off = 0;
	CHECK(rte_pktmbuf_append(m, length) != NULL);
	return m;
}

/* Up to N bytes no memory region is needed, beyond one is: each length, round the ring. */
TEST(tx_inline_frames_of_each_length)
{
	static const unsigned int limits[] = { 17, 44, 45, 104, 105, 188, 224 };
	static uint8_t memory[300];
	struct rte_mempool *pool = pool_create(1024, 2048);
	struct port_conf conf = port_conf(pool);
	unsigned int i, length, index, mrs;
	struct rte_mbuf *m;
	uint16_t port;

	conf.txd = 16;
	for (i = 0; i < RTE_DIM(limits); i++) {
		port = port_up_inline(limits[i], &conf);
		mrs = object_counts().mrs;
		for (length = MIN_INLINE, index = 0; length <= limits[i]; length++) {
			frame_make(memory, length, mac_foreign, length);
			m = external(pool, memory, (uint16_t)length);
			tx_all(port, 0, &m, 1);
			check_capture(port, index++, memory, length);
		}
		CHECK_EQ(object_counts().mrs, mrs);
		frame_make(memory, length, mac_foreign, length);
		m = external(pool, memory, (uint16_t)length);
		tx_all(port, 0, &m, 1);
		check_capture(port, index, memory, length);
		CHECK_EQ(object_counts().mrs, mrs + 1);
		CHECK_EQ(stats_of(port).opackets, index + 1);
		CHECK_EQ(stats_of(port).obytes, (length + MIN_INLINE) * (index + 1) / 2);
		CHECK_EQ(stats_of(port).oerrors, 0);
		port_close(port);
	}
}

#define RING_BLOCKS 256u      /* of 32 descriptors for frames of 224 bytes */

static unsigned int
blocks_of(unsigned int length)
{
	return length <= 44 ? 1 : 1 + (length - 44 + 59) / 60;
}

/*
 * A burst of frames of one length behind some of a single block, each at a place of its own
 * in its mbuf. @at is where the ring is, in @seen where frames of the length were.
 */
static void
send_places(uint16_t port, struct rte_mempool *pool, unsigned int first, unsigned int length,
	unsigned int ahead, unsigned int *at, bool seen[RING_BLOCKS])
{
	static uint8_t frames[32][230];
	struct rte_mbuf *pkts[32];
	size_t bytes[32];
	unsigned int i;

	capture_clear(port);
	for (i = 0; i < RTE_DIM(pkts); i++) {
		bytes[i] = i < ahead ? MIN_INLINE : length;
		frame_make(frames[i], bytes[i], mac_foreign, first + i);
		pkts[i] = rte_pktmbuf_alloc(pool);
		CHECK(pkts[i] != NULL);
		pkts[i]->data_off = (uint16_t)((first + 7 * i) % 128);
		memcpy(rte_pktmbuf_append(pkts[i], (uint16_t)bytes[i]), frames[i], bytes[i]);
		if (i >= ahead)
			seen[*at % RING_BLOCKS] = true;
		*at += blocks_of((unsigned int)bytes[i]);
	}
	tx_all(port, 0, pkts, RTE_DIM(pkts));
	CHECK_EQ(capture_count(port), RTE_DIM(pkts));
	for (i = 0; i < RTE_DIM(pkts); i++)
		check_capture(port, i, frames[i], bytes[i]);
}

/* Frames of each length at each place of the ring, and at any of a cache line. */
TEST(tx_inline_runs_of_each_length_at_each_place)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	unsigned int length, serial = 0, at = 0;
	bool seen[RING_BLOCKS];
	struct rng rng = { 3 };
	uint16_t port;

	conf.txd = 32;
	port = port_up_inline(224, &conf);
	for (length = MIN_LEN; length <= 224; length++) {
		memset(seen, 0, sizeof(seen));
		while (memchr(seen, false, sizeof(seen)) != NULL) {
			send_places(port, conf.pool, serial, length, rng_below(&rng, 5), &at,
				seen);
			serial += 32;
		}
	}
	CHECK_EQ(stats_of(port).opackets, serial);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Frames that lie against memory that cannot be read, in front of it or behind it. */
TEST(tx_inline_reads_nothing_beside_a_frame)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up_inline(224, &conf);
	unsigned int length, n, i, behind;
	struct rte_mbuf *pkts[3];
	uint8_t *pages, *frame;

	pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_READ | PROT_WRITE) == 0);
	for (length = MIN_INLINE; length <= 224; length++)
		for (behind = 0; behind < 2; behind++) {
			frame = behind ? pages + 2 * page - length : pages + page;
			frame_make(frame, length, mac_foreign, length);
			for (n = 1; n <= RTE_DIM(pkts); n += 2) {
				capture_clear(port);
				for (i = 0; i < n; i++)
					pkts[i] = external(conf.pool, frame, (uint16_t)length);
				tx_all(port, 0, pkts, n);
				for (i = 0; i < n; i++)
					check_capture(port, i, frame, length);
			}
		}
	CHECK_OK(munmap(pages, 3 * page));
}

/* Of many lengths and segments among one another, in bursts, over a small ring. */
TEST(tx_inline_among_longer_frames_and_chains)
{
	struct port_conf conf = chains_conf(pool_create(2048, 2048), 0);
	uint16_t port = port_up_inline(100, &conf);
	static uint8_t frames[64][400];
	unsigned int round, i, left, segs;
	size_t lengths[64];
	uint16_t parts[6];
	struct rte_mbuf *pkts[64];
	struct rng rng = { 21 };

	for (round = 0; round < 150; round++) {
		unsigned int n = 1 + rng_below(&rng, RTE_DIM(pkts));

		capture_clear(port);
		for (i = 0; i < n; i++) {
			lengths[i] = MIN_LEN + rng_below(&rng, rng_below(&rng, 3) ? 110 : 380);
			left = (unsigned int)lengths[i];
			for (segs = 0; segs < 5 && left != 0 && rng_below(&rng, 2); segs++) {
				parts[segs] = (uint16_t)rng_below(&rng, left + 1);
				left -= parts[segs];
			}
			parts[segs++] = (uint16_t)left;
			frame_make(frames[i], lengths[i], mac_foreign, rng_next(&rng));
			pkts[i] = mbuf_chain(conf.pool, parts, segs, frames[i]);
		}
		tx_all(port, 0, pkts, n);
		CHECK_EQ(capture_count(port), n);
		for (i = 0; i < n; i++)
			check_capture(port, i, frames[i], lengths[i]);
		if (round % 50 == 49) {
			CHECK_OK(rte_eth_dev_stop(port));
			CHECK_OK(rte_eth_dev_start(port));
		}
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	CHECK_EQ(xstat_of(port, "tx_lost_packets"), 0);
}

/* Frames that are not copied go between those that are, up to the longest there may be. */
TEST(tx_inline_longest_frames)
{
	static const unsigned int lengths[] = { 14, 16, 17, 60, 100, 101, 1522, 1523 };
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up_inline(100, &conf);
	unsigned int i, k, n, index, sent, dropped = 0;
	static uint8_t frame[1523];
	struct rte_mbuf *pkts[3];

	for (i = 0; i < RTE_DIM(lengths); i++)
		for (n = 1; n <= RTE_DIM(pkts); n++) {
			capture_clear(port);
			sent = lengths[i] <= 1522 ? n : n / 2;
			for (k = 0; k < n; k++) {
				size_t length = k % 2 == 0 ? lengths[i] : 70;

				frame_make(frame, length, mac_foreign, k);
				pkts[k] = mbuf_frame(conf.pool, frame, length);
			}
			tx_all(port, 0, pkts, n);
			CHECK_EQ(capture_count(port), sent);
			for (k = 0, index = 0; k < n; k++) {
				size_t length = k % 2 == 0 ? lengths[i] : 70;

				frame_make(frame, length, mac_foreign, k);
				if (length <= 1522)
					check_capture(port, index++, frame, length);
			}
			dropped += n - sent;
			CHECK_EQ(xstat_of(port, "tx_drop_size"), dropped);
		}
}

/* Chains that make no sense and frames too short are dropped as ever, each by its name. */
TEST(tx_inline_bad_packets_are_counted)
{
	static const uint16_t parts[] = { 20, 20, 20 };
	struct port_conf conf = chains_conf(pool_create(1024, 2048), 0);
	uint16_t port = port_up_inline(100, &conf);
	uint8_t frame[60];
	struct rte_mbuf *pkts[4];

	frame_make(frame, sizeof(frame), mac_foreign, 3);
	pkts[0] = mbuf_frame(conf.pool, frame, MIN_LEN - 1);
	pkts[1] = mbuf_chain(conf.pool, parts, 3, frame);
	pkts[1]->nb_segs = 4;
	pkts[2] = mbuf_chain(conf.pool, parts, 3, frame);
	pkts[2]->nb_segs = 2;
	pkts[3] = mbuf_chain(conf.pool, parts, 3, frame);
	tx_all(port, 0, pkts, 4);
	CHECK_EQ(xstat_of(port, "tx_drop_size"), 1);
	CHECK_EQ(xstat_of(port, "tx_drop_segments"), 2);
	CHECK_EQ(stats_of(port).opackets, 1);
	CHECK_EQ(capture_count(port), 1);
	check_capture(port, 0, frame, sizeof(frame));
}

/* Checksums and a tag are the adapter's to add to what lies in the WQE as well. */
TEST(tx_inline_frames_have_checksums_and_tags_added)
{
	struct port_conf conf = chains_conf(pool_create(1024, 2048),
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
		RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
	uint16_t port = port_up_inline(120, &conf);
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, 7);
	static const uint16_t parts[] = { 30, 0, 40 };
	uint8_t good[150], sent[150], tagged[154];
	unsigned int length, index = 0, chain;
	struct rte_ipv4_hdr *ip = (void *)(sent + RTE_ETHER_HDR_LEN);
	struct rte_udp_hdr *udp = (void *)(ip + 1);
	struct rte_mbuf *m;

	for (length = 80; length <= 130; length += 10)
		for (chain = 0; chain < 2; chain++) {
			uint16_t of[] = { parts[0], parts[1], parts[2], (uint16_t)(length - 70) };

			frame_flow(good, length, mac_foreign, &flow);
			memcpy(sent, good, length);
			ip->hdr_checksum = 0;
			udp->dgram_cksum = rte_ipv4_phdr_cksum(ip, 0);
			m = chain ? mbuf_chain(conf.pool, of, 4, sent) :
				mbuf_frame(conf.pool, sent, length);
			m->l2_len = RTE_ETHER_HDR_LEN;
			m->l3_len = sizeof(*ip);
			m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
				RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = (uint16_t)(0x6000 + length);
			tx_all(port, 0, &m, 1);
			memcpy(tagged, good, 12);
			tagged[12] = 0x81;
			tagged[13] = 0;
			tagged[14] = 0x60;
			tagged[15] = (uint8_t)length;
			memcpy(tagged + 16, good + 12, length - 12);
			check_capture(port, index++, tagged, length + 4);
			/* Nothing is left of either for the next. */
			m = mbuf_frame(conf.pool, sent, length);
			tx_all(port, 0, &m, 1);
			check_capture(port, index++, sent, length);
		}
}

/*
 * As many frames as descriptors are in flight at a time, of the longest as well; the
 * ring's limit is told by the device.
 */
TEST(tx_inline_ring_holds_as_many_as_descriptors)
{
	static const unsigned int limits[] = { 44, 60, 164, 224 };
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_eth_dev_info info;
	unsigned int i, n, round;
	uint8_t frame[224];
	struct rte_mbuf *m;
	uint16_t port;

	for (i = 0; i < RTE_DIM(limits); i++) {
		conf.txd = 119;
		port = port_up_inline(limits[i], &conf);
		for (round = 0; round < 5; round++) {
			capture_clear(port);
			for (n = 0; n <= conf.txd; n++) {
				frame_make(frame, limits[i], mac_foreign, n);
				m = mbuf_frame(conf.pool, frame, limits[i]);
				if (rte_eth_tx_burst(port, 0, &m, 1) == 0)
					break;
			}
			rte_pktmbuf_free(m);
			CHECK_EQ(n, conf.txd);
			CHECK_EQ(rte_eth_tx_descriptor_status(port, 0, 0), RTE_ETH_TX_DESC_FULL);
			settle();
			while (n-- > 0) {
				frame_make(frame, limits[i], mac_foreign, n);
				check_capture(port, n, frame, limits[i]);
			}
			/* Asks for the completion of the last ones, then sees it. */
			rte_eth_tx_descriptor_status(port, 0, conf.txd - 1);
			settle();
			CHECK_EQ(rte_eth_tx_descriptor_status(port, 0, conf.txd - 1),
				RTE_ETH_TX_DESC_DONE);
		}
		CHECK_OK(rte_eth_dev_info_get(port, &info));
		CHECK_OK(rte_eth_dev_stop(port));
		conf.txd = info.tx_desc_lim.nb_max;
		port_configure(port, &conf);
		CHECK_OK(rte_eth_dev_start(port));
		CHECK_EQ(rte_eth_tx_queue_setup(port, 0, (uint16_t)(conf.txd + 1), SOCKET_ID_ANY,
			NULL), -EINVAL);
		m = mbuf_frame(conf.pool, frame, limits[i]);
		tx_all(port, 0, &m, 1);
		port_close(port);
	}
}
