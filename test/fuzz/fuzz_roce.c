/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The transports of InfiniBand: an input is a program of steps for two connected
 * QPs, most of them packets that reach one of these and WQEs in its send queue.
 */

#include <stdio.h>

#include "../vmlx4/ib/bed.h"
#include "fuzz.h"

#define STEPS 200u         /* of an input */
#define PASSES 1000u       /* of the engine, until nothing moves any more */
#define SRQN 0x33u
#define SRQ_WQES 16u
#define SRQ_SHIFT 6        /* three segments */

enum step {
	STEP_PACKET,       /* with fields of the input */
	STEP_WQE = 4,
	STEP_RECV = 8,
	STEP_RUN,
	STEP_TIME,
	STEP_STATE,
	STEP_POLL,
	STEP_RIGHTS,       /* of the region and the QP */
	STEPS_OF
};

/* What a packet has from the input, rather than what is right for it. */
#define OWN_PSN 0x01u
#define OWN_QPN 0x02u
#define OWN_KEY 0x04u
#define OWN_SIZE 0x08u     /* two bytes of it */
#define OWN_BYTE 0x10u     /* somewhere, and the ICRC is wrong */
#define TO_GROUP 0x20u
#define VERSION_2 0x40u
#define TO_A 0x80u

static struct bed *beds[4];
static struct vmlx4_srq srq;
static struct vmlx4_xrcd xrcd = { .xrcdn = 1 };

static void
new_srq(struct bed *bed)
{
	static uint8_t ring[SRQ_WQES << SRQ_SHIFT];
	static uint32_t record;

	srq.obj.ctx = bed->card.ctx;
	srq.obj.type = VMLX4_SRQ;
	srq.srqn = SRQN;
	srq.pd = &bed->card.pd;
	srq.cq = bed->b.cq;
	srq.xrcd = &xrcd;
	srq.buf = ring;
	srq.wqe_cnt = SRQ_WQES;
	srq.stride_shift = SRQ_SHIFT;
	srq.max_sge = 3;
	srq.db = &record;
	bed->card.adapter->srq_table[SRQN] = &srq;
}

/* One that sends alone, and one that receives by the SRQ of the packet. */
static void
make_xrc(struct bed *bed)
{
	struct vmlx4_qp *from = bed->a.qp, *to = bed->b.qp;

	new_srq(bed);
	from->recv_cq = NULL;
	from->rq.cq = NULL;
	to->qp_type = IBV_QPT_XRC_RECV;
	to->pd = NULL;
	to->xrcd = &xrcd;
	to->send_cq = NULL;
	to->recv_cq = NULL;
	to->sq.cq = NULL;
	to->rq.cq = NULL;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const unsigned int types[4] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
	};
	unsigned int i;

	(void)argc;
	(void)argv;
	for (i = 0; i < 4; i++)
		beds[i] = bed_new(types[i], 1 + (i & 1));
	make_xrc(beds[3]);
	return 0;
}

/* ---- everything as it was, but for the time ---- */

static void
reset_srq(void)
{
	const uint8_t *arena = beds[3]->b.memory;
	unsigned int i;

	srq.head = 0;
	srq.taken = 0;
	srq.error = false;
	srq.limit = 2;
	*srq.db = htobe32(SRQ_WQES - 1);
	for (i = 0; i < SRQ_WQES; i++) {
		uint64_t addr = (uintptr_t)arena + 512 * i;
		uint32_t wqe[12] = { (i + 1) % SRQ_WQES, 0, 0, 0, 512, CARD_LKEY,
			(uint32_t)(addr >> 32), (uint32_t)addr, 0, 0x100 };

		card_put(srq.buf + ((size_t)i << SRQ_SHIFT), wqe, 12);
	}
}

static void
reset_end(struct bed_end *end)
{
	*end->qp->rq.db = 0;
	end->posted = 0;
	end->received = 0;
	memset(end->qp->sq.buf, 0xff, (size_t)BED_WQES << BED_STRIDE_SHIFT);
	vmlx4_cq_init(end->cq);
	memset(end->cq->db, 0, 8);
}

static void
run(struct bed *bed)
{
	unsigned int i;

	vmlx4_engine_kick(bed->card.ctx);
	for (i = 0; i < PASSES; i++)
		if (vmlx4_engine_pass(bed->card.adapter, 0) == 0)
			break;
	vmlx4_engine_audit(bed->card.adapter);
}

