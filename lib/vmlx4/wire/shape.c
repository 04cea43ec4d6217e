/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "../hca/hca.h"
#include "../profile.h"
#include "backends.h"
#include "lane.h"

/*
 * A wire with a rate and a delay. What the port sends is stored, and passed to
 * the wire proper when it is due at the other end. As a MAC does, it makes the
 * send queues wait while it has more than its FIFO takes; nothing is dropped for
 * a rate.
 *
 * The other end of a unix: or shm: wire, and the other port, shape what they send
 * themselves. A host's interface does not: what arrives from there goes through a
 * lane of its own.
 */

#define FRAMES_PER_RUN 512u
#define RETRY_NS 10000u

struct vmlx4_shaper {
	const struct vmlx4_wire_ops *ops; /* of the wire proper */
	struct vmlx4_wire *wire;
	struct vmlx4_lane tx, rx;
	struct vmlx4_timer tx_timer, rx_timer;
	bool store_rx;
};

static uint64_t
now_of(const struct vmlx4_shaper *shaper)
{
	return vmlx4_time(shaper->wire->port->adapter);
}

/* ---- what the port sends ---- */

static void
tx_drop(struct vmlx4_port *port, size_t length)
{
	/* It was counted as sent when it went in. */
	port->stats.tx_frames--;
	port->stats.tx_bytes -= length;
	port->stats.tx_wire_drops++;
}

/* Pass on what is due. False: the wire proper has no room. */
static bool
tx_run(struct vmlx4_shaper *shaper, uint64_t now, uint64_t *next)
{
	struct vmlx4_port *port = shaper->wire->port;
	unsigned int count;
	const uint8_t *frame;
	size_t length;

	*next = VMLX4_NEVER;
	for (count = 0; count < FRAMES_PER_RUN; count++) {
		frame = vmlx4_lane_first(&shaper->tx, &length, next);
		if (frame == NULL) {
			*next = VMLX4_NEVER;
			return true;
		}
		if (*next > now)
			return true;
		if ((port->tx_hold & VMLX4_HOLD_WIRE) != 0)
			return false;
		/* The cable was pulled while it was on its way, or the wire failed. */
		if (!port->active || !shaper->ops->send(shaper->wire, frame, length))
			tx_drop(port, length);
		vmlx4_lane_take(&shaper->tx);
	}
	return true;
}

/* Hold or release the send queues, and see to the next moment that matters. */
static void
tx_plan(struct vmlx4_shaper *shaper, uint64_t now, uint64_t next)
{
	struct vmlx4_port *port = shaper->wire->port;
	uint64_t until;

	if (vmlx4_lane_full(&shaper->tx, now, &until)) {
		port->tx_hold |= VMLX4_HOLD_SHAPER;
		if (until < next)
			next = until;
	} else {
		port->tx_hold &= ~VMLX4_HOLD_SHAPER;
	}
	if (next != VMLX4_NEVER && (!shaper->tx_timer.armed || shaper->tx_timer.at != next))
		vmlx4_timer_arm(port->adapter, &shaper->tx_timer, next);
}

static void
tx_fire(struct vmlx4_timer *timer)
{
	struct vmlx4_shaper *shaper = (struct vmlx4_shaper *)(void *)((uint8_t *)timer -
		offsetof(struct vmlx4_shaper, tx_timer));
	uint64_t now = now_of(shaper), next;

	if (!tx_run(shaper, now, &next))
		next = now + RETRY_NS;
	tx_plan(shaper, now, next);
}

static bool
shaped_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct vmlx4_shaper *shaper = wire->shaper;
	uint64_t now = now_of(shaper), next = VMLX4_NEVER;
	size_t first;

	if (!vmlx4_lane_put(&shaper->tx, frame, length, now))
		return false;
	if (!shaper->tx_timer.armed)
		vmlx4_lane_first(&shaper->tx, &first, &next);
	else
		next = shaper->tx_timer.at;
	tx_plan(shaper, now, next);
	return true;
}

/* ---- what arrives ---- */

static void
rx_fire(struct vmlx4_timer *timer)
{
	struct vmlx4_shaper *shaper = (struct vmlx4_shaper *)(void *)((uint8_t *)timer -
		offsetof(struct vmlx4_shaper, rx_timer));
	uint64_t now = now_of(shaper), due;
	unsigned int count;
	const uint8_t *frame;
	size_t length;

	for (count = 0; count < FRAMES_PER_RUN; count++) {
		frame = vmlx4_lane_first(&shaper->rx, &length, &due);
		if (frame == NULL)
			return;
		if (due > now)
			break;
		vmlx4_port_receive(shaper->wire->port, frame, length);
		vmlx4_lane_take(&shaper->rx);
	}
	if (vmlx4_lane_first(&shaper->rx, &length, &due) != NULL)
		vmlx4_timer_arm(shaper->wire->port->adapter, timer, due);
}

