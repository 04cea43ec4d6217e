/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "../check/sq_ring.h"
#include "transport.h"

/*
 * The sending side: WQEs become requests, requests packets. A request stays until
 * the peer has answered it; what is to be sent again is read anew from the WQE and
 * its buffers, as a card does, so that both have to stay as they are until then.
 */

#define MAX_MESSAGE 0x40000000u /* bytes; max_msg_sz of the port */

bool
vmlx4_ib_requests_new(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	if (ib->tx.requests != NULL || qp->sq.wqe_cnt == 0)
		return true;
	ib->tx.requests = calloc(qp->sq.wqe_cnt, sizeof(ib->tx.requests[0]));
	ib->tx.mask = qp->sq.wqe_cnt - 1;
	return ib->tx.requests != NULL;
}

void
vmlx4_ib_kick(struct vmlx4_qp *qp)
{
	if (!qp->sq.live)
		return;
	qp->sq.pending = true;
	qp->obj.ctx->scan = true;
}

void
vmlx4_ib_go_back(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;

	ib->tx.current = ib->tx.first;
	ib->tx.sent = 0;
	vmlx4_ib_kick(qp);
}

/* ---- a WQE begins ---- */

/* Does it have to wait for what was posted before? */
static bool
must_wait(const struct vmlx4_ib *ib, const struct vmlx4_ib_wqe *wqe)
{
	if (wqe->ordered && ib->tx.first != ib->tx.last)
		return true;
	if (wqe->fence && ib->tx.reads != 0)
		return true;
	return vmlx4_ib_is_read(wqe->opcode) && ib->attr.max_rd_atomic != 0 &&
		ib->tx.reads >= ib->attr.max_rd_atomic;
}

/* The buffers of a read or atomic are written. */
static uint8_t
check_writable(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint32_t at;

	for (at = wqe->data; at + 16 <= wqe->size; at += 16) {
		const uint8_t *seg = wqe->bytes + at;
		uint32_t size = vmlx4_be32(seg), lkey = vmlx4_be32(seg + 4);
		uint64_t addr = (uint64_t)vmlx4_be32(seg + 8) << 32 | vmlx4_be32(seg + 12);

		if (size == VMLX4_HW_INLINE)
			continue; /* none */
		if ((size & VMLX4_HW_INLINE) != 0)
			return VMLX4_HW_SYN_LOC_QP_OP;
		if (vmlx4_mr_lookup(adapter, qp->pd, lkey, addr, size,
		    IBV_ACCESS_LOCAL_WRITE) != NULL)
			continue;
		vmlx4_violation(adapter, VMLX4_RULE_LKEY, "SQ", qp->qpn, qp->sq.ci,
			"lkey %#x for %u bytes at %#llx: %s", lkey, size,
			(unsigned long long)addr, vmlx4_mr_reason(adapter, qp->pd, lkey, addr,
			size, IBV_ACCESS_LOCAL_WRITE));
		return VMLX4_HW_SYN_LOC_PROT;
	}
	return 0;
}

/* What a request is about that leaves by packets; a syndrome. */
static uint8_t
prepare_packets(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe,
	struct vmlx4_ib_request *request)
{
	static struct vmlx4_gather g; /* the adapter is locked */
	struct vmlx4_ib *ib = qp->ib;
	bool reads = vmlx4_ib_is_read(wqe->opcode);

	if (reads && ib->attr.max_rd_atomic == 0)
		return VMLX4_HW_SYN_LOC_QP_OP;
	vmlx4_gather(qp, wqe->bytes, wqe->data, wqe->size, &g);
	if (g.syndrome == 0 && reads)
		g.syndrome = check_writable(qp, wqe);
	if (g.syndrome != 0)
		return g.syndrome;
	if (g.length > MAX_MESSAGE)
		return VMLX4_HW_SYN_LOC_LEN;
	request->length = g.length;
	request->packets = g.length == 0 ? 1 : (g.length - 1) / ib->mtu + 1;
	request->sends = request->packets;
	if (!reads)
		return 0;
	request->sends = 1;
	if (wqe->opcode != VMLX4_HW_OP_READ) {
		request->packets = 1;
		return g.length == 8 ? 0 : VMLX4_HW_SYN_LOC_LEN;
	}
	return 0;
}

