/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The packets that most are: of one segment, or a chain of few, which fit a block of
 * their own and ask for nothing but checksums, or of one segment and with a tag to insert.
 * Longer chains, and those with a tag, have a run of their own in mlx4dv_tx_any.c; whatever
 * else ends a run is for mlx4dv_tx_one.c. Nothing of it can be seen then.
 */

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx_run.h"

/* ---- control segments ---- */

#define CTRL_BE(owner, units, flags) { { RTE_BE32(DVQ_OP_SEND | (owner)), RTE_BE32(units), \
	RTE_BE32(DVQ_CTRL_SE | (flags)), 0 } }
#define CTRL_L4(owner, units, ip) CTRL_BE(owner, units, ip), \
	CTRL_BE(owner, units, DVQ_CTRL_L4_CSUM | (ip)), \
	CTRL_BE(owner, units, DVQ_CTRL_L4_CSUM | (ip)), \
	CTRL_BE(owner, units, DVQ_CTRL_L4_CSUM | (ip))
#define CTRL_SEGS(owner, segs, cqe) { CTRL_L4(owner, 1 + (segs), cqe), \
	CTRL_L4(owner, 1 + (segs), DVQ_CTRL_IP_CSUM | (cqe)) }
#define CTRL_CQE(owner, cqe) { CTRL_SEGS(owner, 1, cqe), CTRL_SEGS(owner, 2, cqe), \
	CTRL_SEGS(owner, 3, cqe) }
#define CTRL_PASS(owner) { CTRL_CQE(owner, 0), CTRL_CQE(owner, DVQ_CTRL_CQE) }

static_assert(DVQ_SQ_BLOCK_SEGS == 3, "CTRL_CQE");

const tx_ctrls_t mdv_tx_ctrls[2][2] = { CTRL_PASS(0), CTRL_PASS(DVQ_CTRL_OWNER) };

/* ---- a run ---- */

/* What the packets of a run are. A constant wherever it is looked at. */
enum run_sort {
	OF_POOL,                  /* of one, as far as anybody knows */
	OF_POOLS,
	OF_CHAINS,
	OF_TAGS,                  /* to insert, in some of them */
};

/* The data segment of a segment whose region is known by its pool; else false. */
static __rte_always_inline bool
run_seg(const struct tx_run *run, struct dvq_data_seg *to, const struct rte_mbuf *seg,
	uint32_t len, const bool pools)
{
	uintptr_t data = rte_pktmbuf_mtod(seg, uintptr_t);
	const struct mdv_tx_key *key = &run->near;

	if (pools || unlikely(!mdv_tx_key_fits(&run->near, data))) {
		key = mdv_tx_key_of(run->keys, seg->pool, data);
		if (unlikely(key == NULL))
			return false;
		dvq_seg_set(to, data, key->lkey, len);
		return true;
	}
	dvq_seg_set(to, data, run->near.lkey, len);
	return true;
}

/* A packet of one segment; its length, or 0 when the packet ends the run. */
static __rte_always_inline uint32_t
run_single(const struct tx_run *run, struct dvq_data_seg *to, const struct rte_mbuf *m,
	   const bool pools)
{
	uint32_t len = m->data_len;

	return likely(m->nb_segs == 1) && run_seg(run, to, m, len, pools) ? len : 0;
}

/* The same of as many segments as fit the block. */
static __rte_always_inline uint32_t
run_chain(const struct tx_run *run, struct dvq_data_seg *to, const struct rte_mbuf *seg,
	  uint32_t left)
{
	uint32_t len = 0, seg_len;

	if (unlikely(left - 1 > DVQ_SQ_BLOCK_SEGS - 1))
		return 0;
	do {
		seg_len = seg->data_len;
		/* An empty one takes no part, and would be taken for 2^31 bytes. */
		if (unlikely(seg_len == 0 || !run_seg(run, to++, seg, seg_len, false)))
			return 0;
		len += seg_len;
		seg = seg->next;
	} while (--left != 0 && likely(seg != NULL));
	return likely(left == 0 && seg == NULL) ? len : 0;
}

/* The control segment of a packet that asks for something; NULL: it ends the run. */
static __rte_always_inline const struct dvq_ctrl_be *
run_ctrl(const struct tx_run *run, const struct dvq_ctrl_be *ctrls, uint64_t ol_flags)
{
	if (unlikely((ol_flags & run->others) != 0))
		return NULL;
	return &ctrls[ol_flags >> CSUM_SHIFT & (CSUM_KINDS - 1)];
}

/* The control segment of a packet, in which a tag may be. */
static __rte_always_inline void
run_ctrl_store(const struct tx_run *run, uint8_t *block, const struct dvq_ctrl_be *ctrl,
	       const struct rte_mbuf *m, const enum run_sort sort)
{
	const uint32_t units = 2;

	if (sort != OF_TAGS)
		dvq_ctrl_store(block, ctrl);
	else if (likely((m->ol_flags & run->vlan_flag) != 0))
		tx_ctrl_store(block, ctrl, tx_vlan_bits(m) | units);
	else
		tx_ctrl_store(block, ctrl, units);
}

