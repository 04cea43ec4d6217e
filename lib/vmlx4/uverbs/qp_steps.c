/* SPDX-License-Identifier: BSD-3-Clause */

#include <infiniband/verbs.h>

#include "uverbs.h"

/*
 * Which states of a QP may follow each other, and which attributes such a step
 * takes, by the type of the QP: what the verbs core of the kernel asks of every
 * card. A step that is not in the table is illegal; every step takes STATE.
 */

enum kind { RAW, UD, UC, RC, XRC_SEND, XRC_RECV, KINDS };

struct step {
	bool legal;
	uint32_t required[KINDS], optional[KINDS];
};

#define PKEY_PORT (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define CONNECTS (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESPONDS (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RETRIES (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define MIGRATES (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)

/* The same for all that have a connection. */
#define CONNECTED(attrs) \
	[UC] = (attrs), [RC] = (attrs), [XRC_SEND] = (attrs), [XRC_RECV] = (attrs)

#define ANYTIME \
	[IBV_QPS_RESET] = { .legal = true }, \
	[IBV_QPS_ERR] = { .legal = true }

/* To RTS, from where the QP was connected already. */
#define RUNNING { \
	.legal = true, \
	.optional = { \
		[UD] = IBV_QP_CUR_STATE | IBV_QP_QKEY, \
		[UC] = IBV_QP_CUR_STATE | MIGRATES, \
		[RC] = IBV_QP_CUR_STATE | MIGRATES | IBV_QP_MIN_RNR_TIMER, \
		[XRC_SEND] = IBV_QP_CUR_STATE | MIGRATES, \
		[XRC_RECV] = IBV_QP_CUR_STATE | MIGRATES | IBV_QP_MIN_RNR_TIMER, \
	}, \
}

static const struct step steps[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_INIT] = {
			.legal = true,
			.required = {
				[RAW] = IBV_QP_PORT,
				[UD] = PKEY_PORT | IBV_QP_QKEY,
				CONNECTED(PKEY_PORT | IBV_QP_ACCESS_FLAGS),
			},
		},
	},
	[IBV_QPS_INIT] = {
		ANYTIME,
		[IBV_QPS_INIT] = {
			.legal = true,
			.optional = {
				[UD] = PKEY_PORT | IBV_QP_QKEY,
				CONNECTED(PKEY_PORT | IBV_QP_ACCESS_FLAGS),
			},
		},
		[IBV_QPS_RTR] = {
			.legal = true,
			.required = {
				[UC] = CONNECTS,
				[RC] = CONNECTS | RESPONDS,
				[XRC_SEND] = CONNECTS,
				[XRC_RECV] = CONNECTS | RESPONDS,
			},
			.optional = {
				[UD] = IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
				CONNECTED(IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
					IBV_QP_PKEY_INDEX),
			},
		},
	},
	[IBV_QPS_RTR] = {
		ANYTIME,
		[IBV_QPS_RTS] = {
			.legal = true,
			.required = {
				[UD] = IBV_QP_SQ_PSN,
				[UC] = IBV_QP_SQ_PSN,
				[RC] = RETRIES | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
				[XRC_SEND] = RETRIES | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
				[XRC_RECV] = IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
			},
			.optional = {
				[UD] = IBV_QP_CUR_STATE | IBV_QP_QKEY,
				[UC] = IBV_QP_CUR_STATE | MIGRATES,
				[RC] = IBV_QP_CUR_STATE | MIGRATES | IBV_QP_MIN_RNR_TIMER,
				[XRC_SEND] = IBV_QP_CUR_STATE | MIGRATES,
				[XRC_RECV] = IBV_QP_CUR_STATE | MIGRATES | IBV_QP_MIN_RNR_TIMER,
			},
		},
	},
	[IBV_QPS_RTS] = {
		ANYTIME,
		[IBV_QPS_RTS] = RUNNING,
		[IBV_QPS_SQD] = {
			.legal = true,
			.optional = {
				[UD] = IBV_QP_EN_SQD_ASYNC_NOTIFY,
				CONNECTED(IBV_QP_EN_SQD_ASYNC_NOTIFY),
			},
		},
	},
	[IBV_QPS_SQD] = {
		ANYTIME,
		[IBV_QPS_RTS] = RUNNING,
		[IBV_QPS_SQD] = {
			.legal = true,
			.optional = {
				[UD] = IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
				[UC] = IBV_QP_AV | MIGRATES | IBV_QP_PKEY_INDEX,
				[RC] = PKEY_PORT | IBV_QP_AV | RETRIES | RESPONDS | MIGRATES |
					IBV_QP_MAX_QP_RD_ATOMIC,
				[XRC_SEND] = PKEY_PORT | IBV_QP_AV | RETRIES | MIGRATES |
					IBV_QP_MAX_QP_RD_ATOMIC,
				[XRC_RECV] = PKEY_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | RESPONDS |
					MIGRATES,
			},
		},
	},
	[IBV_QPS_SQE] = {
		ANYTIME,
		[IBV_QPS_RTS] = {
			.legal = true,
			.optional = {
				[UD] = IBV_QP_CUR_STATE | IBV_QP_QKEY,
				[UC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS,
			},
		},
	},
	[IBV_QPS_ERR] = { ANYTIME },
};

static enum kind
kind_of(unsigned int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_UD:
		return UD;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_XRC_SEND:
		return XRC_SEND;
	case IBV_QPT_XRC_RECV:
		return XRC_RECV;
	default:
		return RAW;
	}
}

bool
vmlx4_qp_step_legal(unsigned int qp_type, uint32_t from, uint32_t to, uint32_t mask)
{
	const struct step *step = &steps[from][to];
	enum kind kind = kind_of(qp_type);
	uint32_t known = step->required[kind] | step->optional[kind] | IBV_QP_STATE;

	/* A program may say where it believes the QP to be, where that changes by itself. */
	if ((mask & IBV_QP_CUR_STATE) != 0 && (from < IBV_QPS_RTR || from == IBV_QPS_ERR))
		return false;
	return step->legal && (mask & step->required[kind]) == step->required[kind] &&
		(mask & ~known) == 0;
}

/* Both ends of an XRC connection are set up alike; what one does not have is passed over. */
uint32_t
vmlx4_qp_mask(unsigned int qp_type, uint32_t mask)
{
	if (qp_type == IBV_QPT_XRC_SEND)
		return mask & ~(uint32_t)RESPONDS;
	if (qp_type == IBV_QPT_XRC_RECV)
		return mask & ~(uint32_t)(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY);
	return mask;
}
