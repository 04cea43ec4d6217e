/* SPDX-License-Identifier: BSD-3-Clause */

/* The completion side of a send queue: what was sent goes back to its pools. */

#include <stddef.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

#define TX_FREE_BULK 64       /* mbufs of chains given back to a pool at a time */

static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2,
	      "refcnt and nb_segs are looked at together");

/* One segment that is its own and nobody else's: as the pool wants it. */
static inline bool
tx_is_raw(const struct rte_mbuf *m)
{
	uint32_t refcnt_segs;

	memcpy(&refcnt_segs, RTE_PTR_ADD(m, offsetof(struct rte_mbuf, refcnt)),
	       sizeof(refcnt_segs));
	return refcnt_segs == 0x00010001 && RTE_MBUF_DIRECT(m) && m->next == NULL;
}

static inline void
tx_put(struct rte_mempool *mp, struct rte_mbuf **m, uint32_t n)
{
	if (likely(n != 0))
		rte_mempool_put_bulk(mp, (void **)m, n);
}

/*
 * A run of the ring that holds a packet of one segment in every block. Those of
 * one pool go back to it straight from the ring.
 */
static inline void
tx_free_run(struct rte_mbuf **elts, uint32_t n, bool fast_free)
{
	struct rte_mempool *mp = elts[0]->pool;
	struct rte_mbuf **const end = elts + n;
	struct rte_mbuf **first = elts; /* of those not given back yet */

	for (; elts != end && !fast_free; elts++) {
		struct rte_mbuf *m = *elts;
		bool raw = tx_is_raw(m);

		if (likely(raw && m->pool == mp))
			continue;
		tx_put(mp, first, (uint32_t)(elts - first));
		mp = m->pool;
		first = elts;
		if (!raw) {
			rte_pktmbuf_free(m);
			first++;
		}
	}
	tx_put(mp, first, (uint32_t)(end - first));
}

struct tx_bulk {
	struct rte_mempool *mp;
	uint32_t n;
	struct rte_mbuf *m[TX_FREE_BULK];
};

/* @m is as its pool wants it. */
static inline void
tx_bulk_add(struct tx_bulk *bulk, struct rte_mbuf *m)
{
	if (unlikely(bulk->n == TX_FREE_BULK || m->pool != bulk->mp)) {
		tx_put(bulk->mp, bulk->m, bulk->n);
		bulk->n = 0;
		bulk->mp = m->pool;
	}
	bulk->m[bulk->n++] = m;
}

static inline void
tx_free_chain(struct tx_bulk *bulk, struct rte_mbuf *m)
{
	struct rte_mbuf *next;

	do {
		next = m->next;
		if (likely(rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m))) {
			m->next = NULL;
			m->nb_segs = 1;
			tx_bulk_add(bulk, m);
		} else {
			m = rte_pktmbuf_prefree_seg(m);
			if (m != NULL)
				tx_bulk_add(bulk, m);
		}
		m = next;
	} while (m != NULL);
}

/* Chains among them, and blocks where no packet starts. */
static __rte_noinline uint32_t
tx_free_mixed(struct mdv_txq *txq, uint32_t max)
{
	uint32_t mask = txq->sq.bb_cnt - 1;
	struct rte_mbuf **elts = txq->elts;
	uint32_t end = txq->sq.ci;
	uint32_t i = txq->freed;
	struct tx_bulk bulk;
	uint32_t n = 0;

	bulk.mp = NULL;
	bulk.n = 0;
	for (; i != end && n < max; i++) {
		struct rte_mbuf *m = elts[i & mask];

		if (m == NULL)
			continue;
		tx_free_chain(&bulk, m);
		n++;
	}
	tx_put(bulk.mp, bulk.m, bulk.n);
	txq->freed = i;
	return n;
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
			     dvq_sq_complete(&txq->sq, dvq_cqe_wqe_index(cqe)) < 0)) {
			tx_failed(txq, cqe);
			alive = false;
			break;
		}
		cqe = dvq_cq_poll(&txq->cq);
	} while (cqe != NULL);
	dvq_cq_update_ci(&txq->cq);
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
