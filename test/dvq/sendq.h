/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DVQ_SENDQ_H_
#define TEST_DVQ_SENDQ_H_

/* A send queue of strides on plain memory, as libmlx4 leaves one on the way to INIT. */

#include "ring.h"

#define SENDQ_BYTES 65536u

struct sendq {
	_Alignas(64) uint8_t mem[SENDQ_BYTES];
	uint32_t doorbell;
	struct dvq_sendq sq;
};

/* Every stride invalid for pass 0, its later blocks stamped, other bytes RING_FILL. */
static inline void
sendq_init(struct sendq *s, uint8_t shift, uint32_t cnt)
{
	uint32_t stride = 1u << shift, i, at;

	memset(s, 0, sizeof(*s));
	memset(s->mem, RING_FILL, sizeof(s->mem));
	assert_true(stride * cnt <= SENDQ_BYTES);
	for (i = 0; i < cnt; i++) {
		*(uint32_t *)(void *)(s->mem + i * stride) = htobe32(1u << 31);
		for (at = 64; at < stride; at += 64)
			*(uint32_t *)(void *)(s->mem + i * stride + at) = 0xffffffff;
	}
	s->sq = (struct dvq_sendq){
		.buf = s->mem, .cnt = cnt, .shift = shift, .db = &s->doorbell,
		.limit = cnt - (2048u >> shift) - 1,
		.max_bytes = stride < 1008 ? stride : 1008,
		.qpn_be = htobe32(0x024200),
	};
}

/* Bring the running index to @index, everything completed. */
static inline void
sendq_advance(struct sendq *s, uint32_t index)
{
	while (s->sq.pi != index) {
		assert_int_equal(dvq_post_nop(&s->sq, DVQ_CTRL_CQE), 0);
		assert_int_equal(dvq_sendq_complete(&s->sq, (uint16_t)(s->sq.pi - 1)), 1);
	}
}

#endif /* TEST_DVQ_SENDQ_H_ */
