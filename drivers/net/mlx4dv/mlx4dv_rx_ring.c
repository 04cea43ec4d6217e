/* SPDX-License-Identifier: BSD-3-Clause */

/* The buffers of a receive ring: which keys open them, filling and emptying it. */

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <infiniband/verbs.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"

/* ---- keys ---- */

/*
 * Bursts look at the address of an mbuf alone: where its buffer lies follows, so
 * that nothing of it is read before the adapter has filled it. Not so for pools of
 * external buffers; their buffers are all looked up.
 */
static void
rx_set_near(struct mdv_rxq *rxq, const struct mdv_mr_entry *mr)
{
	uintptr_t offset = sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(rxq->mp);
	uintptr_t size = rte_pktmbuf_data_room_size(rxq->mp);

	rxq->near_chunks = 0;
	rxq->near_lkey = mr->lkey;
	rxq->near_offset = (uint32_t)offset;
	if ((rxq->ol_flags & RTE_MBUF_F_EXTERNAL) != 0 || mr->end - mr->start < size) {
		/* No address is in it. */
		rxq->near_first = UINTPTR_MAX;
		rxq->near_span = 0;
		return;
	}
	rxq->near_first = mr->start - offset;
	rxq->near_span = mr->end - mr->start - size;
}

uint32_t
mdv_rx_find_key(struct mdv_priv *priv, struct rte_mempool *mp, struct mdv_mr_entry *mr,
	const struct rte_mbuf *m)
{
	uintptr_t start = (uintptr_t)m->buf_addr;
	struct mdv_mr_entry found;
	unsigned int i;

	for (i = 0; i < MDV_MR_CACHE; i++)
		if (start >= mr[i].start && start + m->buf_len <= mr[i].end)
			break;
	if (i < MDV_MR_CACHE) {
		found = mr[i];
	} else {
		/* The pool was registered at set-up: a lookup, no verbs call. */
		if (mdv_mr_get(priv, start, m->buf_len, mp, &found) != 0)
			return MDV_LKEY_NONE;
		i = MDV_MR_CACHE - 1;
	}
	memmove(&mr[1], &mr[0], i * sizeof(mr[0]));
	mr[0] = found;
	return found.lkey;
}

/* The region of a buffer, looked up and remembered. */
static uint32_t
rx_lkey(struct mdv_rxq *rxq, const struct rte_mbuf *m)
{
	uintptr_t start = (uintptr_t)m->buf_addr;
	uint32_t lkey;

	if (start >= rxq->mr[0].start && start + m->buf_len <= rxq->mr[0].end)
		return rxq->mr[0].lkey;
	lkey = mdv_rx_find_key(rxq->priv, rxq->mp, rxq->mr, m);
	if (lkey != MDV_LKEY_NONE)
		rx_set_near(rxq, &rxq->mr[0]);
	return lkey;
}

bool
mdv_rx_attach_other(struct mdv_rxq *rxq, struct dvq_data_seg *seg, const struct rte_mbuf *m,
	uint32_t headroom)
{
	uint32_t lkey = m != NULL ? rx_lkey(rxq, m) : MDV_LKEY_NONE;

	if (lkey == MDV_LKEY_NONE)
		return false;
	seg->lkey = lkey;
	seg->addr = htobe64((uintptr_t)m->buf_addr + headroom);
	return true;
}

struct near_check {
	const struct mdv_mr_entry *mr;
	uint32_t inside;
};

static void
near_chunk(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *chunk, unsigned int index)
{
	struct near_check *check = arg;
	uintptr_t start = (uintptr_t)chunk->addr;

	(void)mp;
	(void)index;
	if (start >= check->mr->start && start + chunk->len <= check->mr->end)
		check->inside++;
}

/* Then nothing needs to be looked at while the pool has no more chunks than now. */
static void
rx_check_chunks(struct mdv_rxq *rxq)
{
	struct near_check check = { .mr = &rxq->mr[0] };

	if (rxq->near_first == UINTPTR_MAX)
		return;
	rte_mempool_mem_iter(rxq->mp, near_chunk, &check);
	rxq->near_chunks = check.inside == rxq->mp->nb_mem_chunks ? check.inside : 0;
}

/* ---- rings ---- */

static int
rx_ring_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct dvq_rq *rq = &ring->rq;
	uint32_t nb_segs = 1u << rxq->sges_n;
	uint32_t n = rq->wqe_cnt << rxq->sges_n;
	uint32_t headroom = mdv_rx_headroom(rxq);
	uint32_t room = rte_pktmbuf_data_room_size(rxq->mp);
	struct dvq_data_seg *seg;
	uint32_t i, s, lkey, front;

	if (room <= headroom || nb_segs > rq->max_sge)
		return -EINVAL;
#if MDV_HAS_RECYCLE
	if (rxq->recycle.on && mdv_rx_recycle_mend(rxq, ring) != 0) {
		mdv_rx_ring_drain(rxq, ring);
		return -ENOMEM;
	}
#endif
	/* A ring that is brought back to life still has its buffers. */
	if (ring->elts[0] == NULL &&
	    rte_mempool_get_bulk(rxq->mp, (void **)ring->elts, n) != 0)
		return -ENOMEM;
	memset(rxq->mr, 0, sizeof(rxq->mr));
	rxq->room = room - headroom;
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
	rx_check_chunks(rxq);
	return 0;
}

int
mdv_rx_ring_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct dvq_rq *rq = &ring->rq;
	int ret = rxq->split != NULL ? mdv_rx_split_fill(rxq, ring) : rx_ring_fill(rxq, ring);

	if (ret != 0)
		return ret;
	rxq->last_error.ended = false;
	ring->wqn = ring->wq->wq_num;
	rxq->ring_at[ring->wqn % MDV_RX_RING_SLOTS] = (uint8_t)(ring - rxq->rings);
	rq->ci = 0;
	rq->pi = rq->wqe_cnt;
	mdv_rx_recycle_none(rxq);
	dvq_rq_publish(rq);
	return 0;
}

void
mdv_rx_ring_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	uint32_t n = ring->rq.wqe_cnt << rxq->sges_n;
	uint32_t i;

	mdv_rx_recycle_none(rxq);
	if (ring->elts == NULL)
		return;
	if (rxq->split != NULL) {
		mdv_rx_split_drain(rxq, ring);
		return;
	}
	/* They are as they came from the pool: fields are set at delivery. */
	for (i = 0; i < n; i++) {
		if (ring->elts[i] != NULL)
			rte_mempool_put(rxq->mp, ring->elts[i]);
		ring->elts[i] = NULL;
	}
}

void
mdv_rx_discard(struct mdv_rxq *rxq, uint64_t *packets)
{
	const struct dvq_cqe *cqe;

	if (rxq->cq.buf == NULL)
		return;
	while ((cqe = dvq_cq_poll(&rxq->cq)) != NULL) {
		if (!dvq_cqe_is_error(cqe))
			(*packets)++;
		else if (dvq_cqe_syndrome(cqe) == DVQ_SYNDROME_WR_FLUSH)
			rxq->stats.flushed++;
		else
			rxq->stats.errors++;
	}
	dvq_cq_update_ci(&rxq->cq);
}
