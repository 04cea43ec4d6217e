/* SPDX-License-Identifier: BSD-3-Clause */

/* The completion side of a send queue: what was sent goes back to its pools. */

#include <stddef.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

#define TX_FREE_BULK 64       /* mbufs of chains that no cache has room for, at a time */
#define TX_SHARED_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL) /* !RTE_MBUF_DIRECT() */

static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2,
	      "refcnt and nb_segs are looked at together");

/* Plain: whoever had the other references was done with them before. */
static inline uint16_t
tx_refcnt(const struct rte_mbuf *m)
{
	uint16_t refcnt;

	memcpy(&refcnt, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)), sizeof(refcnt));
	return refcnt;
}

#define TX_OWN 0x00010001u   /* refcnt and nb_segs of both byte orders */

/* Its own and nobody else's, and one segment by its count. */
static inline bool
tx_is_own(const struct rte_mbuf *m)
{
	uint32_t refcnt_segs;

	memcpy(&refcnt_segs, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)),
	       sizeof(refcnt_segs));
	return refcnt_segs == TX_OWN;
}

/* As the pool wants it, and of this pool. */
static inline bool
tx_is_raw(const struct rte_mbuf *m, const struct rte_mempool *mp)
{
	return tx_is_own(m) && m->pool == mp &&
		((m->ol_flags & TX_SHARED_FLAGS) | (uintptr_t)m->next) == 0;
}

static inline bool
tx_are_raw(struct rte_mbuf *const m[4], const struct rte_mempool *mp)
{
	uint64_t flags = m[0]->ol_flags | m[1]->ol_flags | m[2]->ol_flags | m[3]->ol_flags;
	uintptr_t next = (uintptr_t)m[0]->next | (uintptr_t)m[1]->next |
		(uintptr_t)m[2]->next | (uintptr_t)m[3]->next;

	return tx_is_own(m[0]) && tx_is_own(m[1]) && tx_is_own(m[2]) && tx_is_own(m[3]) &&
		m[0]->pool == mp && m[1]->pool == mp && m[2]->pool == mp && m[3]->pool == mp &&
		((flags & TX_SHARED_FLAGS) | next) == 0;
}

/* How many from the first on are as their pool, this one, wants them. */
static inline uint32_t
tx_count_raw(struct rte_mbuf *const *elts, uint32_t n, const struct rte_mempool *mp)
{
	uint32_t i = 0;

	while (i + 4 <= n && likely(tx_are_raw(elts + i, mp)))
		i += 4;
	while (i < n && likely(tx_is_raw(elts[i], mp)))
		i++;
	return i;
}

/*
 * Into the cache that a pool has for this core, as rte_mempool_put() would have it: a call
 * for each mbuf costs more than all the rest. False: it has none, or it is full.
 */
static inline bool
tx_put_cached(const struct rte_mempool *mp, unsigned int lcore, struct rte_mbuf *m)
{
	struct rte_mempool_cache *cache = &mp->local_cache[lcore];

	if (unlikely(mp->cache_size == 0 || cache->len >= MDV_CACHE_LIMIT(cache)))
		return false;
	cache->objs[cache->len++] = m;
	return true;
}

/* ---- packets of one segment ---- */

/* Those that have no cache with room, or are not as their pool wants them. */
static __rte_noinline uint32_t
tx_free_uncached(struct rte_mbuf **elts, uint32_t n)
{
	struct rte_mempool *mp = elts[0]->pool;
	uint32_t raw = tx_count_raw(elts, n, mp);

	if (raw != 0) {
		rte_mempool_put_bulk(mp, (void **)elts, raw);
		return raw;
	}
	rte_pktmbuf_free(elts[0]);
	return 1;
}

/* Of any pools. */
static __rte_noinline void
tx_free_any(struct rte_mbuf **elts, uint32_t n)
{
	const unsigned int lcore = rte_lcore_id();
	struct rte_mbuf **const end = elts + n;

	/* A thread that is none of EAL's has no caches. */
	while (unlikely(lcore >= RTE_MAX_LCORE) && elts != end)
		elts += tx_free_uncached(elts, (uint32_t)(end - elts));
	while (elts != end) {
		struct rte_mbuf *m = *elts;

		if (likely(tx_is_raw(m, m->pool) && tx_put_cached(m->pool, lcore, m)))
			elts++;
		else
			elts += tx_free_uncached(elts, (uint32_t)(end - elts));
	}
}