/* @n packets from where @slot of the ring is; returns how many were of the common sort. */
static __rte_always_inline uint32_t
run_loop(const struct mdv_txq *txq, struct tx_run *run, struct rte_mbuf *const *pkts,
	 uint32_t slot, uint32_t n, const tx_ctrls_t *ctrls, const enum run_sort sort)
{
	const bool chains = sort == OF_CHAINS, pools = sort == OF_POOLS;
	const uint64_t asks = run->others | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;
	uint8_t *block = dvq_sq_block(&txq->sq, slot);
	struct rte_mbuf **elts = &txq->elts[slot];
	struct rte_mbuf *const *const first = pkts, *const *const end = pkts + n;
	const struct dvq_ctrl_be usual = (*ctrls)[0][0];
	const struct dvq_ctrl_be *ctrl;
	uint32_t len;

	for (; pkts != end; pkts++, elts++, block += DVQ_SQ_BB_SIZE) {
		struct dvq_data_seg *to = (struct dvq_data_seg *)block + 1;
		struct rte_mbuf *m = *pkts;
		const uint64_t ol_flags = m->ol_flags;
		const uint32_t segs = chains ? m->nb_segs : 1;

		len = chains ? run_chain(run, to, m, segs) : run_single(run, to, m, pools);
		if (unlikely(len - MDV_TX_MIN_LEN > run->len_range))
			break;
		if (likely((ol_flags & asks) == 0)) {
			run_ctrl_store(run, block, chains ? (*ctrls)[segs - 1] : &usual, m, sort);
		} else {
			ctrl = run_ctrl(run, (*ctrls)[segs - 1], ol_flags);
			if (ctrl == NULL)
				break;
			run_ctrl_store(run, block, ctrl, m, sort);
		}
		*elts = m;
		run->bytes += len;
	}
	return (uint32_t)(pkts - first);
}

/* The last of @n asks for a CQE, if @cqe says so. None lies beyond the ring's end. */
static __rte_always_inline uint32_t
run_all(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe,
	const enum run_sort sort)
{
	const tx_ctrls_t *ctrls = mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0];
	uint32_t slot = txq->sq.pi & (txq->sq.bb_cnt - 1);
	uint32_t usual = n - cqe, done;
	struct tx_run run;

	run_init(&run, txq, pkts[0]);
	if (sort == OF_TAGS)
		run.others &= ~run.vlan_flag;
	done = run_loop(txq, &run, pkts, slot, usual, &ctrls[0], sort);
	if (cqe && likely(done == usual)) {
		done += run_loop(txq, &run, pkts + done, slot + done, 1, &ctrls[1], sort);
		if (likely(done == n))
			txq->signalled = txq->sq.pi + n;
	}
	txq->sq.pi += done;
	if (sort == OF_CHAINS && done != 0)
		txq->mixed = txq->sq.pi;
	txq->inflight += done;
	txq->stats.packets += done;
	txq->stats.bytes += run.bytes;
	return done;
}

static __rte_noinline uint32_t
run_of_pool(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	return run_all(txq, pkts, n, cqe, OF_POOL);
}

static __rte_noinline uint32_t
run_of_pools(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	return run_all(txq, pkts, n, cqe, OF_POOLS);
}

static __rte_noinline uint32_t
run_of_chains(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	return run_all(txq, pkts, n, cqe, OF_CHAINS);
}

/* By what the first and the last look like. */
uint32_t
mdv_tx_run(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	if (unlikely(pkts[0]->nb_segs != 1))
		return pkts[0]->nb_segs > DVQ_SQ_BLOCK_SEGS ? 0 :
			run_of_chains(txq, pkts, n, cqe);
	if (unlikely(pkts[0]->pool != pkts[n - 1]->pool))
		return run_of_pools(txq, pkts, n, cqe);
	return run_of_pool(txq, pkts, n, cqe);
}

uint32_t
mdv_tx_run_tagged(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	return run_all(txq, pkts, n, cqe, OF_TAGS);
}

bool
mdv_tx_run_single(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe)
{
	const uint32_t slot = txq->sq.pi & (txq->sq.bb_cnt - 1);
	uint8_t *block = dvq_sq_block(&txq->sq, slot);
	const struct dvq_ctrl_be *ctrls =
		mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0][cqe][0];
	uintptr_t data = rte_pktmbuf_mtod(m, uintptr_t);
	const struct mdv_tx_key *key = mdv_tx_key_of(&txq->keys, m->pool, data);
	const uint32_t len = m->data_len;

	if (unlikely(m->nb_segs != 1 || key == NULL || (m->ol_flags & txq->others) != 0 ||
		     len - MDV_TX_MIN_LEN > txq->keys.len_range))
		return false;
	txq->elts[slot] = m;
	dvq_seg_set((struct dvq_data_seg *)block + 1, data, key->lkey, len);
	dvq_ctrl_store(block, &ctrls[m->ol_flags >> CSUM_SHIFT & (CSUM_KINDS - 1)]);
	txq->sq.pi++;
	txq->inflight++;
	if (unlikely(cqe))
		txq->signalled = txq->sq.pi;
	txq->stats.packets++;
	txq->stats.bytes += len;
	return true;
}
