/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../hca/hca.h"
#include "backends.h"

#define PATIENCE_NS 200000000ull

static struct vmlx4_wire *
open_proper(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	switch (spec->kind) {
	case VMLX4_WIRE_PEER:
	case VMLX4_WIRE_LOOP:
		return vmlx4_wire_peer_open(spec, port, error, error_size);
	case VMLX4_WIRE_PCAP:
		return vmlx4_wire_pcap_open(spec, port, error, error_size);
	case VMLX4_WIRE_TAP:
		return vmlx4_wire_tap_open(spec, port, error, error_size);
	case VMLX4_WIRE_PACKET:
		return vmlx4_wire_packet_open(spec, port, error, error_size);
	case VMLX4_WIRE_UNIX:
		return vmlx4_wire_unix_open(spec, port, error, error_size);
	case VMLX4_WIRE_SHM:
		return vmlx4_wire_shm_open(spec, port, error, error_size);
	}
	snprintf(error, error_size, "wire: unknown kind %u", (unsigned int)spec->kind);
	return NULL;
}

struct vmlx4_wire *
vmlx4_wire_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct vmlx4_wire *wire = open_proper(spec, port, error, error_size);

	if (wire == NULL || port == NULL)
		return wire;
	if (vmlx4_shape_attach(wire, &spec->shape) < 0) {
		snprintf(error, error_size, "wire: %s", strerror(ENOMEM));
		wire->ops->close(wire);
		return NULL;
	}
	if (spec->kind == VMLX4_WIRE_TAP || spec->kind == VMLX4_WIRE_PACKET)
		vmlx4_shape_store_arrivals(wire);
	return wire;
}

void
vmlx4_wire_close(struct vmlx4_wire *wire)
{
	if (wire != NULL)
		wire->ops->close(wire);
}

void
vmlx4_wire_forked(struct vmlx4_wire *wire)
{
	if (wire != NULL && wire->ops->forked != NULL)
		wire->ops->forked(wire);
}

void
vmlx4_wire_hold(struct vmlx4_wire *wire)
{
	struct vmlx4_port *port = wire->port;

	if (wire->deaf || (port->tx_hold & VMLX4_HOLD_WIRE) != 0)
		return;
	port->tx_hold |= VMLX4_HOLD_WIRE;
	wire->held_since = vmlx4_time(port->adapter);
}

void
vmlx4_wire_room(struct vmlx4_wire *wire, bool room)
{
	struct vmlx4_port *port = wire->port;

	if (!room && (wire->deaf || vmlx4_time(port->adapter) - wire->held_since < PATIENCE_NS))
		return;
	wire->deaf = !room;
	port->tx_hold &= ~VMLX4_HOLD_WIRE;
}

bool
vmlx4_wire_waits(const struct vmlx4_wire *wire)
{
	return (wire->port->tx_hold & VMLX4_HOLD_WIRE) != 0 || wire->deaf;
}

void
vmlx4_wire_deliver(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	if (wire->shaper != NULL)
		vmlx4_shape_arrived(wire, frame, length);
	else
		vmlx4_port_receive(wire->port, frame, length);
}
