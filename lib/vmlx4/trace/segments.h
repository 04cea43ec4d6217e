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

/* Types of QPs in a record, as verbs has them; 0: raw packets. */
#define VMLX4_TRACE_QP_UD 4u

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

/* The same of a QP with a transport. */
static inline uint32_t
vmlx4_segments_of_transport(const uint8_t *wqe, bool datagram)
{
	switch (vmlx4_segment_word(wqe, 0) & VMLX4_HW_OPCODE) {
	case VMLX4_HW_OP_WRITE:
	case VMLX4_HW_OP_WRITE_IMM:
	case VMLX4_HW_OP_READ:
		return 32; /* behind the address at the peer */
	case VMLX4_HW_OP_ATOMIC_CS:
	case VMLX4_HW_OP_ATOMIC_FA:
	case VMLX4_HW_OP_MASKED_FA:
	case VMLX4_HW_OP_BIND_MW:
	case VMLX4_HW_OP_LOCAL_INVAL:
		return 48;
	case VMLX4_HW_OP_MASKED_CS:
		return 64;
	default:
		return datagram ? 64 : 16;
	}
}

/*
 * Where a WQE of a transport has an address before its data; the key is at *key. 0: it
 * has none.
 */
static inline uint32_t
vmlx4_segment_remote(const uint8_t *wqe, uint32_t size, bool datagram, uint32_t *key)
{
	uint32_t opcode = vmlx4_segment_word(wqe, 0) & VMLX4_HW_OPCODE;
	uint32_t first = vmlx4_segments_of_transport(wqe, datagram);

	*key = opcode == VMLX4_HW_OP_BIND_MW ? 28 : 24;
	if (first < 32 || first > size || opcode == VMLX4_HW_OP_LOCAL_INVAL)
		return 0;
	if (opcode == VMLX4_HW_OP_BIND_MW)
		return 32;
	return first == 64 && opcode != VMLX4_HW_OP_MASKED_CS ? 0 : 16; /* 64: a datagram */
}

/* Where the segments of a send WQE of size bytes begin. qp_type: as in the record. */
static inline uint32_t
vmlx4_segments_of_send(const uint8_t *wqe, uint32_t size, uint32_t qp_type)
{
	if (qp_type != 0)
		return vmlx4_segments_of_transport(wqe, qp_type == VMLX4_TRACE_QP_UD);
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
