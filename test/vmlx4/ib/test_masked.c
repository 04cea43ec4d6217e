/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/*
 * Atomics with masks: what becomes of the word, told bit by bit, and what an end that does
 * not want them answers.
 */

#define MASKED_CS 0x14u
#define MASKED_FA 0x15u

static unsigned int
bit_of(uint64_t word, unsigned int bit)
{
	return word >> bit & 1;
}

/* As Mellanox's manual tells it: one bit after the other. */
static uint64_t
by_bits(const struct bed_wr *wr, uint64_t was)
{
	unsigned int carry = 0, sum, bit;
	uint64_t result = 0;

	for (bit = 0; wr->opcode == MASKED_CS && bit < 64; bit++)
		if (bit_of(wr->compare_mask, bit) && bit_of(was, bit) != bit_of(wr->compare, bit))
			return was;
	for (bit = 0; bit < 64; bit++) {
		if (wr->opcode == MASKED_CS) {
			sum = bit_of(bit_of(wr->swap_mask, bit) ? wr->swap_add : was, bit);
		} else {
			sum = carry + bit_of(was, bit) + bit_of(wr->swap_add, bit);
			carry = bit_of(wr->compare, bit) ? 0 : sum >> 1;
		}
		result |= (uint64_t)(sum & 1) << bit;
	}
	return result;
}

/* The operation on was: what is there afterwards, and what comes back. */
static void
changes(struct bed *bed, const struct bed_wr *wr, uint64_t was)
{
	uint64_t *there = (uint64_t *)(void *)bed->b.memory;
	uint64_t *here = (uint64_t *)(void *)bed->a.memory;
	uint16_t index = (uint16_t)bed->a.posted;

	*there = was;
	*here = 0;
	bed_post(&bed->a, wr);
	bed_step(bed);
	assert_int_equal(vmlx4_be32(card_cqe(bed->a.cq, bed->a.polled) + 20), 8);
	bed_sent(&bed->a, wr->opcode, index);
	assert_int_equal(*here, was);
	assert_int_equal(*there, by_bits(wr, was));
}

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state ^ *state >> 31;
}

/* Half of the comparisons are such that they are true. */
static void
change_words(struct bed *bed, uint64_t *seed)
{
	unsigned int i;

	for (i = 0; i < 40; i++) {
		struct bed_wr wr = bed_wr_of(bed, i % 2 ? MASKED_CS : MASKED_FA, 8);
		uint64_t was = next_random(seed);

		wr.swap_add = next_random(seed);
		wr.compare = next_random(seed);
		wr.swap_mask = next_random(seed);
		wr.compare_mask = next_random(seed);
		if (i % 4 == 1)
			wr.compare = (wr.compare & ~wr.compare_mask) | (was & wr.compare_mask);
		changes(bed, &wr, was);
	}
	assert_int_equal(bed->card.adapter->violations, 0);
	bed_no_cqe(&bed->a);
	bed_no_cqe(&bed->b);
}

static void
test_words(void **state)
{
	uint64_t seed = 7;
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		/* Not once round the ring: nobody stamps it here. */
		struct bed *bed = bed_new(IBV_QPT_RC, i % 2 + 1);

		change_words(bed, &seed);
		bed_free(bed);
	}
}

/* No mask at all, and all of the word: what is left of the operation then. */
static void
test_extremes(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	uint64_t *there = (uint64_t *)(void *)bed->b.memory;
	struct bed_wr swap = bed_wr_of(bed, MASKED_CS, 8), add = bed_wr_of(bed, MASKED_FA, 8);

	(void)state;
	swap.swap_add = 5;
	swap.compare = 77;
	swap.swap_mask = UINT64_MAX;
	changes(bed, &swap, 1);   /* compares nothing: always */
	assert_int_equal(*there, 5);
	swap.compare_mask = UINT64_MAX;
	swap.swap_mask = 0;
	changes(bed, &swap, 77);  /* swaps nothing */
	assert_int_equal(*there, 77);
	add.swap_add = 1;
	changes(bed, &add, UINT64_MAX); /* one field: as without boundaries */
	assert_int_equal(*there, 0);
	add.swap_add = UINT64_MAX;
	add.compare = UINT64_MAX;
	changes(bed, &add, 0x5555); /* fields of a bit: an exclusive or */
	assert_int_equal(*there, ~0x5555ull);
	bed_free(bed);
}

