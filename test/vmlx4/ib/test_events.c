/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/*
 * Asynchronous events of QPs with a transport: a connection that is there, the last WQE
 * of a shared queue, the limit of one, and completions that found no room.
 */

#define SRQ_WQES 8u
#define SRQ_SHIFT 5

/* ---- a connection ---- */

static void
back_to_rtr(struct bed_end *end)
{
	vmlx4_ib_reset(end->qp);
	end->received = 0;
	end->qp->sq.port = end->qp->port;
	end->qp->state = IBV_QPS_RTR;
	vmlx4_ib_rtr(end->qp);
}

/* The first packet tells a QP in RTR that its peer is there; the second tells nothing new. */
static void
test_connection(void **state)
{
	static const unsigned int types[] = { IBV_QPT_RC, IBV_QPT_UC };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bed *bed = bed_new(types[i], 2);
		struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

		back_to_rtr(&bed->b);
		*bed->b.qp->rq.db = 0;
		bed_recv(&bed->b, bed->b.memory, 100);
		bed_recv(&bed->b, bed->b.memory, 100);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		assert_int_equal(bed_event(bed), IBV_EVENT_COMM_EST);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_received(&bed->b, 1, 100);
		bed_received(&bed->b, 1, 100);
		assert_int_equal(bed_event(bed), 0xff);
		bed_free(bed);
	}
}

/* In RTS the program knows already; who only gets datagrams has no connection. */
static void
test_no_news(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 10);
	uint8_t av[48];

	(void)state;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_received(&bed->b, 1, 10);
	assert_int_equal(bed_event(bed), 0xff);
	bed_free(bed);
	bed = bed_new(IBV_QPT_UD, 2);
	back_to_rtr(&bed->b);
	*bed->b.qp->rq.db = 0;
	wr = bed_wr_of(bed, 0x0a, 10);
	bed_address(&bed->b, av);
	wr.datagram = av;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_received(&bed->b, 1, 50);
	assert_int_equal(bed_event(bed), 0xff);
	bed_free(bed);
}

/* ---- a shared queue ---- */

struct shared {
	struct vmlx4_srq srq;
	uint32_t record;
	uint8_t buf[SRQ_WQES << SRQ_SHIFT];
};

/* b receives from a shared queue of WQEs with 100 bytes each. */
static struct shared *
share(struct bed *bed, uint32_t posted)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	uint64_t addr = (uintptr_t)bed->b.memory;
	uint32_t i;

	assert_non_null(shared);
	shared->srq = (struct vmlx4_srq){
		.obj = { .type = VMLX4_SRQ, .ctx = bed->card.ctx, .user_handle = 0x5432 },
		.srqn = 0x47, .pd = &bed->card.pd, .buf = shared->buf, .wqe_cnt = SRQ_WQES,
		.stride_shift = SRQ_SHIFT, .max_sge = 1, .db = &shared->record,
	};
	for (i = 0; i < SRQ_WQES; i++) {
		uint8_t *wqe = shared->buf + (i << SRQ_SHIFT);

		vmlx4_put_be16(wqe + 2, (uint16_t)((i + 1) % SRQ_WQES));
		card_put(wqe + 16, (const uint32_t[]){ 100, CARD_LKEY, (uint32_t)(addr >> 32),
			(uint32_t)addr }, 4);
	}
	shared->record = htobe32(posted);
	bed->b.qp->srq = &shared->srq;
	return shared;
}

static void
test_last_wqe(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct shared *shared = share(bed, 4);
		struct bed_wr wr = bed_wr_of(bed, 0x0a, i == 0 ? 100 : 101);

		bed_post(&bed->a, &wr);
		bed_step(bed);
		if (i == 0) {
			bed_received(&bed->b, 1, 100);
			assert_int_equal(bed_event(bed), 0xff);
			bed->b.qp->state = IBV_QPS_ERR;
			vmlx4_ib_error(bed->b.qp); /* the program's wish */
		} else {
			bed_failed(&bed->b, VMLX4_HW_SYN_LOC_LEN);
		}
		/* Those that are posted stay for the others. */
		assert_int_equal(bed_event(bed), IBV_EVENT_QP_LAST_WQE_REACHED);
		assert_int_equal(bed_event(bed), 0xff);
		bed_no_cqe(&bed->b);
		assert_int_equal(shared->srq.taken, 1);
		bed->b.qp->srq = NULL;
		free(shared);
		bed_free(bed);
	}
}

static void
test_limit(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct shared *shared = share(bed, 4);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	shared->srq.limit = 3;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed_event(bed), 0xff); /* three are left */
	bed_post(&bed->a, &wr);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed_event(bed), IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(bed_event(bed), 0xff); /* once */
	bed->b.qp->srq = NULL;
	free(shared);
	bed_free(bed);
}

