/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RSS_H_
#define MLX4DV_RSS_H_

/* What can be hashed, in the terms of ethdev and of verbs. */

#include <infiniband/verbs.h>

#include <rte_ethdev.h>

#include "mlx4dv.h"

#define RSS_IPV4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
/* Extension headers are passed over; the addresses are those of the IPv6 header. */
#define RSS_IPV6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | \
	RTE_ETH_RSS_IPV6_EX)
#define RSS_TCP4 RTE_ETH_RSS_NONFRAG_IPV4_TCP
#define RSS_UDP4 RTE_ETH_RSS_NONFRAG_IPV4_UDP
#define RSS_TCP6 (RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX)
#define RSS_UDP6 (RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX)

#define HASH_IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define HASH_IPV6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define HASH_TCP (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define HASH_UDP (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

/*
 * A QP over the run of the WQ table from first on, ready to receive. On failure
 * rss may be half made: mdv_rss_qp_destroy() takes it.
 */
int mdv_rss_qp_create(struct mdv_priv *priv, struct mdv_rss_qp *rss, uint32_t first,
	uint32_t entries, uint64_t fields, const uint8_t *key);
void mdv_rss_qp_destroy(struct mdv_priv *priv, struct mdv_rss_qp *rss);

#endif /* MLX4DV_RSS_H_ */
