/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

#define TX_SIGNAL_EVERY 32    /* packets per completion */
#define TX_FREE_BULK 64       /* mbufs given back to a pool at a time */

#define TX_CSUM_FLAGS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | \
	RTE_MBUF_F_TX_OUTER_IP_CKSUM)

/* ---- completion: give mbufs back ---- */

struct tx_free {
	struct rte_mempool *mp;
	unsigned int n;
	struct rte_mbuf *m[TX_FREE_BULK];
};

static inline void
tx_free_flush(struct tx_free *bulk)
{
	if (bulk->n != 0)
		rte_mempool_put_bulk(bulk->mp, (void **)bulk->m, bulk->n);
	bulk->n = 0;
}

/* @m is a raw mbuf: nobody else holds it, nothing is attached or chained. */
static inline void
tx_free_raw(struct tx_free *bulk, struct rte_mbuf *m)
{
	if (unlikely(bulk->n == TX_FREE_BULK || m->pool != bulk->mp)) {
		tx_free_flush(bulk);
		bulk->mp = m->pool;
	}
	bulk->m[bulk->n++] = m;
}

static inline void
tx_free_packet(struct tx_free *bulk, struct rte_mbuf *m, bool fast_free)
{
	struct rte_mbuf *next;

	if (fast_free && m->nb_segs == 1) {
		tx_free_raw(bulk, m);
		return;
	}
	do {
		next = m->next;
		m = rte_pktmbuf_prefree_seg(m);
		if (likely(m != NULL))
			tx_free_raw(bulk, m);
		m = next;
	} while (m != NULL);
}

/* Free packets that completed: at most @max. */
static inline uint32_t
tx_free_completed(struct mdv_txq *txq, uint32_t max)
{
	struct tx_free bulk = { .mp = NULL, .n = 0 };
	uint32_t mask = txq->sq.bb_cnt - 1;
	uint32_t end = txq->sq.ci;
	uint32_t i = txq->freed;
	uint32_t n = 0;

	for (; i != end && n < max; i++) {
		struct rte_mbuf *m = txq->elts[i & mask];

		/* Later blocks of a packet and NOPs have none. */
		if (m == NULL)
			continue;
		txq->elts[i & mask] = NULL;
		tx_free_packet(&bulk, m, txq->fast_free);
		n++;
	}
	tx_free_flush(&bulk);
	txq->freed = i;
	txq->inflight -= n;
	return n;
}

/*
 * A completion that says that the queue is dead, or makes no sense. What was
 * sent before counts as sent; the rest stays in elts for mdv_tx_drain().
 */
static __rte_noinline void
tx_failed(struct mdv_txq *txq, const struct dvq_cqe *cqe)
{
	txq->stats.errors++;
	if (dvq_cqe_is_error(cqe))
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

/* FAILED is the last thing done: the watchdog may then take the queue. */
static inline bool
tx_reap_all(struct mdv_txq *txq)
{
	bool alive = tx_complete(txq);

	if (txq->freed != txq->sq.ci)
		tx_free_completed(txq, UINT32_MAX);
	if (unlikely(!alive))
		MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_FAILED);
	return alive;
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
	uint32_t i;

	if (txq->elts == NULL)
		return;
	if (txq->cq.buf != NULL)
		tx_settle(txq, MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_FAILED);
	for (i = 0; i < txq->sq.bb_cnt; i++) {
		struct rte_mbuf *m = txq->elts[i];

		if (m == NULL)
			continue;
		txq->stats.lost_packets++;
		txq->stats.lost_bytes += m->pkt_len;
		txq->elts[i] = NULL;
		rte_pktmbuf_free(m);
	}
	txq->inflight = 0;
	txq->unsignalled = 0;
	txq->freed = 0;
	txq->sq.pi = 0;
	txq->sq.ci = 0;
}

/* ---- memory keys ---- */

