/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_TX_RUN_H_
#define MLX4DV_TX_RUN_H_

/* What the runs of common packets share. */

#include "mlx4dv_tx.h"

#define CSUM_SHIFT 52        /* of RTE_MBUF_F_TX_L4_MASK, with the bit of IP_CKSUM above it */
#define CSUM_KINDS 8

static_assert(RTE_MBUF_F_TX_L4_MASK >> CSUM_SHIFT == 3 &&
	      RTE_MBUF_F_TX_IP_CKSUM >> CSUM_SHIFT == 4, "CSUM_SHIFT");

/* By number of segments less one, then by checksum flags. */
typedef struct dvq_ctrl_be tx_ctrls_t[DVQ_SQ_BLOCK_SEGS][CSUM_KINDS];

/* By pass over the ring, then by whether a CQE is asked for. */
extern const tx_ctrls_t mdv_tx_ctrls[2][2] __attribute__((visibility("hidden")));

/* What the loops hold in registers. */
struct tx_run {
	const struct mdv_tx_keys *keys;
	struct mdv_tx_key near;   /* of the first packet's pool */
	uint32_t len_range;
	uint64_t others;          /* flags of what a run does not do */
	uint64_t vlan_flag;
	uint64_t bytes;
};

static __rte_always_inline void
run_init(struct tx_run *run, const struct mdv_txq *txq, const struct rte_mbuf *first)
{
	run->keys = &txq->keys;
	run->near = *mdv_tx_key_first(&txq->keys, first->pool);
	run->len_range = txq->keys.len_range;
	run->others = txq->others;
	run->vlan_flag = txq->vlan_flag;
	run->bytes = 0;
}

/*
 * As dvq_ctrl_store(), with a dword 1 of its own: a tag to insert, and how long the WQE is.
 * No vector, as its four dwords come from three places.
 */
static __rte_always_inline void
tx_ctrl_store(uint8_t *block, const struct dvq_ctrl_be *ctrl, uint32_t vlan_units)
{
	uint32_t *words = (uint32_t *)block;

	words[1] = htobe32(vlan_units);
	memcpy(&words[2], &ctrl->word[2], 2 * sizeof(words[0]));
	dvq_barrier_wqe_before_owner();
	*(volatile uint32_t *)block = ctrl->word[0];
}

/* Where a run of WQEs of any number of blocks is in the ring. */
struct tx_at {
	uint8_t *block;
	struct rte_mbuf **elts;
	uint8_t *end;             /* of the blocks that it may take */
	uint8_t *due;             /* a WQE that gets as far as this asks for a CQE */
	uint8_t *asked;           /* behind the last one that did; or NULL */
	uint32_t every;           /* bytes of the ring from one that asks to the next */
};

/* There is a block at least. */
static __rte_always_inline void
tx_at_begin(struct tx_at *at, const struct mdv_txq *txq)
{
	const uint32_t slot = txq->sq.pi & (txq->sq.bb_cnt - 1);
	const uint32_t since = txq->sq.pi - txq->signalled, half = txq->signal_every / 2;
	/* The WQE that takes the last block has rules of its own: mdv_tx_wqe_begin(). */
	const uint32_t room = RTE_MIN(dvq_sq_room(&txq->sq) - 1, txq->sq.bb_cnt - slot);

	at->block = dvq_sq_block(&txq->sq, slot);
	at->elts = &txq->elts[slot];
	at->end = at->block + (size_t)room * DVQ_SQ_BB_SIZE;
	at->due = at->block + (size_t)(half - RTE_MIN(since, half)) * DVQ_SQ_BB_SIZE;
	at->asked = NULL;
	at->every = half * DVQ_SQ_BB_SIZE;
}

/* Does the WQE that ends at @next ask for a CQE? */
static __rte_always_inline bool
tx_at_asks(struct tx_at *at, uint8_t *next)
{
	if (likely(next < at->due))
		return false;
	at->due = next + at->every;
	at->asked = next;
	return true;
}

/* @n packets were posted. Returns the blocks that they took. */
static __rte_always_inline uint32_t
tx_at_end(const struct tx_at *at, struct mdv_txq *txq, uint32_t n, uint64_t bytes)
{
	const uint8_t *begin = dvq_sq_block(&txq->sq, txq->sq.pi);
	const uint32_t blocks = (uint32_t)(at->block - begin) / DVQ_SQ_BB_SIZE;

	if (at->asked != NULL)
		txq->signalled = txq->sq.pi + (uint32_t)(at->asked - begin) / DVQ_SQ_BB_SIZE;
	txq->sq.pi += blocks;
	txq->inflight += n;
	txq->stats.packets += n;
	txq->stats.bytes += bytes;
	return blocks;
}

#endif /* MLX4DV_TX_RUN_H_ */
