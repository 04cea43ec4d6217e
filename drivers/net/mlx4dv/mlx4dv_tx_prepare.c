/* SPDX-License-Identifier: BSD-3-Clause */

/* What rte_eth_tx_prepare() tells of packets that a burst would drop. */

#include <errno.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

static uint64_t
supported_flags(const struct mdv_txq *txq)
{
	uint64_t supported = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM |
		RTE_MBUF_F_TX_L4_MASK | txq->vlan_flag | txq->tso_flag;

	if ((txq->conf.offloads & RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM) != 0)
		supported |= RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4 |
			RTE_MBUF_F_TX_OUTER_IPV6 | RTE_MBUF_F_TX_TUNNEL_MASK;
	if ((txq->conf.offloads & MDV_TX_TUNNEL_TSO_OFFLOADS) != 0)
		supported |= RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6 |
			RTE_MBUF_F_TX_TUNNEL_MASK;
	return supported;
}

/* Has the chain the segments and bytes that it claims? */
static bool
well_formed(const struct rte_mbuf *m)
{
	const struct rte_mbuf *seg = m;
	uint32_t len = 0;
	uint16_t segs;

	for (segs = 0; seg != NULL && segs < m->nb_segs; segs++, seg = seg->next)
		len += seg->data_len;
	return segs != 0 && segs <= MDV_TX_MAX_SEGS && segs == m->nb_segs && seg == NULL &&
		len == m->pkt_len;
}

uint16_t
mdv_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const struct mdv_txq *txq = queue;
	uint64_t supported = supported_flags(txq);
	uint16_t i;

	for (i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];
		bool tso = (m->ol_flags & txq->tso_flag) != 0;

		if ((m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK & ~supported) != 0 ||
		    (m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_SCTP_CKSUM) {
			rte_errno = ENOTSUP;
			return i;
		}
		if (!well_formed(m) ||
		    !(tso ? mdv_tx_tso_ok(txq, m) : tx_length_ok(txq, m->pkt_len))) {
			rte_errno = EINVAL;
			return i;
		}
	}
	return n;
}
