/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_SQ_H_
#define DVQ_SQ_H_

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

#ifdef __SSE2__
typedef uint32_t dvq_u32x4 __attribute__((vector_size(16), may_alias));
#endif

/**
 * A send queue of 64-byte strides, as the program fills it. WQEs are packed: each
 * takes as many blocks as it needs and may wrap from the end of the ring to its
 * start. Filled by dvq_open(), made usable by dvq_sq_init().
 */
struct dvq_sq {
	uint8_t *buf;                   /**< first block */
	uint32_t bb_cnt;                /**< blocks, a power of two */
	uint32_t pi;                    /**< running count of blocks posted */
	uint32_t ci;                    /**< running count of blocks completed */
	uint32_t headroom;              /**< blocks never filled: the prefetcher's */
	volatile uint32_t *db;          /**< send doorbell in the UAR page */
	uint32_t qpn_be;                /**< what the doorbell wants: QPN << 8 */
};

/** A WQE under construction. Nothing of it is visible before dvq_wqe_end(). */
struct dvq_wqe {
	struct dvq_sq *sq;
	uint32_t size;                       /**< bytes so far, control segment included */
	uint32_t head[DVQ_WQE_MAX_BLOCKS];   /**< dword 0 of blocks 1.., written at the end */
};

/** Blocks that a WQE of @p bytes (control segment included) takes. */
static inline uint32_t
dvq_sq_blocks(uint32_t bytes)
{
	return (bytes + DVQ_SQ_BB_SIZE - 1) >> DVQ_SQ_BB_SHIFT;
}

/** The block with running index @p index. */
static inline uint8_t *
dvq_sq_block(const struct dvq_sq *sq, uint32_t index)
{
	return sq->buf + ((size_t)(index & (sq->bb_cnt - 1)) << DVQ_SQ_BB_SHIFT);
}

/** Blocks that can be filled now: free ones but the headroom. */
static inline uint32_t
dvq_sq_room(const struct dvq_sq *sq)
{
	return sq->bb_cnt - sq->headroom - (sq->pi - sq->ci);
}

/**
 * Make the queue usable: empty, every block stamped as not written. Call it when
 * the QP has reached RTS and before the first WQE: libmlx4 writes a pattern of
 * its own on the way to INIT, which is no stamp for the later blocks of a WQE.
 * Source: mlx4_en stamps after RTS too.
 */
void dvq_sq_init(struct dvq_sq *sq);

/**
 * Forget every WQE, completed or not, once the QP was cycled through RESET and
 * is ready to send again. The same as dvq_sq_init().
 */
void dvq_sq_reset(struct dvq_sq *sq);

/** Start a WQE at sq->pi. It can be abandoned at any time before dvq_wqe_end(). */
static inline void
dvq_wqe_begin(struct dvq_wqe *wqe, struct dvq_sq *sq)
{
	wqe->sq = sq;
	wqe->size = sizeof(struct dvq_ctrl_seg);
}

/* Where byte @offset of the WQE lies; a WQE wraps at the end of the ring. */
static inline uint8_t *
dvq_wqe_at(const struct dvq_wqe *wqe, uint32_t offset)
{
	return dvq_sq_block(wqe->sq, wqe->sq->pi + (offset >> DVQ_SQ_BB_SHIFT)) +
		(offset & (DVQ_SQ_BB_SIZE - 1));
}

/*
 * Store a dword of the WQE. The first one of a later block waits for the end:
 * the prefetcher takes a block for complete once its first dword is no stamp.
 */
static inline void
dvq_wqe_store(struct dvq_wqe *wqe, uint32_t offset, uint32_t value_be)
{
	if ((offset & (DVQ_SQ_BB_SIZE - 1)) == 0)
		wqe->head[offset >> DVQ_SQ_BB_SHIFT] = value_be;
	else
		*(uint32_t *)dvq_wqe_at(wqe, offset) = value_be;
}

/**
 * Append a data segment of @p len bytes, below 2^31; an empty one is encoded as
 * such, as a count of 0 means 2^31 bytes. The memory belongs to the adapter
 * until the WQE completes.
 *
 * @return 0, or -EMSGSIZE when the WQE is full (1008 bytes).
 */