/* A syndrome; what needs no answer is done afterwards. */
static uint8_t
prepare(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe, struct vmlx4_ib_request *request)
{
	uint8_t syndrome;

	switch (wqe->opcode) {
	case VMLX4_HW_OP_NOP:
		syndrome = 0;
		break;
	case VMLX4_HW_OP_LOCAL_INVAL:
		syndrome = vmlx4_key_invalidate(qp, wqe->rkey, false);
		break;
	case VMLX4_HW_OP_BIND_MW:
		syndrome = vmlx4_mw_bind(qp, wqe->bytes + 16, wqe->size - 16);
		break;
	default:
		if (qp->qp_type != IBV_QPT_UD)
			return prepare_packets(qp, wqe, request);
		syndrome = vmlx4_ib_datagram_send(qp, wqe);
		break;
	}
	request->done = syndrome == 0;
	return syndrome;
}

static struct vmlx4_ib_request *
request_new(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, ib->tx.last);

	*request = (struct vmlx4_ib_request){
		.index = qp->sq.ci,
		.opcode = wqe->opcode,
		.signaled = wqe->signaled,
		.no_error_cqe = (vmlx4_be32(wqe->bytes) & VMLX4_HW_NEC) != 0,
		.psn = ib->tx.psn,
		.number = ib->tx.number,
	};
	return request;
}

static void
taken(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe)
{
	qp->sq.ci += wqe->size == 0 ? 1 : ((wqe->size - 1) >> qp->sq.stride_shift) + 1;
	qp->ib->tx.last++;
}

/* Is the WQE at the head of the queue the program's no longer? */
static bool
posted(const struct vmlx4_sq *sq)
{
	const uint8_t *head = sq->buf +
		((size_t)(sq->ci & (sq->wqe_cnt - 1)) << sq->stride_shift);
	uint32_t dw0 = vmlx4_load_be32((const uint32_t *)(const void *)head);

	return (dw0 >> 31) == ((sq->ci & sq->wqe_cnt) != 0);
}

bool
vmlx4_ib_begin_failed(struct vmlx4_qp *qp)
{
	struct vmlx4_ib_request *request;
	struct vmlx4_ib_wqe wqe;

	if (!posted(&qp->sq))
		return false;
	vmlx4_ib_wqe_read(qp, qp->sq.ci, &wqe);
	request = request_new(qp, &wqe);
	taken(qp, &wqe);
	vmlx4_ib_fail(qp, request, VMLX4_HW_SYN_LOC_PROT);
	return true;
}

/* The WQE at the head of the queue, if it may begin. */
static bool
begin(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_ib_request *request;
	struct vmlx4_ib_wqe wqe;
	uint8_t syndrome = 0;
	bool good;

	if (!posted(sq)) {
		sq->pending = false;
		if (vmlx4_strict(adapter))
			vmlx4_sq_check_drained(qp);
		return false;
	}
	good = vmlx4_ib_wqe_read(qp, sq->ci, &wqe);
	if (must_wait(ib, &wqe) || ib->tx.last - ib->tx.first > ib->tx.mask)
		return false;
	vmlx4_trace_wqe(qp, wqe.bytes, wqe.size);
	request = request_new(qp, &wqe);
	if (vmlx4_strict(adapter) && !vmlx4_sq_check_wqe(qp, wqe.bytes, wqe.size))
		good = false;
	if (adapter->faults != NULL)
		syndrome = vmlx4_fault_wqe(sq->port, qp->qpn, true);
	if (!good)
		syndrome = VMLX4_HW_SYN_LOC_QP_OP;
	if (syndrome == 0)
		syndrome = prepare(qp, &wqe, request);
	taken(qp, &wqe);
	if (syndrome != 0) {
		request->packets = 0;
		request->sends = 0;
		vmlx4_ib_fail(qp, request, syndrome);
		return true;
	}
	ib->tx.psn = (ib->tx.psn + request->packets) & VMLX4_PSN_MASK;
	ib->tx.number += request->sends;
	ib->tx.reads += vmlx4_ib_is_read(request->opcode);
	if (request->done)
		vmlx4_ib_reap(qp);
	return true;
}

/* ---- packets ---- */

