/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/guard.h"
#include "../hca/internal.h"
#include "../ib/transport.h"
#include "digest.h"
#include "flight.h"
#include "sq_ring.h"

#define STALL_NS 1000u          /* until a CQ without room is looked at again */
#define MOST_PAYLOAD (1u << 20) /* of a segment */

#define FETCH_AHEAD 8u /* records */
#define UNKNOWN 0 /* a digest that is never compared */

struct record {
	uint32_t ci;
	uint16_t size;          /* of the WQE, bytes */
	bool waits;             /* its CQE is not written yet… */
	uint8_t opcode;         /* …with this opcode, and length… */
	uint32_t byte_cnt;
	uint64_t due;           /* …and not before */
	uint64_t wqe, payload;  /* digests */
	const void *first;      /* where the payload begins: to fetch it */
};

struct vmlx4_flight {
	struct vmlx4_timer timer; /* first: it leads back here */
	struct vmlx4_qp *qp;
	uint32_t first, last;   /* records, run free; last is behind the youngest */
	uint32_t sealed;        /* those before have digests */
	uint32_t mask;
	struct record records[];
};

struct vmlx4_flight *
vmlx4_flight_new(struct vmlx4_qp *qp)
{
	struct vmlx4_flight *flight = vmlx4_zalloc(sizeof(*flight) +
		qp->sq.wqe_cnt * sizeof(flight->records[0]));

	if (flight == NULL)
		return NULL;
	flight->qp = qp;
	flight->mask = qp->sq.wqe_cnt - 1;
	return flight;
}

void
vmlx4_flight_free(struct vmlx4_flight *flight)
{
	if (flight == NULL)
		return;
	vmlx4_timer_cancel(flight->qp->obj.ctx->adapter, &flight->timer);
	free(flight);
}

/* ---- digests ---- */

/*
 * libmlx4 adds the index and the QPN of BlueFlame after it gave the owner bit,
 * so these do not count.
 */
static uint64_t
digest_wqe(const struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	uint32_t dw0 = vmlx4_be32(wqe) & ~VMLX4_HW_BF_INDEX, dw1 = vmlx4_be32(wqe + 4);
	uint64_t flags;

	if ((dw1 >> 8) == qp->qpn)
		dw1 &= 0xff;
	memcpy(&flags, wqe + 8, 8);
	return vmlx4_digest(vmlx4_digest_word(1, (uint64_t)dw0 << 32 | dw1, flags), wqe + 16,
		size < 16 ? 0 : size - 16) | 1;
}

/* Where the segments begin. */
static uint32_t
first_segment(const struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	switch (vmlx4_be32(wqe) & VMLX4_HW_OPCODE) {
	case VMLX4_HW_OP_SEND:
	case VMLX4_HW_OP_SEND_IMM:
	case VMLX4_HW_OP_SEND_INVAL:
		return qp->qp_type == IBV_QPT_UD ? 64 : 16;
	case VMLX4_HW_OP_WRITE:
	case VMLX4_HW_OP_WRITE_IMM:
	case VMLX4_HW_OP_READ:
		return 32;
	case VMLX4_HW_OP_ATOMIC_CS:
	case VMLX4_HW_OP_ATOMIC_FA:
	case VMLX4_HW_OP_MASKED_FA:
		return 48;
	case VMLX4_HW_OP_MASKED_CS:
		return 64;
	case VMLX4_HW_OP_LSO:
		if (size >= 32)
			return 16 + ((4 + VMLX4_HW_LSO_HEADER(vmlx4_be32(wqe + 16)) + 15) & ~15u);
		return size;
	default:
		return size;
	}
}

/* Bytes that it sends; those of a read or atomic are written. */
static bool
sends_payload(const uint8_t *wqe)
{
	return !vmlx4_ib_is_read((uint8_t)(vmlx4_be32(wqe) & VMLX4_HW_OPCODE));
}

/* The next segment with a pointer from *at on; false: there is none. */
static bool
next_pointer(const uint8_t *wqe, uint32_t size, uint32_t *at)
{
	while (*at + 16 <= size) {
		uint32_t count = vmlx4_be32(wqe + *at);

		if ((count & VMLX4_HW_INLINE) == 0)
			return true;
		*at += (4 + (count & 0xff) + 15) & ~15u;
	}
	return false;
}

/* UNKNOWN: not all of it is in a region, or it is more than any card sends. */
static uint64_t
digest_payload(const struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size,
	const void **first)
{
	uint32_t at = sends_payload(wqe) ? first_segment(qp, wqe, size) : size;
	uint64_t digest = 1;

	*first = wqe;

	for (; next_pointer(wqe, size, &at); at += 16) {
		uint32_t count = vmlx4_be32(wqe + at);
		const void *base = vmlx4_mr_lookup(qp->obj.ctx->adapter, qp->pd,
			vmlx4_be32(wqe + at + 4), (uint64_t)vmlx4_be32(wqe + at + 8) << 32 |
			vmlx4_be32(wqe + at + 12), count, 0);

		if (unlikely(base == NULL || count > MOST_PAYLOAD))
			return UNKNOWN;
		digest = vmlx4_digest(digest, base, count);
		*first = base;
	}
	return digest | 1;
}

