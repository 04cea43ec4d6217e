/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/* Does the rule look at more than the destination MAC? */
static bool
flow_is_deep(const struct vmlx4_flow *flow)
{
	const struct vmlx4_match *m = &flow->match;

	return flow->flow_type == VMLX4_FLOW_NORMAL &&
		(m->ipv4 || m->tcp || m->udp || m->vlan_mask != 0);
}

int
vmlx4_steering_add(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;
	struct vmlx4_flow *at;

	TAILQ_FOREACH(at, &port->flows, port_next)
		if (at->priority > flow->priority)
			break;
	if (at != NULL)
		TAILQ_INSERT_BEFORE(at, flow, port_next);
	else
		TAILQ_INSERT_TAIL(&port->flows, flow, port_next);
	port->steering.deep += flow_is_deep(flow);
	port->steering.sniffers += flow->flow_type == VMLX4_FLOW_SNIFFER;
	port->steering.flow = NULL;
	return 0;
}

void
vmlx4_steering_remove(struct vmlx4_flow *flow)
{
	struct vmlx4_port *port = flow->port;

	TAILQ_REMOVE(&port->flows, flow, port_next);
	port->steering.deep -= flow_is_deep(flow);
	port->steering.sniffers -= flow->flow_type == VMLX4_FLOW_SNIFFER;
	port->steering.flow = NULL;
}

static bool
match_deep(const struct vmlx4_match *m, const uint8_t *frame,
	const struct vmlx4_parsed *p)
{
	uint32_t src, dst;
	uint16_t ports[2];

	/* The rule and the tag are compared as the wire has them. */
	if (m->vlan_mask != 0 && (p->vlans == 0 ||
	    ((htobe16(p->vlan_tci) ^ m->vlan_tag) & m->vlan_mask) != 0))
		return false;
	if (m->ipv4) {
		if (p->l3 != VMLX4_L3_IPV4)
			return false;
		memcpy(&src, frame + p->l3_offset + 12, 4);
		memcpy(&dst, frame + p->l3_offset + 16, 4);
		if (((src ^ m->src_ip) & m->src_ip_mask) != 0 ||
		    ((dst ^ m->dst_ip) & m->dst_ip_mask) != 0)
			return false;
	}
	if (m->tcp || m->udp) {
		if (p->l4 != (m->tcp ? VMLX4_L4_TCP : VMLX4_L4_UDP))
			return false;
		memcpy(ports, frame + p->l4_offset, 4);
		if (((ports[0] ^ m->src_port) & m->src_port_mask) != 0 ||
		    ((ports[1] ^ m->dst_port) & m->dst_port_mask) != 0)
			return false;
	}
	return true;
}

static bool
match_mac(const struct vmlx4_match *m, const uint8_t *frame)
{
	unsigned int i;
	uint8_t diff = 0;

	for (i = 0; i < 6; i++)
		diff |= (frame[i] ^ m->dst_mac[i]) & m->dst_mac_mask[i];
	return diff == 0;
}

static bool
is_broadcast(const uint8_t *frame)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return memcmp(frame, all, 6) == 0;
}

static bool
takes_broadcast(const struct vmlx4_flow *flow)
{
	return vmlx4_unknowns(flow->port->adapter)->default_takes_broadcast != 0;
}

static bool
flow_matches(const struct vmlx4_flow *flow, const uint8_t *frame,
	const struct vmlx4_parsed *parsed)
{
	const struct vmlx4_match *m = &flow->match;

	switch (flow->flow_type) {
	case VMLX4_FLOW_NORMAL:
		return (!m->eth || match_mac(m, frame)) && match_deep(m, frame, parsed);
	case VMLX4_FLOW_ALL_DEFAULT:
		/* Drivers add a broadcast rule beside it: the card needs one. */
		return !is_broadcast(frame) || takes_broadcast(flow);
	case VMLX4_FLOW_MC_DEFAULT:
		return (frame[0] & 1) != 0 &&
			(!is_broadcast(frame) || takes_broadcast(flow));
	case VMLX4_FLOW_SNIFFER:
		break; /* mirrors, decides nothing */
	}
	return false;
}

