/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/* The receiving side of connections: what a peer asks for, in the order of PSNs. */

/* What becomes of a packet. */
enum outcome {
	DONE,
	NOT_READY,         /* no receive WQE */
	INVALID,           /* a request that cannot be */
	NO_ACCESS,         /* memory that the peer may not have */
	TOO_LONG,          /* for the receive WQE, which told so */
	LOCAL,             /* a fault of this side, which told so */
};

static uint32_t
read_packets(const struct vmlx4_ib *ib, uint32_t length)
{
	return length == 0 ? 1 : (length - 1) / ib->mtu + 1;
}

static bool
allowed(const struct vmlx4_ib *ib, uint32_t access)
{
	return (ib->attr.access & access) == access;
}

/* ---- SEND and WRITE ---- */

/* Is the packet one that may come now, and as long as it has to be? */
static bool
fits_message(const struct vmlx4_ib *ib, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	unsigned int kind = what & (VMLX4_IS_SEND | VMLX4_IS_WRITE);

	if ((what & VMLX4_IS_FIRST) != 0 ? ib->rx.message != 0 : ib->rx.message != kind)
		return false;
	if ((what & VMLX4_IS_LAST) == 0)
		return packet->size == ib->mtu;
	return packet->size <= ib->mtu &&
		(packet->size != 0 || (what & VMLX4_IS_FIRST) != 0);
}

/* The first packet of a WRITE says where all of it goes. */
static enum outcome
write_begin(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib *ib = qp->ib;

	if (!allowed(ib, IBV_ACCESS_REMOTE_WRITE))
		return INVALID;
	if (packet->length != 0 && vmlx4_rkey_map(qp, packet->rkey, packet->va, packet->length,
	    IBV_ACCESS_REMOTE_WRITE) == NULL)
		return NO_ACCESS;
	ib->rx.va = packet->va;
	ib->rx.rkey = packet->rkey;
	ib->rx.left = packet->length;
	return DONE;
}

static enum outcome
write_data(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, bool last)
{
	struct vmlx4_ib *ib = qp->ib;
	uint8_t *to;

	if (packet->size > ib->rx.left || (last && packet->size != ib->rx.left))
		return INVALID;
	if (packet->size == 0)
		return DONE;
	to = vmlx4_rkey_map(qp, ib->rx.rkey, ib->rx.va, packet->size, IBV_ACCESS_REMOTE_WRITE);
	if (to == NULL)
		return NO_ACCESS;
	memcpy(to, packet->payload, packet->size);
	ib->rx.va += packet->size;
	ib->rx.left -= packet->size;
	return DONE;
}

/* The message is whole. */
static enum outcome
message_end(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	struct vmlx4_ib *ib = qp->ib;
	uint8_t opcode = VMLX4_HW_CQE_OP_RECV;

	if ((what & VMLX4_HAS_IETH) != 0) {
		if (vmlx4_key_invalidate(qp, packet->imm, true) != 0)
			return NO_ACCESS;
		opcode = VMLX4_HW_CQE_OP_RECV_INVAL;
	} else if ((what & VMLX4_HAS_IMM) != 0) {
		opcode = (what & VMLX4_IS_WRITE) != 0 ? VMLX4_HW_CQE_OP_RECV_WRITE_IMM :
			VMLX4_HW_CQE_OP_RECV_IMM;
	}
	ib->rx.message = 0;
	ib->rx.msn = (ib->rx.msn + 1) & 0xffffff;
	if (!ib->rx.has_wqe)
		return DONE;
	return vmlx4_ib_recv_complete(qp, packet, opcode, ib->rx.message_bytes) ? DONE : LOCAL;
}

