/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_H_
#define MLX4DV_RX_H_

/* What the receive bursts share. */

#include <stddef.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4dv_rxtx.h"

/* CQEs handled, and buffers allocated, at a time. */
#define RX_CHUNK 32u
/* log2 of a WQE of one segment, as mdv_rxqs_start() makes sure. */
#define RX_WQE_SHIFT 4

/* How much of a CQE a burst looks at; fixed where the burst is compiled. */
enum rx_level {
	RX_PLAIN,    /* length and packet type */
	RX_OFFLOADS, /* and hash and checksums */
	RX_TAGS,     /* and VLAN tags */
	RX_FULL,     /* and timestamps, and which tags may pass */
};

static_assert(sizeof(struct dvq_data_seg) == 1 << RX_WQE_SHIFT, "a WQE of one segment");
static_assert(offsetof(struct rte_mbuf, data_off) == offsetof(struct rte_mbuf, rearm_data),
	      "rearm starts with data_off");

/* ---- mlx4dv_rx_flags.c: what most packets do not need ---- */

/* Flags of a TCP or UDP packet that the adapter does not say is right, but its IP header is. */
uint64_t mdv_rx_csum_failed(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe,
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

/* Packets have opcodes of two bits: one test tells most CQEs from errors. */
static inline bool
rx_may_be_error(const struct dvq_cqe *cqe)
{
	return (cqe->owner_sr_opcode & (DVQ_CQE_OP_ERROR & ~3u)) != 0;
}

static inline bool
rx_is_tagged(const struct dvq_cqe *cqe)
{
	return (dvq_cqe_vlan_bits(cqe) & (DVQ_CQE_CVLAN | DVQ_CQE_SVLAN)) != 0;
}

/* With a VLAN filter: has the tag of a frame, which begins at @data, leave to pass? */
static inline bool
rx_may_pass(const struct mdv_rxq *rxq, const uint8_t *data)
{
	const uint32_t at = 2 * RTE_ETHER_ADDR_LEN + 2;
	uint32_t vid = (uint32_t)(data[at] << 8 | data[at + 1]) & 0xfff;

	return (rxq->vlan_ids[vid / 64] & RTE_BIT64(vid % 64)) != 0;
}

#define RX_CLOCK_PERIOD (UINT64_C(1) << 48)

/*
 * When a packet came, in 64 bits: its CQE has 48 of the clock, and completions are never
 * half a period apart.
 */
static inline uint64_t
rx_timestamp(uint64_t *latest, const struct dvq_cqe *cqe)
{
	uint64_t ahead = (dvq_cqe_timestamp(cqe) - *latest) & (RX_CLOCK_PERIOD - 1);

	/* Seldom a little behind: completions of two rings. */
	if (unlikely(ahead >= RX_CLOCK_PERIOD / 2))
		return *latest - (RX_CLOCK_PERIOD - ahead);
	*latest += ahead;
	return *latest;
}

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

/*
 * Flags of a packet whose headers are not all verified: IPv6, or nothing that the adapter
 * checks. Only a layer 4 that failed needs a closer look.
 */
static inline uint64_t
rx_csum_partly(const struct mdv_rxq *rxq, const struct dvq_cqe *cqe, const struct rte_mbuf *m,
	       uint32_t status)
{
	const uint32_t l4 = DVQ_CQE_ST_TCP | DVQ_CQE_ST_UDP;
	uint64_t flags = 0;

	if ((status & DVQ_CQE_ST_L4OK) != 0)
		flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	else if ((status & DVQ_CQE_ST_IPOK) != 0 && (status & l4) != 0)
		return mdv_rx_csum_failed(rxq, cqe, m, status);
	if ((status & DVQ_CQE_ST_IPV4) != 0)
		flags |= (status & DVQ_CQE_ST_IPOK) != 0 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD :
			RTE_MBUF_F_RX_IP_CKSUM_BAD;
	return flags;
}

/* Set data_off, refcnt, nb_segs and port at once. */
static inline void
rx_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	*(uint64_t *)RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)) = rearm;
}

/* The first mbuf of a packet of @len bytes, @seg_len of them its own. */
static inline void
rx_fill_mbuf(struct mdv_rxq *rxq, const struct dvq_cqe *cqe, struct rte_mbuf *m, uint32_t len,
	     uint32_t seg_len, const enum rx_level level)
{
	uint32_t status = dvq_cqe_status(cqe);
	uint64_t flags = rxq->ol_flags;

	rx_rearm(m, rxq->rearm);
	m->packet_type = rx_ptype(level != RX_PLAIN && rxq->csum_l2tun, cqe, status);
	m->pkt_len = len;
	m->data_len = (uint16_t)seg_len;
	if (level != RX_PLAIN) {
		const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;
		uint32_t hash = dvq_cqe_rss_hash(cqe);

		m->hash.rss = hash;
		/* A packet that was not hashed shows 0. */
		flags |= hash != 0 ? rxq->rss_flag : 0;
		if (likely((status & good) == good))
			flags |= rxq->csum_flags;
		else if (rxq->csum_flags != 0)
			flags |= rx_csum_partly(rxq, cqe, m, status);
	}
	if (level >= RX_TAGS)
		flags |= mdv_rx_extras(rxq, cqe, m);
	m->ol_flags = flags;
}

