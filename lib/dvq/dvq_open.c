/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <infiniband/mlx4dv.h>

#include "dvq_init.h"
#include "dvq_open.h"
#include "internal.h"

#define SRQ_WQES_MAX (1u << 16)  /* a WQE has a number of 16 bits */

/* What libmlx4 says of the objects of a request. */
struct opened {
	struct mlx4dv_qp qp;
	struct mlx4dv_cq cq, recv_cq;
	struct mlx4dv_srq srq;
	struct mlx4dv_rwq wq;
	struct ibv_srq_attr srq_attr;
	uint32_t srq_room;
};

#define FAIL(req, err, ...) \
	dvq_fail(&(const struct dvq_error){ (req)->error, sizeof((req)->error) }, err, __VA_ARGS__)

static bool
is_pow2(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* ---- the request ---- */

static int
check_request(struct dvq_open_request *req)
{
	if ((req->qp != NULL) !=
	    (req->sq != NULL || req->sendq != NULL || req->qp_rq != NULL))
		return FAIL(req, -EINVAL, "a QP and the view of its SQ or RQ go together");
	if (req->sq != NULL && req->sendq != NULL)
		return FAIL(req, -EINVAL, "sq and sendq are two views of one SQ; choose");
	if ((req->ibv_cq != NULL) != (req->cq != NULL))
		return FAIL(req, -EINVAL, "a CQ and its view go together");
	if ((req->ibv_recv_cq != NULL) != (req->recv_cq != NULL))
		return FAIL(req, -EINVAL, "a second CQ and its view go together");
	if (req->ibv_recv_cq != NULL && req->ibv_recv_cq == req->ibv_cq)
		return FAIL(req, -EINVAL, "two views of one CQ: leave the second one NULL");
	if ((req->ibv_srq != NULL) != (req->srq != NULL))
		return FAIL(req, -EINVAL, "an SRQ and its view go together");
	if ((req->wq != NULL) != (req->rq != NULL))
		return FAIL(req, -EINVAL, "a WQ and its view go together");
	if ((req->need & ~(DVQ_UAR_OFFSET | DVQ_ARM)) != 0)
		return FAIL(req, -EOPNOTSUPP, "need has the unknown bits 0x%x",
			    req->need & ~(DVQ_UAR_OFFSET | DVQ_ARM));
	if (req->qp == NULL && req->ibv_cq == NULL && req->ibv_recv_cq == NULL &&
	    req->ibv_srq == NULL && req->wq == NULL)
		return FAIL(req, -EINVAL, "nothing to open: set qp, ibv_cq, ibv_srq or wq");
	return 0;
}

static int
init_second_cq(struct dvq_open_request *req, struct opened *out)
{
	struct mlx4dv_obj obj = { .cq = { req->ibv_recv_cq, &out->recv_cq } };

	out->recv_cq.comp_mask = MLX4DV_CQ_MASK_UAR;
	return dvq_init_obj(&obj, MLX4DV_OBJ_CQ, req->error, sizeof(req->error));
}

static int
init_objects(struct dvq_open_request *req, struct opened *out)
{
	struct mlx4dv_obj obj = {
		.qp = { req->qp, &out->qp }, .cq = { req->ibv_cq, &out->cq },
		.srq = { req->ibv_srq, &out->srq }, .rwq = { req->wq, &out->wq },
	};
	uint64_t types = (req->qp != NULL ? MLX4DV_OBJ_QP : 0u) |
		(req->ibv_cq != NULL ? MLX4DV_OBJ_CQ : 0u) |
		(req->ibv_srq != NULL ? MLX4DV_OBJ_SRQ : 0u) |
		(req->wq != NULL ? MLX4DV_OBJ_RWQ : 0u);
	int ret = 0;

	memset(out, 0, sizeof(*out));
	out->qp.comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET;
	out->cq.comp_mask = MLX4DV_CQ_MASK_UAR;
	if (types != 0)
		ret = dvq_init_obj(&obj, types, req->error, sizeof(req->error));
	if (ret == 0 && req->ibv_recv_cq != NULL)
		ret = init_second_cq(req, out);
	return ret;
}

/* ---- what libmlx4 said ---- */

/*
 * libmlx4 takes a ring away with its queue, and then what is in the memory of a
 * destroyed object may still look like one.
 */
static int
check_there(struct dvq_open_request *req, const char *name, uint32_t number,
	    const void *ring, const volatile void *record)
{
	uint32_t dword;

	if (dvq_read_memory(&dword, ring, sizeof(dword)) == 0 &&
	    dvq_read_memory(&dword, (const void *)(uintptr_t)record, sizeof(dword)) == 0)
		return 0;
	return FAIL(req, -EINVAL, "the memory of %s 0x%06x is gone: was it destroyed?", name,
		    number);
}

static int
check_sq(struct dvq_open_request *req, const struct mlx4dv_qp *qp)
{
	uint32_t headroom = DVQ_SQ_PREFETCH / DVQ_SQ_BB_SIZE + 1;

	if (qp->sq.wqe_shift != DVQ_SQ_BB_SHIFT)
		return FAIL(req, -ENOTSUP,
			    "QP 0x%06x: SQ stride of %u bytes, only %u works; create it with "
			    "max_send_sge 1 and max_inline_data 0, or open it as a sendq",
			    req->qp->qp_num, 1u << qp->sq.wqe_shift, DVQ_SQ_BB_SIZE);
	if (!is_pow2(qp->sq.wqe_cnt) || qp->sq.wqe_cnt <= headroom + DVQ_WQE_MAX_BLOCKS ||
	    qp->sq.wqe_cnt > UINT16_MAX)
		return FAIL(req, -ENOTSUP,
			    "QP 0x%06x: SQ of %u blocks, want a power of two, 64 to 32768; "
			    "change max_send_wr", req->qp->qp_num, qp->sq.wqe_cnt);
	return 0;
}

/* Strides that the prefetcher may have read already, as libmlx4 counts them. */
static uint32_t
spare_strides(const struct mlx4dv_qp *qp)
{
	return (DVQ_SQ_PREFETCH >> qp->sq.wqe_shift) + 1;
}

static int
check_sendq(struct dvq_open_request *req, const struct mlx4dv_qp *qp)
{
	if (qp->sq.wqe_shift < DVQ_SQ_BB_SHIFT || qp->sq.wqe_shift > 10 ||
	    !is_pow2(qp->sq.wqe_cnt) || qp->sq.wqe_cnt <= spare_strides(qp) ||
	    qp->sq.wqe_cnt > UINT16_MAX)
		return FAIL(req, -ENOTSUP,
			    "QP 0x%06x: SQ of %u strides of 2^%d bytes; want a power of two up "
			    "to 32768 of 64 to 1024 bytes; change max_send_wr",
			    req->qp->qp_num, qp->sq.wqe_cnt, qp->sq.wqe_shift);
	return 0;
}

static int
check_qp(struct dvq_open_request *req, const struct mlx4dv_qp *qp)
{
	int ret = 0;

	if (qp->buf.buf == NULL || qp->sdb == NULL)
		return FAIL(req, -ENOTSUP, "QP 0x%06x: libmlx4 reports no buffer or doorbell",
			    req->qp->qp_num);
	if (req->qp_rq != NULL && (qp->rdb == NULL || qp->rq.wqe_shift < 4 ||
				   !is_pow2(qp->rq.wqe_cnt)))
		return FAIL(req, -ENOTSUP, "QP 0x%06x: no receive queue (%u WQEs)%s",
			    req->qp->qp_num, qp->rq.wqe_cnt,
			    req->qp->srq != NULL ? "; it receives from its SRQ" : "");
	if (req->sendq != NULL)
		ret = check_sendq(req, qp);
	else if (req->sq != NULL)
		ret = check_sq(req, qp);
	if (ret != 0)
		return ret;
	return check_there(req, "QP", req->qp->qp_num, qp->buf.buf,
			   req->qp_rq != NULL ? qp->rdb : qp->buf.buf);
}

static int
check_cq(struct dvq_open_request *req, const struct mlx4dv_cq *cq)
{
	if (cq->cqe_size != 32 && cq->cqe_size != 64)
		return FAIL(req, -ENOTSUP, "CQ 0x%06x: CQE of %d bytes, want 32 or 64",
			    cq->cqn, cq->cqe_size);
	if (!is_pow2(cq->cqe_cnt))
		return FAIL(req, -ENOTSUP, "CQ 0x%06x: %u entries, want a power of two",
			    cq->cqn, cq->cqe_cnt);
	return check_there(req, "CQ", cq->cqn, cq->buf.buf, cq->set_ci_db);
}

static int
check_wq(struct dvq_open_request *req, const struct mlx4dv_rwq *wq)
{
	if (wq->rdb == NULL || wq->buf.buf == NULL || wq->rq.wqe_shift < 4 ||
	    wq->rq.wqe_shift > 16 || !is_pow2(wq->rq.wqe_cnt) || wq->rq.wqe_cnt > 1u << 15)
		return FAIL(req, -ENOTSUP,
			    "WQ 0x%06x: %u WQEs of 2^%d bytes, want a power of two up to 32768; "
			    "change max_wr", req->wq->wq_num, wq->rq.wqe_cnt, wq->rq.wqe_shift);
	return check_there(req, "WQ", req->wq->wq_num, wq->buf.buf, wq->rdb);
}

/* Links from head to tail: as many WQEs are free, and the tail cannot be posted. */
static bool
count_free(const struct mlx4dv_srq *srq, uint32_t wqe_cnt, uint32_t *room)
{
	uint32_t at = (uint32_t)srq->head, n = 0;
	const struct dvq_srq_next_seg *wqe;

	for (; at != (uint32_t)srq->tail; n++) {
		if (at >= wqe_cnt || n >= wqe_cnt)
			return false;
		wqe = (const void *)((const uint8_t *)srq->buf.buf +
			((size_t)at << srq->wqe_shift));
		at = be16toh(wqe->next);
	}
	*room = n;
	return at < wqe_cnt;
}

/* libmlx4 does not tell how many WQEs there are: the kernel knows. */
static int
check_srq(struct dvq_open_request *req, struct opened *got)
{
	const struct mlx4dv_srq *srq = &got->srq;
	uint32_t handle = req->ibv_srq->handle, cnt;
	int ret = ibv_query_srq(req->ibv_srq, &got->srq_attr);

	if (ret != 0)
		return FAIL(req, ret > 0 ? -ret : -EINVAL, "ibv_query_srq() of SRQ %u failed: %s",
			    handle, strerror(ret > 0 ? ret : EINVAL));
	cnt = got->srq_attr.max_wr + 1;
	if (srq->buf.buf == NULL || srq->db == NULL || !is_pow2(cnt) || cnt > SRQ_WQES_MAX ||
	    srq->wqe_shift < 5 || srq->wqe_shift > 16 ||
	    (size_t)cnt << srq->wqe_shift > srq->buf.length)
		return FAIL(req, -ENOTSUP, "SRQ %u: %u WQEs of 2^%d bytes in %zu bytes; want a "
			    "power of two less one", handle, got->srq_attr.max_wr,
			    srq->wqe_shift, srq->buf.length);
	ret = check_there(req, "SRQ", handle, srq->buf.buf, srq->db);
	if (ret != 0)
		return ret;
	if (!count_free(srq, cnt, &got->srq_room))
		return FAIL(req, -ENOTSUP, "SRQ %u: its list of free WQEs, from %d to %d, is "
			    "broken", handle, srq->head, srq->tail);
	return 0;
}

/* All queues of a context share a UAR page: where a QP rings, a CQ is armed. */
static void *
uar_by_qp(const struct dvq_open_request *req, const struct opened *got, const struct ibv_cq *cq)
{
	if (req->qp == NULL || cq == NULL || cq->context != req->qp->context)
		return NULL;
	return (uint8_t *)got->qp.sdb - DVQ_UAR_SEND_DB;
}

/* An old libmlx4 leaves the bit of a member clear that it does not know. */
static int
check_missing(struct dvq_open_request *req, struct opened *got)
{
	req->missing = 0;
	if (req->qp != NULL && (got->qp.comp_mask & MLX4DV_QP_MASK_UAR_MMAP_OFFSET) == 0)
		req->missing |= DVQ_UAR_OFFSET;
	if ((got->cq.comp_mask & MLX4DV_CQ_MASK_UAR) == 0)
		got->cq.cq_uar = uar_by_qp(req, got, req->ibv_cq);
	if ((got->recv_cq.comp_mask & MLX4DV_CQ_MASK_UAR) == 0)
		got->recv_cq.cq_uar = uar_by_qp(req, got, req->ibv_recv_cq);
	if ((req->cq != NULL && got->cq.cq_uar == NULL) ||
	    (req->recv_cq != NULL && got->recv_cq.cq_uar == NULL))
		req->missing |= DVQ_ARM;
	if ((req->missing & req->need & DVQ_UAR_OFFSET) != 0)
		return FAIL(req, -ENOTSUP,
			    "QP 0x%06x: libmlx4 does not report the UAR offset; "
			    "install rdma-core 15 or later", req->qp->qp_num);
	if ((req->missing & req->need & DVQ_ARM) != 0)
		return FAIL(req, -ENOTSUP,
			    "CQ 0x%06x: libmlx4 does not report the UAR page, needed to arm it; "
			    "install rdma-core 15 or later, or open it together with a QP",
			    req->cq != NULL ? got->cq.cqn : got->recv_cq.cqn);
	return 0;
}

static int
check_opened(struct dvq_open_request *req, struct opened *got)
{
	int ret = 0;

	if (req->qp != NULL)
		ret = check_qp(req, &got->qp);
	if (ret == 0 && req->ibv_cq != NULL)
		ret = check_cq(req, &got->cq);
	if (ret == 0 && req->ibv_recv_cq != NULL)
		ret = check_cq(req, &got->recv_cq);
	if (ret == 0 && req->wq != NULL)
		ret = check_wq(req, &got->wq);
	if (ret == 0 && req->ibv_srq != NULL)
		ret = check_srq(req, got);
	return ret == 0 ? check_missing(req, got) : ret;
}

/* ---- the views ---- */

static void
fill_sq(struct dvq_sq *sq, const struct mlx4dv_qp *qp)
{
	*sq = (struct dvq_sq){
		.buf = (uint8_t *)qp->buf.buf + qp->sq.offset,
		.bb_cnt = qp->sq.wqe_cnt,
		.headroom = DVQ_SQ_PREFETCH / DVQ_SQ_BB_SIZE + 1,
		.db = qp->sdb,
		.qpn_be = qp->doorbell_qpn,
	};
}

static void
fill_sendq(struct dvq_sendq *sq, const struct mlx4dv_qp *qp)
{
	uint32_t stride = 1u << qp->sq.wqe_shift;
	uint32_t longest = DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT;

	*sq = (struct dvq_sendq){
		.buf = (uint8_t *)qp->buf.buf + qp->sq.offset,
		.cnt = qp->sq.wqe_cnt,
		.limit = qp->sq.wqe_cnt - spare_strides(qp),
		.max_bytes = stride < longest ? stride : longest,
		.db = qp->sdb,
		.qpn_be = qp->doorbell_qpn,
		.shift = (uint8_t)qp->sq.wqe_shift,
	};
}

static void
fill_rq(struct dvq_rq *rq, void *buf, int offset, uint32_t wqe_cnt, int wqe_shift, uint32_t *db,
	uint32_t number)
{
	uint32_t posted = be32toh(*db) & DVQ_RQ_DB_MASK;

	*rq = (struct dvq_rq){
		.buf = (uint8_t *)buf + offset,
		.wqe_cnt = wqe_cnt,
		.pi = posted,
		.ci = posted,
		.published = posted,
		.db = db,
		.stride_shift = (uint8_t)wqe_shift,
		/* The stride is max_sge, rounded up to a power of two by the kernel. */
		.max_sge = (uint16_t)(1u << (wqe_shift - 4)),
		.number = number,
	};
}

static void
fill_cq(struct dvq_cq *view, const struct mlx4dv_cq *cq)
{
	*view = (struct dvq_cq){
		.buf = cq->buf.buf,
		.cqe_cnt = cq->cqe_cnt,
		/* A CQ may have been used before: the record tells how far. */
		.ci = be32toh(*cq->set_ci_db) & DVQ_CQ_CI_MASK,
		.published = be32toh(*cq->set_ci_db) & DVQ_CQ_CI_MASK,
		.cqe_shift = cq->cqe_size == 64 ? 6 : 5,
		.valid_offset = cq->cqe_size == 64 ? 32 : 0,
		.set_ci_db = cq->set_ci_db,
		.arm_db = cq->arm_db,
		.uar = cq->cq_uar,
		.arm_sn = (uint32_t)cq->arm_sn,
		.cqn = cq->cqn,
	};
}

static void
fill_srq(struct dvq_srq *view, const struct opened *got, uint32_t number)
{
	const struct mlx4dv_srq *srq = &got->srq;
	uint32_t posted = be32toh(*srq->db) & DVQ_RQ_DB_MASK;

	*view = (struct dvq_srq){
		.buf = srq->buf.buf,
		.head = (uint32_t)srq->head,
		.tail = (uint32_t)srq->tail,
		.mask = got->srq_attr.max_wr,
		.pi = posted,
		/* What is not free is posted. */
		.ci = posted - (got->srq_attr.max_wr - got->srq_room),
		.published = posted,
		.db = srq->db,
		.stride_shift = (uint8_t)srq->wqe_shift,
		.max_sge = (uint16_t)got->srq_attr.max_sge,
		.number = number,
	};
	/* What the stride has room for is the most that the adapter looks at. */
	if (view->max_sge == 0 || view->max_sge > (1u << (srq->wqe_shift - 4)) - 1)
		view->max_sge = (uint16_t)((1u << (srq->wqe_shift - 4)) - 1);
}

int
dvq_open(struct dvq_open_request *req)
{
	struct opened got;
	int ret;

	if (req == NULL)
		return -EINVAL;
	req->error[0] = '\0';
	ret = check_request(req);
	if (ret == 0)
		ret = init_objects(req, &got);
	if (ret == 0)
		ret = check_opened(req, &got);
	if (ret != 0)
		return ret;

	if (req->sq != NULL)
		fill_sq(req->sq, &got.qp);
	if (req->sendq != NULL)
		fill_sendq(req->sendq, &got.qp);
	if (req->qp_rq != NULL)
		fill_rq(req->qp_rq, got.qp.buf.buf, got.qp.rq.offset, got.qp.rq.wqe_cnt,
			got.qp.rq.wqe_shift, got.qp.rdb, req->qp->qp_num);
	if (req->qp != NULL)
		req->uar_mmap_offset = (uint64_t)got.qp.uar_mmap_offset;
	if (req->cq != NULL)
		fill_cq(req->cq, &got.cq);
	if (req->recv_cq != NULL)
		fill_cq(req->recv_cq, &got.recv_cq);
	if (req->srq != NULL)
		fill_srq(req->srq, &got, req->ibv_srq->handle);
	if (req->rq != NULL)
		fill_rq(req->rq, got.wq.buf.buf, got.wq.rq.offset, got.wq.rq.wqe_cnt,
			got.wq.rq.wqe_shift, got.wq.rdb, req->wq->wq_num);
	return 0;
}
