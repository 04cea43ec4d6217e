/* SPDX-License-Identifier: BSD-3-Clause */

#include "frames.h"
#include "frames_tunnel.h"
#include "tx.h"

static void
check_lso_frame(unsigned int i, size_t payload, const uint8_t *bytes, uint8_t flags,
	uint32_t seq)
{
	const uint8_t *f = card_sent.frame[i];

	assert_int_equal(card_sent.length[i], 54 + payload);
	assert_memory_equal(f, frame_tcp4_header, 14);
	assert_int_equal(vmlx4_be16(f + 16), 40 + payload);
	assert_int_equal(vmlx4_be16(f + 18), 0x1000 + i);
	assert_int_equal(vmlx4_be32(f + 38), seq);
	assert_int_equal(f[47], flags);
	assert_memory_equal(f + 54, bytes, payload);
	assert_int_equal(rfc1071(f + 14, 20, 0), 0xffff);
	assert_int_equal(rfc1071(f + 34, 20 + payload,
		rfc1071(f + 26, 8, (uint32_t)(6 + 20 + payload))), 0xffff);
}

/* Header 54 bytes, MSS 100, payload 250 from two segments; one completion. */
static void
test_lso(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t *wqe = stride(tx, 0), payload[250];

	(void)state;
	WQE(wqe, 0x00, 0x00, 0x00, 0x4e, 0x00, 0x00, 0x00, 0x07,
		0x00, 0x00, 0x00, 0x3e, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x64, 0x00, 0x36);
	memcpy(wqe + 20, frame_tcp4_header, 54);
	WQE(wqe + 80, 0x00, 0x00, 0x00, 0x96, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x64, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x30, 0x00);
	card_ring(&tx->card, tx->qp);
	memcpy(payload, tx->card.arena + 0x2000, 150);
	memcpy(payload + 150, tx->card.arena + 0x3000, 100);
	assert_int_equal(card_sent.count, 3);
	/* CWR on the first frame only, FIN and PSH on the last only; ACK on all. */
	check_lso_frame(0, 100, payload, 0x90, 0xfffffff0);
	check_lso_frame(1, 100, payload + 100, 0x10, 0x00000054);
	check_lso_frame(2, 50, payload + 200, 0x19, 0x000000b8);
	assert_int_equal(tx->cq->pi, 1);
	assert_int_equal(card_cqe(tx->cq, 0)[31], 0x4e);
	assert_int_equal(tx->qp->sq.ci, 2);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/*
 * An LSO WQE of these headers for 250 bytes of payload at an MSS of 100, posted at
 * index 0; dw0 and dw1 as given.
 */
static void
post_lso(struct tx *tx, const uint8_t *header, uint32_t length, uint32_t dw0, uint32_t dw1,
	uint32_t flags)
{
	uint32_t at = 16 + ((4 + length + 15) & ~15u);
	uint32_t ctrl[5] = { dw0, dw1 | (at / 16 + 1), flags, 0, 100u << 16 | length };
	uint32_t seg[4] = { 250, 0x00020000, 0x70, 0x2000 };

	card_put(stride(tx, 0), ctrl, 5);
	memcpy(stride(tx, 0) + 20, header, length);
	card_put(stride(tx, 0) + at, seg, 4);
	card_ring(&tx->card, tx->qp);
}

/* The checksum of the TCP packet at l4 of length bytes, its addresses at ip. */
static uint32_t
tcp_sum(const uint8_t *f, size_t ip, size_t addresses, size_t l4, size_t length)
{
	return rfc1071(f + l4, length,
		rfc1071(f + ip, addresses, (uint32_t)(6 + length)));
}

static void
test_tunnel_ipv4(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	static const size_t size[3] = { 100, 100, 50 };
	unsigned int i;

	(void)state;
	post_lso(tx, frame_vxlan4_header, 104, 0x1800004e, 0, 0x1e);
	assert_int_equal(card_sent.count, 3);
	for (i = 0; i < 3; i++) {
		const uint8_t *f = card_sent.frame[i];

		assert_int_equal(card_sent.length[i], 104 + size[i]);
		/* Outer: lengths, one more in the identification, its checksum. */
		assert_int_equal(vmlx4_be16(f + 16), 90 + size[i]);
		assert_int_equal(vmlx4_be16(f + 18), 0x1234 + i);
		assert_int_equal(rfc1071(f + 14, 20, 0), 0xffff);
		assert_int_equal(vmlx4_be16(f + 38), 70 + size[i]);
		assert_int_equal(vmlx4_be16(f + 40), 0); /* the UDP checksum is let be */
		assert_memory_equal(f + 42, frame_vxlan4_header + 42, 22);
		/* Inner. */
		assert_int_equal(vmlx4_be16(f + 66), 40 + size[i]);
		assert_int_equal(vmlx4_be16(f + 68), 0x100 + i);
		assert_int_equal(rfc1071(f + 64, 20, 0), 0xffff);
		assert_int_equal(vmlx4_be32(f + 88), 0x10 + 100 * i);
		assert_int_equal(f[97], i == 2 ? 0x18 : 0x10);
		assert_int_equal(tcp_sum(f, 76, 8, 84, 20 + size[i]), 0xffff);
		assert_memory_equal(f + 104, tx->card.arena + 0x2000 + 100 * i, size[i]);
	}
	assert_int_equal(tx->cq->pi, 1);
	assert_int_equal(tx->card.adapter->ports[0].stats.tx_lso, 1);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

static void
test_tunnel_ipv6(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	const uint8_t *f = card_sent.frame[2];

	(void)state;
	post_lso(tx, frame_vxlan6_header, 144, 0x0800004e, 0, 0x0e);
	assert_int_equal(card_sent.count, 3);
	assert_int_equal(card_sent.length[2], 194);
	assert_int_equal(vmlx4_be16(f + 18), 140);
	assert_int_equal(vmlx4_be16(f + 58), 140);
	assert_int_equal(vmlx4_be16(f + 88), 70);
	assert_int_equal(vmlx4_be32(f + 128), 0x10 + 200);
	assert_int_equal(tcp_sum(f, 92, 32, 124, 70), 0xffff);
	tx_free(tx);
}

/* Lengths that a stack leaves as it likes: they are written anew. */
static void
test_lengths_do_not_matter(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t header[104];

	(void)state;
	memcpy(header, frame_vxlan4_header, 104);
	memset(header + 16, 0, 2);
	memset(header + 38, 0, 2);
	memset(header + 66, 0xff, 2);
	post_lso(tx, header, 104, 0x1800004e, 0, 0x1e);
	assert_int_equal(card_sent.count, 3);
	assert_int_equal(vmlx4_be16(card_sent.frame[0] + 16), 190);
	assert_int_equal(rfc1071(card_sent.frame[0] + 14, 20, 0), 0xffff);
	assert_int_equal(vmlx4_be16(card_sent.frame[0] + 66), 140);
	assert_int_equal(tcp_sum(card_sent.frame[0], 76, 8, 84, 120), 0xffff);
	tx_free(tx);
}

/* To a card that knows no tunnels the header is not one of TCP. */
static void
test_tunnel_needs_pro(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

	(void)state;
	tx->card.adapter->profile = vmlx4_profile_find("cx3");
	post_lso(tx, frame_vxlan4_header, 104, 0x1800004e, 0, 0x1e);
	assert_int_equal(card_sent.count, 0);
	assert_int_equal(card_cqe(tx->cq, 0)[27], 0x02);
	tx_free(tx);
}

/* Every segment gets the tag. */
static void
test_vlan(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	unsigned int i;

	(void)state;
	post_lso(tx, frame_tcp4_header, 54, 0x0000004e, 0xa1234000, 0x3e);
	assert_int_equal(card_sent.count, 3);
	for (i = 0; i < 3; i++) {
		const uint8_t *f = card_sent.frame[i];
		size_t payload = i == 2 ? 50 : 100;

		assert_int_equal(card_sent.length[i], 58 + payload);
		assert_memory_equal(f + 12, "\x81\x00\xa1\x23\x08\x00", 6);
		assert_int_equal(vmlx4_be16(f + 20), 40 + payload);
		assert_int_equal(rfc1071(f + 18, 20, 0), 0xffff);
		assert_int_equal(tcp_sum(f, 30, 8, 38, 20 + payload), 0xffff);
		assert_memory_equal(f + 58, tx->card.arena + 0x2000 + 100 * i, payload);
	}
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

static void
test_s_vlan_tunnel(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	const uint8_t *f = card_sent.frame[2];

	(void)state;
	post_lso(tx, frame_vxlan4_header, 104, 0x1800004e, 0x00078000, 0x1e);
	assert_int_equal(card_sent.length[2], 158);
	assert_memory_equal(f + 12, "\x88\xa8\x00\x07\x08\x00", 6);
	assert_int_equal(rfc1071(f + 18, 20, 0), 0xffff);
	assert_int_equal(tcp_sum(f, 80, 8, 88, 70), 0xffff);
	tx_free(tx);
}

/* Bit 6 says that the header runs over 64 bytes; whether the card needs it is unknown. */
static void
test_big_header_bit(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

	(void)state;
	post_lso(tx, frame_tcp4_header, 54, 0x0000000e, 0, 0x3e);
	assert_int_equal(card_sent.count, 3);
	vmlx4_sq_reset(tx->qp);
	vmlx4_sq_ready(tx->qp);
	tx->card.adapter->options.unknowns.tx_lso_needs_blh = 1;
	post_lso(tx, frame_tcp4_header, 54, 0x0000000e, 0, 0x3e);
	assert_int_equal(card_sent.count, 3);
	assert_int_equal(card_cqe(tx->cq, 1)[27], 0x02);
	tx_free(tx);
}

/* Bad headers: MSS 0, ends inside TCP, not TCP, a fragment, a payload too long. */
static void
test_bad_headers(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value, syndrome;
	} bad[] = {
		{ 18 - 1, 0, 0x02 },         /* MSS, low byte */
		{ 20 + 46, 0x60, 0x02 },     /* TCP header of 24 bytes */
		{ 20 + 23, 17, 0x02 },
		{ 20 + 20, 0x20, 0x02 },
		{ 80 + 1, 0x10, 0x01 },      /* 0x1000fa bytes: more than max_tso */
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);

		tx->fixed.length = 0x200000; /* nothing of it is touched */
		vmlx4_sq_reset(tx->qp);
		post_lso(tx, frame_tcp4_header, 54, 0x0000004e, 0, 0x3e);
		stride(tx, 0)[bad[i].at] = bad[i].value;
		vmlx4_sq_ready(tx->qp);
		card_ring(&tx->card, tx->qp);
		assert_int_equal(card_sent.count, 0);
		assert_int_equal(card_cqe(tx->cq, 0)[31], 0x5e);
		assert_int_equal(card_cqe(tx->cq, 0)[27], bad[i].syndrome);
		tx_free(tx);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lso),
		cmocka_unit_test(test_tunnel_ipv4),
		cmocka_unit_test(test_tunnel_ipv6),
		cmocka_unit_test(test_lengths_do_not_matter),
		cmocka_unit_test(test_tunnel_needs_pro),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_s_vlan_tunnel),
		cmocka_unit_test(test_big_header_bit),
		cmocka_unit_test(test_bad_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
