/* SPDX-License-Identifier: BSD-3-Clause */

/* Bursts of queues whose WQEs have several segments. */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"
#include "mlx4dv_rx_fresh.h"

/*
 * Segments of a WQE that a frame of @len bytes fills; 0 when it cannot be. Later
 * buffers of the WQE were not touched and are posted again as they are.
 */
static inline uint32_t
rx_segments(const struct mdv_rxq *rxq, uint32_t len)
{
	int32_t rest = (int32_t)(len - rxq->room), whole = (int32_t)rx_room_rest(rxq);
	uint32_t n = 1;

	if (unlikely(len - 1 >= UINT16_MAX))
		return 0;
	for (; rest > 0; rest -= whole)
		n++;
	return n <= 1u << rxq->sges_n ? n : 0;
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
 * The segments of a frame take their lengths and hang together; their places in the WQE go
 * to the fresh ones. False when one of these cannot be posted: nothing was done. The first
 * is filled in by the caller.
 */
static bool
rx_swap_segments(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf **elts,
		 struct rte_mbuf **fresh, uint32_t n, uint32_t len)
{
	const uint32_t room = rx_room_rest(rxq);
	uint32_t s;

	if (!rx_attach_all(rxq, seg, elts, fresh, n))
		return false;
	len -= RTE_MIN(len, rxq->room);
	for (s = 1; s < n; s++) {
		struct rte_mbuf *m = elts[s];

		rx_rearm(m, rx_rearm_rest(rxq));
		m->ol_flags = rxq->ol_flags;
		m->data_len = (uint16_t)RTE_MIN(len, room);
		len -= m->data_len;
		elts[s - 1]->next = m;
	}
	memcpy(elts, fresh, n * sizeof(elts[0]));
	return true;
}

/*
 * One CQE, whatever it may be; @left more are ready. Returns the packet, or NULL. What
 * rx_scatter_run() leaves out, and so also where to read what is done to a packet.
 */
static __rte_noinline struct rte_mbuf *
rx_one_scattered(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, struct rte_mbuf **elts,
		 struct dvq_data_seg *wqe, struct rx_fresh *fresh, uint32_t left)
{
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct rte_mbuf *m = elts[0];
	uint32_t n = dvq_cqe_is_error(cqe) ? 0 : rx_segments(rxq, len);

	if (unlikely(n == 0)) {
		mdv_rx_count_error(rxq, cqe);
		return NULL;
	}
	if (mdv_rx_filtered(rxq, cqe, (const uint8_t *)m->buf_addr + mdv_rx_headroom(rxq)))
		return NULL;
	if (rx_fresh_count(fresh) < n)
		rx_fresh_alloc(rxq, fresh, n, (left + 1) * n);
	if (unlikely(rx_fresh_count(fresh) < n ||
		     !rx_swap_segments(rxq, wqe, elts, fresh->end - n, n, len))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	fresh->end -= n;
	rx_fill_mbuf(rxq, cqe, m, len, RTE_MIN(len, rxq->room), RX_FULL);
	m->nb_segs = (uint16_t)n;
	return m;
}

/* What is the same for all packets of a run. */
struct rx_scatter {
	uint64_t rearm, ol_flags; /* of the segments behind the first */
	uintptr_t offset;         /* from a fresh mbuf to its buffer */
	uintptr_t offset_first;   /* with the headroom of a first one */
	uint32_t room, room_rest;
	uint32_t segs_max;
	uint32_t len_max;         /* of frames that need nothing else; 0: all do */
	uint32_t crc_len;
};

static inline void
rx_scatter_init(struct rx_scatter *with, const struct mdv_rxq *rxq)
{
	with->rearm = rx_rearm_rest(rxq);
	with->ol_flags = rxq->ol_flags;
	with->offset = rxq->near_offset;
	with->offset_first = with->offset + mdv_rx_headroom(rxq);
	with->room = rxq->room;
	with->room_rest = rx_room_rest(rxq);
	with->segs_max = 1u << rxq->sges_n;
	with->len_max = RTE_MIN(with->room + (with->segs_max - 1) * with->room_rest,
		(uint32_t)UINT16_MAX);
	if (rxq->near_chunks != rxq->mp->nb_mem_chunks || rxq->vlan_ids != NULL ||
	    rxq->timestamp_flag != 0)
		with->len_max = 0;
	with->crc_len = rxq->crc_len;
}

/*
 * The segments of a frame take their lengths and hang together; their places in the WQE
 * go to mbufs before @fresh, all of which are of one region: the keys stay. Of the first
 * one only its place is. Returns the fresh one that was taken last.
 */
static __rte_always_inline struct rte_mbuf **
rx_swap_near(const struct rx_scatter *with, struct dvq_data_seg *seg, struct rte_mbuf **elts,
	     struct rte_mbuf **fresh, uint32_t len)
{
	struct rte_mbuf *m = *elts, *next = *--fresh;
	int32_t rest = (int32_t)(len - with->room);

	*elts = next;
	seg->addr = htobe64((uintptr_t)next + with->offset_first);
	for (; rest > 0; rest -= (int32_t)with->room_rest) {
		next = *++elts;
		m->next = next;
		m = next;
		next = *--fresh;
		*elts = next;
		(++seg)->addr = htobe64((uintptr_t)next + with->offset);
		rx_rearm(m, with->rearm);
		m->ol_flags = with->ol_flags;
		m->data_len = (uint16_t)RTE_MIN((uint32_t)rest, with->room_rest);
	}
	return fresh;
}

/*
 * @n CQEs of the current ring, side by side as their WQEs are. Returns how many packets
 * they gave.
 */
static __rte_always_inline uint32_t
rx_scatter_run(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rx_fresh *fresh, uint32_t n,
	       const enum rx_level level)
{
	struct dvq_rq *rq = &rxq->ring->rq;
	struct rte_mbuf **elts = &rxq->ring->elts[(rq->ci & (rq->wqe_cnt - 1)) << rxq->sges_n];
	const uint8_t *at = (const uint8_t *)dvq_cq_entry(&rxq->cq, rxq->cq.ci);
	uint8_t *wqe = (uint8_t *)dvq_rq_wqe(rq, rq->ci);
	const size_t cqe_size = (size_t)1 << rxq->cq.cqe_shift;
	const size_t wqe_size = (size_t)1 << rq->stride_shift;
	struct rte_mbuf **const end = elts + (n << rxq->sges_n);
	struct rte_mbuf **const first = pkts;
	struct rx_scatter with;
	uint64_t bytes = 0;
	struct rte_mbuf **next = fresh->end;

	rx_scatter_init(&with, rxq);
	for (; elts != end; at += cqe_size, wqe += wqe_size, elts += with.segs_max) {
		const struct dvq_cqe *cqe = (const struct dvq_cqe *)at;
		uint32_t len = dvq_cqe_byte_cnt(cqe) - with.crc_len;
		struct rte_mbuf *m = *elts;
		struct rte_mbuf **taken;

		if (unlikely(dvq_cqe_is_error(cqe) || len - 1 >= with.len_max ||
			     next < fresh->first + with.segs_max || rx_is_tagged(cqe))) {
			fresh->end = next;
			m = rx_one_scattered(rxq, cqe, elts, (struct dvq_data_seg *)wqe, fresh,
				(uint32_t)(end - elts - 1) >> rxq->sges_n);
			next = fresh->end;
			if (m == NULL)
				continue;
		} else {
			taken = rx_swap_near(&with, (struct dvq_data_seg *)wqe, elts, next, len);
			rx_fill_mbuf(rxq, cqe, m, len, RTE_MIN(len, with.room), level);
			m->nb_segs = (uint16_t)(next - taken);
			next = taken;
		}
		*pkts++ = m;
		bytes += len;
	}
	fresh->end = next;
	rx_repost(rq, n);
	rxq->cq.ci += n;
	rxq->stats.packets += (uint32_t)(pkts - first);
	rxq->stats.bytes += bytes;
	return (uint32_t)(pkts - first);
}

static __rte_noinline uint32_t
rx_scatter_plain(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rx_fresh *fresh, uint32_t n)
{
	return rx_scatter_run(rxq, pkts, fresh, n, RX_PLAIN);
}

static __rte_noinline uint32_t
rx_scatter_offloads(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rx_fresh *fresh,
		    uint32_t n)
{
	return rx_scatter_run(rxq, pkts, fresh, n, RX_OFFLOADS);
}

uint16_t
mdv_rx_receive_scattered(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	const bool offloads = (rxq->csum_flags | rxq->rss_flag) != 0;
	struct rx_fresh fresh;
	uint32_t left = n, done = 0, ready, run;

	rxq->ring = rxq->rings;
	rx_fresh_take(rxq, &fresh);
	while (left != 0) {
		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		left -= ready;
		for (; ready != 0; ready -= RTE_MAX(run, 1u)) {
			run = rx_run_length(rxq, ready);
			if (unlikely(run == 0))
				rxq->cq.ci++;
			else if (offloads)
				done += rx_scatter_offloads(rxq, &pkts[done], &fresh, run);
			else
				done += rx_scatter_plain(rxq, &pkts[done], &fresh, run);
		}
	}
	rx_fresh_settle(rxq, &fresh);
	rx_end(rxq);
	return (uint16_t)done;
}
