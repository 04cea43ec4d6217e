/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/* What an RC QP does while nothing goes wrong. */

static const unsigned int ports[] = { 1, 2 }; /* inside the port, and over a wire */

static void
done(struct bed *bed)
{
	assert_int_equal(bed->card.adapter->violations, 0);
	bed_no_cqe(&bed->a);
	bed_no_cqe(&bed->b);
	bed_free(bed);
}

static void
test_send(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, ports[i]);
		struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 2 };

		bed_fill(bed->a.memory, 5000, 1);
		wr.sge[0] = (struct bed_sge){ bed->a.memory, 3000 };
		wr.sge[1] = (struct bed_sge){ bed->a.memory + 3000, 1999 };
		bed_recv(&bed->b, bed->b.memory, 5000);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_sent(&bed->a, 0x0a, 0);
		bed_received(&bed->b, 1, 4999);
		assert_memory_equal(bed->b.memory, bed->a.memory, 4999);
		assert_int_equal(bed->b.memory[4999], 0);
		done(bed);
	}
}

/* Nothing, one packet, just one, and one byte more. */
static void
test_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 3, BED_MTU - 1, BED_MTU, BED_MTU + 1,
		4 * BED_MTU, 20 * BED_MTU + 5 };
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1 };

		bed_fill(bed->a.memory, lengths[i], i);
		wr.sge[0] = (struct bed_sge){ bed->a.memory, lengths[i] };
		bed_recv(&bed->b, bed->b.memory, 20 * BED_MTU + 5);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_sent(&bed->a, 0x0a, (uint16_t)i);
		bed_received(&bed->b, 1, lengths[i]);
		assert_memory_equal(bed->b.memory, bed->a.memory, lengths[i]);
	}
	done(bed);
}

static void
test_immediate_and_inline(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0b, .flags = SIGNALED, .imm = 0x12345678, .sges = 1,
		.inlined = true };
	const uint8_t *cqe;

	(void)state;
	wr.sge[0] = (struct bed_sge){ "twenty bytes of text", 20 };
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0b, 0);
	cqe = bed_received(&bed->b, 2, 20);
	assert_int_equal(vmlx4_be32(cqe + 4), 0x12345678);
	assert_memory_equal(bed->b.memory, "twenty bytes of text", 20);
	done(bed);
}

static void
test_write(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, ports[i]);
		struct bed_wr wr = { .opcode = 0x08, .flags = SIGNALED, .rkey = CARD_LKEY,
			.va = (uintptr_t)bed->b.memory + 5, .sges = 1 };

		bed_fill(bed->a.memory, 10000, 3);
		wr.sge[0] = (struct bed_sge){ bed->a.memory, 10000 };
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_sent(&bed->a, 0x08, 0);
		assert_memory_equal(bed->b.memory + 5, bed->a.memory, 10000);
		done(bed);
	}
}

static void
test_write_with_immediate(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x09, .flags = SIGNALED, .rkey = CARD_LKEY, .imm = 7,
		.va = (uintptr_t)bed->b.memory, .sges = 1 };
	const uint8_t *cqe;

	(void)state;
	bed_fill(bed->a.memory, 3000, 3);
	wr.sge[0] = (struct bed_sge){ bed->a.memory, 3000 };
	bed_recv(&bed->b, bed->b.memory + 8000, 16);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x09, 0);
	cqe = bed_received(&bed->b, 0, 3000);
	assert_int_equal(vmlx4_be32(cqe + 4), 7);
	assert_memory_equal(bed->b.memory, bed->a.memory, 3000);
	assert_int_equal(bed->b.memory[8000], 0);
	done(bed);
}

