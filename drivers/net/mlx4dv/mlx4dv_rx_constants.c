/* SPDX-License-Identifier: BSD-3-Clause */

/* What the vector bursts of all instruction sets compare with, and mask out. */

#include <rte_byteorder.h>
#include <rte_ether.h>

#include <dvq.h>

#include "mlx4dv_rx_vector.h"

#define ALL(value) { value, value, value, value }

const struct rx_constants mdv_rx_constants = {
	/* Packets have opcodes of two bits. */
	.error = { 0, 0, 0, RTE_BE32(DVQ_CQE_OP_ERROR & ~3u) },
	.good = ALL(DVQ_CQE_ST_IPV4 | DVQ_CQE_ST_IPOK | DVQ_CQE_ST_L4OK),
	.type = ALL(0x3f),
	.ipv6f = ALL(DVQ_CQE_ST_IPV6F),
	.tunnel = ALL(RTE_BE32(DVQ_CQE_TUNNEL)),
	.tag = ALL(RTE_BE32(DVQ_CQE_CVLAN | DVQ_CQE_SVLAN)),
	.vlan = ALL((uint32_t)RTE_ETHER_TYPE_VLAN << 16),
	.reach = ALL(RX_TAG_REACH),
	.upper = ALL(0xffff0000),
	.cut = ALL(RTE_VLAN_HLEN),
};
