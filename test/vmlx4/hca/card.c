/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "card.h"

struct card_sent card_sent;

static void *
zeroed(size_t size)
{
	size_t whole = (size + 4095) & ~(size_t)4095;
	void *p = aligned_alloc(4096, whole);

	assert_non_null(p);
	memset(p, 0, whole);
	return p;
}

static void
card_ports(struct card *card)
{
	struct vmlx4_wire_spec spec = { .kind = VMLX4_WIRE_PEER };
	char error[128];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct vmlx4_port *port = &card->adapter->ports[i];

		port->adapter = card->adapter;
		port->number = i + 1;
		port->carrier = true;
		port->active = true;
		port->netdev.mtu = 1500;
		TAILQ_INIT(&port->flows);
	}
	for (i = 0; i < 2; i++) {
		card->adapter->ports[i].wire = vmlx4_wire_open(&spec, &card->adapter->ports[i],
			error, sizeof(error));
		assert_non_null(card->adapter->ports[i].wire);
	}
}

void
card_new(struct card *card, enum vmlx4_strict strict)
{
	struct vmlx4_adapter *adapter = calloc(1, sizeof(*adapter));
	struct vmlx4_context *ctx = calloc(1, sizeof(*ctx));

	assert_non_null(adapter);
	assert_non_null(ctx);
	memset(card, 0, sizeof(*card));
	card->adapter = adapter;
	card->ctx = ctx;
	pthread_mutex_init(&adapter->lock, NULL);
	adapter->options.ports = 2;
	adapter->options.step = true;
	adapter->options.strict = strict;
	adapter->options.unknowns = vmlx4_unknown_defaults;
	adapter->options.profile = vmlx4_profile_find("cx3pro");
	adapter->profile = adapter->options.profile;
	assert_non_null(adapter->profile);
	adapter->qp_table = calloc(VMLX4_QP_TABLE, sizeof(void *));
	adapter->wq_table = calloc(VMLX4_QP_TABLE, sizeof(void *));
	adapter->mr_table = calloc(VMLX4_MR_TABLE, sizeof(void *));
	adapter->mw_table = calloc(VMLX4_MR_TABLE, sizeof(void *));
	adapter->srq_table = calloc(VMLX4_SRQ_TABLE, sizeof(void *));
	TAILQ_INIT(&adapter->contexts);
	vmlx4_time_init(adapter);
	card_ports(card);
	ctx->adapter = adapter;
	ctx->pages = zeroed(4 * VMLX4_PAGE);
	TAILQ_INIT(&ctx->objs);
	TAILQ_INIT(&ctx->sqs);
	TAILQ_INSERT_TAIL(&adapter->contexts, ctx, next);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, card->async), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, card->comp), 0);
	ctx->async_fd = card->async[1];
	card->channel.write_fd = card->comp[1];
	card->pd.obj.ctx = ctx;
	card->arena = zeroed(CARD_ARENA);
	card->mr = (struct vmlx4_mr){
		.pd = &card->pd, .lkey = CARD_LKEY, .access = IBV_ACCESS_LOCAL_WRITE,
		.start = (uintptr_t)card->arena, .iova = (uintptr_t)card->arena,
		.length = CARD_ARENA,
	};
	adapter->mr_table[CARD_LKEY >> 8] = &card->mr;
	assert_int_equal(vmlx4_engine_start(adapter), 0);
	memset(&card_sent, 0, sizeof(card_sent));
}

void
card_faults(struct card *card, const char *text)
{
	char error[256] = "";

	strcpy(card->adapter->options.faults, text);
	if (vmlx4_faults_init(card->adapter, error, sizeof(error)) < 0)
		fail_msg("%s", error);
}

