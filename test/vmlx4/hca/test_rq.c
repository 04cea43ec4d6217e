/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <sys/socket.h>

#include "card.h"
#include "frames.h"
#include "frames_tunnel.h"

/* Frames that arrive at port 2, and the bytes of the CQEs that report them. */

struct rx {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *qp;
	struct vmlx4_flow *flow;
};

static struct rx *
rx_new(enum vmlx4_strict strict, uint32_t cqe_size, uint32_t max_sge)
{
	struct rx *rx = calloc(1, sizeof(*rx));

	assert_non_null(rx);
	card_new(&rx->card, strict);
	rx->cq = card_cq(&rx->card, 8, cqe_size);
	rx->qp = card_rq(&rx->card, rx->cq, 4, max_sge);
	rx->flow = card_catch_all(&rx->card, 2, rx->qp);
	return rx;
}

static void
rx_free(struct rx *rx)
{
	card_flow_free(rx->flow);
	card_qp_free(&rx->card, rx->qp);
	card_cq_free(rx->cq);
	card_free(&rx->card);
	free(rx);
}

static struct vmlx4_port_stats *
stats(struct rx *rx)
{
	return &rx->card.adapter->ports[1].stats;
}

static void
receive(struct rx *rx, const uint8_t *frame, size_t length)
{
	vmlx4_port_receive(&rx->card.adapter->ports[1], frame, length);
}

/* One frame into a fresh queue; its CQE must be those 32 bytes. */
static void
expect(const uint8_t *frame, size_t length, const uint8_t *cqe)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);

	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_rq_record(rx->qp, 1);
	receive(rx, frame, length);
	assert_memory_equal(rx->card.arena, frame, length);
	assert_memory_equal(card_cqe(rx->cq, 0), cqe, 32);
	assert_int_equal(stats(rx)->rx_frames, 1);
	assert_int_equal(stats(rx)->rx_bytes, length);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

#define CQE(vlan, vid, status, bytes, sum) { \
	vlan, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, \
	(vid) >> 8, (vid) & 0xff, 0x02, 0x11, (status) >> 24, ((status) >> 16) & 0xff, \
	((status) >> 8) & 0xff, (status) & 0xff, 0x00, 0x00, 0x00, bytes, 0x00, 0x00, \
	(sum) >> 8, (sum) & 0xff, 0x00, 0x00, 0x00, 0x01 }

static void
test_cqe_bytes(void **state)
{
	/* IPOK UDP IPV4, checksum verified: written out in full. */
	static const uint8_t udp4[32] = {
		0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x11,
		0x18, 0x40, 0x00, 0x04, 0x00, 0x00, 0x00, 0x3c,
		0x00, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
	};
	static const uint8_t options[32] = CQE(0x00, 0, 0x16400004, 64, 0xffff);
	static const uint8_t tcp6[32] = CQE(0x00, 0, 0x15000004, 81, 0xffff);
	static const uint8_t tagged[32] = CQE(0x20, 0xa123, 0x18400004, 66, 0xffff);
	static const uint8_t arp[32] = CQE(0x00, 0, 0x00000000, 42, 0x0000);
	/* Fragments are never verified; the sum over what is there, by hand. */
	static const uint8_t first[32] = CQE(0x00, 0, 0x18c00000, 58, 0xd61f);
	static const uint8_t later[32] = CQE(0x00, 0, 0x10c00000, 58, 0x2f47);
	static const uint8_t six[32] = CQE(0x00, 0, 0x19001000, 78, 0x7b2a);

	(void)state;
	expect(frame_udp4, sizeof(frame_udp4), udp4);
	expect(frame_tcp4_options, sizeof(frame_tcp4_options), options);
	expect(frame_tcp6, sizeof(frame_tcp6), tcp6);
	expect(frame_tagged, sizeof(frame_tagged), tagged);
	expect(frame_arp, sizeof(frame_arp), arp);
	expect(frame_frag_first, sizeof(frame_frag_first), first);
	expect(frame_frag_later, sizeof(frame_frag_later), later);
	expect(frame_udp6_frag, sizeof(frame_udp6_frag), six);
}

