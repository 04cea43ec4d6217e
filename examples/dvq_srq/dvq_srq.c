/* SPDX-License-Identifier: BSD-3-Clause */

/* Many connections that share one receive queue: buffers for all, used by who needs them. */

#include <err.h>
#include <stdio.h>
#include <string.h>

#include <dvq.h>

#include <options.h>
#include <srq.h>
#include <watch.h>

#define WINDOW 16u        /* messages in flight of a connection */
#define BUFFERS 255u      /* of the SRQ, for all connections together */
#define SLOT 256u         /* bytes of one */
#define BATCH 16u         /* completions taken together */
#define PATIENCE 10.0     /* seconds in which something has to come */

static struct options opt = {
	.about = "Numbered messages of many connections into the buffers of one SRQ.",
	.count = { 100000, 1, UINT32_MAX }, /* if not told; least, most */
	.qps = { 16, 1, PAIRS_MAX },
};

struct message {
	uint32_t from, number;    /* of the connection, and of its messages from 0 on */
};

static struct shared shared;      /* the verbs objects, and the buffers */
static struct dvq_srq srq;
static struct dvq_cq cq;
/* Both ends are ours: one sends, the other one receives and has no queue of its own. */
static struct connection {
	struct dvq_sendq sq;
	uint32_t sent, received;
} connections[PAIRS_MAX];
static unsigned long received;    /* of all connections */

/* Post all that are free. Which one is next is known: its number is that of its buffer. */
static void
post_buffers(void)
{
	struct dvq_sge sge = { .lkey = shared.memory.mr->lkey, .len = SLOT };

	while (dvq_srq_room(&srq) != 0) {
		sge.addr = (uintptr_t)shared.memory.bytes + srq.head * SLOT;
		dvq_srq_post(&srq, &sge, 1);
	}
	dvq_srq_publish(&srq);
}

static void
open_queues(struct ibv_context *ctx)
{
	struct dvq_open_request common = { .srq = &srq, .cq = &cq }, req;
	uint32_t i;

	shared_create(&shared, ctx, (uint32_t)opt.qps.value, WINDOW, BUFFERS, SLOT);
	common.ibv_srq = shared.srq;
	common.ibv_cq = shared.cq;
	if (dvq_open(&common) != 0)
		errx(1, "%s", common.error);
	for (i = 0; i < shared.pairs; i++) {
		req = (struct dvq_open_request){ .qp = shared.pair[i].sender,
			.sendq = &connections[i].sq };
		if (dvq_open(&req) != 0)
			errx(1, "%s", req.error);
	}
	post_buffers();
}

/* ---- the data path: no verbs from here on ---- */

/* A message of each connection that has one and may send it; returns how many these were. */
static uint32_t
send_some(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < shared.pairs; i++) {
		struct connection *c = &connections[i];
		struct message message = { .from = i, .number = c->sent };

		/* No more than the CQ has room for: it must never overrun. */
		if ((unsigned long)c->sent * shared.pairs + i >= opt.count.value ||
		    c->sq.pi - c->sq.ci == WINDOW)
			continue;
		/* It fits into the WQE, and needs no buffer of its own. */
		if (dvq_post_send_inline(&c->sq, &message, sizeof(message), DVQ_CTRL_CQE) != 0)
			errx(1, "the send queue of connection %u is full", i);
		dvq_sendq_ring(&c->sq);
		c->sent++;
		n++;
	}
	return n;
}

static void
take_send(const struct dvq_wc *wc)
{
	struct connection *c = &connections[shared_pair_of(&shared, wc->qpn)];

	if (dvq_sendq_complete(&c->sq, wc->wqe_index) < 0)
		errx(1, "a completion of WQE %u, which is not in flight", wc->wqe_index);
}

/* WQEs come back in whatever order the connections have used them. */
static void
take_message(const struct dvq_wc *wc)
{
	struct message message;

	if (dvq_srq_complete(&srq, wc->wqe_index) != 0)
		errx(1, "a completion of WQE %u, which the SRQ has not", wc->wqe_index);
	memcpy(&message, shared.memory.bytes + wc->wqe_index * SLOT, sizeof(message));
	if (wc->byte_len != sizeof(message) || message.from >= shared.pairs ||
	    message.number != connections[message.from].received++)
		errx(1, "message %u of connection %u came out of order", message.number,
		     message.from);
	received++;
}

/* Returns how many completions there were. */
static uint32_t
poll_all(void)
{
	struct dvq_wc wc[BATCH];
	uint32_t n = dvq_cq_poll_batch(&cq, wc, BATCH), i;

	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			errx(1, "QP 0x%06x: %s (vendor 0x%02x)", wc[i].qpn,
			     ibv_wc_status_str(wc[i].status), wc[i].vendor_err);
		if ((wc[i].flags & DVQ_WC_SEND) != 0)
			take_send(&wc[i]);
		else
			take_message(&wc[i]);
	}
	if (n != 0)
		post_buffers();
	return n;
}

int
main(int argc, char **argv)
{
	struct watch watch;
	struct ibv_context *ctx;

	parse_options(&opt, argc, argv);
	ctx = open_device(opt.device, 1);
	open_queues(ctx);
	watch = watch_start(PATIENCE, PATIENCE);
	while (received < opt.count.value)
		if (!watch_goes_on(&watch, send_some() + poll_all() != 0))
			errx(1, "%lu of %lu messages came", received, opt.count.value);
	printf("%lu messages over %lu connections, %u buffers, %.0f a second\n", received,
	       opt.qps.value, BUFFERS, (double)received / watch_seconds(&watch));
	shared_destroy(&shared);
	close_device(ctx);
	return 0;
}