/* Look in the rest of the cache, then ask. What is found moves to the front. */
static __rte_noinline uint32_t
tx_lkey_other(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start, uintptr_t end)
{
	struct mdv_mr_entry found;
	unsigned int i;

	for (i = 1; i < MDV_MR_CACHE; i++)
		if (start >= txq->mr[i].start && end <= txq->mr[i].end)
			break;
	if (i == MDV_MR_CACHE)
		return mdv_mr_lookup_slow(txq, seg);
	found = txq->mr[i];
	memmove(&txq->mr[1], &txq->mr[0], i * sizeof(txq->mr[0]));
	txq->mr[0] = found;
	return found.lkey;
}

static inline uint32_t
tx_lkey(struct mdv_txq *txq, const struct rte_mbuf *seg)
{
	uintptr_t start = rte_pktmbuf_mtod(seg, uintptr_t);
	uintptr_t end = start + seg->data_len;

	if (likely(start >= txq->mr[0].start && end <= txq->mr[0].end))
		return txq->mr[0].lkey;
	return tx_lkey_other(txq, seg, start, end);
}

/* A region went away: what the queue remembers may be it. */
static inline void
tx_check_generation(struct mdv_txq *txq)
{
	uint32_t now = MDV_LOAD_ACQUIRE(&txq->priv->mr.generation);

	if (likely(now == txq->mr_generation))
		return;
	memset(txq->mr, 0, sizeof(txq->mr));
	txq->mr_generation = now;
}

/* ---- packets to WQEs ---- */


/*
 * Each checksum only when asked for: a UDP datagram may have none, a fragment
 * none that could be computed. Under a tunnel the plain bits mean the inner
 * headers, which have bits of their own in dword 0. (mlx4_en)
 */
