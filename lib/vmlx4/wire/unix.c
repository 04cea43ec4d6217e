/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "far.h"

/*
 * A socket to another process. Frames travel many in a message, as a system may
 * let no more than ten messages wait: the byte VMLX4_FAR_FRAMES, three more of
 * zero, then for each frame its length (4 bytes in host order) and its bytes.
 */

#define HEADER 4u
#define LENGTH 4u
#define FRAME_MAX 65535u
#define FLUSH_AT (32u << 10)
#define MESSAGE_MAX (384u << 10) /* above a TSO of 256 KiB: it cannot wait half-way */
#define MESSAGES_PER_POLL 64u    /* some carry no frame */

struct unix_wire {
	struct vmlx4_far far;
	size_t tx_used;          /* bytes of tx; HEADER when there is no frame */
	unsigned int tx_frames;
	size_t rx_at, rx_used;   /* of the message being delivered */
	uint8_t tx[MESSAGE_MAX];
	uint8_t rx[MESSAGE_MAX];
};

static void
tx_reset(struct unix_wire *unix_wire)
{
	memset(unix_wire->tx, 0, HEADER);
	unix_wire->tx[0] = VMLX4_FAR_FRAMES;
	unix_wire->tx_used = HEADER;
	unix_wire->tx_frames = 0;
}

/* What was counted as sent and will never arrive. */
static void
tx_drop(struct unix_wire *unix_wire)
{
	struct vmlx4_port_stats *stats = &unix_wire->far.wire.port->stats;

	stats->tx_frames -= unix_wire->tx_frames;
	stats->tx_bytes -= unix_wire->tx_used - HEADER - unix_wire->tx_frames * LENGTH;
	stats->tx_wire_drops += unix_wire->tx_frames;
	tx_reset(unix_wire);
}

static void
unix_lost(struct unix_wire *unix_wire, const char *why)
{
	tx_drop(unix_wire);
	unix_wire->rx_at = unix_wire->rx_used = 0;
	unix_wire->far.wire.events = 0;
	vmlx4_far_lost(&unix_wire->far, why);
}

/* False: there is no room at the moment. */
static bool
tx_flush(struct unix_wire *unix_wire)
{
	struct vmlx4_far *far = &unix_wire->far;

	if (unix_wire->tx_frames == 0)
		return true;
	if (send(far->meet.peer, unix_wire->tx, unix_wire->tx_used,
			MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)unix_wire->tx_used) {
		tx_reset(unix_wire);
		return true;
	}
	if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
		return false;
	/* The end of the connection is found when reading, behind what still arrived. */
	tx_drop(unix_wire);
	return true;
}

static bool
unix_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct unix_wire *unix_wire = (struct unix_wire *)wire;
	uint32_t size = length;
	uint8_t *at;

	if (!vmlx4_far_joined(&unix_wire->far) || length == 0 || length > FRAME_MAX)
		return false;
	if (unix_wire->tx_used >= FLUSH_AT && !tx_flush(unix_wire)) {
		vmlx4_wire_hold(wire);
		wire->events = POLLOUT;
		if (wire->deaf || MESSAGE_MAX - unix_wire->tx_used < LENGTH + length)
			return false;
	}
	at = unix_wire->tx + unix_wire->tx_used;
	memcpy(at, &size, LENGTH);
	memcpy(at + LENGTH, frame, length);
	unix_wire->tx_used += LENGTH + length;
	unix_wire->tx_frames++;
	return true;
}

