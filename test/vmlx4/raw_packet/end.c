/* SPDX-License-Identifier: BSD-3-Clause */

/* One port as the program uses it. */

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "raw_packet.h"

void
fail(int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "raw_packet: %s, line %d: ", running, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void
advance(void)
{
	if (stepped)
		CHECK(step_adapter(0) >= 0);
	else
		sched_yield();
}

/* ---- frames ---- */

uint32_t
next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

void
fill(uint8_t *frame, size_t length, const struct end *to, uint32_t seed)
{
	uint32_t state = seed + 1;
	size_t i;

	memcpy(frame, to->mac, 6);
	memset(frame + 6, 0x02, 6);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	for (i = 14; i < length; i++)
		frame[i] = next_random(&state);
}

void
compare(int line, const uint8_t *got, size_t got_length, const uint8_t *want, size_t length)
{
	size_t i;

	if (got_length != length && !(length < 60 && got_length == 60))
		fail(line, "%zu B came, not %zu", got_length, length);
	for (i = 0; i < length; i++)
		if (got[i] != want[i])
			fail(line, "%zu B frame: byte %zu is 0x%02x, not 0x%02x", length, i,
				got[i], want[i]);
}

/* ---- set-up ---- */

void
to_ready(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = end->port };

	CHECK_OK(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	CHECK_OK(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	CHECK_OK(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE));
}

void
to_reset(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	CHECK_OK(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE));
}

struct ibv_flow *
steer(struct end *end, const uint8_t mac[6])
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = {
			.type = IBV_FLOW_ATTR_NORMAL,
			.size = sizeof(rule),
			.num_of_specs = 1,
			.port = end->port,
		},
		.eth = {
			.type = IBV_FLOW_SPEC_ETH,
			.size = sizeof(struct ibv_flow_spec_eth),
		},
	};

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	return ibv_create_flow(end->qp, &rule.attr);
}

void
open_end(struct end *end, struct ibv_device *device, uint8_t port)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = {
			.max_send_wr = SEND_WR, .max_recv_wr = RECV_WR,
			.max_send_sge = MAX_SGE, .max_recv_sge = 4,
			.max_inline_data = MAX_INLINE,
		},
	};

	end->port = port;
	memcpy(end->mac, (uint8_t[]){ 0x02, 0, 0, 0, 0, 0x10 + port }, 6);
	end->ctx = ibv_open_device(device);
	CHECK(end->ctx != NULL);
	end->pd = ibv_alloc_pd(end->ctx);
	CHECK(end->pd != NULL);
	CHECK_OK(posix_memalign((void **)&end->area, 4096, AREA));
	memset(end->area, 0xee, AREA);
	end->mr = ibv_reg_mr(end->pd, end->area, AREA, IBV_ACCESS_LOCAL_WRITE);
	CHECK(end->mr != NULL);
	end->channel = ibv_create_comp_channel(end->ctx);
	CHECK(end->channel != NULL);
	end->send_cq = ibv_create_cq(end->ctx, 2 * SEND_WR, NULL, end->channel, 0);
	end->recv_cq = ibv_create_cq(end->ctx, RECV_WR, end, end->channel, 0);
	CHECK(end->send_cq != NULL && end->recv_cq != NULL);
	init.send_cq = end->send_cq;
	init.recv_cq = end->recv_cq;
	end->qp = ibv_create_qp(end->pd, &init);
	CHECK(end->qp != NULL);
	CHECK(init.cap.max_inline_data >= MAX_INLINE);
	end->max_inline = init.cap.max_inline_data;
	to_ready(end);
	end->flow = steer(end, end->mac);
	CHECK(end->flow != NULL);
}

void
close_end(struct end *end)
{
	CHECK_OK(ibv_destroy_flow(end->flow));
	CHECK_OK(ibv_destroy_qp(end->qp));
	CHECK_OK(ibv_destroy_cq(end->send_cq));
	CHECK_OK(ibv_destroy_cq(end->recv_cq));
	CHECK_OK(ibv_destroy_comp_channel(end->channel));
	CHECK_OK(ibv_dereg_mr(end->mr));
	CHECK_OK(ibv_dealloc_pd(end->pd));
	CHECK_OK(ibv_close_device(end->ctx));
	free(end->area);
}

/* ---- work ---- */

void
wait_completions(int line, struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	time_t start = time(NULL);
	int have = 0, got;

	while (have < n) {
		got = ibv_poll_cq(cq, n - have, wc + have);
		if (got < 0)
			fail(line, "ibv_poll_cq returned %d", got);
		have += got;
		if (got == 0)
			advance();
		if (time(NULL) > start + WAIT_SECONDS)
			fail(line, "%d of %d completions within %d s", have, n, WAIT_SECONDS);
	}
}
uint8_t *
rx_slot(struct end *end, unsigned int slot)
{
	return end->area + RX_AT + slot % (RX_AT / SLOT) * SLOT;
}

void
post_recv(struct end *end, unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rx_slot(end, slot), .length = SLOT, .lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_recv(end->qp, &wr, &bad));
}

void
post_send(struct end *end, struct ibv_sge *sge, int n, unsigned int flags)
{
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = sge, .num_sge = n, .opcode = IBV_WR_SEND,
		.send_flags = flags,
	}, *bad;

	CHECK_OK(ibv_post_send(end->qp, &wr, &bad));
}

void
expect_frame(int line, struct end *a, struct end *b, const uint8_t *frame, size_t length)
{
	struct ibv_wc wc;

	wait_completions(line, a->send_cq, &wc, 1);
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_SEND)
		fail(line, "send: status %d (%s), opcode %d", wc.status,
			ibv_wc_status_str(wc.status), wc.opcode);
	if (wc.wr_id != 7 || wc.qp_num != a->qp->qp_num)
		fail(line, "send completion of another work request");
	wait_completions(line, b->recv_cq, &wc, 1);
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV)
		fail(line, "receive: status %d (%s), opcode %d", wc.status,
			ibv_wc_status_str(wc.status), wc.opcode);
	compare(line, rx_slot(b, wc.wr_id), wc.byte_len, frame, length);
}
void
ping(struct end *a, struct end *b)
{
	static uint32_t seed = 9000;
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 200, .lkey = a->mr->lkey };

	fill(a->area, 200, b, seed++);
	post_recv(b, seed);
	post_send(a, &sge, 1, IBV_SEND_SIGNALED);
	EXPECT(a, b, a->area, 200);
}
