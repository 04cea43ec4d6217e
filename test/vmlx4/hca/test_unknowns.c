/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <sys/socket.h>

#include "card.h"
#include "frames.h"

/* Each behaviour that no public source states does what its option says, both ways. */

struct bench {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *tx, *rx;
	struct vmlx4_flow *flow;
};

static struct bench *
bench_new(const char *unknown)
{
	struct bench *b = calloc(1, sizeof(*b));
	char error[128];

	assert_non_null(b);
	card_new(&b->card, VMLX4_STRICT_OFF);
	if (unknown != NULL && vmlx4_unknown_set(&b->card.adapter->options.unknowns, unknown,
			error, sizeof(error)) < 0)
		fail_msg("%s: %s", unknown, error);
	b->cq = card_cq(&b->card, 4, 64);
	b->tx = card_sq(&b->card, b->cq, 128, 6);
	b->rx = card_rq(&b->card, b->cq, 4, 1);
	b->flow = card_catch_all(&b->card, 2, b->rx);
	card_watch(&b->card, 1);
	return b;
}

static void
bench_free(struct bench *b)
{
	card_flow_free(b->flow);
	card_qp_free(&b->card, b->tx);
	card_qp_free(&b->card, b->rx);
	card_cq_free(b->cq);
	card_free(&b->card);
	free(b);
}

static const struct vmlx4_port_stats *
stats(const struct bench *b, unsigned int port)
{
	return &b->card.adapter->ports[port - 1].stats;
}

/* Length of what leaves for one posted frame; 0: nothing left. */
static size_t
sent_length(const char *unknown, uint32_t size, uint32_t dw1, uint8_t *syndrome, uint8_t *tag)
{
	struct bench *b = bench_new(unknown);
	uint32_t word = htobe32(dw1 | 2);
	size_t length;

	/* Executed with the doorbell, so the order of these two does not matter here. */
	card_post(b->tx, 0, 0x0e, b->card.arena, size);
	memcpy(b->tx->sq.buf + 4, &word, sizeof(word));
	card_ring(&b->card, b->tx);
	length = card_sent.count != 0 ? card_sent.length[0] : 0;
	if (tag != NULL)
		memcpy(tag, card_sent.frame[0] + 12, 2);
	if (syndrome != NULL)
		*syndrome = (card_cqe(b->cq, 0)[31] & 0x1f) == 0x1e ? card_cqe(b->cq, 0)[27] : 0;
	bench_free(b);
	return length;
}

static void
test_tx_frames(void **state)
{
	uint8_t syndrome, tag[2];

	(void)state;
	assert_int_equal(sent_length(NULL, 20, 0, NULL, NULL), 60);
	assert_int_equal(sent_length("tx_min_frame=0", 20, 0, NULL, NULL), 20);
	assert_int_equal(sent_length("tx_min_frame=256", 60, 0, NULL, NULL), 256);

	assert_int_equal(sent_length(NULL, 1600, 0, &syndrome, NULL), 0);
	assert_int_equal(syndrome, 0);
	assert_int_equal(sent_length("tx_oversize_error=1", 1600, 0, &syndrome, NULL), 0);
	assert_int_equal(syndrome, 0x01);

	assert_int_equal(sent_length(NULL, 80, 0x0005c000, NULL, tag), 84);
	assert_memory_equal(tag, "\x88\xa8", 2);
	assert_int_equal(sent_length("tx_vlan_both=0", 80, 0x0005c000, NULL, tag), 84);
	assert_memory_equal(tag, "\x81\x00", 2);
}

/* An inline segment of length 0: a frame of no bytes. */
static uint8_t
empty_syndrome(const char *unknown)
{
	static const uint32_t wqe[5] = { 0x0a, 2, 0x0e, 0, 0x80000000 };
	struct bench *b = bench_new(unknown);
	uint8_t syndrome;

	card_put(b->tx->sq.buf, wqe, 5);
	card_ring(&b->card, b->tx);
	assert_int_equal(card_sent.count, 0);
	syndrome = (card_cqe(b->cq, 0)[31] & 0x1f) == 0x1e ? card_cqe(b->cq, 0)[27] : 0;
	bench_free(b);
	return syndrome;
}

static void
test_tx_empty(void **state)
{
	(void)state;
	assert_int_equal(empty_syndrome(NULL), 0x01);
	assert_int_equal(empty_syndrome("tx_empty_error=0"), 0);
}

/* Five signalled WQEs, a CQ of four entries: who gives way? */
static bool
overruns(const char *unknown)
{
	struct bench *b = bench_new(unknown);
	uint32_t i;
	bool error;

	for (i = 0; i < 5; i++)
		card_post(b->tx, i, 0x0e, b->card.arena, 60);
	card_ring(&b->card, b->tx);
	error = b->cq->error;
	assert_int_equal(b->tx->sq.cq_blocked, !error);
	bench_free(b);
	return error;
}

static void
test_tx_full_cq(void **state)
{
	(void)state;
	assert_true(overruns(NULL));
	assert_false(overruns("tx_cq_full_stalls=1"));
}

/* Posted, and no doorbell. */
static unsigned int
unannounced(const char *unknown)
{
	struct bench *b = bench_new(unknown);
	unsigned int i;

	card_ring(&b->card, b->tx); /* nothing there: the queue is at rest */
	card_post(b->tx, 0, 0x0e, b->card.arena, 60);
	for (i = 0; i < 8; i++)
		vmlx4_engine_audit(b->card.adapter);
	while (vmlx4_engine_pass(b->card.adapter, 0) != 0)
		;
	i = card_sent.count;
	bench_free(b);
	return i;
}

