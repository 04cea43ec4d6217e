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

#include <rte_ether.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>

#include "mlx4dv_rx.h"
#include "mlx4dv_rx_vector.h"

#define RX_GROUP 4u

static_assert(offsetof(struct rte_mbuf, ol_flags) == offsetof(struct rte_mbuf, rearm_data) + 8 &&
	      offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4 &&
	      offsetof(struct rte_mbuf, data_len) == offsetof(struct rte_mbuf, packet_type) + 8 &&
	      offsetof(struct rte_mbuf, vlan_tci) == offsetof(struct rte_mbuf, packet_type) + 10 &&
	      offsetof(struct rte_mbuf, hash) == offsetof(struct rte_mbuf, packet_type) + 12,
	      "two vectors are all of the mbuf that is written");

/* ---- completions ---- */

/* What is the same for all packets of a run. */
struct rx_vec {
	rx_u32x4 rearm;           /* twice */
	rx_u32x4 seg;             /* of a WQE: length and key, twice */
	uintptr_t first, span;    /* mbufs of the region last used */
	uintptr_t offset;         /* from an mbuf to its data */
	rx_u32x4 crc_len;
	rx_u32x4 room;            /* 0 unless all mbufs of the pool are of that region */
	rx_u32x4 rss_flag, csum_flags;
	rx_u32x4 csum;            /* all ones when the checksum is of interest */
	rx_u32x4 tag_flags;       /* of a packet with a tag; see strip */
	rx_u32x4 special;         /* in a CQE, big endian: a tunnel or a tag that is of interest */
	rx_u32x4 stamp_flag;      /* of a packet with a timestamp, or 0; see stamps */
	bool stamps;              /* every packet has a timestamp */
	bool stamps_apart;        /* whose flag is beyond 32 bits */
	bool filter;              /* not every tag may pass */
	bool strip;               /* tags out of the data */
};

/* The interesting words of four CQEs: each a vector of four. */
struct rx_cqes {
	rx_u32x4 vlan;            /* big endian, the others are not */
	rx_u32x4 hash, status, len;
	rx_u32x4 any;             /* bits of any of the second halves */
};

/* What four mbufs get: a vector of four of each. */
struct rx_fields {
	rx_u32x4 ptype, len, hash, flags;
	rx_u32x4 tci;             /* in the upper half */
	rx_u32x4 cut;             /* bytes by which the data begins later */
};

