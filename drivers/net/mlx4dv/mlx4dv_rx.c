/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>
#include <rte_udp.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

/* CQEs handled, and buffers allocated, at a time. */
#define RX_CHUNK 32u
/* Packets ahead whose mbufs are fetched; rings have as many entries too many. */
#define RX_AHEAD MDV_RX_AHEAD

#define RX_CSUM_GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data),
	      "rearm starts with data_off");

/* ---- what a CQE says about a packet ---- */

static inline uint32_t
rx_ptype(bool tunnels, const struct dvq_cqe *cqe, uint32_t status)
{
	uint32_t i = (status >> 22 & 0x3f) | (status & DVQ_CQE_ST_IPV6F) >> 11;

	/* Without tunnel parsing these bits mean other things. */
	if (tunnels) {
		uint32_t bits = dvq_cqe_vlan_bits(cqe);

		if ((bits & DVQ_CQE_TUNNEL) != 0)
			i |= 0x80 | ((bits & DVQ_CQE_TUNNEL_IPV4) != 0 ? 0x40 : 0);
	}
	return mdv_ptype_table[i];
}

/*
 * True unless the packet shows a UDP checksum: then a verification that failed
 * means that it is wrong. Zero means that the sender computed none, which the
 * CQE does not tell from a wrong one. Only asked about packets that failed.
 */
static bool
rx_udp_without_cksum(const struct rte_mbuf *m, uint32_t status)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t offset = 2 * RTE_ETHER_ADDR_LEN;
	unsigned int tags = 0;
	uint16_t type;

	for (;;) {
		if (offset + sizeof(type) > m->data_len)
			return true;
		type = (uint16_t)(data[offset] << 8 | data[offset + 1]);
		offset += sizeof(type);
		if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
			break;
		if (++tags > 2)
			return true;
		offset += sizeof(struct rte_vlan_hdr) - sizeof(type);
	}
	if (type == RTE_ETHER_TYPE_IPV4 && (status & DVQ_CQE_ST_IPV4) != 0)
		offset += sizeof(struct rte_ipv4_hdr);
	else if (type == RTE_ETHER_TYPE_IPV6 && (status & DVQ_CQE_ST_IPV6) != 0)
		offset += sizeof(struct rte_ipv6_hdr);
	else
		return true;
	if (offset + sizeof(struct rte_udp_hdr) > m->data_len)
		return true;
	offset += offsetof(struct rte_udp_hdr, dgram_cksum);
	return data[offset] == 0 && data[offset + 1] == 0;
}

/*
 * Flags of a packet whose headers are not all verified. BAD only where the CQE
 * proves it; what the adapter may not have looked at (fragments, options,
 * extension headers, tunnels, other protocols) stays UNKNOWN.
 */
static __rte_noinline uint64_t
rx_csum_partly(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const struct rte_mbuf *m,
	       uint32_t status)
{
	const uint32_t untested = DVQ_CQE_ST_IPV4F | DVQ_CQE_ST_IPV4OPT | 0xff00u;
	const uint32_t l4 = DVQ_CQE_ST_TCP | DVQ_CQE_ST_UDP;
	bool ip_ok = (status & DVQ_CQE_ST_IPOK) != 0;
	uint64_t flags = 0;

	if ((status & DVQ_CQE_ST_IPV4) != 0)
		flags |= ip_ok ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	/* Either sign of success will do: sources differ on which is set for IPv6. */
	if ((status & DVQ_CQE_ST_L4OK) != 0 ||
	    ((status & l4) != 0 && ip_ok && dvq_cqe_checksum(cqe) == UINT16_MAX))
		return flags | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if ((status & l4) == 0 || !ip_ok || (status & untested) != 0)
		return flags;
	if (rxq->csum_l2tun && (dvq_cqe_vlan_bits(cqe) & DVQ_CQE_TUNNEL) != 0)
		return flags;
	if ((status & DVQ_CQE_ST_UDP) != 0 && rx_udp_without_cksum(m, status))
		return flags;
	return flags | RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

/* Set data_off, refcnt, nb_segs and port at once. */
static inline void
rx_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	*(uint64_t *)RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)) = rearm;
}

/* What a queue gives every mbuf, read once per burst. */
struct rx_mbuf {
	uint64_t rearm;
	uint64_t ol_flags;
	uint64_t rss_hash;        /* the flag, when wanted */
	uint64_t csum_good;       /* the flags, when wanted */
};

