/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_VEC_H_
#define MLX4DV_RX_VEC_H_

/*
 * Four packets at a time, in vectors of the compiler: what these become depends on
 * the instruction set that the including file is compiled for. Does what rx_run()
 * does, and leaves to it whatever is not an ordinary packet.
 */

#include <stddef.h>
#include <string.h>

#ifdef __SSE4_1__
#include <immintrin.h>
#endif

#include <rte_prefetch.h>

#include "mlx4dv_rx.h"

#define RX_GROUP 4u
#define TAG (DVQ_CQE_CVLAN | DVQ_CQE_SVLAN)

static_assert(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8 &&
	      offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4 &&
	      offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, packet_type) + 8 &&
	      offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, packet_type) + 10 &&
	      offsetof(struct rte_mbuf, hash) == offsetof(struct rte_mbuf, packet_type) + 12,
	      "two vectors are all of the mbuf that is written");

typedef uint32_t rx_u32x4 __attribute__((vector_size(16)));
typedef uint64_t rx_u64x2 __attribute__((vector_size(16)));
typedef uint8_t rx_u8x16 __attribute__((vector_size(16)));

/* A vector from anywhere, and to anywhere. */
static inline rx_u32x4
rx_load(const void *from)
{
	rx_u32x4 v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline void
rx_store(void *to, rx_u32x4 v)
{
	memcpy(to, &v, sizeof(v));
}

static inline rx_u32x4
rx_swap32(rx_u32x4 v)
{
	return (rx_u32x4)__builtin_shufflevector((rx_u8x16)v, (rx_u8x16)v,
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

static inline rx_u64x2
rx_swap64(rx_u64x2 v)
{
	return (rx_u64x2)__builtin_shufflevector((rx_u8x16)v, (rx_u8x16)v,
		7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
}

/* Words 0 of both, words 1 of both; or words 2 and 3. */
#define RX_LOW32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define RX_HIGH32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
/* Words 0 and 1 of both; or words 2 and 3. */
#define RX_LOW64(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define RX_HIGH64(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)

static inline bool
rx_any(rx_u32x4 v)
{
#ifdef __SSE4_1__
	return !_mm_testz_si128((__m128i)v, (__m128i)v);
#else
	rx_u64x2 halves = (rx_u64x2)v;

	return (halves[0] | halves[1]) != 0;
#endif
}

static inline rx_u32x4
rx_lookup(const uint32_t *table, rx_u32x4 i)
{
#ifdef __AVX2__
	return (rx_u32x4)_mm_i32gather_epi32((const int *)table, (__m128i)i, sizeof(*table));
#else
	return (rx_u32x4){ table[i[0]], table[i[1]], table[i[2]], table[i[3]] };
#endif
}

/* What is the same for all packets of a run. */
struct rx_vec {
	rx_u32x4 rearm;           /* and flags of 0 */
	rx_u32x4 seg;             /* of a WQE: length and key, the address 0 */
	uintptr_t first, span;    /* mbufs of the region last used */
	uintptr_t offset;         /* from an mbuf to its data */
	uint32_t crc_len, room;
	rx_u32x4 rss_flag, csum_good;
	bool all_near;            /* so is every mbuf of the pool */
	bool csum;
	bool tunnels;
	bool stamps;              /* every packet has a timestamp */
};

/* The interesting words of four CQEs: each a vector of four, big endian. */
struct rx_cqes {
	rx_u32x4 vlan, hash, status, byte_cnt;
	rx_u32x4 any;             /* bits of any of the second halves */
};

static __rte_always_inline void
rx_read_cqes(struct rx_cqes *c, const uint8_t *at, size_t size, const enum rx_level level)
{
	const size_t half = sizeof(rx_u32x4);
	rx_u32x4 h0 = rx_load(at + half), h1 = rx_load(at + size + half);
	rx_u32x4 h2 = rx_load(at + 2 * size + half), h3 = rx_load(at + 3 * size + half);
	rx_u32x4 a = RX_LOW32(h0, h1), b = RX_LOW32(h2, h3);

	c->status = RX_LOW64(a, b);
	c->byte_cnt = RX_HIGH64(a, b);
	c->any = h0 | h1 | h2 | h3;
	if (level == RX_PLAIN)
		return;
	h0 = rx_load(at);
	h1 = rx_load(at + size);
	h2 = rx_load(at + 2 * size);
	h3 = rx_load(at + 3 * size);
	a = RX_LOW32(h0, h1);
	b = RX_LOW32(h2, h3);
	c->vlan = RX_LOW64(a, b);
	c->hash = rx_swap32(RX_HIGH64(a, b));
}

static __rte_always_inline rx_u32x4
rx_ptypes(const struct rx_vec *v, const struct rx_cqes *c, rx_u32x4 status)
{
	rx_u32x4 i = (status >> 22 & 0x3f) | (status & DVQ_CQE_ST_IPV6F) >> 11;

	if (unlikely(v->tunnels)) {
		rx_u32x4 bits = rx_swap32(c->vlan);
		rx_u32x4 inside = (rx_u32x4)((bits & DVQ_CQE_TUNNEL) != 0);
		rx_u32x4 ipv4 = (rx_u32x4)((bits & DVQ_CQE_TUNNEL_IPV4) != 0);

		i |= inside & (0x80 | (ipv4 & 0x40));
	}
	return rx_lookup(mdv_ptype_table, i);
}

/* Are these fresh mbufs of the region last used? No mbuf is none of it. */
static __rte_always_inline bool
rx_near(const struct rx_vec *v, struct rte_mbuf *const *fresh)
{
	rx_u64x2 a = (rx_u64x2)rx_load(fresh) - v->first;
	rx_u64x2 b = (rx_u64x2)rx_load(fresh + 2) - v->first;
	/* Beyond either end shows in the uppermost bit: no region is that long. */
	rx_u64x2 out = a | (v->span - a) | b | (v->span - b);

	return ((out[0] | out[1]) >> 63) == 0;
}

/* Two WQEs point to the data of two fresh mbufs, which take their place in the ring. */
static __rte_always_inline void
rx_repost_two(const struct rx_vec *v, struct rte_mbuf **elts, struct rte_mbuf *const *fresh,
	      uint8_t *wqe, size_t wqe_size)
{
	rx_u32x4 next = rx_load(fresh);
	rx_u32x4 addr = (rx_u32x4)rx_swap64((rx_u64x2)next + v->offset);

	rx_store(elts, next);
	rx_store(wqe, RX_LOW64(v->seg, addr));
	rx_store(wqe + wqe_size, __builtin_shufflevector(v->seg, addr, 0, 1, 6, 7));
}

static __rte_always_inline void
rx_write_mbuf(struct rte_mbuf *m, rx_u32x4 rearm_flags, rx_u32x4 fields)
{
	rx_store(RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)), rearm_flags);
	rx_store(RTE_PTR_ADD(m, offsetof(struct rte_mbuf, packet_type)), fields);
}

/* Rows of {packet type, length, length of the segment and no tag, hash}. */
static __rte_always_inline void
rx_write_mbufs(const struct rx_vec *v, struct rte_mbuf *const *m, rx_u32x4 ptype, rx_u32x4 len,
	       rx_u32x4 hash, rx_u32x4 flags)
{
	/* No buffer has more than 65535 B: the tag behind the second length stays 0. */
	rx_u32x4 a = RX_LOW32(ptype, len), b = RX_LOW32(len, hash), none = { 0 };
	rx_u32x4 c = RX_HIGH32(ptype, len), d = RX_HIGH32(len, hash);
	rx_u32x4 low = RX_LOW32(flags, none), high = RX_HIGH32(flags, none);

	rx_write_mbuf(m[0], RX_LOW64(v->rearm, low), RX_LOW64(a, b));
	rx_write_mbuf(m[1], __builtin_shufflevector(v->rearm, low, 0, 1, 6, 7), RX_HIGH64(a, b));
	rx_write_mbuf(m[2], RX_LOW64(v->rearm, high), RX_LOW64(c, d));
	rx_write_mbuf(m[3], __builtin_shufflevector(v->rearm, high, 0, 1, 6, 7), RX_HIGH64(c, d));
}

/* What some packets of a group need beside: each with the flags it adds. */
static __rte_noinline void
rx_finish_group(struct mdv_rxq *rxq, struct rte_mbuf *const *m, const uint8_t *at, size_t size,
		bool full)
{
	const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;
	unsigned int i;

	for (i = 0; i < RX_GROUP; i++, at += size) {
		const struct dvq_cqe *cqe = (const struct dvq_cqe *)at;
		uint32_t status = dvq_cqe_status(cqe);

		if (rxq->csum && (status & good) != good)
			m[i]->ol_flags |= mdv_rx_csum_partly(rxq, cqe, m[i], status);
		if (full)
			m[i]->ol_flags |= mdv_rx_extras(rxq, cqe, m[i]);
	}
}

/* False, and nothing done, unless all four are ordinary packets; adds to *@bytes. */
static __rte_always_inline bool
rx_group(struct mdv_rxq *rxq, const struct rx_vec *v, struct rte_mbuf **pkts,
	 struct rte_mbuf **elts, struct rte_mbuf *const *fresh, const uint8_t *at, size_t cqe_size,
	 uint8_t *wqe, size_t wqe_size, rx_u32x4 *bytes, const enum rx_level level)
{
	/* In the last byte of a CQE; packets have opcodes of two bits. */
	const rx_u32x4 error = { 0, 0, 0, RTE_BE32(DVQ_CQE_OP_ERROR & ~3u) };
	const rx_u32x4 tagged = rx_swap32((rx_u32x4){ TAG, TAG, TAG, TAG });
	struct rte_mbuf *const m[RX_GROUP] = { elts[0], elts[1], elts[2], elts[3] };
	rx_u32x4 status, len, ptype, bad, hash = { 0 }, flags = { 0 }, whole = { 0 };
	struct rx_cqes c;
	bool extra;

	rx_read_cqes(&c, at, cqe_size, level);
	len = rx_swap32(c.byte_cnt) - v->crc_len;
	bad = (c.any & error) | (rx_u32x4)(len - 1 >= v->room);
	if (unlikely(rx_any(bad) || (!v->all_near && !rx_near(v, fresh))))
		return false;
	rte_prefetch0(elts[RX_GROUP]);
	rte_prefetch0(elts[RX_GROUP + 1]);
	rte_prefetch0(elts[RX_GROUP + 2]);
	rte_prefetch0(elts[RX_GROUP + 3]);
	status = rx_swap32(c.status);
	ptype = rx_ptypes(v, &c, status);
	if (level != RX_PLAIN) {
		const uint32_t good = DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK;

		hash = c.hash;
		whole = (rx_u32x4)((status & good) == good);
		flags = (~(rx_u32x4)(hash == 0) & v->rss_flag) | (whole & v->csum_good);
	}
	rx_store(pkts, rx_load(elts));
	rx_store(pkts + 2, rx_load(elts + 2));
	rx_repost_two(v, elts, fresh, wqe, wqe_size);
	rx_repost_two(v, elts + 2, fresh + 2, wqe + 2 * wqe_size, wqe_size);
	rx_write_mbufs(v, m, ptype, len, hash, flags);
	*bytes += len;
	extra = level == RX_FULL && (v->stamps || rx_any(c.vlan & tagged));
	if ((level != RX_PLAIN && unlikely(v->csum && rx_any(~whole))) || extra)
		rx_finish_group(rxq, pkts, at, cqe_size, extra);
	return true;
}

static inline void
rx_vec_init(struct rx_vec *v, const struct mdv_rxq *rxq, const enum rx_level level)
{
	rx_u64x2 rearm = { rxq->rearm, 0 };
	uint32_t headroom = mdv_rx_headroom(rxq);

	v->rearm = (rx_u32x4)rearm;
	v->seg = (rx_u32x4){ htobe32(rxq->room), rxq->near_lkey, 0, 0 };
	v->first = rxq->near_first;
	v->span = rxq->near_span;
	v->offset = rxq->near_offset + headroom;
	v->crc_len = rxq->crc_len;
	v->room = rxq->room;
	v->rss_flag = (rx_u32x4){ 0 } + (uint32_t)(rxq->rss_hash ? RTE_MBUF_F_RX_RSS_HASH : 0);
	v->csum_good = (rx_u32x4){ 0 } + (uint32_t)(rxq->csum ? RX_CSUM_GOOD : 0);
	v->csum = rxq->csum;
	v->all_near = rxq->near_chunks == rxq->mp->nb_mem_chunks;
	v->stamps = rxq->timestamp_flag != 0;
	v->tunnels = level != RX_PLAIN && rxq->csum_l2tun;
}

/* @n packets of WQEs with one segment; strides are constants where it is compiled. */
static __rte_always_inline uint32_t
rx_groups_of(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rte_mbuf **fresh, uint32_t n,
	     const size_t cqe_size, const enum rx_level level)
{
	const size_t wqe_size = sizeof(struct dvq_data_seg);
	struct dvq_rq *rq = &rxq->ring->rq;
	struct rte_mbuf **elts = &rxq->ring->elts[rq->ci & (rq->wqe_cnt - 1)];
	const uint8_t *at = (const uint8_t *)dvq_cq_entry(&rxq->cq, rxq->cq.ci);
	uint8_t *wqe = (uint8_t *)dvq_rq_wqe(rq, rq->ci);
	struct rte_mbuf **const end = fresh + (n & ~(RX_GROUP - 1));
	struct rte_mbuf **const first = fresh;
	rx_u32x4 bytes = { 0 };
	struct rx_vec v;
	uint32_t done;

	rx_vec_init(&v, rxq, level);
	while (fresh != end) {
		if (unlikely(!rx_group(rxq, &v, pkts, elts, fresh, at, cqe_size, wqe, wqe_size,
				&bytes, level)))
			break;
		pkts += RX_GROUP;
		elts += RX_GROUP;
		fresh += RX_GROUP;
		at += RX_GROUP * cqe_size;
		wqe += RX_GROUP * wqe_size;
	}
	done = (uint32_t)(fresh - first);
	rx_repost(rq, done);
	rxq->cq.ci += done;
	rxq->stats.packets += done;
	rxq->stats.bytes += (uint64_t)bytes[0] + bytes[1] + bytes[2] + bytes[3];
	return done;
}

/*
 * As many of @n packets as are ordinary and fill groups, from the first on: CQEs, WQEs
 * and fresh mbufs side by side. Returns how many.
 */
static __rte_always_inline uint32_t
rx_groups(struct mdv_rxq *rxq, struct rte_mbuf **pkts, struct rte_mbuf **fresh, uint32_t n,
	  const enum rx_level level)
{
	/* A filter may leave out any packet. */
	if (unlikely(n < RX_GROUP || (level == RX_FULL && rxq->vlan_ids != NULL) ||
		     rxq->ring->rq.stride_shift != 4))
		return 0;
	if (rxq->cq.cqe_shift == 5)
		return rx_groups_of(rxq, pkts, fresh, n, 32, level);
	return rx_groups_of(rxq, pkts, fresh, n, 64, level);
}

#define RX_GROUPS rx_groups

#endif /* MLX4DV_RX_VEC_H_ */
