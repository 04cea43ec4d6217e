/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_VEC_RINGS_H_
#define MLX4DV_RX_VEC_RINGS_H_

/*
 * Four packets at a time of a queue with several rings: what their CQEs say is told in
 * vectors, the places of the mbufs are found one by one.
 */

#include "mlx4dv_rx_vec.h"

/* The rings of four packets; false when one is of none. */
static __rte_always_inline bool
rx_find_rings(struct mdv_rxq *rxq, const uint8_t *at, size_t cqe_size, struct mdv_rx_ring **rings)
{
	uint32_t wrong = 0;
	unsigned int i;

	for (i = 0; i < RX_GROUP; i++, at += cqe_size) {
		uint32_t wqn = dvq_cqe_qpn((const struct dvq_cqe *)at);

		rings[i] = &rxq->rings[rxq->ring_at[wqn % MDV_RX_RING_SLOTS]];
		wrong |= rings[i]->wqn ^ wqn;
	}
	return wrong == 0;
}

/*
 * The mbuf of the ring's next packet; a fresh one takes its place. All are of one region:
 * the key stays.
 */
static __rte_always_inline struct rte_mbuf *
rx_swap_in_ring(struct mdv_rx_ring *ring, struct rte_mbuf *fresh, uintptr_t offset)
{
	struct dvq_rq *rq = &ring->rq;
	uint32_t slot = rq->ci & (rq->wqe_cnt - 1);
	struct rte_mbuf *m = ring->elts[slot];

	rte_prefetch0(ring->elts[slot + MDV_RX_AHEAD]);
	ring->elts[slot] = fresh;
	((struct dvq_data_seg *)rq->buf)[slot].addr = htobe64((uintptr_t)fresh + offset);
	rx_repost(rq, 1);
	return m;
}

/* False, and nothing done, unless all four are ordinary packets; adds to *@bytes. */
static __rte_always_inline bool
rx_rings_group(struct mdv_rxq *rxq, const struct rx_vec *v, struct rte_mbuf **pkts,
	       struct rte_mbuf *const *fresh, const uint8_t *at, size_t cqe_size, rx_u32x4 *bytes,
	       const enum rx_level level)
{
	struct mdv_rx_ring *rings[RX_GROUP];
	struct rx_fields f;
	enum rx_rest rest;
	struct rx_cqes c;
	unsigned int i;

	rx_read_cqes(&c, at, cqe_size, level);
	c.len -= v->crc_len;
	if (unlikely(!rx_ordinary(&c, v->room) || !rx_find_rings(rxq, at, cqe_size, rings)))
		return false;
	for (i = 0; i < RX_GROUP; i++)
		pkts[i] = rx_swap_in_ring(rings[i], fresh[-1 - (int)i], v->offset);
	*bytes += c.len;
	rest = rx_describe(v, &c, pkts, pkts, &f, level);
	rx_write_mbufs(v, pkts, &f, level);
	if (level == RX_FULL && v->stamps)
		rx_stamp_group(rxq, pkts, at, cqe_size);
	if (unlikely(rest != RX_NOTHING))
		rx_finish_group(rxq, pkts, at, cqe_size, rest == RX_ALL);
	return true;
}

/*
 * As many of @n packets as are ordinary and fill groups, from the first on, of any ring of
 * the queue. Returns how many.
 */
static __rte_always_inline uint32_t
rx_rings_groups(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts,
		struct rte_mbuf **fresh, uint32_t n, const enum rx_level level)
{
	const size_t cqe_size = (size_t)1 << rxq->cq.cqe_shift;
	rx_u32x4 bytes = { 0 };
	struct rx_vec v;
	uint32_t done;
	uint16_t i;

	/* A filter may leave out any packet. */
	if (level == RX_FULL && unlikely(rxq->vlan_ids != NULL))
		return 0;
	rx_vec_init(&v, rxq, level);
	for (done = 0; done + RX_GROUP <= n; done += RX_GROUP, at += RX_GROUP * cqe_size)
		if (unlikely(!rx_rings_group(rxq, &v, pkts + done, fresh - done, at, cqe_size,
				&bytes, level)))
			break;
	rxq->cq.ci += done;
	rxq->stats.packets += done;
	rxq->stats.bytes += (uint64_t)bytes[0] + bytes[1] + bytes[2] + bytes[3];
	for (i = 0; i < rxq->nb_rings; i++)
		dvq_rq_publish(&rxq->rings[i].rq);
	return done;
}

#endif /* MLX4DV_RX_VEC_RINGS_H_ */