/*
 * The first mbuf of a packet of @len bytes, @seg_len of them its own. With no
 * offload wanted neither hash nor checksums are looked at.
 */
static inline void
rx_fill_mbuf(const struct mdv_rxq *rxq, const struct rx_mbuf *with, const struct dvq_cqe *cqe,
	     struct rte_mbuf *m, uint32_t len, uint32_t seg_len, const bool offloads)
{
	uint32_t status = dvq_cqe_status(cqe);
	uint64_t flags = with->ol_flags;

	rx_rearm(m, with->rearm);
	m->packet_type = rx_ptype(offloads && rxq->csum_l2tun, cqe, status);
	m->pkt_len = len;
	m->data_len = (uint16_t)seg_len;
	if (offloads) {
		const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;
		uint32_t hash = dvq_cqe_rss_hash(cqe);

		m->hash.rss = hash;
		/* A packet that was not hashed shows 0. */
		flags |= hash != 0 ? with->rss_hash : 0;
		if (likely((status & good) == good))
			flags |= with->csum_good;
		else if (with->csum_good != 0)
			flags |= rx_csum_partly(rxq, cqe, m, status);
	}
	m->ol_flags = flags;
}

static inline void
rx_mbuf_init(struct rx_mbuf *with, const struct mdv_rxq *rxq)
{
	with->rearm = rxq->rearm;
	with->ol_flags = rxq->ol_flags;
	with->rss_hash = rxq->rss_hash ? RTE_MBUF_F_RX_RSS_HASH : 0;
	with->csum_good = rxq->csum ? RX_CSUM_GOOD : 0;
}

/* ---- bursts ---- */

/*
 * The next CQE belongs to a queue of several rings: make its ring the current
 * one. Returns how many CQEs up to @max are of that ring, 0 when none is.
 */
static __rte_noinline uint32_t
rx_switch_ring(struct mdv_rxq *rxq, uint32_t max)
{
	uint32_t wqn = dvq_cqe_qpn(dvq_cq_entry(&rxq->cq, rxq->cq.ci));
	unsigned int i;
	uint32_t run;

	if (rxq->ring->wqn != wqn) {
		for (i = 0; i < rxq->nb_rings; i++)
			if (rxq->rings[i].wqn == wqn)
				break;
		if (i == rxq->nb_rings) {
			rxq->stats.errors++;
			return 0;
		}
		/* One record per run of completions of a ring. */
		dvq_rq_publish(&rxq->ring->rq);
		rxq->ring = &rxq->rings[i];
	}
	for (run = 1; run < max; run++)
		if (dvq_cqe_qpn(dvq_cq_entry(&rxq->cq, rxq->cq.ci + run)) != wqn)
			break;
	return run;
}

/* Count a CQE that carries no packet. Its buffers stay where they are. */
static __rte_noinline void
rx_count_error(struct mdv_rxq *rxq, const struct dvq_cqe *cqe)
{
	uint8_t syndrome;

	if (!dvq_cqe_is_error(cqe)) {
		rxq->stats.errors++;
		return;
	}
	syndrome = dvq_cqe_syndrome(cqe);
	if (syndrome == DVQ_SYNDROME_WR_FLUSH)
		rxq->stats.flushed++;
	else
		rxq->stats.errors++;
	rxq->dead |= dvq_syndrome_kills_rq(syndrome);
}

/* @n WQEs just completed go back with the buffers that their slots hold now. */
static inline void
rx_repost(struct dvq_rq *rq, uint32_t n)
{
	rq->ci += n;
	rq->pi += n;
}

/*
 * Everything the call consumed goes back to the adapter. FAILED comes last: the
 * watchdog may then take the queue.
 */
static inline void
rx_end(struct mdv_rxq *rxq)
{
	dvq_rq_publish(&rxq->ring->rq);
	dvq_cq_update_ci(&rxq->cq);
	if (unlikely(rxq->dead)) {
		rxq->dead = false;
		MDV_STORE_RELEASE(&rxq->state, MDV_QUEUE_FAILED);
	}
}

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

/* Point a segment at a fresh buffer; false: there is none, or no key for it. */
static inline bool
rx_attach(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf *fresh,
	  uint32_t headroom)
{
	/* No mbuf is no address in the region either. */
	if (unlikely((uintptr_t)fresh - rxq->near_first > rxq->near_span))
		return mdv_rx_attach_other(rxq, seg, fresh, headroom);
	seg->lkey = rxq->near_lkey;
	seg->addr = htobe64((uintptr_t)fresh + (rxq->near_offset + headroom));
	return true;
}

