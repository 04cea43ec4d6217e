/* SPDX-License-Identifier: BSD-3-Clause */

#include <infiniband/verbs.h>
#include <time.h>

#include "../sysfs/sysfs.h"
#include "../trace/trace.h"
#include "uverbs.h"

/*
 * The state of a port's link. A real one takes its time: the two ends negotiate
 * after both are up (--link-delay), and the network interface may have its
 * carrier only some time after the event that told of the link, with no second
 * event (--carrier-delay).
 */

#define NS_PER_MS 1000000ull

static bool
wants_up(const struct vmlx4_port *port)
{
	return ((port->netdev.flags & IFF_UP) != 0 || port->infiniband) && port->carrier &&
		port->unplugged == 0;
}

static struct vmlx4_port *
port_of(struct vmlx4_timer *timer, size_t offset)
{
	return (struct vmlx4_port *)(void *)((uint8_t *)timer - offset);
}

static void
carrier_fire(struct vmlx4_timer *timer)
{
	struct vmlx4_port *port = port_of(timer, offsetof(struct vmlx4_port, link.late));

	port->link.lags = false;
	vmlx4_netdev_sysfs_update(port);
}

void
vmlx4_gids_changed(struct vmlx4_port *port)
{
	vmlx4_gids_sysfs_update(port);
	vmlx4_async_event(port->adapter, NULL, IBV_EVENT_GID_CHANGE, port->number);
}

static void
set_active(struct vmlx4_port *port, bool active)
{
	const struct vmlx4_options *options = &port->adapter->options;

	port->active = active;
	port->link.lags = active && options->carrier_delay_ms != 0;
	vmlx4_timer_cancel(port->adapter, &port->link.late);
	if (port->link.lags) {
		port->link.late.fire = carrier_fire;
		vmlx4_timer_arm(port->adapter, &port->link.late, vmlx4_time(port->adapter) +
			options->carrier_delay_ms * NS_PER_MS);
	}
	vmlx4_trace_link(port);
	/* Before the event: who reads it looks at the interface next. */
	vmlx4_netdev_sysfs_update(port);
	vmlx4_async_event(port->adapter, NULL,
		active ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, port->number);
}

static void
training_fire(struct vmlx4_timer *timer)
{
	struct vmlx4_port *port = port_of(timer, offsetof(struct vmlx4_port, link.trained));

	port->link.trains = false;
	set_active(port, true);
}

void
vmlx4_port_update(struct vmlx4_port *port)
{
	unsigned int delay = port->adapter->options.link_delay_ms;
	bool active = wants_up(port);

	if (!active && port->link.trains) {
		vmlx4_timer_cancel(port->adapter, &port->link.trained);
		port->link.trains = false;
	}
	if (active == port->active || port->link.trains) {
		/* The tree was built before anybody knew whether there is a link. */
		if (!active)
			vmlx4_netdev_sysfs_update(port);
		return;
	}
	if (!active || delay == 0) {
		set_active(port, active);
		return;
	}
	port->link.trains = true;
	port->link.trained.fire = training_fire;
	vmlx4_timer_arm(port->adapter, &port->link.trained, vmlx4_time(port->adapter) +
		delay * NS_PER_MS);
	vmlx4_netdev_sysfs_update(port);
}

/* ---- --wait-link ---- */

static bool
all_active(struct vmlx4_adapter *adapter)
{
	bool active = true;
	unsigned int i;

	vmlx4_lock(adapter);
	for (i = 0; i < adapter->options.ports; i++)
		active = active && adapter->ports[i].active;
	vmlx4_unlock(adapter);
	return active;
}

/*
 * The link of real hosts is there before a program is; that of a wire to another
 * process comes with that process. The engine brings it up, so not with --step.
 */
void
vmlx4_wait_link(struct vmlx4_adapter *adapter)
{
	const struct timespec while_ms = { .tv_nsec = NS_PER_MS };
	uint64_t end = vmlx4_time(adapter) + adapter->options.wait_link_ms * NS_PER_MS;

	while (!all_active(adapter) && vmlx4_time(adapter) < end)
		nanosleep(&while_ms, NULL);
}
