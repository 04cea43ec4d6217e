/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory that the application lends for a while: what the port keeps of it. */

#include <sys/mman.h>

#include <rte_malloc.h>

#include "harness.h"

#define AREA (8u << 20)
#define PAGE 4096u
#define HEAP "lent"

/* The same addresses each time. */
static uint8_t *
map_at(uint8_t *where)
{
	int fixed = where != NULL ? MAP_FIXED : 0;
	void *area = mmap(where, AREA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

	CHECK(area != MAP_FAILED);
	return area;
}

static struct rte_mempool *
heap_pool(uint8_t *area)
{
	int socket;

	CHECK_OK(rte_malloc_heap_memory_add(HEAP, area, AREA, NULL, AREA / PAGE, PAGE));
	socket = rte_malloc_heap_get_socket(HEAP);
	CHECK(socket >= 0);
	return rte_pktmbuf_pool_create("lent", 1024, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, socket);
}

static struct rte_mempool *
pinned_pool(uint8_t *area)
{
	/* Buffers with a little space between them. */
	struct rte_pktmbuf_extmem memory = {
		.buf_ptr = area,
		.buf_iova = RTE_BAD_IOVA,
		.buf_len = AREA,
		.elt_size = 2048 + RTE_PKTMBUF_HEADROOM + 64,
	};

	return rte_pktmbuf_pool_create_extbuf("lent", 1024, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM,
		SOCKET_ID_ANY, &memory, 1);
}

static void
send_one(uint16_t port, struct rte_mempool *pool, uint64_t seed)
{
	unsigned int index = capture_count(port);
	uint8_t frame[700];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, seed);
	m = mbuf_frame(pool, frame, sizeof(frame));
	tx_all(port, 0, &m, 1);
	check_capture(port, index, frame, sizeof(frame));
}

/*
 * Other memory at the same addresses must be registered anew: a card would go on
 * reading the pages that were there before.
 */
static void
check_replaced(struct rte_mempool *(*make)(uint8_t *area), bool heap)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	uint8_t *area = NULL;
	struct rte_mempool *pool;
	unsigned int round, i;
	uint64_t registered;

	if (heap)
		CHECK_OK(rte_malloc_heap_create(HEAP));
	capture_start(port);
	for (round = 0; round < 5; round++) {
		area = map_at(area);
		registered = object_counts().mrs_registered;
		pool = make(area);
		CHECK(pool != NULL);
		pool_adopt(pool);
		for (i = 0; i < 20; i++)
			send_one(port, pool, 20 * round + i);
		CHECK(object_counts().mrs_registered > registered);
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		pool_release(pool);
		if (heap)
			CHECK_OK(rte_malloc_heap_memory_remove(HEAP, area, AREA));
	}
	if (heap)
		CHECK_OK(rte_malloc_heap_destroy(HEAP));
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK(munmap(area, AREA) == 0);
}

TEST(mr_pool_on_a_lent_heap_and_another_in_its_place)
{
	check_replaced(heap_pool, true);
}

TEST(mr_pool_of_pinned_buffers_and_another_in_its_place)
{
	check_replaced(pinned_pool, false);
}

/* A card has not that many regions, and looks them up. */
TEST(mr_pinned_buffers_of_an_area_share_a_region)
{
	uint8_t *area = map_at(NULL);
	struct vmlx4_object_counts before = object_counts();
	struct rte_mempool *pool = pinned_pool(area);
	struct port_conf conf;
	unsigned int i;
	uint16_t port;

	CHECK(pool != NULL);
	pool_adopt(pool);
	conf = port_conf(pool);
	port = port_up(0, &conf);
	for (i = 0; i < 500; i++)
		check_traffic(port);
	CHECK(object_counts().mrs_registered - before.mrs_registered <= 2);
	port_close(port);
	pool_release(pool);
	CHECK(munmap(area, AREA) == 0);
}
