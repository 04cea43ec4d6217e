/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/*
 * What the responder has to send. Answers leave in the order of the requests, and
 * a long read a few packets at a time.
 */

static struct vmlx4_ib_answer *
answer_at(struct vmlx4_ib *ib, uint32_t number)
{
	return &ib->answers[number % VMLX4_IB_ANSWERS];
}

static void
answering(struct vmlx4_ib *ib, bool on)
{
	struct vmlx4_ib_work *work = ib->qp->obj.ctx->adapter->ib;

	if (ib->answering == on)
		return;
	ib->answering = on;
	if (on)
		TAILQ_INSERT_TAIL(&work->answering, ib, answers_next);
	else
		TAILQ_REMOVE(&work->answering, ib, answers_next);
}

bool
vmlx4_ib_answer_add(struct vmlx4_qp *qp, const struct vmlx4_ib_answer *answer)
{
	struct vmlx4_ib *ib = qp->ib;

	if (ib->answer_last - ib->answer_first == VMLX4_IB_ANSWERS)
		return false;
	*answer_at(ib, ib->answer_last++) = *answer;
	answering(ib, true);
	return true;
}

static bool
is_ack(const struct vmlx4_ib_answer *answer)
{
	return answer->op == VMLX4_OP_ACK &&
		VMLX4_AETH_KIND(answer->syndrome) == VMLX4_AETH_ACK;
}

void
vmlx4_ib_answer(struct vmlx4_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_answer answer = {
		.op = VMLX4_OP_ACK,
		.syndrome = syndrome,
		.psn = psn & VMLX4_PSN_MASK,
		.msn = ib->rx.msn,
	};

	/* The latest of several ACKs in a row says it all. */
	if (is_ack(&answer) && ib->answer_last != ib->answer_first &&
	    is_ack(answer_at(ib, ib->answer_last - 1))) {
		*answer_at(ib, ib->answer_last - 1) = answer;
		return;
	}
	/* One that finds no room is asked for again. */
	vmlx4_ib_answer_add(qp, &answer);
}

uint32_t
vmlx4_ib_answer_psn(const struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	const struct vmlx4_ib_answer *answer = answer_at(ib, ib->answer_first);

	return ib->answer_first != ib->answer_last ? answer->psn + answer->sent : ib->rx.psn;
}

void
vmlx4_ib_answers_drop(struct vmlx4_qp *qp)
{
	qp->ib->answer_first = qp->ib->answer_last;
	answering(qp->ib, false);
}

/* The PSN behind an answer. */
static uint32_t
answer_end(const struct vmlx4_ib *ib, const struct vmlx4_ib_answer *answer)
{
	return answer->psn + (answer->op == VMLX4_OP_READ && answer->length != 0 ?
		(answer->length - 1) / ib->mtu : 0) + 1;
}

void
vmlx4_ib_answers_drop_from(struct vmlx4_qp *qp, uint32_t psn)
{
	struct vmlx4_ib *ib = qp->ib;

	while (ib->answer_first != ib->answer_last &&
	       vmlx4_psn_diff(answer_end(ib, answer_at(ib, ib->answer_last - 1)), psn) > 0)
		ib->answer_last--;
}

static void
emit(struct vmlx4_qp *qp, const struct vmlx4_ib_answer *answer, uint8_t op, const uint8_t *data,
	uint32_t size)
{
	uint8_t *frame = vmlx4_ib_frame_buffer(), *payload;
	struct vmlx4_ib_packet packet;

	vmlx4_ib_address(qp, &qp->ib->attr.path, &packet);
	packet.opcode = (uint8_t)((qp->qp_type == IBV_QPT_RC ? VMLX4_BTH_RC : VMLX4_BTH_XRC) | op);
	packet.dest_qpn = qp->ib->attr.dest_qpn;
	packet.psn = answer->psn + answer->sent;
	packet.syndrome = answer->syndrome;
	packet.msn = answer->msn;
	packet.original = answer->original;
	payload = vmlx4_ib_packet_head(&packet, frame);
	memcpy(payload, data, size);
	vmlx4_ib_emit(qp, frame, vmlx4_ib_packet_seal(&packet, frame, size));
}

/* The next packet of a read. False: the memory may no longer be read. */
static bool
emit_read(struct vmlx4_qp *qp, struct vmlx4_ib_answer *answer, bool *last)
{
	uint32_t mtu = qp->ib->mtu, offset = answer->sent * mtu;
	uint32_t left = answer->length - offset, size = left < mtu ? left : mtu;
	bool first = answer->sent == 0;
	const uint8_t *data = (const uint8_t *)"";

	*last = left <= mtu;
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		qp->srq = vmlx4_ib_xrc_srq(qp, answer->srqn);
	if (size != 0)
		data = vmlx4_rkey_map(qp, answer->rkey, answer->va + offset, size,
			IBV_ACCESS_REMOTE_READ);
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		qp->srq = NULL;
	if (data == NULL)
		return false;
	emit(qp, answer, *last ? (first ? VMLX4_OP_READ_ONLY : VMLX4_OP_READ_LAST) :
		(first ? VMLX4_OP_READ_FIRST : VMLX4_OP_READ_MIDDLE), data, size);
	answer->sent++;
	return true;
}

static bool
emit_next(struct vmlx4_qp *qp)
{
	struct vmlx4_ib *ib = qp->ib;
	struct vmlx4_ib_answer *answer = answer_at(ib, ib->answer_first);
	bool last = true;

	if (answer->op == VMLX4_OP_READ) {
		if (!emit_read(qp, answer, &last)) {
			uint32_t psn = answer->psn + answer->sent;

			vmlx4_ib_answers_drop(qp);
			vmlx4_ib_answer(qp, VMLX4_NAK_REMOTE_ACCESS, psn);
			vmlx4_ib_fatal(qp, IBV_EVENT_QP_ACCESS_ERR);
			return true;
		}
	} else {
		emit(qp, answer, answer->op, (const uint8_t *)"", 0);
	}
	if (last)
		ib->answer_first++;
	return true;
}

unsigned int
vmlx4_ib_answers_run(struct vmlx4_qp *qp, unsigned int budget)
{
	struct vmlx4_ib *ib = qp->ib;
	unsigned int done = 0;

	while (done < budget && ib->answer_first != ib->answer_last && vmlx4_ib_may_send(qp) &&
	       emit_next(qp))
		done++;
	if (ib->answer_first == ib->answer_last)
		answering(ib, false);
	return done;
}