/* The opcode of a packet of a SEND or WRITE, without the transport. */
static uint8_t
message_op(uint8_t opcode, bool first, bool last)
{
	bool write = opcode == VMLX4_HW_OP_WRITE || opcode == VMLX4_HW_OP_WRITE_IMM;
	unsigned int base = write ? VMLX4_OP_WRITE_FIRST : VMLX4_OP_SEND_FIRST;
	bool imm = opcode == VMLX4_HW_OP_WRITE_IMM || opcode == VMLX4_HW_OP_SEND_IMM;

	if (!last)
		return (uint8_t)(base + (first ? 0 : 1));
	if (opcode == VMLX4_HW_OP_SEND_INVAL)
		return first ? VMLX4_OP_SEND_ONLY_INVAL : VMLX4_OP_SEND_LAST_INVAL;
	return (uint8_t)(base + (first ? 4 : 2) + imm);
}

static uint8_t
transport_of(const struct vmlx4_qp *qp)
{
	switch (qp->qp_type) {
	case IBV_QPT_RC:
		return VMLX4_BTH_RC;
	case IBV_QPT_UC:
		return VMLX4_BTH_UC;
	default:
		return VMLX4_BTH_XRC;
	}
}

/* The rest of a read that was begun is a shorter read. */
static void
read_packet(const struct vmlx4_ib *ib, const struct vmlx4_ib_request *request,
	const struct vmlx4_ib_wqe *wqe, struct vmlx4_ib_packet *packet)
{
	packet->va = wqe->va;
	packet->rkey = wqe->rkey;
	packet->psn = request->psn + request->acked;
	switch (wqe->opcode) {
	case VMLX4_HW_OP_READ:
		packet->opcode |= VMLX4_OP_READ;
		packet->va += (uint64_t)request->acked * ib->mtu;
		packet->length = request->length - request->acked * ib->mtu;
		break;
	case VMLX4_HW_OP_ATOMIC_CS:
		packet->opcode |= VMLX4_OP_COMPARE_SWAP;
		break;
	case VMLX4_HW_OP_MASKED_CS:
		packet->opcode |= VMLX4_BTH_MASKED | VMLX4_OP_COMPARE_SWAP;
		break;
	case VMLX4_HW_OP_MASKED_FA:
		packet->opcode |= VMLX4_BTH_MASKED | VMLX4_OP_FETCH_ADD;
		break;
	default:
		packet->opcode |= VMLX4_OP_FETCH_ADD;
		break;
	}
	packet->swap_add = wqe->swap_add;
	packet->compare = wqe->compare;
	packet->swap_mask = wqe->swap_mask;
	packet->compare_mask = wqe->compare_mask;
	packet->ack_request = true;
}

static void
message_packet(const struct vmlx4_qp *qp, const struct vmlx4_ib_request *request,
	const struct vmlx4_ib_wqe *wqe, struct vmlx4_ib_packet *packet)
{
	uint32_t sent = qp->ib->tx.sent;
	bool last = sent + 1 == request->packets;

	packet->opcode |= message_op(wqe->opcode, sent == 0, last);
	packet->psn = request->psn + sent;
	packet->va = wqe->va;
	packet->rkey = wqe->rkey;
	packet->length = request->length;
	packet->imm = wqe->imm;
	packet->solicited = last && wqe->solicited;
	packet->ack_request = vmlx4_ib_reliable(qp) &&
		(last || sent % VMLX4_IB_ACK_EVERY == VMLX4_IB_ACK_EVERY - 1);
}