static inline int
dvq_wqe_data(struct dvq_wqe *wqe, uint64_t addr, uint32_t lkey_be, uint32_t len)
{
	uint32_t offset = wqe->size;
	struct dvq_data_seg *seg = (struct dvq_data_seg *)dvq_wqe_at(wqe, offset);

	if (offset >= DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT)
		return -EMSGSIZE;
	seg->addr = htobe64(addr);
	seg->lkey = lkey_be;
	dvq_wqe_store(wqe, offset, htobe32(len != 0 ? len : DVQ_SEG_EMPTY));
	wqe->size = offset + DVQ_WQE_UNIT;
	return 0;
}

/**
 * Append @p len bytes by value, as inline segments that each end with their
 * block. @p data is free for reuse on return.
 *
 * @return 0, or -EMSGSIZE when they do not fit: the WQE is then as before.
 * Source: libmlx4.
 */
int dvq_wqe_inline(struct dvq_wqe *wqe, const void *data, uint32_t len);

/**
 * Make the WQE an LSO one: @p hdr_len bytes of packet headers, which the adapter
 * repeats before every @p mss bytes of the data segments that follow. Must be
 * the first segment; end the WQE with DVQ_OP_LSO.
 *
 * @return 0; -EINVAL when it is not the first or @p hdr_len is 0; -EMSGSIZE when
 * the headers do not fit. Source: mlx4_en.
 */
int dvq_wqe_lso(struct dvq_wqe *wqe, const void *hdr, uint32_t hdr_len, uint16_t mss);

/* The control segment at sq->pi but for dword 0, for a WQE of @units units. */
static inline void
dvq_ctrl_fill(const struct dvq_sq *sq, uint32_t units, uint32_t vlan, uint32_t flags,
	      const uint8_t *dmac)
{
	struct dvq_ctrl_seg *ctrl = (struct dvq_ctrl_seg *)dvq_sq_block(sq, sq->pi);
	uint32_t imm = 0;

	flags |= DVQ_CTRL_SE;
	if (dmac != NULL) {
		flags |= (uint32_t)dmac[0] << 24 | (uint32_t)dmac[1] << 16;
		memcpy(&imm, dmac + 2, sizeof(imm));
	}
	ctrl->vlan_ds = htobe32(vlan | units);
	ctrl->flags = htobe32(flags);
	ctrl->imm = imm;
}

/* DVQ_DEBUG: the block at sq->pi must still be of the pass before. */
static inline void
dvq_sq_debug(const struct dvq_sq *sq)
{
#ifdef DVQ_DEBUG
	uint32_t stale = (sq->pi & sq->bb_cnt) != 0 ? 0 : DVQ_CTRL_OWNER;
	uint32_t dword = be32toh(*(const volatile uint32_t *)dvq_sq_block(sq, sq->pi));

	DVQ_DEBUG_SAME("send queue of QP", be32toh(sq->qpn_be) >> 8,
		       "the owner bit of the next WQE", dword & DVQ_CTRL_OWNER, stale);
#else
	(void)sq;
#endif
}

/* Dword 0 of the control segment at sq->pi: the adapter may execute the WQE. */
static inline void
dvq_ctrl_own(const struct dvq_sq *sq, uint32_t opcode)
{
	uint8_t *block = dvq_sq_block(sq, sq->pi);

	dvq_sq_debug(sq);
	if ((sq->pi & sq->bb_cnt) != 0)
		opcode |= DVQ_CTRL_OWNER;
	dvq_barrier_wqe_before_owner();
	*(volatile uint32_t *)block = htobe32(opcode);
}

/**
 * Finish the WQE and hand it to the adapter, which may execute it at once; it is
 * certain to after dvq_sq_ring(). The caller has checked that dvq_sq_room() is
 * at least dvq_sq_blocks(wqe->size).
 *
 * @param opcode  DVQ_OP_*; may hold DVQ_CTRL_INNER_* bits
 * @param vlan    0, or tag << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_CVLAN (or SVLAN)
 * @param flags   DVQ_CTRL_L4_CSUM, DVQ_CTRL_IP_CSUM, DVQ_CTRL_CQE, DVQ_CTRL_FL
 * @param dmac    destination MAC of the frame, by which the adapter finds
 *                receivers on the same port; NULL to send to the wire only
 * @return running index of the WQE: its low 16 bits come back in the CQE
 *
 * Ordering: later blocks before their first dwords, those before the owner
 * dword. All of dword 1 is written: bytes of an older WQE there would insert a
 * VLAN tag. Source: libmlx4, mlx4_en.
 */
