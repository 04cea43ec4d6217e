/* SPDX-License-Identifier: BSD-3-Clause */

/* Receiving: pieces, steering, checksums, completion events, extended CQs. */

#include <poll.h>
#include <time.h>

#include <arpa/inet.h>

#include "raw_packet.h"

static void
receive_into_pieces(struct end *a, struct end *b)
{
	static const uint32_t cuts[] = { 1, 13, 200, 1800 };
	uint8_t want[1514], got[1514];
	unsigned int length;
	int i;

	for (length = 60; length <= 1514; length += 23) {
		struct ibv_sge send = {
			.addr = (uintptr_t)a->area, .length = length, .lkey = a->mr->lkey,
		}, sge[4];
		struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = sge, .num_sge = 4 }, *bad;
		struct ibv_wc wc;
		uint32_t at = 0;

		for (i = 0; i < 4; i++)
			sge[i] = (struct ibv_sge){ (uintptr_t)rx_slot(b, 10 + i), cuts[i],
				b->mr->lkey };
		memset(rx_slot(b, 10), 0xee, 4 * SLOT);
		CHECK_OK(ibv_post_recv(b->qp, &wr, &bad));
		fill(want, length, b, length);
		memcpy(a->area, want, length);
		post_send(a, &send, 1, IBV_SEND_SIGNALED);
		WAIT(a->send_cq, &wc, 1);
		WAIT(b->recv_cq, &wc, 1);
		CHECK_EQ(wc.byte_len, length);
		for (i = 0; i < 4 && at < length; at += cuts[i++])
			memcpy(got + at, rx_slot(b, 10 + i),
				cuts[i] < length - at ? cuts[i] : length - at);
		compare(__LINE__, got, wc.byte_len, want, length);
		/* Nothing behind the end of a piece. */
		CHECK_EQ(rx_slot(b, 10)[1], 0xee);
		CHECK_EQ(rx_slot(b, 11)[13], 0xee);
	}
}

static void
frames_without_a_receive_are_dropped(struct end *a, struct end *b)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 100, .lkey = a->mr->lkey };
	struct ibv_wc wc[8];
	int i;

	for (i = 0; i < 5; i++)
		post_recv(b, i);
	for (i = 0; i < 8; i++) {
		fill(a->area, 100, b, i);
		post_send(a, &sge, 1, IBV_SEND_SIGNALED);
		WAIT(a->send_cq, wc, 1);
	}
	WAIT(b->recv_cq, wc, 5);
	for (i = 0; i < 5; i++) {
		fill(a->area, 100, b, i);
		compare(__LINE__, rx_slot(b, wc[i].wr_id), wc[i].byte_len, a->area, 100);
	}
	for (i = 0; i < 100; i++)
		advance();
	CHECK_EQ(ibv_poll_cq(b->recv_cq, 1, wc), 0);
	ping(a, b);
}

static void
steering_by_address(struct end *a, struct end *b)
{
	static const uint8_t other[6] = { 0x02, 0, 0, 0, 0x77, 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 100, .lkey = a->mr->lkey };
	struct end stranger = *b;
	struct ibv_flow *flow;
	struct ibv_wc wc;
	int i;

	memcpy(stranger.mac, other, 6);
	fill(a->area, 100, &stranger, 1);
	post_recv(b, 3);
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	WAIT(a->send_cq, &wc, 1);
	for (i = 0; i < 100; i++)
		advance();
	CHECK_EQ(ibv_poll_cq(b->recv_cq, 1, &wc), 0);
	flow = steer(b, other);
	CHECK(flow != NULL);
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	EXPECT(a, b, a->area, 100);
	CHECK_OK(ibv_destroy_flow(flow));
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	WAIT(a->send_cq, &wc, 1);
	post_recv(b, 4);
	for (i = 0; i < 100; i++)
		advance();
	CHECK_EQ(ibv_poll_cq(b->recv_cq, 1, &wc), 0);
	to_reset(b);
	to_ready(b);
}

static uint32_t
sum16(const uint8_t *data, size_t length, uint32_t sum)
{
	size_t i;

	for (i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)data[i] << 8 | data[i + 1];
	if (length % 2 != 0)
		sum += (uint32_t)data[length - 1] << 8;
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The sums of the header and of the datagram with its pseudo-header. */
static void
check_sums(const uint8_t *frame, size_t length)
{
	uint32_t pseudo = 17 + (uint32_t)(length - 34);

	CHECK_EQ(sum16(frame + 14, 20, 0), 0xffff);
	CHECK_EQ(sum16(frame + 34, length - 34, sum16(frame + 26, 8, pseudo)), 0xffff);
}

static void
checksums_are_filled_in(struct end *a, struct end *b)
{
	unsigned int length;

	for (length = 60; length <= 1514; length += 31) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)a->area, .length = length, .lkey = a->mr->lkey,
		};
		uint8_t *frame = a->area;
		uint16_t word;
		struct ibv_wc wc;

		fill(frame, length, b, length);
		memcpy(frame + 12, (uint8_t[]){ 0x08, 0x00, 0x45, 0 }, 4);
		word = htons(length - 14);
		memcpy(frame + 16, &word, 2);
		memcpy(frame + 18, (uint8_t[]){ 0, 1, 0, 0, 64, 17, 0, 0 }, 8);
		word = htons(length - 34);
		memcpy(frame + 38, &word, 2);
		frame[40] = frame[41] = 0;
		post_recv(b, 0);
		post_send(a, &sge, 1, IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM);
		WAIT(a->send_cq, &wc, 1);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		WAIT(b->recv_cq, &wc, 1);
		CHECK_EQ(wc.byte_len, length);
		check_sums(rx_slot(b, 0), length);
		CHECK((wc.wc_flags & IBV_WC_IP_CSUM_OK) != 0);
		CHECK(memcmp(rx_slot(b, 0), frame, 24) == 0);
		CHECK(memcmp(rx_slot(b, 0) + 42, frame + 42, length - 42) == 0);
	}
}

