/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames split by length over buffers of several pools: RX_OFFLOAD_BUFFER_SPLIT.
 * The segments that the application listed come first in every WQE; as many whole
 * buffers of the last pool follow as a frame of the MTU needs.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

/* Tags are looked for, and stripped, in the first segment alone: 12 + 2 * 4 + 2 bytes. */
#define VLAN_REACH (2 * RTE_ETHER_ADDR_LEN + 2 * RTE_VLAN_HLEN + sizeof(rte_be16_t))

struct rx_split_seg {
	struct rte_mempool *mp;
	uint64_t ol_flags;        /* of every mbuf of the pool */
	uint32_t room;            /* bytes that it takes */
	uint16_t data_off;
	struct mdv_mr_entry mr[MDV_MR_CACHE];
};

struct mdv_rx_split {
	uint16_t nb;              /* segments of a WQE, while the port runs */
	uint16_t nb_listed;       /* by the application */
	struct rx_split_seg segs[MDV_RX_MAX_SGE];
	union rte_eth_rxseg listed[MDV_RX_MAX_SGE]; /* conf.rx_seg of the queue */
};

/* ---- set-up ---- */

static void
set_segment(struct rx_split_seg *seg, const struct rte_eth_rxseg_split *asked, bool first)
{
	uint32_t room = rte_pktmbuf_data_room_size(asked->mp);

	seg->mp = asked->mp;
	/* ethdev has checked that offset and length lie within the buffer. */
	seg->data_off = (uint16_t)(asked->offset + (first ? RTE_PKTMBUF_HEADROOM : 0));
	seg->room = asked->length != 0 ? asked->length : room - seg->data_off;
	if ((rte_pktmbuf_priv_flags(asked->mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0)
		seg->ol_flags = RTE_MBUF_F_EXTERNAL;
}

/* Behind the last segment listed: its pool, whole buffers, no offset. */
static void
set_repeated(struct mdv_rx_split *split)
{
	struct rte_eth_rxseg_split asked = split->listed[split->nb_listed - 1].split;
	uint16_t i;

	asked.length = 0;
	asked.offset = 0;
	for (i = split->nb_listed; i < MDV_RX_MAX_SGE; i++)
		set_segment(&split->segs[i], &asked, false);
}

int
mdv_rx_split_check_vlan(const struct mdv_rxq *rxq, uint64_t offloads)
{
	const uint64_t vlan = RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_QINQ_STRIP |
		RTE_ETH_RX_OFFLOAD_VLAN_FILTER;

	if (rxq->split == NULL || (offloads & vlan) == 0 ||
	    rxq->split->segs[0].room >= VLAN_REACH)
		return 0;
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: VLAN offloads need the tags in the first segment, "
		 "which takes %u bytes: make it %u or more", rxq->idx, rxq->split->segs[0].room,
		 (unsigned int)VLAN_REACH);
	return -EINVAL;
}

int
mdv_rx_split_setup(struct mdv_rxq *rxq)
{
	struct mdv_rx_split *split;
	uint16_t i;

	split = mdv_zalloc(rxq->priv, "the segments of an RX queue", sizeof(*split), rxq->socket);
	if (split == NULL)
		return -ENOMEM;
	split->nb_listed = rxq->conf.rx_nseg; /* ethdev has compared with rx_seg_capa */
	memcpy(split->listed, rxq->conf.rx_seg, split->nb_listed * sizeof(split->listed[0]));
	for (i = 0; i < split->nb_listed; i++)
		set_segment(&split->segs[i], &split->listed[i].split, i == 0);
	set_repeated(split);
	rxq->split = split;
	rxq->conf.rx_seg = split->listed;
	/* What concerns the first mbuf of a packet alone. */
	rxq->mp = split->segs[0].mp;
	return mdv_rx_split_check_vlan(rxq, rxq->conf.offloads);
}

uint16_t
mdv_rx_split_headroom(const struct mdv_rxq *rxq)
{
	return rxq->split->segs[0].data_off;
}

void
mdv_rx_split_free(struct mdv_rxq *rxq)
{
	rte_free(rxq->split);
	rxq->split = NULL;
}

uint16_t
mdv_rxq_pools(const struct mdv_rxq *rxq)
{
	return rxq->split != NULL ? rxq->split->nb_listed : 1;
}

struct rte_mempool *
mdv_rxq_pool(const struct mdv_rxq *rxq, uint16_t i)
{
	return rxq->split != NULL ? rxq->split->segs[i].mp : rxq->mp;
}

int
mdv_rx_split_segments(const struct mdv_rxq *rxq, uint32_t frame)
{
	const struct mdv_rx_split *split = rxq->split;
	uint32_t sum = 0;
	uint16_t n;

	for (n = 0; n < MDV_RX_MAX_SGE && (n < split->nb_listed || sum < frame); n++)
		sum += split->segs[n].room;
	if (sum >= frame)
		return n;
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: a frame of %u bytes does not fit the %u segments "
		 "listed and buffers of %u bytes of pool %s, %u in all: use longer segments or a "
		 "smaller MTU", rxq->idx, frame, split->nb_listed,
		 rte_pktmbuf_data_room_size(split->segs[MDV_RX_MAX_SGE - 1].mp),
		 split->segs[MDV_RX_MAX_SGE - 1].mp->name, MDV_RX_MAX_SGE);
	return -EINVAL;
}

