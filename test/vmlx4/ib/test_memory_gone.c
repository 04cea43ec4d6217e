/* SPDX-License-Identifier: BSD-3-Clause */

#include <sys/mman.h>

#include "bed.h"

/*
 * Buffers that are registered and no longer there. Who touches them ends, as with a
 * key that does not cover them; the other QP hears what the protocol says.
 */

static struct bed *
gone_new(unsigned int qp_type)
{
	struct bed *bed = bed_new(qp_type, 2);

	bed->card.mr.obj.type = VMLX4_MR;
	TAILQ_INSERT_HEAD(&bed->card.ctx->objs, &bed->card.mr.obj, next);
	return bed;
}

static void
gone_free(struct bed *bed)
{
	assert_int_equal(bed->card.adapter->violations_of[VMLX4_RULE_MR_UNMAPPED], 1);
	assert_int_equal(mprotect(bed->card.arena, CARD_ARENA, PROT_READ | PROT_WRITE), 0);
	TAILQ_REMOVE(&bed->card.ctx->objs, &bed->card.mr.obj, next);
	bed_free(bed);
}

static void
take_away(const uint8_t *memory)
{
	assert_int_equal(mprotect((void *)(uintptr_t)memory, 8192, PROT_NONE), 0);
}

/* What is sent, and where what is read should go. */
static void
test_of_the_requester(void **state)
{
	static const uint8_t opcodes[] = { 0x0a, 0x08, 0x10 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = gone_new(IBV_QPT_RC);
		struct bed_wr wr = bed_wr_of(bed, opcodes[i], 5000);

		bed_recv(&bed->b, bed->b.memory, 5000);
		take_away(bed->a.memory);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_failed(&bed->a, VMLX4_HW_SYN_LOC_PROT);
		assert_int_equal(bed->a.qp->state, IBV_QPS_ERR);
		assert_int_equal(bed->b.qp->state, IBV_QPS_RTS);
		gone_free(bed);
	}
}

/* What is written, read, or received into. */
static void
test_of_the_responder(void **state)
{
	static const uint8_t opcodes[] = { 0x0a, 0x08, 0x10 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = gone_new(IBV_QPT_RC);
		struct bed_wr wr = bed_wr_of(bed, opcodes[i], 5000);

		bed_recv(&bed->b, bed->b.memory, 5000);
		take_away(bed->b.memory);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_failed(&bed->a, VMLX4_HW_SYN_REM_OP);
		bed_failed(&bed->b, i == 0 ? VMLX4_HW_SYN_LOC_PROT : VMLX4_HW_SYN_FLUSH);
		assert_int_equal(bed->b.qp->state, IBV_QPS_ERR);
		assert_int_equal(bed_event(bed), IBV_EVENT_QP_ACCESS_ERR);
		gone_free(bed);
	}
}

static void
test_datagrams(void **state)
{
	struct bed *bed = gone_new(IBV_QPT_UD);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 5000);
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	wr.datagram = av;
	wr.sge[0].length = 100;
	take_away(bed->a.memory);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_PROT);
	assert_int_equal(bed->a.qp->state, IBV_QPS_SQE);
	gone_free(bed);
}

/*
 * A receiver of XRC has the queue that a packet names for as long as it looks at the
 * packet, and not for good: the queue can go before it does.
 */
static void
test_of_an_xrc_receiver(void **state)
{
	static struct vmlx4_srq *srqs[VMLX4_SRQ_TABLE];
	struct bed *bed = gone_new(IBV_QPT_XRC_SEND);
	struct vmlx4_xrcd xrcd = { .xrcdn = 1 };
	struct vmlx4_srq srq = { .obj.ctx = bed->card.ctx, .srqn = 0x47, .pd = &bed->card.pd,
		.cq = bed->b.cq, .xrcd = &xrcd };
	struct bed_wr wr = bed_wr_of(bed, 0x08, 5000);

	(void)state;
	bed->b.qp->qp_type = IBV_QPT_XRC_RECV;
	bed->b.qp->xrcd = &xrcd;
	srqs[srq.srqn] = &srq;
	bed->card.adapter->srq_table = srqs;
	wr.flags |= srq.srqn << 8;
	take_away(bed->b.memory);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_REM_OP);
	assert_int_equal(bed->b.qp->state, IBV_QPS_ERR);
	assert_null(bed->b.qp->srq);
	assert_int_equal(bed_event(bed), IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(bed_event(bed), 0xff);
	bed->card.adapter->srq_table = NULL;
	gone_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_the_requester),
		cmocka_unit_test(test_of_the_responder),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_of_an_xrc_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
