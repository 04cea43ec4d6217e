/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_WIRE_H_
#define VMLX4_WIRE_H_

/*
 * What a port's cable leads to. One file per kind. A wire never blocks: it
 * sends or drops (the caller counts), and it is polled for input. One that runs
 * out of room can make the send queues of its port wait: port->tx_hold.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../options.h"

struct vmlx4_port;
struct vmlx4_wire;

#define VMLX4_BURST 32u

/* Frames that leave or reach a port at once. */
struct vmlx4_burst {
	unsigned int count;
	const uint8_t *frame[VMLX4_BURST];
	uint32_t length[VMLX4_BURST];
};

/* vmlx4_port_receive() for all of them. */
void vmlx4_port_receive_burst(struct vmlx4_port *port, const struct vmlx4_burst *burst);
/*
 * Of count frames from number first on, those up to the first that is not plain
 * (hca/burst.h) or finds no WQE; how many. That one is as if it had never come.
 */
unsigned int vmlx4_port_receive_plain(struct vmlx4_port *port, const struct vmlx4_burst *burst,
	unsigned int first, unsigned int count);

struct vmlx4_wire_ops {
	/* Send one whole frame without FCS. False: dropped. */
	bool (*send)(struct vmlx4_wire *wire, const uint8_t *frame, size_t length);
	/*
	 * Send a number of frames, the quick way, none of which can be dropped. NULL:
	 * not this kind of wire.
	 */
	void (*send_burst)(struct vmlx4_wire *wire, const struct vmlx4_burst *burst);
	/* Deliver up to budget frames with vmlx4_port_receive(); how many. NULL: none. */
	unsigned int (*poll)(struct vmlx4_wire *wire, unsigned int budget);
	/* Called when the engine goes idle, e.g. to flush a file. NULL: nothing to do. */
	void (*idle)(struct vmlx4_wire *wire);
	void (*close)(struct vmlx4_wire *wire);
	/* In a child of fork(): let go of descriptors that keep the wire alive. NULL: none. */
	void (*forked)(struct vmlx4_wire *wire);
};

struct vmlx4_wire {
	const struct vmlx4_wire_ops *ops;
	struct vmlx4_port *port;
	int fd;              /* shows events when poll has something to do, or -1 */
	bool deaf;           /* it took nothing for too long: what is sent gets lost */
	uint64_t held_since; /* ns */
	struct vmlx4_shaper *shaper; /* shape.c; NULL: as fast as can be */
	short events;        /* beside POLLIN: POLLOUT while it waits for room */
};

/* Bits of port->tx_hold: who makes the send queues of a port wait. */
#define VMLX4_HOLD_WIRE 1u
#define VMLX4_HOLD_SHAPER 2u

/*
 * Open the wire of a port (NULL to only check that it could be opened, as the
 * launcher does). On error write one line that names the wire, the value and
 * the cure, leave nothing behind and return NULL.
 */
struct vmlx4_wire *vmlx4_wire_open(const struct vmlx4_wire_spec *spec,
	struct vmlx4_port *port, char *error, size_t error_size);
void vmlx4_wire_close(struct vmlx4_wire *wire);
void vmlx4_wire_forked(struct vmlx4_wire *wire);

/*
 * For the wires: there is no room, so let the send queues of the port wait. The other
 * end may merely be without a processor. When it takes nothing for longer, the
 * wire drops what is sent, as a cable would that nobody listens to.
 */
void vmlx4_wire_hold(struct vmlx4_wire *wire);
/* Called while the wire waits: is there room by now? */
void vmlx4_wire_room(struct vmlx4_wire *wire, bool room);
bool vmlx4_wire_waits(const struct vmlx4_wire *wire);

/* For the wires: a frame has arrived. */
void vmlx4_wire_deliver(struct vmlx4_wire *wire, const uint8_t *frame, size_t length);

#endif /* VMLX4_WIRE_H_ */
