/* SPDX-License-Identifier: BSD-3-Clause */

/* Many connections that share one receive queue: buffers for all, used by who needs them. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dvq.h>

#include <program.h>
#include <rc.h>
#include <srq.h>
#include <verbs.h>

#define BUFFERS 255u      /* of the SRQ, for all connections together */
#define SENDS 1024u       /* in flight, for all connections: what the CQ has room for */
#define SLOT 256u         /* bytes of one */
#define BATCH 16u
#define QPS_MAX 64u
#define PATIENCE 10.0     /* seconds in which something has to come */

const char program[] = "dvq_srq";

static struct {
	const char *device;
	uint64_t messages, qps;
} opt = { .messages = 100000, .qps = 16 };

struct message {
	uint32_t from;
	uint32_t number;          /* counts up for each connection */
};

/* A connection: both ends are ours. The receiving one has no queue of its own. */
struct connection {
	struct ibv_qp *sender, *receiver;
	struct dvq_sendq sq;
	uint32_t sent, received;
};

static struct {
	struct ibv_context *ctx;
	struct shared shared;     /* the verbs objects */
	struct dvq_srq srq;
	struct dvq_cq sends, receives;
	struct connection connections[QPS_MAX];
	uint64_t received;
	uint32_t in_flight;       /* sends without their completion */
} all;

/* ---- verbs: create the queues, open them, destroy them ---- */

static void
open_shared(void)
{
	struct dvq_open_request req = { .srq = &all.srq, .cq = &all.sends,
		.recv_cq = &all.receives };

	shared_create(&all.shared, all.ctx, SENDS, BUFFERS, SLOT);
	req.ibv_srq = all.shared.srq;
	req.ibv_cq = all.shared.send_cq;
	req.ibv_recv_cq = all.shared.recv_cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", req.error);
}

static void
open_connection(struct connection *c)
{
	struct dvq_open_request req = { .sendq = &c->sq };

	c->sender = shared_create_qp(&all.shared, BATCH);
	c->receiver = shared_create_qp(&all.shared, BATCH);
	req.qp = c->sender;
	if (dvq_open(&req) != 0)
		die(1, "%s", req.error);
	connect_pair(c->sender, c->receiver, 1);
}

static void
close_all(void)
{
	uint32_t i;

	for (i = 0; i < opt.qps; i++) {
		must0(ibv_destroy_qp(all.connections[i].sender), "ibv_destroy_qp");
		must0(ibv_destroy_qp(all.connections[i].receiver), "ibv_destroy_qp");
	}
	shared_destroy(&all.shared);
	must0(ibv_close_device(all.ctx), "ibv_close_device");
}

/* ---- the data path: no verbs from here on ---- */

/* The buffer of a WQE is the slot of its number, which is known before it is posted. */
static uint32_t
post_buffers(uint32_t max)
{
	uint32_t n;

	for (n = 0; n < max && dvq_srq_room(&all.srq) != 0; n++) {
		struct dvq_sge sge = {
			.addr = (uintptr_t)all.shared.memory.bytes + all.srq.head * SLOT,
			.lkey = all.shared.memory.mr->lkey, .len = SLOT,
		};

		dvq_srq_post(&all.srq, &sge, 1);
	}
	if (n != 0)
		dvq_srq_publish(&all.srq);
	return n;
}

/* The sender of a connection, by the number of its QP in a completion. */
static struct connection *
connection_of(uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < opt.qps; i++)
		if (all.connections[i].sender->qp_num == qpn)
			return &all.connections[i];
	die(1, "a completion of QP 0x%06x, which is none of ours", qpn);
}

static void
check(const struct dvq_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		die(1, "QP 0x%06x: %s (vendor 0x%02x)", wc->qpn, ibv_wc_status_str(wc->status),
		    wc->vendor_err);
}

static int
reap_sends(void)
{
	struct dvq_wc wc[BATCH];
	uint32_t n = dvq_cq_poll_batch(&all.sends, wc, BATCH), i;

	for (i = 0; i < n; i++) {
		check(&wc[i]);
		dvq_sendq_complete(&connection_of(wc[i].qpn)->sq, wc[i].wqe_index);
	}
	all.in_flight -= n;
	return (int)n;
}

/* Messages that fit into the WQE need no buffer of their own. */
static int
send_some(uint64_t limit)
{
	int n = 0;
	uint32_t i;

	for (i = 0; i < opt.qps && all.in_flight < SENDS; i++) {
		struct connection *c = &all.connections[i];
		struct message message = { .from = i, .number = c->sent };

		if ((uint64_t)c->sent * opt.qps + i >= limit ||
		    dvq_post_send_inline(&c->sq, &message, sizeof(message), DVQ_CTRL_CQE) != 0)
			continue;
		dvq_sendq_ring(&c->sq);
		c->sent++;
		all.in_flight++;
		n++;
	}
	return n;
}

/* WQEs come back in whatever order the connections have used them. */
static int
receive_some(void)
{
	struct dvq_wc wc[BATCH];
	struct message message;
	uint32_t n = dvq_cq_poll_batch(&all.receives, wc, BATCH), i;

	for (i = 0; i < n; i++) {
		check(&wc[i]);
		memcpy(&message, all.shared.memory.bytes + wc[i].wqe_index * SLOT, sizeof(message));
		if (wc[i].byte_len != sizeof(message) || message.from >= opt.qps ||
		    message.number != all.connections[message.from].received++)
			die(1, "message %u of connection %u came out of order", message.number,
			    message.from);
		if (dvq_srq_complete(&all.srq, wc[i].wqe_index) != 0)
			die(1, "a completion of WQE %u, which the SRQ has not", wc[i].wqe_index);
	}
	all.received += n;
	post_buffers(n);
	return (int)n;
}

static void
run(void)
{
	double start = now(), last = start;

	post_buffers(BUFFERS);
	while (all.received < opt.messages) {
		if (reap_sends() + send_some(opt.messages) + receive_some() != 0)
			last = now();
		else if (now() - last > PATIENCE)
			die(1, "%" PRIu64 " of %" PRIu64 " messages came", all.received,
			    opt.messages);
	}
	printf("%" PRIu64 " messages over %" PRIu64 " connections, %u buffers, %.0f a second\n",
	       all.received, opt.qps, BUFFERS, (double)all.received / (last - start));
}

static const struct option_entry options[] = {
	{ 'd', &opt.device, NULL, 0, 0 },
	{ 'n', NULL, &opt.messages, 1, UINT32_MAX },
	{ 'q', NULL, &opt.qps, 1, QPS_MAX },
	{ 0 },
};

int
main(int argc, char **argv)
{
	uint32_t i;

	parse_options(argc, argv, options,
		"usage: dvq_srq [-d mlx4_0] [-n messages] [-q connections]");
	all.ctx = open_device(opt.device, 1);
	open_shared();
	for (i = 0; i < opt.qps; i++)
		open_connection(&all.connections[i]);
	run();
	close_all();
	return 0;
}
