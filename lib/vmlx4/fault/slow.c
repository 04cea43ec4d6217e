/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "internal.h"

/* A card that does not keep up: it receives so many frames in a period. */

struct vmlx4_kept *
vmlx4_kept_new(const uint8_t *frame, size_t length)
{
	struct vmlx4_kept *kept = malloc(sizeof(*kept) + length);

	if (kept == NULL)
		return NULL;
	memset(kept, 0, sizeof(*kept));
	kept->length = length;
	memcpy(kept->frame, frame, length);
	return kept;
}

static struct vmlx4_fault_rule *
slow_rule(struct vmlx4_port *port)
{
	struct vmlx4_fault_rule *rule = NULL;

	while ((rule = vmlx4_fault_next(port->adapter->fault_state, rule,
			VMLX4_FAULT_SLOW)) != NULL)
		if (rule->spec.port == 0 || rule->spec.port == port->number)
			return rule;
	return NULL;
}

static void
slow_period(struct vmlx4_fault_rule *rule, uint64_t now)
{
	unsigned int i;

	if (now < rule->period_end)
		return;
	rule->period_end += ((now - rule->period_end) / rule->spec.per + 1) * rule->spec.per;
	for (i = 0; i < VMLX4_MAX_PORTS; i++)
		rule->slow[i].left = rule->spec.n;
}

void
vmlx4_fault_slow_timer(struct vmlx4_timer *timer)
{
	struct vmlx4_fault_rule *rule = (struct vmlx4_fault_rule *)(void *)
		((char *)timer - offsetof(struct vmlx4_fault_rule, timer));
	struct vmlx4_kept *kept;
	bool more = false;
	unsigned int i;

	slow_period(rule, vmlx4_time(rule->adapter));
	for (i = 0; i < VMLX4_MAX_PORTS; i++) {
		while (rule->slow[i].left > 0 &&
				(kept = STAILQ_FIRST(&rule->slow[i].frames)) != NULL) {
			STAILQ_REMOVE_HEAD(&rule->slow[i].frames, next);
			rule->slow[i].waiting--;
			rule->slow[i].left--;
			vmlx4_port_accept(&rule->adapter->ports[i], kept->frame, kept->length);
			free(kept);
		}
		more |= rule->slow[i].waiting != 0;
	}
	if (more)
		vmlx4_timer_arm(rule->adapter, &rule->timer, rule->period_end);
}

bool
vmlx4_fault_slow(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	struct vmlx4_fault_rule *rule = slow_rule(port);
	unsigned int i = port->number - 1;
	struct vmlx4_kept *kept;

	if (rule == NULL)
		return false;
	slow_period(rule, vmlx4_time(rule->adapter));
	if (rule->slow[i].waiting == 0 && rule->slow[i].left > 0) {
		rule->slow[i].left--;
		return false;
	}
	kept = rule->slow[i].waiting < rule->spec.queue ? vmlx4_kept_new(frame, length) : NULL;
	if (kept == NULL) {
		port->stats.rx_overruns++;
		return true;
	}
	STAILQ_INSERT_TAIL(&rule->slow[i].frames, kept, next);
	rule->slow[i].waiting++;
	vmlx4_timer_arm(rule->adapter, &rule->timer, rule->period_end);
	return true;
}