static __rte_always_inline void
rx_read_cqes(struct rx_cqes *c, const uint8_t *at, size_t size, const enum rx_level level)
{
	const size_t half = sizeof(rx_u32x4);
	rx_u32x4 h0 = rx_load(at + half), h1 = rx_load(at + size + half);
	rx_u32x4 h2 = rx_load(at + 2 * size + half), h3 = rx_load(at + 3 * size + half);
	rx_u32x4 a = RX_LOW32(h0, h1), b = RX_LOW32(h2, h3);

	c->status = rx_swap32(RX_LOW64(a, b));
	c->len = rx_swap32(RX_HIGH64(a, b));
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

/* Are all four ordinary packets, of lengths that can be? */
static __rte_always_inline bool
rx_ordinary(const struct rx_cqes *c, rx_u32x4 room)
{
	return !rx_any((c->any & RX_IS->error) | (rx_u32x4)(c->len - 1 >= room));
}

static __rte_always_inline rx_u32x4
rx_ptypes(const struct rx_cqes *c)
{
	rx_u32x4 i = (c->status >> 22 & RX_IS->type) | (c->status & RX_IS->ipv6f) >> 11;

	return rx_lookup(mdv_ptype_table, i);
}

/* Under a tunnel the other bits are of the packet inside. */
static __rte_noinline rx_u32x4
rx_tunnel_ptypes(rx_u32x4 status, rx_u32x4 vlan)
{
	rx_u32x4 i = (status >> 22 & 0x3f) | (status & DVQ_CQE_ST_IPV6F) >> 11;
	rx_u32x4 bits = rx_swap32(vlan);
	rx_u32x4 inside = (rx_u32x4)((bits & DVQ_CQE_TUNNEL) != 0);
	rx_u32x4 ipv4 = (rx_u32x4)((bits & DVQ_CQE_TUNNEL_IPV4) != 0);

	return rx_lookup(mdv_ptype_table, i | (inside & (0x80 | (ipv4 & 0x40))));
}

/* The first 16 bytes of packets with a tag: they move up over it, by one word. */
#define RX_STRIP(head) __builtin_shufflevector(head, head, 0, 0, 1, 2)

/* Out of some of four packets. */
static __rte_noinline void
rx_strip_some(struct rte_mbuf *const *pkts, uintptr_t offset, rx_u32x4 tagged)
{
	unsigned int i;

	for (i = 0; i < RX_GROUP; i++)
		if (tagged[i] != 0) {
			uint8_t *data = RTE_PTR_ADD(pkts[i], offset);

			rx_store(data, RX_STRIP(rx_load(data)));
		}
}

/*
 * Tags of those packets that have one tag, as it should be: into the mbuf, and out of
 * the data when that is wanted. False, and nothing done, when one has more or other tags.
 */
static __rte_always_inline bool
rx_take_tags(const struct rx_vec *v, struct rte_mbuf *const *pkts, struct rte_mbuf *const *m,
	     rx_u32x4 untagged, struct rx_fields *f)
{
	/* The addresses, the type, the tag: 16 bytes. */
	rx_u32x4 h0 = rx_load(RTE_PTR_ADD(m[0], v->offset));
	rx_u32x4 h1 = rx_load(RTE_PTR_ADD(m[1], v->offset));
	rx_u32x4 h2 = rx_load(RTE_PTR_ADD(m[2], v->offset));
	rx_u32x4 h3 = rx_load(RTE_PTR_ADD(m[3], v->offset));
	rx_u32x4 a = RX_HIGH32(h0, h1), b = RX_HIGH32(h2, h3);
	rx_u32x4 tci = rx_swap32(RX_HIGH64(a, b)) ^ RX_IS->vlan;

	/* What is left of another type, and of a frame too short for tags. */
	if (unlikely(rx_any(~untagged & (tci | (f->len - RX_IS->reach)) & RX_IS->upper)))
		return false;
	f->tci = ~untagged & tci << 16;
	f->flags |= ~untagged & v->tag_flags;
	if (!v->strip)
		return true;
	f->cut = ~untagged & RX_IS->cut;
	f->len -= f->cut;
	if (unlikely(rx_any(untagged))) {
		rx_strip_some(pkts, v->offset, ~untagged);
		return true;
	}
	rx_store(RTE_PTR_ADD(m[0], v->offset), RX_STRIP(h0));
	rx_store(RTE_PTR_ADD(m[1], v->offset), RX_STRIP(h1));
	rx_store(RTE_PTR_ADD(m[2], v->offset), RX_STRIP(h2));
	rx_store(RTE_PTR_ADD(m[3], v->offset), RX_STRIP(h3));
	return true;
}

/* May those of four packets that have a tag pass the filter? */
static __rte_noinline bool
rx_all_pass(const struct mdv_rxq *rxq, struct rte_mbuf *const *m, uintptr_t offset,
	    rx_u32x4 vlan)
{
	unsigned int i;

	for (i = 0; i < RX_GROUP; i++)
		if ((vlan[i] & RTE_BE32(DVQ_CQE_CVLAN | DVQ_CQE_SVLAN)) != 0 &&
		    !rx_may_pass(rxq, RTE_PTR_ADD(m[i], offset)))
			return false;
	return true;
}

/* The times when four packets came. */
static __rte_always_inline void
rx_stamp_group(struct mdv_rxq *rxq, struct rte_mbuf *const *m, const uint8_t *at, size_t size)
{
	const int offset = rxq->timestamp_offset;
	uint64_t latest = rxq->timestamp;
	unsigned int i;

	for (i = 0; i < RX_GROUP; i++, at += size)
		*RTE_MBUF_DYNFIELD(m[i], offset, rte_mbuf_timestamp_t *) =
			rx_timestamp(&latest, (const struct dvq_cqe *)at);
	rxq->timestamp = latest;
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

		if (rxq->csum_flags != 0 && (status & good) != good)
			m[i]->ol_flags |= rx_csum_partly(rxq, cqe, m[i], status);
		if (full)
			m[i]->ol_flags |= mdv_rx_extras(rxq, cqe, m[i]);
	}
}

