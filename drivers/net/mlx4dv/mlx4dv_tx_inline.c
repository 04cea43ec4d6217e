/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Short frames inside their WQEs, on queues of ports with tx_inline=N: the adapter finds
 * them where it reads the WQE, and has not to fetch them from the mbuf, which spares a
 * round trip over the bus. The mbuf is freed when the WQE completes, as any other.
 *
 * Frames of one segment go in runs, and among them those that are too long or too short. A
 * chain, and a frame that is the last there is room for or whose WQE wraps, goes by itself.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_devargs.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx_run.h"

/* What a block holds behind what begins it: dvq_wqe_inline() */
#define LATER_BYTES ((uint32_t)(DVQ_SQ_BB_SIZE - sizeof(struct dvq_inline_seg)))
#define FIRST_BYTES ((uint32_t)(LATER_BYTES - sizeof(struct dvq_ctrl_seg)))

static_assert(FIRST_BYTES + 3 * LATER_BYTES == MDV_TX_INLINE_MAX, "four blocks");

/* As if the control segment were bytes of the frame. */
static inline uint32_t
inline_blocks(uint32_t len)
{
	return (len + (uint32_t)sizeof(struct dvq_ctrl_seg) + LATER_BYTES - 1) / LATER_BYTES;
}

uint32_t
mdv_tx_inline_blocks(uint32_t len)
{
	return inline_blocks(len);
}

/* ---- runs ---- */

#define COPY_UNIT 16u
static_assert(MDV_TX_INLINE_MIN >= COPY_UNIT, "copy_piece() of the first block");
static_assert(LATER_BYTES <= 4 * COPY_UNIT, "copy_piece()");

static __rte_always_inline void
copy_unit(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, COPY_UNIT);
}

/*
 * What a block has of a frame, COPY_UNIT bytes at least. The last unit ends where the piece
 * does, so that no byte beyond is read or written; some are copied twice.
 */
static __rte_always_inline void
copy_piece(uint8_t *to, const uint8_t *from, uint32_t n)
{
	if (n > COPY_UNIT)
		copy_unit(to, from);
	if (n > 2 * COPY_UNIT)
		copy_unit(to + COPY_UNIT, from + COPY_UNIT);
	if (n > 3 * COPY_UNIT)
		copy_unit(to + 2 * COPY_UNIT, from + 2 * COPY_UNIT);
	copy_unit(to + n - COPY_UNIT, from + n - COPY_UNIT);
}

/* Fewer bytes than that: the place of a unit that ends there is another block's. */
static __rte_always_inline void
copy_little(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint32_t done = 0;

	if ((n & 8) != 0) {
		memcpy(to, from, 8);
		done = 8;
	}
	if ((n & 4) != 0) {
		memcpy(to + done, from + done, 4);
		done += 4;
	}
	if ((n & 2) != 0) {
		memcpy(to + done, from + done, 2);
		done += 2;
	}
	if ((n & 1) != 0)
		to[done] = from[done];
}

/*
 * Of a frame what a later block has. Its first dword waits for the rest of the block, which
 * is all that the adapter, reading ahead, goes by: nothing of the WQE will be given up.
 */
static __rte_always_inline void
inline_later(uint8_t *block, const uint8_t *frame, uint32_t bytes)
{
	uint8_t *to = block + sizeof(struct dvq_inline_seg);

	if (likely(bytes >= COPY_UNIT))
		copy_piece(to, frame, bytes);
	else
		copy_little(to, frame, bytes);
	dvq_barrier_block_before_head();
	*(volatile uint32_t *)block = htobe32(DVQ_SEG_INLINE | bytes);
}

/*
 * All of the frame, in a WQE that begins at @block and at @elts, which has no packet for
 * its later blocks. Returns where it ends there.
 */
