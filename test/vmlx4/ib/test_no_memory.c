/* SPDX-License-Identifier: BSD-3-Clause */

/* The step to RTS takes memory, of which there is none left. */

#include <errno.h>
#include <rdma/ib_user_verbs.h>

#include "bed.h"
#include "uverbs/uverbs.h"

#define SEND 0x0au
#define PSN 0x4321u

static bool no_memory;

/* In place of libc's: --wrap. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *
__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

/* As after a new QP's first steps: connected, and not in RTS before. */
static void
back_to_rtr(struct bed *bed)
{
	struct vmlx4_qp *qp = bed->a.qp;
	struct vmlx4_ib_attr attr = *vmlx4_ib_attr(qp->ib);

	vmlx4_ib_reset(qp);
	vmlx4_ib_free(qp->ib);
	qp->ib = vmlx4_ib_new(qp);
	assert_non_null(qp->ib);
	*vmlx4_ib_attr(qp->ib) = attr;
	qp->state = IBV_QPS_RTR;
	vmlx4_ib_rtr(qp);
}

static int
modify_to_rts(struct bed *bed)
{
	const struct ib_uverbs_modify_qp request = {
		.qp_handle = bed->a.qp->obj.handle,
		.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 2, .rnr_retry = 2,
		.sq_psn = PSN, .max_rd_atomic = 4,
	};
	const struct vmlx4_cmd cmd = { .in = &request, .in_len = sizeof(request) };

	return vmlx4_cmd_modify_qp(bed->card.ctx, &cmd);
}

static void
test_without_memory_the_qp_stays_where_it_is(void **state)
{
	struct bed *bed = bed_new(IBV_QPT_RC, 2);
	struct vmlx4_obj *by_handle[1] = { &bed->a.qp->obj };
	struct bed_wr wr = { .opcode = SEND, .flags = SIGNALED, .sges = 1,
		.sge = { { bed->a.memory, 100 } } };

	(void)state;
	bed->a.qp->real = bed->a.qp;
	bed->card.ctx->by_handle = by_handle;
	bed->card.ctx->handle_room = 1;
	back_to_rtr(bed);
	no_memory = true;
	assert_int_equal(modify_to_rts(bed), -ENOMEM);
	no_memory = false;
	assert_int_equal(bed->a.qp->state, IBV_QPS_RTR);
	assert_int_not_equal(vmlx4_ib_attr(bed->a.qp->ib)->sq_psn, PSN);
	assert_int_equal(bed_event(bed), 0xff);
	/* Later there is some. */
	bed->b.qp->ib->rx.psn = PSN;
	assert_int_equal(modify_to_rts(bed), 0);
	assert_int_equal(bed->a.qp->state, IBV_QPS_RTS);
	bed_recv(&bed->b, bed->b.memory, 100);
	bed_post(&bed->a, &wr);
	bed_step(bed);
	bed_sent(&bed->a, SEND, 0);
	bed_received(&bed->b, 0x01, 100); /* RECV of a SEND */
	bed->card.ctx->by_handle = NULL;
	bed->card.ctx->handle_room = 0;
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_memory_the_qp_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