/* ---- mbufs ---- */

/* Are the four before @fresh of the region last used? No mbuf is none of it. */
static __rte_always_inline bool
rx_all_near(const struct rx_vec *v, struct rte_mbuf *const *fresh)
{
	rx_u64x2 a = (rx_u64x2)rx_load(fresh - 2) - v->first;
	rx_u64x2 b = (rx_u64x2)rx_load(fresh - 4) - v->first;
	/* Beyond either end shows in the uppermost bit: no region is that long. */
	rx_u64x2 out = a | (v->span - a) | b | (v->span - b);

	return ((out[0] | out[1]) >> 63) == 0;
}

/* The same when mbufs may be of any region. */
static __rte_always_inline bool
rx_ordinary_near(const struct mdv_rxq *rxq, const struct rx_vec *v, const struct rx_cqes *c,
		 struct rte_mbuf *const *fresh)
{
	return !rx_any(v->room) && rx_ordinary(c, rx_all(rxq->room)) && rx_all_near(v, fresh);
}

#ifdef __AVX2__

typedef uint64_t rx_u64x4 __attribute__((vector_size(32)));
typedef uint8_t rx_u8x32 __attribute__((vector_size(32)));

static inline rx_u64x4
rx_pair(rx_u32x4 low, rx_u32x4 high)
{
	return (rx_u64x4)_mm256_set_m128i((__m128i)high, (__m128i)low);
}

static __rte_always_inline void
rx_copy_group(struct rte_mbuf **to, struct rte_mbuf *const *from)
{
	rx_u64x4 v;

	memcpy(&v, from, sizeof(v));
	memcpy(to, &v, sizeof(v));
}

/* Four WQEs point to the data of the mbufs before @fresh, which take their place in the ring. */
static __rte_always_inline void
rx_repost_group(const struct rx_vec *v, struct rte_mbuf **elts, struct rte_mbuf *const *fresh,
		uint8_t *wqe)
{
	const rx_u64x4 seg = rx_pair(v->seg, v->seg);
	rx_u64x4 next, addr;

	memcpy(&next, fresh - RX_GROUP, sizeof(next));
	memcpy(elts, &next, sizeof(next));
	addr = __builtin_shufflevector(next + v->offset, next, 0, 2, 1, 3);
	addr = (rx_u64x4)__builtin_shufflevector((rx_u8x32)addr, (rx_u8x32)addr,
		7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8,
		23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26, 25, 24);
	next = __builtin_shufflevector(seg, addr, 0, 4, 2, 6);
	memcpy(wqe, &next, sizeof(next));
	next = __builtin_shufflevector(seg, addr, 1, 5, 3, 7);
	memcpy(wqe + sizeof(next), &next, sizeof(next));
}

/* Rows of {rearm, flags} and {type and length, length, tag and hash}, of two mbufs. */
static __rte_always_inline void
rx_write_two(struct rte_mbuf *m0, struct rte_mbuf *m1, rx_u32x4 rearm, rx_u32x4 flags,
	     rx_u32x4 a, rx_u32x4 b)
{
	rx_u64x4 low = rx_pair(rearm, a), high = rx_pair(flags, b);
	rx_u64x4 row0 = __builtin_shufflevector(low, high, 0, 4, 2, 6);
	rx_u64x4 row1 = __builtin_shufflevector(low, high, 1, 5, 3, 7);

	memcpy(RTE_PTR_ADD(m0, offsetof(struct rte_mbuf, rearm_data)), &row0, sizeof(row0));
	memcpy(RTE_PTR_ADD(m1, offsetof(struct rte_mbuf, rearm_data)), &row1, sizeof(row1));
}

