/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/guard.h"
#include "../hca/internal.h"
#include "../profile.h"
#include "../uverbs/uverbs.h"
#include "sq_ring.h"
#include "state.h"
#include "uar_check.h"

#define NEAR_REGISTERS 256u /* bytes that are looked at every time… */
#define WHOLE_PAGES 64u     /* …and all of it once in so many looks */

static struct vmlx4_qp *
sq_of(struct vmlx4_context *ctx, uint32_t qpn)
{
	struct vmlx4_qp *qp = qpn < VMLX4_QP_TABLE ? ctx->adapter->qp_table[qpn] : NULL;

	return qp != NULL && qp->obj.ctx == ctx && qp->table == NULL ? qp : NULL;
}

/* False: a card would not know what to do. */
static bool
check_qpn(struct vmlx4_context *ctx, uint32_t qpn, const char *how, uint32_t at)
{
	struct vmlx4_qp *qp = sq_of(ctx, qpn);

	if (qp == NULL)
		vmlx4_violation(ctx->adapter, VMLX4_RULE_UAR_QPN, "UAR", at, 0,
			"%s for QP %#x, of which the context has no send queue", how, qpn);
	else if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT ||
	    qp->state == IBV_QPS_RTR)
		vmlx4_violation(ctx->adapter, VMLX4_RULE_UAR_STATE, "UAR", at, 0,
			"%s for QP %#x, which is not ready to send", how, qpn);
	else
		return true;
	return false;
}

void
vmlx4_uar_check_send(struct vmlx4_context *ctx, uint32_t word)
{
	if ((word & 0xff) != 0)
		vmlx4_violation(ctx->adapter, VMLX4_RULE_UAR_SEND, "UAR", VMLX4_HW_UAR_SEND, 0,
			"doorbell %#x: the low 8 bits are not 0", word);
	else if (check_qpn(ctx, word >> 8, "send doorbell", VMLX4_HW_UAR_SEND))
		vmlx4_sq_check_rung(sq_of(ctx, word >> 8));
}

/* ---- BlueFlame ---- */

struct blueflame {
	struct vmlx4_context *ctx;
	const uint8_t *copy;
	unsigned int buffer;
	uint32_t size;       /* of the buffer */
	uint32_t dw1;
};

static void
report(const struct blueflame *bf, enum vmlx4_rule rule, const char *what)
{
	vmlx4_violation(bf->ctx->adapter, rule, "BlueFlame", bf->dw1 >> 8,
		(vmlx4_be32(bf->copy) & VMLX4_HW_BF_INDEX) >> 8,
		"buffer %u, dword 0 %#x, dword 1 %#x: %s", bf->buffer, vmlx4_be32(bf->copy),
		bf->dw1, what);
}

/* The WQE in the ring; wide indices are those of this pass or the one before. */
static bool
same_in_ring(const struct blueflame *bf, const struct vmlx4_qp *qp, uint32_t index,
	uint32_t size)
{
	static uint8_t linear[1024]; /* the adapter is locked */
	const uint8_t *wqe = vmlx4_sq_piece(&qp->sq, index, size, linear);

	return memcmp(wqe, bf->copy, 4) == 0 && vmlx4_be32(wqe + 4) == bf->dw1 &&
		memcmp(wqe + 8, bf->copy + 8, size - 8) == 0;
}

/* The buffers take turns, in a context with one queue that sends. */
static void
check_turn(const struct blueflame *bf, struct vmlx4_qp *qp, uint32_t index)
{
	struct vmlx4_context *ctx = bf->ctx;
	bool alone = TAILQ_FIRST(&ctx->sqs) == qp && TAILQ_NEXT(qp, sq_next) == NULL;

	if (alone && ctx->bf.known && ctx->bf.qpn == qp->qpn && ctx->bf.buffer == bf->buffer &&
	    ctx->bf.next == (uint16_t)index)
		report(bf, VMLX4_RULE_BF_BUFFER, "the same buffer as for the post before");
	ctx->bf.known = true;
	ctx->bf.qpn = qp->qpn;
	ctx->bf.buffer = bf->buffer;
	ctx->bf.next = (uint16_t)(index + 1);
}

