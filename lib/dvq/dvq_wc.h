/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_WC_H_
#define DVQ_WC_H_

/* Completions in the terms of verbs, of any QP. */

#include <stddef.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "dvq_cq.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DVQ_WC_SEND 1u          /**< completes a send WQE, else a receive WQE */
#define DVQ_WC_IMM 2u           /**< imm_be is immediate data */
#define DVQ_WC_INVAL 4u         /**< imm_be is the key that was invalidated */
#define DVQ_WC_INLINE 8u        /**< the received bytes are in the receive WQE */

/** A completion, decoded. */
struct dvq_wc {
	uint32_t qpn;           /**< of the QP here (a WQ's number on its receive) */
	uint32_t byte_len;      /**< received, read or atomic: of others meaningless */
	uint32_t imm_be;        /**< see DVQ_WC_IMM, DVQ_WC_INVAL */
	uint32_t remote;        /**< of a datagram: see dvq_wc_src_qp(), dvq_wc_has_grh() */
	uint8_t opcode;         /**< enum ibv_wc_opcode */
	uint8_t status;         /**< enum ibv_wc_status; others hold qpn, wqe_index, SEND only */
	uint8_t flags;          /**< DVQ_WC_* */
	uint8_t vendor_err;     /**< of an error */
	uint16_t wqe_index;     /**< running index of a WQE; of an SRQ: its number */
};

/* The four bytes from opcode on, by the last byte of a CQE without its owner bit. */
struct dvq_wc_kind {
	uint8_t opcode;
	uint8_t status;
	uint8_t flags;
	uint8_t special;        /* not all is as in other CQEs: dvq_wc_special() */
};

extern const struct dvq_wc_kind dvq_wc_kinds[128];

/** Number of the QP that sent a datagram. */
static inline uint32_t
dvq_wc_src_qp(const struct dvq_wc *wc)
{
	return wc->remote & DVQ_CQE_QPN_MASK;
}

/** True when a datagram came with a GRH: its first 40 bytes in any case are room for it. */
static inline bool
dvq_wc_has_grh(const struct dvq_wc *wc)
{
	return (wc->remote & DVQ_CQE_GRH) != 0;
}

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

/* Errors, and atomic operations, whose CQE need not say how long they are. */
void dvq_wc_special(const struct dvq_cqe *cqe, struct dvq_wc *wc);

/** Decode a CQE. Source: libmlx4. */
static inline void
dvq_wc_read(const struct dvq_cqe *cqe, struct dvq_wc *wc)
{
	const struct dvq_wc_kind *kind =
		&dvq_wc_kinds[cqe->owner_sr_opcode & (uint8_t)~DVQ_CQE_OWNER];

	wc->qpn = be32toh(cqe->vlan_my_qpn) & DVQ_CQE_QPN_MASK;
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->imm_be = cqe->rss_hash;
	wc->remote = be32toh(cqe->g_mlpath_rqpn);
	wc->wqe_index = be16toh(cqe->wqe_index);
	/* Opcode, status, flags and no vendor_err, which lie side by side. */
	memcpy((uint8_t *)wc + offsetof(struct dvq_wc, opcode), kind, sizeof(*kind));
	if (__builtin_expect(kind->special, 0))
		dvq_wc_special(cqe, wc);
}

/**
 * Consume, decode and give back up to @p max CQEs; how many. What their buffers and
 * WQEs hold may be used afterwards; completing the WQEs is the caller's part.
 */
static inline uint32_t
dvq_cq_poll_batch(struct dvq_cq *cq, struct dvq_wc *wc, uint32_t max)
{
	size_t size = (size_t)1 << cq->cqe_shift;
	const uint8_t *cqe, *end;
	uint32_t n = 0, ready;

	/* Twice at most: the CQEs before the end of the ring, then those from its start. */
	while (n < max && (ready = dvq_cq_ready(cq, max - n)) != 0) {
		cqe = (const uint8_t *)dvq_cq_entry(cq, cq->ci);
		for (end = cqe + ready * size; cqe != end; cqe += size, wc++)
			dvq_wc_read((const struct dvq_cqe *)cqe, wc);
		cq->ci += ready;
		n += ready;
	}
	if (n != 0)
		dvq_cq_update_ci(cq);
	return n;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_WC_H_ */
