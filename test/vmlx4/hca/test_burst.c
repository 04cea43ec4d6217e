/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The short way for plain frames does what the general way does: the same
 * program on two cards, one of which has a tap that keeps it from bursts.
 */

#include <stdlib.h>

#include "card.h"
#include "frames.h"
#include "hca/burst.h"

#define WQES 128          /* of the send ring: posted all, as checking is off */
#define CQES 256
#define BUFFER 512u       /* bytes between packet buffers */
#define SEND_BUFFERS 64
#define RECV_AT (SEND_BUFFERS * BUFFER)
#define RECV_BUFFERS 32

static uint32_t
lot(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* ---- the status alone ---- */

static const struct {
	const uint8_t *bytes;
	size_t length;
} seeds[] = {
	{ frame_udp4, sizeof(frame_udp4) },
	{ frame_tcp4_options, sizeof(frame_tcp4_options) },
	{ frame_frag_first, sizeof(frame_frag_first) },
	{ frame_frag_later, sizeof(frame_frag_later) },
	{ frame_tcp6, sizeof(frame_tcp6) },
	{ frame_udp6_frag, sizeof(frame_udp6_frag) },
};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

/* Make the checksums of an untagged IPv4 frame right. */
static void
mend(uint8_t *frame, size_t length)
{
	struct vmlx4_tx_ask ask = { .csum_ip = true, .csum_l4 = true };

	vmlx4_tx_checksums(frame, length, &ask);
}

/* True when the short way took the frame. */
static bool
same_status(const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed parsed;
	struct vmlx4_rx_status want;
	uint32_t status;
	uint16_t checksum;

	if (!vmlx4_rx_plain_status(frame, length, &status, &checksum))
		return false;
	vmlx4_parse(frame, length, &parsed);
	vmlx4_rx_status(&vmlx4_unknown_defaults, frame, &parsed, &want);
	assert_int_equal(status, want.status);
	assert_int_equal(checksum, want.checksum);
	assert_int_equal(want.vlan, 0);
	assert_int_equal(want.sl_vid, 0);
	return true;
}

static void
status_of_changed_frames(void **state)
{
	uint32_t random = 1;
	unsigned int round, taken = 0;

	(void)state;
	for (round = 0; round < 300000; round++) {
		size_t which = lot(&random) % SEEDS, length = seeds[which].length;
		uint8_t *frame = malloc(length); /* so that a read beyond it is seen */
		unsigned int changes = lot(&random) % 4;

		assert_non_null(frame);
		memcpy(frame, seeds[which].bytes, length);
		while (changes-- > 0)
			frame[lot(&random) % length] = (uint8_t)lot(&random);
		if (lot(&random) % 2)
			mend(frame, length);
		taken += same_status(frame, length);
		free(frame);
	}
	assert_true(taken > 20000 && taken < 200000);
}

/* … and the sum is right all the same: nothing was verified. */
static void
no_checksum_but_good_sum(uint8_t *frame, size_t length)
{
	uint32_t status;
	uint16_t sum;

	memset(frame + 42, 0, 2);
	assert_true(vmlx4_rx_plain_status(frame, length, &status, &sum));
	sum = (uint16_t)~sum;
	memcpy(frame + 42, &sum, 2);
	assert_true(vmlx4_rx_plain_status(frame, length, &status, &sum));
	assert_int_equal(sum, 0xffff);
	assert_true(same_status(frame, length));
}

static void
status_of_every_length(void **state)
{
	uint32_t random = 2;
	size_t length, i;

	(void)state;
	for (length = 42; length <= 1514; length++) {
		uint8_t *frame = malloc(length);
		size_t total = length - 14 - (length > 60 ? lot(&random) % 8 : 0);

		assert_non_null(frame);
		for (i = 0; i < length; i++)
			frame[i] = (uint8_t)lot(&random);
		memcpy(frame, frame_udp4, 42);
		vmlx4_put_be16(frame + 16, (uint16_t)total);
		vmlx4_put_be16(frame + 38, (uint16_t)(total - 20));
		mend(frame, length);
		assert_true(same_status(frame, length));
		vmlx4_put_be16(frame + 40, 0); /* no checksum, … */
		assert_true(same_status(frame, length));
		if (total >= 30)
			no_checksum_but_good_sum(frame, length);
		free(frame);
	}
}

/* ---- whole cards ---- */

struct pair {
	struct card card;
	struct vmlx4_cq *send_cq, *recv_cq;
	struct vmlx4_qp *sq, *rq;
	struct vmlx4_flow *flow, *broadcast;
	unsigned int posted, received;
};

static void
no_burst(void *arg, const void *frame, size_t length)
{
	(void)arg;
	(void)frame;
	(void)length;
}

static struct vmlx4_flow *
broadcast_rule(struct card *card, struct vmlx4_qp *qp)
{
	struct vmlx4_flow *flow = calloc(1, sizeof(*flow));

	assert_non_null(flow);
	flow->flow_type = VMLX4_FLOW_NORMAL;
	flow->port = &card->adapter->ports[1];
	flow->qp = qp;
	flow->match.eth = true;
	memset(flow->match.dst_mac, 0xff, 6);
	memset(flow->match.dst_mac_mask, 0xff, 6);
	assert_int_equal(vmlx4_steering_add(flow), 0);
	return flow;
}

static struct pair *
pair_new(bool bursts, uint32_t cqe_size)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	card_new(&pair->card, VMLX4_STRICT_OFF);
	pair->send_cq = card_cq(&pair->card, CQES, cqe_size);
	pair->recv_cq = card_cq(&pair->card, CQES, cqe_size);
	pair->sq = card_sq(&pair->card, pair->send_cq, WQES, 6);
	pair->rq = card_rq(&pair->card, pair->recv_cq, RECV_BUFFERS, 2);
	pair->flow = card_catch_all(&pair->card, 2, pair->rq);
	pair->broadcast = broadcast_rule(&pair->card, pair->rq);
	if (!bursts)
		pair->card.adapter->ports[0].tx_tap = no_burst;
	return pair;
}

