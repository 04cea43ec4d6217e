/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every form of a send WQE against a dump written by hand from the layout of the
 * adapter, field by field; ee is a byte that must not have been touched.
 */

#include "ring.h"

#define ADDR1 UINT64_C(0x1122334455667788)
#define LKEY1 htobe32(0xa1b2c3d4)

static struct ring r;

static int
setup(void **state)
{
	(void)state;
	ring_init(&r);
	return 0;
}

static uint32_t
post_segs(unsigned int n, uint32_t flags)
{
	struct dvq_wqe wqe;
	unsigned int i;

	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < n; i++)
		assert_int_equal(dvq_wqe_data(&wqe, ADDR1 + i, LKEY1, 0x100 + i), 0);
	return dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, flags, NULL);
}

static void
test_one_segment(void **state)
{
	(void)state;
	assert_int_equal(post_segs(1, DVQ_CTRL_CQE), 0);
	expect_dump(r.mem,
		"0000000a"              /* owner 0, SEND */
		"00000002"              /* no VLAN, ds 2 */
		"0000000e"              /* CQE, SE */
		"00000000"              /* imm */
		"00000100 a1b2c3d4 11223344 55667788"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 1);
	/* The next block still is a stamp. */
	expect_dump(r.mem + 64, "ffffffff eeeeeeee");
}

static void
test_three_segments_fill_a_block(void **state)
{
	(void)state;
	post_segs(3, 0);
	expect_dump(r.mem,
		"0000000a 00000004 00000002 00000000"
		"00000100 a1b2c3d4 11223344 55667788"
		"00000101 a1b2c3d4 11223344 55667789"
		"00000102 a1b2c3d4 11223344 5566778a"
		"ffffffff eeeeeeee");
	assert_int_equal(r.sq.pi, 1);
}

static void
test_four_segments_take_two_blocks(void **state)
{
	(void)state;
	post_segs(4, 0);
	expect_dump(r.mem,
		"0000000a 00000005 00000002 00000000"
		"00000100 a1b2c3d4 11223344 55667788"
		"00000101 a1b2c3d4 11223344 55667789"
		"00000102 a1b2c3d4 11223344 5566778a"
		"00000103 a1b2c3d4 11223344 5566778b"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 2);
	expect_dump(r.mem + 128, "ffffffff eeeeeeee");
}

static void
test_eight_segments_take_three_blocks(void **state)
{
	(void)state;
	post_segs(8, 0);
	expect_dump(r.mem,
		"0000000a 00000009 00000002 00000000"
		"00000100 a1b2c3d4 11223344 55667788"
		"00000101 a1b2c3d4 11223344 55667789"
		"00000102 a1b2c3d4 11223344 5566778a"
		"00000103 a1b2c3d4 11223344 5566778b"
		"00000104 a1b2c3d4 11223344 5566778c"
		"00000105 a1b2c3d4 11223344 5566778d"
		"00000106 a1b2c3d4 11223344 5566778e"
		"00000107 a1b2c3d4 11223344 5566778f"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 3);
}

/* 31 segments, 8 blocks, from every block of the ring, in passes 0 and 1. */
static void
test_wrap_at_every_offset(void **state)
{
	uint32_t start, i, at;

	(void)state;
	for (start = 0; start < 2 * RING_BLOCKS; start++) {
		ring_init(&r);
		ring_advance(&r, start);
		assert_int_equal(post_segs(31, DVQ_CTRL_CQE), start);
		assert_int_equal(r.sq.pi, start + 8);
		at = start % RING_BLOCKS * 64;
		expect_dump(r.mem + at, start < RING_BLOCKS ?
			"0000000a 00000020 0000000e 00000000" :
			"8000000a 00000020 0000000e 00000000");
		for (i = 0; i < 31; i++) {
			const uint8_t want[16] = {
				0x00, 0x00, 0x01, (uint8_t)i,
				0xa1, 0xb2, 0xc3, 0xd4,
				0x11, 0x22, 0x33, 0x44,
				0x55, 0x66, 0x77, (uint8_t)(0x88 + i),
			};

			at = (at + 16) % sizeof(r.mem);
			assert_memory_equal(r.mem + at, want, sizeof(want));
		}
		assert_int_equal(dvq_sq_complete(&r.sq, (uint16_t)start), 8);
	}
}

static void
test_empty_segment(void **state)
{
	struct dvq_wqe wqe;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 0), 0);
	assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 60), 0);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	expect_dump(r.mem,
		"0000000a 00000003 00000002 00000000"
		"80000000 a1b2c3d4 11223344 55667788" /* not 0: that is 2^31 bytes */
		"0000003c a1b2c3d4 11223344 55667788");
}

