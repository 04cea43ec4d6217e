/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_H_
#define MLX4DV_RX_H_

/* What the receive bursts share. */

#include <stddef.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4dv_rxtx.h"

/* CQEs handled, and buffers allocated, at a time. */
#define RX_CHUNK 32u

#define RX_CSUM_GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)

/* How much of a CQE a burst looks at; fixed where the burst is compiled. */
enum rx_level {
	RX_PLAIN,    /* length and packet type */
	RX_OFFLOADS, /* and hash and checksums */
	RX_FULL,     /* and VLAN tags and timestamps */
};

static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data),
	      "rearm starts with data_off");

/* ---- mlx4dv_rx_flags.c: what most packets do not need ---- */

/* Flags of a packet whose headers are not all verified. */
uint64_t mdv_rx_csum_partly(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe,
	const struct rte_mbuf *m, uint32_t status);
/* VLAN tag and timestamp of a packet as far as wanted; returns their flags. */
uint64_t mdv_rx_extras(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, struct rte_mbuf *m);
/* True when a VLAN filter is on and the frame that begins at data has no leave to pass. */
bool mdv_rx_filtered(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const uint8_t *data);
/* Count a CQE that carries no packet. Its buffers stay where they are. */
void mdv_rx_count_error(struct mdv_rxq *rxq, const struct dvq_cqe *cqe);
/*
 * The next CQE belongs to a queue of several rings: make its ring the current
 * one. Returns how many CQEs up to @max are of that ring, 0 when none is.
 */
uint32_t mdv_rx_switch_ring(struct mdv_rxq *rxq, uint32_t max);

/* ---- what a CQE says about a packet ---- */

static inline uint32_t
rx_ptype(bool tunnels, const struct dvq_cqe *cqe, uint32_t status)
{
	uint32_t i = (status >> 22 & 0x3f) | (status & DVQ_CQE_ST_IPV6F) >> 11;

	/* Without tunnel parsing these bits mean other things. */
	if (tunnels) {
		uint32_t bits = dvq_cqe_vlan_bits(cqe);

		if ((bits & DVQ_CQE_TUNNEL) != 0)
			i |= 0x80 | ((bits & DVQ_CQE_TUNNEL_IPV4) != 0 ? 0x40 : 0);
	}
	return mdv_ptype_table[i];
}

/* Set data_off, refcnt, nb_segs and port at once. */
static inline void
rx_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	*(uint64_t *)RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)) = rearm;
}

/* What a queue gives every mbuf, read once per burst. */
struct rx_mbuf {
	uint64_t rearm;
	uint64_t ol_flags;
	uint64_t rearm_rest;      /* of the segments behind the first: no headroom */
	uint32_t room;            /* bytes of these */
	uint64_t rss_hash;        /* the flag, when wanted */
	uint64_t csum_good;       /* the flags, when wanted */
};

/* The first mbuf of a packet of @len bytes, @seg_len of them its own. */
static inline void
rx_fill_mbuf(struct mdv_rxq *rxq, const struct rx_mbuf *with, const struct dvq_cqe *cqe,
	     struct rte_mbuf *m, uint32_t len, uint32_t seg_len, const enum rx_level level)
{
	uint32_t status = dvq_cqe_status(cqe);
	uint64_t flags = with->ol_flags;

	rx_rearm(m, with->rearm);
	m->packet_type = rx_ptype(level != RX_PLAIN && rxq->csum_l2tun, cqe, status);
	m->pkt_len = len;
	m->data_len = (uint16_t)seg_len;
	if (level != RX_PLAIN) {
		const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;
		uint32_t hash = dvq_cqe_rss_hash(cqe);

		m->hash.rss = hash;
		/* A packet that was not hashed shows 0. */
		flags |= hash != 0 ? with->rss_hash : 0;
		if (likely((status & good) == good))
			flags |= with->csum_good;
		else if (with->csum_good != 0)
			flags |= mdv_rx_csum_partly(rxq, cqe, m, status);
	}
	if (level == RX_FULL)
		flags |= mdv_rx_extras(rxq, cqe, m);
	m->ol_flags = flags;
}

static inline void
rx_mbuf_init(struct rx_mbuf *with, const struct mdv_rxq *rxq)
{
	with->rearm = rxq->rearm;
	/* data_off is what rearm starts with, in memory. */
	with->rearm_rest = rxq->rearm;
	memset(&with->rearm_rest, 0, sizeof(uint16_t));
	with->room = rxq->room + mdv_rx_headroom(rxq);
	with->ol_flags = rxq->ol_flags;
	with->rss_hash = rxq->rss_hash ? RTE_MBUF_F_RX_RSS_HASH : 0;
	with->csum_good = rxq->csum ? RX_CSUM_GOOD : 0;
}

/* ---- buffers ---- */

/* @n WQEs just completed go back with the buffers that their slots hold now. */
static inline void
rx_repost(struct dvq_rq *rq, uint32_t n)
{
	rq->ci += n;
	rq->pi += n;
}

/* Where the next CQE will show: all that a poll of an empty queue looks at. */
static inline void
rx_set_next(struct mdv_rxq *rxq)
{
	rxq->next_owner = &dvq_cq_entry(&rxq->cq, rxq->cq.ci)->owner_sr_opcode;
	rxq->next_expected = dvq_cq_owner(&rxq->cq, rxq->cq.ci);
}

/*
 * Everything the call consumed goes back to the adapter. FAILED comes last: the
 * watchdog may then take the queue.
 */
static inline void
rx_end(struct mdv_rxq *rxq)
{
	dvq_rq_publish(&rxq->ring->rq);
	dvq_cq_update_ci(&rxq->cq);
	rx_set_next(rxq);
	if (unlikely(rxq->dead)) {
		rxq->dead = false;
		MDV_STORE_RELEASE(&rxq->state, MDV_QUEUE_FAILED);
	}
}

/* Point a segment at a fresh buffer; false: there is none, or no key for it. */
static inline bool
rx_attach(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf *fresh,
	  uint32_t headroom)
{
	/* No mbuf is no address in the region either. */
	if (unlikely((uintptr_t)fresh - rxq->near_first > rxq->near_span))
		return mdv_rx_attach_other(rxq, seg, fresh, headroom);
	seg->lkey = rxq->near_lkey;
	seg->addr = htobe64((uintptr_t)fresh + (rxq->near_offset + headroom));
	return true;
}

#endif /* MLX4DV_RX_H_ */
