/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/* The receive WQE at hand, and its completion. */

struct vmlx4_srq *
vmlx4_ib_xrc_srq(const struct vmlx4_qp *qp, uint32_t srqn)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_srq *srq = NULL;

	if (adapter->srq_table != NULL && srqn < VMLX4_SRQ_TABLE)
		srq = adapter->srq_table[srqn];
	return srq != NULL && srq->cq != NULL && srq->xrcd != NULL && qp->xrcd != NULL &&
		srq->xrcd->xrcdn == qp->xrcd->xrcdn ? srq : NULL;
}

/* NULL: its SRQ is gone, and with it who would read of it. */
static struct vmlx4_cq *
recv_cq(const struct vmlx4_qp *qp)
{
	const struct vmlx4_srq *srq;

	if (qp->qp_type != IBV_QPT_XRC_RECV)
		return qp->recv_cq;
	srq = vmlx4_ib_xrc_srq(qp, qp->ib->rx.srqn);
	return srq != NULL ? srq->cq : NULL;
}

bool
vmlx4_ib_recv_begin(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib *ib = qp->ib;

	if (ib->rx.has_wqe)
		return true;
	if (qp->qp_type == IBV_QPT_XRC_RECV ? !vmlx4_srq_take(qp->srq, &ib->rx.wqe) :
	    !vmlx4_recv_take(qp, &ib->rx.wqe))
		return false;
	ib->rx.srqn = packet->srqn;
	ib->rx.has_wqe = true;
	ib->rx.received = 0;
	return true;
}

uint8_t
vmlx4_ib_recv_data(struct vmlx4_qp *qp, const uint8_t *data, uint32_t size)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_ib_where where = { "RQ", qp->qpn, ib->rx.wqe.index };
	uint8_t syndrome = 0;

	if (adapter->faults != NULL && ib->rx.received == 0)
		syndrome = vmlx4_fault_wqe(qp->port, qp->qpn, false);
	if (syndrome == 0)
		syndrome = vmlx4_ib_scatter(adapter, ib->rx.wqe.pd, ib->rx.wqe.seg,
			ib->rx.wqe.max_sge, ib->rx.received, data, size, &where);
	ib->rx.received += size;
	return syndrome;
}

bool
vmlx4_ib_recv_complete(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet,
	uint8_t opcode, uint32_t byte_cnt)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_cq *cq = recv_cq(qp);
	struct vmlx4_hw_cqe *cqe = cq != NULL ? vmlx4_cq_claim(cq) : NULL;
	uint32_t peer = ib->rx.srqn; /* not 0 of XRC */

	ib->rx.has_wqe = false;
	if (cqe == NULL) {
		qp->port->stats.rx_cq_overrun++;
		return false;
	}
	if (qp->qp_type == IBV_QPT_UD)
		peer = 0x80000000u | packet->src_qpn; /* behind a GRH, which is there always */
	memset(cqe, 0, offsetof(struct vmlx4_hw_cqe, owner_op));
	cqe->vlan_qpn = htobe32(qp->qpn | (packet->tagged ? VMLX4_HW_CQE_CVLAN : 0));
	cqe->rss_hash = htobe32((vmlx4_bth_what(packet->opcode) &
		(VMLX4_HAS_IMM | VMLX4_HAS_IETH)) != 0 ? packet->imm : 0);
	cqe->mlpath = htobe32(peer);
	cqe->sl_vid = htobe16(packet->vlan);
	/* The sender's MAC, in place of what InfiniBand has here [K]. */
	memcpy((uint8_t *)cqe + offsetof(struct vmlx4_hw_cqe, smac_hi), packet->smac, 6);
	cqe->byte_cnt = htobe32(byte_cnt);
	cqe->wqe_index = htobe16(ib->rx.wqe.index);
	if (packet->solicited)
		cq->solicited_pi = cq->pi + 1;
	vmlx4_cq_commit(cq, cqe, opcode);
	return true;
}

void
vmlx4_ib_recv_error(struct vmlx4_qp *qp, uint8_t syndrome)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_cq *cq = recv_cq(qp);

	ib->rx.has_wqe = false;
	qp->port->stats.rx_errors++;
	if (cq != NULL)
		vmlx4_cq_write_error_of(cq, qp->qpn, false, ib->rx.wqe.index, syndrome,
			ib->rx.srqn);
}

int
vmlx4_ib_recv_untold(const struct vmlx4_qp *qp)
{
	return vmlx4_ib_untold(recv_cq(qp));
}
