/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "card.h"
#include "frames.h"

/*
 * Memory that goes away under the adapter: what it belonged to ends in an error,
 * the rest goes on. Port 1 sends, port 2 receives what it sends.
 */

#define SIGNALED 0xeu /* C and SE */

struct gone {
	struct card card;
	struct vmlx4_cq *send_cq, *recv_cq;
	struct vmlx4_qp *tx, *rx;
	struct vmlx4_flow *flow;
};

static uint8_t *
tx_buffer(struct gone *gone)
{
	return gone->card.arena;
}

static uint8_t *
rx_buffer(struct gone *gone, unsigned int index)
{
	return gone->card.arena + (size_t)4096 * (1 + index);
}

static struct gone *
gone_new(void)
{
	struct gone *gone = calloc(1, sizeof(*gone));
	unsigned int i;

	assert_non_null(gone);
	card_new(&gone->card, VMLX4_STRICT_REPORT);
	gone->card.mr.obj.type = VMLX4_MR;
	TAILQ_INSERT_HEAD(&gone->card.ctx->objs, &gone->card.mr.obj, next);
	gone->send_cq = card_cq(&gone->card, 64, 32);
	gone->recv_cq = card_cq(&gone->card, 64, 32);
	gone->tx = card_sq(&gone->card, gone->send_cq, 128, 6);
	gone->rx = card_rq(&gone->card, gone->recv_cq, 8, 1);
	gone->flow = card_catch_all(&gone->card, 2, gone->rx);
	for (i = 0; i < 8; i++)
		card_post_recv(gone->rx, i, rx_buffer(gone, i), 2048);
	card_rq_record(gone->rx, 8);
	memset(tx_buffer(gone), 0x5a, 60);
	tx_buffer(gone)[0] = 2;
	return gone;
}

static void
gone_free(struct gone *gone)
{
	card_flow_free(gone->flow);
	TAILQ_REMOVE(&gone->card.ctx->objs, &gone->card.mr.obj, next);
	card_qp_free(&gone->card, gone->tx);
	card_qp_free(&gone->card, gone->rx);
	card_cq_free(gone->send_cq);
	card_cq_free(gone->recv_cq);
	card_free(&gone->card);
	free(gone);
}

static void
take_away(void *memory)
{
	assert_int_equal(mprotect(memory, 4096, PROT_NONE), 0);
}

static void
give_back(void *memory)
{
	assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
}

static void
send_at(struct gone *gone, uint32_t index)
{
	card_post(gone->tx, index, SIGNALED, tx_buffer(gone), 60);
	card_ring(&gone->card, gone->tx);
}

/* Opcode of a CQE without the owner bit, and its syndrome. */
static unsigned int
cqe_op(struct vmlx4_cq *cq, uint32_t index)
{
	return card_cqe(cq, index)[31] & 0x7f;
}

static unsigned int
cqe_syndrome(struct vmlx4_cq *cq, uint32_t index)
{
	return card_cqe(cq, index)[27];
}

static void
expect_event(struct gone *gone, uint32_t type)
{
	struct { uint64_t element; uint32_t type, reserved; } event;

	assert_int_equal(recv(gone->card.async[0], &event, sizeof(event), MSG_DONTWAIT),
		sizeof(event));
	assert_int_equal(event.type, type);
}

static void
expect_no_event(struct gone *gone)
{
	char byte;

	assert_int_equal(recv(gone->card.async[0], &byte, 1, MSG_DONTWAIT), -1);
}

static void
expect_report(struct gone *gone, unsigned int count)
{
	assert_int_equal(gone->card.adapter->violations, count);
	assert_int_equal(gone->card.adapter->violations_of[VMLX4_RULE_MR_UNMAPPED], count);
}

/* Port 2 still takes frames that come from elsewhere. */
static void
expect_receives(struct gone *gone)
{
	uint64_t before = gone->card.adapter->ports[1].stats.rx_frames;
	uint8_t frame[60] = { 2 };

	vmlx4_port_receive(&gone->card.adapter->ports[1], frame, sizeof(frame));
	assert_int_equal(gone->card.adapter->ports[1].stats.rx_frames, before + 1);
}

