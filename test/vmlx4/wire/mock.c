/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "hca/internal.h"
#include "mock.h"
#include "wire/wire.h"

struct vmlx4_adapter mock_adapter;
struct mock_frame mock_frames[MOCK_FRAMES];
unsigned int mock_count;
unsigned int mock_updates;
unsigned int mock_bursts;
unsigned int mock_room;
bool mock_unwanted;

void
mock_forget(void)
{
	while (mock_count > 0)
		free(mock_frames[--mock_count].bytes);
}

void
mock_reset(const char *text)
{
	char error[256];
	unsigned int i;

	mock_forget();
	mock_updates = 0;
	mock_bursts = 0;
	mock_room = MOCK_FRAMES;
	mock_unwanted = false;
	memset(&mock_adapter, 0, sizeof(mock_adapter));
	assert_int_equal(vmlx4_options_parse(text, &mock_adapter.options, error,
		sizeof(error)), 0);
	vmlx4_time_init(&mock_adapter);
	mock_adapter.profile = mock_adapter.options.profile;
	for (i = 0; i < VMLX4_MAX_PORTS; i++) {
		struct vmlx4_port *port = &mock_adapter.ports[i];

		port->adapter = &mock_adapter;
		port->number = i + 1;
		port->carrier = true;
		port->active = true;
		port->netdev.flags = IFF_UP;
		port->netdev.mtu = mock_adapter.options.mtu;
		TAILQ_INIT(&port->flows);
	}
}

void
mock_add_rule(struct vmlx4_flow *flow)
{
	TAILQ_INSERT_TAIL(&mock_adapter.ports[0].flows, flow, port_next);
}

void
vmlx4_port_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct mock_frame *kept = &mock_frames[mock_count];

	if (length > vmlx4_port_max_frame(port)) {
		port->stats.rx_oversize++;
		return;
	}
	if (mock_unwanted) {
		port->stats.rx_no_rule++;
		return;
	}
	if (mock_room == 0) {
		port->stats.rx_no_wqe++;
		return;
	}
	mock_room--;
	assert_true(mock_count < MOCK_FRAMES);
	kept->port = port->number;
	kept->length = length;
	kept->bytes = malloc(length);
	assert_non_null(kept->bytes);
	memcpy(kept->bytes, frame, length);
	mock_count++;
	port->stats.rx_frames++;
}

void
vmlx4_port_receive_burst(struct vmlx4_port *port, const struct vmlx4_burst *burst)
{
	unsigned int i;

	for (i = 0; i < burst->count; i++)
		vmlx4_port_receive(port, burst->frame[i], burst->length[i]);
}

/* Of odd length, none is plain. */
unsigned int
vmlx4_port_receive_plain(struct vmlx4_port *port, const struct vmlx4_burst *burst,
	unsigned int first, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count && mock_room != 0 && !mock_unwanted; i++) {
		if (burst->length[first + i] % 2 != 0 ||
				burst->length[first + i] > vmlx4_port_max_frame(port))
			break;
		vmlx4_port_receive(port, burst->frame[first + i], burst->length[first + i]);
	}
	mock_bursts += i != 0;
	return i;
}

void
vmlx4_port_update(struct vmlx4_port *port)
{
	port->active = port->carrier;
	mock_updates++;
}

void
vmlx4_destinations_forget(struct vmlx4_port *port)
{
	(void)port;
}

void
vmlx4_gids_changed(struct vmlx4_port *port)
{
	(void)port;
}

uint64_t
vmlx4_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void
vmlx4_lock(struct vmlx4_adapter *adapter)
{
	assert_int_equal(adapter->lock_waiters, 0);
	adapter->lock_waiters = 1;
}

void
vmlx4_unlock(struct vmlx4_adapter *adapter)
{
	assert_int_equal(adapter->lock_waiters, 1);
	adapter->lock_waiters = 0;
}
