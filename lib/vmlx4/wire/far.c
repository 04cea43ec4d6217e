/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "far.h"

#define PASSES_PER_LOOK 64u
#define SOCKET_BUFFER (4 << 20) /* asked for; the system may grant less */

static void
set_carrier(struct vmlx4_far *far)
{
	struct vmlx4_port *port = far->wire.port;
	bool carrier = vmlx4_far_joined(far) && far->heard;

	/* Only a change counts: the carrier may also be set by vmlx4_set_carrier(). */
	if (carrier == far->carrier)
		return;
	far->carrier = carrier;
	port->carrier = carrier;
	vmlx4_port_update(port);
}

/*
 * Two adapters that are started alike have the same addresses, and RDMA programs that
 * exchange GIDs then talk to themselves: nothing fails, and nothing comes over.
 */
static void
warn_of_twin(struct vmlx4_far *far)
{
	const uint8_t *mac = far->meet.mac;

	if (far->warned || far->wire.port->infiniband ||
			memcmp(mac, far->meet.peer_mac, sizeof(far->meet.mac)) != 0)
		return;
	far->warned = true;
	fprintf(stderr, "vmlx4: %s: the port at the other end has the MAC address of this one, "
		"%02x:%02x:%02x:%02x:%02x:%02x, so that each takes the other's packets for its "
		"own: start one of the two with another --pci\n", far->meet.title, mac[0], mac[1],
		mac[2], mac[3], mac[4], mac[5]);
}

static void
begin(struct vmlx4_far *far)
{
	int size = SOCKET_BUFFER;

	far->told = true;
	far->heard = true;
	far->wire.deaf = false;
	far->wire.port->tx_hold &= ~VMLX4_HOLD_WIRE;
	far->wire.fd = vmlx4_meet_fd(&far->meet);
	if (!vmlx4_far_joined(far))
		return;
	setsockopt(far->meet.peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	warn_of_twin(far);
}

int
vmlx4_far_open(struct vmlx4_far *far, const struct vmlx4_wire_spec *spec,
	enum vmlx4_meet_kind kind, struct vmlx4_port *port, char *error, size_t error_size)
{
	int ret;

	if (port != NULL)
		memcpy(far->meet.mac, port->netdev.mac, sizeof(far->meet.mac));
	ret = vmlx4_meet_open(&far->meet, kind, spec->name, port == NULL, error, error_size);
	far->wire.port = port;
	far->wire.fd = -1;
	if (ret < 0 || port == NULL)
		return ret;
	begin(far);
	far->carrier = vmlx4_far_joined(far);
	port->carrier = far->carrier;
	return 0;
}

bool
vmlx4_far_tell(struct vmlx4_far *far, char message)
{
	return send(far->meet.peer, &message, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

/* Our port is up when its interface is and nobody pulled the cable at our end. */
static void
tell_of_port(struct vmlx4_far *far)
{
	const struct vmlx4_port *port = far->wire.port;
	bool up = ((port->netdev.flags & IFF_UP) != 0 || port->infiniband) &&
		(port->carrier || !far->carrier);

	if (up != far->told && vmlx4_far_tell(far, up ? VMLX4_FAR_UP : VMLX4_FAR_DOWN))
		far->told = up;
}

bool
vmlx4_far_poll(struct vmlx4_far *far)
{
	bool step = far->wire.port->adapter->options.step, joined;

	if (vmlx4_far_joined(far))
		tell_of_port(far);
	if (far->passes++ % PASSES_PER_LOOK != 0 && !step)
		return false;
	memcpy(far->meet.mac, far->wire.port->netdev.mac, sizeof(far->meet.mac));
	joined = vmlx4_meet_poll(&far->meet, step);
	far->wire.fd = vmlx4_meet_fd(&far->meet);
	if (joined) {
		begin(far);
		set_carrier(far);
	}
	return joined;
}

bool
vmlx4_far_hear(struct vmlx4_far *far, char message)
{
	switch (message) {
	case VMLX4_FAR_UP:
	case VMLX4_FAR_DOWN:
		far->heard = message == VMLX4_FAR_UP;
		set_carrier(far);
		return true;
	case VMLX4_FAR_WAKE:
		return true;
	default:
		return false;
	}
}

void
vmlx4_far_lost(struct vmlx4_far *far, const char *why)
{
	if (why != NULL)
		fprintf(stderr, "vmlx4: %s: the other end sends what no adapter does (%s) and is "
			"cut off\n", far->meet.title, why);
	vmlx4_meet_lost(&far->meet);
	begin(far);
	set_carrier(far);
}

void
vmlx4_far_close(struct vmlx4_far *far)
{
	vmlx4_meet_close(&far->meet);
}
