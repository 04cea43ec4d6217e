/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_mbuf_ptype.h>

#include <ethdev_driver.h>

#include "mlx4dv_compat.h"
#include "mlx4dv_rxtx.h"

/*
 * Packet types by what a CQE says. Bits 5:0 of an index are status[27:22], where
 * bit 1 also stands for an IPv6 fragment; bits 7:6 come from the tunnel bits of
 * dword 0, of adapters that parse tunnels. Under a tunnel the status is that of
 * the inner packet.
 */
#define IS_IPV4(i) (((i) & 0x01) != 0)
#define IS_FRAG(i) (((i) & 0x02) != 0)
#define IS_IPV6(i) (((i) & 0x04) != 0)
#define HAS_OPT(i) (((i) & 0x08) != 0)
#define IS_TCP(i) (((i) & 0x10) != 0)
#define IS_UDP(i) (((i) & 0x20) != 0)
#define OUTER_IPV4(i) (((i) & 0x40) != 0)
#define TUNNEL(i) (((i) & 0x80) != 0)

#define L3(i, prefix) \
	(IS_IPV4(i) ? (HAS_OPT(i) ? prefix ## L3_IPV4_EXT : prefix ## L3_IPV4) : \
	 IS_IPV6(i) ? (IS_FRAG(i) ? prefix ## L3_IPV6_EXT : prefix ## L3_IPV6_EXT_UNKNOWN) : 0)

/* A first fragment shows its L4 header too, but is no whole L4 packet. */
#define L4(i, prefix) \
	(!IS_IPV4(i) && !IS_IPV6(i) ? 0 : IS_FRAG(i) ? prefix ## L4_FRAG : \
	 IS_TCP(i) ? prefix ## L4_TCP : IS_UDP(i) ? prefix ## L4_UDP : prefix ## L4_NONFRAG)

#define OUTER(i) \
	((OUTER_IPV4(i) ? RTE_PTYPE_L3_IPV4_EXT_UNKNOWN : RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) | \
	 RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN | RTE_PTYPE_INNER_L2_ETHER)

#define P1(i) (RTE_PTYPE_L2_ETHER | (TUNNEL(i) ? \
	OUTER(i) | L3(i, RTE_PTYPE_INNER_) | L4(i, RTE_PTYPE_INNER_) : \
	L3(i, RTE_PTYPE_) | L4(i, RTE_PTYPE_)))
#define P4(i) P1(i), P1((i) + 1), P1((i) + 2), P1((i) + 3)
#define P16(i) P4(i), P4((i) + 4), P4((i) + 8), P4((i) + 12)
#define P64(i) P16(i), P16((i) + 16), P16((i) + 32), P16((i) + 48)

const uint32_t mdv_ptype_table[256] = { P64(0), P64(64), P64(128), P64(192) };

static const uint32_t ptypes[] = {
	RTE_PTYPE_L2_ETHER,
	RTE_PTYPE_L3_IPV4,
	RTE_PTYPE_L3_IPV4_EXT,
	RTE_PTYPE_L3_IPV6_EXT,
	RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_L4_FRAG,
	RTE_PTYPE_L4_NONFRAG,
	RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L4_UDP,
	RTE_PTYPE_UNKNOWN,
};

static const uint32_t tunnel_ptypes[] = {
	RTE_PTYPE_L2_ETHER,
	RTE_PTYPE_L3_IPV4,
	RTE_PTYPE_L3_IPV4_EXT,
	RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
	RTE_PTYPE_L3_IPV6_EXT,
	RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_L4_FRAG,
	RTE_PTYPE_L4_NONFRAG,
	RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L4_UDP,
	RTE_PTYPE_TUNNEL_VXLAN,
	RTE_PTYPE_INNER_L2_ETHER,
	RTE_PTYPE_INNER_L3_IPV4,
	RTE_PTYPE_INNER_L3_IPV4_EXT,
	RTE_PTYPE_INNER_L3_IPV6_EXT,
	RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_INNER_L4_FRAG,
	RTE_PTYPE_INNER_L4_NONFRAG,
	RTE_PTYPE_INNER_L4_TCP,
	RTE_PTYPE_INNER_L4_UDP,
	RTE_PTYPE_UNKNOWN,
};

const uint32_t *
mdv_supported_ptypes(struct rte_eth_dev *dev MDV_PTYPES_COUNT_ARG)
{
	const struct mdv_rxq *rxq = NULL;

	if (dev->data->nb_rx_queues != 0)
		rxq = dev->data->rx_queues[0];
	if (rxq != NULL && rxq->csum_l2tun) {
		MDV_PTYPES_SET_COUNT(RTE_DIM(tunnel_ptypes) - 1);
		return tunnel_ptypes;
	}
	MDV_PTYPES_SET_COUNT(RTE_DIM(ptypes) - 1);
	return ptypes;
}
