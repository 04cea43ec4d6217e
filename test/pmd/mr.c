/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory that packets live in: many pools, scattered pools, foreign memory. */

#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"

#define POOLS 20

static void
send_from(uint16_t port, uint16_t queue, struct rte_mempool *pool, uint64_t seed)
{
	unsigned int index = capture_count(port);
	uint8_t frame[300];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, seed);
	m = mbuf_frame(pool, frame, sizeof(frame));
	tx_all(port, queue, &m, 1);
	check_capture(port, index, frame, sizeof(frame));
}

static void
two_rounds(struct rte_mempool *(*make)(unsigned int index))
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mempool *pools[POOLS];
	unsigned int round, i;

	capture_start(port);
	for (i = 0; i < POOLS; i++)
		pools[i] = make(i);
	for (round = 0; round < 2; round++)
		for (i = 0; i < POOLS; i++)
			send_from(port, 0, pools[i], i);
	CHECK_EQ(stats_of(port).opackets, 2 * POOLS);
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(wire_stats(port).tx_errors, 0);
}

static struct rte_mempool *
make_small(unsigned int index)
{
	return pool_create(32 + index, 512);
}

static struct rte_mempool *
make_scattered(unsigned int index)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "scattered%u", index);
	return pool_in_chunks(name, 1 + index % 3);
}

TEST(mr_twenty_pools_on_one_queue)
{
	two_rounds(make_small);
}

TEST(mr_twenty_pools_of_foreign_memory_on_one_queue)
{
	two_rounds(make_scattered);
}

TEST(mr_pool_in_chunks_with_gaps)
{
	struct rte_mempool *pool = pool_in_chunks("chunks", 8);
	struct port_conf conf = port_conf(pool);
	struct rte_mbuf *pkts[1024], *m;
	uint8_t frame[1400];
	unsigned int i, n;
	uint16_t port;

	conf.rxd = conf.txd = 64;
	port = port_up(0, &conf);
	capture_start(port);
	/* Every mbuf of the pool goes out once and receives once. */
	n = rte_mempool_avail_count(pool);
	CHECK(n < RTE_DIM(pkts) && n > 400);
	for (i = 0; i < n; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		pkts[i] = mbuf_frame(pool, frame, sizeof(frame));
	}
	tx_all(port, 0, pkts, n);
	CHECK_EQ(capture_count(port), n);
	for (i = 0; i < 2 * pool->size; i++) {
		if (i < n) {
			frame_make(frame, sizeof(frame), mac_foreign, i);
			check_capture(port, i, frame, sizeof(frame));
		}
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, &m, 1), 1);
		check_mbuf(m, frame, sizeof(frame));
		rte_pktmbuf_free(m);
	}
	CHECK_EQ(wire_stats(port).tx_errors + wire_stats(port).rx_errors, 0);
}

TEST(mr_none_registered_by_traffic_of_known_pools)
{
	struct rte_mempool *other = pool_create(512, 2048);
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	uint64_t before = object_counts().mrs_registered;
	unsigned int i;

	capture_start(port);
	for (i = 0; i < 512; i++) {
		send_from(port, 0, conf.pool, i);
		send_from(port, 0, other, i);
	}
	CHECK_EQ(object_counts().mrs_registered, before);
	CHECK_EQ(stats_of(port).opackets, 1024);
}

