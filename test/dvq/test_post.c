/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every operation against a dump written by hand from the layout that libmlx4 shows,
 * field by field; ee is a byte that must not have been touched.
 */

#include "sendq.h"

#define RADDR UINT64_C(0x0102030405060708)
#define RKEY 0xb1b2b3b4u
#define REMOTE "01020304 05060708 b1b2b3b4 00000000"
#define DATA "00000100 a1b2c3d4 11223344 55667788"

static const struct dvq_sge sge = { .addr = UINT64_C(0x1122334455667788), .len = 0x100,
	.lkey = 0 };
static struct dvq_sge one;
static struct sendq s;

static int
setup(void **state)
{
	(void)state;
	sendq_init(&s, 7, 64);
	one = sge;
	one.lkey = 0xa1b2c3d4;
	return 0;
}

static void
test_send(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_send(&s.sq, &one, 1, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "0000000a 00000002 0000000c 00000000" DATA "eeeeeeee");
	/* Without data: a message of no bytes. */
	assert_int_equal(dvq_post_send(&s.sq, NULL, 0, 0), 0);
	expect_dump(s.mem + 128, "0000000a 00000001 00000000 00000000 eeeeeeee");
}

static void
test_flags(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_send(&s.sq, &one, 1, DVQ_CTRL_SE), 0);
	expect_dump(s.mem, "0000000a 00000002 00000002");
	/* The fence stands in another dword than the rest. */
	assert_int_equal(dvq_post_send(&s.sq, &one, 1, DVQ_CTRL_FENCE | DVQ_CTRL_CQE), 0);
	expect_dump(s.mem + 128, "0000000a 00000042 0000000c");
}

static void
test_empty_segment(void **state)
{
	(void)state;
	one.len = 0;
	assert_int_equal(dvq_post_send(&s.sq, &one, 1, 0), 0);
	expect_dump(s.mem + 16, "80000000 a1b2c3d4");
}

static void
test_send_imm(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_send_imm(&s.sq, &one, 1, htobe32(0x12345678), 0), 0);
	expect_dump(s.mem, "0000000b 00000002 00000000 12345678" DATA);
}

static void
test_send_inval(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_send_inval(&s.sq, &one, 1, RKEY, 0), 0);
	expect_dump(s.mem, "00000001 00000002 00000000 b1b2b3b4" DATA);
}

static void
test_write(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_write(&s.sq, &one, 1, RADDR, RKEY, 0), 0);
	expect_dump(s.mem, "00000008 00000003 00000000 00000000" REMOTE DATA "eeeeeeee");
	assert_int_equal(dvq_post_write_imm(&s.sq, &one, 1, RADDR, RKEY, htobe32(9), 0), 0);
	expect_dump(s.mem + 128, "00000009 00000003 00000000 00000009" REMOTE DATA);
}

/* A WQE of one's own, of the same segments, is the same WQE. */
static void
test_by_hand(void **state)
{
	const struct dvq_atomic at = { .raddr = RADDR, .rkey = RKEY, .result = one };
	struct dvq_send send;

	(void)state;
	assert_int_equal(dvq_post_cas(&s.sq, &at, 0x5051, 0x6061, DVQ_CTRL_CQE), 0);
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	dvq_send_remote(&send, RADDR, RKEY);
	dvq_send_atomic(&send, 0x6061, 0x5051);
	assert_int_equal(dvq_send_data(&send, one.addr, one.lkey, one.len), 0);
	assert_int_equal(dvq_send_end(&send, DVQ_OP_ATOMIC_CAS, DVQ_CTRL_CQE, 0), 1);
	assert_memory_equal(s.mem, s.mem + 128, 128);

	assert_int_equal(dvq_post_masked_cas(&s.sq, &at, 1, 2, 3, 4, 0), 0);
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	dvq_send_remote(&send, RADDR, RKEY);
	dvq_send_masked_atomic(&send, 3, 4, 1, 2);
	assert_int_equal(dvq_send_sge(&send, &one), 0);
	assert_int_equal(dvq_send_end(&send, DVQ_OP_MASKED_CAS, 0, 0), 3);
	assert_memory_equal(s.mem + 2 * 128, s.mem + 3 * 128, 128);
}

