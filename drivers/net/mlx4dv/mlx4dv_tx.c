/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

#define TX_SIGNAL_EVERY 32    /* packets per completion */

/* ---- memory keys ---- */

/* Look in the rest of the cache, then ask. What is found moves to the front. */
static uint32_t
tx_lkey_search(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start, uintptr_t end)
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

/* Where many pools take turns, each finds its own region at once. */
uint32_t
mdv_tx_lkey_other(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start, uintptr_t end)
{
	struct mdv_mr_entry *of_pool = &txq->mr_of_pool[mdv_tx_pool_slot(seg->pool)];
	uint32_t lkey;

	if (likely(start >= of_pool->start && end <= of_pool->end))
		return of_pool->lkey;
	lkey = tx_lkey_search(txq, seg, start, end);
	if (lkey != MDV_LKEY_NONE)
		*of_pool = txq->mr[0];
	return lkey;
}

void
mdv_tx_forget_keys(struct mdv_txq *txq)
{
	memset(txq->mr, 0, sizeof(txq->mr));
	memset(txq->mr_of_pool, 0, sizeof(txq->mr_of_pool));
}

/* A region went away: what the queue remembers may be it. */
static inline void
tx_check_generation(struct mdv_txq *txq)
{
	uint32_t now = MDV_LOAD_ACQUIRE(&txq->priv->mr.generation);

	if (likely(now == txq->mr_generation))
		return;
	mdv_tx_forget_keys(txq);
	txq->mr_generation = now;
}

/* ---- packets to WQEs ---- */

/* Hand over a packet: the WQE at sq->pi, begun by @wqe or of @segs segments in its block. */
static inline void
tx_post(struct mdv_txq *txq, struct dvq_sq *sq, struct dvq_wqe *wqe, uint32_t segs,
	struct rte_mbuf *m, uint32_t flags, const bool full)
{
	struct tx_ctrl ctrl = { DVQ_OP_SEND, 0, flags };
	uint8_t room[RTE_ETHER_ADDR_LEN];
	const uint8_t *dmac = NULL;

	txq->elts[sq->pi & (sq->bb_cnt - 1)] = m;
	if (unlikely((m->ol_flags & TX_CSUM_FLAGS) != 0))
		tx_csum(&ctrl, m->ol_flags);
	if (full) {
		tx_vlan(txq, &ctrl, m);
		dmac = tx_loopback_mac(txq, m, room);
	}
	if (wqe != NULL)
		dvq_wqe_end(wqe, ctrl.opcode, ctrl.vlan, ctrl.flags, dmac);
	else
		dvq_sq_post_block(sq, segs, ctrl.opcode, ctrl.vlan, ctrl.flags, dmac);
}

/* The packet that most are: one segment. Returns its length. */
static inline uint32_t
tx_one(struct mdv_txq *txq, struct dvq_sq *sq, struct rte_mbuf *m, uint32_t flags,
       const bool full)
{
	uint32_t len = m->data_len;
	uint32_t lkey;

	if (unlikely(!tx_length_ok(txq, len))) {
		txq->stats.drop_size++;
		return TX_DROPPED;
	}
	if (unlikely(!tx_lkey(txq, m, &lkey))) {
		txq->stats.drop_unregistered++;
		return TX_DROPPED;
	}
	dvq_seg_set(dvq_sq_block_segs(sq), rte_pktmbuf_mtod(m, uintptr_t), lkey, len);
	tx_post(txq, sq, NULL, 1, m, flags, full);
	return len;
}

/*
 * Append the segments of a chain that has as many as it claims, to @wqe or, when
 * that is NULL, from *@to on. Empty ones take no part: they have nothing to say.
 * Returns the length of the frame, or TX_DROPPED when there is none to be sent.
 */
