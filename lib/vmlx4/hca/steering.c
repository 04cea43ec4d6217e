/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/* ---- what is remembered ---- */

static struct vmlx4_destination *
destination_slot(struct vmlx4_port *port, uint64_t mac)
{
	/* By Fibonacci hashing: the upper bits of the product are well mixed. */
	return &port->steering.known[mac * 0x9e3779b97f4a7c15u >> 32 & (VMLX4_DESTINATIONS - 1)];
}

bool
vmlx4_destination_find(struct vmlx4_port *port, uint64_t mac)
{
	const struct vmlx4_destination *known;

	if (likely(port->steering.last.flow != NULL && port->steering.last.mac == mac))
		return true;
	known = destination_slot(port, mac);
	if (known->flow == NULL || known->mac != mac)
		return false;
	port->steering.last = *known;
	return true;
}

void
vmlx4_destination_note(struct vmlx4_port *port, uint64_t mac, struct vmlx4_flow *flow,
	uint8_t mac_index)
{
	if (port->steering.deep != 0)
		return;
	port->steering.last = (struct vmlx4_destination){ mac, flow, mac_index };
	*destination_slot(port, mac) = port->steering.last;
}

void
vmlx4_destinations_forget(struct vmlx4_port *port)
{
	memset(&port->steering.last, 0, sizeof(port->steering.last));
	memset(port->steering.known, 0, sizeof(port->steering.known));
}

/* ---- rules ---- */

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

/* Does a plain rule take a tunnel's packet? A tunnel's rule takes no other. */
static bool
matches_both(const struct vmlx4_flow *flow, const struct vmlx4_parsed *parsed)
{
	return parsed->inner != NULL &&
		vmlx4_unknowns(flow->port->adapter)->steer_tunnel_needs_rule == 0;
}

static bool
flow_matches(const struct vmlx4_flow *flow, const uint8_t *frame,
	const struct vmlx4_parsed *parsed)
{
	const struct vmlx4_match *m = &flow->match;

	switch (flow->flow_type) {
	case VMLX4_FLOW_NORMAL:
		if (unlikely(m->vxlan != (parsed->inner != NULL)) && !matches_both(flow, parsed))
			return false;
		return (!m->eth || match_mac(m, frame)) && match_deep(m, frame, parsed);
	case VMLX4_FLOW_ALL_DEFAULT:
		/* Drivers add a broadcast rule beside it: the card needs one. */
		return !is_broadcast(frame) || takes_broadcast(flow);
	case VMLX4_FLOW_MC_DEFAULT:
		return (frame[0] & 1) != 0 &&
			(!is_broadcast(frame) || takes_broadcast(flow));
	case VMLX4_FLOW_SNIFFER:
	case VMLX4_FLOW_DONT_TRAP:
		break; /* gets a copy, decides nothing */
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
steer_copies(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_parsed *parsed, bool sent)
{
	bool group = (frame[0] & 1) != 0;
	struct vmlx4_flow *flow;

	TAILQ_FOREACH(flow, &port->flows, port_next)
		if (flow->flow_type == VMLX4_FLOW_SNIFFER ||
		    (flow->flow_type == VMLX4_FLOW_DONT_TRAP && !sent &&
		     (group ? flow->copy_multicast : flow->copy_unicast)))
			deliver(port, flow->qp, frame, length, parsed);
}

/* Is it the first rule that leads a multicast frame to its QP? */
static bool
is_first(const struct vmlx4_flow *flow, const uint8_t *frame, const struct vmlx4_parsed *parsed)
{
	const struct vmlx4_flow *seen;

	TAILQ_FOREACH(seen, &flow->port->flows, port_next)
		if (seen == flow || (seen->qp == flow->qp && flow_matches(seen, frame, parsed)))
			break;
	return seen == flow;
}

/* Every rule's QP gets a multicast frame, and each QP only once. */
static unsigned int
steer_multicast(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_parsed *parsed, const struct vmlx4_qp *except)
{
	struct vmlx4_flow *flow, *taker = NULL;
	uint64_t mac = vmlx4_mac_word(frame);
	unsigned int n = 0;

	if (except == NULL && parsed->inner == NULL && vmlx4_destination_find(port, mac)) {
		deliver(port, port->steering.last.flow->qp, frame, length, parsed);
		return 1;
	}
	TAILQ_FOREACH(flow, &port->flows, port_next) {
		if (flow->qp == except || !flow_matches(flow, frame, parsed) ||
		    !is_first(flow, frame, parsed))
			continue;
		deliver(port, flow->qp, frame, length, parsed);
		taker = flow;
		n++;
	}
	if (n == 1 && except == NULL && parsed->inner == NULL)
		vmlx4_destination_note(port, mac, taker, 0);
	return n;
}

static struct vmlx4_flow *
find_unicast(struct vmlx4_port *port, const uint8_t *frame, struct vmlx4_parsed *parsed)
{
	struct vmlx4_flow *flow;
	uint64_t mac = vmlx4_mac_word(frame);

	if (likely(parsed->inner == NULL && vmlx4_destination_find(port, mac))) {
		parsed->mac_index = port->steering.last.mac_index;
		return port->steering.last.flow;
	}
	parsed->mac_index = vmlx4_mac_index(port, mac);
	TAILQ_FOREACH(flow, &port->flows, port_next)
		if (flow_matches(flow, frame, parsed))
			break;
	if (flow != NULL && parsed->inner == NULL)
		vmlx4_destination_note(port, mac, flow, parsed->mac_index);
	return flow;
}

static inline void
parse_frame(const struct vmlx4_port *port, const uint8_t *frame, size_t length,
	struct vmlx4_parsed *parsed)
{
	static struct vmlx4_parsed inner; /* the adapter is locked */

	vmlx4_parse(frame, length, parsed);
	if (unlikely(vmlx4_is_vxlan(frame, parsed, vmlx4_unknowns(port->adapter)->vxlan_port)) &&
	    vmlx4_vxlan_port(port->adapter) != VMLX4_NO_VXLAN &&
	    vmlx4_parse_inner(frame, parsed, false, &inner))
		parsed->inner = &inner;
}

/* False: nobody wanted the frame. */
static inline bool
steer(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_qp *except)
{
	struct vmlx4_parsed parsed;
	struct vmlx4_flow *flow;

	parse_frame(port, frame, length, &parsed);
	if (unlikely(port->steering.copies != 0))
		steer_copies(port, frame, length, &parsed, false);
	if (unlikely(frame[0] & 1))
		return steer_multicast(port, frame, length, &parsed, except) != 0;
	flow = find_unicast(port, frame, &parsed);
	if (unlikely(flow == NULL))
		return false;
	deliver(port, flow->qp, frame, length, &parsed);
	return true;
}

void
vmlx4_steer(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	if (unlikely(!steer(port, frame, length, NULL)))
		port->stats.rx_no_rule++;
}

void
vmlx4_steer_copy(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_qp *except)
{
	steer(port, frame, length, except);
}

void
vmlx4_steer_sent(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed parsed;

	parse_frame(port, frame, length, &parsed);
	steer_copies(port, frame, length, &parsed, true);
}
