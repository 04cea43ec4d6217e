/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_OPEN_H_
#define DVQ_OPEN_H_

#include <stddef.h>
#include <stdint.h>

#include "dvq_cq.h"
#include "dvq_rq.h"
#include "dvq_sendq.h"
#include "dvq_sq.h"
#include "dvq_srq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_cq;
struct ibv_qp;
struct ibv_srq;
struct ibv_wq;

/* What an old libmlx4 may not tell; see need and missing below. */
#define DVQ_UAR_OFFSET (1u << 0)  /**< uar_mmap_offset, for another process's mapping */
#define DVQ_ARM (1u << 1)         /**< where a CQ is armed */

#define DVQ_ERROR_SIZE 256        /**< bytes of a sentence that says what is wrong */

/**
 * What dvq_open() is to open: any combination of a QP, CQs, an SRQ and a WQ. Members
 * left NULL are not wanted; zero the structure before filling it, as members will be
 * added.
 */
struct dvq_open_request {
	struct ibv_qp *qp;
	struct dvq_sq *sq;       /**< out: the send queue of @ref qp as packed blocks, or NULL */
	struct dvq_rq *qp_rq;    /**< out: the receive queue of @ref qp, or NULL */
	struct ibv_cq *ibv_cq;
	struct dvq_cq *cq;       /**< out: @ref ibv_cq */
	struct ibv_wq *wq;
	struct dvq_rq *rq;       /**< out: @ref wq */
	uint64_t uar_mmap_offset; /**< out, with @ref qp: of the UAR page in the cmd fd */
	struct dvq_sendq *sendq; /**< out: the send queue of @ref qp, one WQE per stride, or NULL */
	struct ibv_srq *ibv_srq;
	struct dvq_srq *srq;     /**< out: @ref ibv_srq */
	struct ibv_cq *ibv_recv_cq; /**< a second CQ, when receives have one of their own */
	struct dvq_cq *recv_cq;  /**< out: @ref ibv_recv_cq */
	uint32_t need;           /**< DVQ_UAR_OFFSET, DVQ_ARM: fail when libmlx4 lacks it */
	uint32_t missing;        /**< out: what of them libmlx4 does not tell */
	char error[DVQ_ERROR_SIZE]; /**< out, when it fails: what, why and what to do; else "" */
};

/**
 * Open queues created with libibverbs for direct use: one call of mlx4dv_init_obj()
 * for all objects of the request (two with a second CQ), then their views. From then on
 * these queues must not be used through verbs: no ibv_post_send(), ibv_post_recv(),
 * ibv_post_srq_recv(), ibv_poll_cq(), ibv_req_notify_cq(), ibv_resize_cq(). They stay
 * the caller's, to be destroyed with verbs; the views need no release.
 *
 * A packed SQ (sq) is not stamped: call dvq_sq_init() when the QP is ready to send; its
 * stride must be 64 bytes: create a raw QP with max_send_sge 1..3 and max_inline_data
 * at most 44. A sendq takes any stride and needs no more than a QP in RTS.
 *
 * A queue that was used before goes on where its record says, as if everything posted
 * had been completed; a send queue starts at index 0, so open it before its first WQE.
 *
 * @return 0; -EINVAL for a request that makes no sense or a destroyed object; -ENOTSUP
 * for a queue of another shape or a libmlx4 that does not tell what is needed;
 * -EOPNOTSUPP for an object of another provider; else what mlx4dv_init_obj() or, for an
 * SRQ, ibv_query_srq() said. No view was filled in when it is not 0.
 */
int dvq_open(struct dvq_open_request *req);

#ifdef __cplusplus
}
#endif

#endif /* DVQ_OPEN_H_ */
