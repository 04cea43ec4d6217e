/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "../hca/guard.h"
#include "internal.h"

/* The part of vmlx4.h that is about faults. */

struct addition {
	struct vmlx4_faults *faults;
	const char *text;
	char *error;
	size_t error_size;
	int ret;
};

/* A fault that happens at once may write to the program's queues. */
static void
add(void *arg)
{
	struct addition *addition = arg;

	addition->ret = vmlx4_fault_add_text(addition->faults, addition->text, "fault", false,
		addition->error, addition->error_size);
}

int
vmlx4_fault_add(const char *text, char *error, size_t error_size)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	struct addition addition;
	char unused[1];

	if (error == NULL || error_size == 0) {
		error = unused;
		error_size = sizeof(unused);
	}
	error[0] = '\0';
	if (text == NULL)
		return -EINVAL;
	if (adapter == NULL) {
		snprintf(error, error_size, "faults: there is no adapter yet: open a verbs device, "
			"or use --faults");
		return -ENODEV;
	}
	vmlx4_lock(adapter);
	addition = (struct addition){ adapter->fault_state, text, error, error_size, 0 };
	vmlx4_guarded(adapter, add, &addition);
	vmlx4_unlock(adapter);
	return addition.ret;
}

static void
clear(void *arg)
{
	vmlx4_fault_clear_all(arg, true);
}

int
vmlx4_fault_clear(void)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter == NULL)
		return -ENODEV;
	vmlx4_lock(adapter);
	/* A second time, if the program took memory away that something is kept for. */
	if (!vmlx4_guarded(adapter, clear, adapter->fault_state))
		vmlx4_fault_clear_all(adapter->fault_state, false);
	vmlx4_unlock(adapter);
	return 0;
}

const struct vmlx4_fault_stats *
vmlx4_fault_stats_get(const struct vmlx4_adapter *adapter)
{
	return &adapter->fault_state->stats;
}

int
vmlx4_fault_stats(struct vmlx4_fault_stats *stats)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter == NULL)
		return -ENODEV;
	vmlx4_lock(adapter);
	*stats = adapter->fault_state->stats;
	vmlx4_unlock(adapter);
	return 0;
}

static void
forget_brief(struct vmlx4_faults *faults, unsigned int direction, unsigned int port)
{
	struct vmlx4_fault_rule *rule, *next;

	for (rule = STAILQ_FIRST(&faults->rules); rule != NULL; rule = next) {
		next = STAILQ_NEXT(rule, list);
		if (rule->brief && rule->spec.directions == direction && rule->spec.port == port)
			vmlx4_fault_remove_rule(faults, rule);
	}
	if (STAILQ_EMPTY(&faults->rules))
		faults->adapter->faults = NULL;
}

/* A new order replaces what is left of the last one. */
int
vmlx4_fail_next(enum vmlx4_fault what, unsigned int number, unsigned int count,
	uint8_t syndrome)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	unsigned int direction = what == VMLX4_FAULT_TX ? VMLX4_FAULT_DIR_TX : VMLX4_FAULT_DIR_RX;
	struct vmlx4_faults *faults;
	char text[96], error[64];
	int ret = 0;

	/* No completion error has syndrome 0. */
	if ((what != VMLX4_FAULT_TX && what != VMLX4_FAULT_RX) || syndrome == 0)
		return -EINVAL;
	if (adapter == NULL)
		return -ENODEV;
	if (number < 1 || number > adapter->options.ports)
		return -EINVAL;
	vmlx4_lock(adapter);
	faults = adapter->fault_state;
	forget_brief(faults, direction, number);
	if (count != 0) {
		snprintf(text, sizeof(text), "wqe %s port=%u syndrome=%u count=%u",
			what == VMLX4_FAULT_TX ? "tx" : "rx", number, syndrome, count);
		ret = vmlx4_fault_add_text(faults, text, "fault", true, error, sizeof(error));
	}
	vmlx4_unlock(adapter);
	return ret;
}
