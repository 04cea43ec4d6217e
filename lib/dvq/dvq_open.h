/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_OPEN_H_
#define DVQ_OPEN_H_

#include <stddef.h>
#include <stdint.h>

#include "dvq_cq.h"
#include "dvq_rq.h"
#include "dvq_sq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_cq;
struct ibv_qp;
struct ibv_wq;

/**
 * What dvq_open() is to open: any combination of a QP, a CQ and a WQ. Members
 * left NULL are not wanted; zero the structure before filling it, as members
 * will be added.
 */
struct dvq_open_request {
	struct ibv_qp *qp;
	struct dvq_sq *sq;       /**< out: the send queue of @ref qp, or NULL */
	struct dvq_rq *qp_rq;    /**< out: the receive queue of @ref qp, or NULL */
	struct ibv_cq *ibv_cq;
	struct dvq_cq *cq;       /**< out: @ref ibv_cq */
	struct ibv_wq *wq;
	struct dvq_rq *rq;       /**< out: @ref wq */
	uint64_t uar_mmap_offset; /**< out, with @ref qp: of the UAR page in the cmd fd */
	char *error;             /**< out, when it fails: what, why and what to do */
	size_t error_size;       /**< bytes of @ref error; 0 when not wanted */
};

/**
 * Open queues created with libibverbs for direct use: one call of
 * mlx4dv_init_obj() for all objects of the request, then their views. An opened
 * CQ must not be polled with ibv_poll_cq() any more. The queues stay the
 * caller's, to be destroyed with verbs; the views need no release.
 *
 * The SQ is not stamped: call dvq_sq_init() when the QP is ready to send. On a
 * QP of which only the SQ is used the stride must be 64 bytes: create it with
 * max_send_sge 1..3 and max_inline_data at most 44.
 *
 * @return 0; -EINVAL for a request that makes no sense; -ENOTSUP for a queue of
 * another shape or a libmlx4 that does not report what is needed; else what
 * mlx4dv_init_obj() said. Nothing was filled in when it is not 0.
 */
int dvq_open(struct dvq_open_request *req);

#ifdef __cplusplus
}
#endif

#endif /* DVQ_OPEN_H_ */
