/* SPDX-License-Identifier: BSD-3-Clause */

/* A message there and back over a reliable connection, again and again; how long it takes. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dvq.h>

#include <meet.h>
#include <messages.h>
#include <program.h>
#include <rc.h>
#include <verbs.h>

#define RING 16           /* messages in flight, at most: one is, here */
#define SLOT 4096u        /* bytes of a buffer */
#define PATIENCE 10.0     /* seconds in which an answer has to come */

const char program[] = "dvq_ping";

static struct {
	const char *device;
	uint64_t rounds, size, port;
} opt = { .rounds = 10000, .size = 64, .port = 1 };

/* One side: a buffer to send from, and one to receive into. */
struct side {
	struct memory memory;
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;
	struct dvq_sendq sq;
	struct dvq_rq rq;
	struct dvq_cq cq;
};

static void
post_receive(struct side *side)
{
	struct dvq_sge sge = { .addr = (uintptr_t)side->memory.bytes + SLOT,
		.lkey = side->memory.mr->lkey, .len = SLOT };

	if (dvq_post_recv(&side->rq, &sge, 1) != 0)
		die(1, "the receive queue is full");
	dvq_rq_publish(&side->rq);
}

static void
open_side(struct side *side, struct ibv_context *ctx)
{
	struct dvq_open_request req = { .sendq = &side->sq, .qp_rq = &side->rq, .cq = &side->cq };

	memory_open(&side->memory, ctx, 2 * SLOT);
	side->ibv_cq = create_cq(ctx, 2 * RING);
	side->qp = create_rc(side->memory.pd, side->ibv_cq, RING);
	req.qp = side->qp;
	req.ibv_cq = side->ibv_cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", req.error);
}

static void
close_side(struct side *side)
{
	must0(ibv_destroy_qp(side->qp), "ibv_destroy_qp");
	must0(ibv_destroy_cq(side->ibv_cq), "ibv_destroy_cq");
	memory_close(&side->memory);
}

/* ---- the data path: no verbs from here on ---- */

static void
send_message(struct side *side, uint64_t round)
{
	struct dvq_sge sge = { .addr = (uintptr_t)side->memory.bytes,
		.lkey = side->memory.mr->lkey, .len = (uint32_t)opt.size };

	fill_message(side->memory.bytes, opt.size, round);
	if (dvq_post_send(&side->sq, &sge, 1, DVQ_CTRL_CQE) != 0)
		die(1, "the send queue is full");
	dvq_sendq_ring(&side->sq);
}

static void
take(struct side *side, const struct dvq_wc *wc, uint64_t round)
{
	if (wc->status != IBV_WC_SUCCESS)
		die(1, "%s (vendor 0x%02x)", ibv_wc_status_str(wc->status), wc->vendor_err);
	if ((wc->flags & DVQ_WC_SEND) != 0) {
		dvq_sendq_complete(&side->sq, wc->wqe_index);
		return;
	}
	dvq_rq_complete(&side->rq);
	check_message(side->memory.bytes + SLOT, wc->byte_len, opt.size, round);
	post_receive(side);
}

/*
 * Until the message is here, and what was sent before has completed: its buffer is the
 * adapter's until then, and an answer may well be faster than the acknowledgement.
 */
static void
wait_for_message(struct side *side, uint64_t round)
{
	double patience = now() + PATIENCE;
	uint32_t received = side->rq.ci;
	struct dvq_wc wc;

	while (side->rq.ci == received || side->sq.ci != side->sq.pi) {
		if (dvq_cq_poll_batch(&side->cq, &wc, 1) != 0)
			take(side, &wc, round);
		else if (now() > patience)
			die(1, "no answer to message %" PRIu64, round);
	}
}

/* The side that begins, or with NULL for one of them only the other one. */
static void
play(struct side *client, struct side *server)
{
	double start = now(), took;
	uint64_t round;

	for (round = 0; round < opt.rounds; round++) {
		if (client != NULL)
			send_message(client, round);
		if (server != NULL) {
			wait_for_message(server, round);
			send_message(server, round);
		}
		if (client != NULL)
			wait_for_message(client, round);
	}
	took = now() - start;
	if (client != NULL)
		printf("%" PRIu64 " messages of %" PRIu64 " bytes there and back, %.2f us each\n",
		       opt.rounds, opt.size, took * 1e6 / (double)opt.rounds);
}

/* ---- start and end ---- */

static void
one_process(struct side *a, struct ibv_context *ctx)
{
	struct side b;

	open_side(&b, ctx);
	connect_pair(a->qp, b.qp, opt.port);
	post_receive(a);
	post_receive(&b);
	play(a, &b);
	close_side(&b);
}

static void
two_processes(struct side *side, const char *path, int serving)
{
	int fd = meet(path, serving);

	connect_over(fd, side->qp, opt.port);
	post_receive(side);
	/* Neither sends before the other one can receive, nor leaves before it has. */
	wait_for_peer(fd);
	play(serving ? NULL : side, serving ? side : NULL);
	wait_for_peer(fd);
	close(fd);
}

static const struct option_entry options[] = {
	{ 'd', &opt.device, NULL, 0, 0 },
	{ 'p', NULL, &opt.port, 1, 2 },
	{ 'n', NULL, &opt.rounds, 1, 1000000000 },
	{ 's', NULL, &opt.size, 1, SLOT },
	{ 0 },
};

int
main(int argc, char **argv)
{
	static const char usage[] = "usage: dvq_ping both | server SOCKET | client SOCKET "
		"[-d mlx4_0] [-p port] [-n rounds] [-s bytes]";
	const char *mode = argc > 1 ? argv[1] : "";
	int both = strcmp(mode, "both") == 0, serving = strcmp(mode, "server") == 0;
	int words = both ? 1 : 2; /* before the options */
	struct ibv_context *ctx;
	struct side side;

	if (argc <= words || (!both && !serving && strcmp(mode, "client") != 0))
		die(2, "%s", usage);
	parse_options(argc - words, argv + words, options, usage);
	ctx = open_device(opt.device, opt.port);
	open_side(&side, ctx);
	if (both)
		one_process(&side, ctx);
	else
		two_processes(&side, argv[2], serving);
	close_side(&side);
	must0(ibv_close_device(ctx), "ibv_close_device");
	return 0;
}
