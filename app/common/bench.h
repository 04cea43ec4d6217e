/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BENCH_H_
#define BENCH_H_

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define SEND_WR 1024        /* more than the longest batch: the ring keeps headroom */
#define RECV_WR 2048
#define BATCH_MAX 512
#define FRAME_MAX 1514
/*
 * Of one buffer. An odd number of cache lines, as DPDK spaces its mbufs: with
 * 2048 all first lines would compete for a few sets of the caches.
 */
#define SLOT (2048u + 5 * 64)

struct bench_options {
	unsigned int batch;     /* frames per step */
	unsigned int size;      /* bytes without FCS */
	unsigned int steps;     /* per round */
	unsigned int rounds;
	bool rss;               /* receive through an RSS QP, else a plain QP */
	bool quiet;             /* one completion per batch, on its last WQE */
	bool count;             /* instructions, by single-stepping */
	unsigned int recv_wr;   /* of the receive queue; 0: RECV_WR */
	unsigned int slots;     /* buffers of each end; 0: two batches */
};

/* One port of the adapter, which either sends or receives. */
struct bench_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;              /* with the table: of an RSS QP */
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
	uint8_t *area;
	unsigned int slots;
};

/* ---- program.c ---- */

/* What complaints begin with; each program defines it. */
extern const char bench_program[];

/* A line on stderr, and the end of the program. */
__attribute__((noreturn, format(printf, 1, 2)))
void bench_die(const char *format, ...);
/* The value of an option; ends the program if it is no number within the limits. */
unsigned int bench_number(const char *name, const char *text, unsigned long min, unsigned long max);
/* For qsort() of doubles. */
int bench_by_value(const void *a, const void *b);

/* ---- verbs.c: all that is not measured ---- */

void bench_open_sender(struct bench_end *end, struct ibv_device *device,
	const struct bench_options *options);
void bench_open_receiver(struct bench_end *end, struct ibv_device *device,
	const struct bench_options *options);
void bench_close(struct bench_end *end);
/* Post this many receive buffers, one after the other from the receiver's area. */
void bench_post_buffers(struct bench_end *receiver, unsigned int count);
/* Post one batch to send. */
void bench_send(struct bench_end *sender, const struct bench_options *options);
/* Take this many completions, of frames of this size; ends the program if one lacks or is bad. */
void bench_take(struct bench_end *end, const char *what, unsigned int count, unsigned int size);
/* Post one batch and the buffers for it. */
void bench_post(struct bench_end *sender, struct bench_end *receiver,
	const struct bench_options *options);
/* Take all its completions; ends the program if one is missing or bad. */
void bench_reap(struct bench_end *sender, struct bench_end *receiver,
	const struct bench_options *options);

/* ---- machine.c: what the processor did ---- */

/* Time stamp counter, behind all instructions before it. */
uint64_t bench_tsc(void);
/* Cycles of the core for one of the TSC, measured now. */
double bench_core_ratio(void);
/* Instructions of one call, counted one by one: some thousand times slower. */
uint64_t bench_instructions(int (*call)(unsigned int), unsigned int argument);

#endif /* BENCH_H_ */