static inline uint32_t
tx_append_chain(struct mdv_txq *txq, struct dvq_wqe *wqe, struct dvq_data_seg **to,
		const struct rte_mbuf *m)
{
	const struct rte_mbuf *seg = m;
	uint32_t left = m->nb_segs;
	uint32_t len = 0;
	uint32_t lkey;

	while (likely(left != 0)) {
		uintptr_t data = rte_pktmbuf_mtod(seg, uintptr_t);
		uint32_t seg_len = seg->data_len;

		if (likely(seg_len != 0)) {
			if (unlikely(!tx_lkey(txq, seg, &lkey))) {
				txq->stats.drop_unregistered++;
				return TX_DROPPED;
			}
			len += seg_len;
			if (wqe != NULL)
				dvq_wqe_data(wqe, data, lkey, seg_len);
			else
				dvq_seg_set((*to)++, data, lkey, seg_len);
		}
		left--;
		seg = seg->next;
		if (seg == NULL)
			break;
	}
	if (unlikely(seg != NULL || left != 0)) {
		txq->stats.drop_segments++;
		return TX_DROPPED;
	}
	if (unlikely(!tx_length_ok(txq, len))) {
		txq->stats.drop_size++;
		return TX_DROPPED;
	}
	return len;
}

/* A chain that fits one block, for which there is room. */
static inline uint32_t
tx_short_chain(struct mdv_txq *txq, struct dvq_sq *sq, struct rte_mbuf *m, uint32_t flags,
	       const bool full)
{
	struct dvq_data_seg *first = dvq_sq_block_segs(sq);
	struct dvq_data_seg *end = first;
	uint32_t len = tx_append_chain(txq, NULL, &end, m);

	if (unlikely(len == TX_DROPPED))
		return TX_DROPPED;
	tx_post(txq, sq, NULL, (uint32_t)(end - first), m, flags, full);
	txq->mixed = sq->pi;
	return len;
}

/*
 * Any longer chain. One that takes the last block asks for the CQE itself, so that
 * behind any other there is room for a NOP that does. What is dropped leaves a WQE
 * begun and forgotten: nothing of it can be seen.
 */
static __rte_noinline uint32_t
tx_long_chain(struct mdv_txq *txq, struct rte_mbuf *m, uint32_t flags)
{
	uint32_t blocks = dvq_sq_blocks((1u + m->nb_segs) * DVQ_WQE_UNIT);
	struct dvq_sq sq = txq->sq;
	uint32_t room = dvq_sq_room(&sq);
	struct dvq_wqe wqe;
	uint32_t len, i;

	if (unlikely(m->nb_segs > MDV_TX_MAX_SEGS)) {
		txq->stats.drop_segments++;
		return TX_DROPPED;
	}
	if (unlikely(room < blocks))
		return TX_NO_ROOM;
	if (unlikely(room == blocks))
		flags |= DVQ_CTRL_CQE;
	dvq_wqe_begin(&wqe, &sq);
	len = tx_append_chain(txq, &wqe, NULL, m);
	if (unlikely(len == TX_DROPPED))
		return TX_DROPPED;
	tx_post(txq, &sq, &wqe, 0, m, flags, txq->full);
	for (i = txq->sq.pi + 1; i != sq.pi; i++)
		txq->elts[i & (sq.bb_cnt - 1)] = NULL;
	txq->sq.pi = sq.pi;
	txq->mixed = sq.pi;
	return len;
}

/* ---- the packets that most are ---- */

#define CSUM_SHIFT 52        /* of RTE_MBUF_F_TX_L4_MASK, with the bit of IP_CKSUM above it */
#define CTRL_BE(owner, flags) { { RTE_BE32(DVQ_OP_SEND | (owner)), RTE_BE32(2), \
	RTE_BE32(DVQ_CTRL_SE | (flags)), 0 } }
#define CTRL_L4(owner, ip) CTRL_BE(owner, ip), CTRL_BE(owner, DVQ_CTRL_L4_CSUM | (ip)), \
	CTRL_BE(owner, DVQ_CTRL_L4_CSUM | (ip)), CTRL_BE(owner, DVQ_CTRL_L4_CSUM | (ip))
#define CTRL_PASS(owner) { CTRL_L4(owner, 0), CTRL_L4(owner, DVQ_CTRL_IP_CSUM) }

static_assert(RTE_MBUF_F_TX_L4_MASK >> CSUM_SHIFT == 3 &&
	      RTE_MBUF_F_TX_IP_CKSUM >> CSUM_SHIFT == 4, "CSUM_SHIFT");