#else

static __rte_always_inline void
rx_copy_group(struct rte_mbuf **to, struct rte_mbuf *const *from)
{
	rx_store(to, rx_load(from));
	rx_store(to + 2, rx_load(from + 2));
}

/* Two WQEs point to the data of two fresh mbufs, which take their place in the ring. */
static __rte_always_inline void
rx_repost_two(const struct rx_vec *v, struct rte_mbuf **elts, struct rte_mbuf *const *fresh,
	      uint8_t *wqe)
{
	rx_u32x4 next = rx_load(fresh);
	rx_u32x4 addr = (rx_u32x4)rx_swap64((rx_u64x2)next + v->offset);

	rx_store(elts, next);
	rx_store(wqe, RX_LOW64(v->seg, addr));
	rx_store(wqe + sizeof(addr), RX_HIGH64(v->seg, addr));
}

static __rte_always_inline void
rx_repost_group(const struct rx_vec *v, struct rte_mbuf **elts, struct rte_mbuf *const *fresh,
		uint8_t *wqe)
{
	rx_repost_two(v, elts, fresh - 2, wqe);
	rx_repost_two(v, elts + 2, fresh - 4, wqe + 2 * sizeof(rx_u32x4));
}

static __rte_always_inline void
rx_write_two(struct rte_mbuf *m0, struct rte_mbuf *m1, rx_u32x4 rearm, rx_u32x4 flags,
	     rx_u32x4 a, rx_u32x4 b)
{
	rx_store(RTE_PTR_ADD(m0, offsetof(struct rte_mbuf, rearm_data)), RX_LOW64(rearm, flags));
	rx_store(RTE_PTR_ADD(m0, offsetof(struct rte_mbuf, packet_type)), RX_LOW64(a, b));
	rx_store(RTE_PTR_ADD(m1, offsetof(struct rte_mbuf, rearm_data)), RX_HIGH64(rearm, flags));
	rx_store(RTE_PTR_ADD(m1, offsetof(struct rte_mbuf, packet_type)), RX_HIGH64(a, b));
}

#endif

static __rte_always_inline void
rx_write_mbufs(const struct rx_vec *v, struct rte_mbuf *const *m, const struct rx_fields *f,
	       const enum rx_level level)
{
	/* No buffer has more than 65535 B: the tag is behind the length. */
	rx_u32x4 third = level >= RX_TAGS ? f->len | f->tci : f->len, none = { 0 };
	rx_u32x4 rearm01 = v->rearm, rearm23 = v->rearm;

	if (level >= RX_TAGS) {
		/* data_off comes first, and does not overflow. */
		rearm01 += RX_LOW32(f->cut, none);
		rearm23 += RX_HIGH32(f->cut, none);
	}
	rx_write_two(m[0], m[1], rearm01, RX_LOW32(f->flags, none),
		RX_LOW32(f->ptype, f->len), RX_LOW32(third, f->hash));
	rx_write_two(m[2], m[3], rearm23, RX_HIGH32(f->flags, none),
		RX_HIGH32(f->ptype, f->len), RX_HIGH32(third, f->hash));
}

/* ---- groups ---- */

enum rx_rest { RX_NOTHING, RX_SOME, RX_ALL };

/*
 * A tunnel, or a tag that is of interest. Tags are left to rx_finish_group() when that has
 * to look at the packet anyway: it wants it as it came.
 */
static __rte_always_inline enum rx_rest
rx_special(const struct rx_vec *v, const struct rx_cqes *c, struct rte_mbuf *const *pkts,
	   struct rte_mbuf *const *m, struct rx_fields *f, bool partly, const enum rx_level level)
{
	rx_u32x4 untagged;

