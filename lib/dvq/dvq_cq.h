/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_CQ_H_
#define DVQ_CQ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dvq_barrier.h"
#include "dvq_check.h"
#include "dvq_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A completion queue, as the program consumes it. Filled by dvq_open(). */
struct dvq_cq {
	uint8_t *buf;                   /**< first CQE */
	uint32_t cqe_cnt;               /**< entries, a power of two */
	uint32_t ci;                    /**< running count of consumed CQEs */
	uint8_t cqe_shift;              /**< log2 of the CQE size: 5 or 6 */
	uint8_t valid_offset;           /**< of the valid 32 bytes in a CQE: 0 or 32 */
	uint32_t published;             /**< DVQ_DEBUG: what was stored to the record */
	volatile uint32_t *set_ci_db;   /**< doorbell record: consumer index */
	volatile uint32_t *arm_db;      /**< doorbell record: last arm */
	void *uar;                      /**< base of the UAR page; NULL: cannot be armed */
	uint32_t arm_sn;                /**< completion events consumed, plus one */
	uint32_t cqn;
};

/** The entry with running index @p index, written or not. */
static inline const struct dvq_cqe *
dvq_cq_entry(const struct dvq_cq *cq, uint32_t index)
{
	size_t slot = index & (cq->cqe_cnt - 1);

	return (const struct dvq_cqe *)
		(cq->buf + (slot << cq->cqe_shift) + cq->valid_offset);
}

/* The owner bit of a CQE with running index @index, once it is written. */
static inline uint8_t
dvq_cq_owner(const struct dvq_cq *cq, uint32_t index)
{
	return (index & cq->cqe_cnt) != 0 ? DVQ_CQE_OWNER : 0;
}

/**
 * The CQE @p ahead of the next one, or NULL when the adapter has not written
 * it. Consumes nothing. @p ahead is below cq->cqe_cnt, and all CQEs before it
 * must be known to be valid.
 *
 * Ordering: fields of the CQE are read after its owner byte.
 * Source: libmlx4 (owner polarity by pass; valid half of a 64-byte CQE).
 */
static inline const struct dvq_cqe *
dvq_cq_peek(const struct dvq_cq *cq, uint32_t ahead)
{
	uint32_t index = cq->ci + ahead;
	const struct dvq_cqe *cqe = dvq_cq_entry(cq, index);
	uint8_t owner = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

	if (((owner ^ dvq_cq_owner(cq, index)) & DVQ_CQE_OWNER) != 0)
		return NULL;
	dvq_barrier_owner_before_cqe();
	return cqe;
}

/* How many of @max CQEs of a @size, the first of which has this owner byte, are written. */
static inline uint32_t
dvq_cq_written(const uint8_t *owner, uint8_t expected, uint32_t max, const size_t size)
{
	uint32_t n = 0;

	/* The bytes are plain loads, so that four can be looked at together. */
	if (expected == 0)
		for (; n + 4 <= max; n += 4, owner += 4 * size) {
			if (((owner[0] | owner[size] | owner[2 * size] | owner[3 * size]) &
			     DVQ_CQE_OWNER) != 0)
				break;
		}
	else
		for (; n + 4 <= max; n += 4, owner += 4 * size)
			if ((owner[0] & owner[size] & owner[2 * size] & owner[3 * size] &
			     DVQ_CQE_OWNER) == 0)
				break;
	for (; n < max; n++, owner += size)
		if (((*owner ^ expected) & DVQ_CQE_OWNER) != 0)
			break;
	return n;
}

/**
 * How many CQEs from the next one on the adapter has written: at most @p max, and
 * none beyond the end of the ring, so that they lie side by side from
 * dvq_cq_entry(cq, cq->ci) on. Consumes nothing; add what was handled to cq->ci.
 *
 * Ordering: fields of these CQEs are read after all their owner bytes.
 */
