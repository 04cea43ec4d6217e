/* SPDX-License-Identifier: BSD-3-Clause */

#include <rdma/ib_user_verbs.h>
#include <sys/socket.h>

#include "bed.h"

static void *
zeroed(size_t size)
{
	void *p = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	assert_non_null(p);
	memset(p, 0, (size + 4095) & ~(size_t)4095);
	return p;
}

static void
queues_new(struct bed *bed, struct bed_end *end, bool has_rq)
{
	struct vmlx4_qp *qp = end->qp;
	size_t size = (size_t)BED_WQES << BED_STRIDE_SHIFT, at;

	qp->sq.wqe_cnt = BED_WQES;
	qp->sq.stride_shift = BED_STRIDE_SHIFT;
	qp->sq.buf = zeroed(size);
	for (at = 0; at < size; at += 64)
		memset(qp->sq.buf + at, 0xff, 4);
	qp->sq.cq = end->cq;
	qp->sq.port = qp->port;
	if (!has_rq)
		return;
	qp->rq.wqe_cnt = BED_RWQES;
	qp->rq.max_sge = 1;
	qp->rq.stride_shift = 4;
	qp->rq.buf = zeroed((size_t)BED_RWQES << 4);
	qp->rq.db = zeroed(4);
	qp->rq.cq = end->cq;
	qp->rq.pd = &bed->card.pd;
	qp->rq.qpn = qp->qpn;
}

static void
end_new(struct bed *bed, struct bed_end *end, unsigned int type, uint32_t qpn, unsigned int port)
{
	struct vmlx4_qp *qp = calloc(1, sizeof(*qp));

	assert_non_null(qp);
	end->cq = card_cq(&bed->card, 256, 64);
	end->cq->cqn = 0x80 + qpn;
	end->cq->channel = NULL;
	end->qp = qp;
	qp->obj.ctx = bed->card.ctx;
	qp->obj.type = VMLX4_QP;
	qp->obj.user_handle = qpn;
	qp->qpn = qpn;
	qp->qp_type = type;
	qp->state = IBV_QPS_INIT;
	qp->port = &bed->card.adapter->ports[port - 1];
	qp->pd = &bed->card.pd;
	qp->send_cq = end->cq;
	qp->recv_cq = end->cq;
	end->cq->obj.users++;
	bed->card.adapter->qp_table[qpn] = qp;
	TAILQ_INSERT_TAIL(&bed->card.ctx->objs, &qp->obj, next);
	queues_new(bed, end, true);
	qp->ib = vmlx4_ib_new(qp);
	assert_non_null(qp->ib);
}

static void
path_to(const struct vmlx4_port *port, struct vmlx4_path *path)
{
	enum vmlx4_roce roce;

	memset(path, 0, sizeof(*path));
	memcpy(path->dmac, port->netdev.mac, 6);
	assert_true(vmlx4_gid_get(port, 0, path->dgid, &roce));
	path->hop_limit = 1;
}

static void
connect_to(struct bed_end *end, const struct bed_end *peer, uint32_t sq_psn, uint32_t rq_psn)
{
	struct vmlx4_ib_attr *attr = vmlx4_ib_attr(end->qp->ib);

	path_to(peer->qp->port, &attr->path);
	attr->mtu = IBV_MTU_1024;
	attr->dest_qpn = peer->qp->qpn;
	attr->qkey = BED_QKEY;
	attr->sq_psn = sq_psn;
	attr->rq_psn = rq_psn;
	attr->access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_ATOMIC;
	attr->max_rd_atomic = 4;
	attr->max_dest_rd_atomic = 4;
	attr->min_rnr_timer = 12;
	attr->timeout = 14;
	attr->retry_cnt = 2;
	attr->rnr_retry = 2;
	end->qp->state = IBV_QPS_RTR;
	vmlx4_ib_rtr(end->qp);
	assert_true(vmlx4_ib_requests_new(end->qp));
	end->qp->state = IBV_QPS_RTS;
	vmlx4_ib_rts(end->qp);
}

void
bed_connect(struct bed *bed)
{
	/* Across the end of the numbers. */
	connect_to(&bed->a, &bed->b, 0xfffffe, 0x000100);
	connect_to(&bed->b, &bed->a, 0x000100, 0xfffffe);
}

struct bed *
bed_new(unsigned int qp_type, unsigned int port_of_b)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	unsigned int i;

	assert_non_null(bed);
	card_new(&bed->card, VMLX4_STRICT_REPORT);
	for (i = 0; i < 2; i++)
		memcpy(bed->card.adapter->ports[i].netdev.mac,
			(const uint8_t[6]){ 2, 0, 0, 0, 0, (uint8_t)(i + 1) }, 6);
	bed->card.mr.access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_ATOMIC;
	end_new(bed, &bed->a, qp_type, 0x141, 1);
	end_new(bed, &bed->b, qp_type, 0x1c2, port_of_b);
	bed->a.memory = bed->card.arena;
	bed->b.memory = bed->card.arena + BED_PART;
	bed_connect(bed);
	return bed;
}

static void
end_free(struct bed *bed, struct bed_end *end)
{
	struct vmlx4_qp *qp = end->qp;

	vmlx4_ib_reset(qp);
	vmlx4_ib_free(qp->ib);
	card_qp_free(&bed->card, qp);
	card_cq_free(end->cq);
}

void
bed_free(struct bed *bed)
{
	end_free(bed, &bed->a);
	end_free(bed, &bed->b);
	card_free(&bed->card);
	free(bed);
}

void
bed_step(struct bed *bed)
{
	vmlx4_engine_kick(bed->card.ctx);
	while (vmlx4_engine_pass(bed->card.adapter, 0) != 0)
		;
}

