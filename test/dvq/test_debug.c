/* SPDX-License-Identifier: BSD-3-Clause */

/* DVQ_DEBUG: a queue that somebody else uses as well is noticed, by its number. */

#define DVQ_DEBUG

#include "sendq.h"

static struct sendq s;
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
	(void)state;
	dvq_debug_mixed = note;
	said[0] = '\0';
	times = 0;
	return 0;
}

static void
expect_said(const char *queue, const char *what)
{
	assert_int_equal(times, 1);
	assert_non_null(strstr(said, queue));
	assert_non_null(strstr(said, what));
	assert_non_null(strstr(said, "must not be used through verbs"));
}

static void
test_cq_polled_by_others(void **state)
{
	uint32_t record = htobe32(0x30);
	struct dvq_cq cq = { .set_ci_db = &record, .ci = 0x32, .cqn = 0x83, .published = 0x30 };

	(void)state;
	dvq_cq_update_ci(&cq);
	dvq_cq_update_ci(&cq);
	assert_int_equal(times, 0);
	/* ibv_poll_cq() moves the record by its own count. */
	record = htobe32(0x38);
	dvq_cq_update_ci(&cq);
	expect_said("CQ 0x000083 is used by others",
		"the consumer index in its record is 0x38, 0x32");
}

static void
test_receive_queue_filled_by_others(void **state)
{
	uint8_t mem[256];
	uint32_t record = 0;
	struct dvq_rq rq = { .buf = mem, .wqe_cnt = 16, .db = &record, .stride_shift = 4,
		.max_sge = 1, .number = 0x24a };

	(void)state;
	rq.pi = 3;
	dvq_rq_publish(&rq);
	dvq_rq_reset(&rq);
	dvq_rq_publish(&rq);
	assert_int_equal(times, 0);
	record = htobe32(5);
	dvq_rq_publish(&rq);
	expect_said("receive queue 0x00024a is used", "the doorbell record is 0x5, 0x0");
}

static void
test_srq_filled_by_others(void **state)
{
	uint32_t record = 0;
	struct dvq_srq srq = { .db = &record, .number = 4, .pi = 70000 };

	(void)state;
	dvq_srq_publish(&srq);
	dvq_srq_publish(&srq);
	assert_int_equal(times, 0);
	record = htobe32(1);
	dvq_srq_publish(&srq);
	expect_said("SRQ 0x000004 is used", "the doorbell record is 0x1, 0x1170");
}

/* In every pass: the next stride is still of the pass before. */
static void
test_send_queue_filled_by_others(void **state)
{
	uint32_t pass;

	(void)state;
	sendq_init(&s, 6, 64);
	for (pass = 0; pass < 3; pass++) {
		setup(NULL);
		sendq_advance(&s, pass * 64 + 10);
		assert_int_equal(times, 0);
		/* ibv_post_send() gets there first. */
		*(uint32_t *)(void *)(s.mem + 10 * 64) = htobe32(pass % 2 != 0 ? 0x8000000a : 0xa);
		dvq_post_nop(&s.sq, 0);
		expect_said("send queue of QP 0x000242 is used", "the owner bit of the next WQE");
		assert_int_equal(dvq_sendq_complete(&s.sq, (uint16_t)(s.sq.pi - 1)), 1);
	}
}

/* The same that libmlx4 does: it has no part of ours. */
static void
test_packed_queue_filled_by_others(void **state)
{
	static struct ring r;

	(void)state;
	ring_init(&r);
	ring_advance(&r, 5);
	assert_int_equal(times, 0);
	*(uint32_t *)(void *)(r.mem + 5 * 64) = htobe32(0xa);
	post_nop(&r.sq);
	expect_said("send queue of QP 0x000242 is used", "the owner bit of the next WQE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cq_polled_by_others, setup),
		cmocka_unit_test_setup(test_receive_queue_filled_by_others, setup),
		cmocka_unit_test_setup(test_srq_filled_by_others, setup),
		cmocka_unit_test_setup(test_send_queue_filled_by_others, setup),
		cmocka_unit_test_setup(test_packed_queue_filled_by_others, setup),
	};

	return cmocka_run_group_tests_name("dvq: queues used twice", tests, NULL, NULL);
}
