/* SPDX-License-Identifier: BSD-3-Clause */

#include <sched.h>

#include "../uverbs/uverbs.h"
#include "burst.h"

/*
 * How long a full CQ is looked at before it counts as run over: a driver
 * publishes its RQ record just before the consumer index that goes with it.
 */
#define CQ_FULL_PATIENCE_NS 50000u

static uint8_t *
cqe_at(const struct vmlx4_cq *cq, uint32_t index)
{
	return cq->buf + (size_t)(index & (cq->cqe_cnt - 1)) * cq->cqe_size;
}

struct vmlx4_hw_cqe *
vmlx4_cq_entry(const struct vmlx4_cq *cq, uint32_t index)
{
	return (struct vmlx4_hw_cqe *)(void *)(cqe_at(cq, index) +
		VMLX4_HW_CQE_OFFSET(cq->cqe_size));
}

void
vmlx4_cq_init(struct vmlx4_cq *cq)
{
	uint32_t i;

	/* The driver zero-fills, which would read as valid in the first pass. */
	for (i = 0; i < cq->cqe_cnt; i++)
		memset(cqe_at(cq, i), 0xcc, cq->cqe_size);
	cq->pi = 0;
	cq->room = 0;
	cq->error_pi = 0;
	cq->solicited_pi = 0;
	cq->error = false;
	memset(&cq->check, 0, sizeof(cq->check));
	cq->fired_sn = 0xff;
}

/* CQEs that the program has not consumed, by its record. */
static uint32_t
cq_used(const struct vmlx4_cq *cq)
{
	return (cq->pi - vmlx4_load_be32(cq->db)) & 0xffffff;
}

bool
vmlx4_cq_has_room(const struct vmlx4_cq *cq)
{
	return !cq->error && (cq->room != 0 || cq_used(cq) < cq->cqe_cnt);
}

uint32_t
vmlx4_cq_room(struct vmlx4_cq *cq, uint32_t wanted)
{
	uint32_t used;

	if (unlikely(cq->error))
		return 0;
	if (cq->room < wanted && (used = cq_used(cq)) <= cq->cqe_cnt)
		cq->room = cq->cqe_cnt - used;
	return cq->room;
}

static void
cq_overrun(struct vmlx4_cq *cq)
{
	struct vmlx4_context *ctx = cq->obj.ctx;

	vmlx4_violation(ctx->adapter, VMLX4_RULE_CQ_OVERRUN, "CQ", cq->cqn, cq->pi,
		"%u CQEs not consumed, no room for one more", cq->cqe_cnt);
	cq->error = true;
	ctx->adapter->cq_overruns++;
	vmlx4_async_event(ctx->adapter, ctx, IBV_EVENT_CQ_ERR, cq->obj.user_handle);
}

bool
vmlx4_cq_check_consumer(struct vmlx4_cq *cq)
{
	uint32_t used = cq_used(cq);

	if (likely(used <= cq->cqe_cnt) || cq->error)
		return true;
	vmlx4_violation(cq->obj.ctx->adapter, VMLX4_RULE_CQ_CONSUMER, "CQ", cq->cqn,
		cq->pi, "set_ci is %#x, %u ahead of the producer",
		vmlx4_load_be32(cq->db), 0x1000000 - used);
	return false;
}

/* Read the consumer record again; false: the CQ ran over. */
static bool
cq_refresh(struct vmlx4_cq *cq)
{
	uint32_t used = cq_used(cq);
	uint64_t until = 0;

	if (unlikely(used > cq->cqe_cnt)) {
		vmlx4_cq_check_consumer(cq);
		used = 0;
	}
	while (unlikely(used == cq->cqe_cnt)) {
		uint64_t now = vmlx4_now_ns();

		/* Stepped, the program waits for this thread. */
		if (cq->obj.ctx->adapter->options.step)
			return false;
		if (until == 0)
			until = now + CQ_FULL_PATIENCE_NS;
		else if (now > until)
			return false;
		sched_yield();
		used = cq_used(cq);
	}
	cq->room = cq->cqe_cnt - used;
	if (unlikely(vmlx4_strict(cq->obj.ctx->adapter)))
		vmlx4_cq_check_ci(cq, cq->pi - used);
	return true;
}

