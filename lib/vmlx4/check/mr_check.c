/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/guard.h"
#include "../hca/internal.h"
#include "flight.h"
#include "mr_check.h"
#include "sq_ring.h"

static void
report(const struct vmlx4_mr *mr, const char *queue, uint32_t number, uint32_t index)
{
	vmlx4_violation(mr->obj.ctx->adapter, VMLX4_RULE_MR_IN_USE, queue, number, index,
		"the region with lkey %#x goes, and this WQE uses it", mr->lkey);
}

/* Posted and not executed: those that no flight knows of. */
static bool
sq_posts(const struct vmlx4_qp *qp, uint32_t lkey, uint32_t *index)
{
	static uint8_t linear[1024]; /* the adapter is locked */
	const struct vmlx4_sq *sq = &qp->sq;
	uint32_t i, size;

	for (i = 0; i < sq->wqe_cnt; i += size == 0 ? 1 : ((size - 1) >> sq->stride_shift) + 1) {
		const uint8_t *wqe = sq->buf +
			((size_t)((sq->ci + i) & (sq->wqe_cnt - 1)) << sq->stride_shift);

		if ((vmlx4_be32(wqe) >> 31) != (((sq->ci + i) & sq->wqe_cnt) != 0))
			return false;
		size = (vmlx4_be32(wqe + 4) & VMLX4_HW_DS) * 16;
		*index = sq->ci + i;
		if (vmlx4_wqe_uses(qp, vmlx4_sq_piece(sq, sq->ci + i, size, linear), size, lkey))
			return true;
	}
	return false;
}

static bool
rq_posts(const struct vmlx4_rq *rq, uint32_t lkey, uint32_t *index)
{
	uint16_t posted = (uint16_t)vmlx4_load_be32(rq->db), i;
	uint32_t s;

	if ((uint16_t)(posted - rq->ci) > rq->wqe_cnt)
		return false;
	for (i = rq->ci; i != posted; i++) {
		const uint8_t *segment = rq->buf +
			((size_t)(i & (rq->wqe_cnt - 1)) << rq->stride_shift);

		for (s = 0; s < rq->max_sge; s++, segment += 16) {
			*index = i;
			if (vmlx4_be32(segment + 4) == lkey)
				return true;
			if (vmlx4_be32(segment + 4) == VMLX4_HW_LKEY_INVALID)
				break;
		}
	}
	return false;
}

/* One WQE is enough. */
static void
use_run(void *arg)
{
	const struct vmlx4_mr *mr = arg;
	struct vmlx4_obj *obj;
	uint32_t index;

	TAILQ_FOREACH(obj, &mr->obj.ctx->objs, next) {
		const struct vmlx4_qp *qp = (const struct vmlx4_qp *)(const void *)obj;
		const struct vmlx4_wq *wq = (const struct vmlx4_wq *)(const void *)obj;
		const struct vmlx4_rq *rq = obj->type == VMLX4_QP ? &qp->rq : &wq->rq;

		if (obj->type != VMLX4_QP && obj->type != VMLX4_WQ)
			continue;
		if (obj->type == VMLX4_QP && qp->sq.live && qp->sq.buf != NULL &&
		    (vmlx4_flight_uses(qp, mr->lkey, &index) || sq_posts(qp, mr->lkey, &index))) {
			report(mr, "SQ", qp->qpn, index);
			return;
		}
		/* A peer may have promised to send no more: then they are in nobody's way. */
		if (obj->type == VMLX4_QP && qp->ib != NULL)
			continue;
		if (rq->live && rq->buf != NULL && rq_posts(rq, mr->lkey, &index)) {
			report(mr, "RQ", rq->qpn, index);
			return;
		}
	}
}

void
vmlx4_mr_check_use(struct vmlx4_mr *mr)
{
	if (vmlx4_strict(mr->obj.ctx->adapter))
		vmlx4_guarded(mr->obj.ctx->adapter, use_run, mr);
}
