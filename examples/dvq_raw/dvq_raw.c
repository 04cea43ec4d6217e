/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw Ethernet without DPDK: numbered frames out of one port, checked at another. */

#include <err.h>
#include <limits.h>

#include <dvq.h>

#include <frames.h>
#include <options.h>
#include <raw.h>
#include <watch.h>

#define RING 512u         /* frames in flight, and buffers to receive into */
#define BURST 32u         /* frames per doorbell */
#define SLOT 2048u        /* bytes of a buffer */
#define PATIENCE 5.0      /* seconds in which something has to move */
#define FIRST_FRAME 30.0  /* seconds that a sink waits for a sender */

enum { SEND = 1, SINK, BOTH };

static struct options opt = {
	.about = "Numbered Ethernet frames out of a port, and checked at one.",
	.modes = { "send", "sink", "both" },
	.port = { 1, 1, 2 },      /* if not told; least, most */
	.count = { 1000000, 1, LONG_MAX },
	.size = { 64, FRAME_MIN, FRAME_MAX },
};

static struct raw raw;            /* the verbs objects, and a buffer for each WQE */
static struct dvq_cq cq;          /* of both queues */
static struct dvq_sq sq;
static struct dvq_rq rq;
static struct frames sent, received;

/* Post all that the adapter has not. */
static void
post_buffers(void)
{
	struct dvq_sge sge = { .lkey = raw.memory.mr->lkey, .len = SLOT };

	while (rq.pi - rq.ci < RING) {
		sge.addr = (uintptr_t)raw_sink_slot(&raw, rq.pi);
		dvq_rq_post(&rq, &sge, 1);
	}
	dvq_rq_publish(&rq);
}

static void
open_queues(struct ibv_context *ctx)
{
	unsigned long sink_port = opt.mode == BOTH ? 3 - opt.port.value : opt.port.value;
	struct dvq_open_request req = { .cq = &cq };

	raw_create(&raw, ctx, RING, SLOT);
	req.ibv_cq = raw.cq;
	if (opt.mode != SINK) {
		raw_add_sender(&raw, opt.port.value);
		frames_init(&sent, opt.port.value, opt.count.value, opt.size.value);
		req.qp = raw.qp;
		req.sq = &sq;
	}
	if (opt.mode != SEND) {
		raw_add_sink(&raw, sink_port);
		frames_init(&received, sink_port, opt.count.value, opt.size.value);
		req.wq = raw.wq;
		req.rq = &rq;
	}
	if (dvq_open(&req) != 0)
		errx(1, "%s", req.error);
	if (opt.mode != SINK)
		dvq_sq_init(&sq); /* the QP is in RTS */
	if (opt.mode != SEND) {
		post_buffers();
		raw_add_rule(&raw, sink_port, frame_mac); /* at last: frames come from here on */
	}
}

/* ---- the data path: no verbs from here on ---- */

/* A burst of the frames that are left, once there is room for it. Returns how many it was. */
static uint32_t
send_burst(void)
{
	unsigned long left = sent.total - sent.next;
	uint32_t n = left < BURST ? (uint32_t)left : BURST, i;

	/* Room: a block and a buffer per frame. Nor further ahead than a sink has buffers. */
	if (n == 0 || sq.pi - sq.ci + n > RING ||
	    (opt.mode == BOTH && sent.next + n > received.next + RING))
		return 0;
	for (i = 1; i <= n; i++) {
		uint8_t *frame = raw_send_slot(&raw, sq.pi);

		make_frame(&sent, frame);
		dvq_seg_set(dvq_sq_block_segs(&sq), (uintptr_t)frame,
			htobe32(raw.memory.mr->lkey), (uint32_t)sent.size);
		dvq_sq_post_block(&sq, 1, DVQ_OP_SEND, 0, i == n ? DVQ_CTRL_CQE : 0, NULL);
	}
	dvq_sq_ring(&sq);
	return n;
}

/* The completion of a burst's last WQE: it stands for all WQEs up to its own. */
static void
take_send(const struct dvq_wc *wc)
{
	int n = dvq_sq_complete(&sq, wc->wqe_index);

	if (n < 0)
		errx(1, "a completion of WQE %u, which is not in flight", wc->wqe_index);
	sent.count += (uint32_t)n;
}

/* Returns how many completions there were. */
static uint32_t
poll_both(void)
{
	struct dvq_wc wc[BURST];
	uint32_t n = dvq_cq_poll_batch(&cq, wc, BURST), i;

	for (i = 0; i < n; i++) {
		bool is_send = (wc[i].flags & DVQ_WC_SEND) != 0;

		if (wc[i].status != IBV_WC_SUCCESS)
			errx(1, "port %lu: error CQE of WQE %u: %s (vendor 0x%02x)",
			     is_send ? sent.port : received.port, wc[i].wqe_index,
			     ibv_wc_status_str(wc[i].status), wc[i].vendor_err);
		if (is_send)
			take_send(&wc[i]);
		else /* WQEs complete in order: the frame is in the oldest buffer */
			take_frame(&received, raw_sink_slot(&raw, dvq_rq_complete(&rq)),
				wc[i].byte_len);
	}
	if (n != 0 && opt.mode != SEND)
		post_buffers();
	return n;
}

int
main(int argc, char **argv)
{
	struct watch watch;
	struct ibv_context *ctx;
	uint32_t moved = 0;
	bool good;

	parse_options(&opt, argc, argv);
	ctx = open_device(opt.device, opt.mode == BOTH ? 2 : opt.port.value);
	open_queues(ctx);
	/* Until all is done or nothing moves any more. */
	watch = watch_start(FIRST_FRAME, PATIENCE);
	while (watch_goes_on(&watch, moved != 0) && (sent.count != sent.total ||
						     received.next != received.total))
		moved = poll_both() + send_burst();
	good = report_frames(&sent, "sent", watch_seconds(&watch));
	good &= report_frames(&received, "received", watch_seconds(&watch));
	raw_destroy(&raw);
	close_device(ctx);
	return good ? 0 : 1;
}
