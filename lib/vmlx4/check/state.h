/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_CHECK_STATE_H_
#define VMLX4_CHECK_STATE_H_

/* What the contract checker remembers of the adapter as a whole. */

#include "../hca/hca.h"

#define VMLX4_SCATTERED 4096u /* frames; a power of two */

struct vmlx4_check_state {
	uint64_t lot;         /* of what is drawn by lot */
	unsigned int audits;
	/* Where the adapter wrote frames to, as long as it is remembered. */
	uint64_t scattered;   /* running count */
	struct {
		uint64_t addr;
		uint32_t length;
	} scatter[VMLX4_SCATTERED];
	bool untold_memory;   /* buffers hold what valgrind takes for undefined */
};

/* True once in so many calls, at moments that the seed decides. */
static inline bool
vmlx4_check_lot(struct vmlx4_check_state *state, unsigned int once_in)
{
	uint64_t x = state->lot;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	state->lot = x;
	return (x >> 32) % once_in == 0;
}

#endif /* VMLX4_CHECK_STATE_H_ */