/*
 * @n CQEs of the current ring, side by side as their WQEs are. Returns how many
 * packets they gave, each for one of the fresh mbufs. As in other drivers a kept
 * FCS lies behind the data and is not part of the length.
 */
static __rte_always_inline uint32_t
rx_run(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rte_mbuf **fresh, uint32_t n,
       const bool offloads)
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

		rte_prefetch0(elts[RX_AHEAD]);
		/* A length of 0, or beyond the buffer, or below the FCS, is no packet. */
		if (unlikely(dvq_cqe_is_error(cqe) || len - 1 >= room)) {
			rx_count_error(rxq, cqe);
			continue;
		}
		if (unlikely(!rx_attach(rxq, (struct dvq_data_seg *)wqe, next, headroom))) {
			rxq->stats.nombuf++;
			continue;
		}
		*elts = next;
		fresh++;
		rx_fill_mbuf(rxq, &with, cqe, m, len, len, offloads);
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
rx_chunk(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint32_t ready, const bool offloads)
{
	struct rte_mbuf *fresh[RX_CHUNK];
	uint32_t got = rx_alloc(rxq, fresh, ready);
	uint32_t done = 0;
	uint32_t run, rest;

	while (ready != 0) {
		const struct dvq_rq *rq;

		run = ready;
		if (unlikely(rxq->nb_rings > 1)) {
			run = rx_switch_ring(rxq, ready);
			if (run == 0) {
				rxq->cq.ci++;
				ready--;
				continue;
			}
		}
		rq = &rxq->ring->rq;
		rest = rq->wqe_cnt - (rq->ci & (rq->wqe_cnt - 1));
		run = RTE_MIN(run, rest);
		done += rx_run(rxq, &pkts[done], &fresh[done], run, offloads);
		ready -= run;
	}
	if (unlikely(done < got))
		rte_mempool_put_bulk(rxq->mp, (void **)&fresh[done], got - done);
	return done;
}

static __rte_always_inline uint16_t
rx_receive(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n, const bool offloads)
{
	uint32_t left = n;        /* CQEs to look at: without mbufs none gives a packet */
	uint32_t done = 0;
	uint32_t ready;

	rxq->ring = rxq->rings;
	while (left != 0) {
		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		done += rx_chunk(rxq, &pkts[done], ready, offloads);
		left -= ready;
	}
	rx_end(rxq);
	return (uint16_t)done;
}

static __rte_noinline uint16_t
rx_receive_plain(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, false);
}

static __rte_noinline uint16_t
rx_receive_offloads(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_receive(rxq, pkts, n, true);
}

/* Is there anything to do? What an idle core spends its time on. */
static inline bool
rx_idle(const struct mdv_rxq *rxq)
{
	return unlikely(MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING) ||
		dvq_cq_peek(&rxq->cq, 0) == NULL;
}

uint16_t
mdv_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_idle(rxq) ? 0 : rx_receive_plain(rxq, pkts, n);
}

uint16_t
mdv_rx_burst_offloads(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_idle(rxq) ? 0 : rx_receive_offloads(rxq, pkts, n);
}

/* ---- bursts of queues whose WQEs have several segments ---- */

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
		rx_count_error(rxq, cqe);
		return NULL;
	}
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
	rx_fill_mbuf(rxq, with, cqe, m, len, first, true);
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

static __rte_noinline uint16_t
rx_receive_scattered(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
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
			if (likely(rxq->nb_rings == 1 || rx_switch_ring(rxq, 1) != 0))
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

uint16_t
mdv_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_idle(rxq) ? 0 : rx_receive_scattered(rxq, pkts, n);
}

/* The least that serves every queue of the port. */
eth_rx_burst_t
mdv_rx_burst_select(struct rte_eth_dev *dev)
{
	eth_rx_burst_t burst = mdv_rx_burst;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mdv_rxq *rxq = dev->data->rx_queues[i];

		if (rxq == NULL)
			continue;
		if (rxq->sges_n != 0)
			return mdv_rx_burst_scattered;
		if (rxq->csum || rxq->rss_hash)
			burst = mdv_rx_burst_offloads;
	}
	return burst;
}
