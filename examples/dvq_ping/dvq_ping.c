/* SPDX-License-Identifier: BSD-3-Clause */

/* A message there and back over a reliable connection, again and again; how long it takes. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <common.h>
#include <dvq.h>

#define RING 16           /* messages in flight, at most: one is, here */
#define SLOT 4096u        /* bytes of a buffer */
#define PATIENCE 10.0     /* seconds in which an answer has to come */

const char program[] = "dvq_ping";

static struct {
	const char *device, *path;
	uint64_t rounds;
	uint32_t size;
	uint8_t port;
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
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = RING, .max_recv_wr = RING, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	char error[256];
	struct dvq_open_request req = { .sendq = &side->sq, .qp_rq = &side->rq, .cq = &side->cq,
		.error = error, .error_size = sizeof(error) };

	memory_open(&side->memory, ctx, 2 * SLOT);
	side->ibv_cq = must(ibv_create_cq(ctx, 2 * RING, NULL, NULL, 0), "ibv_create_cq");
	attr.send_cq = attr.recv_cq = side->ibv_cq;
	side->qp = must(ibv_create_qp(side->memory.pd, &attr), "ibv_create_qp");
	req.qp = side->qp;
	req.ibv_cq = side->ibv_cq;
	if (dvq_open(&req) != 0)
		die(1, "%s", error);
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
		.lkey = side->memory.mr->lkey, .len = opt.size };

	memset(side->memory.bytes, (int)(round % 251), opt.size);
	if (dvq_post_send(&side->sq, &sge, 1, DVQ_CTRL_CQE) != 0)
		die(1, "the send queue is full");
	dvq_sendq_ring(&side->sq);
}

static void
check_message(const struct side *side, uint32_t length, uint64_t round)
{
	const uint8_t *bytes = side->memory.bytes + SLOT;
	uint32_t i;

	for (i = 0; i < opt.size && bytes[i] == round % 251; i++)
		;
	if (length != opt.size || i != opt.size)
		die(1, "message %llu is of %u bytes, byte %u is wrong", (unsigned long long)round,
		    length, i);
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
	check_message(side, wc->byte_len, round);
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
			die(1, "no answer to message %llu", (unsigned long long)round);
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
		printf("%llu messages of %u bytes there and back, %.2f us each\n",
		       (unsigned long long)opt.rounds, opt.size, took * 1e6 / (double)opt.rounds);
}

/* ---- two processes tell each other their addresses over a socket of the file system ---- */

static int
meet(int serving)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;

	if (strlen(opt.path) >= sizeof(name.sun_path))
		die(2, "'%s' is too long for the name of a socket", opt.path);
	strcpy(name.sun_path, opt.path);
	if (!serving) {
		if (connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
			die(1, "%s: %s; start the server first", opt.path, strerror(errno));
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0 || listen(fd, 1) != 0)
		die(1, "%s: %s", opt.path, strerror(errno));
	printf("waiting at %s\n", opt.path);
	fflush(stdout);
	peer = accept(fd, NULL, NULL);
	unlink(opt.path);
	close(fd);
	return peer;
}

static void
exchange(int fd, const void *mine, void *theirs, size_t size)
{
	if (write(fd, mine, size) != (ssize_t)size ||
	    recv(fd, theirs, size, MSG_WAITALL) != (ssize_t)size)
		die(1, "the other process has gone");
}

static void
two_processes(struct side *side, int serving)
{
	struct address mine = address_of(side->qp, opt.port), theirs;
	int fd = meet(serving);
	char ready = 0;

	exchange(fd, &mine, &theirs, sizeof(mine));
	connect_rc(side->qp, opt.port, &theirs);
	post_receive(side);
	/* Neither sends before the other one can receive, nor leaves before it has. */
	exchange(fd, &ready, &ready, 1);
	play(serving ? NULL : side, serving ? side : NULL);
	exchange(fd, &ready, &ready, 1);
	close(fd);
}

static void
one_process(struct side *a, struct side *b)
{
	struct address of_a = address_of(a->qp, opt.port), of_b = address_of(b->qp, opt.port);

	connect_rc(a->qp, opt.port, &of_b);
	connect_rc(b->qp, opt.port, &of_a);
	post_receive(a);
	post_receive(b);
	play(a, b);
}

/* ---- start and end ---- */

static const char usage[] = "usage: dvq_ping both | server SOCKET | client SOCKET "
	"[-d mlx4_0] [-p port] [-n rounds] [-s bytes]";

/* Returns the mode: 'b', 's' or 'c'. */
static char
parse(int argc, char **argv)
{
	int both = argc > 1 && strcmp(argv[1], "both") == 0, first = both ? 2 : 3, c;

	if (!both && (argc < 3 || (strcmp(argv[1], "server") != 0 &&
				   strcmp(argv[1], "client") != 0)))
		die(2, "%s", usage);
	opt.path = both ? NULL : argv[2];
	opterr = 0;
	optind = first;
	while ((c = getopt(argc, argv, "+:d:p:n:s:")) != -1) {
		if (c == 'd')
			opt.device = optarg;
		else if (c == 'p')
			opt.port = (uint8_t)number('p', optarg, 1, 2);
		else if (c == 'n')
			opt.rounds = number('n', optarg, 1, 1000000000);
		else if (c == 's')
			opt.size = (uint32_t)number('s', optarg, 1, SLOT);
		else
			die(2, "-%c %s; %s", optopt, c == ':' ? "lacks its value" : "is unknown",
			    usage);
	}
	if (optind != argc)
		die(2, "'%s' is one argument too many; %s", argv[optind], usage);
	return argv[1][0];
}

int
main(int argc, char **argv)
{
	char mode = parse(argc, argv);
	struct ibv_context *ctx = open_device(opt.device, opt.port);
	struct side a, b;

	open_side(&a, ctx);
	if (mode == 'b') {
		open_side(&b, ctx);
		one_process(&a, &b);
		close_side(&b);
	} else {
		two_processes(&a, mode == 's');
	}
	close_side(&a);
	must0(ibv_close_device(ctx), "ibv_close_device");
	return 0;
}
