/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The floor: loops on the queues of the adapter that make only the memory accesses
 * which any driver has to make, for frames of one mbuf from one region, in bursts
 * that never wrap. No check, no flag, no counter; not a driver, but a bound for one.
 */

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include <rte_mbuf.h>

#include <dvq.h>

#include "perf.h"

#define HEADER sizeof(struct rte_mbuf)
#define FRONT (HEADER + RTE_PKTMBUF_HEADROOM)

static struct {
	struct ibv_device **list;
	struct bench_end sender, receiver;
	struct bench_options conf;
	unsigned int burst, moved;
	struct dvq_sq sq;
	struct dvq_rq rq;
	struct dvq_cq send_cq, recv_cq;
	struct rte_mbuf **elts;          /* of the queue under test */
	struct rte_mbuf *pool[4 * SEND_WR];
	unsigned int free;               /* mbufs in the pool */
	struct rte_mbuf *m[PERF_CALLS * PERF_BURST_MAX];
	uint32_t lkey, lkey_be;
} run;

static struct rte_mbuf *ring[2 * SEND_WR];

static void
start(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	run.list = ibv_get_device_list(NULL);
	if (run.list == NULL || run.list[0] == NULL)
		bench_die("no verbs device");
}

/* Every slot an mbuf with its buffer behind it. */
static void
make_mbufs(const struct bench_end *end)
{
	static const uint8_t to[6] = { 2, 0, 0, 0, 0, 2 };
	unsigned int i;

	run.free = end->slots;
	run.lkey = end->mr->lkey;
	run.lkey_be = htobe32(run.lkey);
	for (i = 0; i < end->slots; i++) {
		struct rte_mbuf *m = (struct rte_mbuf *)(end->area + (size_t)i * SLOT);

		memset(m, 0, HEADER);
		m->buf_addr = (uint8_t *)m + HEADER;
		m->data_off = RTE_PKTMBUF_HEADROOM;
		m->data_len = (uint16_t)run.conf.size;
		m->pkt_len = run.conf.size;
		perf_frame((uint8_t *)m + FRONT, run.conf.size, to, i, 0);
		run.pool[i] = m;
	}
}

static void
open_queues(struct dvq_open_request *request)
{
	if (dvq_open(request) != 0)
		bench_die("dvq_open: %s", request->error);
}

static const char *
open_ends(const struct perf_options *options)
{
	if (options->size > FRAME_MAX)
		return "frames of one MTU only";
	if (SEND_WR % options->burst != 0)
		return "bursts of a power of two only";
	memset(&run.sender, 0, sizeof(run.sender));
	memset(&run.receiver, 0, sizeof(run.receiver));
	run.burst = options->burst;
	run.elts = ring;
	run.conf = (struct bench_options){ .batch = options->calls * run.burst,
		.size = options->size,
		.recv_wr = SEND_WR, .slots = 2 * SEND_WR, .quiet = true };
	bench_open_sender(&run.sender, run.list[0], &run.conf);
	bench_open_receiver(&run.receiver, run.list[0], &run.conf);
	return NULL;
}

static void
close_case(void)
{
	bench_close(&run.receiver);
	bench_close(&run.sender);
}

/* ---- receive ---- */

static const char *
rx_open(const struct perf_case *one, const struct perf_options *options)
{
	struct dvq_open_request request = { .qp_rq = &run.rq, .cq = &run.recv_cq };
	const char *why_not;
	uint32_t i;

	(void)one;
	why_not = open_ends(options);
	if (why_not != NULL)
		return why_not;
	make_mbufs(&run.receiver);
	request.qp = run.receiver.qp;
	request.ibv_cq = run.receiver.cq;
	open_queues(&request);
	for (i = 0; i < run.rq.wqe_cnt; i++) {
		struct rte_mbuf *m = run.pool[--run.free];
		struct dvq_sge sge = { (uintptr_t)m + FRONT, run.lkey, SLOT - FRONT };

		run.elts[i] = m;
		dvq_rq_post(&run.rq, &sge, 1);
	}
	dvq_rq_publish(&run.rq);
	return NULL;
}

static void
rx_prepare(unsigned int bursts)
{
	(void)bursts;
	run.moved = 0;
	bench_send(&run.sender, &run.conf);
	perf_step();
}

