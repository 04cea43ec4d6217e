/* SPDX-License-Identifier: BSD-3-Clause */

#include "frames.h"
#include "frames_tunnel.h"
#include "tx.h"

/* Whatever stood in the fields before, Scapy's checksums come out. */
static void
test_checksums(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t length, ip, l4;
	} all[] = {
		{ frame_udp4, sizeof(frame_udp4), 24, 40 },
		{ frame_tcp4_options, sizeof(frame_tcp4_options), 24, 54 },
		{ frame_tcp6, sizeof(frame_tcp6), 0, 70 },
		{ frame_tagged, sizeof(frame_tagged), 28, 44 },
	};
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t part[64];
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		uint8_t *at = tx->card.arena + 256 * i;

		memcpy(at, all[i].frame, all[i].length);
		if (all[i].ip != 0)
			memcpy(at + all[i].ip, "\xde\xad", 2);
		memcpy(at + all[i].l4, "\xbe\xef", 2);
		card_post(tx->qp, i, 0x3e, at, (uint32_t)all[i].length);
	}
	/* Only what is asked for: the IP checksum alone leaves UDP's field be. */
	card_post(tx->qp, 4, 0x1e, tx->card.arena, sizeof(frame_udp4));
	card_ring(&tx->card, tx->qp);
	for (i = 0; i < 4; i++)
		sent_is(i, all[i].frame, all[i].length);
	memcpy(part, frame_udp4, 60);
	memcpy(part + 40, "\xbe\xef", 2);
	sent_is(4, part, 60);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

static void
test_vlan_insertion(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t bare[62];

	(void)state;
	memcpy(bare, frame_tagged, 12);
	memcpy(bare + 12, frame_tagged + 16, 50);
	memcpy(tx->card.arena, bare, 62);
	WQE(stride(tx, 0), 0x00, 0x00, 0x00, 0x0a, 0xa1, 0x23, 0x40, 0x02,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x3e, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00);
	WQE(stride(tx, 1), 0x00, 0x00, 0x00, 0x0a, 0x00, 0x07, 0x80, 0x02,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x3e, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00);
	card_ring(&tx->card, tx->qp);
	sent_is(0, frame_tagged, sizeof(frame_tagged));
	assert_int_equal(card_sent.length[1], 66);
	assert_memory_equal(card_sent.frame[1] + 12, "\x88\xa8\x00\x07\x08\x00", 6);
	assert_memory_equal(tx->card.arena, bare, 62); /* the program's bytes stay */
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/* The tag goes in front of inline bytes too, which stay as they are in the ring. */
static void
test_vlan_inline(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 64, 7);
	uint8_t *wqe = stride(tx, 0), copy[128];

	(void)state;
	WQE(wqe, 0x00, 0x00, 0x00, 0x0a, 0xa1, 0x23, 0x40, 0x06,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00,
		0x80, 0x00, 0x00, 0x2c);
	memcpy(wqe + 20, frame_tagged, 12);
	memcpy(wqe + 32, frame_tagged + 16, 32);
	WQE(wqe + 64, 0x80, 0x00, 0x00, 0x12);
	memcpy(wqe + 68, frame_tagged + 48, 18);
	memcpy(copy, wqe, 128);
	card_ring(&tx->card, tx->qp);
	sent_is(0, frame_tagged, sizeof(frame_tagged));
	assert_memory_equal(wqe, copy, 128);
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/* The WQE in the ring, and its first 64 bytes in the BlueFlame page; no doorbell. */
static void
blueflame(struct tx *tx, uint32_t index)
{
	memcpy(tx->card.ctx->pages + VMLX4_PAGE, stride(tx, index), 64);
	while (vmlx4_engine_pass(tx->card.adapter, 0) != 0)
		;
}

/*
 * A BlueFlame post has the queue's number where the tag and its bits would be: with
 * bits 7:6 of the number zero nothing is inserted, and that is why kernels hand out
 * only such numbers.
 */
static void
test_vlan_blueflame(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_OFF, 128, 6);
	uint8_t frame[40];

	(void)state;
	memcpy(frame, frame_udp4, 40);
	/* QPN 0x100, index 0 */
	WQE(stride(tx, 0), 0x00, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x00, 0x04,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x28);
	memcpy(stride(tx, 0) + 20, frame, 40);
	blueflame(tx, 0);
	assert_int_equal(card_sent.count, 1);
	assert_memory_equal(card_sent.frame[0], frame, 40);
	/* QPN 0x1234c0: its bits 7:6 mean both tags, 0x1234 is the tag. Index 1. */
	WQE(stride(tx, 1), 0x00, 0x00, 0x01, 0x0a, 0x12, 0x34, 0xc0, 0x04,
		0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x28);
	memcpy(stride(tx, 1) + 20, frame, 40);
	blueflame(tx, 1);
	assert_int_equal(card_sent.count, 2);
	assert_memory_equal(card_sent.frame[1] + 12, "\x88\xa8\x12\x34\x08\x00", 6);
	tx_free(tx);
}