/* Take the next message in. False: there is none. */
static bool
rx_message(struct unix_wire *unix_wire)
{
	struct vmlx4_far *far = &unix_wire->far;
	ssize_t got;

	unix_wire->rx_at = unix_wire->rx_used = 0;
	got = recv(far->meet.peer, unix_wire->rx, sizeof(unix_wire->rx), MSG_DONTWAIT | MSG_TRUNC);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		unix_lost(unix_wire, NULL);
		return false;
	}
	if (got > (ssize_t)HEADER && got <= (ssize_t)sizeof(unix_wire->rx) &&
			unix_wire->rx[0] == VMLX4_FAR_FRAMES) {
		unix_wire->rx_at = HEADER;
		unix_wire->rx_used = got;
		return true;
	}
	if (got == 1 && vmlx4_far_hear(far, (char)unix_wire->rx[0]))
		return true;
	far->wire.port->stats.rx_wire_bad++;
	unix_lost(unix_wire, "a message of no known kind");
	return false;
}

/* Deliver the next frame of the message. False: the message was none. */
static bool
rx_frame(struct unix_wire *unix_wire)
{
	struct vmlx4_far *far = &unix_wire->far;
	size_t left = unix_wire->rx_used - unix_wire->rx_at;
	uint8_t *at = unix_wire->rx + unix_wire->rx_at;
	uint32_t length = 0;

	if (left > LENGTH)
		memcpy(&length, at, LENGTH);
	if (length == 0 || length > FRAME_MAX || length > left - LENGTH) {
		far->wire.port->stats.rx_wire_bad++;
		unix_lost(unix_wire, "a frame longer than its message");
		return false;
	}
	unix_wire->rx_at += LENGTH + length;
	vmlx4_wire_deliver(&far->wire, at + LENGTH, length);
	return true;
}

static unsigned int
unix_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct unix_wire *unix_wire = (struct unix_wire *)wire;
	struct vmlx4_far *far = &unix_wire->far;
	unsigned int count = 0, messages = 0;
	bool room;

	vmlx4_far_poll(far);
	if (!vmlx4_far_joined(far))
		return 0;
	room = tx_flush(unix_wire);
	if (vmlx4_wire_waits(wire)) {
		vmlx4_wire_room(wire, room);
		wire->events = vmlx4_wire_waits(wire) ? POLLOUT : 0;
	}
	while (count < budget) {
		if (unix_wire->rx_at == unix_wire->rx_used &&
				(messages++ == MESSAGES_PER_POLL || !rx_message(unix_wire)))
			break;
		if (unix_wire->rx_at == unix_wire->rx_used)
			continue;
		if (!rx_frame(unix_wire))
			break;
		count++;
	}
	return count;
}

static void
unix_idle(struct vmlx4_wire *wire)
{
	struct unix_wire *unix_wire = (struct unix_wire *)wire;

	if (vmlx4_far_joined(&unix_wire->far))
		tx_flush(unix_wire);
}

static void
unix_close(struct vmlx4_wire *wire)
{
	struct unix_wire *unix_wire = (struct unix_wire *)wire;

	if (wire->port != NULL && vmlx4_far_joined(&unix_wire->far))
		tx_flush(unix_wire);
	if (wire->port != NULL)
		tx_drop(unix_wire);
	vmlx4_far_close(&unix_wire->far);
	free(wire);
}

static void
unix_forked(struct vmlx4_wire *wire)
{
	vmlx4_meet_forget(&((struct unix_wire *)wire)->far.meet);
}

static const struct vmlx4_wire_ops unix_ops = {
	.send = unix_send,
	.poll = unix_poll,
	.idle = unix_idle,
	.close = unix_close,
	.forked = unix_forked,
};

struct vmlx4_wire *
vmlx4_wire_unix_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct unix_wire *unix_wire = vmlx4_zalloc(sizeof(*unix_wire));

	if (unix_wire == NULL) {
		snprintf(error, error_size, "wire unix:%s: %s", spec->name, strerror(ENOMEM));
		return NULL;
	}
	unix_wire->far.wire.ops = &unix_ops;
	tx_reset(unix_wire);
	if (vmlx4_far_open(&unix_wire->far, spec, VMLX4_MEET_UNIX, port, error,
			error_size) < 0) {
		free(unix_wire);
		return NULL;
	}
	return &unix_wire->far.wire;
}
