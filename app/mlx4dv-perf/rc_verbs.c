/* SPDX-License-Identifier: BSD-3-Clause */

/* A reliable connection by way of libibverbs. Building the work requests is not timed. */

#include <string.h>

#include "rc.h"

static struct {
	struct ibv_send_wr single[RC_CHAIN_MAX], chain[RC_CHAIN_MAX];
	struct ibv_recv_wr recv[RC_CHAIN_MAX], recv_single[RC_CHAIN_MAX];
	struct ibv_sge send_sge[RC_CHAIN_MAX], recv_sge[RC_CHAIN_MAX];
	struct ibv_wc wc[RC_CHAIN_MAX];
} run;

/* A chain of @n begins n from the end, so that all of them have the same end. */
static void
opened(void)
{
	unsigned int i;

	for (i = 0; i < RC_CHAIN_MAX; i++) {
		bool last = i == RC_CHAIN_MAX - 1;

		run.send_sge[i] = (struct ibv_sge){ .addr = (uintptr_t)rc_slot(0, i),
			.length = RC_SIZE, .lkey = rc.mr->lkey };
		run.recv_sge[i] = (struct ibv_sge){ .addr = (uintptr_t)rc_slot(1, i),
			.length = SLOT, .lkey = rc.mr->lkey };
		run.single[i] = (struct ibv_send_wr){ .sg_list = &run.send_sge[i], .num_sge = 1,
			.opcode = IBV_WR_SEND, .send_flags = last ? IBV_SEND_SIGNALED : 0 };
		run.chain[i] = run.single[i];
		run.chain[i].next = last ? NULL : &run.chain[i + 1];
		run.recv[i] = (struct ibv_recv_wr){ .sg_list = &run.recv_sge[i], .num_sge = 1,
			.next = last ? NULL : &run.recv[i + 1] };
		run.recv_single[i] = run.recv[i];
		run.recv_single[i].next = NULL;
	}
}

static void
send_chain(unsigned int n)
{
	struct ibv_send_wr *bad;

	if (ibv_post_send(rc.a.qp, &run.chain[RC_CHAIN_MAX - n], &bad) != 0)
		bench_die("ibv_post_send failed");
}

static void
post_receives(unsigned int n)
{
	struct ibv_recv_wr *bad, *wr = &run.recv[RC_CHAIN_MAX - n];

	if ((rc.srq != NULL ? ibv_post_srq_recv(rc.srq, wr, &bad) :
	    ibv_post_recv(rc.b.qp, wr, &bad)) != 0)
		bench_die("posting of receives failed");
	rc.receives += n;
}

static unsigned int
poll_cq(struct ibv_cq *cq, unsigned int max)
{
	int got = ibv_poll_cq(cq, (int)max, run.wc), i;

	for (i = 0; i < got; i++)
		if (run.wc[i].status != IBV_WC_SUCCESS)
			bench_die("%s", ibv_wc_status_str(run.wc[i].status));
	return got > 0 ? (unsigned int)got : 0;
}

static unsigned int
poll_sends(void)
{
	return poll_cq(rc.a.cq, RC_CHAIN_MAX);
}

static unsigned int
poll_receives(unsigned int max)
{
	return poll_cq(rc.b.cq, max);
}

static const struct rc_library library = {
	.opened = opened, .send = send_chain, .post_receives = post_receives,
	.poll_sends = poll_sends, .poll_receives = poll_receives,
};

/* ---- what is measured ---- */

/* One request a call, each with its doorbell. */
static int
send_singly(unsigned int index)
{
	struct ibv_send_wr *bad;
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++)
		if (ibv_post_send(rc.a.qp, &run.single[i], &bad) != 0)
			bench_die("ibv_post_send failed");
	rc.receives -= RC_CHAIN_MAX;
	return RC_CHAIN_MAX;
}

static int
send_in_chain(unsigned int index)
{
	(void)index;
	send_chain(rc.n);
	rc.receives -= rc.n;
	return (int)rc.n;
}

static int
post(unsigned int index)
{
	(void)index;
	post_receives(rc.n);
	return (int)rc.n;
}

static int
post_singly(unsigned int index)
{
	struct ibv_recv_wr *bad;
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++)
		if (ibv_post_recv(rc.b.qp, &run.recv_single[i], &bad) != 0)
			bench_die("ibv_post_recv failed");
	rc.receives += RC_CHAIN_MAX;
	return RC_CHAIN_MAX;
}

static int
post_srq_singly(unsigned int index)
{
	struct ibv_recv_wr *bad;
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++)
		if (ibv_post_srq_recv(rc.srq, &run.recv_single[i], &bad) != 0)
			bench_die("ibv_post_srq_recv failed");
	rc.receives += RC_CHAIN_MAX;
	return RC_CHAIN_MAX;
}

static int
poll_received(unsigned int index)
{
	(void)index;
	if (ibv_poll_cq(rc.b.cq, (int)rc.n, run.wc) != (int)rc.n)
		bench_die("completions are missing");
	return (int)rc.n;
}

#include "rc_cases.h"

const struct perf_subject perf_rc_verbs = {
	.name = "libibverbs", .cases = cases, .nb_cases = sizeof(cases) / sizeof(cases[0]),
	.start = rc_start, .end = rc_end_all, .driver = driver_name,
};

static const char *
driver_name(void)
{
	return perf_rc_verbs.name;
}