void
card_free(struct card *card)
{
	unsigned int i;

	vmlx4_faults_free(card->adapter);
	vmlx4_engine_stop(card->adapter);
	for (i = 0; i < 2; i++) {
		assert_true(TAILQ_EMPTY(&card->adapter->ports[i].flows));
		vmlx4_wire_close(card->adapter->ports[i].wire);
		close(card->async[i]);
		close(card->comp[i]);
	}
	free(card->adapter->qp_table);
	free(card->adapter->wq_table);
	free(card->adapter->mr_table);
	free(card->adapter->mw_table);
	free(card->adapter->srq_table);
	free(card->ctx->pages);
	free(card->ctx);
	free(card->adapter);
	free(card->arena);
}

struct vmlx4_cq *
card_cq(struct card *card, uint32_t entries, uint32_t cqe_size)
{
	struct vmlx4_cq *cq = calloc(1, sizeof(*cq));

	assert_non_null(cq);
	cq->obj.ctx = card->ctx;
	cq->obj.type = VMLX4_CQ;
	cq->cqn = 0x80;
	cq->cqe_cnt = entries;
	cq->cqe_size = cqe_size;
	cq->buf = zeroed((size_t)entries * cqe_size);
	cq->db = zeroed(8);
	vmlx4_cq_init(cq);
	TAILQ_INSERT_TAIL(&card->ctx->objs, &cq->obj, next);
	return cq;
}

void
card_cq_free(struct vmlx4_cq *cq)
{
	vmlx4_moderation_end(cq);
	TAILQ_REMOVE(&cq->obj.ctx->objs, &cq->obj, next);
	free(cq->buf);
	free(cq->db);
	free(cq);
}

uint8_t *
card_cqe(struct vmlx4_cq *cq, uint32_t index)
{
	return cq->buf + (size_t)(index & (cq->cqe_cnt - 1)) * cq->cqe_size + cq->cqe_size - 32;
}

static struct vmlx4_qp *
card_qp(struct card *card, struct vmlx4_cq *cq, uint32_t qpn, unsigned int port)
{
	struct vmlx4_qp *qp = calloc(1, sizeof(*qp));

	assert_non_null(qp);
	qp->obj.ctx = card->ctx;
	qp->obj.type = VMLX4_QP;
	qp->qpn = qpn;
	qp->qp_type = IBV_QPT_RAW_PACKET;
	qp->state = IBV_QPS_RTS;
	qp->port = &card->adapter->ports[port - 1];
	qp->pd = &card->pd;
	qp->send_cq = cq;
	qp->recv_cq = cq;
	cq->obj.users++;
	card->adapter->qp_table[qpn] = qp;
	TAILQ_INSERT_TAIL(&card->ctx->objs, &qp->obj, next);
	return qp;
}

struct vmlx4_qp *
card_sq(struct card *card, struct vmlx4_cq *cq, uint32_t wqes, uint32_t stride_shift)
{
	struct vmlx4_qp *qp = card_qp(card, cq, 0x100, 1);
	size_t size = (size_t)wqes << stride_shift, at;

	qp->sq.wqe_cnt = wqes;
	qp->sq.stride_shift = stride_shift;
	qp->sq.buf = zeroed(size);
	for (at = 0; at < size; at += 64)
		memset(qp->sq.buf + at, 0xff, 4);
	qp->sq.cq = cq;
	qp->sq.port = qp->port;
	vmlx4_sq_ready(qp);
	return qp;
}

struct vmlx4_qp *
card_rq(struct card *card, struct vmlx4_cq *cq, uint32_t wqes, uint32_t max_sge)
{
	struct vmlx4_qp *qp = card_qp(card, cq, 0x40, 2);

	qp->rq.wqe_cnt = wqes;
	qp->rq.max_sge = max_sge;
	qp->rq.stride_shift = 4;
	while ((1u << qp->rq.stride_shift) < 16 * max_sge)
		qp->rq.stride_shift++;
	qp->rq.buf = zeroed((size_t)wqes << qp->rq.stride_shift);
	qp->rq.db = zeroed(4);
	qp->rq.cq = cq;
	qp->rq.pd = &card->pd;
	qp->rq.qpn = qp->qpn;
	vmlx4_rq_ready(&qp->rq);
	return qp;
}

