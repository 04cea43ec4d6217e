/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "card.h"
#include "frames.h"

/* Every rule of the contract, broken on purpose: that rule is named, no other. */

struct broken {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *sq, *rq;
	struct vmlx4_flow *flow;
};

static struct broken *
broken_new(enum vmlx4_strict strict, uint32_t stride_shift)
{
	struct broken *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	card_new(&b->card, strict);
	b->cq = card_cq(&b->card, 8, 64);
	b->sq = card_sq(&b->card, b->cq, 128, stride_shift);
	b->rq = card_rq(&b->card, b->cq, 4, 1);
	b->flow = card_catch_all(&b->card, 2, b->rq);
	return b;
}

static void
broken_free(struct broken *b)
{
	card_flow_free(b->flow);
	card_qp_free(&b->card, b->sq);
	card_qp_free(&b->card, b->rq);
	card_cq_free(b->cq);
	card_free(&b->card);
	free(b);
}

/* What vmlx4_step() does, without the adapter that the library looks for. */
static void
step(struct broken *b)
{
	while (vmlx4_engine_pass(b->card.adapter, 0) != 0)
		;
	vmlx4_engine_audit(b->card.adapter);
}

static void
ring(struct broken *b)
{
	card_ring(&b->card, b->sq);
}

static bool was_broken[VMLX4_RULES];

static void
reported(struct broken *b, enum vmlx4_rule rule)
{
	was_broken[rule] = true;
	assert_int_equal(b->card.adapter->violations, 1);
	assert_string_equal(vmlx4_rule_name(b->card.adapter->last_violation),
		vmlx4_rule_name(rule));
	broken_free(b);
}

static void
clean(struct broken *b)
{
	assert_int_equal(b->card.adapter->violations, 0);
	broken_free(b);
}

static void
receive(struct broken *b)
{
	vmlx4_port_receive(&b->card.adapter->ports[1], frame_udp4, sizeof(frame_udp4));
}

/* The control: many passes over the ring, freed blocks stamped as they should be. */
static void
test_good_driver_is_clean(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		uint32_t stamp = htobe32(i & 128 ? 0xffffffff : 0x7fffffff);

		card_post(b->sq, i, i % 4 == 3 ? 0x0e : 0x02, b->card.arena, 60);
		ring(b);
		memcpy(b->sq->sq.buf + ((size_t)(i & 127) << 6), &stamp, 4);
		b->cq->db[0] = htobe32(b->cq->pi);
		step(b);
	}
	assert_int_equal(b->sq->sq.ci, 1000);
	clean(b);
}

/* libmlx4 leaves the first block of a WQE alone: its owner bit goes stale by itself. */
static void
test_unstamped_first_blocks_are_fine(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		card_post(b->sq, i, 0x02, b->card.arena, 60);
		ring(b);
		step(b);
		step(b);
	}
	clean(b);
}

static void
test_lkey_send(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena + CARD_ARENA - 30, 60);
	ring(b);
	reported(b, VMLX4_RULE_LKEY);
}

static void
test_lkey_other_pd(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	struct vmlx4_pd other = { .obj.ctx = b->card.ctx };

	(void)state;
	b->card.mr.pd = &other;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_LKEY);
}

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
test_ownership(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 128, 0x0e, b->card.arena, 60); /* the pass after this one */
	ring(b);
	step(b);
	step(b);
	reported(b, VMLX4_RULE_SQ_OWNERSHIP);
}

/* A block of a two-block WQE freed without a stamp: one pass later it looks posted. */
static void
test_stamp(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t stale = htobe32(60);

	(void)state;
	memcpy(b->sq->sq.buf + 10 * 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	step(b);
	step(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

/* Far enough ahead to be no WQE in the making: said at once, also in full flow. */
static void
test_stamp_far_ahead(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t stale = htobe32(60);

	(void)state;
	memcpy(b->sq->sq.buf + 20 * 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

/* Wide strides: the later blocks of a stride must be stamped. */
static void
test_stamp_inside_stride(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 7);
	uint32_t stale = htobe32(0x8000002c);

	(void)state;
	memcpy(b->sq->sq.buf + 10 * 128 + 64, &stale, 4);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_STAMP);
}

static void
test_headroom(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 95; i++) /* 128 less 2 KiB and one stride */
		card_post(b->sq, i, 0x02, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->card.adapter->violations, 0);
	for (i = 95; i < 95 + 96; i++)
		card_post(b->sq, i, 0x02, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->sq->sq.ci, 191);
	reported(b, VMLX4_RULE_SQ_HEADROOM);
}

static void
test_first_dword_last(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint64_t a = (uintptr_t)b->card.arena;
	uint32_t wqe[20] = { 0x0a, 5, 0x0e, 0 };
	unsigned int i;

	(void)state;
	for (i = 4; i < 20; i += 4) {
		wqe[i] = 20;
		wqe[i + 1] = CARD_LKEY;
		wqe[i + 2] = (uint32_t)(a >> 32);
		wqe[i + 3] = (uint32_t)a;
	}
	card_put(b->sq->sq.buf, wqe, 20);
	memset(b->sq->sq.buf + 64, 0xff, 4); /* the owner bit was given too early */
	ring(b);
	assert_int_equal(card_cqe(b->cq, 0)[31], 0x5e);
	reported(b, VMLX4_RULE_SQ_FIRST_DWORD);
}

static void
test_dword1(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	b->sq->sq.buf[4] = 0x01; /* a stale lkey */
	ring(b);
	reported(b, VMLX4_RULE_SQ_DWORD1);
}

/* BlueFlame leaves the QPN there; insertion bits make the tag legal. */
static void
test_dword1_legal(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 4, "\x00\x01\x00", 3);
	card_post(b->sq, 1, 0x0e, b->card.arena, 60);
	memcpy(b->sq->sq.buf + 64 + 4, "\xa1\x23\x40", 3);
	ring(b);
	clean(b);
}

static void
test_se(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0c, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_SQ_SE);
}

