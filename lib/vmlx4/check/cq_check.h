/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_CQ_CHECK_H_
#define VMLX4_CQ_CHECK_H_

/* The contract checker's view of a CQ. Called while checking is on, adapter locked. */

#include <stdint.h>

struct vmlx4_context;
struct vmlx4_cq;

/* The entry that is written next: who wrote to it last? */
void vmlx4_cq_check_owner(struct vmlx4_cq *cq);
/* The consumer's record was read: it holds ci. */
void vmlx4_cq_check_ci(struct vmlx4_cq *cq, uint32_t ci);
/* An arm doorbell of a context, in host order, before any arm is answered. */
void vmlx4_cq_check_doorbell(struct vmlx4_context *ctx, uint32_t hi, uint32_t ci);
/* From time to time. */
void vmlx4_cq_check_look(struct vmlx4_cq *cq);

#endif /* VMLX4_CQ_CHECK_H_ */
