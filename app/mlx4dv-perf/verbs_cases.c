/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Plain verbs: what a program pays that sends and receives with ibv_post_send(),
 * ibv_post_recv() and ibv_poll_cq(). Building the work requests is not timed.
 */

#include <string.h>

#include "perf.h"

#define WRS (PERF_CALLS * PERF_BURST_MAX)

enum { TX_SINGLE, TX_CHAIN, RX_CHAIN };

static struct {
	struct ibv_device **list;
	struct bench_end sender, receiver;
	struct bench_options conf;
	unsigned int kind, burst, moved;
	struct ibv_send_wr send[WRS];
	struct ibv_recv_wr recv[WRS];
	struct ibv_sge send_sge[WRS], recv_sge[WRS];
	struct ibv_wc wc[WRS];
} run;

static void
start(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	run.list = ibv_get_device_list(NULL);
	if (run.list == NULL || run.list[0] == NULL)
		bench_die("no verbs device");
}

/* The work requests of all bursts, each burst's a chain unless they are posted singly. */
static void
build(void)
{
	unsigned int i, n = run.conf.batch;

	for (i = 0; i < n; i++) {
		bool last = run.kind == TX_SINGLE || (i + 1) % run.burst == 0;

		run.send_sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)run.sender.area + (size_t)(i % run.sender.slots) * SLOT,
			.length = run.conf.size, .lkey = run.sender.mr->lkey,
		};
		run.send[i] = (struct ibv_send_wr){
			.next = last ? NULL : &run.send[i + 1], .sg_list = &run.send_sge[i],
			.num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = last ? IBV_SEND_SIGNALED : 0,
		};
		run.recv_sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)run.receiver.area +
				(size_t)(i % run.receiver.slots) * SLOT,
			.length = 2048, .lkey = run.receiver.mr->lkey,
		};
		run.recv[i] = (struct ibv_recv_wr){
			.next = (i + 1) % run.burst == 0 ? NULL : &run.recv[i + 1],
			.sg_list = &run.recv_sge[i], .num_sge = 1,
		};
	}
}

static const char *
open_case(const struct perf_case *one, const struct perf_options *options)
{
	unsigned int i;

	if (options->size > FRAME_MAX)
		return "frames of one MTU only";
	memset(&run.sender, 0, sizeof(run.sender));
	memset(&run.receiver, 0, sizeof(run.receiver));
	run.kind = one->kind;
	run.burst = options->burst;
	run.conf = (struct bench_options){ .batch = options->calls * run.burst,
		.size = options->size };
	bench_open_sender(&run.sender, run.list[0], &run.conf);
	bench_open_receiver(&run.receiver, run.list[0], &run.conf);
	/* A full receive ring, as of a driver. */
	for (i = 0; i < RECV_WR / BATCH_MAX; i++)
		bench_post_buffers(&run.receiver, BATCH_MAX);
	build();
	return NULL;
}

static void
close_case(void)
{
	bench_close(&run.receiver);
	bench_close(&run.sender);
}

static int
post_send(unsigned int from, unsigned int calls)
{
	struct ibv_send_wr *bad;
	unsigned int i;

	for (i = 0; i < calls; i++)
		if (ibv_post_send(run.sender.qp, &run.send[from + i], &bad) != 0)
			bench_die("ibv_post_send failed");
	return (int)run.burst;
}

/* ---- send ---- */

static void
tx_prepare(unsigned int bursts)
{
	(void)bursts;
	run.moved = 0;
}

/* Take what has completed, then send. */
static int
tx_burst(unsigned int index)
{
	int done, i;

	do {
		done = ibv_poll_cq(run.sender.cq, (int)run.burst, run.wc);
		for (i = 0; i < done; i++)
			if (run.wc[i].status != IBV_WC_SUCCESS)
				bench_die("send: %s", ibv_wc_status_str(run.wc[i].status));
	} while (done == (int)run.burst);
	run.moved += run.burst;
	return post_send(index * run.burst, run.kind == TX_SINGLE ? run.burst : 1);
}

static void
receive(unsigned int index)
{
	struct ibv_recv_wr *bad;
	int got = ibv_poll_cq(run.receiver.cq, (int)run.burst, run.wc);

	if (got != (int)run.burst)
		bench_die("%d of %u frames received", got, run.burst);
	if (ibv_post_recv(run.receiver.qp, &run.recv[index * run.burst], &bad) != 0)
		bench_die("ibv_post_recv failed");
}

static void
tx_finish(void)
{
	unsigned int i;

	perf_step();
	for (i = 0; i < run.moved / run.burst; i++)
		receive(i);
}

/* ---- receive ---- */

static void
rx_prepare(unsigned int bursts)
{
	unsigned int i;

	while (ibv_poll_cq(run.sender.cq, 32, run.wc) == 32)
		;
	for (i = 0; i < bursts; i++)
		post_send(i * run.burst, 1);
	perf_step();
}

static int
rx_burst(unsigned int index)
{
	receive(index);
	return (int)run.burst;
}

static void
rx_finish(void)
{
}

#define TX_CASE(name_, kind_) { .name = name_, .open = open_case, .prepare = tx_prepare, \
	.burst = tx_burst, .finish = tx_finish, .close = close_case, .kind = kind_ }

static const struct perf_case cases[] = {
	{ .name = "rx", .open = open_case, .prepare = rx_prepare, .burst = rx_burst,
		.finish = rx_finish, .close = close_case, .kind = RX_CHAIN },
	TX_CASE("tx", TX_CHAIN),
	TX_CASE("tx_single", TX_SINGLE),
};

static void
end(void)
{
	ibv_free_device_list(run.list);
}

static const char *
driver_name(void)
{
	return "verbs";
}

const struct perf_subject perf_verbs = {
	.name = "verbs", .cases = cases, .nb_cases = sizeof(cases) / sizeof(cases[0]),
	.start = start, .end = end, .driver = driver_name,
};
