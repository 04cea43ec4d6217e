/* SPDX-License-Identifier: BSD-3-Clause */

#include "bed.h"

/*
 * Packets byte by byte. The first was made by scapy's scapy.contrib.roce, ICRC and
 * all; of the others, which it cannot finish, the CRC is zlib's.
 */

static const uint8_t ipv4_send[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x08, 0x00, 0x45, 0x03, 0x00, 0x34, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
	0x26, 0xb4, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0xc1, 0x23,
	0x12, 0xb7, 0x00, 0x20, 0x00, 0x00, 0x04, 0xd0, 0xff, 0xff, 0x00, 0x00,
	0x01, 0xc2, 0x80, 0xff, 0xff, 0xfe, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20,
	0x77, 0x00, 0xa7, 0xeb, 0x1d, 0xfd,
};

static const uint8_t v1_ack[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x89, 0x15, 0x60, 0x51, 0x23, 0x45, 0x00, 0x14, 0x1b, 0x01, 0xfe, 0x80,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xfe, 0x00,
	0x00, 0x01, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0xff, 0xfe, 0x00, 0x00, 0x02, 0x11, 0x40, 0xff, 0xff, 0x00, 0x00,
	0x01, 0x41, 0x00, 0x00, 0x00, 0x05, 0x1f, 0x00, 0x00, 0x07, 0xbb, 0xd6,
	0xb0, 0xe5,
};

static const uint8_t ipv6_ack[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x86, 0xdd, 0x60, 0x30, 0x07, 0x77, 0x00, 0x1c, 0x11, 0x40, 0xfe, 0x80,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc1, 0x23, 0x12, 0xb7, 0x00, 0x1c,
	0x00, 0x00, 0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x41, 0x00, 0x00,
	0x00, 0x05, 0x1f, 0x00, 0x00, 0x07, 0x89, 0xcc, 0xed, 0x5e,
};

static const uint8_t far[6] = { 2, 0, 0, 0, 0, 2 }, near[6] = { 2, 0, 0, 0, 0, 1 };

static void
head(struct vmlx4_ib_packet *p, uint8_t opcode, uint32_t dest_qpn, uint32_t psn)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->dmac, far, 6);
	memcpy(p->smac, near, 6);
	p->opcode = opcode;
	p->pkey = 0xffff;
	p->dest_qpn = dest_qpn;
	p->psn = psn;
	p->udp_port = 0xc123;
}

static void
seal_is(struct vmlx4_ib_packet *p, const void *payload, size_t size, const uint8_t *expect,
	size_t length)
{
	uint8_t frame[VMLX4_IB_FRAME_MAX];
	struct vmlx4_ib_packet back;

	memcpy(vmlx4_ib_packet_head(p, frame), payload, size);
	assert_int_equal(vmlx4_ib_packet_seal(p, frame, size), length);
	assert_memory_equal(frame, expect, length);
	assert_int_equal(vmlx4_ib_packet_read(frame, length, true, &back), VMLX4_IB_GOOD);
	assert_int_equal(back.opcode, p->opcode);
	assert_int_equal(back.psn, p->psn);
	assert_int_equal(back.dest_qpn, p->dest_qpn);
	assert_int_equal(back.roce, p->roce);
	assert_memory_equal(back.dgid, p->dgid, 16);
	assert_int_equal(back.size, size);
	assert_memory_equal(back.payload, payload, size);
}

static void
test_ipv4(void **state)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
	struct vmlx4_ib_packet p;

	(void)state;
	head(&p, 0x04, 0x1c2, 0xfffffe);
	p.roce = VMLX4_ROCE_V2;
	memcpy(p.sgid, prefix, 12);
	memcpy(p.sgid + 12, (const uint8_t[4]){ 10, 0, 0, 1 }, 4);
	memcpy(p.dgid, prefix, 12);
	memcpy(p.dgid + 12, (const uint8_t[4]){ 10, 0, 0, 2 }, 4);
	p.traffic_class = 3;
	p.hop_limit = 64;
	p.solicited = true;
	p.ack_request = true;
	seal_is(&p, "hello w", 7, ipv4_send, sizeof(ipv4_send));
}

