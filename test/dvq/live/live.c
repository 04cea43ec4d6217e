/* SPDX-License-Identifier: BSD-3-Clause */

#include <fcntl.h>

#include "live.h"

#define STEPS 10000  /* timers of the transports run by steps, too */

int
live_setup(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct live *live = calloc(1, sizeof(*live));

	assert_non_null(live);
	assert_non_null(list);
	assert_non_null(list[0]);
	live->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	assert_non_null(live->ctx);
	live->pd = ibv_alloc_pd(live->ctx);
	assert_non_null(live->pd);
	live->mem = aligned_alloc(4096, LIVE_BYTES);
	assert_non_null(live->mem);
	memset(live->mem, 0, LIVE_BYTES);
	live->mr = ibv_reg_mr(live->pd, live->mem, LIVE_BYTES, LIVE_ALL);
	assert_non_null(live->mr);
	*state = live;
	return 0;
}

int
live_teardown(void **state)
{
	struct live *live = *state;

	assert_int_equal(ibv_dereg_mr(live->mr), 0);
	assert_int_equal(ibv_dealloc_pd(live->pd), 0);
	assert_int_equal(ibv_close_device(live->ctx), 0);
	free(live->mem);
	free(live);
	return 0;
}

struct dvq_sge
live_sge(const struct live *live, uint32_t offset, uint32_t len)
{
	return (struct dvq_sge){ .addr = (uintptr_t)live->mem + offset,
		.lkey = live->mr->lkey, .len = len };
}

void
live_open(struct live *live, struct live_end *end, enum ibv_qp_type type,
	const struct ibv_qp_cap *cap, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = { .qp_type = type, .cap = *cap, .srq = srq };
	struct dvq_open_request req = { .sendq = &end->sq, .cq = &end->cq,
		.qp_rq = srq == NULL ? &end->rq : NULL, .need = DVQ_ARM | DVQ_UAR_OFFSET };

	end->port = 1;
	end->channel = ibv_create_comp_channel(live->ctx);
	assert_non_null(end->channel);
	assert_int_equal(fcntl(end->channel->fd, F_SETFL, O_NONBLOCK), 0);
	end->ibv_cq = ibv_create_cq(live->ctx, 255, NULL, end->channel, 0);
	assert_non_null(end->ibv_cq);
	attr.send_cq = attr.recv_cq = end->ibv_cq;
	end->qp = ibv_create_qp(live->pd, &attr);
	assert_non_null(end->qp);
	req.qp = end->qp;
	req.ibv_cq = end->ibv_cq;
	if (dvq_open(&req) != 0)
		fail_msg("%s", req.error);
}

void
live_close(struct live_end *end)
{
	assert_int_equal(ibv_destroy_qp(end->qp), 0);
	assert_int_equal(ibv_destroy_cq(end->ibv_cq), 0);
	if (end->channel != NULL)
		assert_int_equal(ibv_destroy_comp_channel(end->channel), 0);
}

static void
to_rts(struct live *live, const struct live_end *end, const struct live_end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = end->port,
		.qp_access_flags = LIVE_ALL & ~IBV_ACCESS_MW_BIND };
	int rc = end->qp->qp_type == IBV_QPT_RC;

	if (!rc)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
		IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 0x123456, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = end->port, .grh = { .hop_limit = 1 } },
	};
	assert_int_equal(ibv_query_gid(live->ctx, peer->port, 0, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
		IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = 0x123456, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 1, .max_rd_atomic = 4 };
	assert_int_equal(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
		(rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_MAX_QP_RD_ATOMIC : 0)), 0);
}

void
live_connect(struct live *live, struct live_end *a, struct live_end *b)
{
	to_rts(live, a, b);
	to_rts(live, b, a);
}

static void
pair(struct live *live, struct live_end *a, struct live_end *b, uint8_t port_of_b)
{
	const struct ibv_qp_cap cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4,
		.max_recv_sge = 2, .max_inline_data = 200 };

	live_open(live, a, IBV_QPT_RC, &cap, NULL);
	live_open(live, b, IBV_QPT_RC, &cap, NULL);
	b->port = port_of_b;
	live_connect(live, a, b);
}

void
live_pair(struct live *live, struct live_end *a, struct live_end *b)
{
	pair(live, a, b, 1);
}

void
live_pair_over_wire(struct live *live, struct live_end *a, struct live_end *b)
{
	pair(live, a, b, 2);
}

struct dvq_wc
live_wait(struct live_end *end)
{
	struct dvq_wc wc;
	int i;

	for (i = 0; i < STEPS; i++) {
		if (dvq_cq_poll_batch(&end->cq, &wc, 1) == 1)
			return wc;
		vmlx4_step(0);
	}
	fail_msg("no completion at QP 0x%06x", end->qp->qp_num);
	return wc;
}

void
live_expect_none(struct live_end *end)
{
	struct dvq_wc wc;
	int i;

	for (i = 0; i < 10; i++)
		vmlx4_step(0);
	assert_int_equal(dvq_cq_poll_batch(&end->cq, &wc, 1), 0);
}