static void
test_bad_checksums(void **state)
{
	/* Payload byte 0x76 -> 0x77 at an even place: the sum is 0x0100 too high. */
	static const uint8_t bad_l4[32] = CQE(0x00, 0, 0x18400000, 60, 0x0100);
	/* A time to live of 63: only the header checksum is wrong. */
	static const uint8_t bad_ip[32] = CQE(0x00, 0, 0x08400004, 60, 0xffff);
	/* No UDP checksum: 0xffff less the field 0x8f8a that is missing. */
	static const uint8_t none[32] = CQE(0x00, 0, 0x18400000, 60, 0x7075);
	uint8_t frame[60];

	(void)state;
	memcpy(frame, frame_udp4, 60);
	frame[42] = 0x77;
	expect(frame, 60, bad_l4);
	memcpy(frame, frame_udp4, 60);
	frame[22] = 63;
	expect(frame, 60, bad_ip);
	memcpy(frame, frame_udp4, 60);
	frame[40] = 0;
	frame[41] = 0;
	expect(frame, 60, none);
}

/* Owner bits over two passes of a ring of 32-byte CQEs; indices run on. */
static void
test_passes(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 32, 1);
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++)
		assert_int_equal(card_cqe(rx->cq, i)[31] & 0x80, 0x80);
	for (i = 0; i < 20; i++) {
		card_post_recv(rx->qp, i, rx->card.arena, 2048);
		card_rq_record(rx->qp, i + 1);
		receive(rx, frame_udp4, sizeof(frame_udp4));
		assert_int_equal(card_cqe(rx->cq, i)[31], i & 8 ? 0x81 : 0x01);
		assert_int_equal(card_cqe(rx->cq, i)[25], i);
		rx->cq->db[0] = htobe32(i + 1);
	}
	assert_int_equal(stats(rx)->rx_frames, 20);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

static void
test_no_wqe(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);

	(void)state;
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(stats(rx)->rx_no_wqe, 1);
	assert_int_equal(stats(rx)->rx_frames, 0);
	/* The record is read again for every frame, and only its low half counts. */
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_rq_record(rx->qp, 0xabcd0001);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(stats(rx)->rx_frames, 1);
	assert_int_equal(stats(rx)->rx_no_wqe, 2);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

static void
test_scatter(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 4);
	uint64_t a = (uintptr_t)rx->card.arena;
	/* 10 + 20 + 100 bytes, then the terminator. */
	uint32_t list[16] = {
		10, CARD_LKEY, (uint32_t)(a >> 32), (uint32_t)a,
		20, CARD_LKEY, (uint32_t)((a + 1000) >> 32), (uint32_t)(a + 1000),
		100, CARD_LKEY, (uint32_t)((a + 2000) >> 32), (uint32_t)(a + 2000),
		0, 0x100, 0, 0,
	};

	(void)state;
	card_put(rx->qp->rq.buf, list, 16);
	card_rq_record(rx->qp, 1);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_memory_equal(rx->card.arena, frame_udp4, 10);
	assert_memory_equal(rx->card.arena + 1000, frame_udp4 + 10, 20);
	assert_memory_equal(rx->card.arena + 2000, frame_udp4 + 30, 30);
	assert_int_equal(rx->card.arena[10], 0);
	assert_int_equal(rx->card.arena[2030], 0);
	assert_int_equal(card_cqe(rx->cq, 0)[23], 60);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

static void
test_oversize_is_an_error_and_the_queue_lives(void **state)
{
	static const uint8_t error[32] = {
		0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x1e,
	};
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 2);

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena, 59);
	card_post_recv(rx->qp, 1, rx->card.arena, 60);
	card_rq_record(rx->qp, 2);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_memory_equal(card_cqe(rx->cq, 0), error, 32);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(card_cqe(rx->cq, 1)[31], 0x01);
	assert_int_equal(stats(rx)->rx_errors, 1);
	assert_int_equal(stats(rx)->rx_frames, 1);
	rx_free(rx);
}