void
mdv_rx_split_start(struct mdv_rxq *rxq, uint16_t nb)
{
	rxq->split->nb = nb;
}

uint16_t
mdv_rx_split_posted(const struct mdv_rxq *rxq)
{
	return rxq->split->nb;
}

/* ---- rings ---- */

static inline uint32_t
rx_split_key(const struct mdv_rxq *rxq, struct rx_split_seg *seg, const struct rte_mbuf *m)
{
	uintptr_t start = (uintptr_t)m->buf_addr;

	if (likely(start >= seg->mr[0].start && start + m->buf_len <= seg->mr[0].end))
		return seg->mr[0].lkey;
	return mdv_rx_find_key(rxq->priv, seg->mp, seg->mr, m);
}

static int
rx_split_fill_wqe(struct mdv_rxq *rxq, struct dvq_data_seg *wqe, struct rte_mbuf **elts)
{
	struct mdv_rx_split *split = rxq->split;
	struct rx_split_seg *seg;
	uint32_t lkey;
	uint16_t s;

	for (s = 0; s < split->nb; s++) {
		seg = &split->segs[s];
		/* A ring that is brought back to life still has its buffers. */
		if (elts[s] == NULL && rte_mempool_get(seg->mp, (void **)&elts[s]) != 0) {
			elts[s] = NULL;
			MDV_PLOG(rxq->priv, ERR, "RX queue %u: pool %s has no mbuf for segment %u: "
				 "make it larger", rxq->idx, seg->mp->name, s);
			return -ENOMEM;
		}
		lkey = rx_split_key(rxq, seg, elts[s]);
		if (lkey == MDV_LKEY_NONE)
			return -EFAULT;
		dvq_rq_set_seg(&wqe[s], (uintptr_t)elts[s]->buf_addr + seg->data_off, lkey,
			seg->room);
	}
	return 0;
}

int
mdv_rx_split_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct mdv_rx_split *split = rxq->split;
	struct dvq_rq *rq = &ring->rq;
	uint32_t i;
	int ret;

	if (split->nb > rq->max_sge)
		return -EINVAL;
	for (i = 0; i < split->nb; i++)
		memset(split->segs[i].mr, 0, sizeof(split->segs[i].mr));
	rxq->room = split->segs[0].room;
	for (i = 0; i < rq->wqe_cnt; i++) {
		ret = rx_split_fill_wqe(rxq, dvq_rq_wqe(rq, i), &ring->elts[i << rxq->sges_n]);
		if (ret != 0) {
			mdv_rx_split_drain(rxq, ring);
			return ret;
		}
		if (split->nb < rq->max_sge)
			dvq_rq_terminate((struct dvq_data_seg *)dvq_rq_wqe(rq, i) + split->nb);
	}
	return 0;
}

void
mdv_rx_split_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	uint32_t n = ring->rq.wqe_cnt << rxq->sges_n;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (ring->elts[i] != NULL)
			rte_mempool_put(rxq->split->segs[i & ((1u << rxq->sges_n) - 1)].mp,
				ring->elts[i]);
		ring->elts[i] = NULL;
	}
}

/* ---- bursts ---- */

/* Segments that a frame of @len bytes fills; 0 when it cannot be. */
static inline uint32_t
rx_split_filled(const struct mdv_rx_split *split, uint32_t len)
{
	uint32_t i;

	if (unlikely(len - 1 >= UINT16_MAX))
		return 0;
	for (i = 0; i < split->nb; i++) {
		if (len <= split->segs[i].room)
			return i + 1;
		len -= split->segs[i].room;
	}
	return 0;
}

