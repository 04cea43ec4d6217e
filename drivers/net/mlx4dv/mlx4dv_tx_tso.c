/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * TCP segmentation: the headers go into the WQE, and the adapter puts a copy of
 * them, with the fields that change, before each piece of the payload.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

#define TSO_MAX_HEADER 256u   /* all tunnels that the adapter knows, with options */
#define TSO_MIN_HEADER (RTE_ETHER_HDR_LEN + 20u + 20u)

static inline uint32_t
tso_header(const struct rte_mbuf *m)
{
	uint32_t len = m->l2_len + m->l3_len + m->l4_len;

	if ((m->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0)
		len += m->outer_l2_len + m->outer_l3_len;
	return len;
}

bool
mdv_tx_tso_ok(const struct mdv_txq *txq, const struct rte_mbuf *m)
{
	uint32_t header = tso_header(m);

	return m->tso_segsz != 0 && header >= TSO_MIN_HEADER && header <= TSO_MAX_HEADER &&
		header < m->pkt_len && m->pkt_len - header <= txq->max_tso &&
		tx_length_ok(txq, header + m->tso_segsz);
}

/* The payload of a well-formed chain, in pieces; false: the chain is not. */
static bool
tso_count(const struct rte_mbuf *m, uint32_t skip, uint32_t *pieces)
{
	uint32_t left = m->nb_segs, rest = m->pkt_len - skip;
	const struct rte_mbuf *seg;

	*pieces = 0;
	for (seg = m; seg != NULL && left != 0; seg = seg->next, left--) {
		uint32_t len = seg->data_len - RTE_MIN(skip, seg->data_len);

		skip -= RTE_MIN(skip, seg->data_len);
		if (len > rest)
			return false;
		rest -= len;
		*pieces += len != 0;
	}
	return seg == NULL && left == 0 && rest == 0 && *pieces <= MDV_TX_MAX_SEGS;
}

/* False: memory that nobody can register. */
static bool
tso_append(struct mdv_txq *txq, struct dvq_wqe *wqe, const struct rte_mbuf *m, uint32_t skip)
{
	const struct rte_mbuf *seg;
	uint32_t lkey;

	for (seg = m; seg != NULL; seg = seg->next) {
		uint32_t before = RTE_MIN(skip, seg->data_len);
		uint32_t len = seg->data_len - before;

		skip -= before;
		if (len == 0)
			continue;
		if (unlikely(!tx_lkey(txq, seg, &lkey)))
			return false;
		dvq_wqe_data(wqe, rte_pktmbuf_mtod(seg, uintptr_t) + before, lkey, len);
	}
	return true;
}

uint32_t
mdv_tx_tso(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl)
{
	uint32_t header = tso_header(m);
	uint8_t copy[TSO_MAX_HEADER];
	uint32_t pieces, bytes;
	struct dvq_wqe wqe;

	if (unlikely(!mdv_tx_tso_ok(txq, m) || !tso_count(m, header, &pieces))) {
		txq->stats.drop_tso++;
		return TX_DROPPED;
	}
	bytes = sizeof(struct dvq_ctrl_seg) +
		RTE_ALIGN_CEIL(sizeof(struct dvq_lso_seg) + header, DVQ_WQE_UNIT) +
		pieces * DVQ_WQE_UNIT;
	if (unlikely(!mdv_tx_wqe_begin(txq, &wqe, dvq_sq_blocks(bytes), &ctrl->flags)))
		return TX_NO_ROOM;
	/* Headers may be spread over segments. */
	dvq_wqe_lso(&wqe, rte_pktmbuf_read(m, 0, header, copy), header, m->tso_segsz);
	if (unlikely(!tso_append(txq, &wqe, m, header))) {
		txq->stats.drop_unregistered++;
		return TX_DROPPED;
	}
	ctrl->opcode = DVQ_OP_LSO;
	/* What is cut is TCP, and each piece has a checksum of its own. */
	tx_csum(ctrl, m->ol_flags | RTE_MBUF_F_TX_TCP_CKSUM);
	tx_vlan(txq, ctrl, m);
	mdv_tx_wqe_end(txq, &wqe, m, ctrl);
	return m->pkt_len;
}