static void
reset(struct bed *bed, uint8_t bits)
{
	struct vmlx4_unknowns *unknowns = &bed->card.adapter->options.unknowns;

	vmlx4_ib_reset(bed->a.qp);
	vmlx4_ib_reset(bed->b.qp);
	bed->a.qp->state = IBV_QPS_RESET;
	bed->b.qp->state = IBV_QPS_RESET;
	run(bed); /* packets that are still on their way */
	while (bed_event(bed) != 0xff)
		;
	unknowns->ud_error_fatal = bits & 1;
	unknowns->tx_cq_full_stalls = bits >> 1 & 1;
	bed->card.adapter->options.strict = (bits & 4) != 0 ? VMLX4_STRICT_OFF :
		VMLX4_STRICT_REPORT;
	reset_end(&bed->a);
	reset_end(&bed->b);
	reset_srq();
	bed_connect(bed);
}

/* ---- steps ---- */

static uint64_t
take64(struct input *in)
{
	uint64_t value = 0;

	take(in, (uint8_t *)&value, sizeof(value));
	return value;
}

/* The PSN that the QP waits for, of a request or of a response. */
static uint32_t
next_psn(const struct vmlx4_qp *qp, uint8_t opcode)
{
	const struct vmlx4_ib *ib = qp->ib;

	if ((vmlx4_bth_what(opcode) & VMLX4_IS_RESPONSE) == 0)
		return ib->rx.psn;
	return ib->tx.first == ib->tx.last ? ib->tx.psn :
		vmlx4_ib_request_at(qp->ib, ib->tx.first)->psn;
}

static void
address(struct bed *bed, const struct vmlx4_qp *qp, uint8_t bits, struct vmlx4_ib_packet *packet)
{
	struct bed_end *from = qp == bed->a.qp ? &bed->b : &bed->a;

	vmlx4_ib_address(from->qp, &from->qp->ib->attr.path, packet);
	if ((bits & VERSION_2) != 0) {
		packet->roce = VMLX4_ROCE_V2;
		packet->tagged = true;
	}
	packet->dest_qpn = qp->qpn;
	packet->src_qpn = from->qp->qpn;
	packet->qkey = BED_QKEY;
	packet->srqn = SRQN;
	packet->rkey = CARD_LKEY;
	if ((bits & TO_GROUP) != 0) {
		packet->dest_qpn = VMLX4_QPN_MULTICAST;
		packet->dmac[0] |= 1;
	}
}

static void
packet(struct input *in, struct bed *bed)
{
	static uint8_t frame[65536 + VMLX4_IB_OVERHEAD];
	uint8_t bits = take8(in), *payload;
	const struct vmlx4_qp *qp = (bits & TO_A) != 0 ? bed->a.qp : bed->b.qp;
	struct vmlx4_ib_packet packet;
	size_t size, length;

	address(bed, qp, bits, &packet);
	packet.opcode = take8(in);
	packet.psn = next_psn(qp, packet.opcode) + (uint32_t)(int8_t)take8(in);
	packet.va = (uintptr_t)bed->a.memory + take16(in);
	packet.length = take16(in);
	packet.syndrome = take8(in);
	packet.solicited = (packet.syndrome & 1) != 0;
	packet.ack_request = (packet.syndrome & 2) != 0;
	if ((bits & OWN_PSN) != 0)
		packet.psn = (uint32_t)take64(in);
	if ((bits & OWN_QPN) != 0) {
		packet.dest_qpn = (uint32_t)take64(in);
		packet.srqn = packet.dest_qpn ^ SRQN;
		packet.qkey = packet.dest_qpn ^ BED_QKEY;
	}
	if ((bits & OWN_KEY) != 0) {
		packet.va = take64(in);
		packet.rkey = (uint32_t)take64(in);
		packet.length = (uint32_t)take64(in);
		packet.swap_add = packet.va;
		packet.imm = packet.rkey;
	}
	size = (bits & OWN_SIZE) != 0 ? take16(in) : take8(in);
	if ((vmlx4_bth_what(packet.opcode) & VMLX4_HAS_RETH) != 0 && (bits & OWN_KEY) == 0 &&
	    (packet.length & 1) != 0)
		packet.length = (uint32_t)size; /* a whole message */
	payload = vmlx4_ib_packet_head(&packet, frame);
	memset(payload, 0xa5, size);
	length = vmlx4_ib_packet_seal(&packet, frame, size);
	if ((bits & OWN_BYTE) != 0)
		frame[take16(in) % length] = take8(in);
	/* Of its size: a sanitizer sees what reads behind it. */
	payload = malloc(length);
	if (payload == NULL)
		return;
	memcpy(payload, frame, length);
	vmlx4_port_receive(qp->port, payload, length);
	free(payload);
}