/* Control segments of a WQE with one data segment: by pass, then by checksum flags. */
static const struct dvq_ctrl_be tx_ctrls[2][8] = { CTRL_PASS(0), CTRL_PASS(DVQ_CTRL_OWNER) };

static inline unsigned int
tx_csum_index(uint64_t ol)
{
	return (unsigned int)(ol >> CSUM_SHIFT) & 7;
}

/* What the loops over packets hold in registers. */
struct tx_near {
	uintptr_t start, span;
	uint32_t lkey;
	uint32_t len_range;
	uint64_t other;           /* flags of what the loops do not do */
};

static inline void
tx_near_init(struct tx_near *near, const struct mdv_txq *txq)
{
	near->start = txq->mr[0].start;
	near->span = txq->mr[0].end - txq->mr[0].start;
	near->lkey = txq->mr[0].lkey;
	near->len_range = txq->len_range;
	near->other = RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IP_CKSUM |
		txq->vlan_flag | txq->tso_flag;
}

/* The key of a segment, if it is of the region last used or known by its pool. */
static __rte_always_inline bool
tx_key(const struct mdv_txq *txq, const struct tx_near *near, const struct rte_mbuf *seg,
       uintptr_t data, uint32_t len, uint32_t *lkey)
{
	const struct mdv_mr_entry *mr;

	*lkey = near->lkey;
	if (likely(data - near->start <= near->span - len && len <= near->span))
		return true;
	mr = &txq->mr_of_pool[mdv_tx_pool_slot(seg->pool)];
	*lkey = mr->lkey;
	return data >= mr->start && data + len <= mr->end;
}

/* Which control segments a packet with these flags may have; NULL: none of them. */
static __rte_always_inline const struct dvq_ctrl_be *
tx_ctrl_of(const struct dvq_ctrl_be *ctrls, const struct tx_near *near, uint64_t ol)
{
	if (likely((ol & (near->other | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)) == 0))
		return ctrls;
	return (ol & near->other) != 0 ? NULL : ctrls + tx_csum_index(ol);
}

/* The data segment of a packet that is one; its length, or 0 for any other. */
static __rte_always_inline uint32_t
tx_one_seg(const struct mdv_txq *txq, const struct tx_near *near, struct dvq_data_seg *to,
	   const struct rte_mbuf *m)
{
	uintptr_t data = rte_pktmbuf_mtod(m, uintptr_t);
	uint32_t lkey;

	if (unlikely(m->nb_segs != 1 || !tx_key(txq, near, m, data, m->data_len, &lkey)))
		return 0;
	dvq_seg_set(to, data, lkey, m->data_len);
	return m->data_len;
}

/*
 * The data segments of a chain, if it has the @left that it claims and none of them is
 * empty; its length, or 0 for any other.
 */
static __rte_always_inline uint32_t
tx_chain_segs(const struct mdv_txq *txq, const struct tx_near *near, struct dvq_data_seg *to,
	      const struct rte_mbuf *seg, uint32_t left)
{
	uint32_t len = 0, lkey;

	do {
		uintptr_t data = rte_pktmbuf_mtod(seg, uintptr_t);

		if (unlikely(seg->data_len == 0 ||
			     !tx_key(txq, near, seg, data, seg->data_len, &lkey)))
			return 0;
		dvq_seg_set(to++, data, lkey, seg->data_len);
		len += seg->data_len;
		seg = seg->next;
	} while (--left != 0 && seg != NULL);
	return left == 0 && seg == NULL ? len : 0;
}

/*
 * Post packets whose WQEs take one block and need no CQE, at most @n and not beyond the
 * ring's end: those of one segment, or the chains. Stops at the first that needs more
 * than that, of which nothing can be seen; returns how many.
 */
