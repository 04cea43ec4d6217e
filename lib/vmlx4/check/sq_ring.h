/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_SQ_RING_H_
#define VMLX4_SQ_RING_H_

/* What the checker's files on send queues share. */

#include "../hca/hca.h"

struct vmlx4_flight;
struct vmlx4_ahead;

/* What the checker remembers of a send queue, beside the ring itself. */
struct vmlx4_flight *vmlx4_sq_flight(const struct vmlx4_qp *qp);

/*
 * size bytes of the ring from stride index on, in one piece: copy holds them if
 * they run over its end.
 */
static inline const uint8_t *
vmlx4_sq_piece(const struct vmlx4_sq *sq, uint32_t index, uint32_t size, uint8_t *copy)
{
	size_t bytes = (size_t)sq->wqe_cnt << sq->stride_shift;
	size_t at = (size_t)(index & (sq->wqe_cnt - 1)) << sq->stride_shift;

	if (at + size <= bytes)
		return sq->buf + at;
	memcpy(copy, sq->buf + at, bytes - at);
	memcpy(copy + (bytes - at), sq->buf, at + size - bytes);
	return copy;
}

#endif /* VMLX4_SQ_RING_H_ */
