/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/* An RC QP on a wire that loses packets, and with a peer that is not ready. */

#define TIMEOUT ((4096ull << 14) * 4)
#define RNR_NS 640000u /* min_rnr_timer 12 */

static struct vmlx4_port_stats *
stats(struct bed *bed, unsigned int port)
{
	return &bed->card.adapter->ports[port - 1].stats;
}

static uint32_t
done_at(const struct bed_end *end)
{
	return end->cq->pi - end->polled;
}

/* Until n more CQEs are there, with time passing. */
static void
wait_for(struct bed *bed, struct bed_end *end, uint32_t n)
{
	unsigned int i;

	bed_step(bed);
	for (i = 0; i < 200 && done_at(end) < n; i++)
		bed_advance(bed, TIMEOUT / 4);
	assert_true(done_at(end) >= n);
}

/*
 * SEND, WRITE, READ and atomics while every third packet or so is lost, in either
 * direction: all of it arrives, once, and in order.
 */
static void
test_lossy_wire(void **state)
{
	static const char *const faults[] = {
		"seed=1; frame tx port=1 p=0.2 drop",
		"seed=2; frame tx port=2 p=0.2 drop",
		"seed=3; frame tx p=0.1 corrupt fcs=good; frame tx p=0.1 duplicate",
		"seed=4; frame tx p=0.1 reorder=2; frame tx p=0.05 drop",
	};
	unsigned int f, i;

	(void)state;
	for (f = 0; f < sizeof(faults) / sizeof(faults[0]); f++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		uint64_t *counter = (uint64_t *)(void *)(bed->b.memory + BED_PART - 8);
		uint64_t *was = (uint64_t *)(void *)(bed->a.memory + BED_PART - 8);

		vmlx4_ib_attr(bed->a.qp->ib)->retry_cnt = 7;
		vmlx4_ib_rts(bed->a.qp);
		card_faults(&bed->card, faults[f]);
		*counter = 0;
		for (i = 0; i < 12; i++) {
			struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .rkey = CARD_LKEY,
				.sges = 1, .sge = { { bed->a.memory, 5000 } } };

			bed_fill(bed->a.memory, 5000, i);
			bed_fill(bed->b.memory + 16000, 5000, i + 50);
			bed_recv(&bed->b, bed->b.memory, 5000);
			bed_post(&bed->a, &wr);
			wr.opcode = 0x08;
			wr.va = (uintptr_t)bed->b.memory + 8000;
			bed_post(&bed->a, &wr);
			wr.opcode = 0x10;
			wr.va = (uintptr_t)bed->b.memory + 16000;
			wr.sge[0].addr = bed->a.memory + 8000;
			bed_post(&bed->a, &wr);
			wr.opcode = 0x12;
			wr.va = (uintptr_t)counter;
			wr.swap_add = 1;
			wr.sge[0] = (struct bed_sge){ was, 8 };
			bed_post(&bed->a, &wr);
			wait_for(bed, &bed->a, 4);
			bed_sent(&bed->a, 0x0a, (uint16_t)(4 * i));
			bed_sent(&bed->a, 0x08, (uint16_t)(4 * i + 1));
			bed_sent(&bed->a, 0x10, (uint16_t)(4 * i + 2));
			bed_sent(&bed->a, 0x12, (uint16_t)(4 * i + 3));
			bed_received(&bed->b, 1, 5000);
			assert_memory_equal(bed->b.memory, bed->a.memory, 5000);
			assert_memory_equal(bed->b.memory + 8000, bed->a.memory, 5000);
			assert_memory_equal(bed->b.memory + 16000, bed->a.memory + 8000, 5000);
			assert_int_equal(*was, i);
			assert_int_equal(*counter, i + 1);
		}
		bed_no_cqe(&bed->a);
		bed_no_cqe(&bed->b);
		assert_true(vmlx4_fault_stats_get(bed->card.adapter)->injected > 10);
		bed_free(bed);
	}
}

static void
post_reads(struct bed *bed, unsigned int reads)
{
	struct bed_wr wr = { .opcode = 0x10, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)bed->b.memory, .sges = 1 };
	unsigned int i;

	for (i = 0; i < reads; i++, wr.va += 3000) {
		wr.sge[0] = (struct bed_sge){ bed->a.memory + 3000 * i, 3000 };
		bed_post(&bed->a, &wr);
	}
}

