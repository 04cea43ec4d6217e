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

static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data),
	      "rearm starts with data_off");

/* ---- what a CQE says about a packet ---- */

static inline uint32_t
rx_ptype(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, uint32_t status)
{
	uint32_t i = (status >> 22 & 0x3f) | (status & DVQ_CQE_ST_IPV6F) >> 11;

	/* Without tunnel parsing these bits mean other things. */
	if (rxq->csum_l2tun) {
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

static inline uint64_t
rx_csum(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const struct rte_mbuf *m,
	uint32_t status)
{
	const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;

	if (likely((status & good) == good))
		return RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return rx_csum_partly(rxq, cqe, m, status);
}

/* Set data_off, refcnt, nb_segs and port at once. */
static inline void
rx_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	*(uint64_t *)RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)) = rearm;
}

/* The first mbuf of a packet of @len bytes, @seg_len of them its own. */
static inline void
rx_fill_mbuf(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, struct rte_mbuf *m,
	     uint32_t len, uint32_t seg_len)
{
	uint32_t status = dvq_cqe_status(cqe);
	uint32_t hash = dvq_cqe_rss_hash(cqe);
	uint64_t flags = 0;

	rx_rearm(m, rxq->rearm);
	m->packet_type = rx_ptype(rxq, cqe, status);
	m->pkt_len = len;
	m->data_len = (uint16_t)seg_len;
	m->hash.rss = hash;
	/* A packet that was not hashed shows 0. */
	if (rxq->rss_hash && hash != 0)
		flags |= RTE_MBUF_F_RX_RSS_HASH;
	if (rxq->csum)
		flags |= rx_csum(rxq, cqe, m, status);
	m->ol_flags = flags;
}

/* ---- buffers ---- */

static inline uint16_t
rx_headroom(const struct mdv_rxq *rxq)
{
	uint16_t data_off;

	/* data_off is what rearm starts with. */
	memcpy(&data_off, &rxq->rearm, sizeof(data_off));
	return data_off;
}

/* The region of a buffer, when it is not the one of the last buffer. */
static __rte_noinline uint32_t
rx_lkey_other(struct mdv_rxq *rxq, const struct rte_mbuf *m)
{
	uintptr_t start = (uintptr_t)m->buf_addr;
	struct mdv_mr_entry found;
	unsigned int i;

	for (i = 1; i < MDV_MR_CACHE; i++)
		if (start >= rxq->mr[i].start && start + m->buf_len <= rxq->mr[i].end)
			break;
	if (i < MDV_MR_CACHE) {
		found = rxq->mr[i];
	} else {
		/* The pool was registered at set-up: a lookup, no verbs call. */
		if (mdv_mr_get(rxq->priv, start, m->buf_len, rxq->mp, &found) != 0)
			return MDV_LKEY_NONE;
		i = MDV_MR_CACHE - 1;
	}
	memmove(&rxq->mr[1], &rxq->mr[0], i * sizeof(rxq->mr[0]));
	rxq->mr[0] = found;
	return found.lkey;
}

static inline uint32_t
rx_lkey(struct mdv_rxq *rxq, const struct rte_mbuf *m)
{
	uintptr_t start = (uintptr_t)m->buf_addr;

	if (likely(start >= rxq->mr[0].start && start + m->buf_len <= rxq->mr[0].end))
		return rxq->mr[0].lkey;
	return rx_lkey_other(rxq, m);
}

