/* SPDX-License-Identifier: BSD-3-Clause */

/* Pools in memory of their own. */

#include <sys/mman.h>

#include "harness.h"

struct rte_mempool *
pool_over_area(const char *name, uint8_t *area, unsigned int chunks)
{
	static const struct rte_pktmbuf_pool_private priv = {
		.mbuf_data_room_size = 2048 + RTE_PKTMBUF_HEADROOM,
	};
	size_t element = sizeof(struct rte_mbuf) + priv.mbuf_data_room_size;
	/* Without hugepages no object crosses a page. */
	unsigned int each = POOL_CHUNK / 4096, i;
	struct rte_mempool *pool;

	pool = rte_mempool_create_empty(name, each * chunks, element, 0, sizeof(priv),
		SOCKET_ID_ANY, 0);
	CHECK(pool != NULL);
	rte_pktmbuf_pool_init(pool, (void *)(uintptr_t)&priv);
	for (i = 0; i < chunks && pool->populated_size < pool->size; i++) {
		uint8_t *chunk = area + 2u * POOL_CHUNK * i;

		CHECK(mprotect(chunk, POOL_CHUNK, PROT_READ | PROT_WRITE) == 0);
		CHECK(rte_mempool_populate_iova(pool, (char *)chunk, (uintptr_t)chunk, POOL_CHUNK,
			NULL, NULL) > 0);
	}
	CHECK_EQ(pool->populated_size, pool->size);
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	pool_adopt(pool);
	return pool;
}

uint8_t *
area_reserve(unsigned int chunks)
{
	void *area = mmap(NULL, 2u * POOL_CHUNK * chunks, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	return area;
}

struct rte_mempool *
pool_in_chunks(const char *name, unsigned int chunks)
{
	return pool_over_area(name, area_reserve(chunks), chunks);
}
