/* SPDX-License-Identifier: BSD-3-Clause */

#include "dvq_wc.h"

/* By the last byte of a CQE: the bit of inline data, then the bit of a send. */
#define RECV(code, opcode, flags) \
	[DVQ_CQE_OP_RECV_##code] = { IBV_WC_##opcode, IBV_WC_SUCCESS, flags, 0 }, \
	[DVQ_CQE_OP_RECV_##code | DVQ_CQE_INLINE_SCATTER] = \
		{ IBV_WC_##opcode, IBV_WC_SUCCESS, (flags) | DVQ_WC_INLINE, 0 }
#define SEND(code, opcode, special) \
	[DVQ_OP_##code | DVQ_CQE_IS_SEND] = \
		{ IBV_WC_##opcode, IBV_WC_SUCCESS, DVQ_WC_SEND, special }

static_assert(offsetof(struct dvq_wc, status) == offsetof(struct dvq_wc, opcode) + 1, "kind");
static_assert(offsetof(struct dvq_wc, flags) == offsetof(struct dvq_wc, opcode) + 2, "kind");
static_assert(offsetof(struct dvq_wc, vendor_err) == offsetof(struct dvq_wc, opcode) + 3, "kind");

const struct dvq_wc_kind dvq_wc_kinds[128] = {
	RECV(WRITE_IMM, RECV_RDMA_WITH_IMM, DVQ_WC_IMM),
	RECV(SEND, RECV, 0),
	RECV(SEND_IMM, RECV, DVQ_WC_IMM),
	RECV(SEND_INVAL, RECV, DVQ_WC_INVAL),
	[DVQ_CQE_OP_ERROR] = { IBV_WC_RECV, IBV_WC_GENERAL_ERR, 0, 1 },

	/* Not named by libmlx4 either: it calls a NOP and an LSO a send. */
	SEND(NOP, SEND, 0),
	SEND(LSO, SEND, 0),
	SEND(SEND_INVAL, SEND, 0),
	SEND(SEND, SEND, 0),
	SEND(SEND_IMM, SEND, 0),
	SEND(RDMA_WRITE, RDMA_WRITE, 0),
	SEND(RDMA_WRITE_IMM, RDMA_WRITE, 0),
	SEND(RDMA_READ, RDMA_READ, 0),
	SEND(ATOMIC_CAS, COMP_SWAP, 1),
	SEND(ATOMIC_FAA, FETCH_ADD, 1),
	SEND(MASKED_CAS, COMP_SWAP, 1),
	SEND(MASKED_FAA, FETCH_ADD, 1),
	SEND(BIND_MW, BIND_MW, 0),
	SEND(LOCAL_INVAL, LOCAL_INV, 0),
	[DVQ_CQE_OP_ERROR | DVQ_CQE_IS_SEND] =
		{ IBV_WC_SEND, IBV_WC_GENERAL_ERR, DVQ_WC_SEND, 1 },
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
dvq_wc_special(const struct dvq_cqe *cqe, struct dvq_wc *wc)
{
	wc->vendor_err = 0;
	wc->byte_len = 8;
	if (!dvq_cqe_is_error(cqe))
		return;
	wc->status = (uint8_t)dvq_syndrome_wc_status(dvq_cqe_syndrome(cqe));
	wc->vendor_err = dvq_cqe_vendor_err(cqe);
	wc->byte_len = 0;
	wc->imm_be = 0;
	wc->remote = 0;
}