int
mdv_rx_ring_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct dvq_rq *rq = &ring->rq;
	uint32_t nb_segs = 1u << rxq->sges_n;
	uint32_t n = rq->wqe_cnt << rxq->sges_n;
	uint32_t headroom = rx_headroom(rxq);
	uint32_t room = rte_pktmbuf_data_room_size(rxq->mp);
	struct dvq_data_seg *seg;
	uint32_t i, s, lkey, front;

	if (room <= headroom || nb_segs > rq->max_sge)
		return -EINVAL;
	/* A ring that is brought back to life still has its buffers. */
	if (ring->elts[0] == NULL &&
	    rte_mempool_get_bulk(rxq->mp, (void **)ring->elts, n) != 0)
		return -ENOMEM;
	memset(rxq->mr, 0, sizeof(rxq->mr));
	for (i = 0; i < n; i++) {
		s = i & (nb_segs - 1);
		seg = dvq_rq_wqe(rq, i >> rxq->sges_n) + s;
		lkey = rx_lkey(rxq, ring->elts[i]);
		if (lkey == MDV_LKEY_NONE) {
			mdv_rx_ring_drain(rxq, ring);
			return -EFAULT;
		}
		/* Only the first segment has headroom. */
		front = s == 0 ? headroom : 0;
		dvq_rq_set_seg(seg, (uintptr_t)ring->elts[i]->buf_addr + front, lkey, room - front);
		if (s == nb_segs - 1 && nb_segs < rq->max_sge)
			dvq_rq_terminate(seg + 1);
	}
	ring->wqn = ring->wq->wq_num;
	rq->ci = 0;
	rq->pi = rq->wqe_cnt;
	dvq_rq_publish(rq);
	return 0;
}

void
mdv_rx_ring_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	uint32_t n = ring->rq.wqe_cnt << rxq->sges_n;
	uint32_t i;

	if (ring->elts == NULL)
		return;
	/* They are as they came from the pool: fields are set at delivery. */
	for (i = 0; i < n; i++) {
		if (ring->elts[i] != NULL)
			rte_mempool_put(rxq->mp, ring->elts[i]);
		ring->elts[i] = NULL;
	}
}

/* ---- bursts ---- */

/* State of one call. */
struct rx_call {
	struct mdv_rx_ring *ring;
	uint64_t packets;
	uint64_t bytes;
	bool failed;              /* a completion proved a WQ dead */
};

/* The ring that a CQE belongs to. */
static __rte_noinline struct mdv_rx_ring *
rx_ring_of(struct mdv_rxq *rxq, struct rx_call *call, const struct dvq_cqe *cqe)
{
	uint32_t wqn = dvq_cqe_qpn(cqe);
	unsigned int i;

	if (call->ring->wqn == wqn)
		return call->ring;
	for (i = 0; i < rxq->nb_rings; i++)
		if (rxq->rings[i].wqn == wqn)
			break;
	if (i == rxq->nb_rings)
		return NULL;
	/* One record per run of completions of a ring. */
	dvq_rq_publish(&call->ring->rq);
	call->ring = &rxq->rings[i];
	return call->ring;
}

/* Count a CQE that carries no packet. Its buffers stay where they are. */
static __rte_noinline void
rx_count_error(struct mdv_rxq *rxq, struct rx_call *call, const struct dvq_cqe *cqe)
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
	call->failed |= dvq_syndrome_kills_rq(syndrome);
}

/* The WQE just completed goes back with the buffers that its slot holds now. */
static inline void
rx_repost(struct dvq_rq *rq)
{
	rq->ci++;
	rq->pi++;
}

static inline void
rx_begin(struct mdv_rxq *rxq, struct rx_call *call)
{
	*call = (struct rx_call){ .ring = rxq->rings };
}

/*
 * Everything the call consumed goes back to the adapter. FAILED comes last: the
 * watchdog may then take the queue.
 */
static inline void
rx_end(struct mdv_rxq *rxq, const struct rx_call *call)
{
	rxq->stats.packets += call->packets;
	rxq->stats.bytes += call->bytes;
	dvq_rq_publish(&call->ring->rq);
	dvq_cq_update_ci(&rxq->cq);
	if (unlikely(call->failed))
		MDV_STORE_RELEASE(&rxq->state, MDV_QUEUE_FAILED);
}

/* How many CQEs are ready, at most @max; their mbufs will be written soon. */
static inline uint32_t
rx_ready(const struct mdv_rxq *rxq, uint32_t max)
{
	const struct mdv_rx_ring *ring = rxq->rings;
	uint32_t i;

	for (i = 0; i < max; i++) {
		if (dvq_cq_peek(&rxq->cq, i) == NULL)
			break;
		rte_prefetch0(ring->elts[(ring->rq.ci + i) & (ring->rq.wqe_cnt - 1)]);
	}
	return i;
}

