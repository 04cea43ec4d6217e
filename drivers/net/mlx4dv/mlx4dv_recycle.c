/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rte_eth_recycle_mbufs(): mbufs that were sent go straight into a receive ring, and
 * spare their pool two visits. A queue that was asked for rte_eth_recycle_rxq_info
 * leaves WQEs without a buffer behind; they are filled by recycling, or from the pool
 * when a quarter of the ring lacks them. With an empty pool frames are given up before the
 * last quarter of the ring is.
 *
 * For queues of one ring and one segment; of others none is ever free.
 */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

#if MDV_HAS_RECYCLE

/* ---- the receive side ---- */

/*
 * What senders of any driver read: they take mask - (head - tail) slots for free, at
 * head, which no full ring may look like.
 */
static inline void
rx_show_room(struct mdv_rxq *rxq)
{
	const struct dvq_rq *rq = &rxq->rings[0].rq;

	rxq->recycle.head = (uint16_t)rq->pi;
	rxq->recycle.tail = (uint16_t)(rq->ci + 1);
}

/* Post the buffers of @n slots, from the first without on. */
static inline void
rx_post(struct mdv_rxq *rxq, uint32_t n)
{
	struct mdv_rx_ring *ring = &rxq->rings[0];
	const uint32_t headroom = mdv_rx_headroom(rxq);
	struct dvq_rq *rq = &ring->rq;

	/* All pools of the queue were registered: there is a key. */
	for (; n != 0; n--, rq->pi++)
		if (unlikely(!rx_attach(rxq, dvq_rq_wqe(rq, rq->pi),
					ring->elts[rq->pi & (rq->wqe_cnt - 1)], headroom)))
			break;
	dvq_rq_publish(rq);
	rx_show_room(rxq);
}

/* From the pool, as far as it has any, up to the end of the ring. */
static inline void
rx_top_up(struct mdv_rxq *rxq)
{
	struct mdv_rx_ring *ring = &rxq->rings[0];
	uint32_t slot = ring->rq.pi & (ring->rq.wqe_cnt - 1);
	uint32_t n = RTE_MIN(dvq_rq_room(&ring->rq), ring->rq.wqe_cnt - slot);

	if (likely(rte_mempool_get_bulk(rxq->mp, (void **)&ring->elts[slot], n) == 0)) {
		rx_post(rxq, n);
		return;
	}
	memset(&ring->elts[slot], 0, n * sizeof(ring->elts[0]));
	if (rte_mempool_get(rxq->mp, (void **)&ring->elts[slot]) == 0)
		rx_post(rxq, 1);
	else
		ring->elts[slot] = NULL;
}

/*
 * The last quarter of the buffers is not given away without others in exchange: a ring
 * without any would receive nothing, and nobody would fill it. False: there is none, and
 * the old one goes back.
 */
static __rte_noinline bool
rx_exchange(struct mdv_rxq *rxq, struct rte_mbuf *old)
{
	struct mdv_rx_ring *ring = &rxq->rings[0];
	struct rte_mbuf **elt = &ring->elts[ring->rq.pi & (ring->rq.wqe_cnt - 1)];
	bool found = rte_mempool_get(rxq->mp, (void **)elt) == 0;

	if (!found)
		*elt = old;
	rx_post(rxq, 1);
	return found;
}

/* One CQE: the packet, or NULL. */
static inline struct rte_mbuf *
rx_one_recycled(struct mdv_rxq *rxq, const struct dvq_cqe *cqe)
{
	struct mdv_rx_ring *ring = &rxq->rings[0];
	struct rte_mbuf **elt = &ring->elts[ring->rq.ci++ & (ring->rq.wqe_cnt - 1)];
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct rte_mbuf *m = *elt;

	*elt = NULL;
	if (unlikely(dvq_cqe_is_error(cqe) || len - 1 >= rxq->room)) {
		mdv_rx_count_error(rxq, cqe);
		rte_mempool_put(rxq->mp, m);
		return NULL;
	}
	if (unlikely(mdv_rx_filtered(rxq, cqe, (const uint8_t *)m->buf_addr +
				     mdv_rx_headroom(rxq)))) {
		rte_mempool_put(rxq->mp, m);
		return NULL;
	}
	if (unlikely(ring->rq.pi - ring->rq.ci < ring->rq.wqe_cnt / 4) && !rx_exchange(rxq, m)) {
		rxq->stats.nombuf++;
		return NULL;
	}
	rx_fill_mbuf(rxq, cqe, m, len, len, RX_FULL);
	rxq->stats.packets++;
	rxq->stats.bytes += len;
	return m;
}