/* An empty segment whose count is the first dword of a later block. */
static void
test_empty_segment_at_block_start(void **state)
{
	struct dvq_wqe wqe;
	int i;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < 4; i++)
		assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, i < 3 ? 20 : 0), 0);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	expect_dump(r.mem + 64, "80000000 a1b2c3d4 11223344 55667788 eeeeeeee");
}

static void
post_inline(uint32_t len)
{
	struct dvq_wqe wqe;
	uint8_t data[256];
	uint32_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_inline(&wqe, data, len), 0);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
}

static void
test_inline_14(void **state)
{
	(void)state;
	post_inline(14);
	expect_dump(r.mem,
		"0000000a 00000003 00000002 00000000"
		"8000000e 00..13.. eeee");
	assert_int_equal(r.sq.pi, 1);
}

static void
test_inline_44_fills_a_block(void **state)
{
	(void)state;
	post_inline(44);
	expect_dump(r.mem,
		"0000000a 00000004 00000002 00000000"
		"8000002c 00..43.. ffffffff eeeeeeee");
	assert_int_equal(r.sq.pi, 1);
}

static void
test_inline_45_takes_a_second_header(void **state)
{
	(void)state;
	post_inline(45);
	expect_dump(r.mem,
		"0000000a 00000005 00000002 00000000"
		"8000002c 00..43.."
		"80000001 2c eeeeee eeeeeeee");
	assert_int_equal(r.sq.pi, 2);
}

static void
test_inline_60(void **state)
{
	(void)state;
	post_inline(60);
	expect_dump(r.mem,
		"0000000a 00000006 00000002 00000000"
		"8000002c 00..43.."
		"80000010 2c..15.. eeeeeeee");
	assert_int_equal(r.sq.pi, 2);
}

static void
test_inline_188(void **state)
{
	(void)state;
	post_inline(188);
	expect_dump(r.mem,
		"0000000a 0000000e 00000002 00000000"
		"8000002c 00..43.."      /* 0..43 */
		"8000003c 2c..59.."      /* 44..103 */
		"8000003c 68..59.."      /* 104..163 */
		"80000018 a4..23.."      /* 164..187 */
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 4);
}

static void
test_inline_nothing(void **state)
{
	(void)state;
	post_inline(0);
	expect_dump(r.mem, "0000000a 00000002 00000002 00000000 80000000 eeeeeeee");
}

static void
test_inline_wraps(void **state)
{
	(void)state;
	ring_advance(&r, RING_BLOCKS - 1);
	post_inline(60);
	expect_dump(r.mem + sizeof(r.mem) - 64,
		"0000000a 00000006 00000002 00000000 8000002c 00..43..");
	expect_dump(r.mem, "80000010 2c..15..");
}

static void
post_lso(uint32_t hdr_len, uint16_t mss)
{
	struct dvq_wqe wqe;
	uint8_t hdr[192];
	uint32_t i;

	for (i = 0; i < sizeof(hdr); i++)
		hdr[i] = (uint8_t)i;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, hdr_len, mss), 0);
	assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 0x2000), 0);
	dvq_wqe_end(&wqe, DVQ_OP_LSO, 0, DVQ_CTRL_IP_CSUM | DVQ_CTRL_L4_CSUM | DVQ_CTRL_CQE, NULL);
}

static void
test_lso_54(void **state)
{
	(void)state;
	post_lso(54, 1460);
	expect_dump(r.mem,
		"0000004e"              /* RR, LSO */
		"00000006 0000003e 00000000"
		"05b40036 00..43.."      /* mss 1460, 54 bytes; 0..43 */
		"2c..9.. eeee eeeeeeee"  /* 44..53, padding */
		"00002000 a1b2c3d4 11223344 55667788"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 2);
}

static void
test_lso_130(void **state)
{
	(void)state;
	post_lso(130, 1000);
	expect_dump(r.mem,
		"0000004e 0000000b 0000003e 00000000"
		"03e80082 00..43.."      /* 0..43 */
		"2c..63.."              /* 44..107: no header of its own */
		"6c..21.. eeee eeeeeeee eeeeeeee" /* 108..129, padding */
		"00002000 a1b2c3d4 11223344 55667788"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 3);
}

/* 20 + 46 = 66: two bytes of header alone in the second block. */
static void
test_lso_short_block_head(void **state)
{
	(void)state;
	post_lso(46, 536);
	expect_dump(r.mem,
		"0000004e 00000006 0000003e 00000000"
		"0218002e 00..43.."
		"2c2d 0000 eeeeeeee eeeeeeee eeeeeeee"
		"00002000 a1b2c3d4 11223344 55667788");
}

static void
test_lso_misuse(void **state)
{
	struct dvq_wqe wqe;
	uint8_t hdr[1024] = { 0 };

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, 0, 1460), -EINVAL);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, 989, 1460), -EMSGSIZE);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, 988, 1460), 0);
	assert_int_equal(wqe.size, 1008);
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 1), 0);
	assert_int_equal(dvq_wqe_lso(&wqe, hdr, 54, 1460), -EINVAL);
}