/* ---- a CQ without room ---- */

/* As if the program had polled nothing since long ago. */
static void
fill(struct vmlx4_cq *cq)
{
	cq->room = 0;
	*cq->db = htobe32((cq->pi - cq->cqe_cnt) & 0xffffff);
}

static void
expect_overrun(struct bed *bed, const struct bed_end *end)
{
	assert_int_equal(bed_event(bed), IBV_EVENT_CQ_ERR);
	assert_int_equal(bed_event(bed), IBV_EVENT_QP_FATAL);
	assert_int_equal(end->qp->state, IBV_QPS_ERR);
	assert_true(end->cq->error);
	assert_int_equal(bed->card.adapter->cq_overruns, 1);
	assert_int_equal(bed->card.adapter->violations_of[VMLX4_RULE_CQ_OVERRUN], 1);
}

static const unsigned int overrun_types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

/* @messages from a to b, of 100 bytes, while the CQ of one of them is full. */
static struct bed *
overrun_new(unsigned int qp_type, bool of_sender, unsigned int messages)
{
	struct bed *bed = bed_new(qp_type, 2);
	struct bed_end *full = of_sender ? &bed->a : &bed->b;
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);
	uint8_t av[48];

	bed_address(&bed->b, av);
	if (qp_type == IBV_QPT_UD)
		wr.datagram = av;
	bed_recv(&bed->b, bed->b.memory, 200);
	fill(full->cq);
	while (messages-- != 0)
		bed_post(&bed->a, &wr);
	bed_step(bed);
	expect_overrun(bed, full);
	return bed;
}

/* The sender's CQ: what it sent arrived, and it can send no more. */
static void
test_sender_runs_over(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = overrun_new(overrun_types[i], true, 2);

		bed_received(&bed->b, 1, overrun_types[i] == IBV_QPT_UD ? 140 : 100);
		assert_int_equal(bed->a.cq->pi, 0);
		assert_int_equal(bed_event(bed), 0xff);
		bed_free(bed);
	}
}

/* The receiver's: of a connection the sender hears of it. */
static void
test_receiver_runs_over(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bed *bed = overrun_new(overrun_types[i], false, 1);

		assert_int_equal(bed->card.adapter->ports[1].stats.rx_cq_overrun, 1);
		if (overrun_types[i] == IBV_QPT_RC)
			bed_failed(&bed->a, VMLX4_HW_SYN_REM_OP);
		else
			bed_sent(&bed->a, 0x0a, 0);
		bed_free(bed);
	}
}

/* Another QP on the same CQ lives until it has something to tell. */
static void
test_other_on_the_cq(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	bed->a.cq->error = true;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_recv(&bed->b, bed->b.memory, 100);
	wr.flags = 0;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed->a.qp->state, IBV_QPS_RTS);
	wr.flags = SIGNALED;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed->a.qp->state, IBV_QPS_ERR);
	assert_int_equal(bed_event(bed), IBV_EVENT_QP_FATAL);
	assert_int_equal(bed_event(bed), 0xff);
	bed_free(bed);
}

/* Completions that come late (--completion-lag) run over late. */
static void
test_late_completions_run_over(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	bed->card.adapter->options.completion_lag_ns = 5000;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_no_cqe(&bed->a);
	/* One more is under way, and not answered: there is no receive WQE for it. */
	bed_post(&bed->a, &wr);
	bed_step(bed);
	fill(bed->a.cq);
	bed_advance(bed, 5000);
	expect_overrun(bed, &bed->a);
	assert_int_equal(bed->a.qp->ib->tx.first, bed->a.qp->ib->tx.last);
	assert_false(bed->a.qp->ib->tx.rnr.timer.armed);
	bed_free(bed);
}

/* A fault that hits the QP ends what was begun as well. */
static void
test_injected(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	bed_post(&bed->a, &wr);
	bed_step(bed); /* it waits for a receive WQE */
	card_faults(&bed->card, "qp fatal qpn=0x141");
	bed_advance(bed, 1);
	assert_int_equal(bed_event(bed), IBV_EVENT_QP_FATAL);
	bed_failed(&bed->a, VMLX4_HW_SYN_FLUSH);
	bed_advance(bed, 1000000000);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed_event(bed), 0xff);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection),
		cmocka_unit_test(test_no_news),
		cmocka_unit_test(test_last_wqe),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_sender_runs_over),
		cmocka_unit_test(test_receiver_runs_over),
		cmocka_unit_test(test_other_on_the_cq),
		cmocka_unit_test(test_late_completions_run_over),
		cmocka_unit_test(test_injected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
