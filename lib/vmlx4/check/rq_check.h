/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_RQ_CHECK_H_
#define VMLX4_RQ_CHECK_H_

/*
 * The contract checker's view of a receive queue: what is posted must stay as it
 * is until a frame comes. The engine calls these while the adapter is locked.
 */

#include <stdbool.h>
#include <stdint.h>

struct vmlx4_rq;
struct vmlx4_rq_check;

/* State for a queue that takes frames now, if its adapter checks. */
void vmlx4_rq_check_ready(struct vmlx4_rq *rq);
/* The adapter's counter restarts at 0; by_reset: the program asked for that. */
void vmlx4_rq_check_down(struct vmlx4_rq *rq, bool by_reset);
/* The queue is in RESET, or goes. */
void vmlx4_rq_check_end(struct vmlx4_rq *rq);

/* The record was read: before is what it said the last time. */
void vmlx4_rq_check_record(struct vmlx4_rq *rq, uint16_t before);
/* Read the record, at a time that no frame asks for it. */
void vmlx4_rq_check_look(struct vmlx4_rq *rq);
/* A frame of length bytes is about to be written to the WQE at index. */
void vmlx4_rq_check_take(struct vmlx4_rq *rq, uint16_t index, uint32_t length);

#endif /* VMLX4_RQ_CHECK_H_ */
