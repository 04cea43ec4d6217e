/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw Ethernet without DPDK: numbered frames out of one port, checked at another. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dvq.h>

#include <frames.h>
#include <program.h>
#include <raw.h>
#include <verbs.h>

#define RING 512          /* frames in flight, and buffers, of an end */
#define BURST 32          /* frames per doorbell */
#define SLOT 2048u        /* bytes of a buffer */
#define PATIENCE 5.0      /* seconds in which something has to move */
#define FIRST_FRAME 30.0  /* seconds that a lone sink waits for a sender */

const char program[] = "dvq_raw";

static struct {
	const char *device;
	uint64_t packets, size, port;
} opt = { .packets = 1000000, .size = 64 };

/* A sender or a sink. Port 0: not wanted. */
struct end {
	struct raw raw;   /* the verbs objects */
	struct dvq_cq cq;
	struct dvq_sq sq; /* a sender's */
	struct dvq_rq rq; /* a sink's */
	uint64_t next;    /* number of the next frame */
	uint64_t count;   /* frames sent or received */
};

/* The buffer of the WQE with this running index. */
static uint8_t *
slot_of(const struct end *end, uint32_t index)
{
	return end->raw.memory.bytes + index % RING * SLOT;
}

static void
open_sender(struct end *end, struct ibv_context *ctx)
{
	struct dvq_open_request req = { .sq = &end->sq, .cq = &end->cq };

	raw_create_sender(&end->raw, ctx, RING, SLOT);
	req.qp = end->raw.qp;
	req.ibv_cq = end->raw.cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", req.error);
	dvq_sq_init(&end->sq);
}

static void
post_buffer(struct end *end)
{
	struct dvq_sge sge = { .addr = (uintptr_t)slot_of(end, end->rq.pi),
		.lkey = end->raw.memory.mr->lkey, .len = SLOT };

	dvq_rq_post(&end->rq, &sge, 1);
}

static void
open_sink(struct end *end, struct ibv_context *ctx)
{
	struct dvq_open_request req = { .rq = &end->rq, .cq = &end->cq };
	int i;

	raw_create_sink(&end->raw, ctx, RING, SLOT);
	req.wq = end->raw.wq;
	req.ibv_cq = end->raw.cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", req.error);
	for (i = 0; i < RING; i++)
		post_buffer(end);
	dvq_rq_publish(&end->rq);
	raw_create_rule(&end->raw, frame_mac); /* the last step: frames come from here on */
}

/* ---- the data path: no verbs from here on ---- */

static const struct dvq_cqe *
next_cqe(struct end *end)
{
	const struct dvq_cqe *cqe = dvq_cq_poll(&end->cq);

	if (cqe != NULL && dvq_cqe_is_error(cqe))
		die(1, "port %u: error CQE of WQE %u: %s (vendor 0x%02x)", end->raw.port,
		    dvq_cqe_wqe_index(cqe), dvq_syndrome_str(dvq_cqe_syndrome(cqe)),
		    dvq_cqe_vendor_err(cqe));
	return cqe;
}

/* Take back what a CQE completes: it stands for all WQEs up to its own. */
static int
reap(struct end *end)
{
	const struct dvq_cqe *cqe = next_cqe(end);
	int n;

	if (cqe == NULL)
		return 0;
	n = dvq_sq_complete(&end->sq, dvq_cqe_wqe_index(cqe));
	if (n < 0)
		die(1, "a CQE of WQE %u, which is not in flight", dvq_cqe_wqe_index(cqe));
	end->count += (uint64_t)n;
	dvq_cq_update_ci(&end->cq);
	return n;
}

/* One burst of the frames below number @limit, when ring and buffers have room. */
static int
send_burst(struct end *end, uint64_t limit)
{
	uint64_t left = limit - end->next;
	uint32_t n = left < BURST ? (uint32_t)left : BURST, i;
	uint32_t lkey_be = htobe32(end->raw.memory.mr->lkey);
	struct dvq_sq *sq = &end->sq;
	uint8_t *frame;

	if (n == 0 || dvq_sq_room(sq) < n || RING - (sq->pi - sq->ci) < n)
		return 0;
	for (i = 1; i <= n; i++) {
		frame = slot_of(end, sq->pi); /* a frame takes one block */
		make_frame(frame, end->next++, opt.size);
		dvq_seg_set(dvq_sq_block_segs(sq), (uintptr_t)frame, lkey_be,
			    (uint32_t)opt.size);
		dvq_sq_post_block(sq, 1, DVQ_OP_SEND, 0, i == n ? DVQ_CTRL_CQE : 0, NULL);
	}
	dvq_sq_ring(sq);
	return (int)n;
}

