/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "transport.h"

/*
 * Packets on their way. What arrives, from a wire or from the port itself, waits
 * here for its turn in the engine's pass: so one QP's answer never runs inside of
 * what another QP is doing.
 */

#define HIGH_WATER 512u    /* with so many waiting nobody makes more… */
#define MOST 16384u        /* …and with so many those from outside are lost */
#define ANSWERS_BUDGET 32u /* packets of one QP before the next has its turn */

struct vmlx4_ib_work *
vmlx4_ib_work_new(void)
{
	struct vmlx4_ib_work *work = vmlx4_zalloc(sizeof(*work));

	if (work == NULL)
		return NULL;
	STAILQ_INIT(&work->frames);
	TAILQ_INIT(&work->answering);
	TAILQ_INIT(&work->overdue);
	return work;
}

void
vmlx4_ib_stop(struct vmlx4_adapter *adapter)
{
	struct vmlx4_ib_work *work = adapter->ib;
	struct vmlx4_ib_frame *frame;

	if (work == NULL)
		return;
	while ((frame = STAILQ_FIRST(&work->frames)) != NULL) {
		STAILQ_REMOVE_HEAD(&work->frames, next);
		free(frame);
	}
	free(work->current);
	free(work);
	adapter->ib = NULL;
}

/* ---- sending ---- */

uint8_t *
vmlx4_ib_frame_buffer(void)
{
	static uint8_t frame[VMLX4_IB_FRAME_MAX]; /* the adapter is locked */

	return frame;
}

bool
vmlx4_ib_may_send(const struct vmlx4_qp *qp)
{
	return qp->port->tx_hold == 0 && !qp->port->pause.paused &&
		qp->obj.ctx->adapter->ib->waiting < HIGH_WATER;
}

void
vmlx4_ib_address(struct vmlx4_qp *qp, const struct vmlx4_path *path,
	struct vmlx4_ib_packet *packet)
{
	memset(packet, 0, sizeof(*packet));
	memcpy(packet->dmac, path->dmac, 6);
	memcpy(packet->smac, qp->port->netdev.mac, 6);
	packet->tagged = path->tagged;
	packet->vlan = path->vlan;
	/* An entry that went: as whom it is sent no longer matters to anybody. */
	if (!vmlx4_gid_get(qp->port, path->sgid_index, packet->sgid, &packet->roce))
		packet->roce = VMLX4_ROCE_V1;
	memcpy(packet->dgid, path->dgid, VMLX4_GID_SIZE);
	packet->traffic_class = path->traffic_class;
	packet->hop_limit = path->hop_limit != 0 ? path->hop_limit : 64;
	packet->flow_label = path->flow_label;
	/* For who spreads flows by it: one per connection. */
	packet->udp_port = (uint16_t)(0xc000u | (qp->qpn ^ qp->qpn >> 14) % 0x4000u);
	packet->pkey = VMLX4_PKEY_DEFAULT;
}

/* A copy waits. */
static void
arrive(struct vmlx4_port *port, const uint8_t *bytes, size_t length, uint32_t except)
{
	struct vmlx4_ib_work *work = port->adapter->ib;
	struct vmlx4_ib_frame *frame = NULL;

	if (work->waiting < MOST)
		frame = malloc(sizeof(*frame) + length);
	if (frame == NULL) {
		port->stats.rx_overruns++;
		return;
	}
	frame->port = port;
	frame->except = except;
	frame->length = length;
	memcpy(frame->bytes, bytes, length);
	STAILQ_INSERT_TAIL(&work->frames, frame, next);
	work->waiting++;
}

static bool
loops(const struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	return length <= vmlx4_port_max_frame(port) &&
		(port->active || vmlx4_unknowns(port->adapter)->loopback_needs_link == 0) &&
		((frame[0] & 1) != 0 || memcmp(frame, port->netdev.mac, 6) == 0);
}

void
vmlx4_ib_emit(struct vmlx4_qp *qp, const uint8_t *frame, size_t length)
{
	struct vmlx4_port *port = qp->port;
	bool group = (frame[0] & 1) != 0;

	port->stats.tx_roce++;
	if (!loops(port, frame, length)) {
		vmlx4_port_send(port, frame, length); /* which counts what it does not */
		return;
	}
	port->stats.tx_loopback++;
	if (!group)
		vmlx4_trace_frame(port, VMLX4_TRACE_OUT, frame, length);
	vmlx4_trace_frame(port, VMLX4_TRACE_IN, frame, length);
	arrive(port, frame, length, qp->block_mcast_lb ? qp->qpn : 0);
	if (group)
		vmlx4_port_send(port, frame, length);
}

