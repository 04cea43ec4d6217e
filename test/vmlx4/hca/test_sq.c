/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "card.h"
#include "wire/backends.h"
#include "frames.h"
#include "tx.h"

static void
test_single(void **state)
{
	static const uint8_t cqe[32] = {
		0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4a,
	};
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);

	(void)state;
	WQE(stride(tx, 0), 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x02,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x40, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x10, 0x00);
	card_ring(&tx->card, tx->qp);
	sent_is(0, tx->card.arena + 0x1000, 64);
	assert_memory_equal(card_cqe(tx->cq, 0), cqe, 32);
	assert_int_equal(tx->cq->pi, 1);
	assert_int_equal(tx->qp->sq.ci, 1);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/* Not signalled: sent, no CQE. The next, signalled, names its own index. */
static void
test_completion_bits(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);

	(void)state;
	card_post(tx->qp, 0, 0x02, tx->card.arena, 60);
	card_post(tx->qp, 1, 0x0e, tx->card.arena, 61);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(card_sent.count, 2);
	assert_int_equal(tx->cq->pi, 1);
	assert_int_equal(card_cqe(tx->cq, 0)[25], 1);
	tx_free(tx);
}

/* Five segments from the last stride of the ring on: 96 bytes, 32 at its start. */
static void
test_wraps_the_ring(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 64, 6);
	uint8_t whole[96], expect[100];

	(void)state;
	WQE(whole, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x06,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x14, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x01, 0x00,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x02, 0x00,
		0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x41, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x03, 0x00);
	tx->qp->sq.ci = 63;
	/* The strides ahead are those of the next pass: free is owner bit 0. */
	for (unsigned int i = 0; i < 63; i++)
		WQE(stride(tx, i), 0x7f, 0xff, 0xff, 0xff);
	memcpy(stride(tx, 63), whole, 64);
	memcpy(stride(tx, 0), whole + 64, 32);
	card_ring(&tx->card, tx->qp);
	memcpy(expect, tx->card.arena, 14);
	memcpy(expect + 14, tx->card.arena + 0x100, 20);
	expect[34] = tx->card.arena[0x200];
	memcpy(expect + 35, tx->card.arena + 0x300, 65);
	sent_is(0, expect, 100);
	assert_int_equal(tx->qp->sq.ci, 65);
	assert_int_equal(card_cqe(tx->cq, 0)[25], 63);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/* 60 inline bytes: 44 up to the 64-byte line, a new header, 16 more. */
static void
test_inline_split(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 64, 7);
	uint8_t *wqe = stride(tx, 0), expect[60];
	unsigned int i;

	(void)state;
	for (i = 0; i < 60; i++)
		expect[i] = (uint8_t)(200 - i);
	WQE(wqe, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x06,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x80, 0x00, 0x00, 0x2c);
	memcpy(wqe + 20, expect, 44);
	WQE(wqe + 64, 0x80, 0x00, 0x00, 0x10);
	memcpy(wqe + 68, expect + 44, 16);
	card_ring(&tx->card, tx->qp);
	sent_is(0, expect, 60);
	assert_int_equal(tx->qp->sq.ci, 1);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

static void
test_short_frames_are_padded(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t expect[60] = { 0 };

	(void)state;
	card_post(tx->qp, 0, 0x0e, tx->card.arena, 17);
	card_ring(&tx->card, tx->qp);
	memcpy(expect, tx->card.arena, 17);
	sent_is(0, expect, 60);
	tx_free(tx);
}

static void
test_nop(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);

	(void)state;
	WQE(stride(tx, 0), 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
		0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x00);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(card_sent.count, 0);
	assert_int_equal(card_cqe(tx->cq, 0)[31], 0x40);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

