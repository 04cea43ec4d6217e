/* SPDX-License-Identifier: BSD-3-Clause */

/* Raw Ethernet without DPDK: numbered frames out of one port, checked at another. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common.h>
#include <dvq.h>

#define RING 512          /* frames in flight, and buffers, of an end */
#define BURST 32          /* frames per doorbell */
#define SLOT 2048u        /* bytes of a buffer */
#define PATIENCE 5.0      /* seconds in which something has to move */
#define FIRST_FRAME 30.0  /* seconds that a lone sink waits for a sender */

const char program[] = "dvq_raw";

static const uint8_t addresses[14] = {
	0x02, 0, 0, 0, 0, 0x02, /* to */
	0x02, 0, 0, 0, 0, 0x01, /* from */
	0x88, 0xb5,             /* for local experiments; IEEE 802 */
};

static struct {
	const char *device;
	uint64_t packets;
	uint32_t size;
	uint8_t port;
} opt = { .packets = 1000000, .size = 64 };

/* A sender or a sink. Port 0: not wanted. */
struct end {
	uint8_t port;
	struct memory memory;
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;                /* wq, table, flow, rq: a sink's */
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
	struct dvq_cq cq;
	struct dvq_sq sq;                 /* a sender's */
	struct dvq_rq rq;
	uint64_t next;                    /* number of the next frame */
	uint64_t count;                   /* frames sent or received */
};

/* ---- verbs: create the queues, open them, destroy them ---- */

static void
create_common(struct end *end, struct ibv_context *ctx)
{
	struct ibv_port_attr attr;

	must0(ibv_query_port(ctx, end->port, &attr), "ibv_query_port");
	if (attr.link_layer != IBV_LINK_LAYER_ETHERNET || attr.state != IBV_PORT_ACTIVE)
		die(1, "port %u is %s: raw packets take an Ethernet port with a link", end->port,
		    attr.state != IBV_PORT_ACTIVE ? "down" : "not in Ethernet mode");
	memory_open(&end->memory, ctx, RING * SLOT);
	end->ibv_cq = must(ibv_create_cq(ctx, RING, NULL, NULL, 0), "ibv_create_cq");
}

static void
to_state(const struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = end->port };
	int mask = IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0);

	must0(ibv_modify_qp(end->qp, &attr, mask), "ibv_modify_qp");
}

static void
open_sender(struct end *end, struct ibv_context *ctx)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = RING, .max_send_sge = 1 },
	};
	char error[256];
	struct dvq_open_request req = { .sq = &end->sq, .cq = &end->cq,
		.error = error, .error_size = sizeof(error) };

	create_common(end, ctx);
	attr.send_cq = attr.recv_cq = end->ibv_cq;
	end->qp = must(ibv_create_qp(end->memory.pd, &attr), "ibv_create_qp");
	to_state(end, IBV_QPS_INIT);
	to_state(end, IBV_QPS_RTR);
	to_state(end, IBV_QPS_RTS);
	req.qp = end->qp;
	req.ibv_cq = end->ibv_cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", error);
	dvq_sq_init(&end->sq);
}

/* A receive WQ works once an RSS QP, here over a table of one, is ready. */
static void
create_wq(struct end *end, struct ibv_context *ctx)
{
	static uint8_t key[40];
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = RING, .max_sge = 1,
		.pd = end->memory.pd, .cq = end->ibv_cq };
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 0, .ind_tbl = &end->wq };
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			IBV_QP_INIT_ATTR_RX_HASH,
		.pd = end->memory.pd,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
	};

	end->wq = must(ibv_create_wq(ctx, &wq), "ibv_create_wq");
	must0(ibv_modify_wq(end->wq, &ready), "ibv_modify_wq");
	end->table = must(ibv_create_rwq_ind_table(ctx, &table), "ibv_create_rwq_ind_table");
	qp.rwq_ind_tbl = end->table;
	end->qp = must(ibv_create_qp_ex(ctx, &qp), "ibv_create_qp_ex");
	to_state(end, IBV_QPS_INIT);
	to_state(end, IBV_QPS_RTR);
}