/* ---- from execution to completion ---- */

static void
verify(struct vmlx4_qp *qp, const struct record *record)
{
	static uint8_t copy[1024]; /* the adapter is locked */
	const uint8_t *wqe = vmlx4_sq_piece(&qp->sq, record->ci, record->size, copy);
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint64_t payload;
	const void *first;

	if (unlikely(record->wqe == UNKNOWN))
		return;
	if (unlikely(digest_wqe(qp, wqe, record->size) != record->wqe)) {
		vmlx4_violation(adapter, VMLX4_RULE_SQ_WQE_FLIGHT, "SQ", qp->qpn, record->ci,
			"the WQE was changed before it completed");
		return;
	}
	payload = digest_payload(qp, wqe, record->size, &first);
	if (unlikely(payload != record->payload && payload != UNKNOWN &&
	    record->payload != UNKNOWN))
		vmlx4_violation(adapter, VMLX4_RULE_SQ_BUFFER_FLIGHT, "SQ", qp->qpn, record->ci,
			"bytes that it sends were changed before it completed");
}

static void
seal(struct vmlx4_qp *qp, struct record *record, const uint8_t *wqe)
{
	record->wqe = digest_wqe(qp, wqe, record->size);
	record->payload = digest_payload(qp, wqe, record->size, &record->first);
}

void
vmlx4_flight_seal(struct vmlx4_qp *qp)
{
	static uint8_t copy[1024]; /* the adapter is locked */
	struct vmlx4_flight *flight = vmlx4_sq_flight(qp);

	if (flight == NULL)
		return;
	if ((int32_t)(flight->sealed - flight->first) < 0)
		flight->sealed = flight->first;
	for (; (int32_t)(flight->last - flight->sealed) > 0; flight->sealed++) {
		struct record *record = &flight->records[flight->sealed & flight->mask];

		seal(qp, record, vmlx4_sq_piece(&qp->sq, record->ci, record->size, copy));
	}
}

/* Everything up to the record with the number last is completed. */
static void
verify_up_to(struct vmlx4_flight *flight, uint32_t last)
{
	for (; flight->first != last; flight->first++) {
		/* Perhaps not there any more: a prefetch does not fault. */
		if (last - flight->first > FETCH_AHEAD)
			__builtin_prefetch(flight->records[(flight->first + FETCH_AHEAD) &
				flight->mask].first);
		verify(flight->qp, &flight->records[flight->first & flight->mask]);
	}
}

void
vmlx4_flight_take(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size)
{
	struct vmlx4_flight *flight = vmlx4_sq_flight(qp);
	struct record *record;

	if (flight == NULL)
		return;
	/* A burst that met memory that is gone starts again. */
	while (flight->last != flight->first && (int32_t)(qp->sq.ci -
	    flight->records[(flight->last - 1) & flight->mask].ci) <= 0)
		flight->last--;
	if ((int32_t)(flight->sealed - flight->last) > 0)
		flight->sealed = flight->last;
	/* More than the ring holds: the oldest was overwritten. */
	if (unlikely(flight->last - flight->first > flight->mask))
		verify_up_to(flight, flight->first + 1);
	record = &flight->records[flight->last++ & flight->mask];
	record->ci = qp->sq.ci;
	record->size = (uint16_t)size;
	record->waits = false;
	/*
	 * Stepped, the program does not run before the end of the step; what has
	 * completed by then needs no look.
	 */
	record->wqe = UNKNOWN;
	if (qp->obj.ctx->adapter->options.step)
		return;
	seal(qp, record, wqe);
	flight->sealed = flight->last;
}

/* Write the CQEs that are due by now; false: the CQ ran over. */
static bool
complete_due(struct vmlx4_flight *flight, uint64_t now)
{
	uint32_t i;

	for (i = flight->first; i != flight->last; i++) {
		struct record *record = &flight->records[i & flight->mask];

		if (!record->waits)
			continue;
		if (record->due > now) {
			vmlx4_timer_arm(flight->qp->obj.ctx->adapter, &flight->timer, record->due);
			return true;
		}
		if (now != UINT64_MAX && !vmlx4_cq_has_room(flight->qp->sq.cq) &&
		    vmlx4_unknowns(flight->qp->obj.ctx->adapter)->tx_cq_full_stalls) {
			vmlx4_timer_arm(flight->qp->obj.ctx->adapter, &flight->timer,
				now + STALL_NS);
			return true;
		}
		verify_up_to(flight, i + 1);
		if (!vmlx4_sq_write_cqe(flight->qp, record->ci, record->opcode,
		    record->byte_cnt))
			return false;
	}
	return true;
}