static inline uint32_t
dvq_cq_ready(const struct dvq_cq *cq, uint32_t max)
{
	const uint8_t *owner = &dvq_cq_entry(cq, cq->ci)->owner_sr_opcode;
	uint8_t expected = dvq_cq_owner(cq, cq->ci);
	uint32_t rest = cq->cqe_cnt - (cq->ci & (cq->cqe_cnt - 1));
	uint32_t n;

	max = rest < max ? rest : max;
	dvq_barrier_compiler();
	/* With the size a constant the compiler need not keep multiples of it. */
	n = cq->cqe_shift == 6 ? dvq_cq_written(owner, expected, max, 64) :
		dvq_cq_written(owner, expected, max, 32);
	if (n != 0)
		dvq_barrier_owner_before_cqe();
	return n;
}

/**
 * Consume the next CQE; NULL when there is none. The CQE may be read until
 * dvq_cq_update_ci() lets the adapter overwrite it.
 */
static inline const struct dvq_cqe *
dvq_cq_poll(struct dvq_cq *cq)
{
	const struct dvq_cqe *cqe = dvq_cq_peek(cq, 0);

	if (cqe != NULL)
		cq->ci++;
	return cqe;
}

/**
 * Give the consumed CQEs back to the adapter. Once per burst is enough: the CQ
 * overruns only when all its entries are written and not given back.
 *
 * Ordering: after every load from the consumed CQEs. Source: libmlx4.
 */
static inline void
dvq_cq_update_ci(struct dvq_cq *cq)
{
	DVQ_DEBUG_SAME("CQ", cq->cqn, "the consumer index in its record",
		       be32toh(*cq->set_ci_db) & DVQ_CQ_CI_MASK, cq->published);
	dvq_barrier_cqe_before_ci();
	*cq->set_ci_db = htobe32(cq->ci & DVQ_CQ_CI_MASK);
#ifdef DVQ_DEBUG
	cq->published = cq->ci & DVQ_CQ_CI_MASK;
#endif
}

/**
 * Ask for one event at the next CQE from cq->ci on; @p cmd is DVQ_CQ_ARM_NEXT
 * or DVQ_CQ_ARM_SOLICITED. Poll once more afterwards: what came in between may
 * raise no event. On a 32-bit host the caller must hold a lock that covers every
 * CQ of the context, as the doorbell then takes two stores.
 *
 * Ordering: the arm record before the doorbell. Source: libmlx4, PRM.
 */
static inline void
dvq_cq_arm(struct dvq_cq *cq, uint32_t cmd)
{
	uint32_t ci = cq->ci & DVQ_CQ_CI_MASK;
	uint32_t sn_cmd = (cq->arm_sn & 3u) << 28 | cmd << 24;
	volatile uint8_t *db = (volatile uint8_t *)cq->uar + DVQ_UAR_CQ_ARM;

	*cq->arm_db = htobe32(sn_cmd | ci);
	dvq_barrier_arm_before_doorbell();
#if UINTPTR_MAX == UINT64_MAX
	*(volatile uint64_t *)db = htobe64((uint64_t)(sn_cmd | cq->cqn) << 32 | ci);
#else
	*(volatile uint32_t *)db = htobe32(sn_cmd | cq->cqn);
	*(volatile uint32_t *)(db + 4) = htobe32(ci);
#endif
}

/**
 * Count a completion event taken from the channel: the next arm then has a
 * sequence number of its own; the adapter ignores one it has served. Source: libmlx4.
 */
static inline void
dvq_cq_event_consumed(struct dvq_cq *cq)
{
	cq->arm_sn++;
}

/** DVQ_CQE_OP_ERROR, DVQ_CQE_OP_RECV_SEND on receive, DVQ_OP_* on send. */
static inline uint8_t
dvq_cqe_opcode(const struct dvq_cqe *cqe)
{
	return cqe->owner_sr_opcode & DVQ_CQE_OPCODE_MASK;
}