static void
post_buffer(struct end *end)
{
	struct dvq_sge sge = { .addr = (uintptr_t)(end->memory.bytes + end->rq.pi % RING * SLOT),
		.lkey = end->memory.mr->lkey, .len = SLOT };

	dvq_rq_post(&end->rq, &sge, 1);
}

static void
open_sink(struct end *end, struct ibv_context *ctx)
{
	char error[256];
	struct dvq_open_request req = { .rq = &end->rq, .cq = &end->cq,
		.error = error, .error_size = sizeof(error) };
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule),
			  .num_of_specs = 1, .port = end->port },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	int i;

	create_common(end, ctx);
	create_wq(end, ctx);
	req.wq = end->wq;
	req.ibv_cq = end->ibv_cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", error);
	for (i = 0; i < RING; i++)
		post_buffer(end);
	dvq_rq_publish(&end->rq);
	/* The rule last: frames come from here on. Other frames stay with the kernel. */
	memcpy(rule.eth.val.dst_mac, addresses, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	end->flow = must(ibv_create_flow(end->qp, &rule.attr), "ibv_create_flow");
}

static void
close_end(struct end *end)
{
	if (end->flow != NULL)
		must0(ibv_destroy_flow(end->flow), "ibv_destroy_flow");
	must0(ibv_destroy_qp(end->qp), "ibv_destroy_qp");
	if (end->wq != NULL) {
		must0(ibv_destroy_rwq_ind_table(end->table), "ibv_destroy_rwq_ind_table");
		must0(ibv_destroy_wq(end->wq), "ibv_destroy_wq");
	}
	must0(ibv_destroy_cq(end->ibv_cq), "ibv_destroy_cq");
	memory_close(&end->memory);
}

/* ---- the data path: no verbs from here on ---- */

static void
make_frame(uint8_t *frame, uint64_t number)
{
	uint64_t number_be = htobe64(number);
	uint32_t i;

	memcpy(frame, addresses, sizeof(addresses));
	memcpy(frame + sizeof(addresses), &number_be, sizeof(number_be));
	for (i = sizeof(addresses) + sizeof(number_be); i < opt.size; i++)
		frame[i] = (uint8_t)(number * 7 + i);
}

static void
check_frame(struct end *end, const uint8_t *frame, uint32_t length)
{
	uint8_t want[SLOT];
	uint64_t number;
	uint32_t i;

	if (length != opt.size)
		die(1, "a frame of %u bytes came, -s is %u", length, opt.size);
	memcpy(&number, frame + sizeof(addresses), sizeof(number));
	number = be64toh(number);
	make_frame(want, number);
	if (memcmp(frame, want, length) != 0) {
		for (i = 0; frame[i] == want[i]; i++)
			;
		die(1, "frame %" PRIu64 ": byte %u is 0x%02x, not 0x%02x", number, i, frame[i],
		    want[i]);
	}
	if (number < end->next || number >= opt.packets)
		die(1, "frame %" PRIu64 " came, %" PRIu64 " or later was due, below %" PRIu64,
		    number, end->next, opt.packets);
	end->next = number + 1; /* a gap stays missing in end->count */
	end->count++;
}

