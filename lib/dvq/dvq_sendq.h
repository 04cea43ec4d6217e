/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_SENDQ_H_
#define DVQ_SENDQ_H_

/*
 * The send queue of any QP: one WQE per stride, whatever the stride. For raw
 * Ethernet at full rate there is dvq_sq.h, whose WQEs are packed. dvq_post.h has a
 * function for each operation; they are made of what stands here.
 */

#include <errno.h>
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

/** A send queue as the program fills it. Filled by dvq_open(), usable from RTS on. */
struct dvq_sendq {
	uint8_t *buf;                   /**< first stride */
	uint32_t cnt;                   /**< strides, a power of two */
	uint32_t pi;                    /**< running count of WQEs posted */
	uint32_t ci;                    /**< running count of WQEs completed */
	uint32_t limit;                 /**< WQEs in flight at most: the rest is the prefetcher's */
	uint32_t max_bytes;             /**< of a WQE, control segment included */
	uint32_t wide;                  /**< index behind the last WQE of more than a block */
	volatile uint32_t *db;          /**< send doorbell in the UAR page */
	uint32_t qpn_be;                /**< what the doorbell wants: QPN << 8 */
	uint8_t shift;                  /**< log2 of the stride: 6 to 10 */
};

/** A WQE under construction. Nothing of it is visible before dvq_send_end(). */
struct dvq_send {
	struct dvq_sendq *sq;
	uint8_t *wqe;
	uint32_t size;                       /**< bytes so far, control segment included */
	uint32_t head[DVQ_WQE_MAX_BLOCKS];   /**< dword 0 of blocks 1.., written at the end */
};

/** WQEs that can be posted now. */
static inline uint32_t
dvq_sendq_room(const struct dvq_sendq *sq)
{
	return sq->limit - (sq->pi - sq->ci);
}

/** The WQE with running index @p index. */
static inline uint8_t *
dvq_sendq_wqe(const struct dvq_sendq *sq, uint32_t index)
{
	return sq->buf + ((size_t)(index & (sq->cnt - 1)) << sq->shift);
}

/**
 * Forget every WQE, completed or not, once the QP was cycled through RESET. On its
 * way to INIT libmlx4 makes the whole ring invalid.
 */
static inline void
dvq_sendq_reset(struct dvq_sendq *sq)
{
	sq->pi = 0;
	sq->ci = 0;
	sq->wide = 0;
}

/* DVQ_DEBUG: the stride at sq->pi must still be of the pass before. */
static inline void
dvq_sendq_debug(const struct dvq_sendq *sq)
{
#ifdef DVQ_DEBUG
	uint32_t stale = (sq->pi & sq->cnt) != 0 ? 0 : DVQ_CTRL_OWNER;
	uint32_t dword = be32toh(*(const volatile uint32_t *)dvq_sendq_wqe(sq, sq->pi));

	DVQ_DEBUG_SAME("send queue of QP", be32toh(sq->qpn_be) >> 8,
		       "the owner bit of the next WQE", dword & DVQ_CTRL_OWNER, stale);
#else
	(void)sq;
#endif
}

/**
 * Start a WQE. It can be abandoned at any time before dvq_send_end().
 *
 * @return 0, or -ENOMEM when the queue is full: complete WQEs first.
 */
static inline int
dvq_send_begin(struct dvq_send *send, struct dvq_sendq *sq)
{
	send->sq = sq;
	send->wqe = dvq_sendq_wqe(sq, sq->pi);
	send->size = sizeof(struct dvq_ctrl_seg);
	DVQ_CHECK(dvq_sendq_room(sq) != 0, -ENOMEM);
	dvq_sendq_debug(sq);
	return 0;
}

/*
 * Store a dword. The first one of a later block waits for the end: the prefetcher
 * takes a block for complete once its first dword is no stamp.
 */
static inline void
dvq_send_store(struct dvq_send *send, uint32_t offset, uint32_t value_be)
{
	if ((offset & (DVQ_SQ_BB_SIZE - 1)) == 0)
		send->head[offset >> DVQ_SQ_BB_SHIFT] = value_be;
	else
		*(uint32_t *)(send->wqe + offset) = value_be;
}

/* A segment that never starts a block: behind the control segment, 16 bytes aligned. */
static inline void *
dvq_send_segment(struct dvq_send *send, uint32_t size)
{
	void *segment = send->wqe + send->size;

	send->size += size;
	return segment;
}

