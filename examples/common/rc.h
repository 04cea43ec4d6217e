/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_RC_H_
#define EXAMPLES_RC_H_

/* Reliable connections: QPs, and from RESET to RTS with each other's address. */

#include <stdint.h>

#include <infiniband/verbs.h>

/* With so many WQEs of one segment to send from, and to receive into. */
struct ibv_qp *create_rc(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t wqes);
/* Two QPs of this process. */
void connect_pair(struct ibv_qp *a, struct ibv_qp *b, uint64_t port);
/* One here, and one of the process that the socket leads to. */
void connect_over(int fd, struct ibv_qp *qp, uint64_t port);

#endif /* EXAMPLES_RC_H_ */
