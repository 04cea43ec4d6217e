/* SPDX-License-Identifier: BSD-3-Clause */

#include <poll.h>

#include "../hca/internal.h"
#include "cq_check.h"

#define ARM_LOOKS 2u        /* at a record that no doorbell followed */
#define MOST_ARM_COMMAND 3u /* after N completions, in the PRM only */

/* a - b of 24-bit indices. */
static int32_t
distance(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

void
vmlx4_cq_check_owner(struct vmlx4_cq *cq)
{
	const struct vmlx4_hw_cqe *cqe = vmlx4_cq_entry(cq, cq->pi);
	/* As the pass before left it, or the initialisation before the first. */
	bool expected = (cq->pi & cq->cqe_cnt) == 0;
	bool owner = (vmlx4_load_be32(&cqe->owner_op) & VMLX4_HW_CQE_OWNER) != 0;

	if (likely(owner == expected))
		return;
	vmlx4_violation(cq->obj.ctx->adapter, VMLX4_RULE_CQE_OWNER, "CQ", cq->cqn, cq->pi,
		"the owner bit of an entry that is not written yet is %d", owner);
}

void
vmlx4_cq_check_ci(struct vmlx4_cq *cq, uint32_t ci)
{
	if (distance(ci, cq->check.ci) < 0 && cq->check.ci_known)
		vmlx4_violation(cq->obj.ctx->adapter, VMLX4_RULE_CQ_BACKWARDS, "CQ", cq->cqn,
			cq->pi, "set_ci went back from %#x to %#x", cq->check.ci & 0xffffff,
			ci & 0xffffff);
	cq->check.ci = ci;
	cq->check.ci_known = true;
}

/* Did the program read all events? Then its sequence number must have moved on. */
static bool
all_events_read(const struct vmlx4_cq *cq)
{
	struct pollfd fd = { .events = POLLIN };

	if (cq->channel == NULL)
		return false;
	fd.fd = cq->channel->read_fd;
	return poll(&fd, 1, 0) == 0;
}

/* The record must be there before the doorbell; it may only be newer. */
static void
check_record(struct vmlx4_cq *cq, uint32_t hi, uint32_t ci)
{
	uint32_t rec = vmlx4_load_be32(cq->db + 1);
	uint32_t sn_newer = (VMLX4_HW_ARM_SN(rec) - VMLX4_HW_ARM_SN(hi)) & 3;

	if (VMLX4_HW_ARM_CMD(rec) != 0 && distance(VMLX4_HW_ARM_LOW24(rec), ci) >= 0 &&
	    sn_newer <= 1)
		return;
	vmlx4_violation(cq->obj.ctx->adapter, VMLX4_RULE_CQ_ARM, "CQ", cq->cqn, cq->pi,
		"doorbell has sn %u cmd %u ci %#x, the record sn %u cmd %u ci %#x",
		VMLX4_HW_ARM_SN(hi), VMLX4_HW_ARM_CMD(hi), ci, VMLX4_HW_ARM_SN(rec),
		VMLX4_HW_ARM_CMD(rec), VMLX4_HW_ARM_LOW24(rec));
}

static void
check_doorbell(struct vmlx4_cq *cq, uint32_t hi, uint32_t ci)
{
	struct vmlx4_adapter *adapter = cq->obj.ctx->adapter;
	uint32_t cmd = VMLX4_HW_ARM_CMD(hi), sn = VMLX4_HW_ARM_SN(hi);

	if (cmd == 0 || cmd > MOST_ARM_COMMAND)
		vmlx4_violation(adapter, VMLX4_RULE_CQ_ARM_COMMAND, "CQ", cq->cqn, cq->pi,
			"arm doorbell with command %u", cmd);
	else if (distance(ci, cq->pi) > 0)
		vmlx4_violation(adapter, VMLX4_RULE_CQ_ARM_INDEX, "CQ", cq->cqn, cq->pi,
			"armed from index %#x on, %d ahead of the producer", ci,
			distance(ci, cq->pi));
	else if (sn == cq->fired_sn && distance(ci, cq->check.fired_ci) > 0 &&
	    all_events_read(cq))
		vmlx4_violation(adapter, VMLX4_RULE_CQ_ARM_SN, "CQ", cq->cqn, cq->pi,
			"armed with sn %u, which an event was delivered for: the card ignores it",
			sn);
	else
		check_record(cq, hi, ci);
}

void
vmlx4_cq_check_doorbell(struct vmlx4_context *ctx, uint32_t hi, uint32_t ci)
{
	struct vmlx4_obj *obj;
	bool found = false;

	TAILQ_FOREACH(obj, &ctx->objs, next) {
		struct vmlx4_cq *cq = (struct vmlx4_cq *)(void *)obj;

		if (obj->type != VMLX4_CQ)
			continue;
		if (cq->cqn == VMLX4_HW_ARM_LOW24(hi)) {
			found = true;
			check_doorbell(cq, hi, ci);
		}
		/* Doorbells of several CQs overwrite each other: this may stand for all. */
		cq->check.arm = vmlx4_load_be32(cq->db + 1);
		cq->check.arm_looks = 0;
	}
	if (!found)
		vmlx4_violation(ctx->adapter, VMLX4_RULE_UAR_CQN, "UAR", 0x20, 0,
			"arm doorbell for CQ %#x, which the context does not have",
			VMLX4_HW_ARM_LOW24(hi));
}

/* A record that says "armed", and no doorbell for as long as it takes to be sure. */
static void
look_for_arm(struct vmlx4_cq *cq)
{
	uint32_t arm = vmlx4_load_be32(cq->db + 1);

	if (arm == cq->check.arm || VMLX4_HW_ARM_CMD(arm) == 0) {
		cq->check.arm_looks = 0;
		return;
	}
	if (arm != cq->check.arm_seen) {
		cq->check.arm_seen = arm;
		cq->check.arm_looks = 0;
	}
	if (cq->check.arm_looks++ < ARM_LOOKS)
		return;
	vmlx4_violation(cq->obj.ctx->adapter, VMLX4_RULE_CQ_ARM_DOORBELL, "CQ", cq->cqn, cq->pi,
		"the record says sn %u cmd %u ci %#x, and no doorbell followed",
		VMLX4_HW_ARM_SN(arm), VMLX4_HW_ARM_CMD(arm), VMLX4_HW_ARM_LOW24(arm));
	cq->check.arm = arm;
}

void
vmlx4_cq_check_look(struct vmlx4_cq *cq)
{
	/* Without a queue nothing is ever written there, nor read of its records. */
	if (cq->error || cq->obj.users == 0)
		return;
	if (vmlx4_cq_check_consumer(cq))
		vmlx4_cq_check_ci(cq, vmlx4_load_be32(cq->db));
	look_for_arm(cq);
}