struct vmlx4_hw_cqe *
vmlx4_cq_claim(struct vmlx4_cq *cq)
{
	struct vmlx4_hw_cqe *cqe;

	if (unlikely(cq->error))
		return NULL;
	if (unlikely(cq->room == 0) && !cq_refresh(cq)) {
		cq_overrun(cq);
		return NULL;
	}
	if (unlikely(vmlx4_strict(cq->obj.ctx->adapter)))
		vmlx4_cq_check_owner(cq);
	cqe = vmlx4_cq_entry(cq, cq->pi);
	vmlx4_prefetch_write(cqe_at(cq, cq->pi + 4));
	return cqe;
}

void
vmlx4_cq_commit(struct vmlx4_cq *cq, struct vmlx4_hw_cqe *cqe, uint8_t op)
{
	uint32_t last = op | ((cq->pi & cq->cqe_cnt) ? VMLX4_HW_CQE_OWNER : 0);

	if (unlikely(cq->timestamps)) {
		uint64_t ts = vmlx4_clock_now(cq->obj.ctx->adapter);

		last |= (uint32_t)(ts & 0xffff) << 8;
		/* mlx4_en knows of cards that sample the halves at different times. */
		if ((ts & 0xffff) == 0 &&
		    vmlx4_unknowns(cq->obj.ctx->adapter)->rx_timestamp_carry != 0)
			ts -= 0x10000;
		cqe->sl_vid = htobe16((uint16_t)(ts >> 32));
		cqe->smac_hi = htobe16((uint16_t)(ts >> 16));
	}
	/* Hands the entry over: after all its other fields. */
	if (likely(cq->obj.ctx->adapter->faults == NULL) ||
	    !vmlx4_fault_hold_cqe(cq, cqe, last)) {
		__atomic_store_n(&cqe->owner_op, htobe32(last), __ATOMIC_RELEASE);
		vmlx4_trace_cqe(cq, cqe);
	}
	cq->pi++;
	cq->room--;
	if (unlikely(cq->channel != NULL))
		vmlx4_cq_check_arm(cq);
}

static void
count_error(struct vmlx4_adapter *adapter, uint32_t qpn, bool send, uint8_t syndrome)
{
	struct vmlx4_port *port = NULL;

	qpn &= VMLX4_QP_TABLE - 1;
	if (adapter->qp_table != NULL && adapter->qp_table[qpn] != NULL)
		port = adapter->qp_table[qpn]->port;
	else if (adapter->wq_table != NULL && adapter->wq_table[qpn] != NULL)
		port = adapter->wq_table[qpn]->port;
	if (port != NULL && syndrome < 32)
		port->syndromes[send][syndrome]++;
}

void
vmlx4_cq_write_error_of(struct vmlx4_cq *cq, uint32_t qpn, bool send,
	uint16_t wqe_index, uint8_t syndrome, uint32_t srqn)
{
	struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(cq);
	uint8_t vendor = syndrome == VMLX4_HW_SYN_LOC_PROT ? VMLX4_HW_VENDOR_PROT :
		(uint8_t)vmlx4_unknowns(cq->obj.ctx->adapter)->vendor_other;

	if (cqe == NULL)
		return;
	if (unlikely(cq->obj.ctx->adapter->faults != NULL))
		vendor = vmlx4_fault_vendor(cq->obj.ctx->adapter, syndrome, vendor);
	memset(cqe, 0, offsetof(struct vmlx4_hw_cqe, owner_op));
	cqe->vlan_qpn = htobe32(qpn & 0xffffff);
	cqe->mlpath = htobe32(srqn);
	/* Reserved, and read as a length by drivers that miss the opcode. */
	cqe->byte_cnt = htobe32(0x80000000);
	cqe->wqe_index = htobe16(wqe_index);
	cqe->checksum = htobe16(VMLX4_HW_ERR(vendor, syndrome));
	cq->error_pi = cq->pi + 1;
	count_error(cq->obj.ctx->adapter, qpn, send, syndrome);
	vmlx4_cq_commit(cq, cqe, VMLX4_HW_CQE_OP_ERROR | (send ? VMLX4_HW_CQE_SEND : 0));
}