void
card_qp_free(struct card *card, struct vmlx4_qp *qp)
{
	vmlx4_sq_reset(qp);
	vmlx4_rq_reset(&qp->rq);
	card->adapter->qp_table[qp->qpn] = NULL;
	qp->send_cq->obj.users--;
	TAILQ_REMOVE(&card->ctx->objs, &qp->obj, next);
	free(qp->sq.buf);
	free(qp->rq.buf);
	free(qp->rq.db);
	free(qp);
}

struct vmlx4_flow *
card_catch_all(struct card *card, unsigned int port, struct vmlx4_qp *qp)
{
	struct vmlx4_flow *flow = calloc(1, sizeof(*flow));

	assert_non_null(flow);
	flow->flow_type = VMLX4_FLOW_ALL_DEFAULT;
	flow->priority = 0xfff;
	flow->port = &card->adapter->ports[port - 1];
	flow->qp = qp;
	assert_int_equal(vmlx4_steering_add(flow), 0);
	return flow;
}

void
card_flow_free(struct vmlx4_flow *flow)
{
	vmlx4_steering_remove(flow);
	free(flow);
}

static void
card_pass(struct card *card)
{
	while (vmlx4_engine_pass(card->adapter, 0) != 0)
		;
}

void
card_ring(struct card *card, struct vmlx4_qp *qp)
{
	uint32_t doorbell = htobe32(qp->qpn << 8);

	memcpy(card->ctx->pages + 0x14, &doorbell, 4);
	card_pass(card);
}

void
card_put(uint8_t *at, const uint32_t *dwords, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		uint32_t w = htobe32(dwords[i]);

		memcpy(at + 4 * i, &w, 4);
	}
}

void
card_post_recv(struct vmlx4_qp *qp, uint32_t index, const void *buf, uint32_t size)
{
	uint64_t addr = (uintptr_t)buf;
	uint32_t seg[4] = { size, CARD_LKEY, (uint32_t)(addr >> 32), (uint32_t)addr };

	card_put(qp->rq.buf + ((size_t)(index & (qp->rq.wqe_cnt - 1)) << qp->rq.stride_shift),
		seg, 4);
	if (qp->rq.max_sge > 1) {
		uint32_t end[4] = { 0, 0x100, 0, 0 };

		card_put(qp->rq.buf + ((size_t)(index & (qp->rq.wqe_cnt - 1)) <<
			qp->rq.stride_shift) + 16, end, 4);
	}
}

void
card_rq_record(struct vmlx4_qp *qp, uint32_t posted)
{
	*qp->rq.db = htobe32(posted);
}

void
card_post(struct vmlx4_qp *qp, uint32_t index, uint32_t flags, const void *buf,
	uint32_t size)
{
	uint64_t addr = (uintptr_t)buf;
	uint32_t wqe[8] = {
		0x0a | (index & qp->sq.wqe_cnt ? 0x80000000 : 0), 2, flags, 0,
		size, CARD_LKEY, (uint32_t)(addr >> 32), (uint32_t)addr,
	};

	card_put(qp->sq.buf + ((size_t)(index & (qp->sq.wqe_cnt - 1)) << qp->sq.stride_shift),
		wqe, 8);
}

static void
keep(void *arg, const void *frame, size_t length)
{
	struct card_sent *sent = arg;

	assert_true(sent->count < 64 && length <= sizeof(sent->frame[0]));
	memcpy(sent->frame[sent->count], frame, length);
	sent->length[sent->count++] = length;
}

void
card_watch(struct card *card, unsigned int port)
{
	card->adapter->ports[port - 1].tx_tap = keep;
	card->adapter->ports[port - 1].tx_tap_arg = &card_sent;
}
