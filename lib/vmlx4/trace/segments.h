/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_TRACE_SEGMENTS_H_
#define VMLX4_TRACE_SEGMENTS_H_

/*
 * Walk over the segments of a WQE as it is in the ring, well-formed or not: the
 * writer puts offsets for addresses, "vmlx4 show" prints.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../hca/hw.h"

struct vmlx4_segment {
	uint32_t at;       /* in the WQE */
	uint32_t size;     /* what it says: bytes there, or of inline data */
	bool is_inline;
	uint32_t lkey;
	uint64_t addr;
};

static inline uint32_t
vmlx4_segment_word(const uint8_t *wqe, uint32_t at)
{
	uint32_t word;

	memcpy(&word, wqe + at, sizeof(word));
	return be32toh(word);
}

/* Where the segments of a send WQE of size bytes begin. */
static inline uint32_t
vmlx4_segments_of_send(const uint8_t *wqe, uint32_t size)
{
	if (size < 32 || (vmlx4_segment_word(wqe, 0) & VMLX4_HW_OPCODE) != VMLX4_HW_OP_LSO)
		return sizeof(struct vmlx4_hw_ctrl);
	return 16 + ((4 + VMLX4_HW_LSO_HEADER(vmlx4_segment_word(wqe, 16)) + 15) & ~15u);
}

/* The segment at *at, which moves on. False: no more. */
static inline bool
vmlx4_segment_next(const uint8_t *wqe, uint32_t size, uint32_t *at, struct vmlx4_segment *segment)
{
	uint32_t word;

	if (*at > size || size - *at < 16)
		return false;
	word = vmlx4_segment_word(wqe, *at);
	segment->at = *at;
	segment->is_inline = (word & VMLX4_HW_INLINE) != 0;
	segment->size = word & ~VMLX4_HW_INLINE;
	segment->lkey = vmlx4_segment_word(wqe, *at + 4);
	segment->addr = (uint64_t)vmlx4_segment_word(wqe, *at + 8) << 32 |
		vmlx4_segment_word(wqe, *at + 12);
	if (!segment->is_inline)
		*at += 16;
	else if (segment->size <= size)
		*at += (4 + segment->size + 15) & ~15u;
	else
		*at = size;
	return true;
}

#endif /* VMLX4_TRACE_SEGMENTS_H_ */
