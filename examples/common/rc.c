/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "meet.h"
#include "program.h"
#include "rc.h"

struct ibv_qp *
create_rc(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t wqes)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = wqes, .max_recv_wr = wqes, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};

	return must(ibv_create_qp(pd, &attr), "ibv_create_qp");
}

/* How a peer is reached: 20 bytes, to be handed over by whatever there is. */
struct address {
	uint32_t qpn;
	uint8_t gid[16];
};

static struct address
address_of(struct ibv_qp *qp, uint8_t port)
{
	struct address address = { .qpn = qp->qp_num };
	union ibv_gid gid;

	must0(ibv_query_gid(qp->context, port, 0, &gid), "ibv_query_gid");
	memcpy(address.gid, gid.raw, sizeof(address.gid));
	return address;
}

/* From RESET to RTS. */
static void
connect_rc(struct ibv_qp *qp, uint8_t port, const struct address *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };

	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
		IBV_QP_ACCESS_FLAGS), "ibv_modify_qp to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		/* RoCE: an address is a GID, here that of index 0, from the MAC address. */
		.ah_attr = { .is_global = 1, .port_num = port, .grh = { .hop_limit = 64 } },
	};
	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER), "ibv_modify_qp to RTR");
	/* 7 retries, 67 ms apart; for a receiver that is not ready as many as it takes. */
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1 };
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
		"ibv_modify_qp to RTS");
}

void
connect_pair(struct ibv_qp *a, struct ibv_qp *b, uint64_t port)
{
	struct address of_a = address_of(a, (uint8_t)port), of_b = address_of(b, (uint8_t)port);

	connect_rc(a, (uint8_t)port, &of_b);
	connect_rc(b, (uint8_t)port, &of_a);
}

void
connect_over(int fd, struct ibv_qp *qp, uint64_t port)
{
	struct address mine = address_of(qp, (uint8_t)port), theirs;

	exchange(fd, &mine, &theirs, sizeof(mine));
	connect_rc(qp, (uint8_t)port, &theirs);
}
