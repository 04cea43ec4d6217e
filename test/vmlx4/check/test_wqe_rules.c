/* SPDX-License-Identifier: BSD-3-Clause */

#include "broken.h"

/* What a send WQE says. */

static void
test_dword1(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	b->sq->sq.buf[4] = 0x01; /* a stale lkey */
	ring(b);
	reported(b, VMLX4_RULE_SQ_DWORD1);
}

/* BlueFlame leaves the QPN there; insertion bits make the tag legal. */
static void
test_dword1_legal(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 4, "\x00\x01\x00", 3);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 64 + 4, "\xa1\x23\x40", 3);
	ring(b);
	clean(b);
}

static void
test_se(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0c, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_SE);
}

static void
test_ds(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	b->sq->sq.buf[7] = 1;
	ring(b);
	reported(b, VMLX4_RULE_SQ_DS);
}

/* Put a WQE of so many units of 16 bytes at index 0, stamps and all. */
static void
put(struct broken *b, const uint32_t *dwords, unsigned int units)
{
	card_put(b->sq->sq.buf, dwords, 4 * units);
}

/* The usual WQE, with another first dword. */
static void
put_dword0(struct broken *b, uint32_t dw0)
{
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	card_put(b->sq->sq.buf, &dw0, 1);
}

static void
test_opcode(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_dword0(b, 0x0b); /* SEND_IMM */
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_SQ_OPCODE);
}

static void
test_reserved(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_dword0(b, 0x0100000a);
	ring(b);
	reported(b, VMLX4_RULE_SQ_RESERVED);
}

static void
test_index(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t dw0 = 0x10a;

	(void)state;
	put_dword0(b, 0x0a);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	card_put(b->sq->sq.buf + 64, &dw0, 1); /* as BlueFlame has it */
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0);
	dw0 = 0x10a;
	card_post(b->sq, 2, 0x0e, b->card.arena, 60);
	card_put(b->sq->sq.buf + 128, &dw0, 1);
	ring(b);
	reported(b, VMLX4_RULE_SQ_INDEX);
}

static void
test_tunnel(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_dword0(b, 0x1800000a);
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0); /* a Pro */
	b->card.adapter->profile = vmlx4_profile_find("cx3");
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	b->sq->sq.buf[64] |= 0x10;
	ring(b);
	reported(b, VMLX4_RULE_SQ_TUNNEL);
}

static void
test_cqe_bits(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0a, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_CQE_BITS);
}

static void
test_dmac(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	memcpy(b->card.arena, "\x02\x11\x22\x33\x44\x55", 6);
	card_post(b->sq, 0, 0x0211000e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 12, "\x22\x33\x44\x55", 4);
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0);
	card_post(b->sq, 1, 0x0211000e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 64 + 12, "\x22\x33\x44\x56", 4);
	ring(b);
	reported(b, VMLX4_RULE_SQ_DMAC);
}

static void
test_zero_length(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 0);
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_SQ_ZERO);
}

static void
test_inline_crosses_block(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t wqe[32] = { 0x0a, 5, 0x0e, 0, 0x80000000 | 45 };

	(void)state;
	put(b, wqe, 5);
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_SQ_INLINE);
}

static void
test_inline_min(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t wqe[16] = { 0x0a, 3, 0x0e, 0, 0x80000000 | 17 };

	(void)state;
	put(b, wqe, 3);
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0);
	wqe[4] = 0x80000000 | 16;
	card_put(b->sq->sq.buf + 64, wqe, 12);
	ring(b);
	reported(b, VMLX4_RULE_SQ_INLINE_MIN);
}

/* ---- LSO: 54 bytes of headers, or as many as asked for by TCP options ---- */

static const uint8_t tcp4[54] = {
	0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00,
	0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0,
};

static void
put_lso(struct broken *b, uint32_t dw0, uint32_t mss, uint32_t options, uint32_t payload)
{
	uint32_t header = sizeof(tcp4) + options, units = 1 + (4 + header + 15) / 16;
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t ctrl[5] = { dw0, units + 1, 0x0e, 0, mss << 16 | header };
	uint32_t seg[4] = { payload, CARD_LKEY, (uint32_t)(a >> 32), (uint32_t)a };
	uint8_t *wqe = b->sq->sq.buf;

	memset(wqe + 16, 0, units * 16);
	memcpy(wqe + 20, tcp4, sizeof(tcp4));
	wqe[20 + 46] = (uint8_t)((20 + options) / 4 << 4);
	card_put(wqe + 16 * units, seg, 4);
	card_put(wqe, ctrl, 5);
}

static void
test_lso_is_clean(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_watch(&b->card, 1);
	put_lso(b, 0x4e, 1000, 12, 3000);
	ring(b);
	assert_int_equal(card_sent.count, 3);
	clean(b);
}

static void
test_lso_header_outside(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_lso(b, 0x0e, 1000, 0, 3000);
	b->sq->sq.buf[19] = 200;
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_LSO_HEADER);
}

static void
test_lso_header_part(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_lso(b, 0x0e, 1000, 0, 3000);
	b->sq->sq.buf[20 + 46] = 0x60; /* four bytes of options are in the payload */
	ring(b);
	reported(b, VMLX4_RULE_LSO_HEADER);
}

static void
test_lso_mss(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_lso(b, 0x0e, 0, 0, 3000);
	ring(b);
	reported(b, VMLX4_RULE_LSO_MSS);
}

static void
test_lso_blh(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_lso(b, 0x0e, 1000, 12, 3000);
	ring(b);
	reported(b, VMLX4_RULE_LSO_BLH);
}

static void
test_lso_length(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i, units = 1 + 4 + 5;
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t seg[4] = { 65000, CARD_LKEY, (uint32_t)(a >> 32), (uint32_t)a };

	(void)state;
	put_lso(b, 0x0e, 1000, 0, 65000);
	for (i = 5; i < units; i++)
		card_put(b->sq->sq.buf + 16 * i, seg, 4);
	b->sq->sq.buf[7] = (uint8_t)units;
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_LSO_LENGTH);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dword1),
		cmocka_unit_test(test_dword1_legal),
		cmocka_unit_test(test_se),
		cmocka_unit_test(test_ds),
		cmocka_unit_test(test_opcode),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_cqe_bits),
		cmocka_unit_test(test_dmac),
		cmocka_unit_test(test_zero_length),
		cmocka_unit_test(test_inline_crosses_block),
		cmocka_unit_test(test_inline_min),
		cmocka_unit_test(test_lso_is_clean),
		cmocka_unit_test(test_lso_header_outside),
		cmocka_unit_test(test_lso_header_part),
		cmocka_unit_test(test_lso_mss),
		cmocka_unit_test(test_lso_blh),
		cmocka_unit_test(test_lso_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