/*
 * A run of the ring that holds a packet of one segment in every block. Those of one
 * pool, up to the first that is not, go back straight from the ring.
 */
static inline void
tx_free_run(struct rte_mbuf **elts, uint32_t n, bool fast_free)
{
	struct rte_mempool *mp = elts[0]->pool;
	uint32_t raw = 0;

	if (fast_free)
		raw = n;
	else if (likely(elts[n - 1]->pool == mp))
		raw = tx_count_raw(elts, n, mp);
	if (likely(raw != 0))
		rte_mempool_put_bulk(mp, (void **)elts, raw);
	if (unlikely(raw != n))
		tx_free_any(elts + raw, n - raw);
}

/* ---- chains ---- */

/*
 * Mbufs of one pool, on their way back to it: they are written where its cache for this
 * core has room for them, or are gathered to go together. Without the array, so as to
 * be held in registers.
 */
struct tx_bulk {
	struct rte_mempool *mp;
	struct rte_mbuf **first, **to, **end;
};

/* From now on mbufs of this pool. */
static __rte_noinline struct tx_bulk
tx_bulk_open(struct rte_mempool *mp, struct rte_mbuf *room[TX_FREE_BULK])
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(mp, rte_lcore_id());
	struct rte_mbuf **objs = room;
	uint32_t n = TX_FREE_BULK;

	if (likely(cache != NULL && cache->len < MDV_CACHE_LIMIT(cache))) {
		objs = (struct rte_mbuf **)&cache->objs[cache->len];
		n = MDV_CACHE_LIMIT(cache) - cache->len;
	}
	return (struct tx_bulk){ mp, objs, objs, objs + n };
}

static __rte_noinline void
tx_bulk_close(struct rte_mempool *mp, struct rte_mbuf **first, uint32_t n,
	      struct rte_mbuf *room[TX_FREE_BULK])
{
	if (unlikely(n == 0))
		return;
	if (unlikely(first == room))
		rte_mempool_put_bulk(mp, (void **)room, n);
	else
		rte_mempool_default_cache(mp, rte_lcore_id())->len += n;
}

static inline void
tx_bulk_add(struct tx_bulk *bulk, struct rte_mbuf *room[TX_FREE_BULK], struct rte_mbuf *m)
{
	if (unlikely(m->pool != bulk->mp || bulk->to == bulk->end)) {
		tx_bulk_close(bulk->mp, bulk->first, (uint32_t)(bulk->to - bulk->first), room);
		*bulk = tx_bulk_open(m->pool, room);
	}
	*bulk->to++ = m;
}

/* In the upper half of ol_flags, where one instruction finds them. */
static inline bool
tx_is_shared(const struct rte_mbuf *m)
{
	static_assert((uint32_t)TX_SHARED_FLAGS == 0, "TX_SHARED_FLAGS");
	return ((uint32_t)(m->ol_flags >> 32) & (uint32_t)(TX_SHARED_FLAGS >> 32)) != 0;
}

/*
 * A segment that others may share, who then keep it, or that is not as its pool wants it.
 * The pool of what it was attached to may be the one at hand, and gets it back now.
 */
static __rte_noinline void
tx_free_odd(struct tx_bulk bulk, struct rte_mbuf *room[TX_FREE_BULK], struct rte_mbuf *m)
{
	tx_bulk_close(bulk.mp, bulk.first, (uint32_t)(bulk.to - bulk.first), room);
	m = rte_pktmbuf_prefree_seg(m);
	if (m != NULL)
		rte_mempool_put(m->pool, m);
}