static enum outcome
message(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	struct vmlx4_ib *ib = qp->ib;
	bool first = (what & VMLX4_IS_FIRST) != 0, last = (what & VMLX4_IS_LAST) != 0;
	bool write = (what & VMLX4_IS_WRITE) != 0;
	enum outcome outcome = DONE;
	uint8_t syndrome;

	if (!fits_message(ib, packet, what))
		return INVALID;
	if (write && first)
		outcome = write_begin(qp, packet);
	if (outcome != DONE)
		return outcome;
	if ((!write || (what & VMLX4_HAS_IMM) != 0) && !vmlx4_ib_recv_begin(qp, packet))
		return NOT_READY;
	if (first)
		ib->rx.message_bytes = 0;
	ib->rx.message_bytes += packet->size;
	if (write) {
		outcome = write_data(qp, packet, last);
		if (outcome != DONE)
			return outcome;
	} else {
		syndrome = vmlx4_ib_recv_data(qp, packet->payload, packet->size);
		if (syndrome != 0) {
			vmlx4_ib_recv_error(qp, syndrome);
			return syndrome == VMLX4_HW_SYN_LOC_LEN ? TOO_LONG : LOCAL;
		}
	}
	ib->rx.message = what & (VMLX4_IS_SEND | VMLX4_IS_WRITE);
	return last ? message_end(qp, packet, what) : DONE;
}

/* ---- READ and atomics ---- */

/*
 * Reads and atomics that wait for their turn. A repetition has been answered before:
 * the peer that goes on behind it may have that answer, and counts it no more.
 */
static unsigned int
resources_used(const struct vmlx4_ib *ib)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = ib->answer_first; i != ib->answer_last; i++) {
		const struct vmlx4_ib_answer *answer = &ib->answers[i % VMLX4_IB_ANSWERS];

		n += answer->op != VMLX4_OP_ACK && !answer->again;
	}
	return n;
}

static enum outcome
read_request(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, bool again)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_answer answer = {
		.op = VMLX4_OP_READ,
		.syndrome = VMLX4_AETH_NO_CREDITS,
		.psn = packet->psn,
		.msn = (ib->rx.msn + 1) & 0xffffff,
		.va = packet->va,
		.rkey = packet->rkey,
		.length = packet->length,
		.srqn = packet->srqn,
		.again = again,
	};

	if (!allowed(ib, IBV_ACCESS_REMOTE_READ) ||
	    resources_used(ib) >= ib->attr.max_dest_rd_atomic)
		return INVALID;
	if (packet->length != 0 && vmlx4_rkey_map(qp, packet->rkey, packet->va, packet->length,
	    IBV_ACCESS_REMOTE_READ) == NULL)
		return NO_ACCESS;
	return vmlx4_ib_answer_add(qp, &answer) ? DONE : INVALID;
}

/* Add each field for itself: nothing is carried out of a bit that is a boundary. */
static uint64_t
add_fields(uint64_t a, uint64_t b, uint64_t boundaries)
{
	return ((a & ~boundaries) + (b & ~boundaries)) ^ ((a ^ b) & boundaries);
}

/* What is to be there instead of what is. */
static uint64_t
atomic_result(uint64_t old, const struct vmlx4_ib_packet *packet)
{
	bool masked = VMLX4_BTH_IS_MASKED(packet->opcode);
	uint64_t compared = masked ? packet->compare_mask : UINT64_MAX;
	uint64_t swapped = masked ? packet->swap_mask : UINT64_MAX;

	if (VMLX4_BTH_OP(packet->opcode) == VMLX4_OP_FETCH_ADD)
		return add_fields(old, packet->swap_add, masked ? packet->compare : 0);
	if (((old ^ packet->compare) & compared) != 0)
		return old;
	return (old & ~swapped) | (packet->swap_add & swapped);
}