static void
test_read(void **state)
{
	const struct dvq_sge two[2] = { one, one };

	(void)state;
	assert_int_equal(dvq_post_read(&s.sq, two, 2, RADDR, RKEY, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "00000010 00000004 0000000c 00000000" REMOTE DATA DATA "ffffffff");
}

static void
test_cas(void **state)
{
	const struct dvq_atomic at = { .raddr = RADDR, .rkey = RKEY, .result = one };

	(void)state;
	assert_int_equal(dvq_post_cas(&s.sq, &at, 0x5051, 0x6061, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "00000011 00000004 0000000c 00000000" REMOTE
		"00000000 00006061 00000000 00005051" DATA "ffffffff");
}

static void
test_faa(void **state)
{
	const struct dvq_atomic at = { .raddr = RADDR, .rkey = RKEY, .result = one };

	(void)state;
	assert_int_equal(dvq_post_faa(&s.sq, &at, 7, 0), 0);
	expect_dump(s.mem, "00000012 00000004 00000000 00000000" REMOTE
		"00000000 00000007 00000000 00000000" DATA "ffffffff");
}

static void
test_masked_atomics(void **state)
{
	const struct dvq_atomic at = { .raddr = RADDR, .rkey = RKEY, .result = one };

	(void)state;
	assert_int_equal(dvq_post_masked_cas(&s.sq, &at, 1, 2, 3, 4, 0), 0);
	expect_dump(s.mem, "00000014 00000005 00000000 00000000" REMOTE
		"00000000 00000003 00000000 00000001"
		"00000000 00000004 00000000 00000002" DATA "eeeeeeee");
	assert_int_equal(dvq_post_masked_faa(&s.sq, &at, 5, 6, 0), 0);
	expect_dump(s.mem + 128, "00000015 00000004 00000000 00000000" REMOTE
		"00000000 00000005 00000000 00000006" DATA);
	sendq_init(&s, 6, 64);
	assert_int_equal(dvq_post_masked_cas(&s.sq, &at, 1, 2, 3, 4, 0), -EMSGSIZE);
	assert_int_equal(dvq_post_masked_faa(&s.sq, &at, 5, 6, 0), 0);
}

static void
test_nop(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_nop(&s.sq, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "00000000 00000001 0000000c 00000000 eeeeeeee");
}

static void
test_local_inval(void **state)
{
	(void)state;
	assert_int_equal(dvq_post_local_inval(&s.sq, RKEY, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "0000001b 00000003 0000008c 00000000"
		"00000000 00000000 b1b2b3b4 00000000"
		"00000000 00000000 00000000 00000000 eeeeeeee");
}

static void
test_bind_mw(void **state)
{
	const struct dvq_bind bind = {
		.addr = RADDR, .length = 0x1000, .lkey = one.lkey, .new_rkey = RKEY,
		.access = DVQ_BIND_WRITE | DVQ_BIND_READ, .type = DVQ_BIND_TYPE_2,
	};

	(void)state;
	assert_int_equal(dvq_post_bind_mw(&s.sq, &bind, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "00000018 00000003 0000008c 00000000"
		"60000000 80000000 b1b2b3b4 a1b2c3d4"
		"01020304 05060708 00000000 00001000 eeeeeeee");
}

static void
test_datagram(void **state)
{
	const struct dvq_datagram_seg to = {
		.port_pd = htobe32(0x01000005), .g_slid = 0x80, .gid_index = 3, .hop_limit = 64,
		.sl_tclass_flowlabel = htobe32(0x20000001), .dgid = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0xff, 0xfe, 0, 0, 2 },
		.qpn = htobe32(0x243), .qkey = htobe32(0x11111111), .vlan = htobe16(7),
		.mac = { 2, 0, 0, 0, 0, 2 },
	};
	static const char want[] =
		"01000005 00 80 0000 00 03 00 40 20000001"
		"fe800000 00000000 000000ff fe000002"
		"00000243 11111111 0007 02 00 00 00 00 02" DATA;

	(void)state;
	assert_int_equal(dvq_post_datagram(&s.sq, &to, &one, 1, DVQ_CTRL_CQE), 0);
	expect_dump(s.mem, "0000000a 00000005 0000000c 00000000");
	expect_dump(s.mem + 16, want);
	assert_int_equal(dvq_post_datagram_imm(&s.sq, &to, &one, 1, htobe32(5), 0), 0);
	expect_dump(s.mem + 128, "0000000b 00000005 00000000 00000005");
	expect_dump(s.mem + 128 + 16, want);
}

/* Up to 44 bytes stay in the first block; then each block has a header of its own. */
static void
test_inline(void **state)
{
	uint8_t data[108];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 44, 0), 0);
	expect_dump(s.mem, "0000000a 00000004 00000000 00000000 8000002c 00 ..43.. ffffffff");
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 45, 0), 0);
	expect_dump(s.mem + 128, "0000000a 00000005 00000000 00000000 8000002c 00 ..43.."
		"80000001 2c eeeeee");
	/* 44 and 60: as much as a stride of 128 bytes takes. */
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 104, 0), 0);
	expect_dump(s.mem + 256, "0000000a 00000008 00000000 00000000 8000002c 00 ..43.."
		"8000003c 2c ..59.. 80000000");
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 105, 0), -EMSGSIZE);
	assert_int_equal(dvq_post_send_inline(&s.sq, data, UINT32_MAX, 0), -EMSGSIZE);
	/* 2^26 blocks, the headers of their segments included: 2^32 bytes. */
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 44 + 60 * ((1u << 26) - 1), 0),
			 -EMSGSIZE);
	assert_int_equal(dvq_post_send_inline(&s.sq, data, 0, 0), 0);
	expect_dump(s.mem + 384, "0000000a 00000002 00000000 00000000 80000000 eeeeeeee");
}