static __rte_always_inline struct rte_mbuf **
inline_fill(uint8_t *block, struct rte_mbuf **elts, const uint8_t *frame, uint32_t len)
{
	uint32_t *head = (uint32_t *)(block + sizeof(struct dvq_ctrl_seg));
	uint8_t *to = (uint8_t *)(head + 1);

	if (len <= FIRST_BYTES) {
		*head = htobe32(DVQ_SEG_INLINE | len);
		copy_piece(to, frame, len);
		return elts + 1;
	}
	*head = htobe32(DVQ_SEG_INLINE | FIRST_BYTES);
	copy_piece(to, frame, FIRST_BYTES);
	frame += FIRST_BYTES;
	block += DVQ_SQ_BB_SIZE;
	for (len -= FIRST_BYTES; unlikely(len > LATER_BYTES); len -= LATER_BYTES) {
		inline_later(block, frame, LATER_BYTES);
		*++elts = NULL;
		frame += LATER_BYTES;
		block += DVQ_SQ_BB_SIZE;
	}
	inline_later(block, frame, len);
	*++elts = NULL;
	return elts + 1;
}

/* What the loop holds in registers. */
struct inline_run {
	const struct mdv_tx_keys *keys;
	uint32_t range;           /* of the length, beyond MDV_TX_INLINE_MIN */
	uint64_t asks;            /* flags of packets that want something done */
	uint64_t others;          /* of those what a run does not do */
	uint64_t vlan_flag;
	uint64_t bytes;
};

static __rte_always_inline void
inline_run_init(struct inline_run *run, const struct mdv_txq *txq)
{
	const uint32_t longest = RTE_MIN(txq->inline_max, txq->len_range + MDV_TX_MIN_LEN);

	run->keys = &txq->keys;
	run->range = longest - MDV_TX_INLINE_MIN;
	run->asks = txq->others | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;
	run->others = txq->others & ~txq->vlan_flag;
	run->vlan_flag = txq->vlan_flag;
	run->bytes = 0;
}

/* 16-byte units of a WQE of so many blocks. */
static __rte_always_inline uint32_t
inline_units(uint32_t len, uint32_t blocks)
{
	const uint32_t bytes = (uint32_t)sizeof(struct dvq_ctrl_seg) + len +
		blocks * (uint32_t)sizeof(struct dvq_inline_seg);

	return (bytes + DVQ_WQE_UNIT - 1) / DVQ_WQE_UNIT;
}

/*
 * The WQE but for its control segment, of a frame that is copied into it. Returns its blocks;
 * 0: there is no room for them.
 */
static __rte_always_inline uint32_t
inline_copied(struct tx_at *at, struct rte_mbuf *m, uint32_t len)
{
	const uint32_t blocks = inline_blocks(len);

	if (unlikely(at->block + blocks * DVQ_SQ_BB_SIZE > at->end))
		return 0;
	*at->elts = m;
	at->elts = inline_fill(at->block, at->elts, rte_pktmbuf_mtod(m, const uint8_t *), len);
	return blocks;
}

/* The same of one that is not to be copied; 0 as well when its region is not known. */
static __rte_always_inline uint32_t
inline_by_address(struct tx_at *at, struct rte_mbuf *m, uint32_t len,
	const struct mdv_tx_keys *keys)
{
	const uintptr_t data = rte_pktmbuf_mtod(m, uintptr_t);
	const struct mdv_tx_key *key = mdv_tx_key_of(keys, m->pool, data);

	if (unlikely(key == NULL || len - MDV_TX_MIN_LEN > keys->len_range ||
		     at->block == at->end))
		return 0;
	dvq_seg_set((struct dvq_data_seg *)at->block + 1, data, key->lkey, len);
	*at->elts++ = m;
	return 1;
}

