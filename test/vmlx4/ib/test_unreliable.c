/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/* UC and UD QPs. */

#define SOLICITED 0x02u

static struct vmlx4_port_stats *
stats(struct bed *bed, unsigned int port)
{
	return &bed->card.adapter->ports[port - 1].stats;
}

static void
test_uc(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)bed->b.memory + 8000, .imm = 3, .sges = 1,
		.sge = { { bed->a.memory, 5000 } } };
	unsigned int i;

	(void)state;
	bed_fill(bed->a.memory, 5000, 1);
	for (i = 0; i < 2; i++)
		bed_recv(&bed->b, bed->b.memory, 5000);
	bed_post(&bed->a, &wr);
	wr.opcode = 0x08;
	bed_post(&bed->a, &wr);
	wr.opcode = 0x09;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	bed_sent(&bed->a, 0x08, 1);
	bed_sent(&bed->a, 0x09, 2);
	bed_received(&bed->b, 1, 5000);
	bed_received(&bed->b, 0, 5000);
	assert_memory_equal(bed->b.memory, bed->a.memory, 5000);
	assert_memory_equal(bed->b.memory + 8000, bed->a.memory, 5000);
	assert_int_equal(bed->card.adapter->violations, 0);
	bed_free(bed);
}

/* A packet is lost, and the message with it; the receive WQE serves the next. */
static void
test_uc_loss(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UC, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 5000 } } };

	(void)state;
	card_faults(&bed->card, "frame tx port=1 nth=2 drop");
	bed_recv(&bed->b, bed->b.memory, 5000);
	bed_fill(bed->a.memory, 5000, 1);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	bed_no_cqe(&bed->b);
	assert_int_equal(stats(bed, 2)->rx_roce_sequence, 3);
	bed_fill(bed->a.memory, 5000, 2);
	bed_post(&bed->a, &wr);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_received(&bed->b, 1, 5000);
	assert_memory_equal(bed->b.memory, bed->a.memory, 5000);
	/* For the third there is none: the sender does not hear of it. */
	bed_no_cqe(&bed->b);
	assert_int_equal(stats(bed, 2)->rx_roce_no_wqe, 1);
	assert_int_equal(bed->a.qp->state, IBV_QPS_RTS);
	bed_free(bed);
}

static void
test_uc_refused(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UC, 2);
	struct bed_wr wr = { .opcode = 0x08, .flags = SIGNALED, .rkey = CARD_LKEY ^ 1,
		.va = (uintptr_t)bed->b.memory, .sges = 1, .sge = { { bed->a.memory, 50 } } };

	(void)state;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x08, 0);
	assert_int_equal(stats(bed, 2)->rx_roce_refused, 1);
	assert_int_equal(bed->b.qp->state, IBV_QPS_RTS);
	/* Reads are for reliable connections. */
	wr.opcode = 0x10;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_QP_OP);
	assert_int_equal(bed->a.qp->state, IBV_QPS_SQE);
	bed_free(bed);
}

static void
test_ud(void **state)
{
	static const unsigned int ports[] = { 1, 2 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bed *bed = bed_new(IBV_QPT_UD, ports[i]);
		struct bed_wr wr = { .opcode = 0x0b, .flags = SIGNALED, .imm = 0xaabbccdd,
			.sges = 1, .sge = { { bed->a.memory, 1000 } } };
		uint8_t av[48], gid[16];
		enum vmlx4_roce roce;
		const uint8_t *cqe;

		bed_address(&bed->b, av);
		wr.datagram = av;
		bed_fill(bed->a.memory, 1000, 5);
		bed_recv(&bed->b, bed->b.memory, 1040);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_sent(&bed->a, 0x0b, 0);
		cqe = bed_received(&bed->b, 2, 1040);
		assert_int_equal(vmlx4_be32(cqe + 4), 0xaabbccdd);
		assert_int_equal(vmlx4_be32(cqe + 8), 0x80000000 | bed->a.qp->qpn);
		assert_memory_equal(cqe + 14, bed->a.qp->port->netdev.mac, 6);
		/* The GRH: from whom it is. */
		assert_true(vmlx4_gid_get(bed->a.qp->port, 0, gid, &roce));
		assert_int_equal(bed->b.memory[0] >> 4, 6);
		assert_memory_equal(bed->b.memory + 8, gid, 16);
		assert_memory_equal(bed->b.memory + 40, bed->a.memory, 1000);
		assert_int_equal(bed->card.adapter->violations, 0);
		bed_free(bed);
	}
}

