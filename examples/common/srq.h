/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_SRQ_H_
#define EXAMPLES_SRQ_H_

/* Many connected QPs and the verbs objects that they share: an SRQ, memory for it, a CQ. */

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs.h"

#define PAIRS_MAX 64u

struct shared {
	struct memory memory; /* a slot for each WQE of the SRQ, by its number */
	struct ibv_srq *srq;
	struct ibv_cq *cq;    /* of all, with room for what may be in flight */
	uint32_t pairs;
	/* RC QPs connected with each other; what arrives is in buffers of the SRQ. */
	struct {
		struct ibv_qp *sender, *receiver;
	} pair[PAIRS_MAX];
};

/* So many pairs; messages in flight of each, up to 32 bytes in a WQE; buffers of a size. */
void shared_create(struct shared *shared, struct ibv_context *ctx, uint32_t pairs,
	uint32_t window, uint32_t buffers, uint32_t slot);
void shared_destroy(struct shared *shared);

/* Which pair it is that sends with the QP of this number. */
uint32_t shared_pair_of(const struct shared *shared, uint32_t qpn);

#endif /* EXAMPLES_SRQ_H_ */