/* One packet; false, and nothing done, when it is of another sort. */
static __rte_always_inline bool
inline_one(struct inline_run *run, struct tx_at *at, struct rte_mbuf *m,
	const tx_ctrls_t ctrls[2])
{
	const uint64_t ol_flags = m->ol_flags;
	const uint32_t len = m->data_len;
	uint32_t vlan = 0, csum = 0, units = 2, blocks;
	const struct dvq_ctrl_be *ctrl;
	uint8_t *next;

	if (unlikely(m->nb_segs != 1))
		return false;
	if (unlikely((ol_flags & run->asks) != 0)) {
		if (unlikely((ol_flags & run->others) != 0))
			return false;
		csum = ol_flags >> CSUM_SHIFT & (CSUM_KINDS - 1);
		if ((ol_flags & run->vlan_flag) != 0)
			vlan = tx_vlan_bits(m);
	}
	if (likely(len - MDV_TX_INLINE_MIN <= run->range)) {
		blocks = inline_copied(at, m, len);
		units = inline_units(len, blocks);
	} else {
		blocks = inline_by_address(at, m, len, run->keys);
	}
	if (unlikely(blocks == 0))
		return false;
	next = at->block + blocks * DVQ_SQ_BB_SIZE;
	ctrl = tx_at_asks(at, next) ? ctrls[1][0] : ctrls[0][0];
	tx_ctrl_store(at->block, &ctrl[csum], vlan | units);
	at->block = next;
	run->bytes += len;
	return true;
}

uint32_t
mdv_tx_run_inline(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	const tx_ctrls_t *ctrls = mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0];
	struct rte_mbuf *const *const first = pkts, *const *const end = pkts + n - cqe;
	struct inline_run run;
	struct tx_at at;

	if (unlikely(dvq_sq_room(&txq->sq) == 0))
		return 0;
	tx_at_begin(&at, txq);
	inline_run_init(&run, txq);
	while (pkts != end && likely(inline_one(&run, &at, *pkts, ctrls)))
		pkts++;
	if (cqe && likely(pkts == end)) {
		at.due = at.block;
		pkts += inline_one(&run, &at, *pkts, ctrls);
	}
	n = (uint32_t)(pkts - first);
	if (n != 0 && tx_at_end(&at, txq, n, run.bytes) != n)
		txq->mixed = txq->sq.pi;
	return n;
}

/* One packet was posted, in so many blocks. */
static __rte_always_inline void
inline_single_end(struct mdv_txq *txq, uint32_t blocks, uint64_t bytes, bool cqe)
{
	txq->sq.pi += blocks;
	if (unlikely(cqe))
		txq->signalled = txq->sq.pi;
	if (blocks != 1)
		txq->mixed = txq->sq.pi;
	txq->inflight++;
	txq->stats.packets++;
	txq->stats.bytes += bytes;
}

bool
mdv_tx_run_inline_single(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe)
{
	const tx_ctrls_t *ctrls = mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0];
	struct inline_run run;
	struct tx_at at;
	uint8_t *begin;

	if (unlikely(dvq_sq_room(&txq->sq) == 0))
		return false;
	tx_at_begin(&at, txq);
	begin = at.block;
	at.due = cqe ? begin : at.end + DVQ_SQ_BB_SIZE;
	inline_run_init(&run, txq);
	if (unlikely(!inline_one(&run, &at, m, ctrls)))
		return false;
	inline_single_end(txq, (uint32_t)(at.block - begin) / DVQ_SQ_BB_SIZE, run.bytes, cqe);
	return true;
}

/* ---- one packet, by BlueFlame ---- */

static_assert(4 * DVQ_SQ_BB_SIZE <= DVQ_BF_REG_SIZE / 2, "a buffer holds any inline WQE");

/*
 * Announce the WQE at @block, which is whole but for its control segment: by a copy in the
 * BlueFlame page or, while another queue copies, by the doorbell. The copy must say which
 * WQE of which queue it is.
 */
static void
blueflame_announce(struct mdv_txq *txq, uint8_t *block, const struct dvq_ctrl_be *ctrl,
	uint32_t units)
{
	struct mdv_blueflame *blueflame = &mdv_blueflame[txq->port_id];
	struct dvq_ctrl_be named = *ctrl;

	if (unlikely(!rte_spinlock_trylock(&blueflame->lock))) {
		tx_ctrl_store(block, ctrl, units);
		mdv_tx_ring(txq);
		return;
	}
	named.word[0] |= htobe32((txq->sq.pi & 0xffff) << DVQ_CTRL_BF_INDEX_SHIFT);
	tx_ctrl_store(block, &named, be32toh(txq->sq.qpn_be) | units);
	dvq_bf_copy(&blueflame->bf, block, units * DVQ_WQE_UNIT);
	rte_spinlock_unlock(&blueflame->lock);
}

