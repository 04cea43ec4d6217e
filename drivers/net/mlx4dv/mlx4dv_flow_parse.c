/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Patterns of rte_flow. The kernel takes destination MAC, VLAN id, IPv4 addresses
 * and TCP and UDP ports, each wholly or not at all. What it would ignore in silence
 * is refused here.
 *
 * A rule that copies is one of the card's sniffers: of what comes in, unicast,
 * multicast or both; or of all that comes in and leaves.
 */

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "mlx4dv_flow.h"

#define PRIORITY_MAX 0xffd /* behind it come the port's own rules */

struct parser {
	struct mdv_flow_request *req;
	struct rte_flow_error *error;
	const struct rte_flow_item *item;
	bool eth, vlan, ip, l4;
	bool any;                 /* the Ethernet item has no mask */
	bool group;               /* its mask is the multicast bit alone */
	bool multicast;           /* which is then set, or not */
	bool copies, egress;
};

static int
refuse(struct parser *p, int err, enum rte_flow_error_type type, const char *why)
{
	return rte_flow_error_set(p->error, err, type, p->item, why);
}

static bool
is_zero(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		if (b[i] != 0)
			return false;
	return true;
}

static bool
is_ones(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		if (b[i] != 0xff)
			return false;
	return true;
}

/* A field wholly or not at all. */
static bool
whole_or_none(const void *mask, size_t n)
{
	return is_zero(mask, n) || is_ones(mask, n);
}

/*
 * The mask of an item, or its default; NULL: it has no spec and matches all.
 * False: it has what no item may have.
 */
static int
item_mask(struct parser *p, const void *fallback, const void **mask)
{
	*mask = NULL;
	if (p->item->last != NULL)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_LAST,
			"ranges are not supported: leave \"last\" out");
	if (p->item->spec == NULL && p->item->mask != NULL)
		return refuse(p, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"a mask without a spec: give both or none");
	if (p->item->spec != NULL)
		*mask = p->item->mask != NULL ? p->item->mask : fallback;
	return 0;
}

static int
parse_eth(struct parser *p)
{
	const struct rte_flow_item_eth *spec = p->item->spec, *mask;
	static const uint8_t group[RTE_ETHER_ADDR_LEN] = { 0x01 };
	struct ibv_flow_spec_eth *eth = &p->req->eth;
	struct rte_flow_item_eth rest;
	const void *found;
	int ret;

	if (p->eth || p->vlan || p->ip)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"one Ethernet item, and before all others");
	p->eth = true;
	ret = item_mask(p, &rte_flow_item_eth_mask, &found);
	if (ret != 0)
		return ret;
	mask = found;
	p->any = mask == NULL || is_zero(&mask->dst, sizeof(mask->dst));
	if (mask == NULL)
		return 0;
	rest = *mask;
	memset(&rest.dst, 0, sizeof(rest.dst));
	/* The default mask names what this adapter cannot match; an empty value is no wish. */
	if (p->item->mask == NULL && is_zero(&spec->src, sizeof(spec->src)) &&
	    spec->type == 0 && spec->has_vlan == 0)
		memset(&rest, 0, sizeof(rest));
	if (!is_zero(&rest, sizeof(rest)))
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"of Ethernet only the destination address can be matched: the kernel "
			"ignores source address and type");
	p->group = memcmp(&mask->dst, group, sizeof(group)) == 0;
	p->multicast = (spec->dst.addr_bytes[0] & 0x01) != 0;
	if (p->group && !p->multicast && !p->copies)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
			"all multicast can be matched, all unicast cannot");
	if (p->group)
		return 0;
	if (!whole_or_none(&mask->dst, sizeof(mask->dst)))
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"the destination address is matched wholly, not at all, or by its "
			"multicast bit");
	memcpy(eth->val.dst_mac, &spec->dst, sizeof(eth->val.dst_mac));
	memcpy(eth->mask.dst_mac, &mask->dst, sizeof(eth->mask.dst_mac));
	return 0;
}

