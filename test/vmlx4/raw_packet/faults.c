/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects in use, queues through RESET, keys that are none. */

#include <dlfcn.h>

#include "raw_packet.h"

static void
objects_in_use_stay(struct end *a, struct end *b)
{
	CHECK_EQ(ibv_destroy_cq(a->recv_cq), EBUSY);
	CHECK_EQ(ibv_destroy_qp(a->qp), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(a->pd), EBUSY);
	ping(a, b);
	ping(b, a);
}

/* Through RESET and back, with work posted and completions not polled. */
static void
qp_cycles(struct end *a, struct end *b)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->area, .length = 100, .lkey = a->mr->lkey };
	struct ibv_wc wc;
	unsigned int i, j;

	for (i = 0; i < 50; i++) {
		fill(a->area, 100, b, i);
		for (j = 0; j < i; j++) {
			post_recv(b, j);
			post_send(a, &sge, 1, IBV_SEND_SIGNALED);
		}
		if (i % 2 == 0)
			advance();
		to_reset(a);
		to_reset(b);
		CHECK_EQ(ibv_poll_cq(a->send_cq, 1, &wc), 0);
		CHECK_EQ(ibv_poll_cq(b->recv_cq, 1, &wc), 0);
		to_ready(b);
		to_ready(a);
		ping(a, b);
		ping(b, a);
	}
}

/* What the checker counted of one rule, if it is looking. */
static void
check_counted(const char *rule, int most)
{
	int (*violations_of)(const char *) =
		(int (*)(const char *))dlsym(RTLD_DEFAULT, "vmlx4_violations_of");
	int (*violations)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "vmlx4_violations");

	CHECK(violations_of != NULL && violations != NULL);
	CHECK_EQ(violations_of(rule), violations() != 0 ? most : 0);
	CHECK_EQ(violations_of("no-such-rule"), -EINVAL);
	CHECK_EQ(violations_of(NULL), -EINVAL);
}

/* Not under the contract checker: it calls this what it is. */
static void
bad_lkey(struct end *a, struct end *b)
{
	struct ibv_mr *gone = ibv_reg_mr(a->pd, a->area, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge[4];
	struct ibv_send_wr wr[4], *bad;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	unsigned int kind, i;
	struct ibv_wc wc[4];
	uint32_t stale;

	CHECK(gone != NULL);
	stale = gone->lkey;
	CHECK_OK(ibv_dereg_mr(gone));
	for (kind = 0; kind < 4; kind++) {
		memset(wr, 0, sizeof(wr));
		for (i = 0; i < 4; i++) {
			sge[i] = (struct ibv_sge){ (uintptr_t)a->area + 512 * i, 100,
				a->mr->lkey };
			fill(a->area + 512 * i, 100, b, i);
			wr[i].wr_id = i;
			wr[i].next = i < 3 ? &wr[i + 1] : NULL;
			wr[i].sg_list = &sge[i];
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = IBV_SEND_SIGNALED;
			post_recv(b, i);
		}
		if (kind == 0)
			sge[1].lkey = stale;
		else if (kind == 1)
			sge[1].lkey ^= 0x5500;
		else if (kind == 2)
			sge[1].addr = (uintptr_t)a->area + AREA - 50;
		else
			sge[1].lkey = b->mr->lkey; /* of another protection domain */
		CHECK_OK(ibv_post_send(a->qp, wr, &bad));
		WAIT(a->send_cq, wc, 4);
		for (i = 0; i < 4; i++)
			CHECK_EQ(wc[i].wr_id, i);
		CHECK_EQ(wc[0].status, IBV_WC_SUCCESS);
		CHECK_EQ(wc[1].status, IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(wc[2].status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc[3].status, IBV_WC_WR_FLUSH_ERR);
		CHECK_OK(ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init));
		CHECK(attr.qp_state == IBV_QPS_ERR || attr.qp_state == IBV_QPS_SQE);
		/* Also what is posted after the fact. */
		CHECK_OK(ibv_post_send(a->qp, &wr[3], &bad));
		WAIT(a->send_cq, wc, 1);
		CHECK_EQ(wc[0].status, IBV_WC_WR_FLUSH_ERR);
		WAIT(b->recv_cq, wc, 1);
		compare(__LINE__, rx_slot(b, wc[0].wr_id), wc[0].byte_len, a->area, 100);
		to_reset(a);
		to_reset(b);
		to_ready(a);
		to_ready(b);
		ping(a, b);
	}
	check_counted("lkey", 4);
}

static void
bad_receive_lkey(struct end *a, struct end *b)
{
	struct ibv_sge send = { .addr = (uintptr_t)a->area, .length = 100, .lkey = a->mr->lkey };
	struct ibv_sge sge = { .addr = (uintptr_t)rx_slot(b, 0), .length = SLOT };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	sge.lkey = b->mr->lkey ^ 0x5500;
	memset(rx_slot(b, 0), 0xee, SLOT);
	CHECK_OK(ibv_post_recv(b->qp, &wr, &bad));
	fill(a->area, 100, b, 1);
	post_send(a, &send, 1, IBV_SEND_SIGNALED);
	WAIT(a->send_cq, &wc, 1);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	WAIT(b->recv_cq, &wc, 1);
	CHECK_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(wc.wr_id, 5);
	CHECK_EQ(rx_slot(b, 0)[0], 0xee);
	to_reset(b);
	to_ready(b);
	ping(a, b);
}

const struct trial fault_trials[] = {
	{ "objects_in_use_stay", objects_in_use_stay, false },
	{ "qp_cycles", qp_cycles, false },
	{ "bad_lkey", bad_lkey, true },
	{ "bad_receive_lkey", bad_receive_lkey, true },
	{ NULL, NULL, false },
};