TEST(mr_pool_made_after_start)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mempool *late;
	unsigned int round, i;

	capture_start(port);
	for (round = 0; round < 10; round++) {
		late = pool_create(300, 1024);
		for (i = 0; i < 100; i++)
			send_from(port, 0, late, i);
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		pool_release(late);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* Other memory at the same addresses: a key remembered from before is none. */
TEST(mr_pool_freed_and_another_in_its_place)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mempool *pool;
	uint8_t *area = area_reserve(2);
	unsigned int round, i;

	capture_start(port);
	for (round = 0; round < 8; round++) {
		pool = pool_over_area("replaced", area, 2);
		for (i = 0; i < 50; i++)
			send_from(port, 0, pool, 100 * round + i);
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		pool_release(pool);
		CHECK(mmap(area, 4u * POOL_CHUNK, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(stats_of(port).opackets, 8 * 50);
}

/* ---- external buffers ---- */

static unsigned int frees;

static void
count_free(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
	frees++;
}

static struct rte_mbuf_ext_shared_info shared[64];

static struct rte_mbuf *
external(struct rte_mempool *pool, void *buffer, uint16_t length, unsigned int slot)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CHECK(m != NULL);
	shared[slot].free_cb = count_free;
	shared[slot].fcb_opaque = NULL;
	rte_mbuf_ext_refcnt_set(&shared[slot], 1);
	rte_pktmbuf_attach_extbuf(m, buffer, RTE_BAD_IOVA, length, &shared[slot]);
	m->data_off = 0;
	m->data_len = m->pkt_len = length;
	return m;
}

static void *
map_pages(unsigned int pages, int protection)
{
	void *area = mmap(NULL, pages * 4096u, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	return area;
}

TEST(mr_external_buffer_of_malloc_memory)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int i, length;
	struct rte_mbuf *m;
	uint8_t *buffers[64];

	capture_start(port);
	frees = 0;
	for (i = 0; i < 64; i++) {
		length = 60 + 22 * i;
		buffers[i] = malloc(length);
		frame_make(buffers[i], length, mac_foreign, i);
		m = external(conf.pool, buffers[i], length, i);
		tx_all(port, 0, &m, 1);
		check_capture(port, i, buffers[i], length);
	}
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	CHECK_EQ(frees, 64);
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(stats_of(port).opackets, 64);
	port_close(port);
	for (i = 0; i < 64; i++)
		free(buffers[i]);
}

/* The byte after the data is not mapped: no region may reach beyond it. */
TEST(mr_external_buffer_at_the_end_of_a_mapping)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	unsigned int i, length;
	struct rte_mbuf *m;
	uint8_t *area;

	capture_start(port);
	for (i = 0; i < 32; i++) {
		length = 60 + i;
		area = map_pages(3, PROT_READ | PROT_WRITE);
		CHECK(munmap(area + 2 * 4096, 4096) == 0);
		CHECK(munmap(area, 4096) == 0);
		frame_make(area + 2 * 4096 - length, length, mac_foreign, i);
		m = external(conf.pool, area + 2 * 4096 - length, length, i);
		tx_all(port, 0, &m, 1);
		check_capture(port, i, area + 2 * 4096 - length, length);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
}

/* The bad packet is lost and counted, its buffer given back, the next one sent. */
static void
check_unregistrable(uint16_t port, struct rte_mempool *pool, void *where, unsigned int segment)
{
	struct rte_eth_stats before = stats_of(port), after;
	unsigned int index = capture_count(port), freed = frees;
	struct rte_mbuf *pkts[3];
	uint8_t frame[200];

	frame_make(frame, sizeof(frame), mac_foreign, index);
	pkts[0] = mbuf_frame(pool, frame, sizeof(frame));
	pkts[2] = mbuf_frame(pool, frame, sizeof(frame));
	pkts[1] = external(pool, where, 500, 0);
	if (segment > 0) {
		struct rte_mbuf *head = mbuf_frame(pool, frame, 100);

		CHECK_OK(rte_pktmbuf_chain(head, pkts[1]));
		pkts[1] = head;
	}
	tx_all(port, 0, pkts, 3);
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	after = stats_of(port);
	CHECK_EQ(after.opackets, before.opackets + 2);
	CHECK_EQ(after.oerrors, before.oerrors + 1);
	CHECK_EQ(capture_count(port), index + 2);
	check_capture(port, index, frame, sizeof(frame));
	check_capture(port, index + 1, frame, sizeof(frame));
	CHECK_EQ(frees, freed + 1);
}

TEST(mr_unmapped_memory_is_dropped_and_counted)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint8_t *area = map_pages(4, PROT_READ | PROT_WRITE);
	uint16_t port;
	unsigned int i;

	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	CHECK(munmap(area, 4 * 4096) == 0);
	capture_start(port);
	for (i = 0; i < 100; i++)
		check_unregistrable(port, conf.pool, area + 1000 + i, i % 2);
	check_traffic(port);
}

TEST(mr_inaccessible_memory_is_dropped_and_counted)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint8_t *area = map_pages(4, PROT_NONE);
	uint16_t port;
	unsigned int i;

	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	capture_start(port);
	for (i = 0; i < 100; i++)
		check_unregistrable(port, conf.pool, area + 1000 + i, i % 2);
	check_traffic(port);
	CHECK(munmap(area, 4 * 4096) == 0);
}