	if (unlikely(rx_meet(c->vlan, RX_IS->tunnel & v->special)))
		f->ptype = rx_tunnel_ptypes(c->status, c->vlan);
	if (level < RX_TAGS)
		return RX_NOTHING;
	untagged = (rx_u32x4)((c->vlan & RX_IS->tag) == 0);
	if (unlikely(partly || (level == RX_FULL && v->stamps_apart)) ||
	    unlikely(!rx_take_tags(v, pkts, m, untagged, f)))
		return RX_ALL;
	return RX_NOTHING;
}

/* What their CQEs say about four packets; returns what there is to it beside. */
static __rte_always_inline enum rx_rest
rx_describe(const struct rx_vec *v, const struct rx_cqes *c, struct rte_mbuf *const *pkts,
	    struct rte_mbuf *const *m, struct rx_fields *f, const enum rx_level level)
{
	enum rx_rest rest = RX_NOTHING;
	rx_u32x4 whole;
	bool partly;

	f->len = c->len;
	f->ptype = rx_ptypes(c);
	f->hash = f->flags = f->tci = f->cut = (rx_u32x4){ 0 };
	if (level == RX_PLAIN)
		return RX_NOTHING;
	f->hash = c->hash;
	whole = (rx_u32x4)((c->status & RX_IS->good) == RX_IS->good);
	f->flags = (~(rx_u32x4)(c->hash == 0) & v->rss_flag) | (whole & v->csum_flags);
	partly = rx_beyond(v->csum, whole);
	if (rx_meet(c->vlan, v->special))
		rest = rx_special(v, c, pkts, m, f, partly, level);
	if (level == RX_FULL)
		f->flags |= v->stamp_flag;
	if (level == RX_FULL && unlikely(v->stamps_apart))
		rest = RX_ALL;
	return unlikely(partly) && rest == RX_NOTHING ? RX_SOME : rest;
}

/* False, and nothing done, unless all four are ordinary packets; adds to *@bytes. */
static __rte_always_inline bool
rx_group(struct mdv_rxq *rxq, const struct rx_vec *v, struct rte_mbuf **pkts,
	 struct rte_mbuf **elts, struct rte_mbuf *const *fresh, const uint8_t *at, size_t cqe_size,
	 uint8_t *wqe, rx_u32x4 *bytes, const enum rx_level level)
{
	struct rte_mbuf *const m[RX_GROUP] = { elts[0], elts[1], elts[2], elts[3] };
	struct rx_fields f;
	enum rx_rest rest;
	struct rx_cqes c;

	rx_read_cqes(&c, at, cqe_size, level);
	c.len -= v->crc_len;
	if (unlikely(!rx_ordinary(&c, v->room)) && !rx_ordinary_near(rxq, v, &c, fresh))
		return false;
	if (level == RX_FULL && v->filter && rx_meet(c.vlan, RX_IS->tag) &&
	    !rx_all_pass(rxq, m, v->offset, c.vlan))
		return false;
	rte_prefetch0(elts[RX_GROUP]);
	rte_prefetch0(elts[RX_GROUP + 1]);
	rte_prefetch0(elts[RX_GROUP + 2]);
	rte_prefetch0(elts[RX_GROUP + 3]);
	rx_copy_group(pkts, elts);
	rx_repost_group(v, elts, fresh, wqe);
	*bytes += c.len;
	rest = rx_describe(v, &c, pkts, m, &f, level);
	rx_write_mbufs(v, m, &f, level);
	if (level == RX_FULL && v->stamps)
		rx_stamp_group(rxq, m, at, cqe_size);
	if (unlikely(rest != RX_NOTHING))
		rx_finish_group(rxq, pkts, at, cqe_size, rest == RX_ALL);
	return true;
}