/**
 * Append where an RDMA or atomic operation goes. Must be the first segment.
 *
 * @param rkey  remote key, host order
 */
static inline void
dvq_send_remote(struct dvq_send *send, uint64_t addr, uint32_t rkey)
{
	struct dvq_raddr_seg *seg =
		(struct dvq_raddr_seg *)dvq_send_segment(send, sizeof(*seg));

	seg->addr = htobe64(addr);
	seg->rkey = htobe32(rkey);
	seg->reserved = 0;
}

/**
 * Append the operands of DVQ_OP_ATOMIC_*, host order; behind dvq_send_remote(). Of
 * DVQ_OP_MASKED_FAA the second are the boundaries.
 */
static inline void
dvq_send_atomic(struct dvq_send *send, uint64_t swap_add, uint64_t compare)
{
	struct dvq_atomic_seg *seg =
		(struct dvq_atomic_seg *)dvq_send_segment(send, sizeof(*seg));

	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
}

/** Append the operands of DVQ_OP_MASKED_CAS, host order; behind dvq_send_remote(). */
static inline void
dvq_send_masked_atomic(struct dvq_send *send, uint64_t swap_add, uint64_t swap_add_mask,
		       uint64_t compare, uint64_t compare_mask)
{
	struct dvq_masked_atomic_seg *seg =
		(struct dvq_masked_atomic_seg *)dvq_send_segment(send, sizeof(*seg));

	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
	seg->swap_add_mask = htobe64(swap_add_mask);
	seg->compare_mask = htobe64(compare_mask);
}

/**
 * Append where a datagram goes; must be the first segment of each WQE of a UD QP.
 * @p to is what dvq_datagram_init() made of an address handle.
 */
static inline void
dvq_send_datagram(struct dvq_send *send, const struct dvq_datagram_seg *to)
{
	memcpy(dvq_send_segment(send, sizeof(*to)), to, sizeof(*to));
}

/**
 * Append a data segment of @p len bytes, below 2^31; an empty one is encoded as
 * such, as a count of 0 means 2^31 bytes. The memory belongs to the adapter until
 * the WQE completes.
 *
 * @return 0, or -EMSGSIZE when the WQE is as long as its stride.
 */
static inline int
dvq_send_data(struct dvq_send *send, uint64_t addr, uint32_t lkey, uint32_t len)
{
	uint32_t offset = send->size;
	struct dvq_data_seg *seg = (struct dvq_data_seg *)(send->wqe + offset);

	DVQ_CHECK(offset < send->sq->max_bytes, -EMSGSIZE);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
	dvq_send_store(send, offset, htobe32(len != 0 ? len : DVQ_SEG_EMPTY));
	send->size = offset + DVQ_WQE_UNIT;
	return 0;
}

/* The whole of dvq_send_inline(). */
int dvq_send_inline_blocks(struct dvq_send *send, const void *data, uint32_t len);

/**
 * Append @p len bytes by value, as inline segments that each end with their block.
 * @p data is free for reuse on return.
 *
 * @return 0, or -EMSGSIZE when they do not fit: the WQE is then as before.
 * Source: libmlx4.
 */
static inline int
dvq_send_inline(struct dvq_send *send, const void *data, uint32_t len)
{
	uint32_t offset = send->size;
	uint32_t in_block = offset & (DVQ_SQ_BB_SIZE - 1);

	/* The last unit of a stride of 1024 bytes is no WQE's. */
	if (in_block == 0 || in_block + sizeof(struct dvq_inline_seg) + len > DVQ_SQ_BB_SIZE ||
	    offset >= DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT)
		return dvq_send_inline_blocks(send, data, len);
	*(uint32_t *)(send->wqe + offset) = htobe32(DVQ_SEG_INLINE | len);
	memcpy(send->wqe + offset + sizeof(struct dvq_inline_seg), data, len);
	send->size = (offset + (uint32_t)sizeof(struct dvq_inline_seg) + len +
		      DVQ_WQE_UNIT - 1) & ~(DVQ_WQE_UNIT - 1);
	return 0;
}