void
vmlx4_shape_arrived(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct vmlx4_shaper *shaper = wire->shaper;
	size_t first;
	uint64_t due;

	if (!shaper->store_rx) {
		vmlx4_port_receive(wire->port, frame, length);
		return;
	}
	if (!vmlx4_lane_put(&shaper->rx, frame, length, now_of(shaper))) {
		wire->port->stats.rx_wire_drops++;
		return;
	}
	if (!shaper->rx_timer.armed && vmlx4_lane_first(&shaper->rx, &first, &due) != NULL)
		vmlx4_timer_arm(wire->port->adapter, &shaper->rx_timer, due);
}

static unsigned int
shaped_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct vmlx4_shaper *shaper = wire->shaper;
	uint64_t until;

	if (shaper->ops->poll == NULL)
		return 0;
	/* What cannot be taken yet waits where it is, and is lost there if anywhere. */
	if (shaper->store_rx && vmlx4_lane_full(&shaper->rx, now_of(shaper), &until))
		budget = 0;
	return shaper->ops->poll(wire, budget);
}

/* ---- a replay ---- */

static void
nothing(struct vmlx4_timer *timer)
{
	(void)timer;
}

bool
vmlx4_shape_may_come(struct vmlx4_wire *wire)
{
	struct vmlx4_shaper *shaper = wire->shaper;

	if (shaper == NULL || shaper->rx.rate == 0)
		return true;
	if (shaper->rx.free_at == 0)
		vmlx4_shape_pause(wire);
	if (shaper->rx.free_at <= now_of(shaper))
		return true;
	/* So that the engine does not sleep past it. */
	if (!shaper->rx_timer.armed)
		vmlx4_timer_arm(wire->port->adapter, &shaper->rx_timer, shaper->rx.free_at);
	return false;
}

void
vmlx4_shape_came(struct vmlx4_wire *wire, size_t length)
{
	struct vmlx4_shaper *shaper = wire->shaper;

	/* Not from now on: a look that comes late does not slow the replay down. */
	if (shaper != NULL)
		vmlx4_lane_charge(&shaper->rx, length, 0);
}

void
vmlx4_shape_pause(struct vmlx4_wire *wire)
{
	struct vmlx4_shaper *shaper = wire->shaper;

	if (shaper == NULL || shaper->rx.free_at > now_of(shaper))
		return;
	shaper->rx.free_at = now_of(shaper);
	shaper->rx.rest = 0;
}

/* ---- life ---- */

static void
shaped_idle(struct vmlx4_wire *wire)
{
	if (wire->shaper->ops->idle != NULL)
		wire->shaper->ops->idle(wire);
}

static void
shaped_close(struct vmlx4_wire *wire)
{
	struct vmlx4_shaper *shaper = wire->shaper;
	struct vmlx4_port *port = wire->port;
	const uint8_t *frame;
	size_t length;
	uint64_t due;

	/*
	 * What the MAC has taken leaves, but not to a port of this adapter: the
	 * memory of its queues belongs to a program that has ended.
	 */
	while ((frame = vmlx4_lane_first(&shaper->tx, &length, &due)) != NULL) {
		if (!port->active || shaper->ops->poll == NULL ||
				!shaper->ops->send(wire, frame, length))
			tx_drop(port, length);
		vmlx4_lane_take(&shaper->tx);
	}
	vmlx4_timer_cancel(port->adapter, &shaper->tx_timer);
	vmlx4_timer_cancel(port->adapter, &shaper->rx_timer);
	vmlx4_lane_free(&shaper->tx);
	vmlx4_lane_free(&shaper->rx);
	wire->ops = shaper->ops;
	wire->shaper = NULL;
	free(shaper);
	wire->ops->close(wire);
}

static void
shaped_forked(struct vmlx4_wire *wire)
{
	if (wire->shaper->ops->forked != NULL)
		wire->shaper->ops->forked(wire);
}

static const struct vmlx4_wire_ops shaped_ops = {
	.send = shaped_send,
	.poll = shaped_poll,
	.idle = shaped_idle,
	.close = shaped_close,
	.forked = shaped_forked,
};

int
vmlx4_shape_attach(struct vmlx4_wire *wire, const struct vmlx4_shape *shape)
{
	struct vmlx4_adapter *adapter = wire->port->adapter;
	uint64_t port_rate = adapter->profile->speed_mbps * 1000000ull, seed;
	struct vmlx4_shaper *shaper;

	if (shape->rate == 0 && !shape->rate_of_port && shape->delay == 0 && shape->jitter == 0)
		return 0;
	shaper = vmlx4_zalloc(sizeof(*shaper));
	if (shaper == NULL)
		return -ENOMEM;
	seed = adapter->options.seed * 4 + wire->port->number * 2;
	vmlx4_lane_init(&shaper->tx, shape, port_rate, seed);
	vmlx4_lane_init(&shaper->rx, shape, port_rate, seed + 1);
	shaper->tx_timer.fire = tx_fire;
	shaper->rx_timer.fire = nothing;
	shaper->wire = wire;
	shaper->ops = wire->ops;
	wire->shaper = shaper;
	wire->ops = &shaped_ops;
	return 0;
}

void
vmlx4_shape_store_arrivals(struct vmlx4_wire *wire)
{
	if (wire->shaper == NULL)
		return;
	wire->shaper->store_rx = true;
	wire->shaper->rx_timer.fire = rx_fire;
}
