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
	struct rte_mbuf *m[4 * RX_CHUNK];
};

/* Have @want mbufs at least, @more when the pool has them. */
static __rte_noinline bool
rx_stock_fill(struct mdv_rxq *rxq, struct rx_stock *stock, uint32_t want, uint32_t more)
{
	uint32_t n = RTE_MIN(RTE_MAX(want, more), RTE_DIM(stock->m)) - stock->n;

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
rx_segments(const struct mdv_rxq *rxq, const struct rx_mbuf *with, uint32_t len)
{
	uint32_t max = 1u << rxq->sges_n, n = 1;
	int32_t rest;

	if (unlikely(len - 1 >= UINT16_MAX))
		return 0;
	/* Only the first segment has headroom. */
	for (rest = (int32_t)(len - rxq->room); rest > 0; rest -= (int32_t)with->room)
		n++;
	return n <= max ? n : 0;
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

/*
 * The segments of a frame take their lengths and hang together; their places in the
 * WQE go to the fresh ones, all of which are of the region last used. The first is
 * filled in by the caller.
 */
static inline void
rx_swap_segments(const struct mdv_rxq *rxq, const struct rx_mbuf *with, struct dvq_data_seg *seg,
		 struct rte_mbuf **elts, struct rte_mbuf *const *fresh, uint32_t n, uint32_t len)
{
	uintptr_t offset = rxq->near_offset + mdv_rx_headroom(rxq);
	uint32_t lkey = rxq->near_lkey, room = rxq->room;
	struct rte_mbuf *m = elts[0];

	for (;;) {
		struct rte_mbuf *next;

		*elts = *fresh;
		seg->lkey = lkey;
		seg->addr = htobe64((uintptr_t)*fresh + offset);
		if (--n == 0)
			break;
		len -= room;
		room = with->room;
		offset = rxq->near_offset;
		elts++;
		fresh++;
		seg++;
		next = *elts;
		m->next = next;
		m = next;
		rx_rearm(m, with->rearm_rest);
		m->ol_flags = with->ol_flags;
		m->data_len = (uint16_t)RTE_MIN(len, room);
	}
}

/* The same for any fresh mbufs; false when one of them cannot be posted: nothing was done. */
static __rte_noinline bool
rx_swap_far(struct mdv_rxq *rxq, const struct rx_mbuf *with, struct dvq_data_seg *seg,
	    struct rte_mbuf **elts, struct rte_mbuf **fresh, uint32_t n, uint32_t len)
{
	uint32_t s;

	if (!rx_attach_all(rxq, seg, elts, fresh, n))
		return false;
	len -= RTE_MIN(len, rxq->room);
	for (s = 1; s < n; s++) {
		struct rte_mbuf *m = elts[s];

		rx_rearm(m, with->rearm_rest);
		m->ol_flags = with->ol_flags;
		m->data_len = (uint16_t)RTE_MIN(len, with->room);
		len -= m->data_len;
		elts[s - 1]->next = m;
	}
	memcpy(elts, fresh, n * sizeof(elts[0]));
	return true;
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
	n = likely(!dvq_cqe_is_error(cqe)) ? rx_segments(rxq, with, len) : 0;
	if (unlikely(n == 0)) {
		mdv_rx_count_error(rxq, cqe);
		return NULL;
	}
	if (unlikely(rxq->vlan_ids != NULL &&
		     mdv_rx_filtered(rxq, cqe, (const uint8_t *)elts[0]->buf_addr +
				     mdv_rx_headroom(rxq))))
		return NULL;
	if (unlikely(stock->n < n && !rx_stock_fill(rxq, stock, n, (left + 1) * n))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	fresh = &stock->m[stock->n - n];
	m = elts[0];
	if (likely(rxq->near_chunks == rxq->mp->nb_mem_chunks)) {
		rx_swap_segments(rxq, with, wqe, elts, fresh, n, len);
	} else if (unlikely(!rx_swap_far(rxq, with, wqe, elts, fresh, n, len))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	stock->n -= n;
	first = RTE_MIN(len, rxq->room);
	rx_fill_mbuf(rxq, with, cqe, m, len, first, RX_OFFLOADS);
	m->nb_segs = (uint16_t)n;
	if (unlikely(rxq->timestamp_flag != 0 ||
		     (dvq_cqe_vlan_bits(cqe) & (DVQ_CQE_CVLAN | DVQ_CQE_SVLAN)) != 0))
		m->ol_flags |= mdv_rx_extras(rxq, cqe, m);
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