static int
parse_vlan(struct parser *p)
{
	const struct rte_flow_item_vlan *spec = p->item->spec, *mask;
	const void *found;
	int ret;

	if (p->vlan || p->ip)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"one VLAN item, before those of IPv4");
	p->vlan = true;
	ret = item_mask(p, &rte_flow_item_vlan_mask, &found);
	if (ret != 0)
		return ret;
	mask = found;
	if (mask == NULL || mask->tci != RTE_BE16(0x0fff) || mask->inner_type != 0)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"of a VLAN tag the id is matched, wholly (mask 0x0fff), and nothing else");
	p->req->eth.val.vlan_tag = spec->tci & RTE_BE16(0x0fff);
	p->req->eth.mask.vlan_tag = RTE_BE16(0x0fff);
	return 0;
}

static int
parse_ipv4(struct parser *p)
{
	const struct rte_flow_item_ipv4 *spec = p->item->spec, *mask;
	struct ibv_flow_spec_ipv4 *ipv4 = &p->req->ipv4;
	struct rte_flow_item_ipv4 rest;
	const void *found;
	int ret;

	if (p->ip)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, "one IPv4 item");
	p->ip = true;
	ipv4->type = IBV_FLOW_SPEC_IPV4;
	ipv4->size = sizeof(*ipv4);
	ret = item_mask(p, &rte_flow_item_ipv4_mask, &found);
	if (ret != 0 || found == NULL)
		return ret;
	mask = found;
	rest = *mask;
	rest.hdr.src_addr = 0;
	rest.hdr.dst_addr = 0;
	if (!is_zero(&rest, sizeof(rest)) ||
	    !whole_or_none(&mask->hdr.src_addr, sizeof(mask->hdr.src_addr)) ||
	    !whole_or_none(&mask->hdr.dst_addr, sizeof(mask->hdr.dst_addr)))
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"of IPv4 the addresses are matched, each wholly or not at all");
	ipv4->val.src_ip = spec->hdr.src_addr & mask->hdr.src_addr;
	ipv4->val.dst_ip = spec->hdr.dst_addr & mask->hdr.dst_addr;
	ipv4->mask.src_ip = mask->hdr.src_addr;
	ipv4->mask.dst_ip = mask->hdr.dst_addr;
	return 0;
}

/* The ports come first in either header, and are all that can be matched of it. */
static int
parse_l4(struct parser *p, enum ibv_flow_spec_type type, const void *fallback, size_t size)
{
	struct ibv_flow_spec_tcp_udp *l4 = &p->req->l4;
	const uint16_t *spec = p->item->spec, *mask;
	const void *found;
	int ret;

	if (!p->ip || p->l4)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"one TCP or UDP item, behind one of IPv4: no port is matched without");
	p->l4 = true;
	l4->type = type;
	l4->size = sizeof(*l4);
	ret = item_mask(p, fallback, &found);
	if (ret != 0 || found == NULL)
		return ret;
	mask = found;
	if (!is_zero(&mask[2], size - 2 * sizeof(mask[0])) ||
	    !whole_or_none(&mask[0], sizeof(mask[0])) || !whole_or_none(&mask[1], sizeof(mask[1])))
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM_MASK,
			"of TCP and UDP the ports are matched, each wholly or not at all");
	l4->val.src_port = spec[0] & mask[0];
	l4->val.dst_port = spec[1] & mask[1];
	l4->mask.src_port = mask[0];
	l4->mask.dst_port = mask[1];
	return 0;
}

static int
parse_item(struct parser *p)
{
	switch (p->item->type) {
	case RTE_FLOW_ITEM_TYPE_VOID:
		return 0;
	case RTE_FLOW_ITEM_TYPE_ETH:
		return parse_eth(p);
	case RTE_FLOW_ITEM_TYPE_VLAN:
		return parse_vlan(p);
	case RTE_FLOW_ITEM_TYPE_IPV4:
		return parse_ipv4(p);
	case RTE_FLOW_ITEM_TYPE_TCP:
		return parse_l4(p, IBV_FLOW_SPEC_TCP, &rte_flow_item_tcp_mask,
			sizeof(struct rte_flow_item_tcp));
	case RTE_FLOW_ITEM_TYPE_UDP:
		return parse_l4(p, IBV_FLOW_SPEC_UDP, &rte_flow_item_udp_mask,
			sizeof(struct rte_flow_item_udp));
	default:
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"the adapter matches eth, vlan, ipv4, tcp and udp");
	}
}

