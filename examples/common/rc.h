/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_RC_H_
#define EXAMPLES_RC_H_

/* Reliable connections: QPs, and from INIT to RTS with each other's address. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs.h"

/* The verbs objects of one end. */
struct rc {
	struct memory memory;
	struct ibv_cq *cq;        /* for both queues */
	struct ibv_qp *qp;
};

/* Queues of so many WQEs of one segment, and memory of a size. The QP is in INIT. */
void rc_create(struct rc *rc, struct ibv_context *ctx, unsigned long port, uint32_t wqes,
	size_t size);
void rc_destroy(struct rc *rc);

/* From RESET to INIT: receives may be posted. */
void to_init(struct ibv_qp *qp, unsigned long port);
/* Two QPs of this process. */
void connect_pair(struct ibv_qp *a, struct ibv_qp *b, unsigned long port);
/*
 * One here, and one of the process that is met at a socket of the file system. Both can
 * be sent to. Returns the socket, to be left with part().
 */
int connect_processes(const char *path, bool serving, struct ibv_qp *qp, unsigned long port);

#endif /* EXAMPLES_RC_H_ */