static void
test_checksum_flags(void **state)
{
	static const struct {
		uint32_t flags;
		const char *dump;
	} cases[] = {
		{ 0, "00000002" },
		{ DVQ_CTRL_IP_CSUM, "00000012" },
		{ DVQ_CTRL_L4_CSUM, "00000022" },
		{ DVQ_CTRL_IP_CSUM | DVQ_CTRL_L4_CSUM, "00000032" },
		{ DVQ_CTRL_IP_CSUM | DVQ_CTRL_L4_CSUM | DVQ_CTRL_CQE, "0000003e" },
		{ DVQ_CTRL_FL, "00000003" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t at = post_segs(1, cases[i].flags);

		expect_dump(r.mem + at * 64 + 8, cases[i].dump);
	}
}

static void
test_inner_checksums(void **state)
{
	struct dvq_wqe wqe;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	dvq_wqe_data(&wqe, ADDR1, LKEY1, 60);
	dvq_wqe_end(&wqe, DVQ_OP_SEND | DVQ_CTRL_INNER_IP_CSUM | DVQ_CTRL_INNER_L4_CSUM, 0,
		    DVQ_CTRL_IP_CSUM, NULL);
	expect_dump(r.mem, "1800000a 00000002 00000012 00000000");
}

static void
test_vlan(void **state)
{
	struct dvq_wqe wqe;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	dvq_wqe_data(&wqe, ADDR1, LKEY1, 60);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0xa123u << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_CVLAN, 0,
		    NULL);
	expect_dump(r.mem, "0000000a a1234002 00000002 00000000");
	dvq_wqe_begin(&wqe, &r.sq);
	dvq_wqe_data(&wqe, ADDR1, LKEY1, 60);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0x0064u << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_SVLAN, 0,
		    NULL);
	expect_dump(r.mem + 64, "0000000a 00648002 00000002 00000000");
}

static void
test_destination_mac(void **state)
{
	static const uint8_t mac[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };
	struct dvq_wqe wqe;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	dvq_wqe_data(&wqe, ADDR1, LKEY1, 60);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, mac);
	expect_dump(r.mem, "0000000a 00000002 02110002 22334455");
}

static void
test_nop(void **state)
{
	(void)state;
	post_nop(&r.sq);
	expect_dump(r.mem, "00000000 00000001 0000000e 00000000 eeeeeeee");
}

/* Bytes of an older WQE in dword 1 would insert a VLAN tag. */
static void
test_whole_dword_1_is_written(void **state)
{
	(void)state;
	memset(r.mem, 0xff, sizeof(r.mem));
	post_segs(1, 0);
	expect_dump(r.mem, "0000000a 00000002 00000002 00000000");
}

static void
test_full_wqe(void **state)
{
	struct dvq_wqe wqe;
	uint8_t data[1024] = { 0 };
	int i;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < 62; i++)
		assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 64), 0);
	assert_int_equal(dvq_wqe_data(&wqe, ADDR1, LKEY1, 64), -EMSGSIZE);
	assert_int_equal(wqe.size, 1008);
	dvq_wqe_end(&wqe, DVQ_OP_SEND, 0, 0, NULL);
	expect_dump(r.mem, "0000000a 0000003f");
	assert_int_equal(r.sq.pi, 16);

	/* Inline: 44 + 14 * 60 + 44 in the last block, which holds 48 bytes. */
	dvq_wqe_begin(&wqe, &r.sq);
	assert_int_equal(dvq_wqe_inline(&wqe, data, 929), -EMSGSIZE);
	assert_int_equal(wqe.size, 16);
	assert_int_equal(dvq_wqe_inline(&wqe, data, 928), 0);
	assert_int_equal(wqe.size, 1008);
}

/* One that was begun and dropped leaves every first dword a stamp. */
static void
test_abandoned_wqe_is_invisible(void **state)
{
	struct dvq_wqe wqe;
	uint32_t i;

	(void)state;
	dvq_wqe_begin(&wqe, &r.sq);
	for (i = 0; i < 20; i++)
		dvq_wqe_data(&wqe, ADDR1, LKEY1, 64);
	for (i = 0; i < RING_BLOCKS; i++)
		expect_dump(r.mem + i * 64, "ffffffff");
	post_segs(1, 0);
	expect_dump(r.mem, "0000000a 00000002 00000002 00000000 00000100");
}

/* ---- the short form, for WQEs of one block ---- */

