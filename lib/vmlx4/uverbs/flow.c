/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "uverbs.h"

#define MAX_SPECS 10
#define SPEC_MAX 88 /* the longest that the interface knows, with its mask */
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

/* Value and mask of one layer, as long as this side knows it. */
union filter {
	struct ib_uverbs_flow_eth_filter eth;
	struct ib_uverbs_flow_ipv4_filter ipv4;
	struct ib_uverbs_flow_tcp_udp_filter l4;
};

struct spec {
	uint32_t type;
	union filter val, mask;
};

/* Source MAC and EtherType are ignored, masks and all: so does mlx4. */
static int
spec_eth(const struct spec *spec, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_eth_filter *mask = &spec->mask.eth;

	if (mask_kind(mask->dst_mac, 6) == MASK_PARTIAL)
		return -EINVAL;
	if (mask->vlan_tag != 0 && mask->vlan_tag != htobe16(VLAN_ID_MASK))
		return -EINVAL;
	match->eth = true;
	memcpy(match->dst_mac, spec->val.eth.dst_mac, 6);
	memcpy(match->dst_mac_mask, mask->dst_mac, 6);
	match->vlan_tag = spec->val.eth.vlan_tag;
	match->vlan_mask = mask->vlan_tag;
	return 0;
}

static int
spec_ipv4(const struct spec *spec, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_ipv4_filter *mask = &spec->mask.ipv4;

	if ((mask->proto | mask->tos | mask->ttl | mask->flags) != 0)
		return -ENOTSUPP;
	if (mask_kind(&mask->src_ip, 4) == MASK_PARTIAL ||
			mask_kind(&mask->dst_ip, 4) == MASK_PARTIAL)
		return -EINVAL;
	match->ipv4 = true;
	match->src_ip = spec->val.ipv4.src_ip;
	match->src_ip_mask = mask->src_ip;
	match->dst_ip = spec->val.ipv4.dst_ip;
	match->dst_ip_mask = mask->dst_ip;
	return 0;
}

static int
spec_tcp_udp(const struct spec *spec, struct vmlx4_match *match)
{
	const struct ib_uverbs_flow_tcp_udp_filter *mask = &spec->mask.l4;

	/* The tables look at ports only behind an IPv4 header. */
	if (!match->ipv4 || mask_kind(&mask->src_port, 2) == MASK_PARTIAL ||
			mask_kind(&mask->dst_port, 2) == MASK_PARTIAL)
		return -EINVAL;
	match->tcp = spec->type == IBV_FLOW_SPEC_TCP;
	match->udp = !match->tcp;
	match->src_port = spec->val.l4.src_port;
	match->src_port_mask = mask->src_port;
	match->dst_port = spec->val.l4.dst_port;
	match->dst_port_mask = mask->dst_port;
	return 0;
}

static const struct spec_kind {
	uint32_t type;
	uint16_t filter_size;
	int (*parse)(const struct spec *spec, struct vmlx4_match *match);
} spec_kinds[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ib_uverbs_flow_eth_filter), spec_eth },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ib_uverbs_flow_ipv4_filter), spec_ipv4 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ib_uverbs_flow_tcp_udp_filter), spec_tcp_udp },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ib_uverbs_flow_tcp_udp_filter), spec_tcp_udp },
};

static const struct spec_kind *
spec_kind(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(spec_kinds) / sizeof(spec_kinds[0]); i++)
		if (spec_kinds[i].type == type)
			return &spec_kinds[i];
	return NULL;
}

/*
 * Filters grew over time: the library's IPv4 filter ends behind the addresses,
 * and a longer one than we know may only mask nothing there.
 */
static int
parse_spec(const uint8_t *data, const struct ib_uverbs_flow_spec_hdr *hdr,
	struct vmlx4_match *match)
{
	const struct spec_kind *kind = spec_kind(hdr->type);
	struct spec spec = { .type = hdr->type };
	size_t have, known, i;

	if (kind == NULL || hdr->reserved != 0)
		return -EINVAL;
	have = (hdr->size - sizeof(*hdr)) / 2;
	known = have < kind->filter_size ? have : kind->filter_size;
	if (known == 0)
		return -EINVAL;
	data += sizeof(*hdr);
	memcpy(&spec.val, data, known);
	memcpy(&spec.mask, data + have, known);
	for (i = known; i < have; i++)
		if (data[have + i] != 0)
			return -EINVAL;
	return kind->parse(&spec, match);
}

static int
parse_specs(const uint8_t *data, size_t size, unsigned int count, struct vmlx4_match *match)
{
	struct ib_uverbs_flow_spec_hdr hdr;
	int ret;

	for (; count > 0; count--) {
		if (size < sizeof(hdr))
			return -EINVAL;
		memcpy(&hdr, data, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > size)
			return -EINVAL;
		ret = parse_spec(data, &hdr, match);
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
	if ((attr->flags & ~(uint32_t)IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0)
		return -EOPNOTSUPP;
	if (attr->flags != 0 && !vmlx4_flow_may_copy(adapter, attr))
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

	if (request->comp_mask != 0)
		return -EINVAL;
	if (ctx->adapter->options.no_net_raw || (attr->type == IBV_FLOW_ATTR_SNIFFER &&
			ctx->adapter->options.no_net_admin))
		return -EPERM;
	if (attr->num_of_specs <= MAX_SPECS && attr->size > attr->num_of_specs * SPEC_MAX)
		return -EINVAL;
	if (cmd->in_len - sizeof(*request) < attr->size)
		return -ENOSPC;
	ret = vmlx4_cmd_rest_zero(cmd, sizeof(*request) + attr->size);
	if (ret < 0)
		return ret;
	flow->qp = vmlx4_obj_find(ctx, request->qp_handle, VMLX4_QP);
	ret = flow_check(ctx->adapter, attr, flow->qp);
	if (ret == 0)
		ret = flow_type(attr->type, &flow->flow_type);
	if (ret == 0 && attr->flags != 0)
		ret = vmlx4_flow_copy(attr, (const uint8_t *)(request + 1), flow);
	else if (ret == 0)
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
