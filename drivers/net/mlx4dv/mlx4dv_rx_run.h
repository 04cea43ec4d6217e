/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_RUN_H_
#define MLX4DV_RX_RUN_H_

/*
 * The receive burst of queues whose WQEs have one segment. Each file that includes
 * it compiles the burst for what its instruction set can do: with RX_GROUP defined
 * rx_groups() takes packets by the group; what it leaves is done one by one, which is
 * also where to read what is done to a packet.
 */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"
#include "mlx4dv_rx_fresh.h"

/*
 * @n CQEs of the current ring from @at on, side by side as their WQEs are. Returns how many
 * packets they gave, each for one of the mbufs before @fresh. As in other drivers a kept
 * FCS lies behind the data and is not part of the length.
 */
static __rte_always_inline uint32_t
rx_run(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, struct rte_mbuf **fresh,
       uint32_t n, const enum rx_level level)
{
	struct dvq_rq *rq = &rxq->ring->rq;
	struct rte_mbuf **elts = &rxq->ring->elts[rq->ci & (rq->wqe_cnt - 1)];
	struct dvq_data_seg *wqe = dvq_rq_wqe(rq, rq->ci);
	const size_t cqe_size = (size_t)1 << rxq->cq.cqe_shift;
	const uint32_t headroom = mdv_rx_headroom(rxq);
	const uint32_t crc_len = rxq->crc_len;
	const uint32_t room = rxq->room;
	const struct rx_near near = rx_near_of(rxq, headroom);
	struct rte_mbuf **const end = elts + n;
	struct rte_mbuf **const first = pkts;
	uint64_t bytes = 0;

	for (; elts != end; elts++, at += cqe_size, wqe++) {
		const struct dvq_cqe *cqe = (const struct dvq_cqe *)at;
		uint32_t len = dvq_cqe_byte_cnt(cqe) - crc_len;
		struct rte_mbuf *m = *elts;
		struct rte_mbuf *next = fresh[-1];

		rte_prefetch0(elts[MDV_RX_AHEAD]);
		/* A length of 0, or beyond the buffer, or below the FCS, is no packet. */
		if (unlikely(rx_may_be_error(cqe) || len - 1 >= room) &&
		    (dvq_cqe_is_error(cqe) || len - 1 >= room)) {
			mdv_rx_count_error(rxq, cqe);
			continue;
		}
		if (level == RX_FULL &&
		    mdv_rx_filtered(rxq, cqe, (const uint8_t *)m->buf_addr + headroom))
			continue;
		if (unlikely(!rx_attach_near(rxq, &near, wqe, next, headroom))) {
			rxq->stats.nombuf++;
			continue;
		}
		*elts = next;
		fresh--;
		rx_fill_mbuf(rxq, cqe, m, len, len, level);
		*pkts++ = m;
		bytes += len;
	}
	rx_repost(rq, n);
	rxq->cq.ci += n;
	rxq->stats.packets += (uint32_t)(pkts - first);
	rxq->stats.bytes += bytes;
	return (uint32_t)(pkts - first);
}

/*
 * A function of its own for each level: what is the same for all packets then stays in
 * registers.
 */
#define RX_APART(function, name, level) \
	static __rte_noinline uint32_t \
	function ## _ ## name(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, \
			      struct rte_mbuf **fresh, uint32_t n) \
	{ \
		return function(rxq, at, pkts, fresh, n, level); \
	}
#define RX_CALL(function, level, ...) \
	((level) == RX_PLAIN ? function ## _plain(__VA_ARGS__) : \
	 (level) == RX_OFFLOADS ? function ## _offloads(__VA_ARGS__) : \
	 (level) == RX_TAGS ? function ## _tags(__VA_ARGS__) : \
	 function ## _full(__VA_ARGS__))

RX_APART(rx_run, plain, RX_PLAIN)
RX_APART(rx_run, offloads, RX_OFFLOADS)
RX_APART(rx_run, tags, RX_TAGS)
RX_APART(rx_run, full, RX_FULL)
#ifdef RX_GROUP
RX_APART(rx_groups, plain, RX_PLAIN)
RX_APART(rx_groups, offloads, RX_OFFLOADS)
RX_APART(rx_groups, tags, RX_TAGS)
RX_APART(rx_groups, full, RX_FULL)
RX_APART(rx_rings_groups, plain, RX_PLAIN)
RX_APART(rx_rings_groups, offloads, RX_OFFLOADS)
RX_APART(rx_rings_groups, tags, RX_TAGS)
RX_APART(rx_rings_groups, full, RX_FULL)
#endif

/* One by one; returns the packets they gave. */
static __rte_always_inline uint32_t
rx_singly(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, struct rx_fresh *fresh,
	  uint32_t n, const enum rx_level level)
{
	uint32_t done = RX_CALL(rx_run, level, rxq, at, pkts, fresh->end, n);

	fresh->end -= done;
	return done;
}

/* By the group where that can be: one that is not ordinary has only its group done singly. */
static __rte_always_inline uint32_t
rx_side_by_side(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts,
		struct rx_fresh *fresh, uint32_t n, const enum rx_level level)
{
	uint32_t done = 0;

#ifdef RX_GROUP
	uint32_t groups;

	while (likely(n >= RX_GROUP)) {
		/* Each packet of a group has a fresh mbuf: NULL is none. */
		groups = RX_CALL(rx_groups, level, rxq, at, pkts + done, fresh->end,
			likely(fresh->cache != NULL) ? n : RTE_MIN(n, rx_fresh_count(fresh)));
		fresh->end -= groups;
		done += groups;
		n -= groups;
		at += (size_t)groups << rxq->cq.cqe_shift;
		if (likely(n < RX_GROUP))
			break;
		done += rx_singly(rxq, at, pkts + done, fresh, RX_GROUP, level);
		n -= RX_GROUP;
		at += (size_t)RX_GROUP << rxq->cq.cqe_shift;
	}
#endif
	if (n != 0)
		done += rx_singly(rxq, at, pkts + done, fresh, n, level);
	return done;
}

/* Of whatever rings, ring by ring. */
static __rte_always_inline uint32_t
rx_runs(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, struct rx_fresh *fresh,
	uint32_t n, const enum rx_level level)
{
	uint32_t done = 0;

	while (n != 0) {
		uint32_t run = rx_run_length(rxq, n);

		if (run != 0) {
			done += rx_side_by_side(rxq, at, &pkts[done], fresh, run, level);
		} else {
			rxq->cq.ci++;
			run = 1;
		}
		n -= run;
		at += (size_t)run << rxq->cq.cqe_shift;
	}
	return done;
}

/* Of a queue with several rings: whole groups, and what is left of them ring by ring. */
static __rte_always_inline uint32_t
rx_rings(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, struct rx_fresh *fresh,
	 uint32_t n, const enum rx_level level)
{
	uint32_t done = 0;

#ifdef RX_GROUP
	if (rxq->nb_rings > 1) {
		done = RX_CALL(rx_rings_groups, level, rxq, at, pkts, fresh->end,
			RTE_MIN(n, rx_fresh_count(fresh)));
		fresh->end -= done;
		n -= done;
		at += (size_t)done << rxq->cq.cqe_shift;
	}
#endif
	return done + rx_runs(rxq, at, &pkts[done], fresh, n, level);
}

#define RX_RINGS_APART(name, level) \
	static __rte_noinline uint32_t \
	rx_rings_ ## name(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, \
			  struct rx_fresh *fresh, uint32_t n) \
	{ \
		return rx_rings(rxq, at, pkts, fresh, n, level); \
	}

