/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_AHEAD_H_
#define VMLX4_AHEAD_H_

/*
 * The prefetcher as an adversary: it reads blocks of a send queue before they are
 * announced, as the card may, at moments drawn by lot. A block that looked written
 * then must be what is executed later.
 */

#include <stdint.h>

struct vmlx4_ahead;
struct vmlx4_qp;

struct vmlx4_ahead *vmlx4_ahead_new(void);

/* Read up to 2 KiB from the head on, now. */
void vmlx4_ahead_read(struct vmlx4_qp *qp, struct vmlx4_ahead *ahead);
/* The WQE at the head, of size bytes and contiguous, is about to be executed. */
void vmlx4_ahead_compare(struct vmlx4_qp *qp, struct vmlx4_ahead *ahead, const uint8_t *wqe,
	uint32_t size);

#endif /* VMLX4_AHEAD_H_ */
