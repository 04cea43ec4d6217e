/* SPDX-License-Identifier: BSD-3-Clause */

#include "../wire/wire.h"
#include "internal.h"

void
vmlx4_port_transmit(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct vmlx4_wire *wire = port->wire;

	vmlx4_trace_frame(port, VMLX4_TRACE_OUT, frame, length);
	if (unlikely(!port->active)) {
		port->stats.tx_link_down++;
		return;
	}
	if (unlikely(wire == NULL || !wire->ops->send(wire, frame, length))) {
		port->stats.tx_wire_drops++;
		return;
	}
	port->stats.tx_frames++;
	port->stats.tx_bytes += length;
	if (unlikely(port->steering.copies != 0))
		vmlx4_steer_sent(port, frame, length);
	if (unlikely(port->tx_tap != NULL))
		port->tx_tap(port->tx_tap_arg, frame, length);
}

static inline void
send_whole(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	if (unlikely(port->adapter->faults != NULL))
		vmlx4_fault_send(port, frame, length);
	else
		vmlx4_port_transmit(port, frame, length);
}

void
vmlx4_port_send(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	uint8_t padded[256];
	size_t least = vmlx4_unknowns(port->adapter)->tx_min_frame;

	if (unlikely(length > vmlx4_port_max_frame(port))) {
		port->stats.tx_oversize++;
		return;
	}
	if (unlikely(length < least) && least <= sizeof(padded)) {
		memcpy(padded, frame, length);
		memset(padded + length, 0, least - length);
		send_whole(port, padded, least);
		return;
	}
	send_whole(port, frame, length);
}

void
vmlx4_port_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	if (unlikely(port->adapter->faults != NULL))
		vmlx4_fault_receive(port, frame, length);
	else
		vmlx4_port_accept(port, frame, length);
}

void
vmlx4_port_accept(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	vmlx4_trace_frame(port, VMLX4_TRACE_IN, frame, length);
	if (unlikely(!port->active || port->infiniband)) {
		port->stats.rx_link_down++;
		return;
	}
	if (unlikely(length > vmlx4_port_max_frame(port))) {
		port->stats.rx_oversize++;
		return;
	}
	if (unlikely(length < 14)) { /* not even an Ethernet header */
		port->stats.rx_runt++;
		return;
	}
	if (unlikely((frame[0] & 1) != 0) && vmlx4_pause_received(port, frame, length))
		return;
	if (unlikely(port->adapter->ib != NULL) && vmlx4_ib_receive(port, frame, length))
		return;
	vmlx4_steer(port, frame, length);
}
