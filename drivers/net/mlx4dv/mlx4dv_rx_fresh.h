/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_FRESH_H_
#define MLX4DV_RX_FRESH_H_

/*
 * The mbufs that take the places of received ones. They stay in the pool's cache until
 * it is known how many were used; only when it has too few are they taken out of the pool.
 */

#include <string.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4dv_rx.h"

#define RX_FRESH_MAX (4 * RX_CHUNK)

struct rx_fresh {
	struct rte_mbuf **first, **end;  /* taken from the end; before first, in own, NULL */
	struct rte_mempool_cache *cache; /* that they lie in; NULL: in own */
	struct rte_mbuf *own[RX_FRESH_MAX];
};

static inline uint32_t
rx_fresh_count(const struct rx_fresh *fresh)
{
	return (uint32_t)(fresh->end - fresh->first);
}

/* What the pool's cache has. No one else may use it until they are settled. */
static inline void
rx_fresh_take(struct mdv_rxq *rxq, struct rx_fresh *fresh)
{
	struct rte_mempool_cache *cache = MDV_MEMPOOL_CACHE(rxq->mp);

	fresh->cache = cache;
	fresh->first = fresh->end = fresh->own;
	if (unlikely(cache == NULL))
		return;
	fresh->first = (struct rte_mbuf **)cache->objs;
	fresh->end = fresh->first + cache->len;
}

static __rte_noinline void
rx_fresh_put(struct mdv_rxq *rxq, const struct rx_fresh *fresh)
{
	if (fresh->end != fresh->first)
		rte_mempool_put_bulk(rxq->mp, (void **)fresh->first, rx_fresh_count(fresh));
}

/* What is left of them goes back. */
static __rte_always_inline void
rx_fresh_settle(struct mdv_rxq *rxq, const struct rx_fresh *fresh)
{
	if (likely(fresh->cache != NULL))
		fresh->cache->len = rx_fresh_count(fresh);
	else
		rx_fresh_put(rxq, fresh);
}

/* Fill the cache up, as rte_mempool_get_bulk() would, but without taking them out. */
static inline bool
rx_fresh_fill_cache(struct mdv_rxq *rxq, struct rx_fresh *fresh, uint32_t wanted)
{
	struct rte_mempool_cache *cache = fresh->cache;
	uint32_t n = RTE_MAX(wanted, cache->size) - cache->len;

	if (rte_mempool_ops_dequeue_bulk(rxq->mp, &cache->objs[cache->len], n) != 0)
		return false;
	cache->len += n;
	fresh->end = fresh->first + cache->len;
	return true;
}

/*
 * There are too few. Have @wanted, or when the pool has fewer @least, or as many as
 * there are.
 */
static __rte_noinline void
rx_fresh_alloc(struct mdv_rxq *rxq, struct rx_fresh *fresh, uint32_t least, uint32_t wanted)
{
	struct rte_mbuf **const end = &fresh->own[RX_FRESH_MAX];
	struct rte_mbuf **first;

	rx_fresh_settle(rxq, fresh);
	wanted = RTE_MIN(wanted, RX_FRESH_MAX);
	if (likely(fresh->cache != NULL) && likely(rx_fresh_fill_cache(rxq, fresh, wanted)))
		return;
	first = end - wanted;
	fresh->cache = NULL;
	fresh->end = end;
	fresh->first = first;
	if (rte_mempool_get_bulk(rxq->mp, (void **)first, wanted) == 0)
		return;
	memset(first, 0, wanted * sizeof(*first));
	fresh->first = end - least;
	if (least != 0 && rte_mempool_get_bulk(rxq->mp, (void **)fresh->first, least) == 0)
		return;
	for (fresh->first = end; fresh->first != first; fresh->first--)
		if (rte_mempool_get(rxq->mp, (void **)&fresh->first[-1]) != 0) {
			fresh->first[-1] = NULL;
			return;
		}
}

#endif /* MLX4DV_RX_FRESH_H_ */