/*
 * Post a packet and announce it; false: it is of another sort. A tag to insert, among the
 * others, would be where the copy has the number of its queue.
 */
static bool
blueflame_single(struct mdv_txq *txq, struct rte_mbuf *m)
{
	const bool cqe = tx_single_asks(txq);
	const tx_ctrls_t *ctrls = mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0];
	const uint32_t len = m->data_len;
	struct inline_run run;
	struct tx_at at;
	uint32_t blocks, csum;

	if (unlikely(dvq_sq_room(&txq->sq) == 0))
		return false;
	tx_at_begin(&at, txq);
	inline_run_init(&run, txq);
	if (unlikely(m->nb_segs != 1 || (m->ol_flags & txq->others) != 0 ||
		     len - MDV_TX_INLINE_MIN > run.range))
		return false;
	blocks = inline_copied(&at, m, len);
	if (unlikely(blocks == 0))
		return false;
	csum = m->ol_flags >> CSUM_SHIFT & (CSUM_KINDS - 1);
	blueflame_announce(txq, at.block, &ctrls[cqe][0][csum], inline_units(len, blocks));
	inline_single_end(txq, blocks, len, cqe);
	return true;
}

/*
 * A packet alone: all before it is announced, as who posts also rings. A burst of its own for
 * such ports, so that it costs the others nothing.
 */
uint16_t
mdv_tx_burst_blueflame(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_txq *txq = queue;

	if (n != 1)
		return mdv_tx_burst(txq, pkts, n);
	if (unlikely(MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING))
		return 0;
	if (tx_has_completed(txq) && unlikely(!mdv_tx_reap_all(txq)))
		return 0;
	if (likely(txq->inflight < txq->nb_desc) && likely(blueflame_single(txq, pkts[0])))
		return 1;
	return mdv_tx_burst(txq, pkts, n);
}

/* ---- one packet ---- */

/*
 * The frame in one piece, a chain in the @copy. NULL: it is too long, or the chain makes no
 * sense, which the ordinary way finds and counts.
 */
static inline const uint8_t *
inline_frame(const struct mdv_txq *txq, const struct rte_mbuf *m, uint8_t *copy, uint32_t *len)
{
	uint32_t left = m->nb_segs;

	if (likely(left == 1)) {
		*len = m->data_len;
		return *len <= txq->inline_max ? rte_pktmbuf_mtod(m, const uint8_t *) : NULL;
	}
	if (unlikely(left > MDV_TX_MAX_SEGS))
		return NULL;
	for (*len = 0; m != NULL && left != 0; m = m->next, left--) {
		if (m->data_len > txq->inline_max - *len)
			return NULL;
		memcpy(copy + *len, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		*len += m->data_len;
	}
	return m == NULL && left == 0 ? copy : NULL;
}

uint32_t
mdv_tx_inline(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl)
{
	uint8_t copy[MDV_TX_INLINE_MAX];
	struct dvq_wqe wqe;
	const uint8_t *frame;
	uint32_t len;

	frame = inline_frame(txq, m, copy, &len);
	if (frame == NULL || unlikely(len < MDV_TX_INLINE_MIN || !tx_length_ok(txq, len)))
		return TX_NOT_INLINE;
	if (unlikely(!mdv_tx_wqe_begin(txq, &wqe, mdv_tx_inline_blocks(len), &ctrl->flags)))
		return TX_NO_ROOM;
	dvq_wqe_inline(&wqe, frame, len);
	mdv_tx_wqe_end(txq, &wqe, m, ctrl);
	return len;
}
