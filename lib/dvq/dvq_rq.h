/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_RQ_H_
#define DVQ_RQ_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dvq_barrier.h"
#include "dvq_check.h"
#include "dvq_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A receive queue (of a WQ, or of a QP), as the program fills it. */
struct dvq_rq {
	uint8_t *buf;                   /**< first WQE */
	uint32_t wqe_cnt;               /**< WQEs, a power of two */
	uint32_t pi;                    /**< running count of posted WQEs */
	uint32_t ci;                    /**< running count of completed WQEs; by the caller */
	uint32_t published;             /**< DVQ_DEBUG: what was stored to the record */
	volatile uint32_t *db;          /**< doorbell record */
	uint8_t stride_shift;           /**< log2 of the WQE size */
	uint16_t max_sge;               /**< segments that a WQE holds */
	uint32_t number;                /**< of the WQ or QP, for messages */
};

/** WQEs that can be posted before the ring is full. */
static inline uint32_t
dvq_rq_room(const struct dvq_rq *rq)
{
	return rq->wqe_cnt - (rq->pi - rq->ci);
}

/** The segments of the WQE with running index @p index: rq->max_sge of them. */
static inline struct dvq_data_seg *
dvq_rq_wqe(const struct dvq_rq *rq, uint32_t index)
{
	size_t slot = index & (rq->wqe_cnt - 1);

	return (struct dvq_data_seg *)(rq->buf + (slot << rq->stride_shift));
}

/**
 * Write one segment of a receive WQE. @p len is 1..2^31-1: 0 would mean 2^31.
 * Ordering: visible to the adapter with the next dvq_rq_publish().
 */
static inline void
dvq_rq_set_seg(struct dvq_data_seg *seg, uint64_t addr, uint32_t lkey_be, uint32_t len)
{
	seg->byte_count = htobe32(len);
	seg->lkey = lkey_be;
	seg->addr = htobe64(addr);
}

/** End the list of a WQE behind its last segment when it is not full. Source: libmlx4. */
static inline void
dvq_rq_terminate(struct dvq_data_seg *seg)
{
	seg->byte_count = 0;
	seg->lkey = htobe32(DVQ_INVALID_LKEY);
	seg->addr = 0;
}

/** A buffer, for the functions that post. */
struct dvq_sge {
	uint64_t addr;
	uint32_t lkey;                  /**< host order, as struct ibv_mr has it */
	uint32_t len;                   /**< below 2^31; to receive at least 1 */
};

/* Both dwords before the address at once: swapped together they also change places. */
static inline void
dvq_seg_from_sge(struct dvq_data_seg *seg, const struct dvq_sge *sge)
{
	uint64_t key_and_len;

	memcpy(&key_and_len, &sge->lkey, sizeof(key_and_len));
	key_and_len = __builtin_bswap64(key_and_len);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	key_and_len = (uint64_t)sge->len << 32 | sge->lkey;
#endif
	memcpy(seg, &key_and_len, sizeof(key_and_len));
	seg->addr = htobe64(sge->addr);
}

/**
 * Post one WQE of @p n segments, 1..rq->max_sge; the caller has checked
 * dvq_rq_room(). The buffers belong to the adapter until the CQE of the WQE:
 * WQEs complete in the order of posting. Takes effect at dvq_rq_publish().
 */
static inline void
dvq_rq_post(struct dvq_rq *rq, const struct dvq_sge *sge, uint32_t n)
{
	struct dvq_data_seg *seg = dvq_rq_wqe(rq, rq->pi);
	uint32_t i;

	for (i = 0; i < n; i++)
		dvq_seg_from_sge(&seg[i], &sge[i]);
	if (n < rq->max_sge)
		dvq_rq_terminate(&seg[n]);
	rq->pi++;
}

/**
 * dvq_rq_post() with its conditions checked: @p n from 0 up.
 *
 * @return 0; -ENOMEM when the ring is full, -EMSGSIZE when the WQE has not so many
 * segments: nothing was posted.
 */
static inline int
dvq_post_recv(struct dvq_rq *rq, const struct dvq_sge *sge, uint32_t n)
{
	DVQ_CHECK(dvq_rq_room(rq) != 0, -ENOMEM);
	/* Most lists are full: they are seen to fit by one comparison. */
	if (n != rq->max_sge)
		DVQ_CHECK(n < rq->max_sge, -EMSGSIZE);
	dvq_rq_post(rq, sge, n);
	return 0;
}

/**
 * Post up to @p n WQEs of one segment each, as many as there is room for. Cheaper than
 * as many calls of dvq_post_recv().
 *
 * @return WQEs posted: the first ones of @p sge.
 */
static inline uint32_t
dvq_post_recv_each(struct dvq_rq *rq, const struct dvq_sge *sge, uint32_t n)
{
	uint32_t pi = rq->pi, mask = rq->wqe_cnt - 1, room = dvq_rq_room(rq);
	uint8_t *buf = rq->buf, shift = rq->stride_shift;
	const struct dvq_sge *end;
	struct dvq_data_seg *seg;
	int full = rq->max_sge == 1;

	n = n < room ? n : room;
	for (end = sge + n; sge != end; sge++, pi++) {
		seg = (struct dvq_data_seg *)(buf + ((size_t)(pi & mask) << shift));
		dvq_seg_from_sge(seg, sge);
		if (!full)
			dvq_rq_terminate(seg + 1);
	}
	rq->pi = pi;
	return n;
}

/**
 * Let the adapter see the WQEs posted so far. The record counts modulo 2^16.
 * Ordering: all stores to the WQEs before the record. Source: libmlx4.
 */
static inline void
dvq_rq_publish(struct dvq_rq *rq)
{
	DVQ_DEBUG_SAME("receive queue", rq->number, "the doorbell record",
		       be32toh(*rq->db) & DVQ_RQ_DB_MASK, rq->published);
	dvq_barrier_rwqe_before_record();
	*rq->db = htobe32(rq->pi & DVQ_RQ_DB_MASK);
#ifdef DVQ_DEBUG
	rq->published = rq->pi & DVQ_RQ_DB_MASK;
#endif
}

/**
 * Take back the oldest WQE: those of a receive queue complete in the order of posting.
 *
 * @return its running index; the buffers of this WQE are the program's again.
 */
static inline uint32_t
dvq_rq_complete(struct dvq_rq *rq)
{
	return rq->ci++;
}

/**
 * Back to an empty ring, once the WQ or QP is in RESET: the adapter restarts at
 * index 0 as well. Source: libmlx4.
 */
static inline void
dvq_rq_reset(struct dvq_rq *rq)
{
	rq->pi = 0;
	rq->ci = 0;
	rq->published = 0;
	*rq->db = 0;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_RQ_H_ */
