/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "uverbs.h"

#define MAX_SPECS 10
#define MAX_PRIORITY 0xfffu
#define FLOW_FLAGS_END (1u << 3) /* DONT_TRAP and EGRESS lie below */
#define VLAN_ID_MASK 0x0fffu
#ifndef ENOTSUPP
#define ENOTSUPP 524 /* a kernel's own errno, which mlx4 lets out */
#endif

enum mask_kind { MASK_NONE, MASK_FULL, MASK_PARTIAL };

/* The card's tables match a field whole or not at all. */
static enum mask_kind
mask_kind(const void *mask, size_t size)
{
	static const uint8_t ones[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t zeroes[6];

	if (memcmp(mask, zeroes, size) == 0)
		return MASK_NONE;
	return memcmp(mask, ones, size) == 0 ? MASK_FULL : MASK_PARTIAL;
}

/* Source MAC and EtherType are ignored, masks and all: so does mlx4. */
static int
spec_eth(const void *data, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_spec_eth *spec = data;

	if (mask_kind(spec->mask.dst_mac, 6) == MASK_PARTIAL)
		return -EINVAL;
	if (spec->mask.vlan_tag != 0 && spec->mask.vlan_tag != htobe16(VLAN_ID_MASK))
		return -EINVAL;
	match->eth = true;
	memcpy(match->dst_mac, spec->val.dst_mac, 6);
	memcpy(match->dst_mac_mask, spec->mask.dst_mac, 6);
	match->vlan_tag = spec->val.vlan_tag;
	match->vlan_mask = spec->mask.vlan_tag;
	return 0;
}

static int
spec_ipv4(const void *data, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_spec_ipv4 *spec = data;

	if ((spec->mask.proto | spec->mask.tos | spec->mask.ttl | spec->mask.flags) != 0)
		return -ENOTSUPP;
	if (mask_kind(&spec->mask.src_ip, 4) == MASK_PARTIAL ||
			mask_kind(&spec->mask.dst_ip, 4) == MASK_PARTIAL)
		return -EINVAL;
	match->ipv4 = true;
	match->src_ip = spec->val.src_ip;
	match->src_ip_mask = spec->mask.src_ip;
	match->dst_ip = spec->val.dst_ip;
	match->dst_ip_mask = spec->mask.dst_ip;
	return 0;
}

static int
spec_tcp_udp(const void *data, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_spec_tcp_udp *spec = data;

	/* The tables look at ports only behind an IPv4 header. */
	if (!match->ipv4 || mask_kind(&spec->mask.src_port, 2) == MASK_PARTIAL ||
			mask_kind(&spec->mask.dst_port, 2) == MASK_PARTIAL)
		return -EINVAL;
	match->tcp = spec->type == IBV_FLOW_SPEC_TCP;
	match->udp = !match->tcp;
	match->src_port = spec->val.src_port;
	match->src_port_mask = spec->mask.src_port;
	match->dst_port = spec->val.dst_port;
	match->dst_port_mask = spec->mask.dst_port;
	return 0;
}

static const struct spec_kind {
	uint32_t type;
	uint16_t size;
	int (*parse)(const void *data, struct vmlx4_match *match);
} spec_kinds[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ib_uverbs_flow_spec_eth), spec_eth },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ib_uverbs_flow_spec_ipv4), spec_ipv4 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ib_uverbs_flow_spec_tcp_udp), spec_tcp_udp },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ib_uverbs_flow_spec_tcp_udp), spec_tcp_udp },
};

/*
 * A program may know fewer fields than the kernel does: libibverbs sends an IPv4
 * spec with addresses only. Value and mask, one behind the other, are brought to
 * their full size, the rest zero.
 */
static int
spec_expand(const uint8_t *data, size_t size, uint8_t *full, size_t full_size)
{
	size_t hdr = sizeof(struct ib_uverbs_flow_spec_hdr);
	size_t given = (size - hdr) / 2;
	size_t filter = (full_size - hdr) / 2;

	if ((size - hdr) % 2 != 0 || given > filter)
		return -EINVAL;
	memset(full, 0, full_size);
	memcpy(full, data, hdr);
	memcpy(full + hdr, data + hdr, given);
	memcpy(full + hdr + filter, data + hdr + given, given);
	return 0;
}

