/* SPDX-License-Identifier: BSD-3-Clause */

/* Sending: sizes, pieces, inline data with and without BlueFlame, a stream. */

#include "raw_packet.h"

static void
send_of_every_size(struct end *a, struct end *b)
{
	unsigned int length;

	for (length = 14; length <= 1514; length++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)a->area, .length = length, .lkey = a->mr->lkey,
		};

		fill(a->area, length, b, length);
		post_recv(b, length);
		post_send(a, &sge, 1, IBV_SEND_SIGNALED);
		EXPECT(a, b, a->area, length);
	}
}

/* Pieces from all over the region, empty ones among them. */
static void
send_of_many_pieces(struct end *a, struct end *b)
{
	uint8_t want[1514];
	uint32_t state = 77;
	unsigned int round;
	int n, i;

	for (round = 0; round < 40; round++)
		for (n = 1; n <= MAX_SGE; n++) {
			struct ibv_sge sge[MAX_SGE];
			size_t length = 0;

			for (i = 0; i < n; i++) {
				unsigned int part = next_random(&state) % (1400 / n);

				if (i > 0 && next_random(&state) % 4 == 0)
					part = 0;
				if (i == 0)
					part += 60;
				sge[i].addr = (uintptr_t)a->area + 4096u * i + round;
				sge[i].length = part;
				sge[i].lkey = a->mr->lkey;
				length += part;
			}
			fill(want, length, b, round * 100 + n);
			for (i = 0, length = 0; i < n; length += sge[i++].length)
				memcpy((void *)(uintptr_t)sge[i].addr, want + length,
					sge[i].length);
			post_recv(b, n);
			post_send(a, sge, n, IBV_SEND_SIGNALED);
			EXPECT(a, b, want, length);
		}
}

/* A single one may go by BlueFlame, two in one list never do. */
static void
send_inline(struct end *a, struct end *b)
{
	uint8_t frames[2][MAX_INLINE];
	struct ibv_wc wc[2];
	unsigned int length;
	int i;

	/* Shorter ones the card does not take inline. */
	for (length = 17; length <= MAX_INLINE; length++) {
		struct ibv_sge sge[2][2];
		struct ibv_send_wr wr[2], *bad;

		memset(wr, 0, sizeof(wr));
		for (i = 0; i < 2; i++) {
			fill(frames[i], length, b, 2 * length + i);
			sge[i][0] = (struct ibv_sge){ (uintptr_t)frames[i], 14 - i, 0 };
			sge[i][1] = (struct ibv_sge){ (uintptr_t)frames[i] + 14 - i,
				length - 14 + i, 0 };
			wr[i].wr_id = 7;
			wr[i].sg_list = sge[i];
			wr[i].num_sge = 2;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		}
		post_recv(b, 0);
		CHECK_OK(ibv_post_send(a->qp, &wr[0], &bad));
		/* Taken at post time: what happens to the buffer now is nobody's business. */
		memset(frames[0], 0, length);
		fill(a->area, length, b, 2 * length);
		EXPECT(a, b, a->area, length);
		fill(frames[0], length, b, 2 * length);
		wr[0].next = &wr[1];
		post_recv(b, 0);
		post_recv(b, 1);
		CHECK_OK(ibv_post_send(a->qp, &wr[0], &bad));
		WAIT(a->send_cq, wc, 2);
		WAIT(b->recv_cq, wc, 2);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
			compare(__LINE__, rx_slot(b, wc[i].wr_id), wc[i].byte_len, frames[i],
				length);
		}
	}
}

static void
inline_beyond_the_limit_is_refused(struct end *a, struct end *b)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = a->max_inline + 1 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	}, *bad = NULL;

	fill(a->area, sge.length, b, 1);
	CHECK(ibv_post_send(a->qp, &wr, &bad) != 0);
	CHECK(bad == &wr);
	ping(a, b);
}

/* Many rounds of both rings, one completion for sixteen sends. */
static void
stream(struct end *a, struct end *b)
{
	uint8_t want[1514];
	struct ibv_wc wc[64];
	unsigned int sent = 0, seen = 0, completions = 0, i;
	int got, j;

	for (i = 0; i < 128; i++)
		post_recv(b, i);
	while (seen < 20000) {
		/* Neither ring is full, and the frame's last use is completed. */
		while (sent < 20000 && sent - seen < 32 && sent < 16 * completions + 64) {
			uint8_t *frame = a->area + sent % 64 * SLOT;
			struct ibv_sge sge = {
				.addr = (uintptr_t)frame, .length = 60 + sent * 7 % 1455,
				.lkey = a->mr->lkey,
			};

			fill(frame, sge.length, b, sent);
			post_send(a, &sge, 1, sent % 16 == 15 ? IBV_SEND_SIGNALED : 0);
			sent++;
		}
		advance();
		got = ibv_poll_cq(a->send_cq, 64, wc);
		CHECK(got >= 0);
		completions += got;
		for (j = 0; j < got; j++)
			CHECK_EQ(wc[j].status, IBV_WC_SUCCESS);
		got = ibv_poll_cq(b->recv_cq, 64, wc);
		CHECK(got >= 0);
		for (j = 0; j < got; j++, seen++) {
			CHECK_EQ(wc[j].status, IBV_WC_SUCCESS);
			fill(want, 60 + seen * 7 % 1455, b, seen);
			compare(__LINE__, rx_slot(b, wc[j].wr_id), wc[j].byte_len, want,
				60 + seen * 7 % 1455);
			post_recv(b, seen + 128);
		}
	}
	WAIT(a->send_cq, wc, 20000 / 16 - completions);
	/* Take back what is posted. */
	to_reset(b);
	to_ready(b);
}

const struct trial send_trials[] = {
	{ "send_of_every_size", send_of_every_size, false },
	{ "send_of_many_pieces", send_of_many_pieces, false },
	{ "send_inline", send_inline, false },
	{ "inline_beyond_the_limit_is_refused", inline_beyond_the_limit_is_refused, false },
	{ "stream", stream, false },
	{ NULL, NULL, false },
};
