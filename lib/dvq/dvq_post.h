/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_POST_H_
#define DVQ_POST_H_

/*
 * One function for each operation of a struct dvq_sendq. All of them
 *
 *  - take flags as dvq_send_end() does, keys in host order, as verbs has them;
 *  - return 0, -ENOMEM when the queue is full, or -EMSGSIZE when the WQE would be
 *    longer than its stride: nothing was posted then. With DVQ_UNCHECKED they
 *    return 0, and both are the program's business;
 *  - take effect at dvq_sendq_ring() at the latest. The WQE has the running index
 *    sq->pi - 1 afterwards.
 *
 * Source of the segments of each: libmlx4.
 */

#include "dvq_rq.h"
#include "dvq_sendq.h"

#ifdef __cplusplus
extern "C" {
#endif

/** dvq_send_data() of a buffer. */
static inline int
dvq_send_sge(struct dvq_send *send, const struct dvq_sge *sge)
{
	struct dvq_data_seg *seg = (struct dvq_data_seg *)(send->wqe + send->size);

	/* Only the first dword of a block has to wait, and an empty segment is rare. */
	if (__builtin_expect((send->size & (DVQ_SQ_BB_SIZE - 1)) == 0 || sge->len == 0, 0))
		return dvq_send_data(send, sge->addr, sge->lkey, sge->len);
	DVQ_CHECK(send->size < send->sq->max_bytes, -EMSGSIZE);
	dvq_seg_from_sge(seg, sge);
	send->size += DVQ_WQE_UNIT;
	return 0;
}

static inline int
dvq_send_sges(struct dvq_send *send, const struct dvq_sge *sge, uint32_t n)
{
	uint32_t i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = dvq_send_sge(send, &sge[i]);
		if (ret != 0)
			return ret;
	}
	return 0;
}

/* A WQE of data segments only. */
static inline int
dvq_post_plain(struct dvq_sendq *sq, uint32_t opcode, const struct dvq_sge *sge, uint32_t n,
	       uint32_t imm_be, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret == 0)
		ret = dvq_send_sges(&send, sge, n);
	if (ret == 0)
		dvq_send_end(&send, opcode, flags, imm_be);
	return ret;
}

/** Send a message. */
static inline int
dvq_post_send(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n, uint32_t flags)
{
	return dvq_post_plain(sq, DVQ_OP_SEND, sge, n, 0, flags);
}

/** Send a message with immediate data, big endian or however both ends want it. */
static inline int
dvq_post_send_imm(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n, uint32_t imm_be,
		  uint32_t flags)
{
	return dvq_post_plain(sq, DVQ_OP_SEND_IMM, sge, n, imm_be, flags);
}

/** Send a message that invalidates @p rkey at its receiver. */
static inline int
dvq_post_send_inval(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n,
		    uint32_t rkey, uint32_t flags)
{
	return dvq_post_plain(sq, DVQ_OP_SEND_INVAL, sge, n, htobe32(rkey), flags);
}

/** Send a message of @p len bytes that are copied into the WQE. */
static inline int
dvq_post_send_inline(struct dvq_sendq *sq, const void *data, uint32_t len, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret == 0)
		ret = dvq_send_inline(&send, data, len);
	if (ret == 0)
		dvq_send_end(&send, DVQ_OP_SEND, flags, 0);
	return ret;
}

/* A WQE with a remote address. */
static inline int
dvq_post_rdma(struct dvq_sendq *sq, uint32_t opcode, const struct dvq_sge *sge, uint32_t n,
	      uint64_t raddr, uint32_t rkey, uint32_t imm_be, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret != 0)
		return ret;
	dvq_send_remote(&send, raddr, rkey);
	ret = dvq_send_sges(&send, sge, n);
	if (ret == 0)
		dvq_send_end(&send, opcode, flags, imm_be);
	return ret;
}

/** Write to the peer's memory. */
static inline int
dvq_post_write(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n, uint64_t raddr,
	       uint32_t rkey, uint32_t flags)
{
	return dvq_post_rdma(sq, DVQ_OP_RDMA_WRITE, sge, n, raddr, rkey, 0, flags);
}

/** Write to the peer's memory; immediate data complete a receive WQE there. */
static inline int
dvq_post_write_imm(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n, uint64_t raddr,
		   uint32_t rkey, uint32_t imm_be, uint32_t flags)
{
	return dvq_post_rdma(sq, DVQ_OP_RDMA_WRITE_IMM, sge, n, raddr, rkey, imm_be, flags);
}

/** Read from the peer's memory into the buffers of @p sge. */
static inline int
dvq_post_read(struct dvq_sendq *sq, const struct dvq_sge *sge, uint32_t n, uint64_t raddr,
	      uint32_t rkey, uint32_t flags)
{
	return dvq_post_rdma(sq, DVQ_OP_RDMA_READ, sge, n, raddr, rkey, 0, flags);
}

/** What an atomic operation works on: eight bytes there, and where the old value goes. */
struct dvq_atomic {
	uint64_t raddr;                 /**< a multiple of 8 */
	uint32_t rkey;
	struct dvq_sge result;          /**< 8 bytes */
};

/* Where and to where; the operands are still to come. */
static inline int
dvq_send_begin_atomic(struct dvq_send *send, struct dvq_sendq *sq, const struct dvq_atomic *at)
{
	int ret = dvq_send_begin(send, sq);

	if (ret == 0)
		dvq_send_remote(send, at->raddr, at->rkey);
	return ret;
}

static inline int
dvq_send_end_atomic(struct dvq_send *send, uint32_t opcode, const struct dvq_atomic *at,
		    uint32_t flags)
{
	int ret = dvq_send_sges(send, &at->result, 1);

	if (ret == 0)
		dvq_send_end(send, opcode, flags, 0);
	return ret;
}

