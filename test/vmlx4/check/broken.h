/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BROKEN_H_
#define BROKEN_H_

#include "card.h"

/*
 * A card whose driver breaks a rule of the contract on purpose: that rule is to
 * be named, and no other. A send queue on port 1, a receive queue that takes
 * what arrives at port 2, one CQ for both; the engine is stepped.
 */

struct broken {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *sq, *rq;
	struct vmlx4_flow *flow;
};

struct broken *broken_new(enum vmlx4_strict strict, uint32_t stride_shift);
void broken_free(struct broken *b);

/* What vmlx4_step() does, without the adapter that the library looks for. */
void step(struct broken *b);
/* Ring the send doorbell and run the engine, without the look at idle queues. */
void ring(struct broken *b);
/* So much time passes. */
void later(struct broken *b, uint64_t ns);
/* A frame of 60 bytes arrives at the receive queue. */
void receive(struct broken *b);

/* This rule was broken, once, and no other. Releases b. */
void reported(struct broken *b, enum vmlx4_rule rule);
/* No rule was broken. Releases b. */
void clean(struct broken *b);

#endif /* BROKEN_H_ */
