/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/mlx4dv.h>

#include "dvq_open.h"

struct opened {
	struct mlx4dv_qp qp;
	struct mlx4dv_cq cq;
	struct mlx4dv_rwq wq;
};

__attribute__((format(printf, 3, 4)))
static int
fail(const struct dvq_open_request *req, int err, const char *format, ...)
{
	va_list ap;

	if (req->error != NULL && req->error_size != 0) {
		va_start(ap, format);
		vsnprintf(req->error, req->error_size, format, ap);
		va_end(ap);
	}
	return err;
}

static bool
is_pow2(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static int
check_request(const struct dvq_open_request *req)
{
	if ((req->qp != NULL) != (req->sq != NULL || req->qp_rq != NULL))
		return fail(req, -EINVAL, "a QP and the view of its SQ or RQ go together");
	if ((req->ibv_cq != NULL) != (req->cq != NULL))
		return fail(req, -EINVAL, "a CQ and its view go together");
	if ((req->wq != NULL) != (req->rq != NULL))
		return fail(req, -EINVAL, "a WQ and its view go together");
	if (req->qp == NULL && req->ibv_cq == NULL && req->wq == NULL)
		return fail(req, -EINVAL, "nothing to open: set qp, ibv_cq or wq");
	return 0;
}

static int
init_objects(const struct dvq_open_request *req, struct opened *out)
{
	struct mlx4dv_obj obj;
	uint64_t types = 0;
	int ret;

	memset(&obj, 0, sizeof(obj));
	memset(out, 0, sizeof(*out));
	if (req->qp != NULL) {
		types |= MLX4DV_OBJ_QP;
		obj.qp.in = req->qp;
		obj.qp.out = &out->qp;
		out->qp.comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET;
	}
	if (req->ibv_cq != NULL) {
		types |= MLX4DV_OBJ_CQ;
		obj.cq.in = req->ibv_cq;
		obj.cq.out = &out->cq;
		out->cq.comp_mask = MLX4DV_CQ_MASK_UAR;
	}
	if (req->wq != NULL) {
		types |= MLX4DV_OBJ_RWQ;
		obj.rwq.in = req->wq;
		obj.rwq.out = &out->wq;
	}
	/* libmlx4 returns a positive errno; some versions -1 with errno set. */
	errno = 0;
	ret = mlx4dv_init_obj(&obj, types);
	if (ret == 0)
		return 0;
	if (ret < 0)
		ret = errno != 0 ? errno : EINVAL;
	return fail(req, -ret, "mlx4dv_init_obj(%s%s%s) failed: %s; is it an mlx4 device?",
		    req->qp != NULL ? " QP" : "", req->ibv_cq != NULL ? " CQ" : "",
		    req->wq != NULL ? " WQ" : "", strerror(ret));
}

static int
check_sq(const struct dvq_open_request *req, const struct mlx4dv_qp *qp)
{
	uint32_t headroom = DVQ_SQ_PREFETCH / DVQ_SQ_BB_SIZE + 1;

	if (qp->sq.wqe_shift != DVQ_SQ_BB_SHIFT)
		return fail(req, -ENOTSUP,
			    "QP 0x%06x: SQ stride of %u bytes, only %u works; create it with "
			    "max_send_sge 1 and max_inline_data 0",
			    req->qp->qp_num, 1u << qp->sq.wqe_shift, DVQ_SQ_BB_SIZE);
	if (!is_pow2(qp->sq.wqe_cnt) || qp->sq.wqe_cnt <= headroom + DVQ_WQE_MAX_BLOCKS ||
	    qp->sq.wqe_cnt > UINT16_MAX)
		return fail(req, -ENOTSUP,
			    "QP 0x%06x: SQ of %u blocks, want a power of two, 64 to 32768; "
			    "change max_send_wr", req->qp->qp_num, qp->sq.wqe_cnt);
	if (qp->buf.buf == NULL || qp->sdb == NULL)
		return fail(req, -ENOTSUP, "QP 0x%06x: libmlx4 reports no buffer or doorbell",
			    req->qp->qp_num);
	return 0;
}

static int
check_qp(const struct dvq_open_request *req, const struct mlx4dv_qp *qp)
{
	if ((qp->comp_mask & MLX4DV_QP_MASK_UAR_MMAP_OFFSET) == 0)
		return fail(req, -ENOTSUP,
			    "QP 0x%06x: libmlx4 does not report the UAR offset; "
			    "install rdma-core 15 or later", req->qp->qp_num);
	if (req->qp_rq != NULL && (qp->rdb == NULL || qp->rq.wqe_shift < 4 ||
				   !is_pow2(qp->rq.wqe_cnt)))
		return fail(req, -ENOTSUP, "QP 0x%06x: no receive queue (%u WQEs)",
			    req->qp->qp_num, qp->rq.wqe_cnt);
	return req->sq != NULL ? check_sq(req, qp) : 0;
}

static int
check_cq(const struct dvq_open_request *req, const struct mlx4dv_cq *cq)
{
	if (cq->cqe_size != 32 && cq->cqe_size != 64)
		return fail(req, -ENOTSUP, "CQ 0x%06x: CQE of %d bytes, want 32 or 64",
			    cq->cqn, cq->cqe_size);
	if (!is_pow2(cq->cqe_cnt))
		return fail(req, -ENOTSUP, "CQ 0x%06x: %u entries, want a power of two",
			    cq->cqn, cq->cqe_cnt);
	if ((cq->comp_mask & MLX4DV_CQ_MASK_UAR) == 0 || cq->cq_uar == NULL)
		return fail(req, -ENOTSUP,
			    "CQ 0x%06x: libmlx4 does not report the UAR page, needed to arm it; "
			    "install rdma-core 15 or later", cq->cqn);
	return 0;
}

static int
check_wq(const struct dvq_open_request *req, const struct mlx4dv_rwq *wq)
{
	if (wq->rdb == NULL || wq->buf.buf == NULL || wq->rq.wqe_shift < 4 ||
	    wq->rq.wqe_shift > 16 || !is_pow2(wq->rq.wqe_cnt) || wq->rq.wqe_cnt > 1u << 15)
		return fail(req, -ENOTSUP,
			    "WQ 0x%06x: %u WQEs of 2^%d bytes, want a power of two up to 32768; "
			    "change max_wr", req->wq->wq_num, wq->rq.wqe_cnt, wq->rq.wqe_shift);
	return 0;
}

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
fill_rq(struct dvq_rq *rq, void *buf, int offset, uint32_t wqe_cnt, int wqe_shift, uint32_t *db)
{
	*rq = (struct dvq_rq){
		.buf = (uint8_t *)buf + offset,
		.wqe_cnt = wqe_cnt,
		.db = db,
		.stride_shift = (uint8_t)wqe_shift,
		/* The stride is max_sge, rounded up to a power of two by the kernel. */
		.max_sge = (uint16_t)(1u << (wqe_shift - 4)),
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
		.cqe_shift = cq->cqe_size == 64 ? 6 : 5,
		.valid_offset = cq->cqe_size == 64 ? 32 : 0,
		.set_ci_db = cq->set_ci_db,
		.arm_db = cq->arm_db,
		.uar = cq->cq_uar,
		.arm_sn = (uint32_t)cq->arm_sn,
		.cqn = cq->cqn,
	};
}

int
dvq_open(struct dvq_open_request *req)
{
	struct opened got;
	int ret;

	ret = check_request(req);
	if (ret == 0)
		ret = init_objects(req, &got);
	if (ret == 0 && req->qp != NULL)
		ret = check_qp(req, &got.qp);
	if (ret == 0 && req->ibv_cq != NULL)
		ret = check_cq(req, &got.cq);
	if (ret == 0 && req->wq != NULL)
		ret = check_wq(req, &got.wq);
	if (ret != 0)
		return ret;

	if (req->sq != NULL)
		fill_sq(req->sq, &got.qp);
	if (req->qp_rq != NULL)
		fill_rq(req->qp_rq, got.qp.buf.buf, got.qp.rq.offset, got.qp.rq.wqe_cnt,
			got.qp.rq.wqe_shift, got.qp.rdb);
	if (req->qp != NULL)
		req->uar_mmap_offset = (uint64_t)got.qp.uar_mmap_offset;
	if (req->cq != NULL)
		fill_cq(req->cq, &got.cq);
	if (req->rq != NULL)
		fill_rq(req->rq, got.wq.buf.buf, got.wq.rq.offset, got.wq.rq.wqe_cnt,
			got.wq.rq.wqe_shift, got.wq.rdb);
	return 0;
}
