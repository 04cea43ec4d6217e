/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/mlx4-abi.h>
#include <stdlib.h>
#include <string.h>

#include "../profile.h"
#include "uverbs.h"

/* Both directions of a layer, or none. */
struct pair {
	uint64_t both;
	uint8_t alone;          /* hash field it stands for by itself */
	uint8_t over4, over6;   /* … together with IPv4, with IPv6 addresses */
};

static const struct pair pairs[] = {
	{ MLX4_IB_RX_HASH_SRC_IPV4 | MLX4_IB_RX_HASH_DST_IPV4, VMLX4_HASH_IPV4, 0, 0 },
	{ MLX4_IB_RX_HASH_SRC_IPV6 | MLX4_IB_RX_HASH_DST_IPV6, VMLX4_HASH_IPV6, 0, 0 },
	{ MLX4_IB_RX_HASH_SRC_PORT_TCP | MLX4_IB_RX_HASH_DST_PORT_TCP, 0,
		VMLX4_HASH_TCP_IPV4, VMLX4_HASH_TCP_IPV6 },
	{ MLX4_IB_RX_HASH_SRC_PORT_UDP | MLX4_IB_RX_HASH_DST_PORT_UDP, 0,
		VMLX4_HASH_UDP_IPV4, VMLX4_HASH_UDP_IPV6 },
};

/*
 * The card cannot hash one direction only, nor ports without addresses. None at
 * all is fine: every packet goes to the first queue, as net_mlx4 wants it of a rule
 * for one queue.
 */
static int
hash_fields(uint64_t mask, uint8_t *fields)
{
	uint8_t result = 0;
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		uint64_t asked = mask & pairs[i].both;

		mask &= ~pairs[i].both;
		if (asked == 0)
			continue;
		if (asked != pairs[i].both)
			return -EOPNOTSUPP;
		result |= pairs[i].alone;
		if (pairs[i].alone != 0)
			continue;
		if ((result & (VMLX4_HASH_IPV4 | VMLX4_HASH_IPV6)) == 0)
			return -EOPNOTSUPP;
		if ((result & VMLX4_HASH_IPV4) != 0)
			result |= pairs[i].over4;
		if ((result & VMLX4_HASH_IPV6) != 0)
			result |= pairs[i].over6;
	}
	if (mask != 0)
		return -EOPNOTSUPP;
	*fields = result;
	return 0;
}

bool
vmlx4_rss_inner_offered(const struct vmlx4_adapter *adapter)
{
	return adapter->profile->tunnel_offload && adapter->options.unknowns.vxlan_port != 0;
}

int
vmlx4_rss_parse(struct vmlx4_qp *qp, const struct vmlx4_cmd *cmd)
{
	static const uint8_t zero[sizeof(((struct mlx4_ib_create_qp_rss *)NULL)->reserved)];
	struct mlx4_ib_create_qp_rss driver;
	const struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	uint8_t fields;
	bool inner;
	int ret;

	if (cmd->drv_out_len != 0)
		return -EOPNOTSUPP;
	ret = vmlx4_cmd_drv_in(cmd, &driver, sizeof(driver));
	if (ret < 0)
		return ret;
	if (driver.comp_mask != 0 || driver.reserved1 != 0 ||
			memcmp(driver.reserved, zero, sizeof(zero)) != 0 ||
			driver.rx_hash_function != MLX4_IB_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	/* The flow tables' tunnel mode is what INNER takes. */
	inner = (driver.rx_hash_fields_mask & MLX4_IB_RX_HASH_INNER) != 0;
	if (inner && !vmlx4_rss_inner_offered(adapter))
		return -EOPNOTSUPP;
	ret = hash_fields(driver.rx_hash_fields_mask & ~(uint64_t)MLX4_IB_RX_HASH_INNER, &fields);
	if (ret < 0)
		return ret;
	qp->rss = vmlx4_zalloc(sizeof(*qp->rss));
	if (qp->rss == NULL)
		return -ENOMEM;
	qp->rss->fields = fields;
	qp->rss->inner = inner;
	if (adapter->options.unknowns.rss_inner_addresses != 0)
		qp->rss->inner_hides = VMLX4_HASH_L4;
	qp->rss->function = (uint8_t)adapter->options.unknowns.rss_function;
	memcpy(qp->rss->key, driver.rx_hash_key, sizeof(qp->rss->key));
	vmlx4_rss_prepare(qp);
	return 0;
}
