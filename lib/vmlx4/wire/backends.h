/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_BACKENDS_H_
#define VMLX4_BACKENDS_H_

/* The kinds of wires, each with the contract of vmlx4_wire_open(). */

#include "wire.h"

typedef struct vmlx4_wire *vmlx4_wire_open_t(const struct vmlx4_wire_spec *spec,
	struct vmlx4_port *port, char *error, size_t error_size);

vmlx4_wire_open_t vmlx4_wire_peer_open; /* loop and back-to-back */
vmlx4_wire_open_t vmlx4_wire_pcap_open;
vmlx4_wire_open_t vmlx4_wire_tap_open;
vmlx4_wire_open_t vmlx4_wire_packet_open;
vmlx4_wire_open_t vmlx4_wire_unix_open;
vmlx4_wire_open_t vmlx4_wire_shm_open;

/* ---- shape.c: a rate and a delay for any kind of wire ---- */

/* After the wire was opened. 0, or -ENOMEM. */
int vmlx4_shape_attach(struct vmlx4_wire *wire, const struct vmlx4_shape *shape);
/* A host's interface does not shape what it sends: do that to what arrives, too. */
void vmlx4_shape_store_arrivals(struct vmlx4_wire *wire);
/* Take what arrived over a slowed-down wire of a TAP or packet socket. */
void vmlx4_shape_arrived(struct vmlx4_wire *wire, const uint8_t *frame, size_t length);
/*
 * A replay is not stored but paced: may the next frame come? After it came,
 * charge it; when the receiver was not ready for it, begin anew.
 */
bool vmlx4_shape_may_come(struct vmlx4_wire *wire);
void vmlx4_shape_came(struct vmlx4_wire *wire, size_t length);
void vmlx4_shape_pause(struct vmlx4_wire *wire);

/* ---- netif.c: the host's interface at the other end of a TAP or packet wire ---- */

struct vmlx4_netif {
	int socket;          /* for ioctl() */
	int ifindex;
	bool running;
	bool returned;       /* it was gone, and one of its name is there: attach anew */
	uint64_t next_look;  /* ns */
	char name[IFNAMSIZ];
};

/* 0 or a negative errno, -ENODEV for no such interface; then, too, _close(). */
int vmlx4_netif_open(struct vmlx4_netif *netif, const char *name);
void vmlx4_netif_close(struct vmlx4_netif *netif);
/* Index of the interface of a name, or -ENODEV. */
int vmlx4_netif_find(const char *name);
/* IFF_* of the interface or a negative errno. */
int vmlx4_netif_flags(const struct vmlx4_netif *netif);
/* Set IFF_* bits; 0 or a negative errno. */
int vmlx4_netif_set_flags(const struct vmlx4_netif *netif, unsigned int flags);
/*
 * A few times a second, or at each step: let the port's carrier follow the
 * interface, whose flags must hold all of mask. An interface that is not there any
 * more counts as `absent`; if it is not, one that gets its name takes its place,
 * and `returned` is set for the caller. True when it was time to look.
 */
bool vmlx4_netif_watch(struct vmlx4_netif *netif, struct vmlx4_port *port, unsigned int mask,
	bool absent);

#endif /* VMLX4_BACKENDS_H_ */
