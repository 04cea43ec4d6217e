/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_SRQ_H_
#define EXAMPLES_SRQ_H_

/* The verbs objects that many QPs share: an SRQ, memory for it, and two CQs. */

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs.h"

struct shared {
	struct memory memory; /* a slot for each WQE of the SRQ, by its number */
	struct ibv_srq *srq;
	struct ibv_cq *send_cq, *recv_cq;
};

/* CQs for so many sends in flight, and for a completion of each buffer. */
void shared_create(struct shared *shared, struct ibv_context *ctx, uint32_t sends,
	uint32_t buffers, uint32_t slot);
/* An RC QP with so many WQEs to send from, which may hold 32 bytes of data. */
struct ibv_qp *shared_create_qp(const struct shared *shared, uint32_t wqes);
void shared_destroy(struct shared *shared);

#endif /* EXAMPLES_SRQ_H_ */
