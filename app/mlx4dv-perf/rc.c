/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rc.h"

struct rc rc;

static const struct rc_library *lib;

static void *
must(void *object, const char *call)
{
	if (object == NULL)
		bench_die("%s: %s", call, strerror(errno != 0 ? errno : ENOMEM));
	return object;
}

static void
must0(int err, const char *call)
{
	if (err != 0)
		bench_die("%s: %s", call, strerror(err));
}

uint8_t *
rc_slot(unsigned int end, unsigned int number)
{
	return rc.area + (size_t)(end * RC_IN_FLIGHT + number % RC_IN_FLIGHT) * SLOT;
}

void
rc_start(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	rc.list = ibv_get_device_list(NULL);
	if (rc.list == NULL || rc.list[0] == NULL)
		bench_die("no verbs device");
}

void
rc_end_all(void)
{
	ibv_free_device_list(rc.list);
}

/* ---- open ---- */

static void
create(struct rc_end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .srq = rc.srq,
		.cap = { .max_send_wr = 2 * RC_IN_FLIGHT, .max_send_sge = 1,
			.max_recv_wr = 2 * RC_IN_FLIGHT, .max_recv_sge = 1 },
	};

	end->cq = must(ibv_create_cq(rc.ctx, 4 * RC_IN_FLIGHT, NULL, NULL, 0), "ibv_create_cq");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = must(ibv_create_qp(rc.pd, &init), "ibv_create_qp");
}

static void
connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
		IBV_QP_ACCESS_FLAGS), "ibv_modify_qp: INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } },
	};
	must0(ibv_query_gid(rc.ctx, 1, 0, &attr.ah_attr.grh.dgid), "ibv_query_gid");
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER), "ibv_modify_qp: RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1 };
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
		"ibv_modify_qp: RTS");
}

const char *
rc_open(const struct perf_case *one, const struct perf_options *options,
	const struct rc_library *library)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 2 * RC_IN_FLIGHT, .max_sge = 1 } };
	size_t size = (size_t)2 * RC_IN_FLIGHT * SLOT;

	(void)options;
	lib = library;
	rc.kind = one->kind;
	rc.n = RC_N(one->kind);
	rc.receives = 0;
	rc.ctx = must(ibv_open_device(rc.list[0]), "ibv_open_device");
	rc.pd = must(ibv_alloc_pd(rc.ctx), "ibv_alloc_pd");
	rc.area = must(aligned_alloc(4096, (size + 4095) & ~(size_t)4095), "aligned_alloc");
	memset(rc.area, 0, size);
	rc.mr = must(ibv_reg_mr(rc.pd, rc.area, size, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	rc.srq = NULL;
	if ((one->kind & RC_SRQ) != 0)
		rc.srq = must(ibv_create_srq(rc.pd, &srq), "ibv_create_srq");
	create(&rc.a);
	create(&rc.b);
	connect_to(rc.a.qp, rc.b.qp);
	connect_to(rc.b.qp, rc.a.qp);
	lib->opened();
	return NULL;
}

void
rc_close(void)
{
	must0(ibv_destroy_qp(rc.b.qp), "ibv_destroy_qp");
	must0(ibv_destroy_qp(rc.a.qp), "ibv_destroy_qp");
	must0(ibv_destroy_cq(rc.b.cq), "ibv_destroy_cq");
	must0(ibv_destroy_cq(rc.a.cq), "ibv_destroy_cq");
	if (rc.srq != NULL)
		must0(ibv_destroy_srq(rc.srq), "ibv_destroy_srq");
	must0(ibv_dereg_mr(rc.mr), "ibv_dereg_mr");
	must0(ibv_dealloc_pd(rc.pd), "ibv_dealloc_pd");
	must0(ibv_close_device(rc.ctx), "ibv_close_device");
	free(rc.area);
}

/* ---- around the bursts, untimed ---- */

/* One message for each receive that is posted. */
static void
use_receives(void)
{
	unsigned int n;

	for (; rc.receives != 0; rc.receives -= n) {
		n = rc.receives < RC_CHAIN_MAX ? rc.receives : RC_CHAIN_MAX;
		lib->send(n);
	}
}

void
rc_prepare(unsigned int bursts)
{
	unsigned int i;

	if (RC_WHAT(rc.kind) == RC_RECV_POST)
		return;
	for (i = 0; i < bursts; i++)
		lib->post_receives(rc.n);
	if (RC_WHAT(rc.kind) != RC_POLL)
		return;
	use_receives();
	perf_step();
}

/* Messages under way arrive, and receives that are left are used up. */
void
rc_finish(void)
{
	use_receives();
	perf_step();
	while (lib->poll_sends() != 0 || lib->poll_receives(RC_CHAIN_MAX) != 0)
		;
}
