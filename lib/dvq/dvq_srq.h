/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_SRQ_H_
#define DVQ_SRQ_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t wqe_cnt;               /**< WQEs, a power of two; one less can be posted */
	uint32_t head;                  /**< number of the WQE to post next */
	uint32_t tail;                  /**< number of the last free WQE */
	uint32_t room;                  /**< WQEs that can be posted */
	uint32_t pi;                    /**< running count of posted WQEs */
	volatile uint32_t *db;          /**< doorbell record */
	uint8_t stride_shift;           /**< log2 of the WQE size */
	uint16_t max_sge;               /**< segments that a WQE holds */
	uint32_t number;                /**< handle of the SRQ, for messages */
	uint32_t published;             /**< DVQ_DEBUG: what was stored to the record */
};

/** The WQE with this number: its link, then srq->max_sge data segments. */
static inline struct dvq_srq_next_seg *
dvq_srq_wqe(const struct dvq_srq *srq, uint32_t number)
{
	return (struct dvq_srq_next_seg *)(srq->buf + ((size_t)number << srq->stride_shift));
}

/**
 * Post one WQE of @p n segments, 0..srq->max_sge. Its buffers belong to the adapter
 * until a CQE names its number. Takes effect at dvq_srq_publish().
 *
 * @return number of the WQE, below srq->wqe_cnt; -ENOMEM when the SRQ is full;
 * -EMSGSIZE when the WQE has not so many segments. Source: libmlx4.
 */
static inline int
dvq_srq_post(struct dvq_srq *srq, const struct dvq_sge *sge, uint32_t n)
{
	uint32_t number = srq->head, i;
	struct dvq_srq_next_seg *wqe = dvq_srq_wqe(srq, number);
	struct dvq_data_seg *seg = (struct dvq_data_seg *)(wqe + 1);

	DVQ_CHECK(srq->room != 0, -ENOMEM);
	DVQ_CHECK(n <= srq->max_sge, -EMSGSIZE);
	for (i = 0; i < n; i++)
		dvq_rq_set_seg(&seg[i], sge[i].addr, sge[i].lkey_be, sge[i].len);
	if (n < srq->max_sge)
		dvq_rq_terminate(&seg[n]);
	/* Bounded: who else wrote there must not lead us out of the ring. */
	srq->head = be16toh(wqe->next) & (srq->wqe_cnt - 1);
	srq->room--;
	srq->pi++;
	return (int)number;
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
	if (wqe_index >= srq->wqe_cnt || srq->room == srq->wqe_cnt - 1)
		return -ERANGE;
	dvq_srq_wqe(srq, srq->tail)->next = htobe16(wqe_index);
	srq->tail = wqe_index;
	srq->room++;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_SRQ_H_ */
