/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts of queues whose WQEs have several segments. */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"

/* Fresh mbufs of a call, taken from the end. */
struct rx_stock {
	uint32_t n;
	struct rte_mbuf *m[RX_CHUNK + MDV_RX_MAX_SGE];
};

/* Have @want mbufs at least, @more when the pool has them. */
static __rte_noinline bool
rx_stock_fill(struct mdv_rxq *rxq, struct rx_stock *stock, uint32_t want, uint32_t more)
{
	uint32_t n = RTE_MAX(want, more) - stock->n;

	if (unlikely(rte_mempool_get_bulk(rxq->mp, (void **)&stock->m[stock->n], n) != 0)) {
		n = want - stock->n;
		if (rte_mempool_get_bulk(rxq->mp, (void **)&stock->m[stock->n], n) != 0)
			return false;
	}
	stock->n += n;
	return true;
}

/*
 * Segments of a WQE that a frame of @len bytes fills; 0 when it cannot be. Later
 * buffers of the WQE were not touched and are posted again as they are.
 */
static inline uint32_t
rx_segments(const struct mdv_rxq *rxq, const struct dvq_data_seg *seg, uint32_t len)
{
	uint32_t max = 1u << rxq->sges_n;
	uint32_t i, room;

	if (likely(len - 1 < rxq->room))
		return 1;
	if (unlikely(len - 1 >= UINT16_MAX))
		return 0;
	for (i = 0; i < max; i++) {
		room = be32toh(seg[i].byte_count);
		if (len <= room)
			return i + 1;
		len -= room;
	}
	return 0;
}

/* Post fresh buffers in the first @n segments of a WQE: all of them or none. */
static inline bool
rx_attach_all(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf **elts,
	      struct rte_mbuf **fresh, uint32_t n)
{
	uint32_t headroom = mdv_rx_headroom(rxq);
	uint32_t s;

	/* Only the first segment has headroom. */
	if (unlikely(!rx_attach(rxq, &seg[0], fresh[0], headroom)))
		return false;
	for (s = 1; s < n; s++)
		if (unlikely(!rx_attach(rxq, &seg[s], fresh[s], 0)))
			break;
	if (likely(s == n))
		return true;
	/* The old ones stay after all; they had a key when they were posted. */
	while (s-- != 0)
		rx_attach(rxq, &seg[s], elts[s], s == 0 ? headroom : 0);
	return false;
}

/* Segments behind the first: the rest of a frame. */
static inline void
rx_fill_rest(const struct rx_mbuf *with, const struct dvq_data_seg *seg, struct rte_mbuf **elts,
	     uint32_t n, uint32_t rest)
{
	struct rte_mbuf *m;
	uint32_t s, room;

	for (s = 1; s < n; s++) {
		room = be32toh(seg[s].byte_count);
		m = elts[s];
		rx_rearm(m, with->rearm);
		m->data_off = 0;
		m->ol_flags = with->ol_flags;
		m->data_len = (uint16_t)RTE_MIN(rest, room);
		rest -= m->data_len;
		elts[s - 1]->next = m;
	}
}

/* One CQE; @left more are ready. Returns the packet, or NULL. */
static inline struct rte_mbuf *
rx_one_scattered(struct mdv_rxq *rxq, const struct rx_mbuf *with, const struct dvq_cqe *cqe,
		 struct rx_stock *stock, uint32_t left)
{
	struct mdv_rx_ring *ring = rxq->ring;
	uint32_t slot = ring->rq.ci & (ring->rq.wqe_cnt - 1);
	struct rte_mbuf **elts = &ring->elts[slot << rxq->sges_n];
	struct dvq_data_seg *wqe = dvq_rq_wqe(&ring->rq, ring->rq.ci);
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct rte_mbuf **fresh;
	struct rte_mbuf *m;
	uint32_t n, first;

	rx_repost(&ring->rq, 1);
	n = likely(!dvq_cqe_is_error(cqe)) ? rx_segments(rxq, wqe, len) : 0;
	if (unlikely(n == 0)) {
		mdv_rx_count_error(rxq, cqe);
		return NULL;
	}
	if (unlikely(mdv_rx_filtered(rxq, cqe, (const uint8_t *)elts[0]->buf_addr +
				     mdv_rx_headroom(rxq))))
		return NULL;
	if (unlikely(stock->n < n && !rx_stock_fill(rxq, stock, n, left + 1))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	fresh = &stock->m[stock->n - n];
	if (unlikely(!rx_attach_all(rxq, wqe, elts, fresh, n))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	stock->n -= n;
	m = elts[0];
	first = RTE_MIN(len, rxq->room);
	rx_fill_mbuf(rxq, with, cqe, m, len, first, RX_FULL);
	if (n > 1) {
		m->nb_segs = (uint16_t)n;
		rx_fill_rest(with, wqe, elts, n, len - first);
	}
	for (first = 0; first < n; first++)
		elts[first] = fresh[first];
	rxq->stats.packets++;
	rxq->stats.bytes += len;
	return m;
}

uint16_t
mdv_rx_receive_scattered(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t left, ready;
	struct rx_stock stock;
	struct rx_mbuf with;
	struct rte_mbuf *m;
	uint16_t done = 0;

	stock.n = 0;
	rxq->ring = rxq->rings;
	rx_mbuf_init(&with, rxq);
	for (left = n; left != 0; left -= ready) {
		uint32_t i;

		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		for (i = ready; i != 0; i--) {
			m = NULL;
			if (likely(rxq->nb_rings == 1 || mdv_rx_switch_ring(rxq, 1) != 0))
				m = rx_one_scattered(rxq, &with, dvq_cq_entry(&rxq->cq, rxq->cq.ci),
					&stock, i - 1);
			rxq->cq.ci++;
			if (likely(m != NULL))
				pkts[done++] = m;
		}
	}
	if (stock.n != 0)
		rte_mempool_put_bulk(rxq->mp, (void **)stock.m, stock.n);
	rx_end(rxq);
	return done;
}