/**
 * Append @p hdr_len bytes of packet headers, which the adapter repeats before every
 * @p mss bytes of the data segments that follow; end the WQE with DVQ_OP_LSO. On a
 * UD QP it follows the datagram, on a raw one the control segment.
 *
 * @return 0; -EINVAL when @p hdr_len is 0; -EMSGSIZE when they do not fit: the WQE
 * is then as before. Source: mlx4_en, mlx4_ib.
 */
int dvq_send_lso(struct dvq_send *send, const void *hdr, uint32_t hdr_len, uint16_t mss);

/* All of the WQE but its owner dword, in the order that the prefetcher wants. */
static inline void
dvq_send_write(struct dvq_send *send, uint32_t flags, uint32_t imm_be, uint32_t qpn_be)
{
	struct dvq_ctrl_seg *ctrl = (struct dvq_ctrl_seg *)send->wqe;
	uint32_t blocks = (send->size + DVQ_SQ_BB_SIZE - 1) >> DVQ_SQ_BB_SHIFT;
	uint32_t i;

	ctrl->vlan_ds = htobe32((flags & DVQ_CTRL_FENCE) | send->size / DVQ_WQE_UNIT) | qpn_be;
	ctrl->flags = htobe32(flags & ~DVQ_CTRL_FENCE);
	ctrl->imm = imm_be;
	if (blocks > 1) {
		dvq_barrier_block_before_head();
		for (i = blocks - 1; i != 0; i--)
			*(volatile uint32_t *)(send->wqe + i * DVQ_SQ_BB_SIZE) = send->head[i];
		send->sq->wide = send->sq->pi + 1;
	}
}

/* The owner dword: the adapter may execute the WQE. Returns its index. */
static inline uint32_t
dvq_send_own(struct dvq_send *send, uint32_t dword0)
{
	struct dvq_sendq *sq = send->sq;

	if ((sq->pi & sq->cnt) != 0)
		dword0 |= DVQ_CTRL_OWNER;
	if ((dword0 & DVQ_CTRL_OPCODE_MASK) == DVQ_OP_LSO)
		dword0 |= DVQ_CTRL_RR;
	dvq_barrier_wqe_before_owner();
	*(volatile uint32_t *)send->wqe = htobe32(dword0);
	return sq->pi++;
}

/**
 * Finish the WQE and hand it to the adapter, which may execute it at once; it is
 * certain to after dvq_sendq_ring().
 *
 * @param opcode  DVQ_OP_*
 * @param flags   DVQ_CTRL_CQE for a completion, DVQ_CTRL_SE for a solicited event
 *                (on raw Ethernet always set), DVQ_CTRL_FENCE to wait for reads and
 *                atomics before it, DVQ_CTRL_SO, DVQ_CTRL_IP_CSUM, DVQ_CTRL_L4_CSUM
 * @param imm_be  immediate data or the key to invalidate, big endian; else 0
 * @return running index of the WQE: its low 16 bits come back in the CQE
 *
 * Ordering: later blocks before their first dwords, those before the owner dword.
 * Source: libmlx4.
 */
static inline uint32_t
dvq_send_end(struct dvq_send *send, uint32_t opcode, uint32_t flags, uint32_t imm_be)
{
	dvq_send_write(send, flags, imm_be, 0);
	return dvq_send_own(send, opcode);
}

/**
 * Tell the adapter that there are new WQEs; once per batch.
 * Ordering: all owner dwords before the doorbell. Source: libmlx4.
 */
static inline void
dvq_sendq_ring(const struct dvq_sendq *sq)
{
	dvq_barrier_owner_before_doorbell();
	*sq->db = sq->qpn_be;
}

/* Stamp the later blocks of the oldest @n WQEs, so that they read as not written. */
void dvq_sendq_stamp(struct dvq_sendq *sq, uint32_t n);

/**
 * Take back all WQEs up to and with the one at @p wqe_index, as a CQE names it; their
 * buffers are the program's again.
 *
 * @return WQEs taken back, at least 1; -ERANGE when none in flight has that index:
 * nothing was changed. Source: libmlx4.
 */
static inline int
dvq_sendq_complete(struct dvq_sendq *sq, uint16_t wqe_index)
{
	uint32_t n = (uint16_t)(wqe_index - (uint16_t)sq->ci) + 1u;

	if (n > sq->pi - sq->ci)
		return -ERANGE;
	if ((int32_t)(sq->wide - sq->ci) > 0)
		dvq_sendq_stamp(sq, n);
	sq->ci += n;
	return (int)n;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_SENDQ_H_ */
