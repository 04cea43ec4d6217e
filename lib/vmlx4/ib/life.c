/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "../hca/hca.h"

/* The place of the transports: a QP keeps its attributes, its queues rest. */

struct vmlx4_ib {
	struct vmlx4_ib_attr attr;
};

struct vmlx4_ib *
vmlx4_ib_new(struct vmlx4_qp *qp)
{
	(void)qp;
	return vmlx4_zalloc(sizeof(struct vmlx4_ib));
}

void
vmlx4_ib_free(struct vmlx4_ib *ib)
{
	free(ib);
}

struct vmlx4_ib_attr *
vmlx4_ib_attr(struct vmlx4_ib *ib)
{
	return &ib->attr;
}

void
vmlx4_ib_reset(struct vmlx4_qp *qp)
{
	vmlx4_sq_reset(qp);
	vmlx4_rq_reset(&qp->rq);
}

void
vmlx4_ib_rtr(struct vmlx4_qp *qp)
{
	vmlx4_rq_ready(&qp->rq);
}

void
vmlx4_ib_rts(struct vmlx4_qp *qp)
{
	(void)qp;
}

void
vmlx4_ib_sqd(struct vmlx4_qp *qp, bool notify)
{
	(void)qp;
	(void)notify;
}

void
vmlx4_ib_error(struct vmlx4_qp *qp)
{
	vmlx4_rq_error(&qp->rq);
}
