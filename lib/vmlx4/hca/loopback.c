/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * The switch inside the card. By the destination MAC that the control segment
 * carries (not by the one in the frame) it decides whether a frame leaves: so
 * the functions of one port reach each other, and a program itself. A driver
 * that leaves the field zero sends everything to the wire.
 */

static bool
owned(const struct vmlx4_port *port, const uint8_t mac[6])
{
	const struct vmlx4_flow *flow;

	TAILQ_FOREACH(flow, &port->flows, port_next)
		if (vmlx4_flow_owns_mac(flow) && memcmp(flow->match.dst_mac, mac, 6) == 0)
			return true;
	return false;
}

static void
turn_round(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	port->stats.tx_loopback++;
	vmlx4_trace_frame(port, VMLX4_TRACE_OUT, frame, length);
	vmlx4_trace_frame(port, VMLX4_TRACE_IN, frame, length);
	vmlx4_steer(port, frame, length);
}

unsigned int
vmlx4_loopback_ask(const struct vmlx4_port *port, uint32_t dw2, uint32_t dw3)
{
	const struct vmlx4_unknowns *unknowns = vmlx4_unknowns(port->adapter);
	unsigned int loop = (dw2 & VMLX4_HW_FL) != 0 ? VMLX4_LOOP_FORCE : 0;

	if ((dw2 & VMLX4_HW_DMAC_GROUP) != 0)
		return loop | (unknowns->loopback_multicast != 0 ? VMLX4_LOOP_MULTICAST : 0);
	if (port->steering.own[dw3 & 0xff] != 0 && unknowns->loopback_unicast != 0)
		loop |= VMLX4_LOOP_UNICAST;
	return loop;
}

bool
vmlx4_loopback(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_tx_ask *ask)
{
	const struct vmlx4_unknowns *unknowns = vmlx4_unknowns(port->adapter);
	uint8_t mac[6];

	if (length > vmlx4_port_max_frame(port) || length < 14 ||
	    (!port->active && unknowns->loopback_needs_link != 0))
		return false; /* the way to the wire counts it */
	if ((ask->loop & VMLX4_LOOP_FORCE) != 0) {
		turn_round(port, frame, length);
		return true;
	}
	if ((ask->loop & VMLX4_LOOP_MULTICAST) != 0) {
		port->stats.tx_loopback++;
		vmlx4_trace_frame(port, VMLX4_TRACE_IN, frame, length);
		vmlx4_steer_copy(port, frame, length,
			ask->qp->block_mcast_lb ? ask->qp : NULL);
		return false;
	}
	vmlx4_put_be16(mac, (uint16_t)ask->dmac_hi);
	vmlx4_put_be32(mac + 2, ask->dmac_lo);
	if (!owned(port, mac))
		return false;
	turn_round(port, frame, length);
	return unknowns->loopback_unicast == 1;
}
