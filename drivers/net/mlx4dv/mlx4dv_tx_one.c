/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One packet, whatever it is: with all that a queue may do to it, or to be dropped and
 * counted. Common packets have a shorter way in mlx4dv_tx_run.c.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

/* ---- blocks that are not stamped yet ---- */

#define BLOCKS_AHEAD (DVQ_SQ_PREFETCH / DVQ_SQ_BB_SIZE)

/*
 * The first WQE of more than a block on a queue that was not set up for any. Blocks that
 * are free get their stamps now, but those that the adapter may have read ahead without
 * are used up: NOPs of one block do without. False: there is no room for that yet.
 */
static __rte_noinline bool
start_stamping(struct mdv_txq *txq)
{
	struct dvq_sq *sq = &txq->sq;
	uint32_t i;

	if (dvq_sq_room(sq) < BLOCKS_AHEAD + DVQ_WQE_MAX_BLOCKS)
		return false;
	dvq_sq_stamp_free(sq);
	for (i = 0; i < BLOCKS_AHEAD; i++) {
		txq->elts[sq->pi & (sq->bb_cnt - 1)] = NULL;
		dvq_sq_post_block(sq, 0, DVQ_OP_NOP, 0, 0, NULL);
	}
	txq->mixed = sq->pi;
	txq->stamps = true;
	return true;
}

/* ---- chains ---- */

/*
 * The last WQE that there is room for asks for its CQE, so that behind any other there
 * is room for a NOP that does. What is dropped leaves a WQE begun and forgotten: nothing
 * of it can be seen.
 */
bool
mdv_tx_wqe_begin(struct mdv_txq *txq, struct dvq_wqe *wqe, uint32_t blocks, uint32_t *flags)
{
	uint32_t room;

	if (unlikely(blocks > 1 && !txq->stamps && !start_stamping(txq)))
		return false;
	room = dvq_sq_room(&txq->sq);
	if (unlikely(room < blocks))
		return false;
	if (unlikely(room == blocks))
		*flags |= DVQ_CTRL_CQE;
	dvq_wqe_begin(wqe, &txq->sq);
	return true;
}

void
mdv_tx_wqe_end(struct mdv_txq *txq, struct dvq_wqe *wqe, struct rte_mbuf *m,
	const struct tx_ctrl *ctrl)
{
	const uint32_t first = txq->sq.pi, mask = txq->sq.bb_cnt - 1;
	uint8_t room[RTE_ETHER_ADDR_LEN];
	uint32_t i;

	txq->elts[first & mask] = m;
	dvq_wqe_end(wqe, ctrl->opcode, ctrl->vlan, ctrl->flags, tx_loopback_mac(txq, m, room));
	for (i = first + 1; i != txq->sq.pi; i++)
		txq->elts[i & mask] = NULL;
	txq->mixed = txq->sq.pi;
}

/*
 * Append the segments of a chain that has as many as it claims. Empty ones take no part:
 * they have nothing to say. Returns the length of the frame, or TX_DROPPED.
 */
static uint32_t
append_chain(struct mdv_txq *txq, struct dvq_wqe *wqe, const struct rte_mbuf *m)
{
	const struct rte_mbuf *seg = m;
	uint32_t left = m->nb_segs;
	uint32_t len = 0;
	uint32_t lkey;

	while (likely(left != 0)) {
		if (likely(seg->data_len != 0)) {
			if (unlikely(!tx_lkey(txq, seg, &lkey))) {
				txq->stats.drop_unregistered++;
				return TX_DROPPED;
			}
			len += seg->data_len;
			dvq_wqe_data(wqe, rte_pktmbuf_mtod(seg, uintptr_t), lkey, seg->data_len);
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

static uint32_t
send_chain(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl)
{
	struct dvq_wqe wqe;
	uint32_t len;

	if (unlikely(m->nb_segs > MDV_TX_MAX_SEGS)) {
		txq->stats.drop_segments++;
		return TX_DROPPED;
	}
	if (unlikely(!mdv_tx_wqe_begin(txq, &wqe, dvq_sq_blocks((1u + m->nb_segs) * DVQ_WQE_UNIT),
		     &ctrl->flags)))
		return TX_NO_ROOM;
	len = append_chain(txq, &wqe, m);
	if (likely(len != TX_DROPPED))
		mdv_tx_wqe_end(txq, &wqe, m, ctrl);
	return len;
}

/* ---- one segment ---- */

static inline uint32_t
send_seg(struct mdv_txq *txq, struct rte_mbuf *m, const struct tx_ctrl *ctrl)
{
	struct dvq_sq *sq = &txq->sq;
	uint8_t room[RTE_ETHER_ADDR_LEN];
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
	txq->elts[sq->pi & (sq->bb_cnt - 1)] = m;
	dvq_sq_post_block(sq, 1, ctrl->opcode, ctrl->vlan, ctrl->flags,
		tx_loopback_mac(txq, m, room));
	return len;
}

static inline uint32_t
send_one(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl)
{
	uint32_t len;

	if ((m->ol_flags & txq->tso_flag) != 0)
		return mdv_tx_tso(txq, m, ctrl);
	if (unlikely((m->ol_flags & TX_CSUM_FLAGS) != 0))
		tx_csum(ctrl, m->ol_flags);
	tx_vlan(txq, ctrl, m);
	if (txq->inline_max != 0) {
		len = mdv_tx_inline(txq, m, ctrl);
		if (len != TX_NOT_INLINE)
			return len;
	}
	return likely(m->nb_segs == 1) ? send_seg(txq, m, ctrl) : send_chain(txq, m, ctrl);
}

bool
mdv_tx_one(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe)
{
	struct tx_ctrl ctrl = { DVQ_OP_SEND, 0, cqe ? DVQ_CTRL_CQE : 0 };
	uint32_t len = send_one(txq, m, &ctrl);

	if (unlikely(len == TX_NO_ROOM))
		return false;
	if (unlikely(len == TX_DROPPED)) {
		rte_pktmbuf_free(m);
		return true;
	}
	if (unlikely((ctrl.flags & DVQ_CTRL_CQE) != 0))
		txq->signalled = txq->sq.pi;
	txq->inflight++;
	txq->stats.packets++;
	txq->stats.bytes += len;
	return true;
}