static __rte_always_inline uint32_t
tx_blocks(struct mdv_txq *txq, struct dvq_sq *sq, struct rte_mbuf *const *pkts, uint32_t n,
	  uint64_t *bytes, const bool chains)
{
	const struct dvq_ctrl_be *ctrls = tx_ctrls[(sq->pi & sq->bb_cnt) != 0];
	struct rte_mbuf **elts = &txq->elts[sq->pi & (sq->bb_cnt - 1)];
	uint8_t *block = dvq_sq_block(sq, sq->pi);
	struct rte_mbuf *const *const first = pkts;
	struct rte_mbuf *const *const end = pkts + n;
	struct tx_near near;
	uint64_t sum = 0;

	tx_near_init(&near, txq);
	for (; pkts != end; pkts++, elts++, block += DVQ_SQ_BB_SIZE) {
		struct rte_mbuf *m = *pkts;
		const struct dvq_ctrl_be *ctrl = tx_ctrl_of(ctrls, &near, m->ol_flags);
		struct dvq_data_seg *segs = (struct dvq_data_seg *)block + 1;
		struct dvq_ctrl_be of_chain;
		uint32_t nb_segs = m->nb_segs, len;

		if (unlikely((chains && nb_segs - 2 > DVQ_SQ_BLOCK_SEGS - 2) || ctrl == NULL))
			break;
		len = chains ? tx_chain_segs(txq, &near, segs, m, nb_segs) :
			tx_one_seg(txq, &near, segs, m);
		if (unlikely(len - MDV_TX_MIN_LEN > near.len_range))
			break;
		*elts = m;
		if (chains) {
			of_chain = *ctrl;
			of_chain.word[1] = htobe32(1 + nb_segs);
			ctrl = &of_chain;
		}
		dvq_ctrl_store(block, ctrl);
		sum += len;
	}
	sq->pi += (uint32_t)(pkts - first);
	if (chains && pkts != first)
		txq->mixed = sq->pi;
	*bytes += sum;
	return (uint32_t)(pkts - first);
}

/* By what the first packet is; up to the ring's end. */
static __rte_always_inline uint32_t
tx_run(struct mdv_txq *txq, struct dvq_sq *sq, struct rte_mbuf *const *pkts, uint32_t n,
       uint64_t *bytes)
{
	uint32_t rest = sq->bb_cnt - (sq->pi & (sq->bb_cnt - 1));

	n = RTE_MIN(n, rest);
	return likely(pkts[0]->nb_segs == 1) ? tx_blocks(txq, sq, pkts, n, bytes, false) :
		tx_blocks(txq, sq, pkts, n, bytes, true);
}

/* ---- bursts ---- */

/* Packets that can be tried: each takes a block at least. */
static inline uint32_t
tx_room(const struct mdv_txq *txq, uint32_t n)
{
	uint32_t room = dvq_sq_room(&txq->sq);
	uint32_t packets = txq->nb_desc - txq->inflight;

	room = RTE_MIN(room, packets);
	return RTE_MIN(room, n);
}

/*
 * The first packet that asks for a CQE: after TX_SIGNAL_EVERY blocks without one,
 * and the last of the burst when no other CQE is on its way. More would cost both
 * sides a cache line per burst; without that one an idle queue would not drain.
 */
static inline uint32_t
tx_first_signal(const struct mdv_txq *txq, uint32_t n)
{
	uint32_t since = txq->sq.pi - txq->signalled;
	uint32_t first = TX_SIGNAL_EVERY - 1 - RTE_MIN(since, TX_SIGNAL_EVERY - 1);

	return mdv_tx_expects_cqe(txq) ? first : RTE_MIN(first, n - 1);
}