static void
test_tx_lazy(void **state)
{
	(void)state;
	assert_int_equal(unannounced(NULL), 1);
	assert_int_equal(unannounced("tx_lazy_executes=0"), 0);
}

/* The CQE of one frame, and whether the queue outlived it. */
static bool
receive(const char *unknown, const uint8_t *frame, size_t length, uint32_t room, bool key,
	uint8_t *cqe)
{
	struct bench *b = bench_new(unknown);
	bool lives;

	card_post_recv(b->rx, 0, b->card.arena, room);
	if (!key)
		b->card.mr.access = 0;
	card_rq_record(b->rx, 1);
	vmlx4_port_receive(&b->card.adapter->ports[1], frame, length);
	memcpy(cqe, card_cqe(b->cq, 0), 32);
	lives = b->rx->rq.live;
	assert_int_equal(stats(b, 2)->rx_no_rule + stats(b, 2)->rx_no_wqe, 0);
	bench_free(b);
	return lives;
}

static void
test_rx_faults(void **state)
{
	uint8_t cqe[32];

	(void)state;
	assert_true(receive(NULL, frame_udp4, sizeof(frame_udp4), 32, true, cqe));
	assert_int_equal(cqe[27], 0x01);
	assert_int_equal(cqe[26], 0);
	assert_false(receive("rx_oversize_fatal=1", frame_udp4, sizeof(frame_udp4), 32, true, cqe));
	receive("vendor_other=0x68", frame_udp4, sizeof(frame_udp4), 32, true, cqe);
	assert_int_equal(cqe[26], 0x68);
	/* The syndrome of the other fault, and yet this one lives on. */
	assert_true(receive("rx_oversize_syndrome=4", frame_udp4, sizeof(frame_udp4), 32, true,
		cqe));
	assert_int_equal(cqe[27], 0x04);

	assert_false(receive(NULL, frame_udp4, sizeof(frame_udp4), 2048, false, cqe));
	assert_int_equal(cqe[27], 0x04);
	assert_true(receive("rx_prot_fatal=0", frame_udp4, sizeof(frame_udp4), 2048, false, cqe));
	assert_false(receive("rx_prot_syndrome=1", frame_udp4, sizeof(frame_udp4), 2048, false,
		cqe));
	assert_int_equal(cqe[27], 0x01);
}

static void
test_rx_fields(void **state)
{
	uint8_t bad_ip[sizeof(frame_udp4)], cqe[32];

	(void)state;
	memcpy(bad_ip, frame_udp4, sizeof(bad_ip));
	bad_ip[24] ^= 1; /* the header checksum */
	receive(NULL, bad_ip, sizeof(bad_ip), 2048, true, cqe);
	assert_int_equal(cqe[16] & 0x10, 0);
	assert_int_equal(cqe[19] & 0x04, 0x04);
	receive("rx_l4_without_ip=0", bad_ip, sizeof(bad_ip), 2048, true, cqe);
	assert_int_equal(cqe[19] & 0x04, 0);

	receive(NULL, frame_tcp6, sizeof(frame_tcp6), 2048, true, cqe);
	assert_int_equal(cqe[16] & 0x10, 0x10);
	receive("rx_ipv6_ipok=0", frame_tcp6, sizeof(frame_tcp6), 2048, true, cqe);
	assert_int_equal(cqe[16] & 0x10, 0);

	receive(NULL, frame_tagged, sizeof(frame_tagged), 2048, true, cqe);
	assert_int_equal(cqe[0], 0x20);
	assert_memory_equal(cqe + 12, "\xa1\x23", 2);
	receive("rx_sl_vid_unstripped=0", frame_tagged, sizeof(frame_tagged), 2048, true, cqe);
	assert_int_equal(cqe[0], 0);
	assert_memory_equal(cqe + 12, "\0\0", 2);

	receive(NULL, frame_arp, sizeof(frame_arp), 2048, true, cqe);
	assert_memory_equal(cqe + 4, "\0\0\0\0", 4);
	receive("rx_hash_when_none=0xfeedf00d", frame_arp, sizeof(frame_arp), 2048, true, cqe);
	assert_memory_equal(cqe + 4, "\xfe\xed\xf0\x0d", 4);
}

static unsigned int
events(const struct bench *b)
{
	uint8_t event[64];
	unsigned int n = 0;

	while (recv(b->card.comp[0], event, sizeof(event), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

/* Arm with this sn at consumer index 0: record, then doorbell. */
static unsigned int
arm(struct bench *b, uint32_t sn)
{
	uint32_t high = sn << 28 | 2 << 24;

	b->cq->db[1] = htobe32(high);
	vmlx4_cq_arm_doorbell(b->card.ctx, (uint64_t)(high | b->cq->cqn) << 32);
	return events(b);
}

static void
test_arm(void **state)
{
	static const char *const set[] = {
		NULL, "arm_fires_on_pending=0", "arm_ignores_used_sn=0",
	};
	static const unsigned int first[] = { 1, 0, 1 }, again[] = { 0, 0, 1 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct bench *b = bench_new(set[i]);

		b->cq->channel = &b->card.channel;
		card_post(b->tx, 0, 0x0e, b->card.arena, 60);
		card_ring(&b->card, b->tx);
		assert_int_equal(events(b), 0);
		assert_int_equal(arm(b, 1), first[i]);
		assert_int_equal(arm(b, 1), again[i]);
		bench_free(b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tx_frames),
		cmocka_unit_test(test_tx_empty),
		cmocka_unit_test(test_tx_full_cq),
		cmocka_unit_test(test_tx_lazy),
		cmocka_unit_test(test_rx_faults),
		cmocka_unit_test(test_rx_fields),
		cmocka_unit_test(test_arm),
	};

	return cmocka_run_group_tests_name("unknowns", tests, NULL, NULL);
}
