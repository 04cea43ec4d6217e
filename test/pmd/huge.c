/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that EAL gives back to the system while the port runs. What lies there next
 * is other memory: a region that lived on would have the card read, or write to, pages
 * that are no longer the program's.
 */

#include <rte_malloc.h>
#include <rte_memory.h>

#include "harness.h"

#define PAGE (2u << 20)
#define POOL_MBUFS 2047 /* some 5 MB: pages of its own */

static uint16_t
port_of_huge_pages(struct port_conf *conf)
{
	uint16_t port;

	if (!eal_has_hugepages())
		test_skip("EAL's memory does not come and go without huge pages");
	*conf = port_conf(pool_create(512, 2048));
	port = port_up(0, conf);
	capture_start(port);
	return port;
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
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
}

static int
holds(const struct rte_memseg_list *msl, const struct rte_memseg *ms, void *arg)
{
	(void)msl;
	return (uintptr_t)arg - (uintptr_t)ms->addr < ms->len;
}

/* Does EAL have a page at this address? */
static bool
is_there(void *addr)
{
	return rte_memseg_walk(holds, addr) != 0;
}

/* The mbuf in the middle: its page is the pool's alone. */
static void
take_middle(struct rte_mempool *pool, void *arg, void *obj, unsigned int i)
{
	if (i == pool->size / 2)
		*(void **)arg = obj;
}

TEST(huge_pool_that_is_freed_takes_its_region_along)
{
	struct port_conf conf;
	uint16_t port = port_of_huge_pages(&conf);
	struct vmlx4_object_counts before = object_counts();
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		struct rte_mempool *pool = pool_create(POOL_MBUFS, 2048);
		void *addr = NULL;

		rte_mempool_obj_iter(pool, take_middle, &addr);
		CHECK(is_there(addr));
		for (i = 0; i < 5; i++)
			send_one(port, pool, i);
		CHECK(object_counts().mr_bytes >= before.mr_bytes + 2 * PAGE);
		pool_release(pool);
		CHECK_MSG(!is_there(addr), "EAL kept the memory of the pool");
		CHECK_EQ(object_counts().mr_bytes, before.mr_bytes);
		CHECK_EQ(object_counts().mrs, before.mrs);
		send_one(port, conf.pool, round);
	}
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(wire_stats(port).tx_errors, 0);
}

/* Three pools in one run of pages; the one in the middle goes first. */
TEST(huge_hole_in_a_region)
{
	struct port_conf conf;
	uint16_t port = port_of_huge_pages(&conf);
	uint64_t start = object_counts().mr_bytes;
	struct rte_mempool *pools[3];
	unsigned int round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 3; i++)
			pools[i] = pool_create(POOL_MBUFS, 2048);
		for (i = 0; i < 3; i++)
			send_one(port, pools[i], i);
		pool_release(pools[1]);
		send_one(port, pools[0], 10);
		send_one(port, pools[2], 12);
		/* Other memory in the hole. */
		pools[1] = pool_create(POOL_MBUFS, 2048);
		for (i = 0; i < 3; i++)
			send_one(port, pools[i], 20 + i);
		pool_release(pools[round % 3]);
		send_one(port, pools[(round + 1) % 3], 30);
		pool_release(pools[(round + 1) % 3]);
		send_one(port, pools[(round + 2) % 3], 40);
		pool_release(pools[(round + 2) % 3]);
		send_one(port, conf.pool, 50);
	}
	CHECK_EQ(object_counts().mr_bytes, start);
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(wire_stats(port).tx_errors, 0);
}

/* A run of pages that grows: packets of the old region are still on their way. */
TEST(huge_region_that_grows)
{
	struct port_conf conf;
	uint16_t port = port_of_huge_pages(&conf);
	struct rte_mempool *pools[8];
	struct rte_mbuf *pkts[8];
	uint8_t frame[200];
	unsigned int i, k;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (i = 0; i < RTE_DIM(pools); i++) {
		pools[i] = pool_create(POOL_MBUFS, 2048);
		for (k = 0; k <= i; k++)
			pkts[k] = mbuf_frame(pools[k], frame, sizeof(frame));
		/* Without a step of the adapter: all of it waits in the ring. */
		CHECK_EQ(rte_eth_tx_burst(port, 0, pkts, i + 1), i + 1);
	}
	settle();
	CHECK_EQ(capture_count(port), 8 * 9 / 2);
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	CHECK_EQ(stats_of(port).oerrors, 0);
	CHECK_EQ(wire_stats(port).tx_errors, 0);
}

/* Two ports: each has regions of its own, and forgets them. */
TEST(huge_memory_of_two_ports)
{
	struct port_conf conf;
	uint16_t port = port_of_huge_pages(&conf), other = port_up(1, &conf);
	struct vmlx4_object_counts before = object_counts();
	unsigned int round;

	capture_start(other);
	for (round = 0; round < 10; round++) {
		struct rte_mempool *pool = pool_create(POOL_MBUFS, 2048);

		send_one(port, pool, round);
		send_one(other, pool, round);
		pool_release(pool);
		CHECK_EQ(object_counts().mr_bytes, before.mr_bytes);
	}
}