static void
check_copy(const struct blueflame *bf)
{
	uint32_t size = (bf->dw1 & VMLX4_HW_DS) * 16, qpn = bf->dw1 >> 8;
	uint32_t index = (vmlx4_be32(bf->copy) & VMLX4_HW_BF_INDEX) >> 8;
	struct vmlx4_qp *qp = sq_of(bf->ctx, qpn);

	if (qp == NULL && (bf->dw1 & (VMLX4_HW_INS_CVLAN | VMLX4_HW_INS_SVLAN)) != 0)
		report(bf, VMLX4_RULE_BF_VLAN, "a tag to insert leaves no room for the QPN");
	else if (!check_qpn(bf->ctx, qpn, "BlueFlame", VMLX4_PAGE + bf->buffer * bf->size))
		return;
	else if (size < 32 || size > bf->size)
		report(bf, VMLX4_RULE_BF_SIZE, "the size is none that the buffer can hold");
	else if (!same_in_ring(bf, qp, index, size))
		report(bf, VMLX4_RULE_BF_COPY, "not the WQE that the ring has at this index");
	else
		check_turn(bf, qp, index);
}

static void
blueflame_run(void *arg)
{
	check_copy(arg);
}

/*
 * With the engine's thread the program may be copying at this very moment, so
 * that only what is in the one dword can be judged.
 */
static void
check_buffer(struct vmlx4_context *ctx, unsigned int buffer, uint32_t dw1)
{
	struct blueflame bf = {
		.ctx = ctx, .buffer = buffer, .dw1 = dw1,
		.size = ctx->adapter->profile->bf_reg_size / 2,
	};
	struct vmlx4_qp *qp = sq_of(ctx, dw1 >> 8);

	bf.copy = ctx->pages + VMLX4_PAGE + buffer * bf.size;
	if (qp != NULL)
		vmlx4_sq_check_rung(qp);
	if (ctx->adapter->options.step || qp == NULL)
		vmlx4_guarded(ctx->adapter, blueflame_run, &bf);
}

void
vmlx4_uar_check_blueflame(struct vmlx4_context *ctx, uint32_t first, uint32_t second)
{
	if (first != 0)
		check_buffer(ctx, 0, first);
	if (second != 0)
		check_buffer(ctx, 1, second);
}

/* ---- what was written where nothing is ---- */

static bool
is_register(uint32_t at)
{
	return at == VMLX4_HW_UAR_SEND || at == VMLX4_HW_UAR_ARM || at == VMLX4_HW_UAR_ARM + 4;
}

static bool
is_clock(uint32_t at)
{
	return at == VMLX4_CLOCK_OFFSET || at == VMLX4_CLOCK_OFFSET + 4;
}

static void
look(struct vmlx4_context *ctx, const char *page, uint32_t start, uint32_t size,
	bool (*known)(uint32_t at))
{
	uint32_t *word = (uint32_t *)(void *)(ctx->pages + start);
	uint32_t i, stray;

	for (i = 0; i < size / 4; i++) {
		/* Two at a time, as nearly all of them are 0. */
		if ((i & 1) == 0 && likely(__atomic_load_n((uint64_t *)(void *)&word[i],
		    __ATOMIC_RELAXED) == 0)) {
			i++;
			continue;
		}
		if (likely(__atomic_load_n(&word[i], __ATOMIC_RELAXED) == 0) || known(4 * i))
			continue;
		stray = be32toh(__atomic_exchange_n(&word[i], 0, __ATOMIC_RELAXED));
		vmlx4_violation(ctx->adapter, VMLX4_RULE_UAR_STRAY, page, 4 * i, 0,
			"%#x was written where no register is", stray);
	}
}

static bool
is_nothing(uint32_t at)
{
	(void)at;
	return false;
}

void
vmlx4_uar_check_look(struct vmlx4_context *ctx)
{
	bool whole = ctx->adapter->check == NULL ||
		ctx->adapter->check->audits % WHOLE_PAGES == 0;

	look(ctx, "UAR", 0, whole ? VMLX4_PAGE : NEAR_REGISTERS, is_register);
	if (!whole)
		return;
	look(ctx, "page 2", 2 * VMLX4_PAGE, VMLX4_PAGE, is_nothing);
	look(ctx, "clock page", 3 * VMLX4_PAGE, VMLX4_PAGE, is_clock);
}

static void
doorbells_run(void *arg)
{
	vmlx4_engine_doorbells(arg);
}

void
vmlx4_check_command(struct vmlx4_context *ctx)
{
	if (vmlx4_strict(ctx->adapter) && ctx->pages != NULL && !ctx->dead)
		vmlx4_guarded(ctx->adapter, doorbells_run, ctx);
}
