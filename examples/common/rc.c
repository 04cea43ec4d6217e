/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "meet.h"
#include "rc.h"

void
rc_create(struct rc *rc, struct ibv_context *ctx, unsigned long port, uint32_t wqes,
	size_t size)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = wqes, .max_recv_wr = wqes, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};

	memory_open(&rc->memory, ctx, size);
	rc->cq = create_cq(ctx, 2 * wqes);
	attr.send_cq = attr.recv_cq = rc->cq;
	rc->qp = must(ibv_create_qp(rc->memory.pd, &attr), "ibv_create_qp");
	to_init(rc->qp, port);
}

void
rc_destroy(struct rc *rc)
{
	must0(ibv_destroy_qp(rc->qp), "ibv_destroy_qp");
	must0(ibv_destroy_cq(rc->cq), "ibv_destroy_cq");
	memory_close(&rc->memory);
}

void
to_init(struct ibv_qp *qp, unsigned long port)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port };

	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
		IBV_QP_ACCESS_FLAGS), "ibv_modify_qp to INIT");
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

/* From INIT to RTS. */
static void
connect_rc(struct ibv_qp *qp, uint8_t port, const struct address *peer)
{
	struct ibv_qp_attr attr = {
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
connect_pair(struct ibv_qp *a, struct ibv_qp *b, unsigned long port)
{
	struct address of_a = address_of(a, (uint8_t)port), of_b = address_of(b, (uint8_t)port);

	connect_rc(a, (uint8_t)port, &of_b);
	connect_rc(b, (uint8_t)port, &of_a);
}

int
connect_processes(const char *path, bool serving, struct ibv_qp *qp, unsigned long port)
{
	struct address mine = address_of(qp, (uint8_t)port), theirs;
	int fd = meet(path, serving);

	exchange(fd, &mine, &theirs, sizeof(mine));
	connect_rc(qp, (uint8_t)port, &theirs);
	wait_for_peer(fd);
	return fd;
}
