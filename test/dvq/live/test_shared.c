/* SPDX-License-Identifier: BSD-3-Clause */

/* Several connections that receive from one SRQ: its WQEs come back in any order. */

#include "live.h"

#define PAIRS 8u
#define WQES 31u
#define SIZE 64u

struct shared {
	struct ibv_srq *ibv_srq;
	struct dvq_srq srq;
	struct live_end a[PAIRS], b[PAIRS];
	bool posted[WQES + 1];
};

static void
post_one(struct live *live, struct shared *s)
{
	struct dvq_sge sge = live_sge(live, 4096 + s->srq.head * SIZE, SIZE);
	int number = dvq_srq_post(&s->srq, &sge, 1);

	assert_in_range(number, 0, WQES);
	assert_false(s->posted[number]);
	s->posted[number] = true;
}

static void
shared_open(struct live *live, struct shared *s)
{
	const struct ibv_qp_cap cap = { .max_send_wr = 32, .max_send_sge = 1,
		.max_inline_data = 32 };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = WQES, .max_sge = 1 } };
	struct dvq_open_request req = { .srq = &s->srq };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->ibv_srq = ibv_create_srq(live->pd, &attr);
	assert_non_null(s->ibv_srq);
	req.ibv_srq = s->ibv_srq;
	assert_int_equal(dvq_open(&req), 0);
	assert_int_equal(dvq_srq_room(&s->srq), WQES);
	for (i = 0; i < PAIRS; i++) {
		live_open(live, &s->a[i], IBV_QPT_RC, &cap, s->ibv_srq);
		live_open(live, &s->b[i], IBV_QPT_RC, &cap, s->ibv_srq);
		live_connect(live, &s->a[i], &s->b[i]);
	}
}

static void
shared_close(struct shared *s)
{
	uint32_t i;

	for (i = 0; i < PAIRS; i++) {
		live_close(&s->a[i]);
		live_close(&s->b[i]);
	}
	assert_int_equal(ibv_destroy_srq(s->ibv_srq), 0);
}

static void
send_number(struct shared *s, uint32_t pair, uint32_t number)
{
	assert_int_equal(dvq_post_send_inline(&s->a[pair].sq, &number, sizeof(number),
		DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&s->a[pair].sq);
}

/* The message of a pair; its WQE is kept until the caller completes it. */
static uint16_t
take(struct live *live, struct shared *s, uint32_t pair, uint32_t number)
{
	struct dvq_wc wc = live_wait(&s->b[pair]);
	uint32_t got;

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, sizeof(got));
	assert_in_range(wc.wqe_index, 0, WQES);
	memcpy(&got, live->mem + 4096 + wc.wqe_index * SIZE, sizeof(got));
	assert_int_equal(got, number);
	assert_true(s->posted[wc.wqe_index]);
	s->posted[wc.wqe_index] = false;
	assert_int_equal(dvq_sendq_complete(&s->a[pair].sq, live_wait(&s->a[pair]).wqe_index), 1);
	return wc.wqe_index;
}

/* 50 rounds over all pairs; WQEs are given back last first. */
static void
test_out_of_order(void **state)
{
	struct live *live = *state;
	struct shared s;
	uint16_t used[PAIRS];
	uint32_t round, i;

	shared_open(live, &s);
	for (i = 0; i < WQES; i++)
		post_one(live, &s);
	assert_int_equal(dvq_srq_post(&s.srq, NULL, 0), -ENOMEM);
	dvq_srq_publish(&s.srq);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < PAIRS; i++)
			send_number(&s, (i * 3 + round) % PAIRS, 1000 * round + i);
		for (i = 0; i < PAIRS; i++)
			used[i] = take(live, &s, (i * 3 + round) % PAIRS, 1000 * round + i);
		for (i = PAIRS; i-- != 0;)
			assert_int_equal(dvq_srq_complete(&s.srq, used[i]), 0);
		for (i = 0; i < PAIRS; i++)
			post_one(live, &s);
		dvq_srq_publish(&s.srq);
	}
	shared_close(&s);
}

/* A message that finds nothing posted is sent again, and arrives once something is. */
static void
test_empty_srq(void **state)
{
	struct live *live = *state;
	struct shared s;
	int i;

	shared_open(live, &s);
	send_number(&s, 0, 42);
	for (i = 0; i < 5; i++)
		vmlx4_step(0);
	post_one(live, &s);
	dvq_srq_publish(&s.srq);
	assert_int_equal(dvq_srq_complete(&s.srq, take(live, &s, 0, 42)), 0);
	assert_int_equal(dvq_srq_room(&s.srq), WQES);
	shared_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_live(test_out_of_order),
		cmocka_unit_test_live(test_empty_srq),
	};

	return cmocka_run_group_tests_name("dvq: one SRQ, many connections", tests, NULL, NULL);
}