/* All segments of a packet. Those behind the first are one by their count already. */
static __rte_always_inline void
tx_free_chain(struct tx_bulk *bulk, struct rte_mbuf *room[TX_FREE_BULK], struct rte_mbuf *m)
{
	struct rte_mbuf *next = m->next;

	if (next != NULL && likely(tx_refcnt(m) == 1 && !tx_is_shared(m))) {
		m->nb_segs = 1;
		m->next = NULL;
		tx_bulk_add(bulk, room, m);
		m = next;
	}
	for (;;) {
		next = m->next;
		if (unlikely(!tx_is_own(m) || tx_is_shared(m))) {
			tx_free_odd(*bulk, room, m);
			*bulk = (struct tx_bulk){ NULL, room, room, room };
			if (next == NULL)
				return;
		} else {
			/* Only if it has to be: the line would be fetched for it. */
			if (next == NULL)
				break;
			m->next = NULL;
			tx_bulk_add(bulk, room, m);
		}
		m = next;
	}
	tx_bulk_add(bulk, room, m);
}

/* Packets of @n blocks side by side, in some of which none starts. Returns how many. */
static inline uint32_t
tx_free_chains(struct tx_bulk *bulk, struct rte_mbuf *room[TX_FREE_BULK],
	       struct rte_mbuf *const *elts, uint32_t n)
{
	struct rte_mbuf *const *const end = elts + n;
	uint32_t freed = 0;

	for (; elts != end; elts++)
		if (*elts != NULL) {
			tx_free_chain(bulk, room, *elts);
			freed++;
		}
	return freed;
}

/* Chains, or blocks where no packet starts. */
static __rte_noinline uint32_t
tx_free_mixed(struct mdv_txq *txq, uint32_t max)
{
	struct rte_mbuf *room[TX_FREE_BULK];
	struct tx_bulk bulk = { NULL, room, room, room };
	uint32_t freed = 0;

	while (txq->freed != txq->sq.ci && freed != max) {
		uint32_t slot = txq->freed & (txq->sq.bb_cnt - 1);
		uint32_t run = RTE_MIN(txq->sq.bb_cnt - slot, txq->sq.ci - txq->freed);

		/* No more packets than blocks. */
		run = RTE_MIN(run, max - freed);
		freed += tx_free_chains(&bulk, room, &txq->elts[slot], run);
		txq->freed += run;
	}
	tx_bulk_close(bulk.mp, bulk.first, (uint32_t)(bulk.to - bulk.first), room);
	return freed;
}

/* Free packets that completed: at most @max. */
static inline uint32_t
tx_free_completed(struct mdv_txq *txq, uint32_t max)
{
	uint32_t todo = RTE_MIN(txq->sq.ci - txq->freed, max);
	uint32_t slot = txq->freed & (txq->sq.bb_cnt - 1);
	uint32_t run = RTE_MIN(todo, txq->sq.bb_cnt - slot);

	if (unlikely((int32_t)(txq->mixed - txq->freed) > 0)) {
		todo = tx_free_mixed(txq, max);
	} else if (todo != 0) {
		tx_free_run(&txq->elts[slot], run, txq->fast_free);
		if (unlikely(todo != run))
			tx_free_run(txq->elts, todo - run, txq->fast_free);
		txq->freed += todo;
		/* Not left behind so far that it would seem to be ahead. */
		txq->mixed = txq->freed;
	}
	txq->inflight -= todo;
	return todo;
}

/* ---- completions ---- */

/*
 * A completion that says that the queue is dead, or makes no sense. What was
 * sent before counts as sent; the rest stays in elts for mdv_tx_drain().
 */
static __rte_noinline void
tx_failed(struct mdv_txq *txq, const struct dvq_cqe *cqe)
{
	txq->stats.errors++;
	txq->last_error = (struct mdv_last_error){ .ended = true };
	if (!dvq_cqe_is_error(cqe))
		return;
	txq->last_error.syndrome = dvq_cqe_syndrome(cqe);
	txq->last_error.vendor = dvq_cqe_vendor_err(cqe);
	dvq_sq_complete_before(&txq->sq, dvq_cqe_wqe_index(cqe));
}

static inline int
tx_complete_to(struct mdv_txq *txq, uint16_t wqe_index)
{
	return txq->stamps ? dvq_sq_complete(&txq->sq, wqe_index) :
		dvq_sq_complete_single(&txq->sq, wqe_index);
}