static void
pair_free(struct pair *pair)
{
	card_flow_free(pair->broadcast);
	card_flow_free(pair->flow);
	card_qp_free(&pair->card, pair->rq);
	card_qp_free(&pair->card, pair->sq);
	card_cq_free(pair->recv_cq);
	card_cq_free(pair->send_cq);
	card_free(&pair->card);
	free(pair);
}

/* A frame of some kind; returns its length. */
static uint32_t
make_frame(uint8_t *frame, uint32_t *random)
{
	size_t which = lot(random) % SEEDS;
	uint32_t length = (uint32_t)seeds[which].length;

	if (lot(random) % 2)
		which = 0; /* runs of plain ones */
	memcpy(frame, seeds[which].bytes, seeds[which].length);
	if (length < 200 && lot(random) % 2)
		memset(frame + length, 0x55, 64);
	switch (lot(random) % 16) {
	case 0:
		frame[0] |= 1; /* multicast */
		break;
	case 1:
		frame[5] += (uint8_t)lot(random); /* another address */
		break;
	case 2:
		frame[30]++;   /* bad checksums */
		break;
	case 3:
		return 13;
	case 4:
		return 64;
	case 5:
		return 42 + lot(random) % 300;
	case 6:
		memset(frame, 0xff, 6);
	}
	return length;
}

/* The WQEs of one doorbell: mostly plain, signaled or not. */
static void
post_some(struct pair *pair, uint32_t *random)
{
	static const uint32_t flags[] = { 0x0e, 0x02, 0x0e, 0x02, 0x3e, 0x00, 0x1e, 0x06 };
	unsigned int n = 1 + lot(random) % 64;

	while (n-- > 0) {
		unsigned int slot = pair->posted % SEND_BUFFERS;
		uint8_t *frame = pair->card.arena + slot * BUFFER;
		uint32_t length = make_frame(frame, random);

		if (lot(random) % 64 == 0)
			length = 3000; /* too long: not sent */
		card_post(pair->sq, pair->posted++, flags[lot(random) % 8], frame, length);
	}
}

static void
post_buffers(struct pair *pair, uint32_t *random)
{
	unsigned int room = RECV_BUFFERS - (uint16_t)(pair->received - pair->rq->rq.ci);
	unsigned int n = lot(random) % (room + 1);

	while (n-- > 0) {
		uint8_t *at = pair->card.arena + RECV_AT +
			(pair->received % RECV_BUFFERS) * BUFFER;

		card_post_recv(pair->rq, pair->received++, at, BUFFER);
	}
	card_rq_record(pair->rq, pair->received);
}

