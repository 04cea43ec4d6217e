/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "uverbs.h"

/*
 * DONT_TRAP: the card's sniffers for unicast and for multicast frames, which copy
 * to a QP and let the frame go on. More of a match they cannot.
 */

bool
vmlx4_flow_may_copy(const struct vmlx4_adapter *adapter, const struct ib_uverbs_flow_attr *attr)
{
	return adapter->options.unknowns.steer_dont_trap != 0 &&
		attr->type == IBV_FLOW_ATTR_NORMAL && attr->priority == 0 &&
		attr->num_of_specs <= 1;
}

int
vmlx4_flow_copy(const struct ib_uverbs_flow_attr *attr, const uint8_t *specs,
	struct vmlx4_flow *flow)
{
	static const uint8_t none[6], group[6] = { 1 };
	struct ib_uverbs_flow_spec_eth eth;

	flow->flow_type = VMLX4_FLOW_DONT_TRAP;
	flow->copy_unicast = true;
	flow->copy_multicast = true;
	if (attr->num_of_specs == 0)
		return attr->size == 0 ? 0 : -EINVAL;
	if (attr->size != sizeof(eth))
		return -EINVAL;
	memcpy(&eth, specs, sizeof(eth));
	if (eth.type != IBV_FLOW_SPEC_ETH || eth.size != sizeof(eth) || eth.reserved != 0)
		return -EINVAL;
	if (memcmp(eth.mask.dst_mac, none, 6) == 0)
		return 0;
	/* The one other mask: the bit that tells multicast from unicast. */
	if (memcmp(eth.mask.dst_mac, group, 6) != 0)
		return -EINVAL;
	if ((eth.val.dst_mac[0] & 1) != 0)
		flow->copy_unicast = false;
	else
		flow->copy_multicast = false;
	return 0;
}