/* @n fresh mbufs, or as many as there are. */
static inline uint32_t
rx_alloc(struct mdv_rxq *rxq, struct rte_mbuf **fresh, uint32_t n)
{
	uint32_t i;

	if (likely(rte_mempool_get_bulk(rxq->mp, (void **)fresh, n) == 0))
		return n;
	for (i = 0; i < n; i++)
		if (rte_mempool_get(rxq->mp, (void **)&fresh[i]) != 0)
			break;
	return i;
}

/* Put a fresh buffer in the place of a received one; false: no key for it. */
static inline bool
rx_replace(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf **elt,
	   struct rte_mbuf *fresh, uint32_t headroom)
{
	uint32_t lkey = rx_lkey(rxq, fresh);

	if (unlikely(lkey == MDV_LKEY_NONE))
		return false;
	seg->lkey = lkey;
	seg->addr = htobe64((uintptr_t)fresh->buf_addr + headroom);
	*elt = fresh;
	return true;
}

/*
 * One CQE of a queue of single-segment WQEs. Returns the packet, or NULL. As in
 * other drivers a kept FCS lies behind the data and is not part of the length.
 */
static inline struct rte_mbuf *
rx_one(struct mdv_rxq *rxq, struct rx_call *call, const struct dvq_cqe *cqe,
       struct rte_mbuf *fresh, uint32_t headroom)
{
	struct mdv_rx_ring *ring = call->ring;
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct dvq_data_seg *seg;
	struct rte_mbuf **elt;
	struct rte_mbuf *m;

	if (unlikely(rxq->nb_rings > 1)) {
		ring = rx_ring_of(rxq, call, cqe);
		if (ring == NULL) {
			rxq->stats.errors++;
			return NULL;
		}
	}
	seg = dvq_rq_wqe(&ring->rq, ring->rq.ci);
	elt = &ring->elts[ring->rq.ci & (ring->rq.wqe_cnt - 1)];
	rx_repost(&ring->rq);
	/* A length of 0, or beyond the buffer, or below the FCS, is no packet. */
	if (unlikely(dvq_cqe_is_error(cqe) || len - 1 >= be32toh(seg->byte_count))) {
		rx_count_error(rxq, call, cqe);
		return NULL;
	}
	m = *elt;
	if (unlikely(fresh == NULL || !rx_replace(rxq, seg, elt, fresh, headroom))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	rx_fill_mbuf(rxq, cqe, m, len, len);
	call->packets++;
	call->bytes += len;
	return m;
}

uint16_t
mdv_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_rxq *rxq = queue;
	struct rte_mbuf *fresh[RX_CHUNK];
	struct rx_call call;
	uint32_t headroom, ready, got, used, i, max;
	uint32_t left = n;        /* CQEs to look at: without mbufs none gives a packet */
	uint16_t done = 0;

	if (unlikely(MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING))
		return 0;
	max = RTE_MIN(left, RX_CHUNK);
	ready = rx_ready(rxq, max);
	if (ready == 0)
		return 0;
	headroom = rx_headroom(rxq);
	rx_begin(rxq, &call);
	do {
		got = rx_alloc(rxq, fresh, ready);
		used = 0;
		for (i = 0; i < ready; i++) {
			const struct dvq_cqe *cqe = dvq_cq_entry(&rxq->cq, rxq->cq.ci + i);
			struct rte_mbuf *m = rx_one(rxq, &call, cqe,
				used < got ? fresh[used] : NULL, headroom);

			if (likely(m != NULL)) {
				pkts[done++] = m;
				used++;
			}
		}
		rxq->cq.ci += ready;
		left -= ready;
		if (unlikely(used < got))
			rte_mempool_put_bulk(rxq->mp, (void **)&fresh[used], got - used);
		if (ready < max)
			break;
		max = RTE_MIN(left, RX_CHUNK);
		ready = rx_ready(rxq, max);
	} while (ready != 0);
	rx_end(rxq, &call);
	return done;
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

/* Replace the first @n buffers of a WQE: all of them or none. */
static inline bool
rx_replace_all(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf **elts,
	       struct rte_mbuf **old, uint32_t n)
{
	struct rte_mbuf *fresh[MDV_RX_MAX_SGE];
	uint32_t headroom = rx_headroom(rxq);
	uint32_t i, s;