uint16_t
mdv_rx_receive_recycled(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	const struct dvq_rq *rq = &rxq->rings[0].rq;
	const struct dvq_cqe *cqe;
	struct rte_mbuf *m;
	uint16_t done = 0;
	uint16_t left;

	rxq->ring = rxq->rings;
	for (left = n; left != 0; left--) {
		cqe = dvq_cq_poll(&rxq->cq);
		if (cqe == NULL)
			break;
		m = rx_one_recycled(rxq, cqe);
		if (likely(m != NULL))
			pkts[done++] = m;
	}
	rx_show_room(rxq);
	if (dvq_rq_room(rq) >= rq->wqe_cnt / 4)
		rx_top_up(rxq);
	/* The watchdog takes a queue that failed. */
	if (unlikely(rxq->dead))
		mdv_rx_recycle_none(rxq);
	rx_end(rxq);
	return done;
}

/* Slots that packets left behind get a buffer before the ring starts anew. */
int
mdv_rx_recycle_mend(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	uint32_t i;

	for (i = 0; i < ring->rq.wqe_cnt; i++)
		if (ring->elts[i] == NULL &&
		    rte_mempool_get(rxq->mp, (void **)&ring->elts[i]) != 0) {
			ring->elts[i] = NULL;
			return -ENOMEM;
		}
	return 0;
}

/* @n slots from the head on were filled by whoever sent the mbufs. */
void
mdv_recycle_refill(void *queue, uint16_t n)
{
	struct mdv_rxq *rxq = queue;

	/* Otherwise it had none free. */
	if (likely(MDV_LOAD_ACQUIRE(&rxq->state) == MDV_QUEUE_RUNNING))
		rx_post(rxq, n);
}

void
mdv_recycle_rxq_info_get(struct rte_eth_dev *dev, uint16_t idx,
	struct rte_eth_recycle_rxq_info *info)
{
	struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	memset(info, 0, sizeof(*info));
	if (rxq == NULL)
		return;
	info->mp = rxq->mp;
	info->refill_head = &rxq->recycle.head;
	info->receive_tail = &rxq->recycle.tail;
	/* A ring of one slot that is never free. */
	info->mbuf_ring_size = 1;
	info->mbuf_ring = &rxq->recycle.none;
	if (rxq->nb_rings != 1 || rxq->sges_n != 0 || rxq->split != NULL ||
	    MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING) {
		MDV_PLOG(rxq->priv, WARNING, "RX queue %u: mbufs are recycled into queues that "
			 "run, of one ring and one segment", idx);
		return;
	}
	info->mbuf_ring = rxq->rings[0].elts;
	info->mbuf_ring_size = (uint16_t)rxq->rings[0].rq.wqe_cnt;
	rx_show_room(rxq);
	rxq->recycle.on = true;
	mdv_rx_select(rxq);
}

/* ---- the sending side ---- */

static inline bool
can_be_reused(const struct rte_mbuf *m, const struct rte_mempool *mp)
{
	return m->pool == mp && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m) &&
		m->nb_segs == 1 && m->next == NULL;
}

/*
 * What was sent, into the free slots of a receive ring; what that cannot use goes back
 * to its pool. Rings that want batches of one size get none: bursts free as ever.
 */
uint16_t
mdv_recycle_tx_reuse(void *queue, struct rte_eth_recycle_rxq_info *info)
{
	uint16_t mask = (uint16_t)(info->mbuf_ring_size - 1);
	uint16_t head = *info->refill_head;
	uint16_t room = (uint16_t)(mask - (uint16_t)(head - *info->receive_tail)) & mask;
	struct mdv_txq *txq = queue;
	uint32_t bb_mask = txq->sq.bb_cnt - 1;
	uint16_t n = 0;

	if (info->refill_requirement != 0 || room == 0 || !mdv_tx_take_completions(txq))
		return 0;
	while (n < room && txq->freed != txq->sq.ci) {
		struct rte_mbuf *m = txq->elts[txq->freed++ & bb_mask];

		if (m == NULL)
			continue;
		txq->inflight--;
		if (likely(can_be_reused(m, info->mp)))
			info->mbuf_ring[(uint16_t)(head + n++) & mask] = m;
		else
			rte_pktmbuf_free(m);
	}
	/* Not left behind so far that it would seem to be ahead. */
	if ((int32_t)(txq->mixed - txq->freed) < 0)
		txq->mixed = txq->freed;
	return n;
}

#endif /* MDV_HAS_RECYCLE */