/* ---- receiving ---- */

bool
vmlx4_ib_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	bool v2 = port->adapter->profile->roce_v2;

	if ((frame[0] & 1) == 0 && memcmp(frame, port->netdev.mac, 6) != 0)
		return false;
	if (!vmlx4_ib_is_packet(frame, length, v2))
		return false;
	if (port->steering.copies != 0)
		vmlx4_steer_sent(port, frame, length); /* sniffers see these too */
	arrive(port, frame, length, 0);
	return true;
}

/* The QP of a number, if packets of the transport may reach it. */
static struct vmlx4_qp *
qp_for(struct vmlx4_port *port, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_qp *qp = port->adapter->qp_table[packet->dest_qpn & (VMLX4_QP_TABLE - 1)];
	uint32_t transport = vmlx4_bth_transport(packet->opcode);
	unsigned int what = vmlx4_bth_what(packet->opcode);

	if (qp == NULL || qp->ib == NULL || qp->qpn != packet->dest_qpn || qp->port != port ||
	    (packet->pkey & 0x7fff) != (VMLX4_PKEY_DEFAULT & 0x7fff))
		return NULL;
	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT ||
	    qp->state == IBV_QPS_ERR)
		return NULL;
	switch (qp->qp_type) {
	case IBV_QPT_RC:
		return transport == VMLX4_BTH_RC ? qp : NULL;
	case IBV_QPT_UC:
		return transport == VMLX4_BTH_UC ? qp : NULL;
	case IBV_QPT_UD:
		return transport == VMLX4_BTH_UD ? qp : NULL;
	default:
		/* One end asks, the other answers. */
		return transport == VMLX4_BTH_XRC && ((what & VMLX4_IS_RESPONSE) != 0) ==
			(qp->qp_type == IBV_QPT_XRC_SEND) ? qp : NULL;
	}
}

static void
established(struct vmlx4_qp *qp)
{
	struct vmlx4_context *ctx = qp->obj.ctx;

	if (qp->state != IBV_QPS_RTR || qp->ib->rx.established)
		return;
	qp->ib->rx.established = true;
	vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_COMM_EST, qp->obj.user_handle);
}

static void
deliver(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet)
{
	struct vmlx4_ib_work *work = qp->obj.ctx->adapter->ib;

	work->active = qp;
	if ((vmlx4_bth_what(packet->opcode) & VMLX4_IS_RESPONSE) != 0) {
		work->phase = VMLX4_IB_REQUESTER;
		vmlx4_ib_answered(qp, packet);
	} else {
		work->phase = VMLX4_IB_RESPONDER;
		if (qp->qp_type == IBV_QPT_UD) {
			vmlx4_ib_datagram_received(qp, packet);
		} else {
			established(qp);
			if (qp->qp_type == IBV_QPT_UC)
				vmlx4_ib_requested_uc(qp, packet);
			else
				vmlx4_ib_requested(qp, packet);
		}
	}
	work->active = NULL;
	work->phase = VMLX4_IB_IDLE;
}

struct group {
	const struct vmlx4_ib_packet *packet;
	uint32_t except;
};

static void
deliver_copy(struct vmlx4_qp *qp, void *arg)
{
	const struct group *group = arg;

	if (qp->qpn != group->except && qp->ib != NULL && qp->qp_type == IBV_QPT_UD &&
	    qp->state >= IBV_QPS_RTR && qp->state != IBV_QPS_ERR)
		deliver(qp, group->packet);
}

static void
deliver_frame(const struct vmlx4_ib_frame *frame)
{
	struct vmlx4_port *port = frame->port;
	struct vmlx4_ib_packet packet;
	struct vmlx4_qp *qp;

	port->stats.rx_frames++;
	port->stats.rx_bytes += frame->length;
	if (vmlx4_ib_packet_read(frame->bytes, frame->length, true, &packet) != VMLX4_IB_GOOD) {
		port->stats.rx_roce_bad++;
		return;
	}
	if (packet.dest_qpn == VMLX4_QPN_MULTICAST) {
		struct group group = { &packet, frame->except };

		port->stats.rx_multicast++;
		if (vmlx4_bth_transport(packet.opcode) != VMLX4_BTH_UD ||
		    vmlx4_mcast_each(port, packet.dgid, deliver_copy, &group) == 0)
			port->stats.rx_roce_no_qp++;
		return;
	}
	qp = qp_for(port, &packet);
	if (qp == NULL)
		port->stats.rx_roce_no_qp++;
	else
		deliver(qp, &packet);
}