static inline void
rx_vec_init(struct rx_vec *v, const struct mdv_rxq *rxq, const enum rx_level level)
{
	uint64_t seg = (uint64_t)rxq->near_lkey << 32 | htobe32(rxq->room);

	v->rearm = (rx_u32x4)(rx_u64x2){ rxq->rearm, rxq->rearm };
	v->seg = (rx_u32x4)(rx_u64x2){ seg, seg };
	v->first = rxq->near_first;
	v->span = rxq->near_span;
	v->offset = rxq->near_offset + mdv_rx_headroom(rxq);
	v->crc_len = rx_all(rxq->crc_len);
	v->room = rx_all(rxq->near_chunks == rxq->mp->nb_mem_chunks ? rxq->room : 0);
	if (level != RX_PLAIN) {
		/* All these flags are in the lower half. */
		v->rss_flag = rx_all((uint32_t)rxq->rss_flag);
		v->csum_flags = rx_all((uint32_t)rxq->csum_flags);
		v->csum = rx_all(rxq->csum_flags != 0 ? ~0u : 0);
		v->special = rx_all(rxq->csum_l2tun ? RTE_BE32(DVQ_CQE_TUNNEL) : 0);
	}
	if (level == RX_FULL) {
		v->stamps = rxq->timestamp_flag != 0;
		v->stamp_flag = rx_all((uint32_t)rxq->timestamp_flag);
		v->stamps_apart = rxq->timestamp_flag >> 32 != 0;
		v->filter = rxq->vlan_ids != NULL;
	}
	if (level >= RX_TAGS) {
		v->special |= RX_IS->tag;
		v->strip = rxq->vlan_strip;
		v->tag_flags = rx_all((uint32_t)(rxq->vlan_strip ?
			RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED : RTE_MBUF_F_RX_VLAN));
	}
}

/* @n packets of WQEs with one segment; the CQEs' size is a constant where it is compiled. */
static __rte_always_inline uint32_t
rx_groups_of(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts,
	     struct rte_mbuf **fresh, uint32_t n, const size_t cqe_size, const enum rx_level level)
{
	const size_t wqe_size = sizeof(struct dvq_data_seg);
	struct dvq_rq *rq = &rxq->ring->rq;
	struct rte_mbuf **elts = &rxq->ring->elts[rq->ci & (rq->wqe_cnt - 1)];
	uint8_t *wqe = (uint8_t *)dvq_rq_wqe(rq, rq->ci);
	struct rte_mbuf **const end = fresh - (n & ~(RX_GROUP - 1));
	struct rte_mbuf **const first = fresh;
	rx_u32x4 bytes = { 0 };
	struct rx_vec v;
	uint32_t done;

	rx_vec_init(&v, rxq, level);
	while (fresh != end) {
		if (unlikely(!rx_group(rxq, &v, pkts, elts, fresh, at, cqe_size, wqe, &bytes,
				level)))
			break;
		pkts += RX_GROUP;
		elts += RX_GROUP;
		fresh -= RX_GROUP;
		at += RX_GROUP * cqe_size;
		wqe += RX_GROUP * wqe_size;
	}
	done = (uint32_t)(first - fresh);
	rx_repost(rq, done);
	rxq->cq.ci += done;
	rxq->stats.packets += done;
	rxq->stats.bytes += (uint64_t)bytes[0] + bytes[1] + bytes[2] + bytes[3];
	return done;
}

/*
 * As many of @n packets as are ordinary and fill groups, from the first on: CQEs, from
 * @at, and WQEs side by side, with the mbufs before @fresh. Returns how many.
 */
static __rte_always_inline uint32_t
rx_groups(struct mdv_rxq *rxq, const uint8_t *at, struct rte_mbuf **pkts,
	  struct rte_mbuf **fresh, uint32_t n, const enum rx_level level)
{
	if (rxq->cq.cqe_shift == 5)
		return rx_groups_of(rxq, at, pkts, fresh, n, 32, level);
	return rx_groups_of(rxq, at, pkts, fresh, n, 64, level);
}

#endif /* MLX4DV_RX_VEC_H_ */
