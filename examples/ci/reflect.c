/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "reflect.h"

#define BUFFERS 64
#define SIZE 2048
#define SEND 0x100 /* in a wr_id, beside the number of the buffer */

struct reflector {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
	uint8_t *area;
};

static int
post(struct reflector *r, unsigned int buffer, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->area + buffer * SIZE,
		.length = length != 0 ? length : SIZE,
		.lkey = r->mr->lkey,
	};
	struct ibv_recv_wr recv = { .wr_id = buffer, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = buffer | SEND, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;

	return length != 0 ? ibv_post_send(r->qp, &send, &bad_send) :
		ibv_post_recv(r->qp, &recv, &bad_recv);
}

static int
to_state(struct reflector *r, enum ibv_qp_state state, uint8_t port)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = port };

	return ibv_modify_qp(r->qp, &attr, IBV_QP_STATE | (port != 0 ? IBV_QP_PORT : 0));
}

static struct ibv_flow *
steer(struct reflector *r, uint8_t port, const uint8_t mac[6])
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			.port = port },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	return ibv_create_flow(r->qp, &rule.attr);
}

static int
create(struct reflector *r, struct ibv_device *device, uint8_t port, const uint8_t mac[6])
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = BUFFERS, .max_recv_wr = BUFFERS, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	unsigned int i;

	if ((r->ctx = ibv_open_device(device)) == NULL ||
	    (r->pd = ibv_alloc_pd(r->ctx)) == NULL ||
	    (r->area = aligned_alloc(4096, BUFFERS * SIZE)) == NULL ||
	    (r->mr = ibv_reg_mr(r->pd, r->area, BUFFERS * SIZE,
	    IBV_ACCESS_LOCAL_WRITE)) == NULL ||
	    (r->cq = ibv_create_cq(r->ctx, 2 * BUFFERS, NULL, NULL, 0)) == NULL)
		return -1;
	init.send_cq = init.recv_cq = r->cq;
	r->qp = ibv_create_qp(r->pd, &init);
	if (r->qp == NULL || to_state(r, IBV_QPS_INIT, port) != 0)
		return -1;
	for (i = 0; i < BUFFERS; i++)
		if (post(r, i, 0) != 0)
			return -1;
	if (to_state(r, IBV_QPS_RTR, 0) != 0 || to_state(r, IBV_QPS_RTS, 0) != 0)
		return -1;
	r->flow = steer(r, port, mac);
	return r->flow != NULL ? 0 : -1;
}

struct reflector *
reflector_open(struct ibv_device *device, uint8_t port, const uint8_t mac[6])
{
	struct reflector *r = calloc(1, sizeof(*r));
	int err;

	if (r == NULL || create(r, device, port, mac) == 0)
		return r;
	err = errno;
	reflector_close(r);
	errno = err;
	return NULL;
}

static void
exchange(uint8_t *frame)
{
	uint8_t destination[6];

	memcpy(destination, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, destination, 6);
}

int
reflector_poll(struct reflector *r)
{
	struct ibv_wc wc[BUFFERS];
	int got = ibv_poll_cq(r->cq, BUFFERS, wc), sent = 0, i;

	if (got < 0)
		return -1;
	for (i = 0; i < got; i++) {
		unsigned int buffer = wc[i].wr_id & ~SEND;
		bool was_send = (wc[i].wr_id & SEND) != 0;

		if (wc[i].status != IBV_WC_SUCCESS)
			return -1;
		if (!was_send)
			exchange(r->area + buffer * SIZE);
		if (post(r, buffer, was_send ? 0 : wc[i].byte_len) != 0)
			return -1;
		sent += was_send;
	}
	return sent;
}

void
reflector_close(struct reflector *r)
{
	if (r->flow != NULL)
		ibv_destroy_flow(r->flow);
	if (r->qp != NULL)
		ibv_destroy_qp(r->qp);
	if (r->cq != NULL)
		ibv_destroy_cq(r->cq);
	if (r->mr != NULL)
		ibv_dereg_mr(r->mr);
	free(r->area);
	if (r->pd != NULL)
		ibv_dealloc_pd(r->pd);
	if (r->ctx != NULL)
		ibv_close_device(r->ctx);
	free(r);
}
