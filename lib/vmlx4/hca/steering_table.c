/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "internal.h"

/* What is in a port's tables: flow rules in match order, and MAC addresses. */

/* ---- MAC table ---- */

static int
macs_find(const struct vmlx4_port *port, uint64_t mac)
{
	unsigned int i;

	if (mac == vmlx4_mac_word(port->netdev.mac))
		return VMLX4_MAC_OWN;
	for (i = 1; i < port->macs.end; i++)
		if (port->macs.entry[i].users != 0 && port->macs.entry[i].mac == mac)
			return (int)i;
	return -1;
}

uint8_t
vmlx4_mac_index(const struct vmlx4_port *port, uint64_t mac)
{
	int index = macs_find(port, mac);

	return index >= 0 ? (uint8_t)index :
		(uint8_t)vmlx4_unknowns(port->adapter)->rx_mac_index_none;
}

static int
macs_add(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;
	struct vmlx4_mac_table *macs = &port->macs;
	uint64_t mac = vmlx4_mac_word(flow->match.dst_mac);
	int index = macs_find(port, mac);
	unsigned int i;

	for (i = 1; index < 0 && i < VMLX4_MACS; i++)
		if (macs->entry[i].users == 0)
			index = (int)i;
	if (index < 0)
		return -ENOSPC;
	if (index >= (int)macs->end)
		macs->end = (unsigned int)index + 1;
	flow->mac_index = (uint8_t)index;
	if (index == VMLX4_MAC_OWN)
		return 0;
	macs->entry[index].mac = mac;
	macs->entry[index].users++;
	return 0;
}

static void
macs_remove(struct vmlx4_flow *flow)
{
	if (flow->mac_index != VMLX4_MAC_OWN)
		flow->port->macs.entry[flow->mac_index].users--;
	flow->mac_index = VMLX4_MAC_OWN;
}

/* ---- rules ---- */

/* Does the rule look at more than the destination MAC? */
static bool
is_deep(const struct vmlx4_flow *flow)
{
	const struct vmlx4_match *m = &flow->match;

	return flow->flow_type == VMLX4_FLOW_NORMAL &&
		(m->ipv4 || m->tcp || m->udp || m->vlan_mask != 0);
}

static bool
is_copy(const struct vmlx4_flow *flow)
{
	return flow->flow_type == VMLX4_FLOW_SNIFFER || flow->flow_type == VMLX4_FLOW_DONT_TRAP;
}

/* The card does not look at the priority of a rule for a UDP destination port. */
static uint16_t
order(const struct vmlx4_flow *flow)
{
	if (flow->match.udp && flow->match.dst_port_mask != 0 &&
	    vmlx4_unknowns(flow->port->adapter)->steer_udp_port_first != 0)
		return 0;
	return flow->priority;
}

static void
insert(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;
	struct vmlx4_flow *at;

	/* From the end, as rules by the thousand tend to have one priority. */
	TAILQ_FOREACH_REVERSE(at, &port->flows, vmlx4_flow_list, port_next)
		if (order(at) <= order(flow))
			break;
	if (at != NULL)
		TAILQ_INSERT_AFTER(&port->flows, at, flow, port_next);
	else
		TAILQ_INSERT_HEAD(&port->flows, flow, port_next);
}

/*
 * In the card's tunnel mode the kernel puts a second rule beside one of a
 * destination MAC alone: tunnels with that outer MAC. Of the priority it keeps
 * eight bits.
 */
static int
add_twin(struct vmlx4_flow *flow)
{
	const struct vmlx4_match *m = &flow->match;
	struct vmlx4_flow *twin;

	if (flow->flow_type != VMLX4_FLOW_NORMAL || !m->eth || m->ipv4 || m->tcp || m->udp ||
	    vmlx4_vxlan_port(flow->port->adapter) == VMLX4_NO_VXLAN)
		return 0;
	twin = calloc(1, sizeof(*twin));
	if (twin == NULL)
		return -ENOMEM;
	twin->flow_type = VMLX4_FLOW_NORMAL;
	twin->priority = flow->priority & 0xff;
	twin->match.eth = true;
	twin->match.vxlan = true;
	memcpy(twin->match.dst_mac, m->dst_mac, 6);
	memset(twin->match.dst_mac_mask, 0xff, 6);
	twin->port = flow->port;
	twin->qp = flow->qp;
	flow->twin = twin;
	insert(twin);
	return 0;
}

int
vmlx4_steering_add(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;
	int ret = 0;

	if (vmlx4_flow_owns_mac(flow) && vmlx4_unknowns(port->adapter)->steer_mac_table != 0)
		ret = macs_add(flow);
	if (ret == 0)
		ret = add_twin(flow);
	if (ret < 0) {
		macs_remove(flow);
		return ret;
	}
	insert(flow);
	port->steering.deep += is_deep(flow);
	port->steering.copies += is_copy(flow);
	port->steering.own[flow->match.dst_mac[5]] += vmlx4_flow_owns_mac(flow);
	vmlx4_destinations_forget(port);
	return 0;
}

void
vmlx4_steering_remove(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;

	TAILQ_REMOVE(&port->flows, flow, port_next);
	if (flow->twin != NULL) {
		TAILQ_REMOVE(&port->flows, flow->twin, port_next);
		free(flow->twin);
		flow->twin = NULL;
	}
	macs_remove(flow);
	port->steering.deep -= is_deep(flow);
	port->steering.copies -= is_copy(flow);
	port->steering.own[flow->match.dst_mac[5]] -= vmlx4_flow_owns_mac(flow);
	vmlx4_destinations_forget(port);
}
