/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "../hca/guard.h"
#include "../hca/internal.h"
#include "digest.h"
#include "rq_check.h"
#include "state.h"

#define LOOK_EVERY 8     /* frames: at one of them, and of these only… */
#define LOOK_ONCE_IN 2   /* …one, on average, the record is looked at */
#define SAMPLE 64u       /* bytes of a buffer that are compared */
#define MORE_ONCE_IN 8   /* buffers of which a second piece is */
#define ALL_OF_THE_FIRST 1024u /* buffers of a queue, and then only… */
#define BUFFER_ONCE_IN 8 /* …so many, on average */
#define MOST_SEGMENTS 4u /* of a list */

struct posted {
	uint64_t wqe, buffer; /* digests; 0: unknown */
	uint64_t scattered;   /* frames that the adapter had written by then */
};

struct vmlx4_rq_check {
	uint16_t seen;        /* WQEs before this one were looked at when posted */
	uint32_t remembered;  /* how many, as far as that matters */
	struct posted posted[];
};

static struct vmlx4_adapter *
rq_adapter(const struct vmlx4_rq *rq)
{
	return rq->cq->obj.ctx->adapter;
}

static const uint8_t *
rq_wqe(const struct vmlx4_rq *rq, uint16_t index)
{
	return rq->buf + ((size_t)(index & (rq->wqe_cnt - 1)) << rq->stride_shift);
}

static bool
ends(const uint8_t *segment)
{
	return vmlx4_be32(segment + 4) == VMLX4_HW_LKEY_INVALID;
}

static uint64_t
digest_wqe(const struct vmlx4_rq *rq, uint16_t index)
{
	const uint8_t *segment = rq_wqe(rq, index);
	uint64_t digest = 1;
	uint32_t i;

	for (i = 0; i < rq->max_sge; i++, segment += 16) {
		digest = vmlx4_digest(digest, segment, 16);
		if (ends(segment))
			break;
	}
	return digest | 1;
}

/* False: it is not there. Who writes there next is told then. */
static bool
digest_piece(uint64_t *digest, const uint8_t *from, uint32_t size)
{
	uint8_t piece[SAMPLE];

	if (!vmlx4_guard_copy(piece, from, size))
		return false;
	*digest = vmlx4_digest(*digest, piece, size);
	return true;
}

/* The first bytes of each buffer, and of some another piece that lot decides. */
static uint64_t
digest_buffers(const struct vmlx4_rq *rq, uint16_t index, uint64_t lot)
{
	const uint8_t *segment = rq_wqe(rq, index);
	uint64_t digest = 1;
	uint32_t i;

	for (i = 0; i < rq->max_sge && i < MOST_SEGMENTS && !ends(segment); i++, segment += 16) {
		uint32_t size = vmlx4_be32(segment);
		const uint8_t *base = vmlx4_mr_lookup(rq_adapter(rq), rq->pd,
			vmlx4_be32(segment + 4), (uint64_t)vmlx4_be32(segment + 8) << 32 |
			vmlx4_be32(segment + 12), size, IBV_ACCESS_LOCAL_WRITE);

		if (base == NULL || size == 0 ||
		    !digest_piece(&digest, base, size < SAMPLE ? size : SAMPLE))
			return 0; /* another rule's */
		if (size >= 2 * SAMPLE && (lot >> 8) % MORE_ONCE_IN == 0 &&
		    !digest_piece(&digest, base + (lot >> 16) % (size - SAMPLE), SAMPLE))
			return 0;
	}
	return digest | 1;
}

static void
remember(struct vmlx4_rq *rq, uint16_t index)
{
	struct vmlx4_check_state *state = rq_adapter(rq)->check;
	struct posted *posted = &rq->check->posted[index & (rq->wqe_cnt - 1)];

	posted->wqe = digest_wqe(rq, index);
	posted->buffer = 0;
	/* Each buffer is a line or two from far away: not all of a busy queue. */
	if (!rq->transport && !state->untold_memory && (rq->check->remembered < ALL_OF_THE_FIRST ||
	    vmlx4_check_lot(state, BUFFER_ONCE_IN)))
		posted->buffer = digest_buffers(rq, index, posted->wqe);
	rq->check->remembered += rq->check->remembered < ALL_OF_THE_FIRST;
	posted->scattered = state->scattered;
}

/* The record, read by a command: nothing else would catch that it is gone. */
static bool
record_now(const struct vmlx4_rq *rq, uint16_t *record)
{
	uint32_t word;

	if (rq->db == NULL || !vmlx4_guard_copy(&word, rq->db, sizeof(word)))
		return false;
	*record = (uint16_t)be32toh(word);
	return true;
}

void
vmlx4_rq_check_ready(struct vmlx4_rq *rq)
{
	struct vmlx4_adapter *adapter = rq_adapter(rq);
	uint16_t record;

	if (adapter->check == NULL || !vmlx4_strict(adapter))
		return;
	if (rq->check == NULL)
		rq->check = vmlx4_zalloc(sizeof(*rq->check) +
			rq->wqe_cnt * sizeof(rq->check->posted[0]));
	if (rq->check != NULL)
		rq->check->seen = rq->ci;
	if (rq->not_restarted && record_now(rq, &record) && record == rq->used_record)
		vmlx4_violation(adapter, VMLX4_RULE_RQ_RESTART, "RQ", rq->qpn, rq->ci,
			"the adapter starts at 0 again, the record still counts to %u", record);
	rq->not_restarted = false;
}