static void
flight_due(struct vmlx4_timer *timer)
{
	struct vmlx4_flight *flight = (struct vmlx4_flight *)(void *)timer;
	struct vmlx4_qp *qp = flight->qp;

	if (complete_due(flight, vmlx4_time(qp->obj.ctx->adapter)))
		return;
	/* Its CQ ran over. */
	if (qp->ib != NULL) {
		vmlx4_ib_fatal(qp, vmlx4_ib_untold(qp->sq.cq));
		return;
	}
	qp->state = IBV_QPS_ERR;
	vmlx4_sq_error(qp);
}

/*
 * Behind the record of the WQE at index, or first: there is none. Most WQEs are
 * one stride long, so that it stands as far from the youngest as the index does.
 */
static uint32_t
behind_record(const struct vmlx4_flight *flight, uint32_t index)
{
	uint32_t i = flight->last, away;

	if (i == flight->first)
		return i;
	away = flight->records[(i - 1) & flight->mask].ci - index;
	if (away < i - flight->first &&
	    flight->records[(i - 1 - away) & flight->mask].ci == index)
		return i - away;
	while (i != flight->first && flight->records[(i - 1) & flight->mask].ci != index)
		i--;
	return i;
}

bool
vmlx4_flight_hold(struct vmlx4_qp *qp, uint32_t index, uint32_t opcode, uint32_t byte_cnt)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_flight *flight = vmlx4_sq_flight(qp);
	struct record *record;
	uint32_t i;

	/* Of a burst all were taken before the first completes. */
	i = flight != NULL ? behind_record(flight, index) : 0;
	if (flight == NULL || i == flight->first)
		return false;
	if (adapter->options.completion_lag_ns == 0) {
		verify_up_to(flight, i);
		return false;
	}
	record = &flight->records[(i - 1) & flight->mask];
	record->waits = true;
	record->opcode = (uint8_t)opcode;
	record->byte_cnt = byte_cnt;
	record->due = vmlx4_time(adapter) + adapter->options.completion_lag_ns;
	if (!flight->timer.armed) {
		flight->timer.fire = flight_due;
		vmlx4_timer_arm(adapter, &flight->timer, record->due);
	}
	return true;
}

uint32_t
vmlx4_flight_hold_burst(struct vmlx4_qp *qp, uint32_t first, uint32_t signaled)
{
	uint32_t now = 0, left;

	for (left = signaled; left != 0; left &= left - 1)
		if (!vmlx4_flight_hold(qp, first + (uint32_t)__builtin_ctz(left),
		    VMLX4_HW_OP_SEND, 0))
			now |= left & -left;
	return now;
}

static void
end_run(void *arg)
{
	struct vmlx4_flight *flight = arg;

	if (complete_due(flight, UINT64_MAX))
		verify_up_to(flight, flight->last);
}

void
vmlx4_flight_end(struct vmlx4_qp *qp)
{
	struct vmlx4_flight *flight = vmlx4_sq_flight(qp);

	if (flight == NULL)
		return;
	vmlx4_timer_cancel(qp->obj.ctx->adapter, &flight->timer);
	/* At the end of a process its memory may be gone before its queues. */
	if (!qp->obj.ctx->closing && flight->first != flight->last)
		vmlx4_guarded(qp->obj.ctx->adapter, end_run, flight);
	flight->first = flight->last;
}

void
vmlx4_flight_forget(struct vmlx4_adapter *adapter)
{
	struct vmlx4_context *ctx;
	struct vmlx4_qp *qp;
	uint32_t i;

	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		TAILQ_FOREACH(qp, &ctx->sqs, sq_next) {
			struct vmlx4_flight *flight = vmlx4_sq_flight(qp);

			for (i = flight != NULL ? flight->first : 0;
			     flight != NULL && i != flight->last; i++)
				flight->records[i & flight->mask].wqe = UNKNOWN;
		}
	}
}

bool
vmlx4_wqe_uses(const struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t size, uint32_t lkey)
{
	uint32_t at = first_segment(qp, wqe, size);

	for (; next_pointer(wqe, size, &at); at += 16)
		if (vmlx4_be32(wqe + at + 4) == lkey)
			return true;
	return false;
}

bool
vmlx4_flight_uses(const struct vmlx4_qp *qp, uint32_t lkey, uint32_t *index)
{
	static uint8_t copy[1024]; /* the adapter is locked */
	const struct vmlx4_flight *flight = vmlx4_sq_flight(qp);
	uint32_t i;

	for (i = flight != NULL ? flight->first : 0; flight != NULL && i != flight->last; i++) {
		const struct record *record = &flight->records[i & flight->mask];

		*index = record->ci;
		if (vmlx4_wqe_uses(qp, vmlx4_sq_piece(&qp->sq, record->ci, record->size, copy),
		    record->size, lkey))
			return true;
	}
	return false;
}
