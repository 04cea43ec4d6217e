/* SPDX-License-Identifier: BSD-3-Clause */

/* A message there and back over a reliable connection, again and again; how long it takes. */

#include <err.h>
#include <stdio.h>

#include <dvq.h>

#include <meet.h>
#include <messages.h>
#include <options.h>
#include <rc.h>
#include <watch.h>

#define RING 16u          /* messages in flight, at most: one is, here */
#define SLOT 4096u        /* bytes of a buffer */
#define PATIENCE 10.0     /* seconds in which an answer has to come */

enum { BOTH = 1, SERVER, CLIENT };

static struct options opt = {
	.about = "A message there and back over a reliable connection, again and again.",
	.modes = { "both", "server SOCKET", "client SOCKET" },
	.port = { 1, 1, 2 },             /* if not told; least, most */
	.count = { 10000, 1, 1000000000 },
	.size = { 64, 1, SLOT },
};

/* An end of the connection. It has a slot to send from, and behind it one to receive into. */
struct side {
	struct rc rc;             /* the verbs objects, and the memory */
	struct dvq_sendq sq;
	struct dvq_rq rq;
	struct dvq_cq cq;
};

static void
post_receive(struct side *side)
{
	struct dvq_sge sge = { .addr = (uintptr_t)side->rc.memory.bytes + SLOT,
		.lkey = side->rc.memory.mr->lkey, .len = SLOT };

	if (dvq_post_recv(&side->rq, &sge, 1) != 0)
		errx(1, "the receive queue is full");
	dvq_rq_publish(&side->rq);
}

static void
open_side(struct side *side, struct ibv_context *ctx)
{
	struct dvq_open_request req = { .sendq = &side->sq, .qp_rq = &side->rq, .cq = &side->cq };

	rc_create(&side->rc, ctx, opt.port.value, RING, 2 * SLOT);
	req.qp = side->rc.qp;
	req.ibv_cq = side->rc.cq;
	if (dvq_open(&req) != 0)
		errx(1, "%s", req.error);
	post_receive(side); /* before the QP is connected: the peer may send from then on */
}

/* ---- the data path: no verbs from here on ---- */

static void
send_message(struct side *side, unsigned long round)
{
	struct dvq_sge sge = { .addr = (uintptr_t)side->rc.memory.bytes,
		.lkey = side->rc.memory.mr->lkey, .len = (uint32_t)opt.size.value };

	fill_message(side->rc.memory.bytes, opt.size.value, round);
	if (dvq_post_send(&side->sq, &sge, 1, DVQ_CTRL_CQE) != 0)
		errx(1, "the send queue is full");
	dvq_sendq_ring(&side->sq);
}

static void
take(struct side *side, const struct dvq_wc *wc, unsigned long round)
{
	if (wc->status != IBV_WC_SUCCESS)
		errx(1, "%s (vendor 0x%02x)", ibv_wc_status_str(wc->status), wc->vendor_err);
	if ((wc->flags & DVQ_WC_SEND) != 0) {
		if (dvq_sendq_complete(&side->sq, wc->wqe_index) < 0)
			errx(1, "a completion of WQE %u, which is not in flight", wc->wqe_index);
		return;
	}
	dvq_rq_complete(&side->rq);
	check_message(side->rc.memory.bytes + SLOT, wc->byte_len, opt.size.value, round);
	post_receive(side);
}

/*
 * Until the message is here, and what was sent before has completed: its buffer is the
 * adapter's until then, and an answer may well be faster than the acknowledgement.
 */
static void
wait_for_message(struct side *side, unsigned long round)
{
	struct watch watch = watch_start(PATIENCE, PATIENCE);
	uint32_t received = side->rq.ci, n;
	struct dvq_wc wc;

	while (side->rq.ci == received || side->sq.ci != side->sq.pi) {
		n = dvq_cq_poll_batch(&side->cq, &wc, 1);
		if (n != 0)
			take(side, &wc, round);
		if (!watch_goes_on(&watch, n != 0))
			errx(1, "no answer to message %lu", round);
	}
}

/* Both ends, or with NULL for the other one only the end of this process. */
static void
play(struct side *client, struct side *server)
{
	double start = now();
	unsigned long round;

	for (round = 0; round < opt.count.value; round++) {
		if (client != NULL)
			send_message(client, round);
		if (server != NULL) {
			wait_for_message(server, round);
			send_message(server, round);
		}
		if (client != NULL)
			wait_for_message(client, round);
	}
	if (client != NULL)
		printf("%lu messages of %lu bytes there and back, %.2f us each\n", opt.count.value,
		       opt.size.value, (now() - start) * 1e6 / (double)opt.count.value);
}

int
main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct side side, other;
	int socket;

	parse_options(&opt, argc, argv);
	ctx = open_device(opt.device, opt.port.value);
	open_side(&side, ctx);
	if (opt.mode == BOTH) {
		open_side(&other, ctx);
		connect_pair(side.rc.qp, other.rc.qp, opt.port.value);
		play(&side, &other);
		rc_destroy(&other.rc);
	} else {
		socket = connect_processes(opt.second, opt.mode == SERVER, side.rc.qp,
			opt.port.value);
		play(opt.mode == CLIENT ? &side : NULL, opt.mode == SERVER ? &side : NULL);
		part(socket); /* not before the other one has received all */
	}
	rc_destroy(&side.rc);
	close_device(ctx);
	return 0;
}
