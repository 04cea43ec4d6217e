/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "internal.h"

/* The part of vmlx4.h that drives the engine. */

/* The adapter, locked, or NULL while its engine does not exist. */
static struct vmlx4_adapter *
control_begin(void)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter == NULL)
		return NULL;
	vmlx4_lock(adapter);
	if (adapter->engine != NULL)
		return adapter;
	vmlx4_unlock(adapter);
	return NULL;
}

static struct vmlx4_port *
control_port(struct vmlx4_adapter *adapter, unsigned int number)
{
	if (number < 1 || number > adapter->options.ports)
		return NULL;
	return &adapter->ports[number - 1];
}

int
vmlx4_step(unsigned int budget)
{
	struct vmlx4_adapter *adapter = control_begin();
	unsigned int done = 0, n;

	if (adapter == NULL)
		return -ENODEV;
	if (adapter->options.step) {
		adapter->time.stepped += VMLX4_STEP_NS;
		vmlx4_clock_update(adapter);
	}
	do {
		n = vmlx4_engine_pass(adapter, budget == 0 ? 0 : budget - done);
		done += n;
	} while (n != 0 && (budget == 0 || done < budget) && done < INT_MAX / 2);
	if (adapter->options.step) {
		vmlx4_engine_audit(adapter);
		vmlx4_wires_idle(adapter);
	}
	vmlx4_unlock(adapter);
	return (int)done;
}

int
vmlx4_clock_advance(uint64_t ns)
{
	struct vmlx4_adapter *adapter = control_begin();
	int ret = -ENOTSUP;

	if (adapter == NULL)
		return -ENODEV;
	if (adapter->options.step) {
		adapter->time.stepped += ns;
		vmlx4_clock_update(adapter);
		ret = 0;
	}
	vmlx4_unlock(adapter);
	return ret;
}

int
vmlx4_inject(unsigned int number, const void *frame, size_t length)
{
	struct vmlx4_adapter *adapter;
	struct vmlx4_injected *copy;
	struct vmlx4_port *port;
	int ret = -EINVAL;

	if (frame == NULL || length < 1 || length > VMLX4_MAX_FRAME)
		return -EINVAL;
	copy = malloc(sizeof(*copy) + length);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy->frame, frame, length);
	copy->length = length;
	adapter = control_begin();
	if (adapter == NULL) {
		free(copy);
		return -ENODEV;
	}
	port = control_port(adapter, number);
	if (port != NULL) {
		copy->port = port;
		STAILQ_INSERT_TAIL(&adapter->engine->injected, copy, next);
		ret = 0;
	} else {
		free(copy);
	}
	vmlx4_unlock(adapter);
	return ret;
}

unsigned int
vmlx4_inject_deliver(struct vmlx4_adapter *adapter, unsigned int budget)
{
	struct vmlx4_injected_list *list = &adapter->engine->injected;
	struct vmlx4_injected *one;
	unsigned int n;

	for (n = 0; n < budget && (one = STAILQ_FIRST(list)) != NULL; n++) {
		/* In the list until it is through: a fault (guard.h) does not lose it. */
		vmlx4_port_receive(one->port, one->frame, one->length);
		STAILQ_REMOVE_HEAD(list, next);
		free(one);
	}
	return n;
}

void
vmlx4_inject_drop(struct vmlx4_engine *engine)
{
	struct vmlx4_injected *one;

	while ((one = STAILQ_FIRST(&engine->injected)) != NULL) {
		STAILQ_REMOVE_HEAD(&engine->injected, next);
		free(one);
	}
}

int
vmlx4_set_tx_tap(unsigned int number,
	void (*tap)(void *arg, const void *frame, size_t length), void *arg)
{
	struct vmlx4_adapter *adapter = control_begin();
	struct vmlx4_port *port;

	if (adapter == NULL)
		return -ENODEV;
	port = control_port(adapter, number);
	if (port != NULL) {
		port->tx_tap = tap;
		port->tx_tap_arg = arg;
	}
	vmlx4_unlock(adapter);
	return port != NULL ? 0 : -EINVAL;
}
