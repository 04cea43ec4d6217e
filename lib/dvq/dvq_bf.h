/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_BF_H_
#define DVQ_BF_H_

/*
 * BlueFlame: the WQE is also stored to a page of the adapter, which then need not
 * read it from memory. It saves latency, not instructions.
 */

#include "dvq_sendq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;

/**
 * The BlueFlame buffers of a context. There are two, used in turn by all its queues:
 * one thread at a time, see dvq_lock.h. libmlx4 uses the same ones for an inline WQE
 * that is posted alone: do not post such ones through verbs in this context.
 */
struct dvq_bf {
	uint8_t *page;
	uint32_t size;                  /**< bytes of a buffer */
	uint32_t offset;                /**< of the buffer whose turn it is */
};

/**
 * Map the BlueFlame page of @p ctx. @p reg_size is the size of a register, half of
 * which is a buffer: no interface tells it, DVQ_BF_REG_SIZE is what mlx4_core's
 * comments and the virtual adapter have.
 *
 * @return 0; -EINVAL when @p reg_size is no power of two from 128 to a page, @p bf is
 * NULL or @p ctx is none of an open device; -EOPNOTSUPP for one of another provider; else
 * what mmap() said: -EINVAL on a card without BlueFlame. Source: libmlx4.
 */
int dvq_bf_open(struct dvq_bf *bf, struct ibv_context *ctx, uint32_t reg_size);

/** Unmap it. */
void dvq_bf_close(struct dvq_bf *bf);

/**
 * Announce by its copy, in place of the doorbell, a WQE that lies in its ring, owner
 * dword and all: the only one not announced yet, with data, and not in two pieces at the
 * ring's end. Its dword 0 has the low 16 bits of its index at DVQ_CTRL_BF_INDEX_SHIFT; its
 * dword 1 has the QPN in place of a VLAN tag. dvq_send_end_bf() does all of that.
 *
 * @param wqe    in the ring
 * @param bytes  length of the WQE, at most bf->size; its blocks are copied whole
 *
 * Ordering: the WQE in the ring before its copy; the copy is flushed at once.
 * Source: libmlx4.
 */
static inline void
dvq_bf_copy(struct dvq_bf *bf, const void *wqe, uint32_t bytes)
{
	volatile uint64_t *to = (volatile uint64_t *)(bf->page + bf->offset);
	const uint64_t *from = (const uint64_t *)wqe;
	uint32_t words = ((bytes + DVQ_SQ_BB_SIZE - 1) >> DVQ_SQ_BB_SHIFT) * 8;
	uint32_t i;

	dvq_barrier_wqe_before_blueflame();
	for (i = 0; i < words; i++)
		to[i] = from[i];
	dvq_barrier_blueflame_flush();
	bf->offset ^= bf->size;
}

/**
 * dvq_send_end() and dvq_sendq_ring() in one, for a WQE that is the only one not
 * announced yet. One that is longer than a buffer takes the ordinary way.
 *
 * Ordering: as dvq_bf_copy(). Source: libmlx4.
 */
static inline uint32_t
dvq_send_end_bf(struct dvq_send *send, uint32_t opcode, uint32_t flags, uint32_t imm_be,
		struct dvq_bf *bf)
{
	struct dvq_sendq *sq = send->sq;
	uint32_t index;

	if (send->size > bf->size) {
		index = dvq_send_end(send, opcode, flags, imm_be);
		dvq_sendq_ring(sq);
		return index;
	}
	dvq_send_write(send, flags, imm_be, sq->qpn_be);
	index = dvq_send_own(send, opcode | (sq->pi & 0xffff) << DVQ_CTRL_BF_INDEX_SHIFT);
	dvq_bf_copy(bf, send->wqe, send->size);
	return index;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_BF_H_ */