static void
test_send_buffer(void **state)
{
	struct gone *gone = gone_new();
	(void)state;

	send_at(gone, 0);
	assert_int_equal(cqe_op(gone->send_cq, 0), 0x4a);
	take_away(tx_buffer(gone));
	card_post(gone->tx, 2, SIGNALED, rx_buffer(gone, 7), 60);
	send_at(gone, 1);
	give_back(tx_buffer(gone));
	assert_int_equal(cqe_op(gone->send_cq, 1), 0x5e);
	assert_int_equal(cqe_syndrome(gone->send_cq, 1), 0x04);
	/* What was posted behind it is flushed. */
	assert_int_equal(cqe_op(gone->send_cq, 2), 0x5e);
	assert_int_equal(cqe_syndrome(gone->send_cq, 2), 0x05);
	assert_int_equal(gone->tx->state, IBV_QPS_ERR);
	expect_report(gone, 1);
	expect_receives(gone);
	gone_free(gone);
}

static void
receive_buffer(int protection, bool one_by_one)
{
	struct gone *gone = gone_new();

	gone->card.adapter->options.unknowns.rx_prot_fatal = 0;
	if (one_by_one)
		card_watch(&gone->card, 1);
	assert_int_equal(mprotect(rx_buffer(gone, 0), 4096, protection), 0);
	send_at(gone, 0);
	send_at(gone, 1);
	give_back(rx_buffer(gone, 0));
	assert_int_equal(cqe_op(gone->recv_cq, 0), 0x1e);
	assert_int_equal(cqe_syndrome(gone->recv_cq, 0),
		vmlx4_unknown_defaults.rx_prot_syndrome);
	/* The sender is none the worse, and sends each frame once. */
	assert_int_equal(cqe_op(gone->send_cq, 0), 0x4a);
	assert_int_equal(cqe_op(gone->send_cq, 1), 0x4a);
	assert_int_equal(gone->send_cq->pi, 2);
	assert_int_equal(gone->tx->state, IBV_QPS_RTS);
	assert_int_equal(gone->card.adapter->ports[0].stats.tx_wire_drops, one_by_one);
	assert_int_equal(gone->card.adapter->ports[1].stats.rx_errors, 1);
	expect_report(gone, 1);
	assert_int_equal(cqe_op(gone->recv_cq, 1), 0x01);
	assert_memory_equal(rx_buffer(gone, 1), tx_buffer(gone), 60);
	gone_free(gone);
}

static void
test_receive_buffer(void **state)
{
	(void)state;
	receive_buffer(PROT_NONE, false);
	receive_buffer(PROT_NONE, true);
}

static void
test_receive_buffer_write_protected(void **state)
{
	(void)state;
	receive_buffer(PROT_READ, false);
	receive_buffer(PROT_READ, true);
}

static void
test_send_ring(void **state)
{
	struct gone *gone = gone_new();
	uint8_t *ring = gone->tx->sq.buf;
	(void)state;

	card_post(gone->tx, 0, SIGNALED, tx_buffer(gone), 60);
	take_away(ring);
	card_ring(&gone->card, gone->tx);
	assert_int_equal(gone->tx->state, IBV_QPS_ERR);
	assert_null(gone->tx->sq.buf);
	assert_int_equal(cqe_op(gone->send_cq, 0), 0x5e);
	assert_int_equal(cqe_syndrome(gone->send_cq, 0), 0x04);
	expect_event(gone, IBV_EVENT_QP_FATAL);
	expect_report(gone, 1);
	/* Nothing of it is looked at any more. */
	card_ring(&gone->card, gone->tx);
	vmlx4_engine_audit(gone->card.adapter);
	vmlx4_sq_error(gone->tx);
	expect_report(gone, 1);
	expect_no_event(gone);
	expect_receives(gone);
	give_back(ring);
	gone->tx->sq.buf = ring;
	gone_free(gone);
}

/*
 * Bursts of which one frame has lost its memory: the others arrive, once. All are
 * UDP, so that they go the short way.
 */