/* What the segments behind the first have: no headroom. */
static inline uint64_t
rx_rearm_rest(const struct mdv_rxq *rxq)
{
	uint64_t rearm = rxq->rearm;

	/* data_off is what rearm starts with, in memory. */
	memset(&rearm, 0, sizeof(uint16_t));
	return rearm;
}

/* Bytes of these. */
static inline uint32_t
rx_room_rest(const struct mdv_rxq *rxq)
{
	return rxq->room + mdv_rx_headroom(rxq);
}

/* ---- buffers ---- */

/* @n WQEs just completed go back with the buffers that their slots hold now. */
static inline void
rx_repost(struct dvq_rq *rq, uint32_t n)
{
	rq->ci += n;
	rq->pi += n;
}

/*
 * Where the next CQE will show: all that a poll of an empty queue looks at. Of a queue
 * that does not run it must find nothing, see mdv_rxq_set_state().
 */
static inline void
rx_set_next(struct mdv_rxq *rxq)
{
	rxq->next_owner = &dvq_cq_entry(&rxq->cq, rxq->cq.ci)->owner_sr_opcode;
	rxq->next_expected = dvq_cq_owner(&rxq->cq, rxq->cq.ci);
}

/* A poll finds nothing, whatever the CQ holds. */
static inline void
rx_set_none(struct mdv_rxq *rxq)
{
	rxq->next_owner = &rxq->nothing;
	rxq->next_expected = DVQ_CQE_OWNER;
}

/*
 * Polls look where the next CQE will show first, and at the state only once one does: when
 * a burst and this one meet, it may be the burst's last word where that is.
 */
static inline void
mdv_rxq_set_state(struct mdv_rxq *rxq, enum mdv_queue_state state)
{
	if (state == MDV_QUEUE_RUNNING)
		rx_set_next(rxq);
	else
		rx_set_none(rxq);
	MDV_STORE_RELEASE(&rxq->state, state);
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
		mdv_rxq_set_state(rxq, MDV_QUEUE_FAILED);
	}
}

/*
 * How many of the next @n CQEs, side by side, belong to WQEs side by side of one ring, the
 * current one from then on; 0: the next one is of no ring.
 */
static inline uint32_t
rx_run_length(struct mdv_rxq *rxq, uint32_t n)
{
	const struct dvq_rq *rq;
	uint32_t rest;

	if (unlikely(rxq->nb_rings > 1))
		n = mdv_rx_switch_ring(rxq, n);
	rq = &rxq->ring->rq;
	rest = rq->wqe_cnt - (rq->ci & (rq->wqe_cnt - 1));
	return RTE_MIN(n, rest);
}

/* Mbufs of the region last used, as a run of packets sees it. */
struct rx_near {
	uintptr_t first, span;
	uintptr_t offset;         /* from one of them to its data */
	uint32_t lkey;
};

static inline struct rx_near
rx_near_of(const struct mdv_rxq *rxq, uint32_t headroom)
{
	return (struct rx_near){
		.first = rxq->near_first, .span = rxq->near_span,
		.offset = rxq->near_offset + headroom, .lkey = rxq->near_lkey,
	};
}

/* Point a segment at a fresh buffer; false: there is none, or no key for it. */
static inline bool
rx_attach_near(struct mdv_rxq *rxq, const struct rx_near *near, struct dvq_data_seg *seg,
	       struct rte_mbuf *fresh, uint32_t headroom)
{
	/* No mbuf is no address in the region either. */
	if (unlikely((uintptr_t)fresh - near->first > near->span))
		return mdv_rx_attach_other(rxq, seg, fresh, headroom);
	seg->lkey = near->lkey;
	seg->addr = htobe64((uintptr_t)fresh + near->offset);
	return true;
}

static inline bool
rx_attach(struct mdv_rxq *rxq, struct dvq_data_seg *seg, struct rte_mbuf *fresh,
	  uint32_t headroom)
{
	const struct rx_near near = rx_near_of(rxq, headroom);

	return rx_attach_near(rxq, &near, seg, fresh, headroom);
}

#endif /* MLX4DV_RX_H_ */