static int
parse_attr(const struct rte_flow_attr *attr, bool copies, struct rte_flow_error *error)
{
	bool egress = attr->egress != 0 && !(copies && attr->ingress != 0);

	if (attr->group != 0)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_GROUP, attr,
			"there is one group: 0");
	if (egress || attr->transfer != 0 || attr->ingress == 0)
		return rte_flow_error_set(error, ENOTSUP, egress ?
			RTE_FLOW_ERROR_TYPE_ATTR_EGRESS : RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, attr,
			"rules are for what comes in: ingress, and neither egress, unless as well "
			"in a rule that copies, nor transfer");
	if (attr->priority > PRIORITY_MAX)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, attr,
			"the lowest priority is 4093 (0xffd)");
	return 0;
}

/* The card's sniffers. */
static int
finish_copy(struct parser *p, struct mdv_flow_request *req)
{
	struct ibv_flow_attr *attr = &req->attr;

	if (p->vlan || p->ip || (p->eth && !p->any && !p->group))
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"what goes on to other rules is copied whole, all multicast or all "
			"unicast of it: the pattern is eth, its mask the multicast bit or none");
	if (attr->priority != 0)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY,
			"a rule that copies has priority 0");
	attr->size = sizeof(*attr);
	if (p->egress) {
		attr->type = IBV_FLOW_ATTR_SNIFFER;
		return p->group ? refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"what comes in and leaves is copied whole") : 0;
	}
	attr->flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	if (!p->group)
		return 0;
	req->eth.type = IBV_FLOW_SPEC_ETH;
	req->eth.size = sizeof(req->eth);
	req->eth.mask.dst_mac[0] = 1;
	req->eth.val.dst_mac[0] = p->multicast;
	attr->num_of_specs = 1;
	attr->size += sizeof(req->eth);
	return 0;
}

/* How the request lies in memory: the specs that there are, without a gap. */
static int
finish(struct parser *p, struct mdv_flow_request *req)
{
	struct ibv_flow_attr *attr = &req->attr;
	bool alone = !p->vlan && !p->ip;

	if (p->copies)
		return finish_copy(p, req);
	if (p->group && !alone)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
			"all multicast cannot be narrowed by further items");
	if (alone && (p->group || p->any || !p->eth)) {
		attr->type = p->group ? IBV_FLOW_ATTR_MC_DEFAULT : IBV_FLOW_ATTR_ALL_DEFAULT;
		attr->size = sizeof(*attr);
		return 0;
	}
	/* The firmware takes no notice of the priority of such a rule. */
	if (p->l4 && req->l4.type == IBV_FLOW_SPEC_UDP && req->l4.mask.dst_port != 0 &&
	    attr->priority != 0)
		return refuse(p, ENOTSUP, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY,
			"a rule with a UDP destination port has priority 0");
	req->eth.type = IBV_FLOW_SPEC_ETH;
	req->eth.size = sizeof(req->eth);
	attr->num_of_specs = 1 + p->ip + p->l4;
	attr->size = p->l4 ? sizeof(*req) : p->ip ? offsetof(struct mdv_flow_request, l4) :
		offsetof(struct mdv_flow_request, ipv4);
	return 0;
}

static unsigned int
classes_of(const struct parser *p)
{
	if (p->l4)
		return p->req->l4.type == IBV_FLOW_SPEC_UDP ? MDV_CLASS_UDP4 : MDV_CLASS_TCP4;
	return p->ip ? MDV_CLASS_OTHER4 | MDV_CLASS_TCP4 | MDV_CLASS_UDP4 : MDV_CLASS_ALL;
}

int
mdv_flow_parse_pattern(const struct mdv_priv *priv, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, bool copies, struct mdv_flow_request *req,
	unsigned int *classes, struct rte_flow_error *error)
{
	struct parser p = {
		.req = req, .error = error, .copies = copies, .egress = attr->egress != 0,
	};
	int ret = parse_attr(attr, copies, error);

	memset(req, 0, sizeof(*req));
	req->attr.port = (uint8_t)priv->port;
	req->attr.priority = (uint16_t)attr->priority;
	for (p.item = pattern; ret == 0 && p.item->type != RTE_FLOW_ITEM_TYPE_END; p.item++)
		ret = parse_item(&p);
	if (ret == 0)
		ret = finish(&p, req);
	*classes = classes_of(&p);
	return ret;
}
