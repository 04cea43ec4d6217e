/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TX_H_
#define TX_H_

#include <stdlib.h>

#include "card.h"

/*
 * Send WQEs as bytes. They name packet memory by a region of lkey 0x00020000
 * whose addresses begin at 0x7000000000, so that a dump can be written down.
 */

struct tx {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *qp;
	struct vmlx4_mr fixed;
};

static inline struct tx *
tx_new(enum vmlx4_strict strict, uint32_t wqes, uint32_t stride_shift)
{
	struct tx *tx = calloc(1, sizeof(*tx));
	unsigned int i;

	assert_non_null(tx);
	card_new(&tx->card, strict);
	tx->fixed = tx->card.mr;
	tx->fixed.lkey = 0x00020000;
	tx->fixed.iova = 0x7000000000;
	tx->card.adapter->mr_table[0x00020000 >> 8] = &tx->fixed;
	tx->cq = card_cq(&tx->card, 64, 64);
	tx->qp = card_sq(&tx->card, tx->cq, wqes, stride_shift);
	card_watch(&tx->card, 1);
	for (i = 0; i < CARD_ARENA; i++)
		tx->card.arena[i] = (uint8_t)(i * 7 + i / 256);
	return tx;
}

static inline void
tx_free(struct tx *tx)
{
	card_qp_free(&tx->card, tx->qp);
	card_cq_free(tx->cq);
	card_free(&tx->card);
	free(tx);
}

static inline uint8_t *
stride(struct tx *tx, uint32_t index)
{
	struct vmlx4_sq *sq = &tx->qp->sq;

	return sq->buf + ((size_t)(index & (sq->wqe_cnt - 1)) << sq->stride_shift);
}

#define WQE(at, ...) do { \
	const uint8_t wqe_[] = { __VA_ARGS__ }; \
	memcpy(at, wqe_, sizeof(wqe_)); \
} while (0)

static inline void
sent_is(unsigned int i, const uint8_t *bytes, size_t length)
{
	assert_true(card_sent.count > i);
	assert_int_equal(card_sent.length[i], length);
	assert_memory_equal(card_sent.frame[i], bytes, length);
}

/* A sum as RFC 1071 has it, apart from the adapter's: 0xffff when it is right. */
static inline uint32_t
rfc1071(const uint8_t *p, size_t length, uint32_t sum)
{
	size_t i;

	for (i = 0; i < length; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#endif /* TX_H_ */
