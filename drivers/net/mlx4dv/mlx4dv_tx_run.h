/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_TX_RUN_H_
#define MLX4DV_TX_RUN_H_

/* What the runs of common packets share. */

#include "mlx4dv_tx.h"

#define CSUM_SHIFT 52        /* of RTE_MBUF_F_TX_L4_MASK, with the bit of IP_CKSUM above it */
#define CSUM_KINDS 8

static_assert(RTE_MBUF_F_TX_L4_MASK >> CSUM_SHIFT == 3 &&
	      RTE_MBUF_F_TX_IP_CKSUM >> CSUM_SHIFT == 4, "CSUM_SHIFT");

/* By number of segments less one, then by checksum flags. */
typedef struct dvq_ctrl_be tx_ctrls_t[DVQ_SQ_BLOCK_SEGS][CSUM_KINDS];

/* By pass over the ring, then by whether a CQE is asked for. */
extern const tx_ctrls_t mdv_tx_ctrls[2][2] __attribute__((visibility("hidden")));

/* What the loops hold in registers. */
struct tx_run {
	const struct mdv_tx_keys *keys;
	struct mdv_tx_key near;   /* of the first packet's pool */
	uint32_t len_range;
	uint64_t others;          /* flags of what a run does not do */
	uint64_t vlan_flag;
	uint64_t bytes;
};

static __rte_always_inline void
run_init(struct tx_run *run, const struct mdv_txq *txq, const struct rte_mbuf *first)
{
	run->keys = &txq->keys;
	run->near = *mdv_tx_key_first(&txq->keys, first->pool);
	run->len_range = txq->keys.len_range;
	run->others = txq->others;
	run->vlan_flag = txq->vlan_flag;
	run->bytes = 0;
}

#endif /* MLX4DV_TX_RUN_H_ */