/* A QP takes the frame: by itself, or through the hash of an RSS QP. */
static void
deliver(struct vmlx4_port *port, struct vmlx4_qp *qp, const uint8_t *frame,
	size_t length, const struct vmlx4_parsed *parsed)
{
	struct vmlx4_rq *rq = &qp->rq;
	uint32_t hash = vmlx4_unknowns(port->adapter)->rx_hash_when_none;

	if (qp->table != NULL) {
		bool hashed;

		if (unlikely(qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS)) {
			port->stats.rx_dropped_by_rule++;
			return;
		}
		hashed = qp->rss != NULL && vmlx4_rss_hash(qp, frame, parsed, &hash);
		/* What cannot be hashed goes to the first queue. */
		rq = &qp->table->wq[hashed ? hash & (qp->table->size - 1) : 0]->rq;
	}
	vmlx4_rq_receive(port, rq, frame, length, parsed, hash);
}

static void
steer_sniffers(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_parsed *parsed)
{
	struct vmlx4_flow *flow;

	TAILQ_FOREACH(flow, &port->flows, port_next)
		if (flow->flow_type == VMLX4_FLOW_SNIFFER)
			deliver(port, flow->qp, frame, length, parsed);
}

/* Every rule's QP gets a multicast frame, and each QP only once. */
static unsigned int
steer_multicast(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_parsed *parsed)
{
	struct vmlx4_flow *flow, *seen;
	unsigned int n = 0;

	TAILQ_FOREACH(flow, &port->flows, port_next) {
		if (!flow_matches(flow, frame, parsed))
			continue;
		TAILQ_FOREACH(seen, &port->flows, port_next)
			if (seen == flow || (seen->qp == flow->qp &&
			    flow_matches(seen, frame, parsed)))
				break;
		if (seen != flow)
			continue;
		deliver(port, flow->qp, frame, length, parsed);
		n++;
	}
	return n;
}

/*
 * In registers: assembled in memory and read back as one word it would wait
 * for every store before it, also those to the program's cold buffers.
 */
static inline uint64_t
mac_word(const uint8_t *frame)
{
	return (uint64_t)vmlx4_be32(frame) << 16 | vmlx4_be16(frame + 4);
}

/* First match, remembered while rules look at the MAC only. */
static struct vmlx4_flow *
find_unicast(struct vmlx4_port *port, const uint8_t *frame,
	const struct vmlx4_parsed *parsed)
{
	struct vmlx4_flow *flow;
	uint64_t mac = mac_word(frame);

	if (likely(port->steering.flow != NULL && port->steering.mac == mac))
		return port->steering.flow;
	TAILQ_FOREACH(flow, &port->flows, port_next)
		if (flow_matches(flow, frame, parsed))
			break;
	if (flow != NULL && port->steering.deep == 0) {
		port->steering.mac = mac;
		port->steering.flow = flow;
	}
	return flow;
}

void
vmlx4_steer(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed parsed;
	struct vmlx4_flow *flow;

	vmlx4_parse(frame, length, &parsed);
	if (unlikely(port->steering.sniffers != 0))
		steer_sniffers(port, frame, length, &parsed);
	if (unlikely(frame[0] & 1)) {
		if (steer_multicast(port, frame, length, &parsed) == 0)
			port->stats.rx_no_rule++;
		return;
	}
	flow = find_unicast(port, frame, &parsed);
	if (likely(flow != NULL))
		deliver(port, flow->qp, frame, length, &parsed);
	else
		port->stats.rx_no_rule++;
}

void
vmlx4_steer_sent(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed parsed;

	vmlx4_parse(frame, length, &parsed);
	steer_sniffers(port, frame, length, &parsed);
}
