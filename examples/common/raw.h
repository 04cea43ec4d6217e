/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_RAW_H_
#define EXAMPLES_RAW_H_

/* The verbs objects that send raw Ethernet frames at a port, receive them at one, or both. */

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs.h"

struct raw {
	struct memory memory;             /* the slots of the sender, then those of the sink */
	struct ibv_cq *cq;                /* of both */
	struct ibv_qp *qp;                /* sends; NULL: nothing does */
	struct ibv_wq *wq;                /* receives, once the others are there; or NULL */
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *rss_qp;
	struct ibv_flow *flow;
	uint32_t ring, slot;
};

/* What both need, for rings of so many WQEs that have a slot of memory each. */
void raw_create(struct raw *raw, struct ibv_context *ctx, uint32_t ring, uint32_t slot);
/* Ready to send. */
void raw_add_sender(struct raw *raw, unsigned long port);
/* Ready to receive, but nothing comes before there is a rule. */
void raw_add_sink(struct raw *raw, unsigned long port);
/* The frames for this address. Others stay with the kernel. */
void raw_add_rule(struct raw *raw, unsigned long port, const uint8_t mac[6]);
void raw_destroy(struct raw *raw);

/* The slot of the WQE with this running index. */
uint8_t *raw_send_slot(const struct raw *raw, uint32_t index);
uint8_t *raw_sink_slot(const struct raw *raw, uint32_t index);

#endif /* EXAMPLES_RAW_H_ */
