/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "../profile.h"
#include "uverbs.h"

/*
 * All numbers go round: one that was freed is the last to come again, so that a
 * program that uses a stale number is caught.
 */
struct vmlx4_numbers {
	uint32_t qpn_next, cqn_next, srqn_next, mpt_next;
	bool qpn_taken[VMLX4_QP_TABLE];
	uint8_t key[VMLX4_MR_TABLE]; /* key byte that the last user of an index had */
};

struct vmlx4_numbers *
vmlx4_numbers_new(void)
{
	struct vmlx4_numbers *numbers = calloc(1, sizeof(*numbers));

	if (numbers != NULL) {
		numbers->qpn_next = VMLX4_QPN_FIRST;
		numbers->cqn_next = VMLX4_CQN_FIRST;
		numbers->srqn_next = VMLX4_SRQN_FIRST;
		numbers->mpt_next = VMLX4_MPT_FIRST;
	}
	return numbers;
}

void
vmlx4_numbers_free(struct vmlx4_numbers *numbers)
{
	free(numbers);
}

static bool
qpn_range_free(const struct vmlx4_numbers *numbers, uint32_t first, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (numbers->qpn_taken[first + i])
			return false;
	return true;
}

/* Where to look next from here: aligned, and clear of bits 7:6 if asked. */
static uint32_t
qpn_candidate(uint32_t qpn, uint32_t count, bool bf_safe)
{
	qpn = (qpn + count - 1) & ~(count - 1);
	if (bf_safe && (qpn & 0xc0) != 0)
		qpn = (qpn & ~0xffu) + 0x100;
	return qpn;
}

int
vmlx4_qpn_alloc(struct vmlx4_adapter *adapter, uint32_t count, bool bf_safe, uint32_t *first)
{
	struct vmlx4_numbers *numbers = adapter->numbers;
	uint32_t qpn = qpn_candidate(numbers->qpn_next, count, bf_safe);
	bool wrapped = false;
	uint32_t i;

	for (;;) {
		if (qpn + count > VMLX4_QP_TABLE) {
			if (wrapped)
				return -ENOMEM;
			wrapped = true;
			qpn = qpn_candidate(VMLX4_QPN_FIRST, count, bf_safe);
		}
		if (qpn_range_free(numbers, qpn, count))
			break;
		qpn = qpn_candidate(qpn + count, count, bf_safe);
	}
	for (i = 0; i < count; i++)
		numbers->qpn_taken[qpn + i] = true;
	numbers->qpn_next = qpn + count;
	*first = qpn;
	return 0;
}

void
vmlx4_qpn_free(struct vmlx4_adapter *adapter, uint32_t first, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		adapter->numbers->qpn_taken[first + i] = false;
}

int
vmlx4_cqn_alloc(struct vmlx4_adapter *adapter, uint32_t *cqn)
{
	struct vmlx4_numbers *numbers = adapter->numbers;
	uint32_t tries;

	if (adapter->counts.cqs >= adapter->profile->max_cq)
		return -ENOMEM;
	for (tries = 0; tries < VMLX4_CQ_TABLE; tries++) {
		uint32_t number = numbers->cqn_next++;

		if (numbers->cqn_next == VMLX4_CQ_TABLE)
			numbers->cqn_next = VMLX4_CQN_FIRST;
		if (adapter->cq_table[number] == NULL) {
			*cqn = number;
			return 0;
		}
	}
	return -ENOMEM;
}

int
vmlx4_srqn_alloc(struct vmlx4_adapter *adapter, uint32_t *srqn)
{
	struct vmlx4_numbers *numbers = adapter->numbers;
	uint32_t tries;

	if (adapter->counts.srqs >= adapter->profile->max_srq)
		return -ENOMEM;
	for (tries = 0; tries < VMLX4_SRQ_TABLE; tries++) {
		uint32_t number = numbers->srqn_next++;

		if (numbers->srqn_next == VMLX4_SRQ_TABLE)
			numbers->srqn_next = VMLX4_SRQN_FIRST;
		if (adapter->srq_table[number] == NULL) {
			*srqn = number;
			return 0;
		}
	}
	return -ENOMEM;
}

int
vmlx4_mr_key_alloc(struct vmlx4_adapter *adapter, uint32_t *lkey)
{
	struct vmlx4_numbers *numbers = adapter->numbers;
	uint32_t tries;

	if (adapter->counts.mrs + adapter->counts.mws >= adapter->profile->max_mr)
		return -ENOMEM;
	for (tries = 0; tries < VMLX4_MR_TABLE; tries++) {
		uint32_t index = numbers->mpt_next++;

		if (numbers->mpt_next == VMLX4_MR_TABLE)
			numbers->mpt_next = VMLX4_MPT_FIRST;
		if (adapter->mr_table[index] != NULL || adapter->mw_table[index] != NULL)
			continue;
		/* 1..255, another one each time. */
		numbers->key[index] = numbers->key[index] % 255 + 1;
		*lkey = index << 8 | numbers->key[index];
		return 0;
	}
	return -ENOMEM;
}