static void
same_cq(const struct vmlx4_cq *a, const struct vmlx4_cq *b)
{
	assert_int_equal(a->pi, b->pi);
	assert_int_equal(a->error, b->error);
	assert_memory_equal(a->buf, b->buf, (size_t)a->cqe_cnt * a->cqe_size);
}

/* Addresses differ, so the receive ring itself is not compared. */
static void
same_cards(const struct pair *a, const struct pair *b)
{
	unsigned int i;

	same_cq(a->send_cq, b->send_cq);
	same_cq(a->recv_cq, b->recv_cq);
	assert_int_equal(a->sq->sq.ci, b->sq->sq.ci);
	assert_int_equal(a->sq->sq.live, b->sq->sq.live);
	assert_int_equal(a->rq->rq.ci, b->rq->rq.ci);
	assert_int_equal(a->rq->rq.live, b->rq->rq.live);
	assert_memory_equal(a->card.arena, b->card.arena, CARD_ARENA);
	for (i = 0; i < 2; i++)
		assert_memory_equal(&a->card.adapter->ports[i].stats,
			&b->card.adapter->ports[i].stats, sizeof(struct vmlx4_port_stats));
}

static void
turn(struct pair *pair, uint32_t *random)
{
	post_buffers(pair, random);
	post_some(pair, random);
	card_ring(&pair->card, pair->sq);
	*pair->send_cq->db = htobe32(pair->send_cq->pi & 0xffffff);
	*pair->recv_cq->db = htobe32(pair->recv_cq->pi & 0xffffff);
}

static void
compare_ways(uint32_t seed, uint32_t cqe_size)
{
	struct pair *a = pair_new(true, cqe_size);
	struct pair *b = pair_new(false, cqe_size);
	uint32_t random = seed, again = seed;
	unsigned int i;

	for (i = 0; i < 400; i++) {
		turn(a, &random);
		turn(b, &again);
		same_cards(a, b);
	}
	assert_true(a->card.adapter->ports[1].stats.rx_frames > 2000);
	pair_free(a);
	pair_free(b);
}

static void
cards_agree(void **state)
{
	uint32_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++)
		compare_ways(seed, seed % 2 ? 32 : 64);
}

/* What runs over must run over at the same entry. */
static void
cards_agree_on_an_overrun(void **state)
{
	struct pair *a = pair_new(true, 64), *b = pair_new(false, 64);
	struct pair *both[2] = { a, b };
	unsigned int i, n;

	(void)state;
	for (n = 0; n < 2; n++) {
		struct pair *pair = both[n];

		for (i = 0; i < CQES + 20; i++) {
			card_post(pair->sq, pair->posted++, 0x0e, pair->card.arena, 64);
			if (i % 40 == 39)
				card_ring(&pair->card, pair->sq);
		}
		card_ring(&pair->card, pair->sq);
	}
	same_cards(a, b);
	assert_true(a->send_cq->error);
	assert_int_equal(a->send_cq->pi, CQES);
	pair_free(a);
	pair_free(b);
}

/* ---- what a replay does ---- */

#define LENGTH sizeof(frame_udp4)

static unsigned int
take_plain(struct pair *pair, const struct vmlx4_burst *burst, unsigned int first)
{
	return vmlx4_port_receive_plain(&pair->card.adapter->ports[1], burst, first,
		burst->count - first);
}

/* Frame i has the destination that ends in i; the one of another kind ends the run. */
static void
make_replay(struct vmlx4_burst *burst, uint8_t frames[][LENGTH], unsigned int other)
{
	unsigned int i;

	for (i = 0; i < burst->count; i++) {
		memcpy(frames[i], frame_udp4, LENGTH);
		mend(frames[i], LENGTH);
		frames[i][5] = (uint8_t)i;
		if (i == other)
			frames[i][24]++; /* its header checksum is wrong */
		burst->frame[i] = frames[i];
		burst->length[i] = LENGTH;
	}
}