static void
test_block_of_one_segment(void **state)
{
	(void)state;
	dvq_seg_set(dvq_sq_block_segs(&r.sq), ADDR1, LKEY1, 60);
	expect_dump(r.mem, "ffffffff");
	assert_int_equal(dvq_sq_post_block(&r.sq, 1, DVQ_OP_SEND, 0, DVQ_CTRL_CQE, NULL), 0);
	expect_dump(r.mem,
		"0000000a 00000002 0000000e 00000000"
		"0000003c a1b2c3d4 11223344 55667788"
		"eeeeeeee");
	assert_int_equal(r.sq.pi, 1);
	expect_dump(r.mem + 64, "ffffffff eeeeeeee");
}

static void
test_block_of_three_segments(void **state)
{
	static const uint8_t mac[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };
	struct dvq_data_seg *seg = dvq_sq_block_segs(&r.sq);
	uint32_t i;

	(void)state;
	for (i = 0; i < DVQ_SQ_BLOCK_SEGS; i++)
		dvq_seg_set(&seg[i], ADDR1 + i, LKEY1, 0x100 + i);
	dvq_sq_post_block(&r.sq, 3, DVQ_OP_SEND | DVQ_CTRL_INNER_L4_CSUM,
			  0xa123u << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_CVLAN, DVQ_CTRL_IP_CSUM,
			  mac);
	expect_dump(r.mem,
		"0800000a a1234004 02110012 22334455"
		"00000100 a1b2c3d4 11223344 55667788"
		"00000101 a1b2c3d4 11223344 55667789"
		"00000102 a1b2c3d4 11223344 5566778a"
		"ffffffff eeeeeeee");
}

/* In the last block of pass 0 and in the first of pass 1; and without a segment. */
static void
test_block_by_pass(void **state)
{
	(void)state;
	ring_advance(&r, RING_BLOCKS - 1);
	assert_int_equal(dvq_sq_post_block(&r.sq, 0, DVQ_OP_NOP, 0, DVQ_CTRL_CQE, NULL),
			 RING_BLOCKS - 1);
	expect_dump(r.mem + sizeof(r.mem) - 64, "00000000 00000001 0000000e 00000000 eeeeeeee");
	dvq_seg_set(dvq_sq_block_segs(&r.sq), ADDR1, LKEY1, 60);
	dvq_sq_post_block(&r.sq, 1, DVQ_OP_SEND, 0, 0, NULL);
	expect_dump(r.mem,
		"8000000a 00000002 00000002 00000000"
		"0000003c a1b2c3d4 11223344 55667788");
	assert_int_equal(dvq_sq_complete(&r.sq, RING_BLOCKS), 2);
	expect_dump(r.mem + sizeof(r.mem) - 64, "7fffffff");
	expect_dump(r.mem, "ffffffff");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_segment, setup),
		cmocka_unit_test_setup(test_three_segments_fill_a_block, setup),
		cmocka_unit_test_setup(test_four_segments_take_two_blocks, setup),
		cmocka_unit_test_setup(test_eight_segments_take_three_blocks, setup),
		cmocka_unit_test_setup(test_wrap_at_every_offset, setup),
		cmocka_unit_test_setup(test_empty_segment, setup),
		cmocka_unit_test_setup(test_empty_segment_at_block_start, setup),
		cmocka_unit_test_setup(test_inline_14, setup),
		cmocka_unit_test_setup(test_inline_44_fills_a_block, setup),
		cmocka_unit_test_setup(test_inline_45_takes_a_second_header, setup),
		cmocka_unit_test_setup(test_inline_60, setup),
		cmocka_unit_test_setup(test_inline_188, setup),
		cmocka_unit_test_setup(test_inline_nothing, setup),
		cmocka_unit_test_setup(test_inline_wraps, setup),
		cmocka_unit_test_setup(test_lso_54, setup),
		cmocka_unit_test_setup(test_lso_130, setup),
		cmocka_unit_test_setup(test_lso_short_block_head, setup),
		cmocka_unit_test_setup(test_lso_misuse, setup),
		cmocka_unit_test_setup(test_checksum_flags, setup),
		cmocka_unit_test_setup(test_inner_checksums, setup),
		cmocka_unit_test_setup(test_vlan, setup),
		cmocka_unit_test_setup(test_destination_mac, setup),
		cmocka_unit_test_setup(test_nop, setup),
		cmocka_unit_test_setup(test_whole_dword_1_is_written, setup),
		cmocka_unit_test_setup(test_full_wqe, setup),
		cmocka_unit_test_setup(test_abandoned_wqe_is_invisible, setup),
		cmocka_unit_test_setup(test_block_of_one_segment, setup),
		cmocka_unit_test_setup(test_block_of_three_segments, setup),
		cmocka_unit_test_setup(test_block_by_pass, setup),
	};

	return cmocka_run_group_tests_name("dvq: send WQEs", tests, NULL, NULL);
}