unsigned int
vmlx4_ib_run(struct vmlx4_adapter *adapter, unsigned int budget)
{
	struct vmlx4_ib_work *work = adapter->ib;
	struct vmlx4_ib *ib, *next;
	unsigned int done = 0;

	while (done < budget && (work->current = STAILQ_FIRST(&work->frames)) != NULL) {
		/* Not in the list any more: should it meet memory that is gone, it is lost. */
		STAILQ_REMOVE_HEAD(&work->frames, next);
		work->waiting--;
		deliver_frame(work->current);
		free(work->current);
		work->current = NULL;
		done++;
	}
	for (ib = TAILQ_FIRST(&work->answering); ib != NULL; ib = next) {
		next = TAILQ_NEXT(ib, answers_next);
		work->active = ib->qp;
		work->phase = VMLX4_IB_RESPONDER;
		done += vmlx4_ib_answers_run(ib->qp, ANSWERS_BUDGET);
	}
	work->active = NULL;
	work->phase = VMLX4_IB_IDLE;
	while (work->waiting == 0 && (ib = TAILQ_FIRST(&work->overdue)) != NULL)
		vmlx4_ib_answer_missed(ib->qp);
	return done;
}

/* ---- memory that is gone (unmapped.c) ---- */

/* The responder was at a packet, or else at sending what was read. */
static void
responder_gone(struct vmlx4_qp *qp, bool at_packet)
{
	struct vmlx4_ib *ib = qp->ib;
	uint32_t psn = at_packet ? ib->rx.psn : vmlx4_ib_answer_psn(qp);

	if (qp->qp_type == IBV_QPT_XRC_RECV)
		qp->srq = NULL; /* the packet named it, which was left in the middle */
	if (ib->rx.has_wqe)
		vmlx4_ib_recv_error(qp, VMLX4_HW_SYN_LOC_PROT);
	vmlx4_ib_answers_drop(qp); /* it would meet the same again */
	if (vmlx4_ib_reliable(qp))
		vmlx4_ib_answer(qp, VMLX4_NAK_REMOTE_OPERATION, psn);
	vmlx4_ib_fatal(qp, IBV_EVENT_QP_ACCESS_ERR);
}

/* An answer is for the oldest request, a packet of the current one. */
static void
requester_gone(struct vmlx4_qp *qp, bool at_packet)
{
	struct vmlx4_ib *ib = qp->ib;
	uint32_t number = at_packet ? ib->tx.first : ib->tx.current;

	if (!qp->sq.live)
		return;
	/* Or it had not become one yet. */
	if (!at_packet && number == ib->tx.last && vmlx4_ib_begin_failed(qp))
		return;
	if (number == ib->tx.last)
		number = ib->tx.first;
	if (number != ib->tx.last)
		vmlx4_ib_fail(qp, vmlx4_ib_request_at(ib, number), VMLX4_HW_SYN_LOC_PROT);
}

bool
vmlx4_ib_buffer_gone(struct vmlx4_adapter *adapter, uint64_t addr)
{
	struct vmlx4_ib_work *work = adapter->ib;
	struct vmlx4_qp *qp = work->active != NULL ? work->active : adapter->tx_active;
	bool responder = work->active != NULL && work->phase == VMLX4_IB_RESPONDER;
	bool at_packet = work->current != NULL;

	work->active = NULL;
	work->phase = VMLX4_IB_IDLE;
	free(work->current);
	work->current = NULL;
	if (qp == NULL || qp->ib == NULL)
		return false;
	vmlx4_violation(adapter, VMLX4_RULE_MR_UNMAPPED, responder ? "RQ" : "SQ", qp->qpn,
		qp->sq.ci, "a buffer at %#llx is no longer mapped, or not as it was registered",
		(unsigned long long)addr);
	if (responder)
		responder_gone(qp, at_packet);
	else
		requester_gone(qp, at_packet);
	return true;
}