static int
parse_specs(const uint8_t *data, size_t size, unsigned int count, struct vmlx4_match *match)
{
	uint8_t full[64] __attribute__((aligned(8)));
	struct ib_uverbs_flow_spec_hdr hdr;
	size_t i;
	int ret;

	for (; count > 0; count--) {
		if (size < sizeof(hdr))
			return -EINVAL;
		memcpy(&hdr, data, sizeof(hdr));
		for (i = 0; i < sizeof(spec_kinds) / sizeof(spec_kinds[0]); i++)
			if (spec_kinds[i].type == hdr.type)
				break;
		if (i == sizeof(spec_kinds) / sizeof(spec_kinds[0]) ||
				hdr.size < sizeof(hdr) || hdr.size > size ||
				hdr.reserved != 0)
			return -EINVAL;
		ret = spec_expand(data, hdr.size, full, spec_kinds[i].size);
		if (ret == 0)
			ret = spec_kinds[i].parse(full, match);
		if (ret < 0)
			return ret;
		data += hdr.size;
		size -= hdr.size;
	}
	return size != 0 ? -EINVAL : 0;
}

/* In the order in which a kernel finds the faults. */
static int
flow_check(const struct vmlx4_adapter *adapter, const struct ib_uverbs_flow_attr *attr,
	const struct vmlx4_qp *qp)
{
	if (attr->flags >= FLOW_FLAGS_END ||
			((attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0 &&
			(attr->type == IBV_FLOW_ATTR_ALL_DEFAULT ||
			attr->type == IBV_FLOW_ATTR_MC_DEFAULT)) ||
			attr->num_of_specs > MAX_SPECS ||
			attr->reserved[0] != 0 || attr->reserved[1] != 0 || qp == NULL)
		return -EINVAL;
	if (attr->port < 1 || attr->port > adapter->options.ports)
		return -EINVAL;
	/* DONT_TRAP takes a sniffer capability that this card does not report. */
	if (attr->flags != 0)
		return -EOPNOTSUPP;
	if (attr->priority > MAX_PRIORITY)
		return -EINVAL;
	return 0;
}

static int
flow_type(uint32_t type, enum vmlx4_flow_type *result)
{
	switch (type) {
	case IBV_FLOW_ATTR_NORMAL:
		*result = VMLX4_FLOW_NORMAL;
		return 0;
	case IBV_FLOW_ATTR_ALL_DEFAULT:
		*result = VMLX4_FLOW_ALL_DEFAULT;
		return 0;
	case IBV_FLOW_ATTR_MC_DEFAULT:
		*result = VMLX4_FLOW_MC_DEFAULT;
		return 0;
	case IBV_FLOW_ATTR_SNIFFER:
		*result = VMLX4_FLOW_SNIFFER;
		return 0;
	default:
		return -EINVAL;
	}
}

static int
flow_parse(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd, struct vmlx4_flow *flow)
{
	const struct ib_uverbs_create_flow *request = cmd->in;
	const struct ib_uverbs_flow_attr *attr = &request->flow_attr;
	int ret;

	if (request->comp_mask != 0 || cmd->in_len - sizeof(*request) < attr->size)
		return -EINVAL;
	flow->qp = vmlx4_obj_find(ctx, request->qp_handle, VMLX4_QP);
	ret = flow_check(ctx->adapter, attr, flow->qp);
	if (ret == 0)
		ret = flow_type(attr->type, &flow->flow_type);
	if (ret == 0)
		ret = parse_specs((const uint8_t *)(request + 1), attr->size,
			attr->num_of_specs, &flow->match);
	if (ret < 0)
		return ret;
	/* A regular rule without any layer would be a second ALL_DEFAULT. */
	if (flow->flow_type == VMLX4_FLOW_NORMAL && attr->num_of_specs == 0)
		return -EINVAL;
	flow->priority = attr->priority;
	flow->port = &ctx->adapter->ports[attr->port - 1];
	return 0;
}

int
vmlx4_cmd_create_flow(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_create_flow_resp reply = { 0 };
	struct vmlx4_flow *flow;
	int ret;

	/* mlx4 takes nothing beside the rule. */
	ret = vmlx4_cmd_drv_zero(cmd);
	if (ret < 0)
		return ret;
	flow = vmlx4_obj_new(ctx, VMLX4_FLOW, sizeof(*flow));
	if (flow == NULL)
		return -ENOMEM;
	ret = flow_parse(ctx, cmd, flow);
	if (ret == 0)
		ret = vmlx4_steering_add(flow);
	if (ret < 0) {
		vmlx4_obj_free(&flow->obj);
		return ret;
	}
	flow->qp->obj.users++;
	reply.flow_handle = flow->obj.handle;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_flow_release(struct vmlx4_flow *flow)
{
	vmlx4_steering_remove(flow);
	flow->qp->obj.users--;
	vmlx4_obj_free(&flow->obj);
}

int
vmlx4_cmd_destroy_flow(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_destroy_flow request;
	struct vmlx4_flow *flow;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0 && request.comp_mask != 0)
		ret = -EINVAL;
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.flow_handle, VMLX4_FLOW, &flow);
	if (ret < 0)
		return ret;
	vmlx4_flow_release(flow);
	return 0;
}