static void
test_error_then_flush(void **state)
{
	static const uint8_t error[32] = {
		0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00,
		0x00, 0x01, 0x57, 0x04, 0x00, 0x00, 0x00, 0x5e,
	};
	struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

	(void)state;
	card_post(tx->qp, 0, 0x02, tx->card.arena, 60);
	card_post(tx->qp, 1, 0x02, tx->card.arena + CARD_ARENA - 59, 60);
	card_post(tx->qp, 2, 0x02, tx->card.arena, 60);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(card_sent.count, 1);
	assert_int_equal(tx->qp->state, IBV_QPS_ERR);
	assert_int_equal(tx->cq->pi, 2);
	assert_memory_equal(card_cqe(tx->cq, 0), error, 32);
	assert_int_equal(card_cqe(tx->cq, 1)[27], 0x05);
	assert_int_equal(card_cqe(tx->cq, 1)[25], 2);
	/* What is posted later is flushed too. */
	card_post(tx->qp, 3, 0x0e, tx->card.arena, 60);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(tx->cq->pi, 3);
	assert_int_equal(card_cqe(tx->cq, 2)[27], 0x05);
	assert_int_equal(tx->card.adapter->ports[0].stats.tx_errors, 3);
	/* RESET and RTS bring it back, from index 0. */
	vmlx4_sq_reset(tx->qp);
	memset(tx->qp->sq.buf, 0xff, 128 << 6);
	vmlx4_sq_ready(tx->qp);
	card_post(tx->qp, 0, 0x0e, tx->card.arena, 60);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(card_sent.count, 2);
	assert_int_equal(card_cqe(tx->cq, 3)[31], 0x4a);
	tx_free(tx);
}

/* No segments, an unknown opcode, inline data over a line: syndrome 2. */
static void
test_malformed(void **state)
{
	static const uint8_t bad[][32] = {
		{ 0, 0, 0, 0x0a, 0, 0, 0, 1, 0, 0, 0, 0x0e },
		{ 0, 0, 0, 0x08, 0, 0, 0, 2, 0, 0, 0, 0x0e },
		{ 0, 0, 0, 0x0a, 0, 0, 0, 4, 0, 0, 0, 0x0e, 0, 0, 0, 0, 0x80, 0, 0, 0x2d },
		{ 0, 0, 0, 0x0e, 0, 0, 0, 2, 0, 0, 0, 0x0e, 0, 0, 0, 0, 0, 100, 0, 54 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

		memcpy(stride(tx, 0), bad[i], 32);
		card_ring(&tx->card, tx->qp);
		assert_int_equal(card_sent.count, 0);
		assert_int_equal(card_cqe(tx->cq, 0)[27], 0x02);
		assert_int_equal(card_cqe(tx->cq, 0)[31], 0x5e);
		tx_free(tx);
	}
}

/* Of the 32 opcodes a raw packet queue has three; the others end it. */
static void
test_opcodes(void **state)
{
	uint8_t op;

	(void)state;
	for (op = 0; op < 32; op++) {
		struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

		if (op == 0x0a || op == 0x0e) {
			tx_free(tx);
			continue;
		}
		WQE(stride(tx, 0), 0x00, 0x00, 0x00, op, 0x00, 0x00, 0x00, 0x02,
			0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x40, 0x00, 0x02, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x10, 0x00);
		card_post(tx->qp, 1, 0x0e, tx->card.arena, 60);
		card_ring(&tx->card, tx->qp);
		if (op == 0) {
			/* A NOP's segments are nobody's, and it is done. */
			assert_int_equal(card_cqe(tx->cq, 0)[31], 0x40);
			assert_int_equal(card_sent.count, 1);
		} else {
			assert_int_equal(card_cqe(tx->cq, 0)[31], 0x5e);
			assert_int_equal(card_cqe(tx->cq, 0)[27], 0x02);
			assert_int_equal(card_cqe(tx->cq, 1)[27], 0x05);
			assert_int_equal(card_sent.count, 0);
			assert_int_equal(tx->qp->state, IBV_QPS_ERR);
		}
		tx_free(tx);
	}
}

/* No C bits, no CQE; the one that follows says that it is done too. */
static void
test_nop_unsignalled(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);

	(void)state;
	WQE(stride(tx, 0), 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00);
	card_post(tx->qp, 1, 0x0e, tx->card.arena, 60);
	card_ring(&tx->card, tx->qp);
	assert_int_equal(tx->cq->pi, 1);
	assert_int_equal(card_cqe(tx->cq, 0)[25], 1);
	tx_free(tx);
}

