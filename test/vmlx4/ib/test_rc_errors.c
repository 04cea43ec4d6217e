/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/* What ends an RC QP: completions at both ends, events, and the flush behind it. */

/*
 * The WR at hand ends with syndrome, the one behind it is flushed; what b says of it
 * is an event, or a completion, or nothing.
 */
static void
ends(struct bed *bed, const struct bed_wr *wr, uint8_t syndrome, unsigned int event)
{
	struct bed_wr next = bed_wr_of(bed, 0x0a, 10);

	bed_post(&bed->a, wr);
	next.flags = 0;
	bed_post(&bed->a, &next);
	bed_step(bed);
	bed_failed(&bed->a, syndrome);
	bed_failed(&bed->a, VMLX4_HW_SYN_FLUSH);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed->a.qp->state, IBV_QPS_ERR);
	assert_int_equal(bed_event(bed), event);
	assert_int_equal(bed_event(bed), 0xff);
	/* What comes later is flushed as well. */
	bed_post(&bed->a, &next);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_FLUSH);
}

static void
test_remote_access(void **state)
{
	static const uint8_t opcodes[] = { 0x08, 0x10, 0x11, 0x12 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 3; k++) {
			struct bed *bed = bed_new(IBV_QPT_RC, 2);
			struct bed_wr wr = bed_wr_of(bed, opcodes[i], 8);

			if (k == 0)
				wr.rkey ^= 1;                 /* no such key */
			else if (k == 1)
				wr.va = (uintptr_t)bed->card.arena + CARD_ARENA - 7; /* too far */
			else
				bed->card.mr.access = IBV_ACCESS_LOCAL_WRITE;
			wr.va &= i < 2 ? ~0ull : ~7ull;
			if (k == 1 && i >= 2)
				wr.va += 8;
			ends(bed, &wr, VMLX4_HW_SYN_REM_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
			assert_int_equal(bed->b.qp->state, IBV_QPS_ERR);
			bed_no_cqe(&bed->b);
			bed_free(bed);
		}
	}
}

/* The QP at the other end does not allow it, or not so many. */
static void
test_invalid_request(void **state)
{
	static const uint8_t opcodes[] = { 0x08, 0x10, 0x12 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct bed_wr wr = bed_wr_of(bed, i == 3 ? 0x12 : opcodes[i], 8);

		if (i == 3)
			wr.va += 4; /* an atomic that is not aligned */
		else
			vmlx4_ib_attr(bed->b.qp->ib)->access = 0;
		ends(bed, &wr, VMLX4_HW_SYN_REM_INV_REQ, IBV_EVENT_QP_REQ_ERR);
		bed_free(bed);
	}
}

/* The message is longer than the receive WQE: both ends are told. */
static void
test_too_long(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 3000);

	(void)state;
	bed_recv(&bed->b, bed->b.memory, 2999);
	bed_recv(&bed->b, bed->b.memory, 2999);
	ends(bed, &wr, VMLX4_HW_SYN_REM_INV_REQ, 0xff);
	bed_failed(&bed->b, VMLX4_HW_SYN_LOC_LEN);
	bed_failed(&bed->b, VMLX4_HW_SYN_FLUSH);
	bed_no_cqe(&bed->b);
	bed_free(bed);
}

/* A receive buffer that its key does not cover. */
static void
test_receive_buffer(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 100);

	(void)state;
	bed_recv(&bed->b, bed->card.arena + CARD_ARENA - 50, 100);
	ends(bed, &wr, VMLX4_HW_SYN_REM_OP, 0xff);
	bed_failed(&bed->b, VMLX4_HW_SYN_LOC_PROT);
	assert_int_equal(bed->card.adapter->violations_of[VMLX4_RULE_LKEY], 1);
	bed_free(bed);
}

/* Mistakes of this end: the peer does not hear of them. */
static void
test_local(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		struct bed *bed = bed_new(IBV_QPT_RC, 2);
		struct bed_wr wr = bed_wr_of(bed, i < 2 ? 0x0a : 0x10, 8);
		uint8_t syndrome = VMLX4_HW_SYN_LOC_PROT;

		switch (i) {
		case 0:
			wr.lkey = CARD_LKEY ^ 1;
			break;
		case 1:
			wr.sge[0].addr = bed->card.arena + CARD_ARENA - 7;
			break;
		case 2:
			bed->card.mr.access &= ~(uint32_t)IBV_ACCESS_LOCAL_WRITE;
			break;
		case 3:
			vmlx4_ib_attr(bed->a.qp->ib)->max_rd_atomic = 0;
			syndrome = VMLX4_HW_SYN_LOC_QP_OP;
			break;
		case 4:
			wr.opcode = 0x11;
			wr.sge[0].length = 4; /* of an atomic */
			syndrome = VMLX4_HW_SYN_LOC_LEN;
			break;
		case 5:
			wr.opcode = 0x0e; /* LSO */
			syndrome = VMLX4_HW_SYN_LOC_QP_OP;
			break;
		}
		ends(bed, &wr, syndrome, 0xff);
		assert_int_equal(bed->b.qp->state, IBV_QPS_RTS);
		bed_free(bed);
	}
}