static void
wqe(struct input *in, struct bed *bed)
{
	uint8_t bits = take8(in);
	struct bed_end *end = (bits & 1) != 0 ? &bed->b : &bed->a;
	struct vmlx4_sq *sq = &end->qp->sq;
	uint32_t index = end->posted;
	uint8_t *at = sq->buf + ((size_t)(index & (sq->wqe_cnt - 1)) << sq->stride_shift);
	size_t size = take(in, at, take8(in) % (1 << BED_STRIDE_SHIFT));

	place_in_wqe(at, size, bed->card.arena, 2 * CARD_ARENA);
	if (size < 8)
		return;
	/* Its place in the ring, and a length of one place or as it stands there. */
	at[0] = (uint8_t)((at[0] & 0x7f) | ((index & sq->wqe_cnt) != 0 ? 0x80 : 0));
	if ((bits & 2) == 0)
		at[7] = (uint8_t)((at[7] & 0xc0) | ((size + 15) / 16));
	size = (size_t)(at[7] & 0x3f) * 16;
	end->posted += size == 0 ? 1 : (uint32_t)((size - 1) >> sq->stride_shift) + 1;
	memset(sq->buf + ((size_t)(end->posted & (sq->wqe_cnt - 1)) << sq->stride_shift),
		(end->posted & sq->wqe_cnt) != 0 ? 0 : 0xff, 4);
}

static void
receive(struct input *in, struct bed *bed)
{
	struct bed_end *end = (take8(in) & 1) != 0 ? &bed->a : &bed->b;
	uint16_t at = take16(in), size = take16(in);

	bed_recv(end, bed->card.arena + at, size);
	if (end->qp->qp_type != IBV_QPT_XRC_RECV)
		return;
	/* One back, or a chain of the input. */
	*srq.db = htobe32(be32toh(*srq.db) + 1);
	srq.buf[(at % SRQ_WQES << SRQ_SHIFT) + 3] = (uint8_t)size;
}

static void
state(struct input *in, struct bed *bed)
{
	uint8_t bits = take8(in);
	struct vmlx4_qp *qp = (bits & 1) != 0 ? bed->a.qp : bed->b.qp;
	bool sends = qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
		qp->state == IBV_QPS_SQE;

	switch (bits >> 1 & 3) {
	case 0:
		if (sends) {
			qp->state = IBV_QPS_SQD;
			vmlx4_ib_sqd(qp, (bits & 8) != 0);
		}
		break;
	case 1:
		if (sends) {
			qp->state = IBV_QPS_RTS;
			vmlx4_ib_rts(qp);
		}
		break;
	case 2:
		if (qp->state != IBV_QPS_RESET) {
			qp->state = IBV_QPS_ERR;
			vmlx4_ib_error(qp);
		}
		break;
	default:
		reset(bed, bits >> 3);
		break;
	}
}

static void
rights(struct input *in, struct bed *bed)
{
	uint8_t bits = take8(in);

	bed->card.mr.access = bits;
	bed->a.qp->ib->attr.access = bits >> 4 | 0x0fu << 1;
	bed->b.qp->ib->attr.min_rnr_timer = bits & 31;
}

static void
one_step(struct input *in, struct bed *bed)
{
	switch (take8(in) % STEPS_OF) {
	default:
		packet(in, bed);
		break;
	case STEP_WQE: case STEP_WQE + 1: case STEP_WQE + 2: case STEP_WQE + 3:
		wqe(in, bed);
		break;
	case STEP_RECV:
		receive(in, bed);
		break;
	case STEP_RUN:
		run(bed);
		break;
	case STEP_TIME:
		bed->card.adapter->time.stepped += 1ull << (take8(in) % 40);
		run(bed);
		break;
	case STEP_STATE:
		state(in, bed);
		break;
	case STEP_POLL:
		*bed->a.cq->db = htobe32(bed->a.cq->pi & 0xffffff);
		*bed->b.cq->db = htobe32(bed->b.cq->pi & 0xffffff);
		break;
	case STEP_RIGHTS:
		rights(in, bed);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct bed *bed = beds[take8(&in) % 4];
	unsigned int i;

	bed->card.mr.access = 0x0f;
	reset(bed, take8(&in));
	for (i = 0; i < STEPS && in.left > 0; i++)
		one_step(&in, bed);
	run(bed);
	return 0;
}
