/* SPDX-License-Identifier: BSD-3-Clause */

#include "check/uar_check.h"
#include "broken.h"

/* Doorbells, BlueFlame, and what is written beside them. */

static void
write_page(struct broken *b, uint32_t at, uint32_t word)
{
	card_put(b->card.ctx->pages + at, &word, 1);
}

static void
test_send_low_bits(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	write_page(b, 0x14, b->sq->qpn << 8 | 1);
	step(b);
	reported(b, VMLX4_RULE_UAR_SEND);
}

static void
test_qpn_unknown(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	write_page(b, 0x14, 0x101 << 8);
	step(b);
	reported(b, VMLX4_RULE_UAR_QPN);
}

/* The QP exists, and belongs to another context. */
static void
test_qpn_foreign(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	struct vmlx4_context other = { .adapter = b->card.adapter };
	struct vmlx4_qp foreign = { .qpn = 0x102, .obj.ctx = &other, .state = IBV_QPS_RTS };

	(void)state;
	b->card.adapter->qp_table[0x102] = &foreign;
	write_page(b, 0x14, 0x102 << 8);
	step(b);
	reported(b, VMLX4_RULE_UAR_QPN);
}

static void
test_not_ready(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	b->sq->state = IBV_QPS_ERR; /* of which the program may not have heard */
	write_page(b, 0x14, b->sq->qpn << 8);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	b->sq->state = IBV_QPS_RTR;
	write_page(b, 0x14, b->sq->qpn << 8);
	step(b);
	reported(b, VMLX4_RULE_UAR_STATE);
}

static void
test_cqn_unknown(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	write_page(b, 0x24, 0);
	write_page(b, 0x20, 1u << 28 | 2u << 24 | 0x81);
	step(b);
	reported(b, VMLX4_RULE_UAR_CQN);
}

static void
test_stray_beside_the_doorbell(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	write_page(b, 0x10, b->sq->qpn << 8);
	step(b);
	step(b); /* said once */
	reported(b, VMLX4_RULE_UAR_STRAY);
}

static void
stray_on_page(uint32_t at)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	unsigned int i;

	write_page(b, at, 1);
	for (i = 0; i < 128; i++)
		step(b);
	reported(b, VMLX4_RULE_UAR_STRAY);
}

static void
test_stray_on_other_pages(void **state)
{
	(void)state;
	stray_on_page(0xffc);
	stray_on_page(2 * VMLX4_PAGE);
	stray_on_page(3 * VMLX4_PAGE + 0x100); /* the clock page */
}

/* ---- BlueFlame: 40 bytes of an inline frame ---- */

#define HALF 256u

static void
put_inline(struct broken *b, uint32_t index, uint32_t dw1)
{
	uint32_t wqe[16] = { 0x0a | index << 8, dw1, 0x0e, 0, 0x80000000 | 40 };

	card_put(b->sq->sq.buf + 64 * index, wqe, 16);
}

static void
copy(struct broken *b, unsigned int buffer, uint32_t index)
{
	memcpy(b->card.ctx->pages + VMLX4_PAGE + buffer * HALF, b->sq->sq.buf + 64 * index, 64);
	step(b);
}

static uint32_t
usual(const struct broken *b)
{
	return b->sq->qpn << 8 | 4;
}

static void
test_blueflame_is_clean(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	assert_int_equal(b->card.adapter->profile->bf_reg_size, 2 * HALF);
	for (i = 0; i < 6; i++) {
		put_inline(b, i, usual(b));
		copy(b, i & 1, i);
		assert_int_equal(b->sq->sq.ci, i + 1);
	}
	clean(b);
}

/* A command takes both: the QP may be gone behind it. */
static void
test_both_doorbells_before_a_command(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint8_t *pages = b->card.ctx->pages;

	(void)state;
	put_inline(b, 0, usual(b));
	memcpy(pages + VMLX4_PAGE, b->sq->sq.buf, 64);
	vmlx4_put_be32(pages + VMLX4_HW_UAR_SEND, b->sq->qpn << 8);
	vmlx4_check_command(b->card.ctx);
	assert_int_equal(vmlx4_be32(pages + VMLX4_HW_UAR_SEND), 0);
	assert_int_equal(vmlx4_be32(pages + VMLX4_PAGE + 4), 0);
	step(b);
	clean(b);
}

static void
test_copy_differs(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_inline(b, 0, usual(b));
	memcpy(b->card.ctx->pages + VMLX4_PAGE, b->sq->sq.buf, 64);
	b->card.ctx->pages[VMLX4_PAGE + 20] ^= 1;
	step(b);
	reported(b, VMLX4_RULE_BF_COPY);
}

/* The right bytes, and an index that they are not at. */
static void
test_copy_of_another_index(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_inline(b, 0, usual(b));
	memcpy(b->card.ctx->pages + VMLX4_PAGE, b->sq->sq.buf, 64);
	b->card.ctx->pages[VMLX4_PAGE + 2] = 5;
	step(b);
	reported(b, VMLX4_RULE_BF_COPY);
}

static void
test_size(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t nop[4] = { 0, b->sq->qpn << 8 | 1, 0x0e, 0 };

	(void)state;
	card_put(b->sq->sq.buf, nop, 4);
	copy(b, 0, 0);
	reported(b, VMLX4_RULE_BF_SIZE);
}

static void
test_same_buffer(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_inline(b, 0, usual(b));
	copy(b, 0, 0);
	put_inline(b, 1, usual(b));
	copy(b, 0, 1);
	reported(b, VMLX4_RULE_BF_BUFFER);
}

static void
test_vlan(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	put_inline(b, 0, 0xa1234000 | 4);
	copy(b, 0, 0);
	assert_int_equal(b->sq->sq.ci, 1);
	reported(b, VMLX4_RULE_BF_VLAN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_low_bits),
		cmocka_unit_test(test_qpn_unknown),
		cmocka_unit_test(test_qpn_foreign),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_cqn_unknown),
		cmocka_unit_test(test_stray_beside_the_doorbell),
		cmocka_unit_test(test_stray_on_other_pages),
		cmocka_unit_test(test_blueflame_is_clean),
		cmocka_unit_test(test_both_doorbells_before_a_command),
		cmocka_unit_test(test_copy_differs),
		cmocka_unit_test(test_copy_of_another_index),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_same_buffer),
		cmocka_unit_test(test_vlan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
