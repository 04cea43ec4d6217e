/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_DEVICE_H_
#define DVQ_DEVICE_H_

/*
 * What else mlx4dv has for a program with direct queues: calls of set-up. All return a
 * negative errno: -EINVAL for a context that is closed, -EOPNOTSUPP for one of another
 * provider, and what mlx4dv says.
 */

#include <stddef.h>
#include <stdint.h>

#include "dvq_cq.h"
#include "dvq_rq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_ah;
struct ibv_context;
struct ibv_qp;
struct ibv_qp_init_attr_ex;

/** What the data path has to know of a device. */
struct dvq_device {
	uint32_t max_inline_recv;   /**< longest message that can be received into a WQE */
};

/** Ask it: mlx4dv_query_device(). -ENOTSUP: its structures have a newer version. */
int dvq_query_device(struct ibv_context *ctx, struct dvq_device *device);

/**
 * The next @p wqs WQs of the context get numbers in sequence, as a table of an RSS QP
 * wants them: MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ. -EINVAL unless a power of two.
 * A WQ that is destroyed before all of them exist ends the range.
 */
int dvq_set_wqs_range(struct ibv_context *ctx, uint32_t wqs);

/**
 * Queues of the context lie in memory of the program's: page-aligned from @p alloc,
 * which gets @p data. Set it before the first queue is created and leave it until the
 * last one is destroyed: libmlx4 gives every buffer to the @p release that is set then.
 * -EINVAL for one function without the other. MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS.
 */
int dvq_set_allocator(struct ibv_context *ctx, void *(*alloc)(size_t size, void *data),
		      void (*release)(void *memory, void *data), void *data);

/**
 * ibv_create_qp_ex() of a QP that receives messages up to @p inline_recv bytes into
 * their WQE (mlx4dv_create_qp()): one memory access less. Its CQEs say so, see
 * dvq_cqe_is_inline(); dvq_rq_inline_data() has the bytes.
 *
 * @return NULL with errno set: EINVAL when it is more than the device can.
 */
struct ibv_qp *dvq_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
			     uint32_t inline_recv);

/**
 * The bytes of a message that was received into its WQE, until the WQE is posted
 * again; NULL when it lies in the buffers. @p index is the running index of the WQE.
 * Source: the bit and the place: kernel's mlx4_ib.
 */
static inline const void *
dvq_rq_inline_data(const struct dvq_rq *rq, uint32_t index, const struct dvq_cqe *cqe)
{
	return (cqe->owner_sr_opcode & DVQ_CQE_INLINE_SCATTER) != 0 ? dvq_rq_wqe(rq, index) : NULL;
}

/**
 * Where datagrams to @p qpn at @p ah go, for dvq_post_datagram(). libmlx4 keeps what an
 * address handle stands for to itself, so a WQE is made with it in a QP of its own, which
 * never gets to the adapter. A call for each peer, not for each datagram.
 *
 * @return 0; -ENOTSUP when libmlx4 did not write the segment; else what creating that
 * QP said.
 */
int dvq_datagram_init(struct dvq_datagram_seg *to, struct ibv_ah *ah, uint32_t qpn,
		      uint32_t qkey);

#ifdef __cplusplus
}
#endif

#endif /* DVQ_DEVICE_H_ */