static __rte_noinline void
tx_csum_some(const struct rte_mbuf *m, uint32_t *opcode, uint32_t *flags)
{
	uint64_t ol = m->ol_flags;
	bool ip = (ol & RTE_MBUF_F_TX_IP_CKSUM) != 0;
	bool l4 = (ol & RTE_MBUF_F_TX_L4_MASK) != 0;

	if ((ol & RTE_MBUF_F_TX_TUNNEL_MASK) == 0) {
		*flags |= (ip ? DVQ_CTRL_IP_CSUM : 0) | (l4 ? DVQ_CTRL_L4_CSUM : 0);
		return;
	}
	if ((ol & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0)
		*flags |= DVQ_CTRL_IP_CSUM;
	*opcode |= (ip ? DVQ_CTRL_INNER_IP_CSUM : 0) | (l4 ? DVQ_CTRL_INNER_L4_CSUM : 0);
}

static inline uint32_t
tx_end_wqe(struct mdv_txq *txq, struct dvq_wqe *wqe, const struct rte_mbuf *m, uint32_t flags)
{
	uint32_t opcode = DVQ_OP_SEND;
	const uint8_t *dmac = NULL;

	if (unlikely((m->ol_flags & TX_CSUM_FLAGS) != 0))
		tx_csum_some(m, &opcode, &flags);
	if (unlikely(txq->loopback))
		dmac = rte_pktmbuf_mtod(m, const uint8_t *);
	return dvq_wqe_end(wqe, opcode, 0, flags, dmac);
}

static inline bool
tx_length_ok(const struct mdv_txq *txq, uint32_t len)
{
	return len - MDV_TX_MIN_LEN <= txq->max_len - MDV_TX_MIN_LEN;
}

enum tx_result {
	TX_POSTED,
	TX_DROPPED,               /* counted; the caller frees it */
	TX_NO_ROOM,
};

/*
 * Room for @blocks? A packet that takes the last one asks for the CQE itself, so
 * that behind any other there is room for a NOP that does.
 */
static inline bool
tx_take_room(const struct dvq_sq *sq, uint32_t blocks, uint32_t *flags)
{
	uint32_t room = dvq_sq_room(sq);

	if (unlikely(room <= blocks)) {
		*flags |= DVQ_CTRL_CQE;
		return room == blocks;
	}
	return true;
}

/*
 * Append the segments of a chain that has as many as it claims. Empty ones take
 * no part: they have nothing to say. Returns the length of the frame; 0, with
 * the reason counted, when there is none that can be sent.
 */
static inline uint32_t
tx_append_chain(struct mdv_txq *txq, struct dvq_wqe *wqe, const struct rte_mbuf *m)
{
	const struct rte_mbuf *seg = m;
	uint32_t left = m->nb_segs;
	uint32_t len = 0;
	uint32_t lkey;

	for (; seg != NULL && left != 0; seg = seg->next, left--) {
		if (unlikely(seg->data_len == 0))
			continue;
		lkey = tx_lkey(txq, seg);
		if (unlikely(lkey == MDV_LKEY_NONE)) {
			txq->stats.drop_unregistered++;
			return 0;
		}
		dvq_wqe_data(wqe, rte_pktmbuf_mtod(seg, uintptr_t), lkey, seg->data_len);
		len += seg->data_len;
	}
	if (unlikely(seg != NULL || left != 0)) {
		txq->stats.drop_segments++;
		return 0;
	}
	if (unlikely(!tx_length_ok(txq, len))) {
		txq->stats.drop_size++;
		return 0;
	}
	return len;
}

/* What is dropped leaves a WQE begun and forgotten: nothing of it can be seen. */
static __rte_noinline enum tx_result
tx_post_chain(struct mdv_txq *txq, struct rte_mbuf *m, uint32_t *flags, uint32_t *len)
{
	struct dvq_sq sq = txq->sq;
	struct dvq_wqe wqe;

	if (unlikely(m->nb_segs == 0 || m->nb_segs > MDV_TX_MAX_SEGS)) {
		txq->stats.drop_segments++;
		return TX_DROPPED;
	}
	if (unlikely(!tx_take_room(&sq, dvq_sq_blocks((1u + m->nb_segs) * DVQ_WQE_UNIT), flags)))
		return TX_NO_ROOM;
	dvq_wqe_begin(&wqe, &sq);
	*len = tx_append_chain(txq, &wqe, m);
	if (unlikely(*len == 0))
		return TX_DROPPED;
	txq->elts[sq.pi & (sq.bb_cnt - 1)] = m;
	tx_end_wqe(txq, &wqe, m, *flags);
	txq->sq.pi = sq.pi;
	return TX_POSTED;
}

/*
 * The packet that most are: one segment, one block. @sq is the burst's own copy,
 * which stays in registers across the barriers.
 */
static inline enum tx_result
tx_post_one(struct mdv_txq *txq, struct dvq_sq *sq, struct rte_mbuf *m, uint32_t *flags)
{
	struct dvq_wqe wqe;
	uint32_t lkey;

	if (unlikely(!tx_length_ok(txq, m->data_len))) {
		txq->stats.drop_size++;
		return TX_DROPPED;
	}
	if (unlikely(!tx_take_room(sq, 1, flags)))
		return TX_NO_ROOM;
	lkey = tx_lkey(txq, m);
	if (unlikely(lkey == MDV_LKEY_NONE)) {
		txq->stats.drop_unregistered++;
		return TX_DROPPED;
	}
	txq->elts[sq->pi & (sq->bb_cnt - 1)] = m;
	dvq_wqe_begin(&wqe, sq);
	dvq_wqe_data(&wqe, rte_pktmbuf_mtod(m, uintptr_t), lkey, m->data_len);
	tx_end_wqe(txq, &wqe, m, *flags);
	return TX_POSTED;
}

/* Packets that can be tried: each takes a block at least. */
static inline uint32_t
tx_room(const struct mdv_txq *txq, uint32_t n)
{
	uint32_t room = dvq_sq_room(&txq->sq);
	uint32_t packets = txq->nb_desc - txq->inflight;

	room = RTE_MIN(room, packets);
	return RTE_MIN(room, n);
}

/* Ask for the CQE of packets that ended without, so that an idle queue drains. */
static __rte_noinline void
tx_signal(struct mdv_txq *txq)
{
	struct dvq_wqe wqe;

	dvq_wqe_begin(&wqe, &txq->sq);
	dvq_wqe_end(&wqe, DVQ_OP_NOP, 0, DVQ_CTRL_CQE, NULL);
	txq->unsignalled = 0;
}

uint16_t
mdv_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_txq *txq = queue;
	struct dvq_sq sq;
	uint64_t packets = 0;
	uint64_t bytes = 0;
	uint32_t room, i, len, flags, unsignalled;

	if (unlikely(MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING) ||
	    unlikely(!tx_reap_all(txq)))
		return 0;
	room = tx_room(txq, n);
	if (unlikely(room == 0))
		return 0;
	tx_check_generation(txq);
	sq = txq->sq;
	unsignalled = txq->unsignalled;
	for (i = 0; i < room; i++) {
		struct rte_mbuf *m = pkts[i];
		enum tx_result result;

		flags = 0;
		if (i == room - 1 || unsignalled >= TX_SIGNAL_EVERY - 1)
			flags = DVQ_CTRL_CQE;
		if (likely(m->nb_segs == 1)) {
			len = m->data_len;
			result = tx_post_one(txq, &sq, m, &flags);
		} else {
			txq->sq.pi = sq.pi;
			result = tx_post_chain(txq, m, &flags, &len);
			sq.pi = txq->sq.pi;
		}
		if (unlikely(result != TX_POSTED)) {
			if (result == TX_NO_ROOM)
				break;
			rte_pktmbuf_free(m);
			continue;
		}
		unsignalled = flags != 0 ? 0 : unsignalled + 1;
		packets++;
		bytes += len;
	}
	txq->sq.pi = sq.pi;
	txq->unsignalled = (uint16_t)unsignalled;
	if (likely(packets != 0)) {
		if (unlikely(unsignalled != 0))
			tx_signal(txq);
		dvq_sq_ring(&txq->sq);
	}
	txq->inflight += (uint32_t)packets;
	txq->stats.packets += packets;
	txq->stats.bytes += bytes;
	return (uint16_t)i;
}