static void
test_bad_lkey_ends_the_queue(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_OFF, 64, 1);

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena + CARD_ARENA - 10, 2048);
	card_post_recv(rx->qp, 1, rx->card.arena, 2048);
	card_rq_record(rx->qp, 2);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	/* Protection error with the vendor error of the silicon, then a flush. */
	assert_int_equal(card_cqe(rx->cq, 0)[31], 0x1e);
	assert_int_equal(card_cqe(rx->cq, 0)[27], 0x04);
	assert_int_equal(card_cqe(rx->cq, 0)[26], 0x57);
	assert_int_equal(card_cqe(rx->cq, 1)[31], 0x1e);
	assert_int_equal(card_cqe(rx->cq, 1)[27], 0x05);
	assert_int_equal(card_cqe(rx->cq, 1)[25], 1);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(stats(rx)->rx_dropped_by_rule, 1);
	rx_free(rx);
}

static void
test_fcs(void **state)
{
	/* CRC-32 of the frame is 0xcba303f4 (Python's zlib), low byte first. */
	static const uint8_t fcs[4] = { 0xf4, 0x03, 0xa3, 0xcb };
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);

	(void)state;
	rx->qp->rq.scatter_fcs = true;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_rq_record(rx->qp, 1);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_memory_equal(rx->card.arena, frame_udp4, 60);
	assert_memory_equal(rx->card.arena + 60, fcs, 4);
	assert_int_equal(card_cqe(rx->cq, 0)[23], 64);
	assert_int_equal(stats(rx)->rx_bytes, 60);
	rx_free(rx);
}

/* A short frame takes the place of the list in its WQE; the CQE says so. */
static void
test_inline_receive(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 4);
	uint8_t *wqe = rx->qp->rq.buf;

	(void)state;
	assert_int_equal(rx->qp->rq.stride_shift, 6);
	rx->qp->rq.inline_size = 64;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_post_recv(rx->qp, 1, rx->card.arena + 2048, 2048);
	card_rq_record(rx->qp, 2);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_memory_equal(wqe, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(rx->card.arena[0], 0);
	assert_int_equal(card_cqe(rx->cq, 0)[31], 0x21);
	assert_int_equal(vmlx4_be32(card_cqe(rx->cq, 0) + 20), sizeof(frame_udp4));
	/* 66 bytes are too many. */
	receive(rx, frame_tagged, sizeof(frame_tagged));
	assert_memory_equal(rx->card.arena + 2048, frame_tagged, sizeof(frame_tagged));
	assert_int_equal(card_cqe(rx->cq, 1)[31], 0x01);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

/* A tunnel's CQE, through steering and all, and on a card that knows none. */
static void
test_tunnel(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_post_recv(rx->qp, 1, rx->card.arena, 2048);
	card_rq_record(rx->qp, 2);
	receive(rx, frame_vxlan4, sizeof(frame_vxlan4));
	assert_int_equal(vmlx4_be32(card_cqe(rx->cq, 0)), 0x8e000040);
	assert_int_equal(vmlx4_be32(card_cqe(rx->cq, 0) + 16), 0x14400004);
	rx->card.adapter->profile = vmlx4_profile_find("cx3");
	receive(rx, frame_vxlan4, sizeof(frame_vxlan4));
	assert_int_equal(vmlx4_be32(card_cqe(rx->cq, 1)), 0x00000040);
	assert_int_equal(vmlx4_be32(card_cqe(rx->cq, 1) + 16), 0x18400000);
	rx_free(rx);
}

/*
 * Frames of every kind, cut anywhere, bytes of them changed by a generator: each ends
 * in a receive queue or in a counter, and nothing outside of it is read (which a
 * sanitizer sees, as each lies in memory of its own size).
 */
static void
test_malformed_frames(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t length;
	} seeds[] = {
		{ frame_udp4, sizeof(frame_udp4) }, { frame_tcp6, sizeof(frame_tcp6) },
		{ frame_udp6_frag, sizeof(frame_udp6_frag) },
		{ frame_tagged, sizeof(frame_tagged) },
		{ frame_vxlan4, sizeof(frame_vxlan4) }, { frame_vxlan6, sizeof(frame_vxlan6) },
		{ frame_tcp4_options, sizeof(frame_tcp4_options) },
	};
	struct rx *rx = rx_new(VMLX4_STRICT_OFF, 64, 1);
	uint32_t lot = 1, i;

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	for (i = 0; i < 20000; i++) {
		unsigned int k = i % (sizeof(seeds) / sizeof(seeds[0])), changes;
		size_t length = seeds[k].length;
		uint8_t *frame;

		lot = lot * 1103515245 + 12345;
		if ((lot >> 16) % 2 == 0)
			length = 1 + (lot >> 17) % length;
		frame = malloc(length);
		assert_non_null(frame);
		memcpy(frame, seeds[k].frame, length);
		for (changes = i % 5; changes > 0 && length > 12; changes--) {
			lot = lot * 1103515245 + 12345;
			frame[12 + (lot >> 8) % (length - 12)] = (uint8_t)(lot >> 24);
		}
		card_post_recv(rx->qp, rx->qp->rq.ci, rx->card.arena, 2048);
		card_rq_record(rx->qp, (uint16_t)(rx->qp->rq.ci + 1));
		rx->cq->db[0] = htobe32(rx->cq->pi & 0xffffff);
		receive(rx, frame, length);
		free(frame);
	}
	assert_int_equal(stats(rx)->rx_frames + stats(rx)->rx_runt, 20000);
	assert_true(stats(rx)->rx_frames > 15000 && stats(rx)->rx_runt > 100);
	rx_free(rx);
}