/* The responses of several reads are lost: one time more is enough for all of them. */
static void
test_responses_lost(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	unsigned int i;

	(void)state;
	card_faults(&bed->card, "frame tx port=2 count=12 drop");
	bed_fill(bed->b.memory, 12000, 9);
	post_reads(bed, 4);
	bed_step(bed);
	bed_no_cqe(&bed->a);
	bed_advance(bed, TIMEOUT);
	for (i = 0; i < 4; i++)
		bed_sent(&bed->a, 0x10, (uint16_t)i);
	assert_memory_equal(bed->a.memory, bed->b.memory, 12000);
	assert_int_equal(stats(bed, 1)->tx_roce_timeouts, 1);
	bed_free(bed);
}

/* A read as it arrives at port 2. */
static void
arrive_read(struct bed *bed, uint32_t psn, uint64_t va, uint32_t length)
{
	struct vmlx4_ib_packet packet;
	uint8_t frame[VMLX4_IB_OVERHEAD];

	vmlx4_ib_address(bed->a.qp, &vmlx4_ib_attr(bed->a.qp->ib)->path, &packet);
	packet.opcode = VMLX4_OP_READ;
	packet.dest_qpn = bed->b.qp->qpn;
	packet.psn = psn & VMLX4_PSN_MASK;
	packet.va = va;
	packet.rkey = CARD_LKEY;
	packet.length = length;
	vmlx4_ib_packet_head(&packet, frame);
	vmlx4_port_receive(bed->b.qp->port, frame, vmlx4_ib_packet_seal(&packet, frame, 0));
}

/*
 * The time of reads ran out and their responses are here nevertheless: the peer goes
 * on with as many new ones as it may, behind the repetitions. Those are not more.
 */
static void
test_reads_again_and_new_ones(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	uint32_t psn = vmlx4_ib_attr(bed->a.qp->ib)->sq_psn;
	unsigned int i;

	(void)state;
	post_reads(bed, 4);
	bed_step(bed);
	for (i = 0; i < 4; i++)
		bed_sent(&bed->a, 0x10, (uint16_t)i);
	for (i = 0; i < 8; i++)
		arrive_read(bed, psn + 3 * i, (uintptr_t)bed->b.memory, 3000);
	bed_step(bed);
	assert_int_equal(bed->b.qp->state, IBV_QPS_RTS);
	assert_int_equal(stats(bed, 2)->rx_roce_invalid, 0);
	/* One more than may be asked for at a time is. */
	for (i = 8; i < 13; i++)
		arrive_read(bed, psn + 3 * i, (uintptr_t)bed->b.memory, 3000);
	bed_step(bed);
	assert_int_equal(bed->b.qp->state, IBV_QPS_ERR);
	assert_int_equal(stats(bed, 2)->rx_roce_invalid, 1);
	bed_free(bed);
}

/* Nobody is there: tried as often as told, then the QP ends. */
static void
test_cable_out(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 100 } } };
	unsigned int i;

	(void)state;
	bed->card.adapter->ports[0].active = false;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	for (i = 0; i < 3; i++) {
		bed_no_cqe(&bed->a);
		assert_int_equal(stats(bed, 1)->tx_link_down, i + 1);
		bed_advance(bed, TIMEOUT);
	}
	bed_failed(&bed->a, VMLX4_HW_SYN_RETRY_EXC);
	bed_free(bed);
}

/* The answer was there in time, and the engine was not: that is no retry. */
static void
test_engine_was_away(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 100 } } };

	(void)state;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	vmlx4_engine_kick(bed->card.ctx);
	assert_int_not_equal(vmlx4_engine_pass(bed->card.adapter, 0), 0);
	assert_int_equal(done_at(&bed->b), 1);
	assert_int_equal(done_at(&bed->a), 0);
	bed_advance(bed, 10 * TIMEOUT);
	bed_sent(&bed->a, 0x0a, 0);
	assert_int_equal(stats(bed, 1)->tx_roce_timeouts, 0);
	assert_int_equal(stats(bed, 1)->tx_roce, 1);
	bed_free(bed);
}

