/* SPDX-License-Identifier: BSD-3-Clause */

/* DVQ_DEBUG with the ordinary path on the same queues: what it says, by the number. */

#define DVQ_DEBUG

#include <stdio.h>

#include "live.h"

static char said[300];
static unsigned int times;

static void
note(const char *sentence)
{
	snprintf(said, sizeof(said), "%s", sentence);
	times++;
}

static int
setup(void **state)
{
	said[0] = '\0';
	times = 0;
	dvq_debug_mixed = note;
	return live_setup(state);
}

static void
expect_said(const char *queue, uint32_t number)
{
	char name[64];

	snprintf(name, sizeof(name), "%s 0x%06x is used by others", queue, number);
	assert_int_equal(times, 1);
	if (strncmp(said, name, strlen(name)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", said, name);
}

/* As live_wait(), which is compiled without DVQ_DEBUG. */
static struct dvq_wc
wait_here(struct live_end *end)
{
	struct dvq_wc wc;
	int i;

	for (i = 0; i < 1000; i++) {
		if (dvq_cq_poll_batch(&end->cq, &wc, 1) == 1)
			return wc;
		vmlx4_step(0);
	}
	fail_msg("no completion");
	return wc;
}

static void
post_recv(struct live *live, struct live_end *end)
{
	struct dvq_sge sge = live_sge(live, 32768, 64);

	assert_int_equal(dvq_post_recv(&end->rq, &sge, 1), 0);
	dvq_rq_publish(&end->rq);
}

static void
send_one(struct live *live, struct live_end *end)
{
	struct dvq_sge sge = live_sge(live, 0, 64);

	assert_int_equal(dvq_post_send(&end->sq, &sge, 1, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&end->sq);
}

static void
test_nothing_to_say(void **state)
{
	struct live *live = *state;
	struct live_end a, b;
	int i;

	live_pair(live, &a, &b);
	for (i = 0; i < 300; i++) {
		post_recv(live, &b);
		send_one(live, &a);
		wait_here(&b);
		dvq_rq_complete(&b.rq);
		assert_int_equal(dvq_sendq_complete(&a.sq, wait_here(&a).wqe_index), 1);
	}
	assert_int_equal(times, 0);
	live_close(&a);
	live_close(&b);
}

static void
test_ibv_poll_cq(void **state)
{
	struct live *live = *state;
	struct live_end a, b;
	struct ibv_wc wc[2];
	int i;

	live_pair(live, &a, &b);
	for (i = 0; i < 3; i++)
		post_recv(live, &b);
	for (i = 0; i < 3; i++)
		send_one(live, &a);
	wait_here(&b);
	/* It begins where it left off, at the first one, and moves the record on. */
	assert_int_equal(ibv_poll_cq(b.ibv_cq, 2, wc), 2);
	assert_int_equal(times, 0);
	wait_here(&b);
	expect_said("CQ", b.cq.cqn);
	live_close(&a);
	live_close(&b);
}

static void
test_ibv_post_recv(void **state)
{
	struct live *live = *state;
	struct live_end a, b;
	struct ibv_sge sge = { .addr = (uintptr_t)live->mem, .length = 64,
		.lkey = live->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	int i;

	live_pair(live, &a, &b);
	post_recv(live, &b);
	post_recv(live, &b);
	/* Its count starts anew, and so it takes one of ours back. */
	for (i = 0; i < 3; i++)
		assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
	post_recv(live, &b);
	expect_said("receive queue", b.qp->qp_num);
	live_close(&a);
	live_close(&b);
}

static void
test_ibv_post_srq_recv(void **state)
{
	struct live *live = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 15, .max_sge = 1 } };
	struct ibv_srq *ibv_srq = ibv_create_srq(live->pd, &attr);
	struct ibv_sge sge = { .addr = (uintptr_t)live->mem, .length = 64,
		.lkey = live->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct dvq_sge ours = live_sge(live, 0, 64);
	struct dvq_srq srq;
	struct dvq_open_request req = { .ibv_srq = ibv_srq, .srq = &srq };

	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(dvq_srq_post(&srq, &ours, 1), 0);
	dvq_srq_publish(&srq);
	assert_int_equal(dvq_srq_post(&srq, &ours, 1), 1);
	dvq_srq_publish(&srq);
	assert_int_equal(times, 0);
	assert_int_equal(ibv_post_srq_recv(ibv_srq, &wr, &bad), 0);
	assert_int_equal(dvq_srq_post(&srq, &ours, 1), 2);
	dvq_srq_publish(&srq);
	expect_said("SRQ", ibv_srq->handle);
	assert_int_equal(ibv_destroy_srq(ibv_srq), 0);
}

static void
test_ibv_post_send(void **state)
{
	struct live *live = *state;
	struct live_end a, b;
	struct ibv_sge sge = { .addr = (uintptr_t)live->mem, .length = 64,
		.lkey = live->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	live_pair(live, &a, &b);
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	assert_int_equal(dvq_post_nop(&a.sq, 0), 0);
	expect_said("send queue of QP", a.qp->qp_num);
	live_close(&a);
	live_close(&b);
}

#define mixed_test(f) cmocka_unit_test_setup_teardown(f, setup, live_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		mixed_test(test_nothing_to_say), mixed_test(test_ibv_poll_cq),
		mixed_test(test_ibv_post_recv), mixed_test(test_ibv_post_srq_recv),
		mixed_test(test_ibv_post_send),
	};

	return cmocka_run_group_tests_name("dvq: both paths on one queue", tests, NULL, NULL);
}
