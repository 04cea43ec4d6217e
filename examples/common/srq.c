/* SPDX-License-Identifier: BSD-3-Clause */

#include <err.h>

#include "rc.h"
#include "srq.h"

static struct ibv_qp *
create_qp(const struct shared *shared, uint32_t wqes)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .srq = shared->srq,
		.send_cq = shared->cq, .recv_cq = shared->cq,
		.cap = { .max_send_wr = wqes, .max_send_sge = 1, .max_inline_data = 32 },
	};
	struct ibv_qp *qp = must(ibv_create_qp(shared->memory.pd, &attr), "ibv_create_qp");

	to_init(qp, 1);
	return qp;
}

void
shared_create(struct shared *shared, struct ibv_context *ctx, uint32_t pairs, uint32_t window,
	uint32_t buffers, uint32_t slot)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = buffers, .max_sge = 1 } };
	uint32_t i;

	/* WQE numbers run from 0 to buffers: one of them is always free. */
	memory_open(&shared->memory, ctx, (size_t)(buffers + 1) * slot);
	shared->srq = must(ibv_create_srq(shared->memory.pd, &attr), "ibv_create_srq");
	shared->cq = create_cq(ctx, pairs * window + buffers);
	shared->pairs = pairs;
	for (i = 0; i < pairs; i++) {
		shared->pair[i].sender = create_qp(shared, window);
		shared->pair[i].receiver = create_qp(shared, 1); /* it does not send */
		connect_pair(shared->pair[i].sender, shared->pair[i].receiver, 1);
	}
}

void
shared_destroy(struct shared *shared)
{
	uint32_t i;

	for (i = 0; i < shared->pairs; i++) {
		must0(ibv_destroy_qp(shared->pair[i].sender), "ibv_destroy_qp");
		must0(ibv_destroy_qp(shared->pair[i].receiver), "ibv_destroy_qp");
	}
	must0(ibv_destroy_cq(shared->cq), "ibv_destroy_cq");
	must0(ibv_destroy_srq(shared->srq), "ibv_destroy_srq");
	memory_close(&shared->memory);
}

uint32_t
shared_pair_of(const struct shared *shared, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < shared->pairs; i++)
		if (shared->pair[i].sender->qp_num == qpn)
			return i;
	errx(1, "a completion of QP 0x%06x, which does not send", qpn);
}
