/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * IEEE 802.3 flow control. A pause frame ends in the MAC: it is counted, and
 * obeyed if the interface says so (ethtool -A rx), by holding the send queues of
 * the port.
 */

#define MAC_CONTROL 0x8808
#define OPCODE_PAUSE 1
#define QUANTUM_BITS 512u
#define QUANTA_MAX 0xffffu

static const uint8_t pause_group[6] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

static uint64_t
quanta_ns(const struct vmlx4_port *port, uint32_t quanta)
{
	return (uint64_t)quanta * QUANTUM_BITS * 1000 / port->adapter->profile->speed_mbps;
}

static void
resume(struct vmlx4_timer *timer)
{
	struct vmlx4_port *port = (struct vmlx4_port *)(void *)((uint8_t *)timer -
		offsetof(struct vmlx4_port, pause.timer));

	port->pause.paused = false;
}

bool
vmlx4_pause_received(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	uint32_t quanta;

	if (length < 18 || vmlx4_be16(frame + 12) != MAC_CONTROL ||
	    vmlx4_be16(frame + 14) != OPCODE_PAUSE || memcmp(frame, pause_group, 6) != 0)
		return false;
	port->stats.rx_pause++;
	if (!port->netdev.rx_pause)
		return true;
	quanta = vmlx4_be16(frame + 16);
	port->pause.paused = quanta != 0;
	if (quanta == 0) {
		vmlx4_timer_cancel(port->adapter, &port->pause.timer);
		return true;
	}
	port->pause.timer.fire = resume;
	vmlx4_timer_arm(port->adapter, &port->pause.timer,
		vmlx4_time(port->adapter) + quanta_ns(port, quanta));
	return true;
}

void
vmlx4_pause_starved(struct vmlx4_port *port)
{
	uint64_t now = vmlx4_time(port->adapter);
	uint8_t frame[60] = { 0 };

	if (!port->netdev.tx_pause || !port->active || port->wire == NULL ||
	    now < port->pause.quiet_until)
		return;
	/* The other end is told again before its time is over. */
	port->pause.quiet_until = now + quanta_ns(port, QUANTA_MAX) / 2;
	memcpy(frame, pause_group, 6);
	memcpy(frame + 6, port->netdev.mac, 6);
	vmlx4_put_be16(frame + 12, MAC_CONTROL);
	vmlx4_put_be16(frame + 14, OPCODE_PAUSE);
	vmlx4_put_be16(frame + 16, QUANTA_MAX);
	port->stats.tx_pause++;
	vmlx4_port_transmit(port, frame, sizeof(frame));
}
