/* SPDX-License-Identifier: BSD-3-Clause */

#include "program.h"
#include "srq.h"

void
shared_create(struct shared *shared, struct ibv_context *ctx, uint32_t sends, uint32_t buffers,
	uint32_t slot)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = buffers, .max_sge = 1 } };

	/* WQE numbers run from 0 to buffers: one of them is always free. */
	memory_open(&shared->memory, ctx, (size_t)(buffers + 1) * slot);
	shared->srq = must(ibv_create_srq(shared->memory.pd, &attr), "ibv_create_srq");
	shared->send_cq = create_cq(ctx, (int)sends);
	shared->recv_cq = create_cq(ctx, (int)buffers);
}

struct ibv_qp *
shared_create_qp(const struct shared *shared, uint32_t wqes)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .srq = shared->srq,
		.send_cq = shared->send_cq, .recv_cq = shared->recv_cq,
		.cap = { .max_send_wr = wqes, .max_send_sge = 1, .max_inline_data = 32 },
	};

	return must(ibv_create_qp(shared->memory.pd, &attr), "ibv_create_qp");
}

void
shared_destroy(struct shared *shared)
{
	must0(ibv_destroy_cq(shared->send_cq), "ibv_destroy_cq");
	must0(ibv_destroy_cq(shared->recv_cq), "ibv_destroy_cq");
	must0(ibv_destroy_srq(shared->srq), "ibv_destroy_srq");
	memory_close(&shared->memory);
}