static void
a_replay_stops_at_what_is_not_plain(void **state)
{
	struct pair *pair = pair_new(true, 64);
	struct vmlx4_port *port = &pair->card.adapter->ports[1];
	struct vmlx4_burst burst = { .count = 6 };
	uint8_t frames[6][LENGTH];
	unsigned int i;

	(void)state;
	make_replay(&burst, frames, 3);
	for (i = 0; i < RECV_BUFFERS; i++)
		card_post_recv(pair->rq, i, pair->card.arena + i * BUFFER, BUFFER);
	card_rq_record(pair->rq, 10);
	/* Nothing is known of the addresses. */
	assert_int_equal(take_plain(pair, &burst, 0), 0);
	for (i = 0; i < 6; i++)
		vmlx4_port_receive(port, frames[i], LENGTH);
	assert_int_equal(port->stats.rx_frames, 6);
	assert_int_equal(take_plain(pair, &burst, 0), 3);
	assert_int_equal(take_plain(pair, &burst, 3), 0);
	/* Of two more there is a WQE for one: that a frame finds none counts nowhere. */
	assert_int_equal(take_plain(pair, &burst, 4), 1);
	assert_int_equal(take_plain(pair, &burst, 5), 0);
	card_rq_record(pair->rq, 13);
	assert_int_equal(take_plain(pair, &burst, 5), 1);
	assert_int_equal(take_plain(pair, &burst, 0), 2);
	assert_int_equal(take_plain(pair, &burst, 2), 0);
	assert_int_equal(port->stats.rx_frames, 13);
	assert_int_equal(port->stats.rx_bytes, 13 * LENGTH);
	assert_int_equal(port->stats.rx_no_wqe, 0);
	assert_int_equal(pair->recv_cq->pi, 13);
	/* A new rule, and all that was known is forgotten. */
	card_rq_record(pair->rq, 20);
	vmlx4_destinations_forget(port);
	assert_int_equal(take_plain(pair, &burst, 0), 0);
	pair_free(pair);
}

/* An RSS QP that is not ready for packets gets none by the burst either. */
static void
a_burst_to_an_rss_qp_that_is_down(void **state)
{
	struct pair *pair = pair_new(true, 64);
	struct vmlx4_port *port = &pair->card.adapter->ports[1];
	struct vmlx4_table *table = calloc(1, sizeof(*table) + sizeof(table->wq[0]));
	struct vmlx4_burst burst = { .count = 6 };
	uint8_t frames[6][LENGTH];

	(void)state;
	assert_non_null(table);
	make_replay(&burst, frames, 6);
	table->size = 1;
	pair->rq->table = table; /* whose queue is not even looked at */
	pair->rq->state = IBV_QPS_INIT;
	vmlx4_port_receive_burst(port, &burst);
	vmlx4_port_receive_burst(port, &burst);
	assert_int_equal(port->stats.rx_dropped_by_rule, 12);
	assert_int_equal(port->stats.rx_frames, 0);
	assert_int_equal(pair->recv_cq->pi, 0);
	pair->rq->table = NULL;
	free(table);
	pair_free(pair);
}

/* That plain frames go the short way at all; what it costs is vmlx4-bench's matter. */
static unsigned int bursts;

static void
count_burst(struct vmlx4_wire *wire, const struct vmlx4_burst *burst)
{
	(void)wire;
	bursts += burst->count;
}

static void
plain_frames_go_by_the_burst(void **state)
{
	struct pair *pair = pair_new(true, 64);
	struct vmlx4_wire *wire = pair->card.adapter->ports[0].wire;
	struct vmlx4_wire_ops ops = *wire->ops;
	const struct vmlx4_wire_ops *before = wire->ops;
	unsigned int i;

	(void)state;
	ops.send_burst = count_burst;
	wire->ops = &ops;
	bursts = 0;
	for (i = 0; i < 100; i++)
		card_post(pair->sq, pair->posted++, 0x0e, pair->card.arena, 64);
	card_ring(&pair->card, pair->sq);
	assert_int_equal(bursts, 100);
	assert_int_equal(pair->send_cq->pi, 100);
	assert_int_equal(pair->card.adapter->ports[0].stats.tx_frames, 100);
	assert_int_equal(pair->card.adapter->ports[0].stats.tx_bytes, 6400);
	wire->ops = before;
	pair_free(pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_of_changed_frames),
		cmocka_unit_test(status_of_every_length),
		cmocka_unit_test(cards_agree),
		cmocka_unit_test(cards_agree_on_an_overrun),
		cmocka_unit_test(a_replay_stops_at_what_is_not_plain),
		cmocka_unit_test(a_burst_to_an_rss_qp_that_is_down),
		cmocka_unit_test(plain_frames_go_by_the_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
