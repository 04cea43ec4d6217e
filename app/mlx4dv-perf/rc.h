/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PERF_RC_H_
#define PERF_RC_H_

/*
 * A reliable connection between two QPs of one port, with queues of their own or one
 * SRQ: what libdvq and libibverbs are measured on, each in a process of its own.
 */

#include <infiniband/verbs.h>

#include "perf.h"

#define RC_SIZE 64u            /* bytes of a message */
#define RC_CHAIN_MAX 32u
#define RC_IN_FLIGHT (PERF_CALLS * RC_CHAIN_MAX)

enum { RC_SEND, RC_RECV_POST, RC_POLL };
#define RC_SRQ 0x100u          /* both ends receive from it */

/* A case's kind: what, how many in one call, with an SRQ? */
#define RC_KIND(what, n, srq) ((unsigned int)(what) | (n) << 16 | (srq))
#define RC_WHAT(kind) ((kind) & 0xff)
#define RC_N(kind) ((kind) >> 16)

struct rc_end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct rc {
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_srq *srq;   /* or NULL */
	struct rc_end a, b;    /* a sends to b */
	uint8_t *area;         /* a slot of SLOT bytes for each message in flight, for each end */
	unsigned int kind, n;  /* of the case */
	unsigned int receives; /* posted and not used */
};

extern struct rc rc;

/* Of a subject: the same steps in the words of one library. */
struct rc_library {
	void (*opened)(void);
	void (*send)(unsigned int n);         /* a chain, its last one signalled */
	void (*post_receives)(unsigned int n);/* in one call or batch */
	unsigned int (*poll_sends)(void);     /* how many are done */
	unsigned int (*poll_receives)(unsigned int max);
};

void rc_start(int argc, char **argv);
void rc_end_all(void);
const char *rc_open(const struct perf_case *one, const struct perf_options *options,
	const struct rc_library *library);
void rc_close(void);
/* Work for the bursts of a case, and what is left to do behind them. */
void rc_prepare(unsigned int bursts);
void rc_finish(void);
uint8_t *rc_slot(unsigned int end, unsigned int number);


#endif /* PERF_RC_H_ */