static bool
channel_ready(struct end *end, int milliseconds)
{
	struct pollfd pfd = { .fd = end->channel->fd, .events = POLLIN };
	int tries;

	for (tries = 0; tries < 20; tries++)
		advance();
	return poll(&pfd, 1, milliseconds) == 1;
}

/* One event for each time the CQ was armed, whenever the frame comes. */
static void
completion_events(struct end *a, struct end *b)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 90, .lkey = a->mr->lkey };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	unsigned int i;

	for (i = 0; i < 500; i++) {
		fill(a->area, 90, b, i);
		post_recv(b, i);
		CHECK_OK(ibv_req_notify_cq(b->recv_cq, 0));
		if (i < 10)
			CHECK(!channel_ready(b, 5));
		post_send(a, &sge, 1, IBV_SEND_SIGNALED);
		CHECK(channel_ready(b, 2000));
		CHECK_OK(ibv_get_cq_event(b->channel, &cq, &context));
		CHECK(cq == b->recv_cq && context == b);
		ibv_ack_cq_events(cq, 1);
		EXPECT(a, b, a->area, 90);
		if (i % 100 == 0) {
			/* Not armed: silence. */
			ping(a, b);
			CHECK(!channel_ready(b, 5));
		}
	}
	/* A completion that is there already when the CQ is armed. */
	post_recv(b, 0);
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	WAIT(a->send_cq, &wc, 1);
	CHECK(!channel_ready(b, 5));
	CHECK_OK(ibv_req_notify_cq(b->recv_cq, 0));
	if (channel_ready(b, 100)) {
		CHECK_OK(ibv_get_cq_event(b->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
	WAIT(b->recv_cq, &wc, 1);
}

static void
extended_cq(struct end *a, struct end *b)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM |
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = b->send_cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 64, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	struct ibv_poll_cq_attr poll_attr = { 0 };
	struct end end = *b;
	struct ibv_cq_ex *cq;
	struct ibv_wc wc;
	uint64_t last = 0;
	unsigned int i;
	int ret;

	cq = ibv_create_cq_ex(b->ctx, &attr);
	CHECK(cq != NULL);
	init.recv_cq = ibv_cq_ex_to_cq(cq);
	end.qp = ibv_create_qp(b->pd, &init);
	CHECK(end.qp != NULL);
	end.mac[4] = 0x66;
	to_ready(&end);
	end.flow = steer(&end, end.mac);
	CHECK(end.flow != NULL);
	for (i = 0; i < 300; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 60 + i,
			.lkey = a->mr->lkey };
		time_t start = time(NULL);

		fill(a->area, 60 + i, &end, i);
		post_recv(&end, i);
		post_send(a, &sge, 1, IBV_SEND_SIGNALED);
		WAIT(a->send_cq, &wc, 1);
		while ((ret = ibv_start_poll(cq, &poll_attr)) == ENOENT) {
			advance();
			CHECK(time(NULL) < start + WAIT_SECONDS);
		}
		CHECK_OK(ret);
		CHECK_EQ(cq->status, IBV_WC_SUCCESS);
		CHECK_EQ(cq->wr_id, i);
		CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
		CHECK_EQ(ibv_wc_read_qp_num(cq), end.qp->qp_num);
		CHECK(ibv_wc_read_completion_ts(cq) > last);
		last = ibv_wc_read_completion_ts(cq);
		compare(__LINE__, rx_slot(b, i), ibv_wc_read_byte_len(cq), a->area, 60 + i);
		CHECK_EQ(ibv_next_poll(cq), ENOENT);
		ibv_end_poll(cq);
	}
	CHECK_OK(ibv_destroy_flow(end.flow));
	CHECK_OK(ibv_destroy_qp(end.qp));
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

const struct trial receive_trials[] = {
	{ "receive_into_pieces", receive_into_pieces, false },
	{ "frames_without_a_receive_are_dropped", frames_without_a_receive_are_dropped, false },
	{ "steering_by_address", steering_by_address, false },
	{ "checksums_are_filled_in", checksums_are_filled_in, false },
	{ "completion_events", completion_events, false },
	{ "extended_cq", extended_cq, false },
	{ NULL, NULL, false },
};
