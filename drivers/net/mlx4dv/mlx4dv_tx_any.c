/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of any number of segments, and with a tag to insert, as many of them as possible
 * in one go. A WQE is written in order, but for the first dwords of its blocks: while these
 * wait nothing of it can be seen, and it can be given up.
 */

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx_run.h"

/* That a WQE of so many data segments takes. */
#define ANY_BLOCKS(segs) (1 + (segs) / DVQ_UNITS_PER_BB)
#define ANY_MAX_BLOCKS ANY_BLOCKS(MDV_TX_MAX_SEGS)

/* ---- data segments ---- */

/* What of a packet is yet to be written, and how long it is up to there. */
struct any_rest {
	const struct rte_mbuf *seg;
	uint32_t len;
};

/* The data segment of memory that is not where the first packet's pool is. */
static __rte_noinline bool
any_seg_far(const struct mdv_tx_keys *keys, struct dvq_data_seg *to, uint32_t *count,
	    const struct rte_mbuf *seg)
{
	uintptr_t data = rte_pktmbuf_mtod(seg, uintptr_t);
	const struct mdv_tx_key *key = mdv_tx_key_of(keys, seg->pool, data);

	if (unlikely(key == NULL))
		return false;
	*count = htobe32(seg->data_len);
	to->lkey = key->lkey;
	to->addr = htobe64(data);
	return true;
}

/* The next segment goes to @to, but its length to @count; false: it is of another sort. */
static __rte_always_inline bool
any_seg(const struct tx_run *run, struct any_rest *rest, struct dvq_data_seg *to,
	uint32_t *count)
{
	const struct rte_mbuf *seg = rest->seg;
	uintptr_t data;
	uint32_t len;

	/* An empty one takes no part, and would be taken for 2^31 bytes. */
	if (unlikely(seg == NULL || seg->data_len == 0))
		return false;
	len = seg->data_len;
	data = rte_pktmbuf_mtod(seg, uintptr_t);
	rest->len += len;
	rest->seg = seg->next;
	if (unlikely(!mdv_tx_key_fits(&run->near, data)))
		return any_seg_far(run->keys, to, count, seg);
	*count = htobe32(len);
	to->lkey = run->near.lkey;
	to->addr = htobe64(data);
	return true;
}

/* The next @n, side by side. */
static __rte_always_inline bool
any_fill(const struct tx_run *run, struct any_rest *rest, struct dvq_data_seg *to, uint32_t n)
{
	for (; n != 0; n--, to++)
		if (unlikely(!any_seg(run, rest, to, &to->byte_count)))
			return false;
	return true;
}

/* The next @n, at least one, fill a later block, whose first dword waits in @head. */
static __rte_always_inline bool
any_fill_block(const struct tx_run *run, struct any_rest *rest, struct dvq_data_seg *to,
	       uint32_t n, uint32_t *head)
{
	return likely(any_seg(run, rest, to, head)) && any_fill(run, rest, to + 1, n - 1);
}

/* A WQE whose later blocks have no first dwords yet. */
struct any_wqe {
	uint8_t *last;            /* its last block */
	uint32_t *head;           /* what its first dword will be; those of blocks before precede */
};

/*
 * All segments of a packet whose WQE begins at @block; false: it is of another sort. The
 * ring holds nothing for the later blocks, of which @elts is the first one's.
 */
static __rte_always_inline bool
any_fill_all(const struct tx_run *run, struct any_rest *rest, uint8_t *block, uint32_t segs,
	     struct rte_mbuf **elts, struct any_wqe *wqe)
{
	struct dvq_data_seg *to = (struct dvq_data_seg *)block;

	wqe->last = block;
	if (segs < DVQ_UNITS_PER_BB)
		return any_fill(run, rest, to + 1, segs) && likely(rest->seg == NULL);
	if (unlikely(!any_fill(run, rest, to + 1, DVQ_UNITS_PER_BB - 1)))
		return false;
	for (segs -= DVQ_UNITS_PER_BB - 1; segs >= DVQ_UNITS_PER_BB; segs -= DVQ_UNITS_PER_BB) {
		to += DVQ_UNITS_PER_BB;
		*elts++ = NULL;
		if (unlikely(!any_fill_block(run, rest, to, DVQ_UNITS_PER_BB, ++wqe->head)))
			return false;
	}
	if (segs != 0) {
		to += DVQ_UNITS_PER_BB;
		*elts = NULL;
		if (unlikely(!any_fill_block(run, rest, to, segs, ++wqe->head)))
			return false;
	}
	wqe->last = (uint8_t *)to;
	return likely(rest->seg == NULL);
}

