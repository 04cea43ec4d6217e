/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "../hca/internal.h"
#include "ahead.h"
#include "flight.h"
#include "sq_ring.h"
#include "state.h"
#include "wqe_check.h"

/*
 * Blocks this far ahead cannot belong to the WQE that the driver is writing
 * just now (at most 63 units of 16 bytes), so they can be judged at any time;
 * nearer ones only when the queue idles.
 */
#define FAR_AHEAD 1024u

/*
 * Looking ahead takes the blocks from the driver's cache, so a busy queue is
 * looked at once in so many times that it runs dry.
 */
#define DRAINS_PER_LOOK 32

struct vmlx4_sq_check {
	struct vmlx4_flight *flight; /* executed and not completed; or NULL */
	struct vmlx4_ahead *ahead;   /* read before it was announced; or NULL */
	bool rung;           /* a doorbell named the queue since the last WQE */
	bool doubt;          /* seen once while idle: look again before it is said */
	bool judged;         /* the idle position… */
	uint32_t judged_ci, judged_dw0;
	unsigned int drains;
	uint32_t executed[]; /* per block: digest of its first 16 bytes when executed */
};

static const uint8_t *
block_at(const struct vmlx4_sq *sq, uint32_t stride, uint32_t offset)
{
	size_t at = ((size_t)(stride & (sq->wqe_cnt - 1)) << sq->stride_shift) + offset;

	return sq->buf + (at & (((size_t)sq->wqe_cnt << sq->stride_shift) - 1));
}

static uint32_t
dword0(const uint8_t *block)
{
	return vmlx4_load_be32((const uint32_t *)(const void *)block);
}

static bool
owned(const struct vmlx4_sq *sq, uint32_t stride, uint32_t dw0)
{
	return (dw0 >> 31) == ((stride & sq->wqe_cnt) != 0);
}

/* Never 0, and blind to the owner bit. */
static uint32_t
digest(const uint8_t *block)
{
	uint64_t a, b;

	memcpy(&a, block, 8);
	memcpy(&b, block + 8, 8);
	a &= ~(uint64_t)htole32(0x80u);
	a = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
	return (uint32_t)(a >> 32) | 1;
}

struct vmlx4_sq_check *
vmlx4_sq_check_new(struct vmlx4_qp *qp)
{
	size_t blocks = ((size_t)qp->sq.wqe_cnt << qp->sq.stride_shift) / VMLX4_HW_CHUNK;
	struct vmlx4_sq_check *check =
		vmlx4_zalloc(sizeof(*check) + blocks * sizeof(check->executed[0]));

	if (check != NULL) {
		check->flight = vmlx4_flight_new(qp);
		check->ahead = vmlx4_ahead_new();
	}
	return check;
}

void
vmlx4_sq_check_end(struct vmlx4_qp *qp)
{
	struct vmlx4_sq_check *check = qp->sq.check;

	if (check == NULL)
		return;
	vmlx4_flight_end(qp);
	vmlx4_flight_free(check->flight);
	free(check->ahead);
	qp->sq.check = NULL;
	free(check);
}

struct vmlx4_flight *
vmlx4_sq_flight(const struct vmlx4_qp *qp)
{
	return qp->sq.check != NULL ? qp->sq.check->flight : NULL;
}

void
vmlx4_sq_check_rung(struct vmlx4_qp *qp)
{
	if (qp->sq.check == NULL)
		return;
	qp->sq.check->rung = true;
	qp->sq.check->judged = false;
	qp->sq.idle.since = 0;
}

void
vmlx4_sq_check_backlog(struct vmlx4_qp *qp)
{
	const struct vmlx4_sq *sq = &qp->sq;
	uint32_t spare = (VMLX4_HW_PREFETCH >> sq->stride_shift) + 1;
	uint32_t posted = 0, dw0, size;

	if (spare >= sq->wqe_cnt)
		return;
	while (posted <= sq->wqe_cnt - spare) {
		const uint8_t *wqe = block_at(sq, sq->ci + posted, 0);

		dw0 = dword0(wqe);
		if (!owned(sq, sq->ci + posted, dw0))
			return;
		size = (vmlx4_be32(wqe + 4) & VMLX4_HW_DS) * 16;
		posted += size == 0 ? 1 : ((size - 1) >> sq->stride_shift) + 1;
	}
	vmlx4_violation(qp->obj.ctx->adapter, VMLX4_RULE_SQ_HEADROOM, "SQ", qp->qpn, sq->ci,
		"%u or more of %u strides posted, %u must stay free", posted, sq->wqe_cnt, spare);
}

bool
vmlx4_sq_check_wqe(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_sq_check *check = sq->check;
	size_t blocks = ((size_t)sq->wqe_cnt << sq->stride_shift) / VMLX4_HW_CHUNK;
	size_t first = ((size_t)sq->ci << sq->stride_shift) / VMLX4_HW_CHUNK;
	uint32_t at, header_end = 0;
	bool whole = true;

	vmlx4_wqe_check(qp, wqe, size);
	if (check != NULL && check->ahead != NULL)
		vmlx4_ahead_compare(qp, check->ahead, wqe, size);
	if ((vmlx4_be32(wqe) & VMLX4_HW_OPCODE) == VMLX4_HW_OP_LSO && size >= 32)
		header_end = 20 + VMLX4_HW_LSO_HEADER(vmlx4_be32(wqe + 16));
	for (at = 0; at < size; at += VMLX4_HW_CHUNK) {
		if (check != NULL)
			check->executed[(first + at / VMLX4_HW_CHUNK) & (blocks - 1)] =
				digest(wqe + at);
		/* Inside an LSO header any bytes may stand at the head of a block. */
		if (at == 0 || at < header_end ||
		    (vmlx4_be32(wqe + at) & VMLX4_HW_STAMP) != VMLX4_HW_STAMP)
			continue;
		vmlx4_violation(qp->obj.ctx->adapter, VMLX4_RULE_SQ_FIRST_DWORD, "SQ", qp->qpn,
			sq->ci, "byte %u of a WQE of %u bytes still has the stamp %#x",
			at, size, vmlx4_be32(wqe + at));
		whole = false;
	}
	if (check != NULL)
		check->rung = false;
	if (whole)
		vmlx4_flight_take(qp, wqe, size);
	return whole;
}