void
vmlx4_rq_check_down(struct vmlx4_rq *rq, bool by_reset)
{
	if (by_reset)
		rq->not_restarted = false;
	else if (rq->check != NULL && rq->ci != 0)
		rq->not_restarted = record_now(rq, &rq->used_record);
}

void
vmlx4_rq_check_end(struct vmlx4_rq *rq)
{
	free(rq->check);
	rq->check = NULL;
}

void
vmlx4_rq_check_record(struct vmlx4_rq *rq, uint16_t before)
{
	struct vmlx4_rq_check *check = rq->check;
	int16_t ahead = (int16_t)(rq->posted - before);

	if (ahead < 0)
		vmlx4_violation(rq_adapter(rq), VMLX4_RULE_RQ_BACKWARDS, "RQ", rq->qpn, rq->ci,
			"the record went back from %u to %u", before, rq->posted);
	else if ((uint16_t)(rq->posted - rq->ci) > rq->wqe_cnt)
		vmlx4_violation(rq_adapter(rq), VMLX4_RULE_RQ_OVERRUN, "RQ", rq->qpn, rq->ci,
			"%u WQEs posted, the ring holds %u", (uint16_t)(rq->posted - rq->ci),
			rq->wqe_cnt);
	if (check == NULL)
		return;
	if (ahead < 0 || (uint16_t)(rq->posted - rq->ci) > rq->wqe_cnt ||
	    (int16_t)(check->seen - rq->ci) < 0)
		check->seen = rq->ci;
	while ((int16_t)(rq->posted - check->seen) > 0 &&
	       (uint16_t)(check->seen - rq->ci) < rq->wqe_cnt)
		remember(rq, check->seen++);
}

void
vmlx4_rq_check_look(struct vmlx4_rq *rq)
{
	uint16_t before = rq->posted;

	if (!rq->live || rq->check == NULL)
		return;
	rq->posted = (uint16_t)vmlx4_load_be32(rq->db);
	if (rq->posted != before)
		vmlx4_rq_check_record(rq, before);
}

/* Did a frame go where a piece of this WQE's buffers lies, since it was posted? */
static bool
written_by_adapter(const struct vmlx4_rq *rq, uint16_t index, uint64_t since)
{
	const struct vmlx4_check_state *state = rq_adapter(rq)->check;
	const uint8_t *segment = rq_wqe(rq, index);
	uint32_t i;

	if (state->scattered - since > VMLX4_SCATTERED)
		return true; /* who knows */
	for (; since != state->scattered; since++) {
		uint64_t addr = state->scatter[since % VMLX4_SCATTERED].addr;
		uint32_t length = state->scatter[since % VMLX4_SCATTERED].length;

		for (i = 0; i < rq->max_sge && i < MOST_SEGMENTS; i++) {
			uint64_t start = (uint64_t)vmlx4_be32(segment + 16 * i + 8) << 32 |
				vmlx4_be32(segment + 16 * i + 12);

			if (ends(segment + 16 * i))
				break;
			if (addr < start + vmlx4_be32(segment + 16 * i) && start < addr + length)
				return true;
		}
	}
	return false;
}

static bool
buffers_changed(const struct vmlx4_rq *rq, uint16_t index, const struct posted *posted)
{
	uint64_t now;

	if (posted->buffer == 0)
		return false;
	now = digest_buffers(rq, index, posted->wqe);
	return now != posted->buffer && now != 0;
}

/* The first segments take the frame; that is what is remembered of it. */
static void
note_scatter(struct vmlx4_rq *rq, uint16_t index, uint32_t length)
{
	struct vmlx4_check_state *state = rq_adapter(rq)->check;
	const uint8_t *segment = rq_wqe(rq, index);
	uint32_t i;

	for (i = 0; i < rq->max_sge && length != 0 && !ends(segment); i++, segment += 16) {
		uint32_t size = vmlx4_be32(segment), n = length < size ? length : size;
		unsigned int at = state->scattered++ % VMLX4_SCATTERED;

		state->scatter[at].addr = (uint64_t)vmlx4_be32(segment + 8) << 32 |
			vmlx4_be32(segment + 12);
		state->scatter[at].length = n;
		length -= n;
	}
}

void
vmlx4_rq_check_take(struct vmlx4_rq *rq, uint16_t index, uint32_t length)
{
	struct vmlx4_adapter *adapter = rq_adapter(rq);
	const struct posted *posted = &rq->check->posted[index & (rq->wqe_cnt - 1)];

	if (adapter->check->scattered % LOOK_EVERY == 0 &&
	    vmlx4_check_lot(adapter->check, LOOK_ONCE_IN))
		vmlx4_rq_check_look(rq);
	if ((int16_t)(rq->check->seen - index) > 0) {
		if (digest_wqe(rq, index) != posted->wqe)
			vmlx4_violation(adapter, VMLX4_RULE_RQ_WQE_POSTED, "RQ", rq->qpn, index,
				"the WQE was changed while it was posted");
		else if (buffers_changed(rq, index, posted) &&
		    !written_by_adapter(rq, index, posted->scattered))
			vmlx4_violation(adapter, VMLX4_RULE_RQ_BUFFER_POSTED, "RQ", rq->qpn,
				index, "its buffer was written to while it was posted");
	}
	note_scatter(rq, index, length);
}