/* Only readable: sent as it is, or dropped and counted; the queue lives on. */
TEST(mr_read_only_memory_is_sent_or_counted)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_eth_stats stats;
	struct rte_mbuf *m;
	uint8_t *area;
	unsigned int i;

	capture_start(port);
	frees = 0;
	for (i = 0; i < 20; i++) {
		area = map_pages(1, PROT_READ | PROT_WRITE);
		frame_make(area, 700, mac_foreign, i);
		CHECK(mprotect(area, 4096, PROT_READ) == 0);
		m = external(conf.pool, area, 700, i);
		tx_all(port, 0, &m, 1);
	}
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	stats = stats_of(port);
	CHECK_EQ(stats.opackets + stats.oerrors, 20);
	CHECK_EQ(stats.opackets, capture_count(port));
	CHECK_EQ(frees, 20);
	CHECK_EQ(wire_stats(port).tx_errors, 0);
	for (i = 0; i < stats.opackets; i++) {
		uint8_t frame[700];

		frame_make(frame, sizeof(frame), mac_foreign, i);
		check_capture(port, i, frame, sizeof(frame));
	}
	check_traffic(port);
}

/* Mbufs of a pinned pool keep saying so, each segment, or they could not go back. */
static void
check_pinned(uint16_t port, size_t length, uint16_t segments, const uint8_t *area, size_t size)
{
	uint8_t frame[FRAME_MAX];
	const struct rte_mbuf *seg;
	struct rte_mbuf *m;

	frame_make(frame, length, mac_foreign, length);
	wire_inject(port, frame, length);
	CHECK_EQ(rx_all(port, 0, &m, 1), 1);
	check_mbuf(m, frame, length);
	CHECK_EQ(m->nb_segs, segments);
	for (seg = m; seg != NULL; seg = seg->next) {
		CHECK(RTE_MBUF_HAS_EXTBUF(seg) && RTE_MBUF_HAS_PINNED_EXTBUF(seg));
		CHECK((const uint8_t *)seg->buf_addr >= area &&
			(const uint8_t *)seg->buf_addr < area + size);
	}
	rte_pktmbuf_free(m);
}

static struct rte_mempool *
pinned_pool(const char *name, uint16_t room, uint8_t *area, size_t size)
{
	struct rte_pktmbuf_extmem memory = {
		.buf_ptr = area,
		.buf_iova = RTE_BAD_IOVA,
		.buf_len = size,
		.elt_size = room + RTE_PKTMBUF_HEADROOM,
	};
	struct rte_mempool *pool = rte_pktmbuf_pool_create_extbuf(name, 512, 0, 0,
		memory.elt_size, SOCKET_ID_ANY, &memory, 1);

	CHECK(pool != NULL);
	pool_adopt(pool);
	return pool;
}

/* A pool whose buffers are external and pinned. */
TEST(mr_pinned_external_pool)
{
	uint8_t *area = map_pages(512, PROT_READ | PROT_WRITE);
	struct port_conf conf = port_conf(pinned_pool("pinned", 2048, area, 2 << 20));
	uint16_t port = port_up(0, &conf);
	unsigned int i;

	capture_start(port);
	for (i = 0; i < 1000; i++)
		check_traffic(port);
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(stats_of(port).ipackets, 1000);
	for (i = 0; i < 600; i++)
		check_pinned(port, 60 + i, 1, area, 2 << 20);
}

TEST(mr_pinned_external_pool_scattered)
{
	uint8_t *area = map_pages(512, PROT_READ | PROT_WRITE);
	struct port_conf conf = port_conf(pinned_pool("pinned2", 512, area, 2 << 20));
	uint16_t port;
	unsigned int i;

	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.rxd = 64;
	port = port_up(0, &conf);
	for (i = 0; i < 600; i++)
		check_pinned(port, 1200, 3, area, 2 << 20);
}
