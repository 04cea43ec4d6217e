/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LIVE_H_
#define LIVE_H_

/*
 * libdvq on queues of libibverbs and libmlx4, on a stepped adapter with the contract
 * checker: a device, memory, and pairs of connected QPs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dvq.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/verbs.h>

#include "vmlx4.h"

#define LIVE_BYTES 65536u
#define LIVE_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

struct live {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;              /* all access */
	uint8_t *mem;                   /* LIVE_BYTES */
};

/* One side of a connection, opened; with an SRQ it has no queue of its own. */
struct live_end {
	uint8_t port;                   /* 1 or 2, at the two ends of a cable */
	struct ibv_comp_channel *channel; /* does not block */
	struct ibv_cq *ibv_cq;
	struct ibv_qp *qp;
	struct dvq_sendq sq;
	struct dvq_rq rq;
	struct dvq_cq cq;
};

int live_setup(void **state);
int live_teardown(void **state);
#define cmocka_unit_test_live(f) cmocka_unit_test_setup_teardown(f, live_setup, live_teardown)

/* A segment at this offset of the memory. */
struct dvq_sge live_sge(const struct live *live, uint32_t offset, uint32_t len);
/* A QP in RESET and its CQ, opened. */
void live_open(struct live *live, struct live_end *end, enum ibv_qp_type type,
	const struct ibv_qp_cap *cap, struct ibv_srq *srq);
void live_close(struct live_end *end);
/* Connect two RC or UC QPs of the port, up to RTS. */
void live_connect(struct live *live, struct live_end *a, struct live_end *b);
/* Two RC QPs, connected. */
void live_pair(struct live *live, struct live_end *a, struct live_end *b);
/* The same, and the second one behind the other port: the packets cross the cable. */
void live_pair_over_wire(struct live *live, struct live_end *a, struct live_end *b);
/* Step until the next completion is there; it is taken. */
struct dvq_wc live_wait(struct live_end *end);
/* Nothing completes any more. */
void live_expect_none(struct live_end *end);

#endif /* LIVE_H_ */
