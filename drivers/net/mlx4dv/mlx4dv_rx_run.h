/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_RUN_H_
#define MLX4DV_RX_RUN_H_

/*
 * The receive burst of queues whose WQEs have one segment. Each file that includes
 * it compiles the burst for what its instruction set can do: RX_GROUPS(), if it is
 * defined, takes packets by the group; what it leaves is done one by one, which is
 * also where to read what is done to a packet.
 */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"

/* @n fresh mbufs; when the pool has fewer, NULL for the rest. Returns how many. */
static inline uint32_t
rx_alloc(struct mdv_rxq *rxq, struct rte_mbuf **fresh, uint32_t n)
{
	uint32_t i;

	if (likely(rte_mempool_get_bulk(rxq->mp, (void **)fresh, n) == 0))
		return n;
	for (i = 0; i < n; i++)
		if (rte_mempool_get(rxq->mp, (void **)&fresh[i]) != 0)
			break;
	memset(&fresh[i], 0, (n - i) * sizeof(fresh[0]));
	return i;
}

/*
 * @n CQEs of the current ring, side by side as their WQEs are. Returns how many
 * packets they gave, each for one of the fresh mbufs. As in other drivers a kept
 * FCS lies behind the data and is not part of the length.
 */
static __rte_always_inline uint32_t
rx_run(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rte_mbuf **fresh, uint32_t n,
       const enum rx_level level)
{
	struct dvq_rq *rq = &rxq->ring->rq;
	struct rte_mbuf **elts = &rxq->ring->elts[rq->ci & (rq->wqe_cnt - 1)];
	const uint8_t *at = (const uint8_t *)dvq_cq_entry(&rxq->cq, rxq->cq.ci);
	uint8_t *wqe = (uint8_t *)dvq_rq_wqe(rq, rq->ci);
	const size_t cqe_size = (size_t)1 << rxq->cq.cqe_shift;
	const size_t wqe_size = (size_t)1 << rq->stride_shift;
	const uint32_t headroom = mdv_rx_headroom(rxq);
	const uint32_t crc_len = rxq->crc_len;
	const uint32_t room = rxq->room;
	struct rte_mbuf **const end = elts + n;
	struct rte_mbuf **const first = pkts;
	struct rx_mbuf with;
	uint64_t bytes = 0;

	rx_mbuf_init(&with, rxq);
	for (; elts != end; elts++, at += cqe_size, wqe += wqe_size) {
		const struct dvq_cqe *cqe = (const struct dvq_cqe *)at;
		uint32_t len = dvq_cqe_byte_cnt(cqe) - crc_len;
		struct rte_mbuf *m = *elts;
		struct rte_mbuf *next = *fresh;

		rte_prefetch0(elts[MDV_RX_AHEAD]);
		/* A length of 0, or beyond the buffer, or below the FCS, is no packet. */
		if (unlikely(dvq_cqe_is_error(cqe) || len - 1 >= room)) {
			mdv_rx_count_error(rxq, cqe);
			continue;
		}
		if (level == RX_FULL &&
		    mdv_rx_filtered(rxq, cqe, (const uint8_t *)m->buf_addr + headroom))
			continue;
		if (unlikely(!rx_attach(rxq, (struct dvq_data_seg *)wqe, next, headroom))) {
			rxq->stats.nombuf++;
			continue;
		}
		*elts = next;
		fresh++;
		rx_fill_mbuf(rxq, &with, cqe, m, len, len, level);
		*pkts++ = m;
		bytes += len;
	}
	rx_repost(rq, n);
	rxq->cq.ci += n;
	rxq->stats.packets += (uint32_t)(pkts - first);
	rxq->stats.bytes += bytes;
	return (uint32_t)(pkts - first);
}

/* @ready CQEs side by side, of whatever rings. Returns the packets they gave. */
static __rte_always_inline uint32_t
rx_chunk(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint32_t ready, const enum rx_level level)
{
	struct rte_mbuf *fresh[RX_CHUNK];
	uint32_t got = rx_alloc(rxq, fresh, ready);
	uint32_t done = 0;
	uint32_t run, rest;

	while (ready != 0) {
		const struct dvq_rq *rq;

		run = ready;
		if (unlikely(rxq->nb_rings > 1)) {
			run = mdv_rx_switch_ring(rxq, ready);
			if (run == 0) {
				rxq->cq.ci++;
				ready--;
				continue;
			}
		}
		rq = &rxq->ring->rq;
		rest = rq->wqe_cnt - (rq->ci & (rq->wqe_cnt - 1));
		run = RTE_MIN(run, rest);
		ready -= run;
#ifdef RX_GROUPS
		/* Each packet of a group has a fresh mbuf. */
		rest = RX_GROUPS(rxq, &pkts[done], &fresh[done], RTE_MIN(run, got - done), level);
		done += rest;
		run -= rest;
#endif
		if (run != 0)
			done += rx_run(rxq, &pkts[done], &fresh[done], run, level);
	}
	if (unlikely(done < got))
		rte_mempool_put_bulk(rxq->mp, (void **)&fresh[done], got - done);
	return done;
}

static __rte_always_inline uint16_t
rx_receive(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n, const enum rx_level level)
{
	uint32_t left = n;        /* CQEs to look at: without mbufs none gives a packet */
	uint32_t done = 0;
	uint32_t ready;

	rxq->ring = rxq->rings;
	while (left != 0) {
		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		done += rx_chunk(rxq, &pkts[done], ready, level);
		left -= ready;
	}
	rx_end(rxq);
	return (uint16_t)done;
}

static uint16_t
rx_receive_plain(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, RX_PLAIN);
}

static uint16_t
rx_receive_offloads(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, RX_OFFLOADS);
}

static uint16_t
rx_receive_full(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, RX_FULL);
}

#endif /* MLX4DV_RX_RUN_H_ */