static inline bool
rx_split_alloc(const struct mdv_rx_split *split, struct rte_mbuf **fresh, uint32_t n)
{
	uint32_t s;

	for (s = 0; s < n; s++)
		if (unlikely(rte_mempool_get(split->segs[s].mp, (void **)&fresh[s]) != 0))
			break;
	if (likely(s == n))
		return true;
	while (s-- != 0)
		rte_mempool_put(split->segs[s].mp, fresh[s]);
	return false;
}

/*
 * Fresh buffers in the first @n segments of a WQE, all of them or none; the old ones
 * go to @old. Without, the WQE goes back as it is: nothing gets out of step.
 */
static inline bool
rx_split_renew(struct mdv_rxq *rxq, struct dvq_data_seg *wqe, struct rte_mbuf **elts,
	       struct rte_mbuf **old, uint32_t n)
{
	struct mdv_rx_split *split = rxq->split;
	struct rte_mbuf *fresh[MDV_RX_MAX_SGE];
	uint32_t lkeys[MDV_RX_MAX_SGE];
	uint32_t s;

	if (unlikely(!rx_split_alloc(split, fresh, n)))
		return false;
	for (s = 0; s < n; s++) {
		lkeys[s] = rx_split_key(rxq, &split->segs[s], fresh[s]);
		if (unlikely(lkeys[s] == MDV_LKEY_NONE))
			break;
	}
	if (unlikely(s < n)) {
		for (s = 0; s < n; s++)
			rte_mempool_put(split->segs[s].mp, fresh[s]);
		return false;
	}
	for (s = 0; s < n; s++) {
		old[s] = elts[s];
		elts[s] = fresh[s];
		wqe[s].lkey = lkeys[s];
		wqe[s].addr = htobe64((uintptr_t)fresh[s]->buf_addr + split->segs[s].data_off);
	}
	return true;
}

/* One CQE. Returns the packet, or NULL. */
static inline struct rte_mbuf *
rx_one_split(struct mdv_rxq *rxq, const struct dvq_cqe *cqe)
{
	const struct mdv_rx_split *split = rxq->split;
	struct mdv_rx_ring *ring = rxq->ring;
	uint32_t slot = ring->rq.ci & (ring->rq.wqe_cnt - 1);
	struct rte_mbuf **elts = &ring->elts[slot << rxq->sges_n];
	struct dvq_data_seg *wqe = dvq_rq_wqe(&ring->rq, ring->rq.ci);
	uint32_t len = dvq_cqe_byte_cnt(cqe) - rxq->crc_len;
	struct rte_mbuf *m[MDV_RX_MAX_SGE];
	uint32_t n, s, left;

	rx_repost(&ring->rq, 1);
	n = likely(!dvq_cqe_is_error(cqe)) ? rx_split_filled(split, len) : 0;
	if (unlikely(n == 0)) {
		mdv_rx_count_error(rxq, cqe);
		return NULL;
	}
	if (unlikely(mdv_rx_filtered(rxq, cqe, (const uint8_t *)elts[0]->buf_addr +
				     split->segs[0].data_off)))
		return NULL;
	if (unlikely(!rx_split_renew(rxq, wqe, elts, m, n))) {
		rxq->stats.nombuf++;
		return NULL;
	}
	left = len;
	for (s = 1; s < n; s++) {
		left -= split->segs[s - 1].room;
		rx_rearm(m[s], rxq->rearm);
		m[s]->data_off = split->segs[s].data_off;
		m[s]->ol_flags = split->segs[s].ol_flags;
		m[s]->data_len = (uint16_t)RTE_MIN(left, split->segs[s].room);
		m[s - 1]->next = m[s];
	}
	rx_fill_mbuf(rxq, cqe, m[0], len, RTE_MIN(len, split->segs[0].room), RX_FULL);
	m[0]->nb_segs = (uint16_t)n;
	rxq->stats.packets++;
	rxq->stats.bytes += len;
	return m[0];
}

uint16_t
mdv_rx_receive_split(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t left, ready, i;
	struct rte_mbuf *m;
	uint16_t done = 0;

	rxq->ring = rxq->rings;
	for (left = n; left != 0; left -= ready) {
		ready = dvq_cq_ready(&rxq->cq, RTE_MIN(left, RX_CHUNK));
		if (ready == 0)
			break;
		for (i = ready; i != 0; i--) {
			m = NULL;
			if (likely(rxq->nb_rings == 1 || mdv_rx_switch_ring(rxq, 1) != 0))
				m = rx_one_split(rxq, dvq_cq_entry(&rxq->cq, rxq->cq.ci));
			rxq->cq.ci++;
			if (likely(m != NULL))
				pkts[done++] = m;
		}
	}
	rx_end(rxq);
	return done;
}