/** True for an error CQE: only dvq_cqe_{qpn,wqe_index,is_send,syndrome,vendor_err} hold then. */
static inline bool
dvq_cqe_is_error(const struct dvq_cqe *cqe)
{
	return dvq_cqe_opcode(cqe) == DVQ_CQE_OP_ERROR;
}

/** True when the CQE completes a send WQE. */
static inline bool
dvq_cqe_is_send(const struct dvq_cqe *cqe)
{
	return (cqe->owner_sr_opcode & DVQ_CQE_IS_SEND) != 0;
}

/** Number of the QP, or of the WQ on receive (not of the RSS QP). */
static inline uint32_t
dvq_cqe_qpn(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->vlan_my_qpn) & DVQ_CQE_QPN_MASK;
}

/** Tunnel and VLAN bits: DVQ_CQE_TUNNEL*, DVQ_CQE_CVLAN, DVQ_CQE_SVLAN. */
static inline uint32_t
dvq_cqe_vlan_bits(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->vlan_my_qpn) & ~DVQ_CQE_QPN_MASK;
}

/** VLAN tag (PCP, DEI, VID); valid with DVQ_CQE_CVLAN or DVQ_CQE_SVLAN and no time stamp. */
static inline uint16_t
dvq_cqe_vlan_tci(const struct dvq_cqe *cqe)
{
	return be16toh(cqe->sl_vid);
}

/** RSS hash in host order; 0 when the packet was not hashed. */
static inline uint32_t
dvq_cqe_rss_hash(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->rss_hash);
}

/** DVQ_CQE_ST_* of a received packet. */
static inline uint32_t
dvq_cqe_status(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->status);
}

/** Bytes written to the buffers of the receive WQE. Bound it before use. */
static inline uint32_t
dvq_cqe_byte_cnt(const struct dvq_cqe *cqe)
{
	return be32toh(cqe->byte_cnt);
}

/** Running index, 16 bits, of the completed WQE: blocks on an SQ, WQEs on an RQ. */
static inline uint16_t
dvq_cqe_wqe_index(const struct dvq_cqe *cqe)
{
	return be16toh(cqe->wqe_index);
}

/** 0xffff when the L4 checksum was verified, else the ones' complement sum. */
static inline uint16_t
dvq_cqe_checksum(const struct dvq_cqe *cqe)
{
	return be16toh(cqe->checksum);
}

/** Time stamp, 48 bits, of a CQ created with time stamps. Source: PRM. */
static inline uint64_t
dvq_cqe_timestamp(const struct dvq_cqe *cqe)
{
	uint32_t high;
	uint16_t low;

	/* Fields side by side, in two loads. */
	memcpy(&high, (const uint8_t *)cqe + offsetof(struct dvq_cqe, sl_vid), sizeof(high));
	memcpy(&low, (const uint8_t *)cqe + offsetof(struct dvq_cqe, ts_15_8), sizeof(low));
	return (uint64_t)be32toh(high) << 16 | be16toh(low);
}

/** DVQ_SYNDROME_* of an error CQE. */
static inline uint8_t
dvq_cqe_syndrome(const struct dvq_cqe *cqe)
{
	return ((const struct dvq_err_cqe *)cqe)->syndrome;
}

/** Vendor's detail of an error CQE: undocumented, worth a log line. */
static inline uint8_t
dvq_cqe_vendor_err(const struct dvq_cqe *cqe)
{
	return ((const struct dvq_err_cqe *)cqe)->vendor_err;
}

/** Name of a syndrome, "unknown syndrome" when it has none; static storage. */
const char *dvq_syndrome_str(uint8_t syndrome);

/**
 * Whether an error CQE of this syndrome on a raw Ethernet receive queue means
 * that the queue is in error. False only for a frame longer than its buffers:
 * mlx4_en sees that error, drops the frame and goes on.
 */
static inline bool
dvq_syndrome_kills_rq(uint8_t syndrome)
{
	return syndrome != DVQ_SYNDROME_LOCAL_LENGTH;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_CQ_H_ */