/* Outer and inner fields spoilt; what is asked for comes out as Scapy has it. */
static void
test_inner_checksums(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t *at4 = tx->card.arena, *at6 = tx->card.arena + 256, expect[160];

	(void)state;
	memcpy(at4, frame_vxlan4, sizeof(frame_vxlan4));
	memcpy(at4 + 24, "\xde\xad", 2);
	memcpy(at4 + 74, "\xde\xad", 2);
	memcpy(at4 + 100, "\xde\xad", 2);
	card_post(tx->qp, 0, 0x1e, at4, sizeof(frame_vxlan4));
	stride(tx, 0)[0] |= 0x18; /* IIP and ILP */
	memcpy(at6, frame_vxlan6, sizeof(frame_vxlan6));
	memcpy(at6 + 130, "\xde\xad", 2);
	card_post(tx->qp, 1, 0x0e, at6, sizeof(frame_vxlan6));
	stride(tx, 1)[0] |= 0x08; /* ILP */
	/* The inner IP header alone, and the L4 bit, which is the outer packet's. */
	card_post(tx->qp, 2, 0x3e, at4, sizeof(frame_vxlan4));
	stride(tx, 2)[0] |= 0x10;
	card_ring(&tx->card, tx->qp);
	sent_is(0, frame_vxlan4, sizeof(frame_vxlan4));
	sent_is(1, frame_vxlan6, sizeof(frame_vxlan6));
	memcpy(expect, frame_vxlan4, sizeof(frame_vxlan4));
	memcpy(expect + 100, "\xde\xad", 2);
	sent_is(2, expect, sizeof(frame_vxlan4));
	assert_int_equal(tx->card.adapter->violations, 0);
	tx_free(tx);
}

/* The bits mean nothing to a card without tunnels, nor on another UDP port. */
static void
test_inner_needs_a_tunnel(void **state)
{
	struct tx *tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	uint8_t *at = tx->card.arena;

	(void)state;
	memcpy(at, frame_vxlan4, sizeof(frame_vxlan4));
	memcpy(at + 100, "\xde\xad", 2);
	tx->card.adapter->options.unknowns.vxlan_port = 8472;
	card_post(tx->qp, 0, 0x0e, at, sizeof(frame_vxlan4));
	stride(tx, 0)[0] |= 0x18;
	card_ring(&tx->card, tx->qp);
	sent_is(0, at, sizeof(frame_vxlan4));
	vmlx4_put_be16(at + 36, 8472);
	card_post(tx->qp, 1, 0x0e, at, sizeof(frame_vxlan4));
	stride(tx, 1)[0] |= 0x18;
	card_ring(&tx->card, tx->qp);
	assert_memory_equal(card_sent.frame[1] + 100, frame_vxlan4 + 100, 2);
	tx->card.adapter->profile = vmlx4_profile_find("cx3");
	card_post(tx->qp, 2, 0x0e, at, sizeof(frame_vxlan4));
	stride(tx, 2)[0] |= 0x18;
	card_ring(&tx->card, tx->qp);
	sent_is(2, at, sizeof(frame_vxlan4));
	tx_free(tx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_vlan_insertion),
		cmocka_unit_test(test_vlan_inline),
		cmocka_unit_test(test_vlan_blueflame),
		cmocka_unit_test(test_inner_checksums),
		cmocka_unit_test(test_inner_needs_a_tunnel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