static const struct dvq_cqe *
next_cqe(struct end *end)
{
	const struct dvq_cqe *cqe = dvq_cq_poll(&end->cq);

	if (cqe != NULL && dvq_cqe_is_error(cqe))
		die(1, "port %u: error CQE of WQE %u: %s (vendor 0x%02x)", end->port,
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
	uint32_t lkey_be = htobe32(end->memory.mr->lkey);
	struct dvq_sq *sq = &end->sq;
	uint8_t *frame;

	if (n == 0 || dvq_sq_room(sq) < n || RING - (sq->pi - sq->ci) < n)
		return 0;
	for (i = 1; i <= n; i++) {
		frame = end->memory.bytes + sq->pi % RING * SLOT; /* a frame takes one block */
		make_frame(frame, end->next++);
		dvq_seg_set(dvq_sq_block_segs(sq), (uintptr_t)frame, lkey_be, opt.size);
		dvq_sq_post_block(sq, 1, DVQ_OP_SEND, 0, i == n ? DVQ_CTRL_CQE : 0, NULL);
	}
	dvq_sq_ring(sq);
	return (int)n;
}

static int
receive_burst(struct end *end)
{
	const struct dvq_cqe *cqe;
	int n;

	for (n = 0; n < BURST && (cqe = next_cqe(end)) != NULL; n++) {
		/* WQEs complete in order: the frame is in the oldest buffer. */
		check_frame(end, end->memory.bytes + end->rq.ci % RING * SLOT,
			    dvq_cqe_byte_cnt(cqe));
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

	while ((sender->port != 0 && sender->count < opt.packets) ||
	       (sink->port != 0 && sink->next < opt.packets)) {
		moved = 0;
		/* Ahead of a sink in the same thread by no more than its buffers. */
		if (sink->port != 0)
			limit = opt.packets - sink->next < RING ? opt.packets : sink->next + RING;
		if (sender->port != 0)
			moved += reap(sender) + send_burst(sender, limit);
		if (sink->port != 0)
			moved += receive_burst(sink);
		if (moved != 0 && start == 0)
			start = seen;
		seen = now();
		if (moved != 0)
			last = seen;
		else if (seen - last > (start != 0 || sender->port != 0 ? PATIENCE : FIRST_FRAME))
			break;
	}
	return start != 0 ? last - start : 0;
}

/* ---- start and end ---- */

static void
parse(int argc, char **argv, struct end *sender, struct end *sink)
{
	static const char usage[] = "usage: dvq_raw send|sink|both [-d mlx4_0] [-p port] "
		"[-n packets] [-s bytes]";
	const char *mode = argc > 1 ? argv[1] : "";
	int c;

	opterr = 0;
	while (argc > 1 && (c = getopt(argc - 1, argv + 1, "+:d:p:n:s:")) != -1) {
		if (c == 'd')
			opt.device = optarg;
		else if (c == 'p')
			opt.port = (uint8_t)number('p', optarg, 1, 2);
		else if (c == 'n')
			opt.packets = number('n', optarg, 1, UINT64_MAX / 2);
		else if (c == 's')
			opt.size = (uint32_t)number('s', optarg, 60, 1514);
		else
			die(2, "-%c %s; %s", optopt, c == ':' ? "lacks its value" : "is unknown",
			    usage);
	}
	if (argc > 1 && optind != argc - 1)
		die(2, "'%s' is one argument too many; %s", argv[1 + optind], usage);
	if (strcmp(mode, "send") == 0)
		sender->port = opt.port != 0 ? opt.port : 1;
	else if (strcmp(mode, "sink") == 0)
		sink->port = opt.port != 0 ? opt.port : 1;
	else if (strcmp(mode, "both") != 0)
		die(2, "'%s' is neither send, sink nor both; %s", mode, usage);
	else if (opt.port != 0)
		die(2, "-p %u: 'both' always sends on port 1 and sinks on port 2", opt.port);
	if (strcmp(mode, "both") == 0) {
		sender->port = 1;
		sink->port = 2;
	}
}

/* Whether all packets of this end came through. */
static int
report(const struct end *end, const char *what, double seconds)
{
	printf("port %u: %s %" PRIu64 " packets of %u bytes, %" PRIu64 " missing, %.3f Mpps\n",
	       end->port, what, end->count, opt.size, opt.packets - end->count,
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
	ctx = open_device(opt.device, sink.port > sender.port ? sink.port : sender.port);
	if (sink.port != 0)
		open_sink(&sink, ctx);
	if (sender.port != 0)
		open_sender(&sender, ctx);
	seconds = run(&sender, &sink);
	if (sender.port != 0) {
		good &= report(&sender, "sent", seconds);
		close_end(&sender);
	}
	if (sink.port != 0) {
		good &= report(&sink, "received", seconds);
		close_end(&sink);
	}
	must0(ibv_close_device(ctx), "ibv_close_device");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
