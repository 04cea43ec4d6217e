/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_DVQ_RING_H_
#define TEST_DVQ_RING_H_

/* Queues on plain memory, and byte dumps to compare it with. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <dvq.h>

#define RING_BLOCKS 64u
#define RING_FILL 0xee          /* what no function wrote */

struct ring {
	_Alignas(64) uint8_t mem[RING_BLOCKS * 64];
	uint32_t doorbell;
	struct dvq_sq sq;
};

/* A stamped ring whose other bytes are RING_FILL. */
static inline void
ring_init(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	memset(r->mem, RING_FILL, sizeof(r->mem));
	r->sq = (struct dvq_sq){
		.buf = r->mem,
		.bb_cnt = RING_BLOCKS,
		.headroom = 33,
		.db = &r->doorbell,
		.qpn_be = htobe32(0x024200),
	};
	dvq_sq_init(&r->sq);
}

static inline uint32_t
post_nop(struct dvq_sq *sq)
{
	struct dvq_wqe wqe;

	dvq_wqe_begin(&wqe, sq);
	return dvq_wqe_end(&wqe, DVQ_OP_NOP, 0, DVQ_CTRL_CQE, NULL);
}

/* Bring the running index to @index, everything completed. */
static inline void
ring_advance(struct ring *r, uint32_t index)
{
	while (r->sq.pi != index)
		assert_int_equal(dvq_sq_complete(&r->sq, (uint16_t)post_nop(&r->sq)), 1);
}

/*
 * Compare memory with a dump: hex digits, blanks between as one likes, and
 * "..N.." for N bytes in a row that count up from the byte before them.
 */
static inline void
expect_dump(const void *memory, const char *dump)
{
	const uint8_t *got = memory;
	unsigned int value, repeat;
	size_t at = 0;

	while (*dump != '\0') {
		if (*dump == ' ' || *dump == '\n') {
			dump++;
			continue;
		}
		if (sscanf(dump, "..%u..", &repeat) == 1) {
			while (repeat-- != 0) {
				if (got[at] != (uint8_t)(got[at - 1] + 1))
					fail_msg("byte %zu is %02x, want %02x", at, got[at],
						 (uint8_t)(got[at - 1] + 1));
				at++;
			}
			dump += strspn(dump, ".");
			dump += strspn(dump, "0123456789");
			dump += strspn(dump, ".");
			continue;
		}
		if (sscanf(dump, "%2x", &value) != 1)
			fail_msg("bad dump at \"%s\"", dump);
		if (got[at] != value)
			fail_msg("byte %zu is %02x, want %02x", at, got[at], value);
		at++;
		dump += 2;
	}
}

#endif /* TEST_DVQ_RING_H_ */