static void
count_frame(struct end *end, uint64_t number)
{
	if (number < end->next || number >= opt.packets)
		die(1, "frame %" PRIu64 " came, %" PRIu64 " or later was due, below %" PRIu64,
		    number, end->next, opt.packets);
	end->next = number + 1; /* a gap stays missing in end->count */
	end->count++;
}

static int
receive_burst(struct end *end)
{
	const struct dvq_cqe *cqe;
	int n;

	for (n = 0; n < BURST && (cqe = next_cqe(end)) != NULL; n++) {
		/* WQEs complete in order: the frame is in the oldest buffer. */
		count_frame(end, check_frame(slot_of(end, end->rq.ci), dvq_cqe_byte_cnt(cqe),
					     opt.size));
		end->rq.ci++;
		post_buffer(end);
	}
	if (n != 0) {
		dvq_rq_publish(&end->rq);
		dvq_cq_update_ci(&end->cq);
	}
	return n;
}

/* Until all is done or nothing moves any more; returns the seconds that it took. */
static double
run(struct end *sender, struct end *sink)
{
	double start = 0, last = now(), seen = last;
	uint64_t limit = opt.packets;
	int moved;

	while ((sender->raw.port != 0 && sender->count < opt.packets) ||
	       (sink->raw.port != 0 && sink->next < opt.packets)) {
		moved = 0;
		/* Ahead of a sink in the same thread by no more than its buffers. */
		if (sink->raw.port != 0)
			limit = opt.packets - sink->next < RING ? opt.packets : sink->next + RING;
		if (sender->raw.port != 0)
			moved += reap(sender) + send_burst(sender, limit);
		if (sink->raw.port != 0)
			moved += receive_burst(sink);
		if (moved != 0 && start == 0)
			start = seen;
		seen = now();
		if (moved != 0)
			last = seen;
		else if (seen - last >
			 (start != 0 || sender->raw.port != 0 ? PATIENCE : FIRST_FRAME))
			break;
	}
	return start != 0 ? last - start : 0;
}

/* ---- start and end ---- */

static const struct option_entry options[] = {
	{ 'd', &opt.device, NULL, 0, 0 },
	{ 'p', NULL, &opt.port, 1, 2 },
	{ 'n', NULL, &opt.packets, 1, UINT64_MAX / 2 },
	{ 's', NULL, &opt.size, FRAME_MIN, FRAME_MAX },
	{ 0 },
};

static void
parse(int argc, char **argv, struct end *sender, struct end *sink)
{
	static const char usage[] = "usage: dvq_raw send|sink|both [-d mlx4_0] [-p port] "
		"[-n packets] [-s bytes]";
	const char *mode = argc > 1 ? argv[1] : "";
	int both = strcmp(mode, "both") == 0;

	if (argc > 1)
		parse_options(argc - 1, argv + 1, options, usage);
	if (both && opt.port != 0)
		die(2, "-p %" PRIu64 ": 'both' always sends on port 1 and sinks on port 2",
		    opt.port);
	if (both || strcmp(mode, "send") == 0)
		sender->raw.port = opt.port != 0 ? (uint8_t)opt.port : 1;
	else if (strcmp(mode, "sink") != 0)
		die(2, "'%s' is neither send, sink nor both; %s", mode, usage);
	if (both)
		sink->raw.port = 2;
	else if (sender->raw.port == 0)
		sink->raw.port = opt.port != 0 ? (uint8_t)opt.port : 1;
}

/* Whether all packets of this end came through. */
static int
report(const struct end *end, const char *what, double seconds)
{
	printf("port %u: %s %" PRIu64 " packets of %" PRIu64 " bytes, %" PRIu64 " missing, "
	       "%.3f Mpps\n", end->raw.port, what, end->count, opt.size, opt.packets - end->count,
	       seconds > 0 ? (double)end->count / seconds * 1e-6 : 0.0);
	return end->count == opt.packets;
}

int
main(int argc, char **argv)
{
	struct end sender = { 0 }, sink = { 0 };
	struct ibv_context *ctx;
	double seconds;
	int good = 1;

	parse(argc, argv, &sender, &sink);
	ctx = open_device(opt.device, sink.raw.port != 0 ? sink.raw.port : sender.raw.port);
	if (sink.raw.port != 0)
		open_sink(&sink, ctx);
	if (sender.raw.port != 0)
		open_sender(&sender, ctx);
	seconds = run(&sender, &sink);
	if (sender.raw.port != 0) {
		good &= report(&sender, "sent", seconds);
		raw_destroy(&sender.raw);
	}
	if (sink.raw.port != 0) {
		good &= report(&sink, "received", seconds);
		raw_destroy(&sink.raw);
	}
	must0(ibv_close_device(ctx), "ibv_close_device");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
