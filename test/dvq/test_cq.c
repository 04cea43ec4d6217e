/* SPDX-License-Identifier: BSD-3-Clause */

/* CQEs written by hand, in both sizes and both polarities; records, doorbells. */

#include "ring.h"

#define CQES 4u

static struct {
	_Alignas(64) uint8_t mem[CQES * 64];
	_Alignas(8) uint32_t record[2];
	_Alignas(64) uint8_t uar[4096];
	struct dvq_cq cq;
} q;

/* Owner 1 everywhere: how the adapter hands over a new CQ. */
static void
init(uint8_t shift)
{
	memset(&q, 0, sizeof(q));
	memset(q.mem, 0xcc, sizeof(q.mem));
	q.cq = (struct dvq_cq){
		.buf = q.mem,
		.cqe_cnt = CQES,
		.cqe_shift = shift,
		.valid_offset = shift == 6 ? 32 : 0,
		.set_ci_db = &q.record[0],
		.arm_db = &q.record[1],
		.uar = q.uar,
		.arm_sn = 1,
		.cqn = 0x000083,
	};
}

static int
setup_32(void **state)
{
	(void)state;
	init(5);
	return 0;
}

static int
setup_64(void **state)
{
	(void)state;
	init(6);
	return 0;
}

/* Put a CQE, as hex, in entry @slot; in a 64-byte one it is the second half. */
static void
put(uint32_t slot, const char *dump)
{
	uint8_t *to = q.mem + (slot << q.cq.cqe_shift) + q.cq.valid_offset;
	unsigned int value;
	int i;

	for (i = 0; i < 32; dump++) {
		if (*dump == ' ')
			continue;
		assert_int_equal(sscanf(dump, "%2x", &value), 1);
		to[i++] = (uint8_t)value;
		dump++;
	}
}

/* TCP over IPv4, VLAN 291 with priority 5, 60 bytes, verified; pass 0. */
#define RX_GOOD \
	"20024a00"              /* C-VLAN present, WQN 0x024a00 */ \
	"deadbeef"              /* RSS hash */ \
	"00000000" \
	"a123 0211"             /* PCP 5, VID 0x123; upper half of the source MAC */ \
	"14400004"              /* IPOK, TCP, IPV4, L4OK */ \
	"0000003c"              /* 60 bytes */ \
	"0007 ffff"             /* WQE 7, L4 verified */ \
	"000000 01"             /* owner 0, receive, SEND */

static void
check_rx_good(const struct dvq_cqe *cqe)
{
	assert_non_null(cqe);
	assert_int_equal(dvq_cqe_opcode(cqe), DVQ_CQE_OP_RECV_SEND);
	assert_false(dvq_cqe_is_error(cqe));
	assert_false(dvq_cqe_is_send(cqe));
	assert_int_equal(dvq_cqe_qpn(cqe), 0x024a00);
	assert_int_equal(dvq_cqe_vlan_bits(cqe), DVQ_CQE_CVLAN);
	assert_int_equal(dvq_cqe_vlan_tci(cqe), 0xa123);
	assert_int_equal(dvq_cqe_rss_hash(cqe), 0xdeadbeef);
	assert_int_equal(dvq_cqe_status(cqe), DVQ_CQE_ST_IPOK | DVQ_CQE_ST_TCP |
			 DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_L4OK);
	assert_int_equal(dvq_cqe_byte_cnt(cqe), 60);
	assert_int_equal(dvq_cqe_wqe_index(cqe), 7);
	assert_int_equal(dvq_cqe_checksum(cqe), 0xffff);
}

static void
test_new_queue_is_empty(void **state)
{
	(void)state;
	assert_null(dvq_cq_poll(&q.cq));
	assert_int_equal(q.cq.ci, 0);
}

static void
test_receive(void **state)
{
	(void)state;
	put(0, RX_GOOD);
	check_rx_good(dvq_cq_poll(&q.cq));
	assert_int_equal(q.cq.ci, 1);
	assert_null(dvq_cq_poll(&q.cq));
}

/* In 64 bytes the first half means nothing, whatever its last byte says. */
static void
test_first_half_is_ignored(void **state)
{
	(void)state;
	memset(q.mem, 0x01, 32);
	assert_null(dvq_cq_poll(&q.cq));
	memset(q.mem, 0x81, 32);
	put(0, RX_GOOD);
	check_rx_good(dvq_cq_poll(&q.cq));
}

static void
test_send(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	put(0, "00000242 00000000 00000000 00000000 00000000 00000000 fffe 0000 000000 4a");
	cqe = dvq_cq_poll(&q.cq);
	assert_non_null(cqe);
	assert_true(dvq_cqe_is_send(cqe));
	assert_int_equal(dvq_cqe_opcode(cqe), DVQ_OP_SEND);
	assert_int_equal(dvq_cqe_wqe_index(cqe), 0xfffe);
	assert_int_equal(dvq_cqe_qpn(cqe), 0x242);
}

