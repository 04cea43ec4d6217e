/* SPDX-License-Identifier: BSD-3-Clause */

#include "dvq_wc.h"

#define RECV(code) [DVQ_CQE_OP_RECV_##code]
#define SEND(code) [32 + DVQ_OP_##code]

const struct dvq_wc_kind dvq_wc_kinds[64] = {
	RECV(WRITE_IMM) = { IBV_WC_RECV_RDMA_WITH_IMM, DVQ_WC_IMM, 0, 0 },
	RECV(SEND) = { IBV_WC_RECV, 0, 0, 0 },
	RECV(SEND_IMM) = { IBV_WC_RECV, DVQ_WC_IMM, 0, 0 },
	RECV(SEND_INVAL) = { IBV_WC_RECV, DVQ_WC_INVAL, 0, 0 },
	[DVQ_CQE_OP_ERROR] = { IBV_WC_RECV, 0, 0, 1 },

	/* Not named by libmlx4 either: it calls a NOP and an LSO a send. */
	SEND(NOP) = { IBV_WC_SEND, DVQ_WC_SEND, 0, 0 },
	SEND(SEND_INVAL) = { IBV_WC_SEND, DVQ_WC_SEND, 0, 0 },
	SEND(RDMA_WRITE) = { IBV_WC_RDMA_WRITE, DVQ_WC_SEND, 0, 0 },
	SEND(RDMA_WRITE_IMM) = { IBV_WC_RDMA_WRITE, DVQ_WC_SEND, 0, 0 },
	SEND(SEND) = { IBV_WC_SEND, DVQ_WC_SEND, 0, 0 },
	SEND(SEND_IMM) = { IBV_WC_SEND, DVQ_WC_SEND, 0, 0 },
	SEND(LSO) = { IBV_WC_SEND, DVQ_WC_SEND, 0, 0 },
	SEND(RDMA_READ) = { IBV_WC_RDMA_READ, DVQ_WC_SEND, 0, 0 },
	SEND(ATOMIC_CAS) = { IBV_WC_COMP_SWAP, DVQ_WC_SEND, 8, 0 },
	SEND(ATOMIC_FAA) = { IBV_WC_FETCH_ADD, DVQ_WC_SEND, 8, 0 },
	SEND(MASKED_CAS) = { IBV_WC_COMP_SWAP, DVQ_WC_SEND, 8, 0 },
	SEND(MASKED_FAA) = { IBV_WC_FETCH_ADD, DVQ_WC_SEND, 8, 0 },
	SEND(BIND_MW) = { IBV_WC_BIND_MW, DVQ_WC_SEND, 0, 0 },
	SEND(LOCAL_INVAL) = { IBV_WC_LOCAL_INV, DVQ_WC_SEND, 0, 0 },
	[32 + DVQ_CQE_OP_ERROR] = { IBV_WC_SEND, DVQ_WC_SEND, 0, 1 },
};

static const struct {
	uint8_t syndrome;
	uint8_t status;
} statuses[] = {
	{ DVQ_SYNDROME_LOCAL_LENGTH, IBV_WC_LOC_LEN_ERR },
	{ DVQ_SYNDROME_LOCAL_QP_OP, IBV_WC_LOC_QP_OP_ERR },
	{ DVQ_SYNDROME_LOCAL_PROT, IBV_WC_LOC_PROT_ERR },
	{ DVQ_SYNDROME_WR_FLUSH, IBV_WC_WR_FLUSH_ERR },
	{ DVQ_SYNDROME_MW_BIND, IBV_WC_MW_BIND_ERR },
	{ DVQ_SYNDROME_BAD_RESP, IBV_WC_BAD_RESP_ERR },
	{ DVQ_SYNDROME_LOCAL_ACCESS, IBV_WC_LOC_ACCESS_ERR },
	{ DVQ_SYNDROME_REMOTE_INVAL_REQ, IBV_WC_REM_INV_REQ_ERR },
	{ DVQ_SYNDROME_REMOTE_ACCESS, IBV_WC_REM_ACCESS_ERR },
	{ DVQ_SYNDROME_REMOTE_OP, IBV_WC_REM_OP_ERR },
	{ DVQ_SYNDROME_TRANSPORT_RETRY, IBV_WC_RETRY_EXC_ERR },
	{ DVQ_SYNDROME_RNR_RETRY, IBV_WC_RNR_RETRY_EXC_ERR },
	{ DVQ_SYNDROME_REMOTE_ABORT, IBV_WC_REM_ABORT_ERR },
};

enum ibv_wc_status
dvq_syndrome_wc_status(uint8_t syndrome)
{
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].syndrome == syndrome)
			return (enum ibv_wc_status)statuses[i].status;
	return IBV_WC_GENERAL_ERR;
}

void
dvq_wc_error(const struct dvq_cqe *cqe, struct dvq_wc *wc)
{
	wc->status = (uint8_t)dvq_syndrome_wc_status(dvq_cqe_syndrome(cqe));
	wc->vendor_err = dvq_cqe_vendor_err(cqe);
	wc->byte_len = 0;
	wc->imm_be = 0;
	wc->src_qp = 0;
	wc->flags &= DVQ_WC_SEND;
}
