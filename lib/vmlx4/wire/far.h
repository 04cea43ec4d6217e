/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_FAR_H_
#define VMLX4_FAR_H_

/*
 * What unix: and shm: wires have in common: the other end is the port of an
 * adapter in another process. The carrier is there while that process is, and
 * while its port is up. The messages are those of the meeting's socket.
 */

#include "../hca/hca.h"
#include "meet.h"
#include "wire.h"

/* First byte of a message. */
#define VMLX4_FAR_UP 'U'     /* the sender's port is up, as after the meeting */
#define VMLX4_FAR_DOWN 'D'
#define VMLX4_FAR_WAKE 'W'   /* there is work: look */
#define VMLX4_FAR_FRAMES 'F' /* unix: only */

struct vmlx4_far {
	struct vmlx4_wire wire;
	struct vmlx4_meet meet;
	bool carrier;          /* what we made of the port's carrier */
	bool told;             /* what the other end knows of our port… */
	bool heard;            /* …and we of its */
	bool warned;           /* of a MAC address that both ends have */
	bool watchful;         /* look at the socket in every pass */
	unsigned int passes;
};

/* As vmlx4_wire_open(); the caller has set the ops and meet.prepare. 0 or negative. */
int vmlx4_far_open(struct vmlx4_far *far, const struct vmlx4_wire_spec *spec,
	enum vmlx4_meet_kind kind, struct vmlx4_port *port, char *error, size_t error_size);
/* Serve the meeting and tell of our port. True: the other end is there, since just now. */
bool vmlx4_far_poll(struct vmlx4_far *far);
/* A message of one byte. False: it is none that there is. */
bool vmlx4_far_hear(struct vmlx4_far *far, char message);
/* Send one; nothing is lost by one that finds no room, but for a change of the port. */
bool vmlx4_far_tell(struct vmlx4_far *far, char message);
/* The other end has gone, or (why) sends what no adapter does, and is cut off. */
void vmlx4_far_lost(struct vmlx4_far *far, const char *why);
void vmlx4_far_close(struct vmlx4_far *far);

static inline bool
vmlx4_far_joined(const struct vmlx4_far *far)
{
	return far->meet.state == VMLX4_MEET_JOINED;
}

#endif /* VMLX4_FAR_H_ */
