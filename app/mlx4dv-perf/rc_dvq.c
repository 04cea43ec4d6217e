/* SPDX-License-Identifier: BSD-3-Clause */

/* The same by way of libdvq, with all its checks. */

#include <dvq.h>

#include "rc.h"

static struct {
	struct dvq_sendq sq;
	struct dvq_rq rq;
	struct dvq_srq srq;
	struct dvq_cq send_cq, cq;
	struct dvq_sge send_sge[RC_CHAIN_MAX], recv_sge[RC_CHAIN_MAX];
	struct dvq_wc wc[RC_CHAIN_MAX];
	uint16_t numbers[RC_CHAIN_MAX];
} run;

static void
opened(void)
{
	struct dvq_open_request a = { .qp = rc.a.qp, .sendq = &run.sq, .ibv_cq = rc.a.cq,
		.cq = &run.send_cq };
	struct dvq_open_request b = { .ibv_cq = rc.b.cq, .cq = &run.cq };
	unsigned int i;

	if (rc.srq != NULL) {
		b.ibv_srq = rc.srq;
		b.srq = &run.srq;
	} else {
		b.qp = rc.b.qp;
		b.qp_rq = &run.rq;
	}
	if (dvq_open(&a) != 0)
		bench_die("%s", a.error);
	if (dvq_open(&b) != 0)
		bench_die("%s", b.error);
	for (i = 0; i < RC_CHAIN_MAX; i++) {
		run.send_sge[i] = (struct dvq_sge){ .addr = (uintptr_t)rc_slot(0, i),
			.lkey = rc.mr->lkey, .len = RC_SIZE };
		run.recv_sge[i] = (struct dvq_sge){ .addr = (uintptr_t)rc_slot(1, i),
			.lkey = rc.mr->lkey, .len = SLOT };
	}
}

static void
send_chain(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (dvq_post_send(&run.sq, &run.send_sge[i], 1,
		    i == n - 1 ? DVQ_CTRL_CQE : 0) != 0)
			bench_die("dvq_post_send failed");
	dvq_sendq_ring(&run.sq);
}

static void
post_receives(unsigned int n)
{
	uint32_t posted;

	if (rc.srq != NULL) {
		posted = dvq_srq_post_each(&run.srq, run.recv_sge, run.numbers, n);
		dvq_srq_publish(&run.srq);
	} else {
		posted = dvq_post_recv_each(&run.rq, run.recv_sge, n);
		dvq_rq_publish(&run.rq);
	}
	if (posted != n)
		bench_die("%u of %u receives posted", posted, n);
	rc.receives += n;
}

/* What a program does with completions: take back the WQEs that they name. */
static inline unsigned int
take_receives(unsigned int max)
{
	unsigned int n = dvq_cq_poll_batch(&run.cq, run.wc, max), i;

	if (rc.srq == NULL)
		run.rq.ci += n;
	else
		for (i = 0; i < n; i++)
			if (dvq_srq_complete(&run.srq, run.wc[i].wqe_index) != 0)
				bench_die("a CQE of WQE %u, which the SRQ has not",
					run.wc[i].wqe_index);
	return n;
}

static void
check(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (run.wc[i].status != IBV_WC_SUCCESS)
			bench_die("%s", ibv_wc_status_str(run.wc[i].status));
}

static unsigned int
poll_receives(unsigned int max)
{
	unsigned int n = take_receives(max);

	check(n);
	return n;
}

static unsigned int
poll_sends(void)
{
	unsigned int n = dvq_cq_poll_batch(&run.send_cq, run.wc, RC_CHAIN_MAX);

	check(n);
	if (n != 0 && dvq_sendq_complete(&run.sq, run.wc[n - 1].wqe_index) < 0)
		bench_die("a CQE of a WQE that is not in flight");
	return n;
}

static const struct rc_library library = {
	.opened = opened, .send = send_chain, .post_receives = post_receives,
	.poll_sends = poll_sends, .poll_receives = poll_receives,
};

/* ---- what is measured ---- */

static int
send_singly(unsigned int index)
{
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++) {
		if (dvq_post_send(&run.sq, &run.send_sge[i], 1,
		    i == RC_CHAIN_MAX - 1 ? DVQ_CTRL_CQE : 0) != 0)
			bench_die("dvq_post_send failed");
		dvq_sendq_ring(&run.sq);
	}
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
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++) {
		if (dvq_post_recv(&run.rq, &run.recv_sge[i], 1) != 0)
			bench_die("dvq_post_recv failed");
		dvq_rq_publish(&run.rq);
	}
	rc.receives += RC_CHAIN_MAX;
	return RC_CHAIN_MAX;
}

static int
post_srq_singly(unsigned int index)
{
	unsigned int i;

	(void)index;
	for (i = 0; i < RC_CHAIN_MAX; i++) {
		if (dvq_srq_post(&run.srq, &run.recv_sge[i], 1) < 0)
			bench_die("dvq_srq_post failed");
		dvq_srq_publish(&run.srq);
	}
	rc.receives += RC_CHAIN_MAX;
	return RC_CHAIN_MAX;
}

static int
poll_received(unsigned int index)
{
	(void)index;
	if (take_receives(rc.n) != rc.n)
		bench_die("completions are missing");
	return (int)rc.n;
}

#include "rc_cases.h"

const struct perf_subject perf_rc_dvq = {
	.name = "libdvq", .cases = cases, .nb_cases = sizeof(cases) / sizeof(cases[0]),
	.start = rc_start, .end = rc_end_all, .driver = driver_name,
};

static const char *
driver_name(void)
{
	return perf_rc_dvq.name;
}