/* The next packet of a request; a syndrome. */
static uint8_t
transmit_packet(struct vmlx4_qp *qp, struct vmlx4_ib_request *request, bool reads)
{
	static struct vmlx4_gather g; /* the adapter is locked */
	struct vmlx4_ib *ib = qp->ib;
	uint8_t *frame = vmlx4_ib_frame_buffer(), *payload;
	struct vmlx4_ib_packet packet;
	struct vmlx4_ib_wqe wqe;
	uint32_t offset = ib->tx.sent * ib->mtu, size = 0;

	if (!vmlx4_ib_wqe_read(qp, request->index, &wqe))
		return VMLX4_HW_SYN_LOC_QP_OP;
	vmlx4_ib_address(qp, &ib->attr.path, &packet);
	packet.opcode = transport_of(qp);
	packet.dest_qpn = ib->attr.dest_qpn;
	packet.srqn = wqe.srqn;
	if (reads)
		read_packet(ib, request, &wqe, &packet);
	else
		message_packet(qp, request, &wqe, &packet);
	payload = vmlx4_ib_packet_head(&packet, frame);
	if (!reads) {
		vmlx4_gather(qp, wqe.bytes, wqe.data, wqe.size, &g);
		if (g.syndrome != 0 || g.length != request->length)
			return g.syndrome != 0 ? g.syndrome : VMLX4_HW_SYN_LOC_PROT;
		size = request->length - offset;
		if (size > ib->mtu)
			size = ib->mtu;
		vmlx4_ib_gather_part(&g, offset, size, payload);
	}
	vmlx4_ib_emit(qp, frame, vmlx4_ib_packet_seal(&packet, frame, size));
	return 0;
}

static void
transmit(struct vmlx4_qp *qp, struct vmlx4_ib_request *request)
{
	struct vmlx4_ib *ib = qp->ib;
	bool reads = vmlx4_ib_is_read(request->opcode);
	uint8_t syndrome = transmit_packet(qp, request, reads);

	if (syndrome != 0) {
		vmlx4_ib_fail(qp, request, syndrome);
		return;
	}
	ib->tx.sent = reads ? request->packets : ib->tx.sent + 1;
	if (vmlx4_ib_reliable(qp))
		vmlx4_ib_retry_arm(qp);
	else
		request->acked = ib->tx.sent;
	if (ib->tx.sent != request->packets)
		return;
	ib->tx.current++;
	ib->tx.sent = 0;
	if (!vmlx4_ib_reliable(qp)) {
		request->done = true;
		vmlx4_ib_reap(qp);
	}
}

/* ---- turns ---- */

/* Skip what was answered meanwhile. */
static void
catch_up(struct vmlx4_ib *ib)
{
	if ((int32_t)(ib->tx.current - ib->tx.first) < 0) {
		ib->tx.current = ib->tx.first;
		ib->tx.sent = 0;
	}
	while (ib->tx.current != ib->tx.last) {
		const struct vmlx4_ib_request *request = vmlx4_ib_request_at(ib, ib->tx.current);

		if (!request->done) {
			if (ib->tx.sent < request->acked)
				ib->tx.sent = request->acked;
			return;
		}
		ib->tx.current++;
		ib->tx.sent = 0;
	}
}

static uint32_t
sent_number(const struct vmlx4_ib_request *request, uint32_t packets)
{
	return request->number + (packets < request->sends ? packets : request->sends);
}

/* Packets that are sent and not answered; a read counts as one. */
static uint32_t
under_way(struct vmlx4_ib *ib)
{
	const struct vmlx4_ib_request *first = vmlx4_ib_request_at(ib, ib->tx.first);
	const struct vmlx4_ib_request *current = vmlx4_ib_request_at(ib, ib->tx.current);
	uint32_t answered = vmlx4_ib_is_read(first->opcode) ? 0 : first->acked;

	return sent_number(current, ib->tx.sent) - sent_number(first, answered);
}

/* One packet, or one WQE begun. False: nothing to do, or something to wait for. */
static bool
step(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_request *request;

	catch_up(ib);
	if (ib->tx.rnr_waits)
		return false;
	if (ib->tx.current != ib->tx.last) {
		request = vmlx4_ib_request_at(ib, ib->tx.current);
		if (request->syndrome != 0 || under_way(ib) >= VMLX4_IB_WINDOW)
			return false;
		transmit(qp, request);
		return true;
	}
	if (ib->tx.failed || ib->tx.draining)
		return false;
	return begin(qp);
}

unsigned int
vmlx4_ib_sq_run(struct vmlx4_qp *qp, unsigned int budget)
{
	bool strict = vmlx4_strict(qp->obj.ctx->adapter);
	unsigned int done = 0;

	if (!qp->sq.live)
		return vmlx4_sq_run(qp, budget); /* flushes */
	if (strict)
		vmlx4_sq_check_backlog(qp);
	while (done < budget && qp->sq.live && vmlx4_ib_may_send(qp) && step(qp))
		done++;
	if (strict && qp->sq.live)
		vmlx4_flight_seal(qp);
	return done;
}