static void
test_v1_and_ipv6(void **state)
{
	struct vmlx4_ib_packet p;

	(void)state;
	head(&p, 0x11, 0x141, 5);
	p.syndrome = 0x1f;
	p.msn = 7;
	memcpy(p.sgid, v1_ack + 22, 16);
	memcpy(p.dgid, v1_ack + 38, 16);
	p.traffic_class = 5;
	p.flow_label = 0x12345;
	p.hop_limit = 1;
	seal_is(&p, "", 0, v1_ack, sizeof(v1_ack));
	p.roce = VMLX4_ROCE_V2;
	memcpy(p.sgid, ipv6_ack + 22, 16);
	memcpy(p.dgid, ipv6_ack + 38, 16);
	p.traffic_class = 3;
	p.flow_label = 0x777;
	p.hop_limit = 64;
	seal_is(&p, "", 0, ipv6_ack, sizeof(ipv6_ack));
}

/* Every opcode there is, with a tag: what is written is what is read. */
static void
test_all_opcodes(void **state)
{
	static uint8_t payload[33];
	unsigned int op, known = 0;

	(void)state;
	bed_fill(payload, sizeof(payload), 9);
	for (op = 0; op < 256; op++) {
		unsigned int has = vmlx4_bth_what((uint8_t)op);
		size_t size = (has & VMLX4_HAS_PAYLOAD) != 0 ? sizeof(payload) : 0;
		uint8_t frame[VMLX4_IB_FRAME_MAX], *payload_at;
		struct vmlx4_ib_packet p, back;
		size_t length;

		if (has == 0)
			continue;
		known++;
		head(&p, (uint8_t)op, 0x123456, 0x654321);
		p.tagged = true;
		p.vlan = 0x6005;
		p.srqn = 0x42;
		p.qkey = 0x11223344;
		p.src_qpn = 0xabcdef;
		p.va = 0x1020304050607080;
		p.rkey = 0x99887766;
		p.length = 0x12345;
		p.swap_add = 0x0102030405060708;
		p.compare = 0x1112131415161718;
		p.swap_mask = 0x4142434445464748;
		p.compare_mask = 0x5152535455565758;
		p.syndrome = 0x62;
		p.msn = 0x777777;
		p.original = 0x2122232425262728;
		p.imm = 0x31323334;
		memcpy(vmlx4_ib_packet_head(&p, frame), payload, size);
		length = vmlx4_ib_packet_seal(&p, frame, size);
		assert_int_equal(vmlx4_ib_packet_read(frame, length, false, &back),
			VMLX4_IB_GOOD);
		assert_int_equal(back.vlan, 0x6005);
		assert_int_equal(back.size, size);
		assert_memory_equal(back.payload, payload, size);
		assert_true((has & VMLX4_HAS_XRCETH) == 0 || back.srqn == p.srqn);
		assert_true((has & VMLX4_HAS_DETH) == 0 || (back.qkey == p.qkey &&
			back.src_qpn == p.src_qpn));
		assert_true((has & VMLX4_HAS_RETH) == 0 || (back.va == p.va &&
			back.rkey == p.rkey && back.length == p.length));
		assert_true((has & VMLX4_HAS_ATOMIC) == 0 || (back.va == p.va &&
			back.swap_add == p.swap_add && back.compare == p.compare));
		assert_true((has & VMLX4_HAS_MASKS) == 0 || (back.swap_mask == p.swap_mask &&
			back.compare_mask == p.compare_mask));
		assert_true((has & VMLX4_HAS_AETH) == 0 || (back.syndrome == p.syndrome &&
			back.msn == p.msn));
		assert_true((has & VMLX4_HAS_ATOMIC_ACK) == 0 || back.original == p.original);
		assert_true((has & (VMLX4_HAS_IMM | VMLX4_HAS_IETH)) == 0 || back.imm == p.imm);
		p.roce = VMLX4_ROCE_V2; /* to an IPv6 address: the longest */
		payload_at = vmlx4_ib_packet_head(&p, frame);
		assert_true((size_t)(payload_at - frame) + 3 + 4 <= VMLX4_IB_OVERHEAD);
	}
	/* RC, UC, UD and XRC, and the atomics with masks of RC and XRC. */
	assert_int_equal(known, 23 + 12 + 2 + 23 + 2 + 2);
}

