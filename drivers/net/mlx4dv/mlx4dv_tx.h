/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_TX_H_
#define MLX4DV_TX_H_

/* What the files that turn packets into WQEs share. */

#include "mlx4dv_rxtx.h"

#define TX_CSUM_FLAGS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | \
	RTE_MBUF_F_TX_OUTER_IP_CKSUM)

/* Multiplied, as pools lie at round addresses. */
static inline unsigned int
mdv_tx_pool_slot(const struct rte_mempool *mp)
{
	return (unsigned int)(((uintptr_t)mp * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static_assert(MDV_MR_POOLS == 1 << (64 - 56), "the slots of mdv_tx_pool_slot()");

/* mlx4dv_tx.c: the key of memory that is not of the region last used */
uint32_t mdv_tx_lkey_other(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start,
	uintptr_t end);

/*
 * mlx4dv_tx_tso.c: post a packet for the adapter to cut. The length, TX_DROPPED or
 * TX_NO_ROOM. A WQE that takes the last block asks for its CQE.
 */
uint32_t mdv_tx_tso(struct mdv_txq *txq, struct rte_mbuf *m, uint32_t flags);
/* Can it be cut as the packet asks for? */
bool mdv_tx_tso_ok(const struct mdv_txq *txq, const struct rte_mbuf *m);

/* False: nobody can register this memory. */
static inline bool
tx_lkey(struct mdv_txq *txq, const struct rte_mbuf *seg, uint32_t *lkey)
{
	uintptr_t start = rte_pktmbuf_mtod(seg, uintptr_t);
	uintptr_t end = start + seg->data_len;

	if (likely(start >= txq->mr[0].start && end <= txq->mr[0].end)) {
		*lkey = txq->mr[0].lkey;
		return true;
	}
	*lkey = mdv_tx_lkey_other(txq, seg, start, end);
	return *lkey != MDV_LKEY_NONE;
}

/* What a packet was found to be, where it is not its length. */
#define TX_DROPPED 0u         /* counted; the caller frees it */
#define TX_NO_ROOM UINT32_MAX

/* What the control segment says beside the usual. */
struct tx_ctrl {
	uint32_t opcode;
	uint32_t vlan;
	uint32_t flags;
};

/*
 * Each checksum only when asked for: a UDP datagram may have none, a fragment
 * none that could be computed. Under a tunnel the plain bits mean the inner
 * headers, which have bits of their own in dword 0. (mlx4_en)
 */
static inline void
tx_csum(struct tx_ctrl *ctrl, uint64_t ol)
{
	bool ip = (ol & RTE_MBUF_F_TX_IP_CKSUM) != 0;
	bool l4 = (ol & RTE_MBUF_F_TX_L4_MASK) != 0;

	if (likely((ol & RTE_MBUF_F_TX_TUNNEL_MASK) == 0)) {
		ctrl->flags |= (ip ? DVQ_CTRL_IP_CSUM : 0) | (l4 ? DVQ_CTRL_L4_CSUM : 0);
		return;
	}
	if ((ol & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0)
		ctrl->flags |= DVQ_CTRL_IP_CSUM;
	ctrl->opcode |= (ip ? DVQ_CTRL_INNER_IP_CSUM : 0) | (l4 ? DVQ_CTRL_INNER_L4_CSUM : 0);
}

/* The tag that the adapter is to insert behind the addresses. */
static inline void
tx_vlan(const struct mdv_txq *txq, struct tx_ctrl *ctrl, const struct rte_mbuf *m)
{
	if ((m->ol_flags & txq->vlan_flag) != 0)
		ctrl->vlan = (uint32_t)m->vlan_tci << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_CVLAN;
}

/* Of a virtual function: the adapter looks for receivers on its own port first. */
static inline const uint8_t *
tx_loopback_mac(const struct mdv_txq *txq, const struct rte_mbuf *m,
		uint8_t room[RTE_ETHER_ADDR_LEN])
{
	unsigned int have = 0, i;

	if (!txq->loopback)
		return NULL;
	if (likely(m->data_len >= RTE_ETHER_ADDR_LEN))
		return rte_pktmbuf_mtod(m, const uint8_t *);
	/* The address lies in several segments. */
	memset(room, 0, RTE_ETHER_ADDR_LEN);
	for (; m != NULL; m = m->next)
		for (i = 0; i < m->data_len && have < RTE_ETHER_ADDR_LEN; i++)
			room[have++] = rte_pktmbuf_mtod(m, const uint8_t *)[i];
	return room;
}

static inline bool
tx_length_ok(const struct mdv_txq *txq, uint32_t len)
{
	return len - MDV_TX_MIN_LEN <= txq->len_range;
}

#endif /* MLX4DV_TX_H_ */