/* Of a stride of 1024 bytes the last 16 are no WQE's: its length counts to 1008. */
static void
test_inline_behind_the_last_segment(void **state)
{
	struct dvq_send send;
	uint32_t len, i;

	(void)state;
	sendq_init(&s, 10, 32);
	for (len = 0; len <= 13; len++) {
		assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
		for (i = 0; i < 62; i++)
			assert_int_equal(dvq_send_sge(&send, &one), 0);
		assert_int_equal(send.size, 1008);
		assert_int_equal(dvq_send_inline(&send, "hello, world!", len), -EMSGSIZE);
		assert_int_equal(dvq_send_lso(&send, "hello, world!", 12, 100), -EMSGSIZE);
		assert_int_equal(dvq_send_sge(&send, &one), -EMSGSIZE);
		assert_int_equal(send.size, 1008);
		expect_dump(s.mem + 1008, "eeeeeeee eeeeeeee eeeeeeee eeeeeeee");
	}
	dvq_send_end(&send, DVQ_OP_SEND, 0, 0);
	expect_dump(s.mem, "0000000a 0000003f");
}

/* Behind a datagram: the segments start with the second block. */
static void
test_inline_datagram(void **state)
{
	static const struct dvq_datagram_seg to;
	struct dvq_send send;

	(void)state;
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	dvq_send_datagram(&send, &to);
	assert_int_equal(dvq_send_inline(&send, "abc", 3), 0);
	dvq_send_end(&send, DVQ_OP_SEND, 0, 0);
	expect_dump(s.mem, "0000000a 00000005");
	expect_dump(s.mem + 64, "80000003 616263 ee");
}

static void
test_lso(void **state)
{
	uint8_t hdr[70];
	struct dvq_send send;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(hdr); i++)
		hdr[i] = (uint8_t)i;
	sendq_init(&s, 8, 32);
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	assert_int_equal(dvq_send_lso(&send, hdr, 0, 1000), -EINVAL);
	assert_int_equal(dvq_send_lso(&send, hdr, 260, 1000), -EMSGSIZE);
	assert_int_equal(dvq_send_lso(&send, hdr, UINT32_MAX - 16, 1000), -EMSGSIZE);
	assert_int_equal(dvq_send_lso(&send, hdr, sizeof(hdr), 1000), 0);
	/* Not visible yet: the headers at the start of the second block. */
	expect_dump(s.mem + 64, "ffffffff");
	assert_int_equal(dvq_send_data(&send, one.addr, one.lkey, one.len), 0);
	dvq_send_end(&send, DVQ_OP_LSO, DVQ_CTRL_SE, 0);
	expect_dump(s.mem, "0000004e 00000007 00000002 00000000 03e80046 00 ..43.."
		"2c ..25..");
	expect_dump(s.mem + 96, DATA);
}