static inline uint32_t
dvq_wqe_end(struct dvq_wqe *wqe, uint32_t opcode, uint32_t vlan, uint32_t flags,
	    const uint8_t *dmac)
{
	struct dvq_sq *sq = wqe->sq;
	uint32_t first = sq->pi;
	uint32_t blocks = dvq_sq_blocks(wqe->size);
	uint32_t i;

	dvq_ctrl_fill(sq, wqe->size / DVQ_WQE_UNIT, vlan, flags, dmac);
	if (blocks > 1) {
		dvq_barrier_block_before_head();
		for (i = blocks - 1; i != 0; i--)
			*(volatile uint32_t *)dvq_sq_block(sq, first + i) = wqe->head[i];
	}
	if ((opcode & DVQ_CTRL_OPCODE_MASK) == DVQ_OP_LSO)
		opcode |= DVQ_CTRL_RR;
	dvq_ctrl_own(sq, opcode);
	sq->pi = first + blocks;
	return first;
}

/* ---- WQEs of one block ---- */

/** Data segments that fit the first block of a WQE, behind its control segment. */
#define DVQ_SQ_BLOCK_SEGS (DVQ_UNITS_PER_BB - 1)

/**
 * The data segments of a WQE of one block at sq->pi: fill the first ones with
 * dvq_seg_set() and hand them over with dvq_sq_post_block(). The short way to
 * what dvq_wqe_begin(), dvq_wqe_data() and dvq_wqe_end() do. Nothing of them is
 * visible before, so that they can be abandoned at any time.
 */
static inline struct dvq_data_seg *
dvq_sq_block_segs(const struct dvq_sq *sq)
{
	return (struct dvq_data_seg *)dvq_sq_block(sq, sq->pi) + 1;
}

/** Write one data segment. @p len is 1..2^31-1: 0 would mean 2^31. */
static inline void
dvq_seg_set(struct dvq_data_seg *seg, uint64_t addr, uint32_t lkey_be, uint32_t len)
{
	seg->byte_count = htobe32(len);
	seg->lkey = lkey_be;
	seg->addr = htobe64(addr);
}

/**
 * Hand over the block at sq->pi with its first @p n data segments, 0 up to
 * DVQ_SQ_BLOCK_SEGS. The caller has checked that dvq_sq_room() is at least 1.
 * Other parameters, the result and the ordering are those of dvq_wqe_end();
 * DVQ_OP_LSO is not for this form.
 */
static inline uint32_t
dvq_sq_post_block(struct dvq_sq *sq, uint32_t n, uint32_t opcode, uint32_t vlan,
		  uint32_t flags, const uint8_t *dmac)
{
	dvq_ctrl_fill(sq, n + 1, vlan, flags, dmac);
	dvq_ctrl_own(sq, opcode);
	return sq->pi++;
}

/** A control segment as it lies in the ring, big endian. */
struct dvq_ctrl_be {
	uint32_t word[4];               /**< dword 0 with its owner bit first */
} __attribute__((aligned(16)));

/**
 * Hand over the WQE whose data segments are written and whose control segment goes to
 * @p block, of one block. Ordering: as dvq_sq_post_block(). x86 stores the segment at
 * once, which the adapter sees at once: processors with vectors store 16 aligned bytes
 * atomically. The caller adds 1 to sq->pi.
 */
static inline void
dvq_ctrl_store(uint8_t *block, const struct dvq_ctrl_be *ctrl)
{
#ifdef __SSE2__
	dvq_barrier_wqe_before_owner();
	*(volatile dvq_u32x4 *)block = *(const dvq_u32x4 *)ctrl->word;
#else
	uint32_t *to = (uint32_t *)block;

	to[1] = ctrl->word[1];
	to[2] = ctrl->word[2];
	to[3] = ctrl->word[3];
	dvq_barrier_wqe_before_owner();
	*(volatile uint32_t *)block = ctrl->word[0];
#endif
}

/**
 * The same as dvq_sq_ring() by way of a mapping of one's own of the doorbell page:
 * a process that shares the queue has its context's page elsewhere.
 *
 * @param uar   where offset 0 of the page is mapped, for writing
 * Source: libmlx4 (offset of the doorbell in the page).
 */
static inline void
dvq_sq_ring_at(const struct dvq_sq *sq, void *uar)
{
	dvq_barrier_owner_before_doorbell();
	*(volatile uint32_t *)((uint8_t *)uar + DVQ_UAR_SEND_DB) = sq->qpn_be;
}

/**
 * Tell the adapter that there are new WQEs; once per batch.
 * Ordering: all owner dwords before the doorbell. Source: libmlx4.
 */
static inline void
dvq_sq_ring(const struct dvq_sq *sq)
{
	dvq_barrier_owner_before_doorbell();
	*sq->db = sq->qpn_be;
}