static void
test_send_nop_and_lso(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	put(0, "00000242 00000000 00000000 00000000 00000000 00000000 0001 0000 000000 40");
	put(1, "00000242 00000000 00000000 00000000 00000000 00000000 0002 0000 000000 4e");
	cqe = dvq_cq_poll(&q.cq);
	assert_int_equal(dvq_cqe_opcode(cqe), DVQ_OP_NOP);
	assert_false(dvq_cqe_is_error(cqe));
	cqe = dvq_cq_poll(&q.cq);
	assert_int_equal(dvq_cqe_opcode(cqe), DVQ_OP_LSO);
	assert_false(dvq_cqe_is_error(cqe));
}

static void
test_send_error(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	put(0, "00000242 00000000 00000000 00000000 00000000 00000000"
	    "0010 57 04"        /* WQE 16, vendor 0x57, local protection */
	    "000000 5e");       /* owner 0, send, error */
	cqe = dvq_cq_poll(&q.cq);
	assert_non_null(cqe);
	assert_true(dvq_cqe_is_error(cqe));
	assert_true(dvq_cqe_is_send(cqe));
	assert_int_equal(dvq_cqe_syndrome(cqe), DVQ_SYNDROME_LOCAL_PROT);
	assert_int_equal(dvq_cqe_vendor_err(cqe), 0x57);
	assert_int_equal(dvq_cqe_wqe_index(cqe), 16);
	assert_int_equal(dvq_cqe_qpn(cqe), 0x242);
}

static void
test_receive_error(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	put(0, "00024a01 00000000 00000000 00000000 00000000 00000000 0003 00 01 000000 1e");
	cqe = dvq_cq_poll(&q.cq);
	assert_true(dvq_cqe_is_error(cqe));
	assert_false(dvq_cqe_is_send(cqe));
	assert_int_equal(dvq_cqe_syndrome(cqe), DVQ_SYNDROME_LOCAL_LENGTH);
	assert_false(dvq_syndrome_kills_rq(DVQ_SYNDROME_LOCAL_LENGTH));
	assert_true(dvq_syndrome_kills_rq(DVQ_SYNDROME_WR_FLUSH));
	assert_true(dvq_syndrome_kills_rq(DVQ_SYNDROME_LOCAL_PROT));
}

static void
test_tunnel_bits(void **state)
{
	const struct dvq_cqe *cqe;

	(void)state;
	put(0, "8e024a00 00000000 00000000 00000000 00000000 0000003c 0000 0000 000000 01");
	cqe = dvq_cq_poll(&q.cq);
	assert_int_equal(dvq_cqe_vlan_bits(cqe), DVQ_CQE_TUNNEL_IPOK | DVQ_CQE_TUNNEL |
			 DVQ_CQE_TUNNEL_L4OK | DVQ_CQE_TUNNEL_IPV4);
	assert_int_equal(dvq_cqe_qpn(cqe), 0x024a00);
}

static void
test_timestamp(void **state)
{
	(void)state;
	put(0, "00024a00 00000000 00000000 1234 5678 00000000 0000003c 0000 0000 00 9a bc 01");
	assert_true(dvq_cqe_timestamp(dvq_cq_poll(&q.cq)) == UINT64_C(0x123456789abc));
}

/* Owner 0 is valid in pass 0, owner 1 in pass 1, and old entries never are. */
static void
test_polarity_by_pass(void **state)
{
	uint32_t pass, slot;
	char dump[] = "00024a00 00000000 00000000 00000000 00000000 0000003c 0000 0000 000000 01";

	(void)state;
	for (pass = 0; pass < 4; pass++) {
		dump[sizeof(dump) - 3] = pass % 2 == 0 ? '0' : '8';
		for (slot = 0; slot < CQES; slot++) {
			assert_null(dvq_cq_poll(&q.cq));
			put(slot, dump);
			assert_non_null(dvq_cq_poll(&q.cq));
		}
	}
	assert_int_equal(q.cq.ci, 4 * CQES);
}

static void
test_peek_consumes_nothing(void **state)
{
	(void)state;
	put(0, RX_GOOD);
	put(1, RX_GOOD);
	check_rx_good(dvq_cq_peek(&q.cq, 0));
	check_rx_good(dvq_cq_peek(&q.cq, 1));
	assert_null(dvq_cq_peek(&q.cq, 2));
	assert_int_equal(q.cq.ci, 0);
	/* Across the end: entry 0 of the next pass is not there yet. */
	q.cq.ci = 3;
	put(3, RX_GOOD);
	check_rx_good(dvq_cq_peek(&q.cq, 0));
	assert_null(dvq_cq_peek(&q.cq, 1));
}

static void
test_consumer_record(void **state)
{
	(void)state;
	put(0, RX_GOOD);
	dvq_cq_poll(&q.cq);
	expect_dump(&q.record[0], "00000000");
	dvq_cq_update_ci(&q.cq);
	expect_dump(&q.record[0], "00000001");
	q.cq.ci = 0x01000002;
	dvq_cq_update_ci(&q.cq);
	expect_dump(&q.record[0], "00000002");
}

