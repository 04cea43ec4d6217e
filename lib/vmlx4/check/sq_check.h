/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_SQ_CHECK_H_
#define VMLX4_SQ_CHECK_H_

/*
 * The contract checker's view of a send queue. The engine calls these only
 * while checking is on and the adapter is locked.
 */

#include <stdbool.h>
#include <stdint.h>

struct vmlx4_qp;
struct vmlx4_sq_check;

/* State for a queue that goes to RTS; NULL without memory: then nothing is checked. */
struct vmlx4_sq_check *vmlx4_sq_check_new(struct vmlx4_qp *qp);
/* The queue goes to RESET: what was executed completes, and all is forgotten. */
void vmlx4_sq_check_end(struct vmlx4_qp *qp);

/* A doorbell named this queue. */
void vmlx4_sq_check_rung(struct vmlx4_qp *qp);
/* About to execute: how much is posted? */
void vmlx4_sq_check_backlog(struct vmlx4_qp *qp);
/*
 * One WQE of size bytes, contiguous, about to be executed. False: a part of it
 * is not there yet, so there is no point in reading on.
 */
bool vmlx4_sq_check_wqe(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size);
/* Nothing more is posted: what the prefetcher would see ahead. */
void vmlx4_sq_check_drained(struct vmlx4_qp *qp);
/* The queue has not moved for the grace period. */
void vmlx4_sq_check_idle(struct vmlx4_qp *qp);

#endif /* VMLX4_SQ_CHECK_H_ */