/* Take completions; false when one of them ended the queue's life. */
static inline bool
tx_complete(struct mdv_txq *txq)
{
	const struct dvq_cqe *cqe = dvq_cq_poll(&txq->cq);
	bool alive = true;

	if (cqe == NULL)
		return true;
	do {
		if (unlikely(dvq_cqe_is_error(cqe) ||
			     tx_complete_to(txq, dvq_cqe_wqe_index(cqe)) < 0)) {
			tx_failed(txq, cqe);
			alive = false;
			break;
		}
		cqe = dvq_cq_poll(&txq->cq);
	} while (cqe != NULL);
	dvq_cq_update_ci(&txq->cq);
	mdv_tx_set_next(txq);
	return alive;
}

bool
mdv_tx_take_completions(struct mdv_txq *txq)
{
	if (MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING)
		return false;
	if (unlikely(!tx_complete(txq))) {
		tx_free_completed(txq, UINT32_MAX);
		MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_FAILED);
		return false;
	}
	if (mdv_tx_signal_rest(txq))
		mdv_tx_ring(txq);
	return true;
}

/* FAILED is the last thing done: the watchdog may then take the queue. */
bool
mdv_tx_reap_all(struct mdv_txq *txq)
{
	bool alive = tx_complete(txq);

	tx_free_completed(txq, UINT32_MAX);
	if (unlikely(!alive))
		MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_FAILED);
	return alive;
}

void
mdv_tx_post_nop(struct mdv_txq *txq)
{
	txq->elts[txq->sq.pi & (txq->sq.bb_cnt - 1)] = NULL;
	dvq_sq_post_block(&txq->sq, 0, DVQ_OP_NOP, 0, DVQ_CTRL_CQE, NULL);
	txq->signalled = txq->sq.pi;
	txq->mixed = txq->sq.pi;
}

int
mdv_tx_reap(struct mdv_txq *txq, uint32_t n)
{
	uint32_t freed;
	bool alive;

	if (MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING)
		return 0;
	alive = tx_complete(txq);
	freed = tx_free_completed(txq, n != 0 ? n : UINT32_MAX);
	if (!alive)
		MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_FAILED);
	else if (mdv_tx_signal_rest(txq))
		mdv_tx_ring(txq);
	return (int)freed;
}

/*
 * Take what completions are left without a look at the ring, whose memory went
 * with the QP: only how far the adapter came.
 */
static void
tx_settle(struct mdv_txq *txq, bool alive)
{
	const struct dvq_cqe *cqe;

	while ((cqe = dvq_cq_poll(&txq->cq)) != NULL) {
		uint16_t ahead = dvq_cqe_wqe_index(cqe) - (uint16_t)txq->sq.ci;
		bool error = dvq_cqe_is_error(cqe);

		if (error && dvq_cqe_syndrome(cqe) != DVQ_SYNDROME_WR_FLUSH)
			txq->stats.errors++;
		/* Behind the first error nothing was sent. */
		if (alive && ahead < txq->sq.pi - txq->sq.ci)
			txq->sq.ci += ahead + (error ? 0 : 1);
		alive = alive && !error;
	}
	dvq_cq_update_ci(&txq->cq);
	mdv_tx_set_next(txq);
	tx_free_completed(txq, UINT32_MAX);
}

void
mdv_tx_drain(struct mdv_txq *txq)
{
	uint32_t mask = txq->sq.bb_cnt - 1;
	uint32_t i;

	if (txq->elts == NULL)
		return;
	/* Not by the state, which a stop has changed already. */
	if (txq->cq.buf != NULL)
		tx_settle(txq, !txq->last_error.ended);
	txq->last_error.ended = false;
	for (i = txq->freed; i != txq->sq.pi; i++) {
		struct rte_mbuf *m = txq->elts[i & mask];

		if (m == NULL)
			continue;
		txq->stats.lost_packets++;
		txq->stats.lost_bytes += m->pkt_len;
		rte_pktmbuf_free(m);
	}
	txq->inflight = 0;
	txq->freed = 0;
	txq->mixed = 0;
	txq->signalled = 0;
	txq->sq.pi = 0;
	txq->sq.ci = 0;
}