void
vmlx4_cq_write_error(struct vmlx4_cq *cq, uint32_t qpn, bool send,
	uint16_t wqe_index, uint8_t syndrome)
{
	vmlx4_cq_write_error_of(cq, qpn, send, wqe_index, syndrome, 0);
}

/* Behind the last CQE that a solicited arm waits for. */
static uint32_t
solicited(const struct vmlx4_cq *cq)
{
	return (int32_t)(cq->solicited_pi - cq->error_pi) > 0 ? cq->solicited_pi : cq->error_pi;
}

/* Error CQEs at or behind the consumer index of the arm: some, or none. */
static uint32_t
errors_waiting(const struct vmlx4_cq *cq, uint32_t arm)
{
	int32_t ahead = (int32_t)((cq->error_pi - VMLX4_HW_ARM_LOW24(arm)) << 8) >> 8;

	return ahead > 0 && cq->error_pi != 0 ? (uint32_t)ahead : 0;
}

void
vmlx4_cq_check_arm(struct vmlx4_cq *cq)
{
	uint32_t arm = vmlx4_load_be32(cq->db + 1);
	uint32_t cmd = VMLX4_HW_ARM_CMD(arm), sn = VMLX4_HW_ARM_SN(arm);
	uint32_t visible = vmlx4_fault_visible(cq);
	uint32_t up_to = cmd == VMLX4_HW_ARM_SOLICITED &&
		(int32_t)(solicited(cq) - visible) < 0 ? solicited(cq) : visible;
	int32_t ahead;

	if (cmd == 0 || cq->channel == NULL)
		return;
	if (sn == cq->fired_sn && vmlx4_unknowns(cq->obj.ctx->adapter)->arm_ignores_used_sn)
		return;
	/* CQEs at or behind the consumer index of the arm, in 24 bits. */
	ahead = (int32_t)((up_to - VMLX4_HW_ARM_LOW24(arm)) << 8) >> 8;
	if (ahead <= 0)
		return;
	if (unlikely((cq->moderation.count | cq->moderation.period) != 0) &&
	    vmlx4_moderation_holds(cq, (uint32_t)ahead, errors_waiting(cq, arm)))
		return;
	cq->fired_sn = (uint8_t)sn;
	cq->check.fired_ci = VMLX4_HW_ARM_LOW24(arm);
	vmlx4_comp_event(cq);
}

void
vmlx4_cq_arm_doorbell(struct vmlx4_context *ctx, uint64_t arm)
{
	uint32_t hi = (uint32_t)(arm >> 32), ci = VMLX4_HW_ARM_LOW24((uint32_t)arm);
	struct vmlx4_obj *obj;

	vmlx4_trace_doorbell(ctx, VMLX4_TRACE_BELL_ARM, hi, ci);
	if (unlikely(vmlx4_strict(ctx->adapter)))
		vmlx4_cq_check_doorbell(ctx, hi, ci);
	/* Another CQ's arm may have overwritten the word: look at all of them. */
	TAILQ_FOREACH(obj, &ctx->objs, next) {
		struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;

		if (obj->type != VMLX4_CQ)
			continue;
		if (vmlx4_unknowns(ctx->adapter)->arm_fires_on_pending)
			vmlx4_cq_check_arm(cq);
	}
}