static void
test_read(void **state)
{
	static const uint32_t lengths[] = { 0, 8, BED_MTU, BED_MTU + 1, 10 * BED_MTU };
	unsigned int i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		struct bed *bed = bed_new(IBV_QPT_RC, ports[k]);

		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			struct bed_wr wr = { .opcode = 0x10, .flags = SIGNALED, .rkey = CARD_LKEY,
				.va = (uintptr_t)bed->b.memory, .sges = 2 };

			bed_fill(bed->b.memory, lengths[i], i);
			wr.sge[0] = (struct bed_sge){ bed->a.memory, lengths[i] / 2 };
			wr.sge[1] = (struct bed_sge){ bed->a.memory + lengths[i] / 2,
				lengths[i] - lengths[i] / 2 };
			bed_post(&bed->a, &wr);
			bed_step(bed);
			assert_int_equal(vmlx4_be32(card_cqe(bed->a.cq, i) + 20), lengths[i]);
			bed_sent(&bed->a, 0x10, (uint16_t)i);
			assert_memory_equal(bed->a.memory, bed->b.memory, lengths[i]);
		}
		done(bed);
	}
}

static void
test_atomics(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	uint64_t *there = (uint64_t *)(void *)bed->b.memory;
	uint64_t *here = (uint64_t *)(void *)bed->a.memory;
	struct bed_wr wr = { .opcode = 0x12, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)there, .swap_add = 5, .sges = 1 };

	(void)state;
	*there = 0x1122334455667788;
	wr.sge[0] = (struct bed_sge){ here, 8 };
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(*here, 0x1122334455667788);
	assert_int_equal(*there, 0x112233445566778d);
	assert_int_equal(vmlx4_be32(card_cqe(bed->a.cq, 0) + 20), 8);
	bed_sent(&bed->a, 0x12, 0);
	wr.opcode = 0x11;
	wr.compare = 0x112233445566778d;
	wr.swap_add = 9;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(*here, 0x112233445566778d);
	assert_int_equal(*there, 9);
	bed_sent(&bed->a, 0x11, 1);
	wr.compare = 1;
	wr.swap_add = 10;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(*here, 9);
	assert_int_equal(*there, 9);
	bed_sent(&bed->a, 0x11, 2);
	done(bed);
}

/* Completions are in the order of posting, whatever takes longer. */
static void
test_order(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr read = { .opcode = 0x10, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)bed->b.memory, .sges = 1,
		.sge = { { bed->a.memory, 8000 } } };
	struct bed_wr send = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory + 9000, 100 } } };
	struct bed_wr nop = { .opcode = 0x00, .flags = SIGNALED };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		bed_recv(&bed->b, bed->b.memory + 10000, 100);
		bed_post(&bed->a, &read);
		send.fence = i == 1;
		bed_post(&bed->a, &send);
		bed_post(&bed->a, &nop);
	}
	bed_step(bed);
	for (i = 0; i < 3; i++) {
		bed_sent(&bed->a, 0x10, (uint16_t)(3 * i));
		bed_sent(&bed->a, 0x0a, (uint16_t)(3 * i + 1));
		bed_sent(&bed->a, 0x00, (uint16_t)(3 * i + 2));
		bed_received(&bed->b, 1, 100);
	}
	done(bed);
}

/* More than the ring holds, in both directions, not all signaled. */
static void
test_many(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .sges = 1 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 500; i++) {
		for (k = 0; k < 4; k++) {
			bed_fill(bed->a.memory + 2000 * k, 2000, i + k);
			bed_recv(&bed->b, bed->b.memory + 2000 * k, 2000);
			wr.sge[0] = (struct bed_sge){ bed->a.memory + 2000 * k, 2000 };
			wr.flags = k == 3 ? SIGNALED : 0;
			bed_post(&bed->a, &wr);
		}
		bed_step(bed);
		bed_sent(&bed->a, 0x0a, (uint16_t)(4 * i + 3));
		for (k = 0; k < 4; k++)
			bed_received(&bed->b, 1, 2000);
		assert_memory_equal(bed->b.memory, bed->a.memory, 8000);
	}
	done(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_immediate_and_inline),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_write_with_immediate),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