/* What was posted before the mistake completes first, and well. */
static void
test_earlier_ones_complete(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr read = bed_wr_of(bed, 0x10, 5000), bad = bed_wr_of(bed, 0x0a, 8);

	(void)state;
	bed_post(&bed->a, &read);
	bad.lkey = 0x30000;
	bed_post(&bed->a, &bad);
	bed_step(bed);
	bed_sent(&bed->a, 0x10, 0);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_PROT);
	bed_free(bed);
}

/* The peer takes the memory away while it is read. */
static void
test_refused_in_the_middle(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr read = bed_wr_of(bed, 0x10, 20000), write = bed_wr_of(bed, 0x08, 100);

	(void)state;
	bed->a.qp->ib->mtu = bed->b.qp->ib->mtu = 256;
	bed_post(&bed->a, &read);
	bed_post(&bed->a, &write);
	vmlx4_engine_kick(bed->card.ctx);
	while (bed->a.qp->ib->tx.requests[0].acked == 0)
		assert_int_not_equal(vmlx4_engine_pass(bed->card.adapter, 0), 0);
	assert_in_range(bed->a.qp->ib->tx.requests[0].acked, 1, 78);
	bed->card.mr.access = IBV_ACCESS_LOCAL_WRITE;
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_REM_ACCESS);
	bed_failed(&bed->a, VMLX4_HW_SYN_FLUSH);
	bed_no_cqe(&bed->a);
	assert_int_equal(bed_event(bed), IBV_EVENT_QP_ACCESS_ERR);
	bed_free(bed);
}

/* As often as it was told to try, each time after the timeout. */
static void
test_peer_does_not_exist(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct bed_wr wr = bed_wr_of(bed, 0x0a, 8);
	uint64_t timeout = (4096ull << 14) * 4;
	unsigned int i;

	(void)state;
	vmlx4_ib_attr(bed->a.qp->ib)->dest_qpn = 0x777;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	for (i = 0; i < 3; i++) { /* the first time, and two retries */
		bed_no_cqe(&bed->a);
		assert_int_equal(bed->card.adapter->ports[1].stats.rx_roce_no_qp, i + 1);
		bed_advance(bed, timeout);
	}
	bed_failed(&bed->a, VMLX4_HW_SYN_RETRY_EXC);
	assert_int_equal(bed->card.adapter->ports[0].stats.tx_roce_timeouts, 3);
	bed_free(bed);
}

/* An XRC initiator is nobody's target, whatever its access flags say. */
static void
test_initiator_takes_no_requests(void **state)
{
	static const uint8_t ops[] = { VMLX4_OP_WRITE_ONLY, VMLX4_OP_SEND_ONLY, VMLX4_OP_READ };
	struct bed *bed = bed_new(IBV_QPT_XRC_SEND, 2);
	uint8_t frame[VMLX4_IB_OVERHEAD + 8], *payload;
	struct vmlx4_ib_packet packet;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(ops); i++) {
		uint32_t size = ops[i] == VMLX4_OP_READ ? 0 : 8;

		vmlx4_ib_address(bed->a.qp, &vmlx4_ib_attr(bed->a.qp->ib)->path, &packet);
		packet.opcode = VMLX4_BTH_XRC | ops[i];
		packet.dest_qpn = bed->b.qp->qpn;
		packet.psn = vmlx4_ib_attr(bed->b.qp->ib)->rq_psn;
		packet.va = (uintptr_t)bed->b.memory;
		packet.rkey = CARD_LKEY;
		packet.length = 8;
		payload = vmlx4_ib_packet_head(&packet, frame);
		memset(payload, 0x5a, size);
		vmlx4_port_receive(bed->b.qp->port, frame,
			vmlx4_ib_packet_seal(&packet, frame, size));
	}
	bed_step(bed);
	assert_int_equal(bed->b.memory[0], 0);
	assert_int_equal(bed->b.qp->port->stats.rx_roce_no_qp, 3);
	assert_int_equal(bed->b.qp->port->stats.tx_roce, 0);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remote_access),
		cmocka_unit_test(test_invalid_request),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_receive_buffer),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_earlier_ones_complete),
		cmocka_unit_test(test_refused_in_the_middle),
		cmocka_unit_test(test_peer_does_not_exist),
		cmocka_unit_test(test_initiator_takes_no_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