/* Out, and back before it is too late. */
static void
test_cable_back(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 10000 } } };

	(void)state;
	bed_recv(&bed->b, bed->b.memory, 10000);
	bed->card.adapter->ports[0].active = false;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed->card.adapter->ports[0].active = true;
	bed_advance(bed, TIMEOUT - 1);
	bed_no_cqe(&bed->a);
	bed_advance(bed, 1);
	bed_sent(&bed->a, 0x0a, 0);
	bed_received(&bed->b, 1, 10000);
	assert_int_equal(stats(bed, 1)->tx_roce_timeouts, 1);
	bed_free(bed);
}

/* No receive WQE: NAK, a pause as long as the responder asked for, and again. */
static void
test_receiver_not_ready(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 3000 } } };

	(void)state;
	bed_fill(bed->a.memory, 3000, 4);
	bed_post(&bed->a, &wr);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(stats(bed, 2)->rx_roce_rnr, 1);
	assert_int_equal(stats(bed, 1)->tx_roce_rnr, 1);
	bed_recv(&bed->b, bed->b.memory, 3000);
	bed_advance(bed, RNR_NS - 1);
	bed_no_cqe(&bed->b);
	bed_advance(bed, 1);
	bed_sent(&bed->a, 0x0a, 0);
	bed_received(&bed->b, 1, 3000);
	assert_memory_equal(bed->b.memory, bed->a.memory, 3000);
	bed_no_cqe(&bed->a);
	bed_recv(&bed->b, bed->b.memory + 4000, 3000);
	bed_advance(bed, RNR_NS);
	bed_sent(&bed->a, 0x0a, 1);
	bed_received(&bed->b, 1, 3000);
	bed_free(bed);
}

static void
test_never_ready(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x09, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)bed->b.memory, .sges = 1, .sge = { { bed->a.memory, 10 } } };

	(void)state;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_advance(bed, RNR_NS);
	bed_advance(bed, RNR_NS - 1);
	bed_no_cqe(&bed->a);
	bed_advance(bed, 1);
	bed_failed(&bed->a, VMLX4_HW_SYN_RNR_RETRY);
	assert_int_equal(stats(bed, 2)->rx_roce_rnr, 3);
	bed_free(bed);
}

/* 7 is for ever. */
static void
test_waits_for_ever(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 10 } } };
	unsigned int i;

	(void)state;
	vmlx4_ib_attr(bed->a.qp->ib)->rnr_retry = 7;
	vmlx4_ib_rts(bed->a.qp);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	for (i = 0; i < 30; i++)
		bed_advance(bed, RNR_NS);
	bed_no_cqe(&bed->a);
	bed_recv(&bed->b, bed->b.memory, 10);
	bed_advance(bed, RNR_NS);
	bed_sent(&bed->a, 0x0a, 0);
	bed_free(bed);
}

/* Drained: what was begun is done, what was posted since waits for RTS. */
static void
test_drain(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 10 } } };

	(void)state;
	bed_post(&bed->a, &wr);
	bed_step(bed); /* and has no receive WQE */
	bed->a.qp->state = IBV_QPS_SQD;
	vmlx4_ib_sqd(bed->a.qp, true);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed_event(bed), 0xff);
	bed_recv(&bed->b, bed->b.memory, 10);
	bed_recv(&bed->b, bed->b.memory, 10);
	bed_advance(bed, RNR_NS);
	bed_sent(&bed->a, 0x0a, 0);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed_event(bed), IBV_EVENT_SQ_DRAINED);
	bed->a.qp->state = IBV_QPS_RTS;
	vmlx4_ib_rts(bed->a.qp);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 1);
	assert_int_equal(bed->card.adapter->violations, 0);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lossy_wire),
		cmocka_unit_test(test_responses_lost),
		cmocka_unit_test(test_reads_again_and_new_ones),
		cmocka_unit_test(test_cable_out),
		cmocka_unit_test(test_engine_was_away),
		cmocka_unit_test(test_cable_back),
		cmocka_unit_test(test_receiver_not_ready),
		cmocka_unit_test(test_never_ready),
		cmocka_unit_test(test_waits_for_ever),
		cmocka_unit_test(test_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