/*
 * What dword 0 of a completed block becomes: a stamp that the next pass takes as
 * invalid, which is the polarity that this pass had as valid.
 */
static inline uint32_t
dvq_sq_stamp(const struct dvq_sq *sq, uint32_t index)
{
	return htobe32(DVQ_SQ_STAMP | ((index & sq->bb_cnt) != 0 ? DVQ_CTRL_OWNER : 0));
}

/* Stamp @n blocks that lie side by side. */
static inline void
dvq_sq_stamp_run(uint8_t *block, uint32_t n, uint32_t stamp)
{
	for (; n >= 4; n -= 4, block += 4 * DVQ_SQ_BB_SIZE) {
		*(volatile uint32_t *)block = stamp;
		*(volatile uint32_t *)(block + DVQ_SQ_BB_SIZE) = stamp;
		*(volatile uint32_t *)(block + 2 * DVQ_SQ_BB_SIZE) = stamp;
		*(volatile uint32_t *)(block + 3 * DVQ_SQ_BB_SIZE) = stamp;
	}
	for (; n != 0; n--, block += DVQ_SQ_BB_SIZE)
		*(volatile uint32_t *)block = stamp;
}

/* Take back the first @count blocks in flight. Up to the ring's end all stamps are the same. */
static inline void
dvq_sq_release(struct dvq_sq *sq, uint32_t count)
{
	uint32_t slot, run;

	while (count != 0) {
		slot = sq->ci & (sq->bb_cnt - 1);
		run = sq->bb_cnt - slot < count ? sq->bb_cnt - slot : count;
		dvq_sq_stamp_run(dvq_sq_block(sq, slot), run, dvq_sq_stamp(sq, sq->ci));
		sq->ci += run;
		count -= run;
	}
}

/**
 * Take back the blocks of all WQEs up to and with the one at @p wqe_index, as a
 * CQE names it: they are stamped and count as room. Buffers of those WQEs are
 * the program's again.
 *
 * @return blocks taken back, at least 1; -ERANGE when no WQE in flight has that
 * index: nothing was changed. Source: mlx4_en.
 */
static inline int
dvq_sq_complete(struct dvq_sq *sq, uint16_t wqe_index)
{
	uint32_t used = sq->pi - sq->ci;
	uint32_t count = (uint16_t)(wqe_index - (uint16_t)sq->ci);
	const struct dvq_ctrl_seg *ctrl;
	uint32_t units;

	if (count >= used)
		return -ERANGE;
	ctrl = (const struct dvq_ctrl_seg *)dvq_sq_block(sq, sq->ci + count);
	units = be32toh(ctrl->vlan_ds) & DVQ_CTRL_DS_MASK;
	count += dvq_sq_blocks(units * DVQ_WQE_UNIT);
	if (units == 0 || count > used)
		return -ERANGE;
	dvq_sq_release(sq, count);
	return (int)count;
}

/**
 * The same for a queue that has had WQEs of one block only: a block that held nothing
 * else says by its owner bit that it is not posted, and needs no stamp. Before the first
 * longer WQE, call dvq_sq_stamp_free(), and dvq_sq_complete() from then on.
 */
static inline int
dvq_sq_complete_single(struct dvq_sq *sq, uint16_t wqe_index)
{
	uint32_t count = (uint16_t)(wqe_index - (uint16_t)sq->ci);

	if (count >= sq->pi - sq->ci)
		return -ERANGE;
	sq->ci += count + 1;
	return (int)count + 1;
}

/**
 * Stamp the blocks that are free. The adapter may have read those of the next
 * DVQ_SQ_PREFETCH bytes already: they must get WQEs of one block, such as NOPs.
 */
void dvq_sq_stamp_free(struct dvq_sq *sq);

/**
 * The same as dvq_sq_complete() without the WQE at @p wqe_index: for the first error
 * CQE of a queue, which proves that all WQEs before the failed one were sent. The adapter
 * sends nothing more until the QP was cycled through RESET.
 *
 * @return blocks taken back, 0 when the first WQE in flight failed; -ERANGE as above.
 */
static inline int
dvq_sq_complete_before(struct dvq_sq *sq, uint16_t wqe_index)
{
	uint32_t count = (uint16_t)(wqe_index - (uint16_t)sq->ci);

	if (count >= sq->pi - sq->ci)
		return -ERANGE;
	dvq_sq_release(sq, count);
	return (int)count;
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_SQ_H_ */
