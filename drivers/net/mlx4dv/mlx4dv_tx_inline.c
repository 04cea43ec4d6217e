/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Short frames inside their WQEs, on queues of ports with tx_inline=N: the adapter finds
 * them where it reads the WQE, and has not to fetch them from the mbuf, which spares a
 * round trip over the bus. The mbuf is freed when the WQE completes, as any other.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_devargs.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

/* What a block holds behind what begins it: dvq_wqe_inline() */
#define FIRST_BYTES (DVQ_SQ_BB_SIZE - sizeof(struct dvq_ctrl_seg) - sizeof(struct dvq_inline_seg))
#define LATER_BYTES (DVQ_SQ_BB_SIZE - sizeof(struct dvq_inline_seg))

static_assert(FIRST_BYTES + 3 * LATER_BYTES == MDV_TX_INLINE_MAX, "four blocks");

uint32_t
mdv_tx_inline_blocks(uint32_t len)
{
	if (len <= FIRST_BYTES)
		return 1;
	return 1 + (uint32_t)((len - FIRST_BYTES + LATER_BYTES - 1) / LATER_BYTES);
}

/*
 * The frame in one piece, a chain in the @copy. NULL: it is too long, or the chain makes no
 * sense, which the ordinary way finds and counts.
 */
static inline const uint8_t *
inline_frame(const struct mdv_txq *txq, const struct rte_mbuf *m, uint8_t *copy, uint32_t *len)
{
	uint32_t left = m->nb_segs;

	if (likely(left == 1)) {
		*len = m->data_len;
		return *len <= txq->inline_max ? rte_pktmbuf_mtod(m, const uint8_t *) : NULL;
	}
	if (unlikely(left > MDV_TX_MAX_SEGS))
		return NULL;
	for (*len = 0; m != NULL && left != 0; m = m->next, left--) {
		if (m->data_len > txq->inline_max - *len)
			return NULL;
		memcpy(copy + *len, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		*len += m->data_len;
	}
	return m == NULL && left == 0 ? copy : NULL;
}

uint32_t
mdv_tx_inline(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl)
{
	uint8_t copy[MDV_TX_INLINE_MAX];
	struct dvq_wqe wqe;
	const uint8_t *frame;
	uint32_t len;

	frame = inline_frame(txq, m, copy, &len);
	if (frame == NULL || unlikely(len < MDV_TX_INLINE_MIN || !tx_length_ok(txq, len)))
		return TX_NOT_INLINE;
	if (unlikely(!mdv_tx_wqe_begin(txq, &wqe, mdv_tx_inline_blocks(len), &ctrl->flags)))
		return TX_NO_ROOM;
	dvq_wqe_inline(&wqe, frame, len);
	mdv_tx_wqe_end(txq, &wqe, m, ctrl);
	return len;
}
