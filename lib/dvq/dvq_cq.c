/* SPDX-License-Identifier: BSD-3-Clause */

#include "dvq_cq.h"

static const struct {
	uint8_t code;
	const char *text;
} syndromes[] = {
	{ DVQ_SYNDROME_LOCAL_LENGTH, "local length error" },
	{ DVQ_SYNDROME_LOCAL_QP_OP, "local QP operation error (malformed WQE)" },
	{ DVQ_SYNDROME_LOCAL_PROT, "local protection error (lkey does not cover the buffer)" },
	{ DVQ_SYNDROME_WR_FLUSH, "flushed: the queue was in error" },
	{ DVQ_SYNDROME_MW_BIND, "memory window bind error" },
	{ DVQ_SYNDROME_BAD_RESP, "bad response" },
	{ DVQ_SYNDROME_LOCAL_ACCESS, "local access error" },
	{ DVQ_SYNDROME_REMOTE_INVAL_REQ, "remote: invalid request" },
	{ DVQ_SYNDROME_REMOTE_ACCESS, "remote access error" },
	{ DVQ_SYNDROME_REMOTE_OP, "remote operation error" },
	{ DVQ_SYNDROME_TRANSPORT_RETRY, "transport retries exceeded" },
	{ DVQ_SYNDROME_RNR_RETRY, "receiver-not-ready retries exceeded" },
	{ DVQ_SYNDROME_REMOTE_ABORT, "remote aborted" },
};

const char *
dvq_syndrome_str(uint8_t syndrome)
{
	size_t i;

	for (i = 0; i < sizeof(syndromes) / sizeof(syndromes[0]); i++)
		if (syndromes[i].code == syndrome)
			return syndromes[i].text;
	return "unknown syndrome";
}