static void
test_ds(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	b->sq->sq.buf[7] = 1;
	ring(b);
	reported(b, VMLX4_RULE_SQ_DS);
}

static void
test_doorbell(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	step(b); /* the look that RTS brings */
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	step(b);
	assert_int_equal(b->card.adapter->violations, 0);
	step(b);
	step(b); /* by then it is executed */
	assert_int_equal(b->sq->sq.ci, 1);
	reported(b, VMLX4_RULE_SQ_DOORBELL);
}

/* Idle for long, then posted, then rung a step later: no violation. */
static void
test_doorbell_late_is_fine(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		step(b);
	card_post(b->sq, 0, 0x0e, b->card.arena, 60);
	step(b);
	ring(b);
	step(b);
	step(b);
	assert_int_equal(b->sq->sq.ci, 1);
	clean(b);
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
test_cq_overrun(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t i;

	(void)state;
	for (i = 0; i < 9; i++)
		card_post(b->sq, i, 0x0e, b->card.arena, 60);
	ring(b);
	reported(b, VMLX4_RULE_CQ_OVERRUN);
}

static void
test_cq_consumer(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);

	(void)state;
	b->cq->db[0] = htobe32(3);
	step(b);
	reported(b, VMLX4_RULE_CQ_CONSUMER);
}

static void
test_cq_arm(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_REPORT, 6);
	uint32_t word[2] = { htobe32(1u << 28 | 2u << 24 | b->cq->cqn), 0 };

	(void)state;
	b->cq->channel = &b->card.channel;
	memcpy(b->card.ctx->pages + 0x20, word, 8); /* the record was not written */
	step(b);
	reported(b, VMLX4_RULE_CQ_ARM);
}

/* Mode fatal: one line that says what and where, and the run ends with 86. */
static void
test_fatal_line_and_status(void **state)
{
	char text[512] = "";
	int fd[2], status;
	pid_t pid;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct broken *b = broken_new(VMLX4_STRICT_FATAL, 6);

		dup2(fd[1], STDERR_FILENO);
		card_post(b->sq, 0, 0x0c, b->card.arena, 60);
		ring(b);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], text, sizeof(text) - 1);
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), VMLX4_EXIT_VIOLATION);
	assert_true(n > 0);
	assert_string_equal(text, "vmlx4: contract violation: sq-se-bit: SQ 0x100 index 0: "
		"flags 0xc lack SE: the card would append an ICRC\n");
}

static void
test_off_says_nothing(void **state)
{
	struct broken *b = broken_new(VMLX4_STRICT_OFF, 6);

	(void)state;
	card_post(b->sq, 0, 0x0c, b->card.arena, 60);
	ring(b);
	assert_int_equal(b->card.adapter->ports[0].stats.tx_frames, 1);
	clean(b);
}

/* The last test: none was forgotten, and each is told in full. */
static void
test_every_rule(void **state)
{
	const struct vmlx4_rule_text *rule;
	unsigned int i;

	(void)state;
	for (i = 0; (rule = vmlx4_rule_text(i)) != NULL; i++) {
		assert_non_null(rule->name);
		assert_string_equal(rule->name, vmlx4_rule_name((enum vmlx4_rule)i));
		assert_non_null(rule->text);
		assert_non_null(rule->source);
		assert_non_null(rule->seen);
		if (!was_broken[i])
			fail_msg("no test breaks %s", rule->name);
	}
	assert_int_equal(i, VMLX4_RULES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_driver_is_clean),
		cmocka_unit_test(test_unstamped_first_blocks_are_fine),
		cmocka_unit_test(test_lkey_send),
		cmocka_unit_test(test_lkey_other_pd),
		cmocka_unit_test(test_lkey_receive_without_write),
		cmocka_unit_test(test_lkey_receive_tail),
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_stamp_far_ahead),
		cmocka_unit_test(test_stamp_inside_stride),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_first_dword_last),
		cmocka_unit_test(test_dword1),
		cmocka_unit_test(test_dword1_legal),
		cmocka_unit_test(test_se),
		cmocka_unit_test(test_ds),
		cmocka_unit_test(test_doorbell),
		cmocka_unit_test(test_doorbell_late_is_fine),
		cmocka_unit_test(test_rq_overrun),
		cmocka_unit_test(test_rq_wqe),
		cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_cq_consumer),
		cmocka_unit_test(test_cq_arm),
		cmocka_unit_test(test_fatal_line_and_status),
		cmocka_unit_test(test_off_says_nothing),
		cmocka_unit_test(test_every_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