static void
test_cq_overrun(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_OFF, 64, 1);
	struct {
		uint64_t element;
		uint32_t type, reserved;
	} event;
	unsigned int i;

	(void)state;
	rx->cq->obj.user_handle = 0x1122334455667788;
	for (i = 0; i < 9; i++) {
		card_post_recv(rx->qp, i, rx->card.arena, 2048);
		card_rq_record(rx->qp, i + 1);
		receive(rx, frame_udp4, sizeof(frame_udp4));
	}
	assert_int_equal(stats(rx)->rx_frames, 8);
	assert_int_equal(stats(rx)->rx_cq_overrun, 1);
	assert_true(rx->cq->error);
	assert_int_equal(recv(rx->card.async[0], &event, sizeof(event), MSG_DONTWAIT), 16);
	assert_int_equal(event.element, 0x1122334455667788);
	assert_int_equal(event.type, 0);
	assert_int_equal(rx->cq->async_events, 1);
	/* Room comes too late: nothing is delivered any more. */
	rx->cq->db[0] = htobe32(8);
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(stats(rx)->rx_cq_overrun, 2);
	rx_free(rx);
}

static void
test_port_limits(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);
	uint8_t big[1523] = { 2 };

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_rq_record(rx->qp, 1);
	receive(rx, big, 1523);
	assert_int_equal(stats(rx)->rx_oversize, 1);
	receive(rx, big, 13);
	receive(rx, big, 1);
	assert_int_equal(stats(rx)->rx_runt, 2);
	assert_int_equal(stats(rx)->rx_no_rule, 0);
	rx->card.adapter->ports[1].active = false;
	receive(rx, big, 1522);
	assert_int_equal(stats(rx)->rx_link_down, 1);
	rx->card.adapter->ports[1].active = true;
	receive(rx, big, 1522);
	assert_int_equal(stats(rx)->rx_frames, 1);
	rx_free(rx);
}

static void
test_asked_for_fault(void **state)
{
	struct rx *rx = rx_new(VMLX4_STRICT_REPORT, 64, 1);

	(void)state;
	card_post_recv(rx->qp, 0, rx->card.arena, 2048);
	card_post_recv(rx->qp, 1, rx->card.arena, 2048);
	card_rq_record(rx->qp, 2);
	card_faults(&rx->card, "wqe rx port=2 nth=1 syndrome=1");
	receive(rx, frame_udp4, sizeof(frame_udp4));
	receive(rx, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(card_cqe(rx->cq, 0)[31], 0x1e);
	assert_int_equal(card_cqe(rx->cq, 0)[27], 0x01);
	assert_int_equal(card_cqe(rx->cq, 1)[31], 0x01);
	assert_int_equal(rx->card.adapter->violations, 0);
	rx_free(rx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cqe_bytes),
		cmocka_unit_test(test_bad_checksums),
		cmocka_unit_test(test_passes),
		cmocka_unit_test(test_no_wqe),
		cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_oversize_is_an_error_and_the_queue_lives),
		cmocka_unit_test(test_bad_lkey_ends_the_queue),
		cmocka_unit_test(test_fcs),
		cmocka_unit_test(test_inline_receive),
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_malformed_frames),
		cmocka_unit_test(test_cq_overrun),
		cmocka_unit_test(test_port_limits),
		cmocka_unit_test(test_asked_for_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