/* Nothing of a WQE that is refused gets to the adapter. */
static void
test_refused_whole(void **state)
{
	struct dvq_sge many[8];
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++)
		many[i] = one;
	assert_int_equal(dvq_post_send(&s.sq, many, 8, 0), -EMSGSIZE);
	assert_int_equal(dvq_post_write(&s.sq, many, 7, RADDR, RKEY, 0), -EMSGSIZE);
	assert_int_equal(s.sq.pi, 0);
	expect_dump(s.mem, "80000000");
	expect_dump(s.mem + 64, "ffffffff");
}

/* A doorbell and a copy of the WQE in one of two buffers, with index and QPN. */
static void
test_blueflame(void **state)
{
	static _Alignas(64) uint8_t page[4096];
	struct dvq_bf bf = { .page = page, .size = 256 };
	struct dvq_send send;

	(void)state;
	memset(page, 0, sizeof(page));
	sendq_advance(&s, 0x12345);
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	assert_int_equal(dvq_send_inline(&send, "hello", 5), 0);
	assert_int_equal(dvq_send_end_bf(&send, DVQ_OP_SEND, DVQ_CTRL_CQE, 0, &bf), 0x12345);
	expect_dump(page, "8023450a 00024202 0000000c 00000000 80000005 68656c6c 6f");
	assert_memory_equal(page, s.mem + 0x12345 % 64 * 128, 64);
	assert_int_equal(s.doorbell, 0);
	assert_int_equal(bf.offset, 256);
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	dvq_send_end_bf(&send, DVQ_OP_NOP, 0, 0, &bf);
	expect_dump(page + 256, "80234600 00024201");
	assert_int_equal(bf.offset, 0);
	/* What follows the WQE in its last block goes with it, nothing beyond. */
	expect_dump(page + 256 + 64, "00000000");
}

static void
test_too_long_for_blueflame(void **state)
{
	static _Alignas(64) uint8_t page[4096];
	struct dvq_bf bf = { .page = page, .size = 64 };
	struct dvq_send send;
	uint32_t i;

	(void)state;
	assert_int_equal(dvq_send_begin(&send, &s.sq), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(dvq_send_data(&send, one.addr, one.lkey, 8), 0);
	dvq_send_end_bf(&send, DVQ_OP_SEND, 0, 0, &bf);
	expect_dump(s.mem, "0000000a 00000005");
	assert_int_equal(s.doorbell, htobe32(0x024200));
	assert_int_equal(bf.offset, 0);
	expect_dump(page, "00000000");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_send, setup),
		cmocka_unit_test_setup(test_flags, setup),
		cmocka_unit_test_setup(test_empty_segment, setup),
		cmocka_unit_test_setup(test_send_imm, setup),
		cmocka_unit_test_setup(test_send_inval, setup),
		cmocka_unit_test_setup(test_write, setup),
		cmocka_unit_test_setup(test_by_hand, setup),
		cmocka_unit_test_setup(test_read, setup),
		cmocka_unit_test_setup(test_cas, setup),
		cmocka_unit_test_setup(test_faa, setup),
		cmocka_unit_test_setup(test_masked_atomics, setup),
		cmocka_unit_test_setup(test_nop, setup),
		cmocka_unit_test_setup(test_local_inval, setup),
		cmocka_unit_test_setup(test_bind_mw, setup),
		cmocka_unit_test_setup(test_datagram, setup),
		cmocka_unit_test_setup(test_inline, setup),
		cmocka_unit_test_setup(test_inline_behind_the_last_segment, setup),
		cmocka_unit_test_setup(test_inline_datagram, setup),
		cmocka_unit_test_setup(test_lso, setup),
		cmocka_unit_test_setup(test_refused_whole, setup),
		cmocka_unit_test_setup(test_blueflame, setup),
		cmocka_unit_test_setup(test_too_long_for_blueflame, setup),
	};

	return cmocka_run_group_tests_name("dvq: every operation", tests, NULL, NULL);
}
