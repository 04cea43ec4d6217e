/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_UAR_CHECK_H_
#define VMLX4_UAR_CHECK_H_

/*
 * The contract checker's view of the pages that a context maps. Called while
 * checking is on and the adapter is locked.
 */

#include <stdint.h>

struct vmlx4_context;

/* A send doorbell, as the word stands there. */
void vmlx4_uar_check_send(struct vmlx4_context *ctx, uint32_t word);
/* The second dwords of both BlueFlame buffers, which were just taken out of them. */
void vmlx4_uar_check_blueflame(struct vmlx4_context *ctx, uint32_t first, uint32_t second);
/* From time to time: what was written where nothing is. */
void vmlx4_uar_check_look(struct vmlx4_context *ctx);

/*
 * A command is about to be carried out: what was rung before it counts as rung
 * before it.
 */
void vmlx4_check_command(struct vmlx4_context *ctx);

#endif /* VMLX4_UAR_CHECK_H_ */