/* Is this block one that the prefetcher would take as posted? */
static bool
looks_posted(const struct vmlx4_sq *sq, uint32_t ahead)
{
	uint32_t stride = sq->ci + (ahead >> sq->stride_shift);
	uint32_t offset = ahead & ((1u << sq->stride_shift) - 1);
	uint32_t dw0 = dword0(block_at(sq, stride, offset));

	if (offset == 0)
		return owned(sq, stride, dw0);
	/* Inside a stride no WQE begins, and only the stamp says "not written". */
	return (dw0 & VMLX4_HW_STAMP) != VMLX4_HW_STAMP;
}

/* Bytes from the head to the first block that reads as posted, or 0. */
static uint32_t
posted_ahead(const struct vmlx4_sq *sq, uint32_t from)
{
	uint32_t ahead;

	if (((size_t)sq->wqe_cnt << sq->stride_shift) <= VMLX4_HW_PREFETCH)
		return 0;
	for (ahead = from; ahead < VMLX4_HW_PREFETCH; ahead += VMLX4_HW_CHUNK) {
		if (!looks_posted(sq, ahead))
			continue;
		/* Posted by now, or is the head really still free? */
		if (owned(sq, sq->ci, dword0(block_at(sq, sq->ci, 0))))
			return 0;
		if (looks_posted(sq, ahead))
			return ahead;
	}
	return 0;
}

static void
report_ahead(struct vmlx4_qp *qp, uint32_t ahead)
{
	const struct vmlx4_sq *sq = &qp->sq;
	uint32_t stride = sq->ci + (ahead >> sq->stride_shift);
	uint32_t offset = ahead & ((1u << sq->stride_shift) - 1);

	vmlx4_violation(qp->obj.ctx->adapter, VMLX4_RULE_SQ_STAMP, "SQ", qp->qpn, stride,
		"dword 0 of the block %u bytes ahead of the next WQE (index %u) is %#x, "
		"which reads as posted", ahead, sq->ci, dword0(block_at(sq, stride, offset)));
}

/* At a moment that lot decides, or, stepped, whenever the queue runs dry. */
static void
read_ahead(struct vmlx4_qp *qp)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;

	if (qp->sq.check->ahead == NULL || adapter->check == NULL)
		return;
	if (adapter->options.step || vmlx4_check_lot(adapter->check, DRAINS_PER_LOOK))
		vmlx4_ahead_read(qp, qp->sq.check->ahead);
}

void
vmlx4_sq_check_drained(struct vmlx4_qp *qp)
{
	struct vmlx4_sq_check *check = qp->sq.check;
	uint32_t ahead = 0;

	if (check == NULL)
		return;
	if (check->drains++ % DRAINS_PER_LOOK == 0 || qp->obj.ctx->adapter->options.step)
		ahead = posted_ahead(&qp->sq, FAR_AHEAD);
	if (ahead != 0)
		report_ahead(qp, ahead);
	read_ahead(qp);
}

/* Written since it was last executed, and not merely stamped or initialised? */
static bool
head_rewritten(const struct vmlx4_sq *sq)
{
	const uint8_t *head = block_at(sq, sq->ci, 0);
	size_t blocks = ((size_t)sq->wqe_cnt << sq->stride_shift) / VMLX4_HW_CHUNK;
	size_t at = ((size_t)sq->ci << sq->stride_shift) / VMLX4_HW_CHUNK;
	uint32_t dw0 = dword0(head) & VMLX4_HW_STAMP;

	return dw0 != VMLX4_HW_STAMP && dw0 != 0 &&
		digest(head) != sq->check->executed[at & (blocks - 1)];
}

void
vmlx4_sq_check_idle(struct vmlx4_qp *qp)
{
	struct vmlx4_sq *sq = &qp->sq;
	struct vmlx4_sq_check *check = sq->check;
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint32_t dw0 = dword0(block_at(sq, sq->ci, 0)), ahead;
	bool posted = owned(sq, sq->ci, dw0), rewritten;

	if (check == NULL ||
	    (check->judged && check->judged_ci == sq->ci && check->judged_dw0 == dw0))
		return;
	rewritten = !posted && check->rung && head_rewritten(sq);
	ahead = posted || rewritten ? 0 : posted_ahead(sq, VMLX4_HW_CHUNK);
	if ((posted || rewritten || ahead != 0) && !check->doubt && !adapter->options.step) {
		/* Perhaps the driver is writing a WQE at this very moment. */
		check->doubt = true;
		return;
	}
	check->doubt = false;
	check->judged = true;
	check->judged_ci = sq->ci;
	check->judged_dw0 = dw0;
	if (posted)
		vmlx4_violation(adapter, VMLX4_RULE_SQ_DOORBELL, "SQ", qp->qpn, sq->ci,
			"posted (dword 0 is %#x), and no doorbell followed", dw0);
	else if (rewritten)
		vmlx4_violation(adapter, VMLX4_RULE_SQ_OWNERSHIP, "SQ", qp->qpn, sq->ci,
			"doorbell for a WQE whose dword 0 is %#x: the owner bit of this pass is %u",
			dw0, (sq->ci & sq->wqe_cnt) != 0);
	else if (ahead != 0)
		report_ahead(qp, ahead);
}