static void
test_burst(void **state)
{
	struct gone *gone = gone_new();
	struct vmlx4_port_stats *stats = &gone->card.adapter->ports[1].stats;
	uint8_t *lost_tx = gone->card.arena + 15 * 4096;
	uint32_t i;
	(void)state;

	gone->card.adapter->options.unknowns.rx_prot_fatal = 0;
	memcpy(tx_buffer(gone), frame_udp4, sizeof(frame_udp4));
	/* The steering remembers the MAC of the first frame; then the short way is open. */
	card_post(gone->tx, 0, SIGNALED, tx_buffer(gone), sizeof(frame_udp4));
	card_ring(&gone->card, gone->tx);
	assert_int_equal(stats->rx_frames, 1);
	for (i = 1; i < 5; i++)
		card_post(gone->tx, i, SIGNALED, tx_buffer(gone), sizeof(frame_udp4));
	take_away(rx_buffer(gone, 2));
	card_ring(&gone->card, gone->tx);
	give_back(rx_buffer(gone, 2));
	assert_int_equal(stats->rx_frames, 1 + 3);
	assert_int_equal(stats->rx_bytes, 4 * sizeof(frame_udp4));
	assert_int_equal(stats->rx_errors, 1);
	assert_int_equal(gone->rx->rq.ci, 5);
	assert_int_equal(cqe_op(gone->recv_cq, 1), 0x01);
	assert_int_equal(cqe_op(gone->recv_cq, 2), 0x1e);
	assert_int_equal(cqe_op(gone->recv_cq, 3), 0x01);
	assert_int_equal(cqe_op(gone->recv_cq, 4), 0x01);
	assert_memory_equal(rx_buffer(gone, 4), frame_udp4, sizeof(frame_udp4));
	for (i = 0; i < 5; i++)
		assert_int_equal(cqe_op(gone->send_cq, i), 0x4a);
	/* The sender's end: what lies before the frame goes out once. */
	card_post(gone->tx, 5, SIGNALED, tx_buffer(gone), sizeof(frame_udp4));
	card_post(gone->tx, 6, SIGNALED, lost_tx, sizeof(frame_udp4));
	take_away(lost_tx);
	card_ring(&gone->card, gone->tx);
	give_back(lost_tx);
	assert_int_equal(stats->rx_frames, 1 + 3 + 1);
	assert_int_equal(cqe_op(gone->send_cq, 5), 0x4a);
	assert_int_equal(cqe_op(gone->send_cq, 6), 0x5e);
	assert_int_equal(card_cqe(gone->send_cq, 6)[25], 6);
	assert_int_equal(cqe_syndrome(gone->send_cq, 6), 0x04);
	expect_report(gone, 2);
	gone_free(gone);
}

/* The same, of which the receiver's CQ goes: what was written to it stays counted. */
static void
test_burst_completion_ring(void **state)
{
	struct gone *gone = gone_new();
	struct vmlx4_port_stats *stats = &gone->card.adapter->ports[1].stats;
	uint8_t *buf = gone->recv_cq->buf;
	uint32_t *db = gone->recv_cq->db;
	uint32_t i;
	(void)state;

	memcpy(tx_buffer(gone), frame_udp4, sizeof(frame_udp4));
	card_post(gone->tx, 0, SIGNALED, tx_buffer(gone), sizeof(frame_udp4));
	card_ring(&gone->card, gone->tx);
	for (i = 1; i < 4; i++)
		card_post(gone->tx, i, SIGNALED, tx_buffer(gone), sizeof(frame_udp4));
	take_away(buf);
	card_ring(&gone->card, gone->tx);
	give_back(buf);
	assert_true(gone->recv_cq->error);
	expect_event(gone, IBV_EVENT_CQ_ERR);
	expect_no_event(gone);
	assert_int_equal(stats->rx_frames, 1);
	assert_int_equal(stats->rx_cq_overrun, 3);
	for (i = 0; i < 4; i++)
		assert_int_equal(cqe_op(gone->send_cq, i), 0x4a);
	expect_report(gone, 1);
	gone->recv_cq->buf = buf;
	gone->recv_cq->db = db;
	gone_free(gone);
}

static void
receive_queue(bool record)
{
	struct gone *gone = gone_new();
	uint8_t *ring = gone->rx->rq.buf;
	uint32_t *db = gone->rx->rq.db;

	take_away(record ? (void *)db : ring);
	send_at(gone, 0);
	assert_int_equal(cqe_op(gone->recv_cq, 0), 0x1e);
	assert_int_equal(cqe_syndrome(gone->recv_cq, 0), 0x04);
	expect_event(gone, IBV_EVENT_QP_FATAL);
	expect_report(gone, 1);
	/* The sender goes on; what it sends has no taker. */
	send_at(gone, 1);
	assert_int_equal(gone->send_cq->pi, 2);
	assert_int_equal(gone->card.adapter->ports[1].stats.rx_dropped_by_rule, 2);
	vmlx4_rq_ready(&gone->rx->rq);
	assert_false(gone->rx->rq.live);
	expect_report(gone, 1);
	give_back(record ? (void *)db : ring);
	gone->rx->rq.buf = ring;
	gone->rx->rq.db = db;
	gone_free(gone);
}