/* In the order of the host's memory, as mlx4 has it; what was there, changed or not. */
static uint64_t
atomic_do(uint64_t *at, const struct vmlx4_ib_packet *packet)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	while (!__atomic_compare_exchange_n(at, &old, atomic_result(old, packet), false,
	    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return old;
}

static bool
atomic_answer(struct vmlx4_qp *qp, uint32_t psn, uint64_t original, uint32_t msn, bool again)
{
	struct vmlx4_ib_answer answer = {
		.op = VMLX4_OP_ATOMIC_ACK,
		.syndrome = VMLX4_AETH_NO_CREDITS,
		.psn = psn,
		.msn = msn & 0xffffff,
		.original = original,
		.again = again,
	};

	return vmlx4_ib_answer_add(qp, &answer);
}

static enum outcome
atomic_request(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib *ib = qp->ib;
	unsigned int slot = ib->rx.next_atomic++ % VMLX4_IB_ATOMICS;
	uint64_t original;
	void *at;

	if (!allowed(ib, IBV_ACCESS_REMOTE_ATOMIC) || (packet->va & 7) != 0 ||
	    resources_used(ib) >= ib->attr.max_dest_rd_atomic)
		return INVALID;
	at = vmlx4_rkey_map(qp, packet->rkey, packet->va, 8, IBV_ACCESS_REMOTE_ATOMIC);
	if (at == NULL || ((uintptr_t)at & 7) != 0)
		return NO_ACCESS;
	original = atomic_do(at, packet);
	ib->rx.atomics[slot].used = true;
	ib->rx.atomics[slot].psn = packet->psn;
	ib->rx.atomics[slot].original = original;
	return atomic_answer(qp, packet->psn, original, ib->rx.msn + 1, false) ? DONE : INVALID;
}

/* ---- RC and XRC ---- */

/* Once more what was answered already. */
static void
duplicate(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	struct vmlx4_ib *ib = qp->ib;
	unsigned int i;

	if ((what & VMLX4_HAS_ATOMIC) != 0) {
		for (i = 0; i < VMLX4_IB_ATOMICS; i++)
			if (ib->rx.atomics[i].used && ib->rx.atomics[i].psn == packet->psn)
				atomic_answer(qp, packet->psn, ib->rx.atomics[i].original,
					ib->rx.msn, true);
		return;
	}
	if (VMLX4_BTH_OP(packet->opcode) == VMLX4_OP_READ) {
		/* What waits of it and behind it will be asked for again. */
		vmlx4_ib_answers_drop_from(qp, packet->psn);
		if (qp->qp_type == IBV_QPT_XRC_RECV)
			qp->srq = vmlx4_ib_xrc_srq(qp, packet->srqn);
		read_request(qp, packet, true);
		if (qp->qp_type == IBV_QPT_XRC_RECV)
			qp->srq = NULL;
		return;
	}
	vmlx4_ib_answer(qp, VMLX4_AETH_NO_CREDITS, ib->rx.psn - 1);
}

static void
refuse(struct vmlx4_qp *qp, uint8_t nak, int event)
{
	struct vmlx4_port_stats *stats = &qp->port->stats;

	stats->rx_roce_invalid += nak == VMLX4_NAK_INVALID_REQUEST;
	stats->rx_roce_access += nak == VMLX4_NAK_REMOTE_ACCESS;
	vmlx4_ib_answer(qp, nak, qp->ib->rx.psn);
	vmlx4_ib_fatal(qp, event);
}

static enum outcome
execute(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	struct vmlx4_ib *ib = qp->ib;
	enum outcome outcome;

	if ((what & (VMLX4_IS_SEND | VMLX4_IS_WRITE)) != 0)
		return message(qp, packet, what);
	if (ib->rx.message != 0)
		return INVALID;
	outcome = (what & VMLX4_HAS_ATOMIC) != 0 ? atomic_request(qp, packet) :
		read_request(qp, packet, false);
	if (outcome == DONE)
		ib->rx.msn = (ib->rx.msn + 1) & 0xffffff;
	return outcome;
}

static void
executed(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	struct vmlx4_ib *ib = qp->ib;
	bool message = (what & (VMLX4_IS_SEND | VMLX4_IS_WRITE)) != 0;

	ib->rx.nak_sent = false;
	ib->rx.psn = (ib->rx.psn + (VMLX4_BTH_OP(packet->opcode) == VMLX4_OP_READ ?
		read_packets(ib, packet->length) : 1)) & VMLX4_PSN_MASK;
	if (message && packet->ack_request)
		vmlx4_ib_answer(qp, VMLX4_AETH_NO_CREDITS, packet->psn);
}

/* The packet that is expected, of an XRC receiver by the SRQ that it names. */
static enum outcome
execute_for(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet, unsigned int what)
{
	enum outcome outcome;

	if (qp->qp_type != IBV_QPT_XRC_RECV)
		return execute(qp, packet, what);
	qp->srq = vmlx4_ib_xrc_srq(qp, packet->srqn);
	if (qp->srq == NULL || (qp->ib->rx.has_wqe && qp->ib->rx.srqn != packet->srqn))
		outcome = INVALID;
	else
		outcome = execute(qp, packet, what);
	qp->srq = NULL;
	return outcome;
}

void
vmlx4_ib_requested(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	unsigned int what = vmlx4_bth_what(packet->opcode);
	struct vmlx4_ib *ib = qp->ib;
	int32_t ahead = vmlx4_psn_diff(packet->psn, ib->rx.psn);

	if (ahead < 0) {
		duplicate(qp, packet, what);
		return;
	}
	if (ahead > 0) {
		qp->port->stats.rx_roce_sequence++;
		if (!ib->rx.nak_sent)
			vmlx4_ib_answer(qp, VMLX4_NAK_SEQUENCE, ib->rx.psn);
		ib->rx.nak_sent = true;
		return;
	}
	switch (execute_for(qp, packet, what)) {
	case DONE:
		executed(qp, packet, what);
		break;
	case NOT_READY:
		/* Those behind it come too early, and are sent again with it. */
		ib->rx.nak_sent = true;
		qp->port->stats.rx_roce_rnr++;
		vmlx4_ib_answer(qp, VMLX4_AETH_RNR | (ib->attr.min_rnr_timer & 31), ib->rx.psn);
		break;
	case INVALID:
		refuse(qp, VMLX4_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR);
		break;
	case NO_ACCESS:
		refuse(qp, VMLX4_NAK_REMOTE_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
		break;
	case TOO_LONG:
		refuse(qp, VMLX4_NAK_INVALID_REQUEST, vmlx4_ib_recv_untold(qp));
		break;
	case LOCAL:
		refuse(qp, VMLX4_NAK_REMOTE_OPERATION, vmlx4_ib_recv_untold(qp));
		break;
	}
}

/* ---- UC ---- */

/* The message is given up; its receive WQE serves the next one. */
static void
abandon(struct vmlx4_ib *ib)
{
	ib->rx.message = 0;
	ib->rx.received = 0;
}

void
vmlx4_ib_requested_uc(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	unsigned int what = vmlx4_bth_what(packet->opcode);
	struct vmlx4_port_stats *stats = &qp->port->stats;
	struct vmlx4_ib *ib = qp->ib;

	if (packet->psn != ib->rx.psn || (what & VMLX4_IS_FIRST) != 0)
		abandon(ib);
	ib->rx.psn = (packet->psn + 1) & VMLX4_PSN_MASK;
	if ((what & VMLX4_IS_FIRST) == 0 && ib->rx.message == 0) {
		stats->rx_roce_sequence++; /* its beginning is missing */
		return;
	}
	switch (message(qp, packet, what)) {
	case DONE:
		return;
	case NOT_READY:
		stats->rx_roce_no_wqe++;
		break;
	case INVALID:
	case NO_ACCESS:
		stats->rx_roce_refused++;
		break;
	case TOO_LONG:
	case LOCAL:
		vmlx4_ib_fatal(qp, vmlx4_ib_recv_untold(qp));
		break;
	}
	abandon(ib);
}