static int
rx_burst(unsigned int index)
{
	const uint32_t at = run.recv_cq.ci & (run.rq.wqe_cnt - 1), n = run.burst;
	const uint8_t *cqe = (const uint8_t *)dvq_cq_entry(&run.recv_cq, run.recv_cq.ci);
	const size_t cqe_size = (size_t)1 << run.recv_cq.cqe_shift;
	const size_t wqe_size = (size_t)1 << run.rq.stride_shift;
	const uint8_t owner = dvq_cq_owner(&run.recv_cq, run.recv_cq.ci);
	struct rte_mbuf **to = run.m + index * n, **elts = run.elts + at;
	struct rte_mbuf **fresh = run.pool + (run.free -= n);
	uint8_t *wqe = (uint8_t *)dvq_rq_wqe(&run.rq, at);
	uint8_t wrong = 0;
	uint32_t i;

	for (i = 0; i < n; i++, cqe += cqe_size, wqe += wqe_size) {
		const struct dvq_cqe *c = (const struct dvq_cqe *)cqe;
		struct rte_mbuf *m = elts[i], *next = fresh[i];
		uint32_t len = be32toh(c->byte_cnt);

		wrong |= c->owner_sr_opcode ^ owner;
		*(uint64_t *)RTE_PTR_ADD(m, offsetof(struct rte_mbuf, rearm_data)) =
			RTE_PKTMBUF_HEADROOM | 1ull << 16 | 1ull << 32;
		m->ol_flags = 0;
		m->packet_type = c->status;
		m->pkt_len = len;
		m->data_len = (uint16_t)len;
		m->hash.rss = c->rss_hash;
		to[i] = m;
		elts[i] = next;
		((struct dvq_data_seg *)wqe)->addr = htobe64((uintptr_t)next + FRONT);
	}
	if ((wrong & DVQ_CQE_OWNER) != 0)
		bench_die("a frame is missing");
	run.rq.pi += n;
	run.recv_cq.ci += n;
	run.moved += n;
	dvq_rq_publish(&run.rq);
	dvq_cq_update_ci(&run.recv_cq);
	return (int)n;
}

static void
rx_finish(void)
{
	bench_take(&run.sender, "send", 1, 0);
	memcpy(run.pool + run.free, run.m, run.moved * sizeof(run.m[0]));
	run.free += run.moved;
}

/* ---- send ---- */

static const char *
tx_open(const struct perf_case *one, const struct perf_options *options)
{
	struct dvq_open_request request = { .sq = &run.sq, .cq = &run.send_cq };
	const char *why_not;

	(void)one;
	why_not = open_ends(options);
	if (why_not != NULL)
		return why_not;
	make_mbufs(&run.sender);
	request.qp = run.sender.qp;
	request.ibv_cq = run.sender.cq;
	open_queues(&request);
	dvq_sq_init(&run.sq);
	return NULL;
}

static void
tx_prepare(unsigned int bursts)
{
	unsigned int n = bursts * run.burst;

	run.moved = 0;
	memcpy(run.m, run.pool + run.free - n, n * sizeof(run.m[0]));
	run.free -= n;
	bench_post_buffers(&run.receiver, n);
}

/* What has completed goes back to the pool: one CQE for a burst. */
static inline void
tx_reap(void)
{
	const struct dvq_cqe *cqe;

	while ((cqe = dvq_cq_poll(&run.send_cq)) != NULL) {
		memcpy(run.pool + run.free, run.elts + (run.sq.ci & (run.sq.bb_cnt - 1)),
			run.burst * sizeof(run.pool[0]));
		run.free += run.burst;
		run.sq.ci += run.burst;
		dvq_cq_update_ci(&run.send_cq);
	}
}

static int
tx_burst(unsigned int index)
{
	const uint32_t n = run.burst, at = run.sq.pi & (run.sq.bb_cnt - 1);
	const uint32_t owner = (run.sq.pi & run.sq.bb_cnt) != 0 ? DVQ_CTRL_OWNER : 0;
	const uint32_t opcode = htobe32(DVQ_OP_SEND | owner), lkey = run.lkey_be;
	struct rte_mbuf **from = run.m + index * n, **elts = run.elts + at;
	uint8_t *block = dvq_sq_block(&run.sq, run.sq.pi);
	uint32_t i;

	tx_reap();
	for (i = 0; i < n; i++, block += DVQ_SQ_BB_SIZE) {
		struct dvq_ctrl_seg *ctrl = (struct dvq_ctrl_seg *)block;
		struct dvq_data_seg *seg = (struct dvq_data_seg *)block + 1;
		struct rte_mbuf *m = from[i];

		elts[i] = m;
		seg->byte_count = htobe32(m->data_len);
		seg->lkey = lkey;
		seg->addr = htobe64((uintptr_t)m->buf_addr + m->data_off);
		ctrl->vlan_ds = htobe32(2);
		ctrl->flags = htobe32(i + 1 == n ? DVQ_CTRL_SE | DVQ_CTRL_CQE : DVQ_CTRL_SE);
		ctrl->imm = 0;
		dvq_barrier_wqe_before_owner();
		*(volatile uint32_t *)block = opcode;
	}
	run.sq.pi += n;
	run.moved += n;
	dvq_sq_ring(&run.sq);
	return (int)n;
}

static void
tx_finish(void)
{
	perf_step();
	bench_take(&run.receiver, "receive", run.moved, run.conf.size);
}

static const struct perf_case cases[] = {
	{ .name = "rx", .open = rx_open, .prepare = rx_prepare, .burst = rx_burst,
		.finish = rx_finish, .close = close_case },
	{ .name = "tx_fast_free", .open = tx_open, .prepare = tx_prepare, .burst = tx_burst,
		.finish = tx_finish, .close = close_case },
};

static void
end(void)
{
	ibv_free_device_list(run.list);
}

static const char *
driver_name(void)
{
	return "floor";
}

const struct perf_subject perf_floor = {
	.name = "floor", .cases = cases, .nb_cases = sizeof(cases) / sizeof(cases[0]),
	.start = start, .end = end, .driver = driver_name,
};
