/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "broken.h"
#include "frames.h"
#include "uverbs/uverbs.h"

/* Receive queues. */

static void
test_lkey_receive_without_write(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	b->card.mr.access = 0;
	card_post_recv(b->rq, 0, b->card.arena, 2048);
	card_rq_record(b->rq, 1);
	receive(b);
	reported(b, VMLX4_RULE_LKEY);
}

/* The buffer ends behind the region although this frame would have fitted. */
static void
test_lkey_receive_tail(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post_recv(b->rq, 0, b->card.arena + CARD_ARENA - 100, 2048);
	card_rq_record(b->rq, 1);
	receive(b);
	assert_int_equal(b->card.adapter->ports[1].stats.rx_frames, 1);
	reported(b, VMLX4_RULE_LKEY);
}

static void
test_rq_overrun(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++)
		card_post_recv(b->rq, i, b->card.arena, 2048);
	card_rq_record(b->rq, 5);
	receive(b);
	reported(b, VMLX4_RULE_RQ_OVERRUN);
}

static void
test_rq_wqe(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_OFF, 6);

	(void)state;
	b->card.mr.length = (uint64_t)1 << 40; /* so that only the count is wrong */
	b->card.adapter->options.strict = VMLX4_STRICT_REPORT;
	card_post_recv(b->rq, 0, b->card.arena, 0);
	card_rq_record(b->rq, 1);
	receive(b);
	reported(b, VMLX4_RULE_RQ_WQE);
}

static void
test_record_backwards(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		card_post_recv(b->rq, i, b->card.arena + 2048 * i, 2048);
	card_rq_record(b->rq, 3);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	card_rq_record(b->rq, 2);
	step(b);
	reported(b, VMLX4_RULE_RQ_BACKWARDS);
}

/* ---- while it is posted ---- */

static struct broken *
posted(uint32_t count)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	for (i = 0; i < count; i++)
		card_post_recv(b->rq, i, b->card.arena + 4096 * i + 64, 2048);
	card_rq_record(b->rq, count);
	step(b); /* the record is read… */
	return b;
}

static void
test_wqe_posted(void **state)
{
	struct broken *b = posted(1);

	(void)state;
	card_post_recv(b->rq, 0, b->card.arena + 8192, 2048);
	receive(b);
	reported(b, VMLX4_RULE_RQ_WQE_POSTED);
}

/* …and not before: what is posted may be written until then. */
static void
test_wqe_before_the_record(void **state)
{
	struct broken *b = posted(1);

	(void)state;
	card_post_recv(b->rq, 1, b->card.arena, 2048);
	step(b);
	card_post_recv(b->rq, 1, b->card.arena + 8192, 2048);
	card_rq_record(b->rq, 2);
	receive(b);
	receive(b);
	assert_int_equal(b->rq->rq.ci, 2);
	clean(b);
}

static void
test_buffer_posted(void **state)
{
	struct broken *b = posted(1);

	(void)state;
	b->card.arena[64 + 63] ^= 1;
	receive(b);
	reported(b, VMLX4_RULE_RQ_BUFFER_POSTED);
}

/* Around the buffer, and behind its completion. */
static void
test_beside_the_buffer(void **state)
{
	struct broken *b = posted(2);

	(void)state;
	b->card.arena[63] ^= 1;
	b->card.arena[64 + 2048] ^= 1;
	receive(b);
	b->card.arena[64] ^= 1;
	receive(b);
	assert_int_equal(b->rq->rq.ci, 2);
	clean(b);
}

/* One buffer for several WQEs, as benchmarks have it: the adapter writes to it. */
static void
test_shared_buffer(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		card_post_recv(b->rq, i, b->card.arena + i, 2048);
	card_rq_record(b->rq, 4);
	step(b);
	for (i = 0; i < 4; i++)
		receive(b);
	assert_int_equal(b->rq->rq.ci, 4);
	clean(b);
}

/* ---- counters that restart: a WQ without an RSS QP ---- */

struct served {
	struct broken *b;
	struct vmlx4_wq wq;
	struct vmlx4_table *table;
};

/* A WQ on the ring of the usual queue received frames and lost its RSS QP. */
static void
served_new(struct served *s, uint32_t frames)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->b = broken_new(VMLX4_STRICT_REPORT, 6);
	s->wq.obj.ctx = s->b->card.ctx;
	s->wq.state = IBV_WQS_RDY;
	s->wq.rq = s->b->rq->rq;
	s->wq.rq.check = NULL;
	s->wq.rq.live = false;
	s->table = calloc(1, sizeof(*s->table) + sizeof(s->table->wq[0]));
	assert_non_null(s->table);
	s->table->size = 1;
	s->table->wq[0] = &s->wq;
	assert_int_equal(vmlx4_table_up(s->table, &s->b->card.adapter->ports[1]), 0);
	for (i = 0; i < 3; i++)
		card_post_recv(s->b->rq, i, s->b->card.arena + 4096 * i, 2048);
	card_rq_record(s->b->rq, 3);
	for (i = 0; i < frames; i++)
		vmlx4_rq_receive(&s->b->card.adapter->ports[1], &s->wq.rq, frame_udp4,
			sizeof(frame_udp4), &(struct vmlx4_parsed){ 0 }, 0);
	assert_int_equal(s->wq.rq.ci, frames);
	vmlx4_table_down(s->table);
}

static struct broken *
served_end(struct served *s)
{
	vmlx4_rq_reset(&s->wq.rq);
	free(s->table);
	return s->b;
}

static void
test_restart(void **state)
{
	struct broken *b;
	struct served s;

	(void)state;
	served_new(&s, 1);
	assert_int_equal(vmlx4_table_up(s.table, &s.b->card.adapter->ports[1]), 0);
	b = served_end(&s);
	reported(b, VMLX4_RULE_RQ_RESTART);
}

/* The driver counts anew, or the adapter had not begun to count. */
static void
test_restart_on_both_sides(void **state)
{
	struct served s;

	(void)state;
	served_new(&s, 1);
	card_rq_record(s.b->rq, 0);
	assert_int_equal(vmlx4_table_up(s.table, &s.b->card.adapter->ports[1]), 0);
	clean(served_end(&s));
	served_new(&s, 0);
	assert_int_equal(vmlx4_table_up(s.table, &s.b->card.adapter->ports[1]), 0);
	clean(served_end(&s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lkey_receive_without_write),
		cmocka_unit_test(test_lkey_receive_tail),
		cmocka_unit_test(test_rq_overrun),
		cmocka_unit_test(test_rq_wqe),
		cmocka_unit_test(test_record_backwards),
		cmocka_unit_test(test_wqe_posted),
		cmocka_unit_test(test_wqe_before_the_record),
		cmocka_unit_test(test_buffer_posted),
		cmocka_unit_test(test_beside_the_buffer),
		cmocka_unit_test(test_shared_buffer),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_restart_on_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
