/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/* The least and the odd of what a QP may be set to, and be asked for. */

/* Timeout 0: an answer is waited for without end, and the next message finds the gap. */
static void
test_no_timeout(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);
	unsigned int i;

	(void)state;
	vmlx4_ib_attr(bed->a.qp->ib)->timeout = 0;
	card_faults(&bed->card, "frame tx port=1 count=1 drop");
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	for (i = 0; i < 20; i++)
		bed_advance(bed, 10000000000u);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed->card.adapter->ports[0].stats.tx_roce, 1);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	bed_sent(&bed->a, 0x0a, 1);
	bed_received(&bed->b, 1, 100);
	bed_received(&bed->b, 1, 100);
	assert_int_equal(bed->card.adapter->ports[0].stats.tx_roce_timeouts, 0);
	bed_free(bed);
}

/* No retry at all: the first lost packet is the last. */
static void
test_no_retries(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	vmlx4_ib_attr(bed->a.qp->ib)->retry_cnt = 0;
	vmlx4_ib_rts(bed->a.qp);
	card_faults(&bed->card, "frame tx port=1 count=1 drop");
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_no_cqe(&bed->a);
	bed_advance(bed, (4096ull << 14) * 4);
	bed_failed(&bed->a, VMLX4_HW_SYN_RETRY_EXC);
	bed_no_cqe(&bed->b);
	bed_free(bed);
}

/*
 * Two ends that were told of different MTUs: what fits into one packet of both passes,
 * anything longer is no message that the responder knows.
 */
static void
test_mtus_differ(void **state)
{
	static const struct { uint32_t of_b, length; bool passes; } cases[] = {
		{ 512, 512, true }, { 512, 513, false }, { 512, 3000, false },
		{ 2048, 1024, true }, { 2048, 1025, false },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct bed_wr wr = bed_wr_of(bed, 0x0a, cases[i].length);

		bed->b.qp->ib->mtu = cases[i].of_b;
		bed_recv(&bed->b, bed->b.memory, 4096);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		if (cases[i].passes) {
			bed_sent(&bed->a, 0x0a, 0);
			bed_received(&bed->b, 1, cases[i].length);
		} else {
			bed_failed(&bed->a, VMLX4_HW_SYN_REM_INV_REQ);
			assert_int_equal(bed_event(bed), IBV_EVENT_QP_REQ_ERR);
		}
		bed_free(bed);
	}
}

/* Where nothing is read or written no key is looked at (9.4.3, 9.4.4). */
static void
test_nothing_needs_no_key(void **state)
{
	static const uint8_t opcodes[] = { 0x08, 0x09, 0x10 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct bed_wr wr = bed_wr_of(bed, opcodes[i], 0);

		wr.rkey = 0xdead00;
		wr.va = 3;
		wr.imm = 9;
		bed_recv(&bed->b, bed->b.memory, 8);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_sent(&bed->a, opcodes[i], 0);
		if (opcodes[i] == 0x09)
			bed_received(&bed->b, 0, 0);
		bed_no_cqe(&bed->b);
		bed_free(bed);
	}
}

/* A datagram whose address has a tag: it crosses the wire with it, and is told. */
static void
test_tagged_datagram(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UD, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);
	const uint8_t *cqe;
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	av[0] |= 0x20;
	vmlx4_put_be16(av + 40, 0x6005);
	wr.datagram = av;
	bed_fill(bed->a.memory, 100, 5);
	bed_recv(&bed->b, bed->b.memory, 200);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	cqe = bed_cqe(&bed->b);
	assert_int_equal(vmlx4_be32(cqe) & VMLX4_HW_CQE_CVLAN, VMLX4_HW_CQE_CVLAN);
	assert_int_equal(vmlx4_be16(cqe + 12), 0x6005);
	assert_memory_equal(bed->b.memory + 40, bed->a.memory, 100);
	bed_free(bed);
}

/* The numbers of packets end in the middle of a response, and again of a request. */
static void
test_numbers_wrap(void **state)
{
	static const uint8_t opcodes[] = { 0x10, 0x08, 0x0a };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct bed_wr wr = bed_wr_of(bed, opcodes[i], 10000);

		bed->a.qp->ib->tx.psn = 0xfffffb;
		bed->b.qp->ib->rx.psn = 0xfffffb;
		bed_fill(bed->a.memory, 10000, 1);
		bed_fill(bed->b.memory, 10000, opcodes[i] == 0x10 ? 2 : 3);
		bed_recv(&bed->b, bed->b.memory, 10000);
		/* A packet before the end and one behind it get lost, and an answer. */
		card_faults(&bed->card, "frame tx port=1 nth=3 drop; frame tx port=2 nth=2,8 drop");
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_advance(bed, (4096ull << 14) * 4);
		bed_advance(bed, (4096ull << 14) * 4);
		bed_sent(&bed->a, opcodes[i], 0);
		assert_memory_equal(bed->a.memory, bed->b.memory, 10000);
		assert_int_equal(vmlx4_ib_next_psns(bed->a.qp).sq, 5);
		assert_int_equal(vmlx4_ib_next_psns(bed->b.qp).rq, 5);
		bed_free(bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_timeout),
		cmocka_unit_test(test_no_retries),
		cmocka_unit_test(test_mtus_differ),
		cmocka_unit_test(test_nothing_needs_no_key),
		cmocka_unit_test(test_tagged_datagram),
		cmocka_unit_test(test_numbers_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
