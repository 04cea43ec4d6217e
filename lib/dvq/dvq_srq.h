/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_SRQ_H_
#define DVQ_SRQ_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dvq_check.h"
#include "dvq_rq.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A shared receive queue as the program fills it. Its WQEs complete in any order:
 * each has a number, and those that are free form a list from head to tail. The
 * tail always stays free. Filled by dvq_open().
 */
struct dvq_srq {
	uint8_t *buf;                   /**< WQE 0 */
	uint32_t head;                  /**< number of the WQE to post next */
	uint32_t tail;                  /**< number of the last free WQE */
	uint32_t mask;                  /**< the highest number: WQEs, a power of two, less 1 */
	uint8_t stride_shift;           /**< log2 of the WQE size */
	uint16_t max_sge;               /**< segments that a WQE holds */
	uint32_t pi;                    /**< running count of posted WQEs */
	uint32_t ci;                    /**< running count of completed WQEs */
	volatile uint32_t *db;          /**< doorbell record */
	uint32_t number;                /**< handle of the SRQ, for messages */
	uint32_t published;             /**< DVQ_DEBUG: what was stored to the record */
};

/** The WQE with this number: its link, then srq->max_sge data segments. */
static inline struct dvq_srq_next_seg *
dvq_srq_wqe(const struct dvq_srq *srq, uint32_t number)
{
	return (struct dvq_srq_next_seg *)(srq->buf + ((size_t)number << srq->stride_shift));
}

/** WQEs that can be posted before the SRQ is full. */
static inline uint32_t
dvq_srq_room(const struct dvq_srq *srq)
{
	return srq->mask - (srq->pi - srq->ci);
}

/*
 * The number of the free WQE behind one, in its lower bits: read with the reserved bytes
 * before it, which takes an instruction less and is masked out.
 */
static inline uint32_t
dvq_srq_link(const void *wqe)
{
	uint32_t first;

	static_assert(offsetof(struct dvq_srq_next_seg, next) == 2, "the link");
	memcpy(&first, wqe, sizeof(first));
	return be32toh(first) & 0xffff;
}

/* Take the first free WQE, whose segments are written. Returns its number. */
static inline uint32_t
dvq_srq_take(struct dvq_srq *srq, const struct dvq_srq_next_seg *wqe)
{
	uint32_t number = srq->head;

	/* Bounded: who else wrote there must not lead us out of the ring. */
	srq->head = dvq_srq_link(wqe) & srq->mask;
	srq->pi++;
	return number;
}

/**
 * Post one WQE of @p n segments, 0..srq->max_sge. Its buffers belong to the adapter
 * until a CQE names its number. Takes effect at dvq_srq_publish().
 *
 * @return number of the WQE, up to srq->mask; -ENOMEM when the SRQ is full;
 * -EMSGSIZE when the WQE has not so many segments. Source: libmlx4.
 */
static inline int
dvq_srq_post(struct dvq_srq *srq, const struct dvq_sge *sge, uint32_t n)
{
	struct dvq_srq_next_seg *wqe = dvq_srq_wqe(srq, srq->head);
	struct dvq_data_seg *seg = (struct dvq_data_seg *)(wqe + 1);
	uint32_t i;

	DVQ_CHECK(srq->head != srq->tail, -ENOMEM);
	if (n != srq->max_sge) {
		DVQ_CHECK(n < srq->max_sge, -EMSGSIZE);
		dvq_rq_terminate(&seg[n]);
	}
	for (i = 0; i < n; i++)
		dvq_seg_from_sge(&seg[i], &sge[i]);
	return (int)dvq_srq_take(srq, wqe);
}

/**
 * Post up to @p n WQEs of one segment each, as many as there is room for. Cheaper than
 * as many calls of dvq_srq_post().
 *
 * @param numbers  gets the number of each WQE posted
 * @return WQEs posted: the first ones of @p sge.
 */
static inline uint32_t
dvq_srq_post_each(struct dvq_srq *srq, const struct dvq_sge *sge, uint16_t *numbers, uint32_t n)
{
	uint32_t head = srq->head, mask = srq->mask, room = dvq_srq_room(srq);
	uint8_t *buf = srq->buf, shift = srq->stride_shift;
	int full = srq->max_sge == 1;
	const struct dvq_sge *end;

	n = n < room ? n : room;
	for (end = sge + n; sge != end; sge++) {
		uint8_t *wqe = buf + ((size_t)head << shift);
		struct dvq_data_seg *seg =
			(struct dvq_data_seg *)(wqe + sizeof(struct dvq_srq_next_seg));

		dvq_seg_from_sge(seg, sge);
		if (!full)
			dvq_rq_terminate(seg + 1);
		*numbers++ = (uint16_t)head;
		head = dvq_srq_link(wqe) & mask;
	}
	srq->head = head;
	srq->pi += n;
	return n;
}

/**
 * Let the adapter see the WQEs posted so far; once per batch.
 * Ordering: all stores to the WQEs before the record. Source: libmlx4.
 */
static inline void
dvq_srq_publish(struct dvq_srq *srq)
{
	DVQ_DEBUG_SAME("SRQ", srq->number, "the doorbell record", be32toh(*srq->db) &
		       DVQ_RQ_DB_MASK, srq->published);
	dvq_barrier_rwqe_before_record();
	*srq->db = htobe32(srq->pi & DVQ_RQ_DB_MASK);
#ifdef DVQ_DEBUG
	srq->published = srq->pi & DVQ_RQ_DB_MASK;
#endif
}

/**
 * Take back the WQE that a CQE names, in whatever order they come; its buffers are
 * the program's again.
 *
 * @return 0; -ERANGE when the SRQ has no such WQE, or all are free: nothing was
 * changed. Source: libmlx4.
 */
static inline int
dvq_srq_complete(struct dvq_srq *srq, uint16_t wqe_index)
{
	if (wqe_index > srq->mask || srq->pi == srq->ci)
		return -ERANGE;
	dvq_srq_wqe(srq, srq->tail)->next = htobe16(wqe_index);
	srq->tail = wqe_index;
	srq->ci++;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_SRQ_H_ */