static void
test_receive_ring(void **state)
{
	(void)state;
	receive_queue(false);
}

static void
test_receive_record(void **state)
{
	(void)state;
	receive_queue(true);
}

static void
completion_queue(bool record)
{
	struct gone *gone = gone_new();
	uint8_t *buf = gone->send_cq->buf;
	uint32_t *db = gone->send_cq->db;

	gone->send_cq->obj.user_handle = 4711;
	take_away(record ? (void *)db : buf);
	send_at(gone, 0);
	assert_true(gone->send_cq->error);
	expect_event(gone, IBV_EVENT_CQ_ERR);
	expect_report(gone, 1);
	send_at(gone, 0);
	send_at(gone, 1);
	vmlx4_engine_audit(gone->card.adapter);
	expect_report(gone, 1);
	expect_no_event(gone);
	assert_int_equal(gone->tx->state, IBV_QPS_ERR);
	expect_receives(gone);
	give_back(record ? (void *)db : buf);
	gone->send_cq->buf = buf;
	gone->send_cq->db = db;
	gone_free(gone);
}

static void
test_completion_ring(void **state)
{
	(void)state;
	completion_queue(false);
}

static void
test_completion_record(void **state)
{
	(void)state;
	completion_queue(true);
}

/* All of it at once: telling of one fault meets the next one. */
static void
test_everything(void **state)
{
	struct gone *gone = gone_new();
	uint8_t *send_cqes = gone->send_cq->buf, *recv_cqes = gone->recv_cq->buf;
	uint8_t *sq = gone->tx->sq.buf, *rq = gone->rx->rq.buf;
	uint32_t *send_record = gone->send_cq->db, *recv_record = gone->recv_cq->db;
	uint32_t *posted = gone->rx->rq.db;
	struct vmlx4_injected *one = calloc(1, sizeof(*one) + 60);
	(void)state;

	assert_non_null(one);
	one->frame[0] = 2;
	one->length = 60;
	one->port = &gone->card.adapter->ports[1];
	STAILQ_INSERT_TAIL(&gone->card.adapter->engine->injected, one, next);

	card_post(gone->tx, 0, SIGNALED, tx_buffer(gone), 60);
	take_away(send_cqes);
	take_away(recv_cqes);
	take_away(sq);
	take_away(rq);
	card_ring(&gone->card, gone->tx);
	assert_true(gone->send_cq->error);
	assert_true(gone->recv_cq->error);
	assert_null(gone->tx->sq.buf);
	assert_null(gone->rx->rq.buf);
	expect_report(gone, 4);
	give_back(send_cqes);
	give_back(recv_cqes);
	give_back(sq);
	give_back(rq);
	gone->send_cq->buf = send_cqes;
	gone->recv_cq->buf = recv_cqes;
	gone->tx->sq.buf = sq;
	gone->rx->rq.buf = rq;
	gone->rx->rq.db = posted;
	gone->send_cq->db = send_record;
	gone->recv_cq->db = recv_record;
	gone_free(gone);
}

static void
test_copy(void **state)
{
	uint8_t *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t to[64] = { 0 };
	(void)state;

	assert_true(pages != MAP_FAILED);
	vmlx4_guard_install();
	memset(pages, 7, 4096);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	assert_true(vmlx4_guard_copy(to, pages + 4096 - 64, 64));
	assert_int_equal(to[63], 7);
	assert_false(vmlx4_guard_copy(to, pages + 4096 - 63, 64));
	assert_false(vmlx4_guard_copy(to, (void *)(uintptr_t)0x4141414141414141, 64));
	assert_false(vmlx4_guard_copy(to, (void *)(uintptr_t)-1, 1));
	assert_true(vmlx4_guard_writable(pages, 4096));
	assert_false(vmlx4_guard_writable(pages + 1, 4096));
	assert_false(vmlx4_guard_writable((void *)(uintptr_t)-8, 16));
	assert_int_equal(mprotect(pages, 4096, PROT_READ), 0);
	assert_false(vmlx4_guard_writable(pages, 1));
	assert_int_equal(munmap(pages, 4096), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_buffer),
		cmocka_unit_test(test_receive_buffer),
		cmocka_unit_test(test_receive_buffer_write_protected),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_burst_completion_ring),
		cmocka_unit_test(test_send_ring),
		cmocka_unit_test(test_receive_ring),
		cmocka_unit_test(test_receive_record),
		cmocka_unit_test(test_completion_ring),
		cmocka_unit_test(test_completion_record),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