RX_RINGS_APART(plain, RX_PLAIN)
RX_RINGS_APART(offloads, RX_OFFLOADS)
RX_RINGS_APART(tags, RX_TAGS)
RX_RINGS_APART(full, RX_FULL)

/* @n CQEs side by side from @at on. Returns the packets they gave. */
static __rte_always_inline uint32_t
rx_chunk(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts, uint32_t n,
	 const enum rx_level level)
{
	const struct dvq_rq *rq = &rxq->ring->rq;
	uint32_t rest = rq->wqe_cnt - (rq->ci & (rq->wqe_cnt - 1));
	struct rx_fresh fresh;
	uint32_t done;

	rx_fresh_take(rxq, &fresh);
	if (unlikely(rx_fresh_count(&fresh) < n))
		rx_fresh_alloc(rxq, &fresh, 0, n);
	if (likely(rest >= n && rxq->nb_rings == 1))
		done = rx_side_by_side(rxq, at, pkts, &fresh, n, level);
	else
		done = RX_CALL(rx_rings, level, rxq, at, pkts, &fresh, n);
	rx_fresh_settle(rxq, &fresh);
	return done;
}

/* A burst of one, for which the CQE was seen. Not much slower than one of 32 must it be. */
static __rte_always_inline uint16_t
rx_one(struct mdv_rxq *rxq, struct rte_mbuf **pkts, const enum rx_level level)
{
	const uint8_t *at = (const uint8_t *)dvq_cq_entry(&rxq->cq, rxq->cq.ci);
	struct rx_fresh fresh;
	uint32_t done;

	dvq_barrier_owner_before_cqe();
	rx_fresh_take(rxq, &fresh);
	if (unlikely(rx_fresh_count(&fresh) == 0))
		rx_fresh_alloc(rxq, &fresh, 0, 1);
	done = rx_run(rxq, at, pkts, fresh.end, 1, level);
	fresh.end -= done;
	rx_fresh_settle(rxq, &fresh);
	rx_end(rxq);
	return (uint16_t)done;
}

static __rte_noinline uint16_t
rx_one_plain(struct mdv_rxq *rxq, struct rte_mbuf **pkts)
{
	return rx_one(rxq, pkts, RX_PLAIN);
}

static __rte_noinline uint16_t
rx_one_offloads(struct mdv_rxq *rxq, struct rte_mbuf **pkts)
{
	return rx_one(rxq, pkts, RX_OFFLOADS);
}

static __rte_noinline uint16_t
rx_one_tags(struct mdv_rxq *rxq, struct rte_mbuf **pkts)
{
	return rx_one(rxq, pkts, RX_TAGS);
}

static __rte_noinline uint16_t
rx_one_full(struct mdv_rxq *rxq, struct rte_mbuf **pkts)
{
	return rx_one(rxq, pkts, RX_FULL);
}

static __rte_always_inline uint16_t
rx_receive(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n, const enum rx_level level)
{
	uint32_t left = n;        /* CQEs to look at: without mbufs none gives a packet */
	uint32_t done = 0;
	uint32_t ready;

	rxq->ring = rxq->rings;
	if (unlikely(n == 1) && rxq->nb_rings == 1)
		return RX_CALL(rx_one, level, rxq, pkts);
	while (left != 0) {
		const struct dvq_cqe *at = dvq_cq_entry(&rxq->cq, rxq->cq.ci);

		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		done += rx_chunk(rxq, (const uint8_t *)at, &pkts[done], ready, level);
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
rx_receive_tags(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, RX_TAGS);
}

static uint16_t
rx_receive_full(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, RX_FULL);
}

#endif /* MLX4DV_RX_RUN_H_ */