/* What is dropped, each under its name, and without a word to the sender. */
static void
test_ud_drops(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UD, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 1024 } } };
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	wr.datagram = av;
	bed_post(&bed->a, &wr);
	av[39]++; /* another Q_Key */
	bed_post(&bed->a, &wr);
	av[39]--;
	av[35]++; /* another QP */
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	bed_sent(&bed->a, 0x0a, 1);
	bed_sent(&bed->a, 0x0a, 2);
	assert_int_equal(stats(bed, 2)->rx_roce_no_wqe, 1);
	assert_int_equal(stats(bed, 2)->rx_roce_qkey, 1);
	assert_int_equal(stats(bed, 2)->rx_roce_no_qp, 1);
	bed_no_cqe(&bed->b);
	/* More than a packet holds. */
	wr.sge[0].length = 1025;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_failed(&bed->a, VMLX4_HW_SYN_LOC_LEN);
	assert_int_equal(bed->a.qp->state, IBV_QPS_SQE);
	/* It can be made ready again. */
	bed->a.qp->state = IBV_QPS_RTS;
	vmlx4_ib_rts(bed->a.qp);
	wr.sge[0].length = 8;
	bed_recv(&bed->b, bed->b.memory, 100);
	av[35]--;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 4);
	bed_received(&bed->b, 1, 48);
	bed_free(bed);
}

/* A Q_Key with the highest bit stands for the sender's own. */
static void
test_ud_own_qkey(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UD, 1);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 8 } } };
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	wr.datagram = av;
	memset(av + 36, 0xff, 4);
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_received(&bed->b, 1, 48);
	bed_free(bed);
}

static void
test_ud_too_long(void **state)
{
	unsigned int fatal;

	(void)state;
	for (fatal = 0; fatal < 2; fatal++) {
		struct bed *bed = bed_new(IBV_QPT_UD, 2);
		struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
			.sge = { { bed->a.memory, 100 } } };
		uint8_t av[48];

		bed->card.adapter->options.unknowns.ud_error_fatal = fatal;
		bed_address(&bed->b, av);
		wr.datagram = av;
		bed_recv(&bed->b, bed->b.memory, 139);
		bed_post(&bed->a, &wr);
		bed_step(bed);
		bed_failed(&bed->b, VMLX4_HW_SYN_LOC_LEN);
		assert_int_equal(bed->b.qp->state, fatal ? IBV_QPS_ERR : IBV_QPS_RTS);
		bed_free(bed);
	}
}

/* A datagram on Ethernet goes as it is, whatever is asked for: the checker tells. */
static void
test_ud_checksums(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UD, 2);
	struct bed_wr wr = { .opcode = 0x0a, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 40 } } };
	unsigned int *broken = &bed->card.adapter->violations_of[VMLX4_RULE_SQ_RESERVED];
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	wr.datagram = av;
	wr.flags |= 0x30;
	memset(bed->a.memory, 0, 40);
	bed->a.memory[0] = 0x45; /* it might be taken for a packet */
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, 0x0a, 0);
	bed_received(&bed->b, 1, 80);
	assert_memory_equal(bed->b.memory + 40, bed->a.memory, 40);
	assert_int_equal(*broken, 1);
	/* libmlx4 lets them through to InfiniBand, where IPoIB has them. */
	bed->card.adapter->ports[0].infiniband = true;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(*broken, 1);
	bed->card.adapter->ports[0].infiniband = false;
	bed_free(bed);
}

/* An arm for solicited completions fires with one of those, and not before. */
static void
test_solicited(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_UD, 2);
	struct bed_wr wr = { .opcode = 0x0a, .sges = 1, .sge = { { bed->a.memory, 8 } } };
	uint8_t av[48];

	(void)state;
	bed_address(&bed->b, av);
	wr.datagram = av;
	bed->b.cq->channel = &bed->card.channel;
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_recv(&bed->b, bed->b.memory, 100);
	bed->b.cq->db[1] = htobe32(1u << 28 | 1u << 24);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed->b.cq->pi, 1);
	assert_int_equal(bed->b.cq->comp_events, 0);
	wr.flags = SOLICITED;
	bed_post(&bed->a, &wr);
	bed_step(bed);
	assert_int_equal(bed->b.cq->pi, 2);
	assert_int_equal(bed->b.cq->comp_events, 1);
	bed->b.cq->channel = NULL;
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uc),
		cmocka_unit_test(test_uc_loss),
		cmocka_unit_test(test_uc_refused),
		cmocka_unit_test(test_ud),
		cmocka_unit_test(test_ud_drops),
		cmocka_unit_test(test_ud_own_qkey),
		cmocka_unit_test(test_ud_too_long),
		cmocka_unit_test(test_ud_checksums),
		cmocka_unit_test(test_solicited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
