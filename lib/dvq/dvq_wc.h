/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_WC_H_
#define DVQ_WC_H_

/* Completions in the terms of verbs, of any QP. */

#include <infiniband/verbs.h>

#include "dvq_cq.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DVQ_WC_SEND 1u          /**< completes a send WQE, else a receive WQE */
#define DVQ_WC_IMM 2u           /**< imm_be is immediate data */
#define DVQ_WC_INVAL 4u         /**< imm_be is the key that was invalidated */
#define DVQ_WC_INLINE 8u        /**< the received bytes are in the receive WQE */
#define DVQ_WC_GRH 16u          /**< of a datagram: its first 40 bytes are the GRH */

/** A completion, decoded. */
struct dvq_wc {
	uint32_t qpn;           /**< of the QP here (a WQ's number on its receive) */
	uint32_t byte_len;      /**< received, or read: of sends and writes meaningless */
	uint32_t imm_be;        /**< see DVQ_WC_IMM, DVQ_WC_INVAL */
	uint32_t src_qp;        /**< of a datagram: who sent it */
	uint16_t wqe_index;     /**< running index of a WQE; of an SRQ: its number */
	uint8_t opcode;         /**< enum ibv_wc_opcode */
	uint8_t status;         /**< enum ibv_wc_status; others hold qpn, wqe_index, SEND only */
	uint8_t flags;          /**< DVQ_WC_* */
	uint8_t vendor_err;     /**< of an error */
};

/* What a CQE opcode means; by is_send and opcode. */
struct dvq_wc_kind {
	uint8_t opcode;
	uint8_t flags;
	uint8_t byte_len;       /* when the CQE has none: 8 of an atomic operation */
	uint8_t error;
};

extern const struct dvq_wc_kind dvq_wc_kinds[64];

/** enum ibv_wc_status of DVQ_SYNDROME_*; IBV_WC_GENERAL_ERR of an unknown one. Source: libmlx4. */
enum ibv_wc_status dvq_syndrome_wc_status(uint8_t syndrome);

/** IBV_WC_SUCCESS, or what the error CQE says. */
static inline enum ibv_wc_status
dvq_cqe_wc_status(const struct dvq_cqe *cqe)
{
	return dvq_cqe_is_error(cqe) ? dvq_syndrome_wc_status(dvq_cqe_syndrome(cqe)) :
		IBV_WC_SUCCESS;
}

/** Immediate data or invalidated key as it came, big endian. */
static inline uint32_t
dvq_cqe_imm_be(const struct dvq_cqe *cqe)
{
	return cqe->rss_hash;
}

/** Number of the QP that sent a datagram. */
static inline uint32_t
dvq_cqe_src_qp(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->g_mlpath_rqpn) & DVQ_CQE_QPN_MASK;
}

/** True when a datagram has a GRH. */
static inline bool
dvq_cqe_has_grh(const struct dvq_cqe *cqe)
{
	return (be32toh(cqe->g_mlpath_rqpn) & DVQ_CQE_GRH) != 0;
}

/** True when the received bytes are in the receive WQE, not in its buffers. */
static inline bool
dvq_cqe_is_inline(const struct dvq_cqe *cqe)
{
	return (cqe->owner_sr_opcode & (DVQ_CQE_IS_SEND | DVQ_CQE_INLINE_SCATTER)) ==
		DVQ_CQE_INLINE_SCATTER;
}

/* The rest of an error. */
void dvq_wc_error(const struct dvq_cqe *cqe, struct dvq_wc *wc);

/** Decode a CQE. Source: libmlx4. */
static inline void
dvq_wc_read(const struct dvq_cqe *cqe, struct dvq_wc *wc)
{
	uint8_t how = cqe->owner_sr_opcode;
	const struct dvq_wc_kind *kind =
		&dvq_wc_kinds[(how & DVQ_CQE_OPCODE_MASK) | (how & DVQ_CQE_IS_SEND) >> 1];
	uint32_t remote = be32toh(cqe->g_mlpath_rqpn);

	wc->qpn = be32toh(cqe->vlan_my_qpn) & DVQ_CQE_QPN_MASK;
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->imm_be = cqe->rss_hash;
	wc->src_qp = remote & DVQ_CQE_QPN_MASK;
	wc->wqe_index = be16toh(cqe->wqe_index);
	wc->opcode = kind->opcode;
	wc->status = IBV_WC_SUCCESS;
	wc->vendor_err = 0;
	if (__builtin_expect(kind->flags & DVQ_WC_SEND, 0)) {
		wc->flags = kind->flags;
		if (kind->byte_len != 0)
			wc->byte_len = kind->byte_len;
	} else {
		wc->flags = kind->flags | (uint8_t)(remote >> 31 << 4) |
			(uint8_t)((how & DVQ_CQE_INLINE_SCATTER) >> 2);
	}
	if (__builtin_expect(kind->error, 0))
		dvq_wc_error(cqe, wc);
}

/**
 * Consume, decode and give back up to @p max CQEs; how many. What their buffers and
 * WQEs hold may be used afterwards; completing the WQEs is the caller's part.
 */
static inline uint32_t
dvq_cq_poll_batch(struct dvq_cq *cq, struct dvq_wc *wc, uint32_t max)
{
	uint32_t n = 0, ready, i;
	const uint8_t *cqe;

	/* Twice at most: the CQEs before the end of the ring, then those from its start. */
	while (n < max && (ready = dvq_cq_ready(cq, max - n)) != 0) {
		cqe = (const uint8_t *)dvq_cq_entry(cq, cq->ci);
		for (i = 0; i < ready; i++, cqe += (size_t)1 << cq->cqe_shift)
			dvq_wc_read((const struct dvq_cqe *)cqe, &wc[n++]);
		cq->ci += ready;
	}
	if (n != 0)
		dvq_cq_update_ci(cq);
	return n;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_WC_H_ */