	if (unlikely(rte_mempool_get_bulk(rxq->mp, (void **)fresh, n) != 0))
		return false;
	memcpy(old, elts, n * sizeof(*old));
	for (i = 0; i < n; i++)
		if (unlikely(!rx_replace(rxq, &seg[i], &elts[i], fresh[i], i == 0 ? headroom : 0)))
			break;
	if (likely(i == n))
		return true;
	/* The old ones stay after all; they had a key when they were posted. */
	for (s = 0; s < i; s++)
		rx_replace(rxq, &seg[s], &elts[s], old[s], s == 0 ? headroom : 0);
	for (s = 0; s < n; s++)
		rte_mempool_put(rxq->mp, fresh[s]);
	return false;
}

/* One CQE of a queue whose WQEs have several segments. */
static inline struct rte_mbuf *
rx_one_scattered(struct mdv_rxq *rxq, struct rx_call *call, const struct dvq_cqe *cqe)
{
	struct mdv_rx_ring *ring = call->ring;
	struct rte_mbuf *segs[MDV_RX_MAX_SGE];
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct dvq_data_seg *wqe;
	uint32_t rest, room, n, s, slot;

	if (rxq->nb_rings > 1) {
		ring = rx_ring_of(rxq, call, cqe);
		if (unlikely(ring == NULL)) {
			rxq->stats.errors++;
			return NULL;
		}
	}
	wqe = dvq_rq_wqe(&ring->rq, ring->rq.ci);
	slot = ring->rq.ci & (ring->rq.wqe_cnt - 1);
	rx_repost(&ring->rq);
	n = likely(!dvq_cqe_is_error(cqe)) ? rx_segments(rxq, wqe, len) : 0;
	if (unlikely(n == 0)) {
		rx_count_error(rxq, call, cqe);
		return NULL;
	}
	if (unlikely(!rx_replace_all(rxq, wqe, &ring->elts[slot << rxq->sges_n], segs, n))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	room = be32toh(wqe[0].byte_count);
	rx_fill_mbuf(rxq, cqe, segs[0], len, RTE_MIN(len, room));
	segs[0]->nb_segs = (uint16_t)n;
	rest = len - RTE_MIN(len, room);
	for (s = 1; s < n; s++) {
		room = be32toh(wqe[s].byte_count);
		rx_rearm(segs[s], rxq->rearm);
		segs[s]->data_off = 0;
		segs[s]->ol_flags = 0;
		segs[s]->data_len = (uint16_t)RTE_MIN(rest, room);
		rest -= segs[s]->data_len;
		segs[s - 1]->next = segs[s];
	}
	call->packets++;
	call->bytes += len;
	return segs[0];
}

uint16_t
mdv_rx_burst_scattered(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_rxq *rxq = queue;
	const struct dvq_cqe *cqe;
	struct rx_call call;
	struct rte_mbuf *m;
	uint16_t seen;
	uint16_t done = 0;

	if (unlikely(MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING))
		return 0;
	rx_begin(rxq, &call);
	for (seen = 0; seen < n; seen++) {
		cqe = dvq_cq_poll(&rxq->cq);
		if (cqe == NULL)
			break;
		m = rx_one_scattered(rxq, &call, cqe);
		if (likely(m != NULL))
			pkts[done++] = m;
	}
	if (seen != 0)
		rx_end(rxq, &call);
	return done;
}

void
mdv_rx_discard(struct mdv_rxq *rxq)
{
	const struct dvq_cqe *cqe;

	if (rxq->cq.buf == NULL)
		return;
	while ((cqe = dvq_cq_poll(&rxq->cq)) != NULL) {
		if (dvq_cqe_is_error(cqe) && dvq_cqe_syndrome(cqe) == DVQ_SYNDROME_WR_FLUSH)
			rxq->stats.flushed++;
		else
			rxq->stats.errors++;
	}
	dvq_cq_update_ci(&rxq->cq);
}

eth_rx_burst_t
mdv_rx_burst_select(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		const struct mdv_rxq *rxq = dev->data->rx_queues[i];

		if (rxq != NULL && rxq->sges_n != 0)
			return mdv_rx_burst_scattered;
	}
	return mdv_rx_burst;
}
