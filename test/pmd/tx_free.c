/* SPDX-License-Identifier: BSD-3-Clause */

/* What was sent goes back to its pools: each mbuf once, and as its pool wants it. */

#include <pthread.h>

#include <rte_malloc.h>

#include "harness.h"

#define MBUFS 256
#define PACKETS 3000
#define BURST 40

static struct rte_mempool *pools[4];
static unsigned int external_freed;

static struct rte_mempool *
cached_pool(const char *name, unsigned int cache)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, MBUFS, cache, 0,
		512 + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);

	CHECK(pool != NULL);
	pool_adopt(pool);
	return pool;
}

static void
pools_make(void)
{
	pools[0] = cached_pool("tx_free_32", 32);
	pools[1] = cached_pool("tx_free_8", 8);
	pools[2] = cached_pool("tx_free_none", 0);
	pools[3] = cached_pool("tx_free_100", 100);
}

static int
by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* All mbufs of a pool are there, none of them twice, and each is like a fresh one. */
static void
check_pool(struct rte_mempool *pool)
{
	struct rte_mbuf *m[MBUFS];
	unsigned int i;

	CHECK_EQ(rte_mempool_avail_count(pool), MBUFS);
	for (i = 0; i < MBUFS; i++) {
		CHECK_OK(rte_mempool_get(pool, (void **)&m[i]));
		CHECK_MSG(m[i]->pool == pool, "an mbuf of %s is in %s", m[i]->pool->name,
			pool->name);
		CHECK_EQ(rte_mbuf_refcnt_read(m[i]), 1);
		CHECK_EQ(m[i]->nb_segs, 1);
		CHECK(m[i]->next == NULL);
		CHECK(RTE_MBUF_DIRECT(m[i]));
		CHECK(m[i]->buf_addr == RTE_PTR_ADD(m[i], sizeof(*m[i])));
	}
	qsort(m, MBUFS, sizeof(m[0]), by_address);
	for (i = 1; i < MBUFS; i++)
		CHECK_MSG(m[i] != m[i - 1], "an mbuf is in %s twice", pool->name);
	for (i = 0; i < MBUFS; i++)
		rte_mempool_put(pool, m[i]);
}

static struct rte_mbuf *
segment(struct rng *rng, unsigned int length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pools[rng_below(rng, RTE_DIM(pools))]);

	CHECK(m != NULL);
	memset(rte_pktmbuf_append(m, (uint16_t)length), 0x5a, length);
	return m;
}

static void
external_gone(void *addr, void *opaque)
{
	(void)opaque;
	external_freed++;
	rte_free(addr);
}

static struct rte_mbuf *
external(struct rng *rng)
{
	struct rte_mbuf *m = segment(rng, 0);
	uint16_t size = 512;
	void *buffer = rte_malloc(NULL, size, 0);
	struct rte_mbuf_ext_shared_info *shared =
		rte_pktmbuf_ext_shinfo_init_helper(buffer, &size, external_gone, NULL);

	rte_pktmbuf_attach_extbuf(m, buffer, RTE_BAD_IOVA, size, shared);
	memset(rte_pktmbuf_append(m, 80), 0x5b, 80);
	return m;
}

static struct rte_mbuf *
chain(struct rng *rng)
{
	struct rte_mbuf *m = segment(rng, 60);
	unsigned int n = 1 + rng_below(rng, 5);

	while (n-- > 0)
		CHECK_OK(rte_pktmbuf_chain(m, segment(rng, 10 + n)));
	return m;
}

/* As rte_pktmbuf_chain() leaves it: the second one's first segment has its count yet. */
static struct rte_mbuf *
chain_of_chains(struct rng *rng)
{
	struct rte_mbuf *m = chain(rng);

	CHECK_OK(rte_pktmbuf_chain(m, chain(rng)));
	return m;
}

/* A packet of some kind; @kept: what the application goes on to hold, or NULL. */
static struct rte_mbuf *
packet(struct rng *rng, struct rte_mbuf **kept)
{
	struct rte_mbuf *m, *clone;

	*kept = NULL;
	switch (rng_below(rng, 8)) {
	case 0:
		return external(rng);
	case 1:
		return chain(rng);
	case 2:
		return chain_of_chains(rng);
	case 3:
		/* Often of one pool: the freed clone frees what it was made from. */
		m = rng_below(rng, 2) == 0 ? segment(rng, 90) : chain(rng);
		clone = rte_pktmbuf_clone(m, pools[rng_below(rng, RTE_DIM(pools))]);
		CHECK(clone != NULL);
		rte_pktmbuf_free(m);
		return clone;
	case 4:
		m = segment(rng, 100);
		rte_mbuf_refcnt_update(m, 1);
		*kept = m;
		return m;
	default:
		return segment(rng, 64);
	}
}

static void
send_all_kinds(uint16_t port, uint64_t seed)
{
	struct rte_mbuf *pkts[BURST], *kept[BURST];
	struct rng rng = { seed };
	unsigned int sent, n, i;

	for (sent = 0; sent < PACKETS; sent += n) {
		n = 1 + rng_below(&rng, BURST);
		for (i = 0; i < n; i++)
			pkts[i] = packet(&rng, &kept[i]);
		tx_all(port, 0, pkts, n);
		for (i = 0; i < n; i++)
			rte_pktmbuf_free(kept[i]);
		if (rng_below(&rng, 4) == 0)
			settle();
	}
	for (i = 0; i < 3; i++) {
		settle();
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
	}
}

static uint16_t
free_port(void)
{
	struct port_conf conf;

	pools_make();
	conf = port_conf(pool_create(512, 2048));
	conf.txd = 64;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return port_up(0, &conf);
}

static void
check_pools(void)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(pools); i++)
		check_pool(pools[i]);
}

TEST(tx_free_of_all_kinds_and_pools)
{
	uint16_t port = free_port();

	send_all_kinds(port, 1);
	check_pools();
	CHECK(external_freed > PACKETS / 16);
	CHECK_EQ(stats_of(port).oerrors, 0);
}

static void *
in_a_thread(void *arg)
{
	send_all_kinds(*(uint16_t *)arg, 2);
	return NULL;
}

/* A thread that is none of EAL's has no caches. */
TEST(tx_free_in_a_thread_of_no_core)
{
	uint16_t port = free_port();
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, in_a_thread, &port) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	check_pools();
}

/* Packets of several blocks, and of one, so many at a time as asked for. */
TEST(tx_free_a_few_at_a_time)
{
	uint16_t port = free_port(), lengths[12];
	uint8_t frame[512] = { 2, 0, 0, 0, 0, 9 };
	unsigned int round, i, n, want;
	struct rte_mbuf *m;
	int freed;

	for (i = 0; i < RTE_DIM(lengths); i++)
		lengths[i] = 30;
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 10; i++) {
			m = mbuf_chain(pools[i % RTE_DIM(pools)], lengths, i % 3 == 0 ? 12 : 2,
				frame);
			CHECK_EQ(rte_eth_tx_burst(port, 0, &m, 1), 1);
		}
		/* What was posted without a CQE asks for it when the first is taken. */
		settle();
		for (n = 0; n < 10; n += (unsigned int)freed) {
			want = 1 + round % 4;
			freed = rte_eth_tx_done_cleanup(port, 0, want);
			CHECK_MSG(freed > 0 && freed <= (int)want, "%d freed, not up to %u",
				freed, want);
			settle();
		}
		CHECK_EQ(n, 10);
		CHECK_EQ(rte_eth_tx_done_cleanup(port, 0, 0), 0);
	}
	check_pools();
}