void
bed_advance(struct bed *bed, uint64_t ns)
{
	bed->card.adapter->time.stepped += ns;
	bed_step(bed);
}

/* ---- posting ---- */

static uint32_t
put_data(uint8_t *wqe, uint32_t at, const struct bed_wr *wr)
{
	unsigned int i;

	if (wr->inlined) {
		uint32_t header = htobe32(0x80000000u | wr->sge[0].length);

		memcpy(wqe + at, &header, 4);
		memcpy(wqe + at + 4, wr->sge[0].addr, wr->sge[0].length);
		return at + ((4 + wr->sge[0].length + 15) & ~15u);
	}
	for (i = 0; i < wr->sges; i++, at += 16) {
		uint64_t addr = (uintptr_t)wr->sge[i].addr;
		uint32_t seg[4] = {
			wr->sge[i].length != 0 ? wr->sge[i].length : 0x80000000u,
			wr->lkey != 0 ? wr->lkey : CARD_LKEY, (uint32_t)(addr >> 32),
			(uint32_t)addr,
		};

		card_put(wqe + at, seg, 4);
	}
	return at;
}

void
bed_post(struct bed_end *end, const struct bed_wr *wr)
{
	struct vmlx4_sq *sq = &end->qp->sq;
	uint32_t index = end->posted++, at = 16;
	uint8_t *wqe = sq->buf + ((size_t)(index & (sq->wqe_cnt - 1)) << sq->stride_shift);
	uint32_t remote[12] = {
		(uint32_t)(wr->va >> 32), (uint32_t)wr->va, wr->rkey, 0,
		(uint32_t)(wr->swap_add >> 32), (uint32_t)wr->swap_add,
		(uint32_t)(wr->compare >> 32), (uint32_t)wr->compare,
		(uint32_t)(wr->swap_mask >> 32), (uint32_t)wr->swap_mask,
		(uint32_t)(wr->compare_mask >> 32), (uint32_t)wr->compare_mask,
	};
	uint32_t ctrl[4] = {
		wr->opcode | ((index & sq->wqe_cnt) != 0 ? 0x80000000u : 0), 0, wr->flags, wr->imm,
	};

	if (wr->datagram != NULL) {
		memcpy(wqe + at, wr->datagram, 48);
		at += 48;
	}
	if (wr->opcode == 0x14) {
		card_put(wqe + at, remote, 12);
		at += 48;
	} else if (wr->opcode == 0x11 || wr->opcode == 0x12 || wr->opcode == 0x15) {
		card_put(wqe + at, remote, 8);
		at += 32;
	} else if (wr->opcode == 8 || wr->opcode == 9 || wr->opcode == 0x10) {
		card_put(wqe + at, remote, 4);
		at += 16;
	}
	at = put_data(wqe, at, wr);
	ctrl[1] = at / 16 | (wr->fence ? 0x40 : 0);
	card_put(wqe, ctrl, 4);
}

void
bed_recv(struct bed_end *end, void *addr, uint32_t length)
{
	card_post_recv(end->qp, end->received++, addr, length);
	card_rq_record(end->qp, end->received);
}

struct bed_wr
bed_wr_of(const struct bed *bed, uint8_t opcode, uint32_t length)
{
	return (struct bed_wr){
		.opcode = opcode, .flags = SIGNALED, .rkey = CARD_LKEY,
		.va = (uintptr_t)bed->b.memory, .sges = 1,
		.sge = { { bed->a.memory, length } },
	};
}

void
bed_address(const struct bed_end *to, uint8_t av[48])
{
	struct vmlx4_path path;
	uint32_t numbers[2] = { to->qp->qpn, BED_QKEY };

	path_to(to->qp->port, &path);
	memset(av, 0, 48);
	av[8 + 3] = path.hop_limit;
	memcpy(av + 16, path.dgid, 16);
	card_put(av + 32, numbers, 2);
	memcpy(av + 42, path.dmac, 6);
}

/* ---- completions ---- */

const uint8_t *
bed_cqe(struct bed_end *end)
{
	assert_true((int32_t)(end->cq->pi - end->polled) > 0);
	*end->cq->db = htobe32((end->polled + 1) & 0xffffff);
	return card_cqe(end->cq, end->polled++);
}

void
bed_no_cqe(struct bed_end *end)
{
	assert_int_equal(end->cq->pi, end->polled);
}

void
bed_sent(struct bed_end *end, uint8_t opcode, uint16_t index)
{
	const uint8_t *cqe = bed_cqe(end);

	assert_int_equal(cqe[31] & 0x7f, 0x40 | opcode);
	assert_int_equal(vmlx4_be16(cqe + 24), index);
	assert_int_equal(vmlx4_be32(cqe), end->qp->qpn);
}

void
bed_failed(struct bed_end *end, uint8_t syndrome)
{
	const uint8_t *cqe = bed_cqe(end);

	assert_int_equal(cqe[31] & 0x1f, 0x1e);
	assert_int_equal(cqe[27], syndrome);
}

const uint8_t *
bed_received(struct bed_end *end, uint8_t opcode, uint32_t length)
{
	const uint8_t *cqe = bed_cqe(end);

	assert_int_equal(cqe[31] & 0x7f, opcode);
	assert_int_equal(vmlx4_be32(cqe + 20), length);
	assert_int_equal(vmlx4_be32(cqe) & 0xffffff, end->qp->qpn);
	return cqe;
}

unsigned int
bed_event(struct bed *bed)
{
	struct ib_uverbs_async_event_desc event;

	if (recv(bed->card.async[0], &event, sizeof(event), MSG_DONTWAIT) != sizeof(event))
		return 0xff;
	return event.event_type;
}

void
bed_fill(uint8_t *at, size_t size, unsigned int seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		at[i] = (uint8_t)(seed + i * 7 + i / 251);
}