static void
test_arm_by_sequence_number(void **state)
{
	static const struct {
		const char *record;
		const char *doorbell;
	} want[] = {
		{ "12000005", "12000083 00000005" }, /* sn 1, next, ci 5; cqn 0x83 */
		{ "22000005", "22000083 00000005" },
		{ "32000005", "32000083 00000005" },
		{ "02000005", "02000083 00000005" },
	};
	size_t i;

	(void)state;
	q.cq.ci = 5;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		dvq_cq_arm(&q.cq, DVQ_CQ_ARM_NEXT);
		expect_dump(&q.record[1], want[i].record);
		expect_dump(q.uar + 0x20, want[i].doorbell);
		dvq_cq_event_consumed(&q.cq);
	}
}

static void
test_arm_solicited(void **state)
{
	(void)state;
	q.cq.ci = 0x12abcdef;
	dvq_cq_arm(&q.cq, DVQ_CQ_ARM_SOLICITED);
	expect_dump(&q.record[1], "11abcdef");
	expect_dump(q.uar + 0x20, "11000083 00abcdef");
	expect_dump(q.uar + 0x10, "00000000 00000000 00000000 00000000");
	expect_dump(q.uar + 0x28, "00000000");
}

static void
test_syndrome_names(void **state)
{
	(void)state;
	assert_non_null(strstr(dvq_syndrome_str(0x04), "protection"));
	assert_non_null(strstr(dvq_syndrome_str(0x05), "flushed"));
	assert_string_equal(dvq_syndrome_str(0x7f), "unknown syndrome");
	assert_string_equal(dvq_syndrome_str(0x00), "unknown syndrome");
}

/* Counts what is written in a row, up to the end of the ring, in either pass. */
static void
test_ready(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(dvq_cq_ready(&q.cq, 4), 0);
	for (i = 0; i < 3; i++)
		put(i, RX_GOOD);
	assert_int_equal(dvq_cq_ready(&q.cq, 4), 3);
	assert_int_equal(dvq_cq_ready(&q.cq, 2), 2);
	assert_int_equal(dvq_cq_ready(&q.cq, 0), 0);
	assert_int_equal(q.cq.ci, 0);
	q.cq.ci = 2;
	put(3, RX_GOOD);
	assert_int_equal(dvq_cq_ready(&q.cq, 4), 2);
	/* The second pass: what the first one left is old. */
	q.cq.ci = CQES;
	assert_int_equal(dvq_cq_ready(&q.cq, 4), 0);
	for (i = 0; i < CQES; i++)
		q.mem[(i << q.cq.cqe_shift) + q.cq.valid_offset + 31] |= 0x80;
	assert_int_equal(dvq_cq_ready(&q.cq, 9), 4);
	q.cq.ci = 2 * CQES;
	assert_int_equal(dvq_cq_ready(&q.cq, 4), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_new_queue_is_empty, setup_32),
		cmocka_unit_test_setup(test_ready, setup_32),
		cmocka_unit_test_setup(test_ready, setup_64),
		cmocka_unit_test_setup(test_receive, setup_32),
		cmocka_unit_test_setup(test_send, setup_32),
		cmocka_unit_test_setup(test_send_nop_and_lso, setup_32),
		cmocka_unit_test_setup(test_send_error, setup_32),
		cmocka_unit_test_setup(test_receive_error, setup_32),
		cmocka_unit_test_setup(test_tunnel_bits, setup_32),
		cmocka_unit_test_setup(test_timestamp, setup_32),
		cmocka_unit_test_setup(test_polarity_by_pass, setup_32),
		cmocka_unit_test_setup(test_peek_consumes_nothing, setup_32),
		cmocka_unit_test_setup(test_consumer_record, setup_32),
		cmocka_unit_test_setup(test_arm_by_sequence_number, setup_32),
		cmocka_unit_test_setup(test_arm_solicited, setup_32),
		cmocka_unit_test(test_syndrome_names),
		cmocka_unit_test_setup(test_first_half_is_ignored, setup_64),
		{ "test_new_queue_is_empty_64", test_new_queue_is_empty, setup_64, NULL, NULL },
		{ "test_receive_64", test_receive, setup_64, NULL, NULL },
		{ "test_send_64", test_send, setup_64, NULL, NULL },
		{ "test_send_error_64", test_send_error, setup_64, NULL, NULL },
		{ "test_receive_error_64", test_receive_error, setup_64, NULL, NULL },
		{ "test_polarity_by_pass_64", test_polarity_by_pass, setup_64, NULL, NULL },
		{ "test_peek_64", test_peek_consumes_nothing, setup_64, NULL, NULL },
	};

	return cmocka_run_group_tests_name("dvq: completion queue", tests, NULL, NULL);
}