/* The ring's view is a copy, which stays in registers across the barriers. */
static __rte_always_inline uint16_t
tx_send(struct mdv_txq *txq, struct rte_mbuf **pkts, uint32_t n, const bool full)
{
	bool last_too = !mdv_tx_expects_cqe(txq);
	uint32_t signal = tx_first_signal(txq, n);
	struct dvq_sq sq = txq->sq;
	uint32_t dropped = 0, i, len, room;
	uint64_t bytes = 0;
	bool tso;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *m;
		uint32_t flags = 0;

		if (!(full && txq->loopback)) {
			i += tx_run(txq, &sq, &pkts[i], RTE_MIN(signal, n) - i, &bytes);
			if (i == n)
				break;
		}
		m = pkts[i];
		if (unlikely(i == signal)) {
			flags = DVQ_CTRL_CQE;
			signal += TX_SIGNAL_EVERY;
			if (last_too)
				signal = RTE_MIN(signal, n - 1);
		}
		tso = full && (m->ol_flags & txq->tso_flag) != 0;
		if (likely(m->nb_segs == 1 && !tso)) {
			len = tx_one(txq, &sq, m, flags, full);
		} else if (likely(m->nb_segs <= DVQ_SQ_BLOCK_SEGS && !tso)) {
			len = tx_short_chain(txq, &sq, m, flags, full);
		} else {
			txq->sq.pi = sq.pi;
			len = tso ? mdv_tx_tso(txq, m, flags) : tx_long_chain(txq, m, flags);
			if (unlikely(len == TX_NO_ROOM))
				break;
			sq.pi = txq->sq.pi;
			/* As many as there is a block for. */
			room = dvq_sq_room(&sq);
			n = RTE_MIN(n, i + 1 + room);
			if (last_too)
				signal = RTE_MIN(signal, n - 1);
			flags |= room == 0 ? DVQ_CTRL_CQE : 0;
		}
		if (unlikely(len == TX_DROPPED)) {
			rte_pktmbuf_free(m);
			dropped++;
			continue;
		}
		if (unlikely(flags != 0))
			txq->signalled = sq.pi;
		bytes += len;
	}
	txq->sq.pi = sq.pi;
	if (likely(i != dropped)) {
		/* The last one may have been dropped. */
		mdv_tx_signal_rest(txq);
		mdv_tx_ring(txq);
	}
	txq->inflight += i - dropped;
	txq->stats.packets += i - dropped;
	txq->stats.bytes += bytes;
	return (uint16_t)i;
}

static __rte_noinline uint16_t
tx_send_plain(struct mdv_txq *txq, struct rte_mbuf **pkts, uint32_t n)
{
	return tx_send(txq, pkts, n, false);
}

/* With VLAN tags to insert, TCP to cut, or on a virtual function. */
static __rte_noinline uint16_t
tx_send_full(struct mdv_txq *txq, struct rte_mbuf **pkts, uint32_t n)
{
	return tx_send(txq, pkts, n, true);
}

/* With all completions taken. */
static inline uint16_t
tx_burst_on(struct mdv_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t room = n != 0 ? tx_room(txq, n) : 0;

	if (unlikely(room == 0)) {
		if (mdv_tx_signal_rest(txq))
			mdv_tx_ring(txq);
		return 0;
	}
	tx_check_generation(txq);
	if (unlikely(txq->full))
		return tx_send_full(txq, pkts, room);
	return tx_send_plain(txq, pkts, room);
}

static __rte_noinline uint16_t
tx_burst_reaped(struct mdv_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	return likely(mdv_tx_reap_all(txq)) ? tx_burst_on(txq, pkts, n) : 0;
}

/* A burst of nothing takes completions all the same. */
uint16_t
mdv_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_txq *txq = queue;

	if (unlikely(MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING))
		return 0;
	/* Completed packets are left over where the application frees so many at a time. */
	if (dvq_cq_peek(&txq->cq, 0) != NULL || txq->freed != txq->sq.ci)
		return tx_burst_reaped(txq, pkts, n);
	return tx_burst_on(txq, pkts, n);
}

static void
set_longest(struct mdv_txq *txq, uint16_t mtu)
{
	txq->len_range = (uint32_t)mtu + MDV_TX_OVERHEAD - MDV_TX_MIN_LEN;
	/* One of the two tags may be the adapter's to insert. */
	if (txq->vlan_flag != 0)
		txq->len_range -= RTE_VLAN_HLEN;
}

void
mdv_tx_set_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] != NULL)
			set_longest(dev->data->tx_queues[i], mtu);
}

void
mdv_tx_select(struct mdv_txq *txq)
{
	const struct rte_eth_dev_data *data = txq->priv->data;
	uint64_t offloads = data->dev_conf.txmode.offloads | txq->conf.offloads;

	txq->fast_free = (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	txq->vlan_flag = (offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0 ? RTE_MBUF_F_TX_VLAN : 0;
	txq->tso_flag = (offloads & MDV_TX_TSO_OFFLOADS) != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0;
	txq->full = txq->vlan_flag != 0 || txq->tso_flag != 0 || txq->loopback;
	set_longest(txq, data->mtu);
}
