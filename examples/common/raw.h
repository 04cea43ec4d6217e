/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_RAW_H_
#define EXAMPLES_RAW_H_

/* The verbs objects that send, or receive, raw Ethernet frames at a port. */

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs.h"

struct raw {
	uint8_t port;
	struct memory memory;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;                /* wq, table, flow: of one that receives */
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
};

/* For the port: so many WQEs, each with a slot of memory. It is ready to send. */
void raw_create_sender(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot);
/* The same to receive, but nothing comes before there is a rule. */
void raw_create_sink(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot);
/* The frames for this address. Others stay with the kernel. */
void raw_create_rule(struct raw *raw, const uint8_t mac[6]);
void raw_destroy(struct raw *raw);

#endif /* EXAMPLES_RAW_H_ */