/* One doorbell, and the word names another queue: all of the context are looked at. */
static void
test_any_doorbell_wakes_all(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint32_t other = htobe32(0x200 << 8);

	(void)state;
	card_post(tx->qp, 0, 0x0e, tx->card.arena, 60);
	assert_int_equal(vmlx4_engine_pass(tx->card.adapter, 0), 1); /* RTS looks once */
	card_post(tx->qp, 1, 0x0e, tx->card.arena, 60);
	assert_int_equal(vmlx4_engine_pass(tx->card.adapter, 0), 0);
	memcpy(tx->card.ctx->pages + 0x14, &other, 4);
	assert_int_equal(vmlx4_engine_pass(tx->card.adapter, 0), 1);
	assert_int_equal(*(uint32_t *)(void *)(tx->card.ctx->pages + 0x14), 0);
	tx_free(tx);
}

/* A port whose wire has no room: its send queues wait, and go on where they were. */
static void
test_hold(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_FATAL, 128, 6);
	struct vmlx4_port *port = tx->qp->sq.port;
	unsigned int i;

	(void)state;
	port->tx_hold = VMLX4_HOLD_WIRE;
	for (i = 0; i < 3; i++)
		card_post(tx->qp, i, 0x0e, tx->card.arena, 100 + i);
	for (i = 0; i < 3; i++)
		card_ring(&tx->card, tx->qp);
	vmlx4_engine_audit(tx->card.adapter);
	assert_int_equal(card_sent.count, 0);
	assert_int_equal(tx->cq->pi, 0);
	port->tx_hold = 0;
	vmlx4_engine_pass(tx->card.adapter, 0);
	assert_int_equal(card_sent.count, 3);
	assert_int_equal(tx->cq->pi, 3);
	tx_free(tx);
}

/* With a rate the queue is executed no faster than its frames leave. */
static void
test_rate(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_FATAL, 128, 6);
	struct vmlx4_shape shape = { .rate = 1000000000 };
	struct vmlx4_adapter *adapter = tx->card.adapter;
	unsigned int i, done;

	(void)state;
	assert_int_equal(vmlx4_shape_attach(adapter->ports[0].wire, &shape), 0);
	for (i = 0; i < 20; i++)
		card_post(tx->qp, i, 0x0e, tx->card.arena, 8168);
	adapter->ports[0].netdev.mtu = 9000;
	adapter->ports[0].tx_tap = NULL; /* its frames are shorter */
	card_ring(&tx->card, tx->qp);
	/* Eight of 8 KiB on the wire fill the FIFO, one more is being sent. */
	assert_int_equal(tx->cq->pi, 9);
	for (done = 10; done <= 20; done++) {
		adapter->time.stepped += 65535;
		vmlx4_engine_pass(adapter, 0);
		assert_int_equal(tx->cq->pi, done - 1);
		adapter->time.stepped++;
		vmlx4_engine_pass(adapter, 0);
		assert_int_equal(tx->cq->pi, done);
	}
	assert_int_equal(adapter->ports[0].stats.tx_wire_drops, 0);
	tx_free(tx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_completion_bits),
		cmocka_unit_test(test_wraps_the_ring),
		cmocka_unit_test(test_inline_split),
		cmocka_unit_test(test_short_frames_are_padded),
		cmocka_unit_test(test_nop),
		cmocka_unit_test(test_nop_unsignalled),
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_error_then_flush),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_any_doorbell_wakes_all),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