uint16_t
mdv_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const struct mdv_txq *txq = queue;
	uint64_t supported = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM |
		RTE_MBUF_F_TX_L4_MASK;
	uint16_t i;

	if ((txq->conf.offloads & RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM) != 0)
		supported |= RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4 |
			RTE_MBUF_F_TX_OUTER_IPV6 | RTE_MBUF_F_TX_TUNNEL_MASK;
	for (i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];
		const struct rte_mbuf *seg = m;
		uint32_t len = 0;
		uint16_t segs;

		if ((m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK & ~supported) != 0 ||
		    (m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_SCTP_CKSUM) {
			rte_errno = ENOTSUP;
			return i;
		}
		for (segs = 0; seg != NULL && segs < m->nb_segs; segs++, seg = seg->next)
			len += seg->data_len;
		if (segs == 0 || segs > MDV_TX_MAX_SEGS || segs != m->nb_segs || seg != NULL ||
		    len != m->pkt_len || !tx_length_ok(txq, len)) {
			rte_errno = EINVAL;
			return i;
		}
	}
	return n;
}

void
mdv_tx_set_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct mdv_txq *txq = dev->data->tx_queues[i];

		if (txq != NULL)
			txq->max_len = (uint32_t)mtu + MDV_TX_OVERHEAD;
	}
}

eth_tx_burst_t
mdv_tx_burst_select(struct rte_eth_dev *dev)
{
	uint64_t offloads = dev->data->dev_conf.txmode.offloads;
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		struct mdv_txq *txq = dev->data->tx_queues[i];

		if (txq != NULL)
			txq->fast_free = ((offloads | txq->conf.offloads) &
					  RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	}
	mdv_tx_set_mtu(dev, dev->data->mtu);
	return mdv_tx_burst;
}
