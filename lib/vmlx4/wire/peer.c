/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hca/hca.h"
#include "backends.h"

/*
 * A cable inside the adapter. What one port sends, the other (or, with loop,
 * the same) receives before the call returns: no queue, no copy, and a frame
 * is lost only for the reasons that the receiving port counts.
 */

struct peer {
	struct vmlx4_wire wire;
	struct vmlx4_port *other;
};

static bool
peer_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct peer *peer = (struct peer *)wire;

	vmlx4_port_receive(peer->other, frame, length);
	return true;
}

static void
peer_send_burst(struct vmlx4_wire *wire, const struct vmlx4_burst *burst)
{
	vmlx4_port_receive_burst(((struct peer *)wire)->other, burst);
}

static void
peer_close(struct vmlx4_wire *wire)
{
	free(wire);
}

static const struct vmlx4_wire_ops peer_ops = {
	.send = peer_send,
	.send_burst = peer_send_burst,
	.close = peer_close,
};

struct vmlx4_wire *
vmlx4_wire_peer_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct peer *peer = vmlx4_zalloc(sizeof(*peer));

	if (peer == NULL) {
		snprintf(error, error_size, "wire: %s", strerror(ENOMEM));
		return NULL;
	}
	peer->wire.ops = &peer_ops;
	peer->wire.port = port;
	peer->wire.fd = -1;
	peer->other = port;
	if (port != NULL) {
		if (spec->kind == VMLX4_WIRE_PEER)
			peer->other = &port->adapter->ports[port->number == 1 ? 1 : 0];
		port->carrier = true;
	}
	return &peer->wire;
}