/* An answer that got lost: it is done once, and its result told again. */
static void
test_duplicate(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	uint64_t *there = (uint64_t *)(void *)bed->b.memory;
	uint64_t *here = (uint64_t *)(void *)bed->a.memory;
	struct bed_wr wr = bed_wr_of(bed, MASKED_FA, 8);

	(void)state;
	wr.swap_add = 0x0101;
	wr.compare = 0x8080;
	*there = 0x02ff;
	card_faults(&bed->card, "frame tx port=2 count=1 drop");
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_no_cqe(&bed->a);
	assert_int_equal(*there, 0x0300);
	bed_advance(bed, (4096ull << 14) * 4);
	bed_sent(&bed->a, MASKED_FA, 0);
	assert_int_equal(*here, 0x02ff);
	assert_int_equal(*there, 0x0300);
	bed_free(bed);
}

static void
ends(struct bed *bed, const struct bed_wr *wr, uint8_t syndrome, unsigned int event)
{
	bed_post(&bed->a, wr);
	bed_step(bed);
	bed_failed(&bed->a, syndrome);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed->a.qp->state, IBV_QPS_ERR);
	assert_int_equal(bed_event(bed), event);
	bed_free(bed);
}

static void
test_refused(void **state)
{
	static const uint8_t opcodes[] = { MASKED_CS, MASKED_FA };
	struct bed_wr wr;
	struct bed *bed;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		bed = bed_new(IBV_QPT_RC, 2);
		wr = bed_wr_of(bed, opcodes[i], 8);
		wr.va += 4;
		ends(bed, &wr, VMLX4_HW_SYN_REM_INV_REQ, IBV_EVENT_QP_REQ_ERR);
		bed = bed_new(IBV_QPT_RC, 2);
		wr = bed_wr_of(bed, opcodes[i], 8);
		vmlx4_ib_attr(bed->b.qp->ib)->access &= ~(uint32_t)IBV_ACCESS_REMOTE_ATOMIC;
		ends(bed, &wr, VMLX4_HW_SYN_REM_INV_REQ, IBV_EVENT_QP_REQ_ERR);
		bed = bed_new(IBV_QPT_RC, 2);
		wr = bed_wr_of(bed, opcodes[i], 8);
		bed->card.mr.access &= ~(uint32_t)IBV_ACCESS_REMOTE_ATOMIC;
		ends(bed, &wr, VMLX4_HW_SYN_REM_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
		/* The result is 8 bytes, and they are written. */
		bed = bed_new(IBV_QPT_RC, 2);
		wr = bed_wr_of(bed, opcodes[i], 8);
		wr.sge[0].length = 4;
		ends(bed, &wr, VMLX4_HW_SYN_LOC_LEN, 0xff);
		bed = bed_new(IBV_QPT_RC, 2);
		wr = bed_wr_of(bed, opcodes[i], 8);
		bed->card.mr.access &= ~(uint32_t)IBV_ACCESS_LOCAL_WRITE;
		ends(bed, &wr, VMLX4_HW_SYN_LOC_PROT, 0xff);
	}
}

/* Without room for its operands a WQE is none, and an unreliable QP has no atomics. */
static void
test_no_such_wqe(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, MASKED_CS, 8);

	(void)state;
	bed_post(&bed->a, &wr);
	bed->a.qp->sq.buf[7] = 48 / 16;
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_QP_OP);
	assert_int_equal(bed->card.adapter->violations_of[VMLX4_RULE_SQ_DS], 1);
	bed_free(bed);
	bed = bed_new(IBV_QPT_UC, 2);
	wr = bed_wr_of(bed, MASKED_FA, 8);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_QP_OP);
	assert_int_equal(bed->card.adapter->violations_of[VMLX4_RULE_SQ_OPCODE], 1);
	assert_int_equal(bed->a.qp->state, IBV_QPS_SQE);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_such_wqe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