/* ---- packets ---- */

/* Hand over the WQE that begins at @block. Ordering: as dvq_wqe_end(). */
static __rte_always_inline void
any_hand_over(uint8_t *block, const struct any_wqe *wqe, const struct dvq_ctrl_be *ctrl,
	      uint32_t vlan_units)
{
	const uint32_t *head = wqe->head;
	uint8_t *later;

	dvq_barrier_block_before_head();
	for (later = wqe->last; later != block; later -= DVQ_SQ_BB_SIZE)
		*(volatile uint32_t *)later = *head--;
	tx_ctrl_store(block, ctrl, vlan_units);
}

/* What a run counts, beside where it is in the ring. */
struct any_count {
	uint32_t max_segs;        /* of a packet: without stamps those of a block */
	uint32_t segs;            /* of all packets */
};

/* One packet; false, and nothing done, when it is of another sort. */
static __rte_always_inline bool
any_one(struct tx_run *run, struct tx_at *at, struct any_count *count, struct rte_mbuf *m,
	const tx_ctrls_t ctrls[2])
{
	const uint64_t ol_flags = m->ol_flags;
	const uint32_t segs = m->nb_segs;
	uint8_t *const next = at->block + ANY_BLOCKS(segs) * DVQ_SQ_BB_SIZE;
	const struct dvq_ctrl_be *ctrl = (*ctrls)[0];
	uint32_t heads[ANY_MAX_BLOCKS];
	struct any_wqe wqe = { .head = heads };
	struct any_rest rest = { m, 0 };
	uint32_t vlan = 0;

	if (unlikely(segs - 1 >= count->max_segs || next > at->end ||
		     (ol_flags & run->others) != 0 ||
		     !any_fill_all(run, &rest, at->block, segs, at->elts + 1, &wqe) ||
		     rest.len - MDV_TX_MIN_LEN > run->len_range))
		return false;
	if ((ol_flags & run->vlan_flag) != 0)
		vlan = tx_vlan_bits(m);
	if (unlikely(tx_at_asks(at, next)))
		ctrl = ctrls[1][0];
	*at->elts = m;
	any_hand_over(at->block, &wqe, &ctrl[ol_flags >> CSUM_SHIFT & (CSUM_KINDS - 1)],
		vlan | (1 + segs));
	at->elts += ANY_BLOCKS(segs);
	at->block = next;
	count->segs += segs;
	run->bytes += rest.len;
	return true;
}

/* What ended a run of common packets: is it of the sort that this one is for? */
static inline bool
any_is_sort(const struct mdv_txq *txq, const struct rte_mbuf *m)
{
	return m->nb_segs != 1 || (m->ol_flags & txq->vlan_flag) != 0;
}

uint32_t
mdv_tx_run_any(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	const tx_ctrls_t *ctrls = mdv_tx_ctrls[(txq->sq.pi & txq->sq.bb_cnt) != 0];
	struct rte_mbuf *const *const first = pkts, *const *const end = pkts + n;
	struct rte_mbuf *const *const ask = cqe ? end - 1 : NULL;
	struct any_count count = { txq->stamps ? MDV_TX_MAX_SEGS : DVQ_SQ_BLOCK_SEGS, 0 };
	struct tx_at at;
	struct tx_run run;

	if (unlikely(dvq_sq_room(&txq->sq) == 0 || !any_is_sort(txq, *pkts)))
		return 0;
	tx_at_begin(&at, txq);
	run_init(&run, txq, pkts[0]);
	run.others &= ~txq->vlan_flag;
	for (; pkts != end; pkts++) {
		if (unlikely(pkts == ask))
			at.due = at.block;
		if (unlikely(!any_one(&run, &at, &count, *pkts, ctrls)))
			break;
	}
	n = (uint32_t)(pkts - first);
	if (n == 0)
		return 0;
	tx_at_end(&at, txq, n, run.bytes);
	if (count.segs != n)
		txq->mixed = txq->sq.pi;
	return n;
}