/* Each bit that the ICRC covers, and each length that is too short. */
static void
test_damage(void **state)
{
	uint8_t frame[sizeof(ipv4_send)];
	struct vmlx4_ib_packet p;
	size_t i;

	(void)state;
	for (i = 14; i < sizeof(frame); i++) {
		/* Type of service, time to live and checksums change under way. */
		bool free = i == 15 || i == 22 || i == 24 || i == 25 || i == 40 || i == 41 ||
			i == 46;

		memcpy(frame, ipv4_send, sizeof(frame));
		frame[i] ^= 0x10;
		assert_int_equal(vmlx4_ib_packet_read(frame, sizeof(frame), true, &p) ==
			VMLX4_IB_GOOD, free);
	}
	for (i = 0; i < sizeof(frame); i++) {
		uint8_t *shorter = malloc(i != 0 ? i : 1);

		assert_non_null(shorter);
		memcpy(shorter, ipv4_send, i);
		assert_int_not_equal(vmlx4_ib_packet_read(shorter, i, true, &p), VMLX4_IB_GOOD);
		free(shorter);
	}
}

/* A frame that is padded behind the packet, and one that is none. */
static void
test_what_is_a_packet(void **state)
{
	uint8_t frame[100] = { 0 };
	struct vmlx4_ib_packet p;

	(void)state;
	memcpy(frame, ipv4_send, sizeof(ipv4_send));
	assert_int_equal(vmlx4_ib_packet_read(frame, 100, true, &p), VMLX4_IB_GOOD);
	assert_int_equal(p.size, 7);
	assert_int_equal(vmlx4_ib_packet_read(frame, 100, false, &p), VMLX4_IB_OTHER);
	frame[37]++; /* another UDP port */
	assert_int_equal(vmlx4_ib_packet_read(frame, 100, true, &p), VMLX4_IB_OTHER);
}

/* All else stays, and what is behind the packet. */
static void
readdress(uint8_t opcode, enum vmlx4_roce roce, size_t size)
{
	uint8_t frame[VMLX4_IB_FRAME_MAX], expect[VMLX4_IB_FRAME_MAX];
	struct vmlx4_ib_packet p, back;
	size_t length;

	head(&p, opcode, 0x1c2, 7);
	p.roce = roce;
	memcpy(p.sgid, v1_ack + 22, 16);
	memcpy(p.dgid, v1_ack + 38, 16);
	p.va = 0x7f0012345678;
	p.rkey = 0x10200;
	p.length = (uint32_t)size;
	p.srqn = 0x42;
	memset(frame, 0xee, sizeof(frame));
	memset(vmlx4_ib_packet_head(&p, frame), 0x5a, size);
	length = vmlx4_ib_packet_seal(&p, frame, size);
	p.va = 0x40;
	memset(expect, 0xee, sizeof(expect));
	memset(vmlx4_ib_packet_head(&p, expect), 0x5a, size);
	vmlx4_ib_packet_seal(&p, expect, size);
	assert_int_equal(vmlx4_ib_packet_read(frame, length + 9, true, &back), VMLX4_IB_GOOD);
	vmlx4_ib_packet_readdress(&back, frame, 0x40);
	assert_memory_equal(frame, expect, sizeof(frame));
}

static void
test_another_address(void **state)
{
	enum vmlx4_roce roce;

	(void)state;
	for (roce = VMLX4_ROCE_V1; roce <= VMLX4_ROCE_V2; roce++) {
		readdress(VMLX4_BTH_RC | VMLX4_OP_WRITE_ONLY_IMM, roce, 101);
		readdress(VMLX4_BTH_RC | VMLX4_OP_READ, roce, 0);
		readdress(VMLX4_BTH_RC | VMLX4_OP_FETCH_ADD, roce, 0);
		readdress(VMLX4_BTH_XRC | VMLX4_OP_WRITE_FIRST, roce, 1024);
		readdress(VMLX4_BTH_MASKED | VMLX4_OP_COMPARE_SWAP, roce, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_v1_and_ipv6),
		cmocka_unit_test(test_all_opcodes),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_what_is_a_packet),
		cmocka_unit_test(test_another_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