/** Put @p swap there if @p compare is there. */
static inline int
dvq_post_cas(struct dvq_sendq *sq, const struct dvq_atomic *at, uint64_t compare, uint64_t swap,
	     uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin_atomic(&send, sq, at);

	if (ret != 0)
		return ret;
	dvq_send_atomic(&send, swap, compare);
	return dvq_send_end_atomic(&send, DVQ_OP_ATOMIC_CAS, at, flags);
}

/** Add @p add to what is there. */
static inline int
dvq_post_faa(struct dvq_sendq *sq, const struct dvq_atomic *at, uint64_t add, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin_atomic(&send, sq, at);

	if (ret != 0)
		return ret;
	dvq_send_atomic(&send, add, 0);
	return dvq_send_end_atomic(&send, DVQ_OP_ATOMIC_FAA, at, flags);
}

/**
 * The same with masks: compare the bits of @p compare_mask, replace those of @p
 * swap_mask. Needs a stride of 128 bytes. There is no verb for it. Source: mlx4_ib.
 */
static inline int
dvq_post_masked_cas(struct dvq_sendq *sq, const struct dvq_atomic *at, uint64_t compare,
		    uint64_t compare_mask, uint64_t swap, uint64_t swap_mask, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin_atomic(&send, sq, at);

	if (ret != 0)
		return ret;
	dvq_send_masked_atomic(&send, swap, swap_mask, compare, compare_mask);
	return dvq_send_end_atomic(&send, DVQ_OP_MASKED_CAS, at, flags);
}

/**
 * Add without carry out of the bits that are set in @p boundary: it makes several
 * counters of one word. There is no verb for it. Source: mlx4_ib, where the boundaries
 * stand in the place of a comparison.
 */
static inline int
dvq_post_masked_faa(struct dvq_sendq *sq, const struct dvq_atomic *at, uint64_t add,
		    uint64_t boundary, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin_atomic(&send, sq, at);

	if (ret != 0)
		return ret;
	dvq_send_atomic(&send, add, boundary);
	return dvq_send_end_atomic(&send, DVQ_OP_MASKED_FAA, at, flags);
}

/** Do nothing; completes in its turn. */
static inline int
dvq_post_nop(struct dvq_sendq *sq, uint32_t flags)
{
	return dvq_post_plain(sq, DVQ_OP_NOP, NULL, 0, 0, flags);
}

/** Invalidate a key of one's own: a bound type 2 window's. After all that is in flight. */
static inline int
dvq_post_local_inval(struct dvq_sendq *sq, uint32_t rkey, uint32_t flags)
{
	struct dvq_inval_seg *seg;
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret != 0)
		return ret;
	seg = (struct dvq_inval_seg *)dvq_send_segment(&send, sizeof(*seg));
	memset(seg, 0, sizeof(*seg));
	seg->key = htobe32(rkey);
	dvq_send_end(&send, DVQ_OP_LOCAL_INVAL, flags | DVQ_CTRL_SO, 0);
	return 0;
}

/** What to bind a memory window to. */
struct dvq_bind {
	uint64_t addr;
	uint64_t length;
	uint32_t lkey;               /**< of the region, registered with IBV_ACCESS_MW_BIND */
	uint32_t new_rkey;           /**< of the window from now on */
	uint32_t access;                /**< DVQ_BIND_ATOMIC, DVQ_BIND_WRITE, DVQ_BIND_READ */
	uint32_t type;                  /**< DVQ_BIND_TYPE_2, DVQ_BIND_ZERO_BASED */
};

/** Bind a memory window. After all that is in flight. */
static inline int
dvq_post_bind_mw(struct dvq_sendq *sq, const struct dvq_bind *bind, uint32_t flags)
{
	struct dvq_bind_seg seg = {
		.access = htobe32(bind->access), .type = htobe32(bind->type),
		.new_rkey = htobe32(bind->new_rkey), .lkey = htobe32(bind->lkey),
		.addr = htobe64(bind->addr), .length = htobe64(bind->length),
	};
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret != 0)
		return ret;
	memcpy(dvq_send_segment(&send, sizeof(seg)), &seg, sizeof(seg));
	dvq_send_end(&send, DVQ_OP_BIND_MW, flags | DVQ_CTRL_SO, 0);
	return 0;
}

static inline int
dvq_post_datagram_op(struct dvq_sendq *sq, uint32_t opcode, const struct dvq_datagram_seg *to,
		     const struct dvq_sge *sge, uint32_t n, uint32_t imm_be, uint32_t flags)
{
	struct dvq_send send;
	int ret = dvq_send_begin(&send, sq);

	if (ret != 0)
		return ret;
	dvq_send_datagram(&send, to);
	ret = dvq_send_sges(&send, sge, n);
	if (ret == 0)
		dvq_send_end(&send, opcode, flags, imm_be);
	return ret;
}

/** Send a datagram, on a UD QP. */
static inline int
dvq_post_datagram(struct dvq_sendq *sq, const struct dvq_datagram_seg *to,
		  const struct dvq_sge *sge, uint32_t n, uint32_t flags)
{
	return dvq_post_datagram_op(sq, DVQ_OP_SEND, to, sge, n, 0, flags);
}

/** Send a datagram with immediate data. */
static inline int
dvq_post_datagram_imm(struct dvq_sendq *sq, const struct dvq_datagram_seg *to,
		      const struct dvq_sge *sge, uint32_t n, uint32_t imm_be, uint32_t flags)
{
	return dvq_post_datagram_op(sq, DVQ_OP_SEND_IMM, to, sge, n, imm_be, flags);
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_POST_H_ */
