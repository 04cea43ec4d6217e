/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdlib.h>

#include "internal.h"

/*
 * What a bad cable does to frames. Sent ones are damaged behind the port, which
 * has counted them as sent by then, and received ones before it.
 */

/* ---- on their way ---- */

static void
pass(struct vmlx4_port *port, bool send, const uint8_t *frame, size_t length)
{
	if (send)
		vmlx4_port_transmit(port, frame, length);
	else if (!vmlx4_fault_slow(port, frame, length))
		vmlx4_port_accept(port, frame, length);
}

/* ---- reordered frames ---- */

static void
overtaken_arm(struct vmlx4_overtaken *list)
{
	struct vmlx4_kept *kept;
	uint64_t first = VMLX4_NEVER;

	STAILQ_FOREACH(kept, &list->frames, next)
		first = kept->until < first ? kept->until : first;
	if (first != VMLX4_NEVER)
		vmlx4_timer_arm(list->port->adapter, &list->timer, first);
	else
		vmlx4_timer_cancel(list->port->adapter, &list->timer);
}

/* Let those pass that were overtaken by enough, or have waited until now. */
static void
overtaken_release(struct vmlx4_overtaken *list, uint64_t now)
{
	struct vmlx4_kept *kept, *next;

	for (kept = STAILQ_FIRST(&list->frames); kept != NULL; kept = next) {
		next = STAILQ_NEXT(kept, next);
		if (kept->overtaken != 0 && kept->until > now)
			continue;
		STAILQ_REMOVE(&list->frames, kept, vmlx4_kept, next);
		pass(list->port, list->send, kept->frame, kept->length);
		free(kept);
	}
	overtaken_arm(list);
}

static void
overtaken_timer(struct vmlx4_timer *timer)
{
	struct vmlx4_overtaken *list = (struct vmlx4_overtaken *)(void *)
		((char *)timer - offsetof(struct vmlx4_overtaken, timer));

	overtaken_release(list, vmlx4_time(list->port->adapter));
}

/* A frame has passed those that are kept. */
static void
overtake(struct vmlx4_overtaken *list)
{
	struct vmlx4_kept *kept;

	if (STAILQ_EMPTY(&list->frames))
		return;
	STAILQ_FOREACH(kept, &list->frames, next)
		kept->overtaken -= kept->overtaken != 0;
	overtaken_release(list, vmlx4_time(list->port->adapter));
}

/* False: no memory, the frame stays where it is. */
static bool
keep_back(struct vmlx4_overtaken *list, const struct vmlx4_fault_spec *spec,
	const uint8_t *frame, size_t length)
{
	struct vmlx4_kept *kept = vmlx4_kept_new(frame, length);

	if (kept == NULL)
		return false;
	kept->overtaken = spec->n;
	kept->until = vmlx4_time(list->port->adapter) + spec->within;
	STAILQ_INSERT_TAIL(&list->frames, kept, next);
	overtaken_arm(list);
	return true;
}

void
vmlx4_fault_frames_init(struct vmlx4_faults *faults)
{
	unsigned int i, send;

	for (send = 0; send < 2; send++)
		for (i = 0; i < VMLX4_MAX_PORTS; i++) {
			struct vmlx4_overtaken *list = &faults->overtaken[send][i];

			list->port = &faults->adapter->ports[i];
			list->send = send != 0;
			list->timer.fire = overtaken_timer;
			STAILQ_INIT(&list->frames);
		}
}

static void
flush(struct vmlx4_kept_list *frames, struct vmlx4_port *port, bool send, bool deliver)
{
	struct vmlx4_kept *kept;

	while ((kept = STAILQ_FIRST(frames)) != NULL) {
		STAILQ_REMOVE_HEAD(frames, next);
		if (deliver && send)
			vmlx4_port_transmit(port, kept->frame, kept->length);
		else if (deliver)
			vmlx4_port_accept(port, kept->frame, kept->length);
		free(kept);
	}
}

void
vmlx4_fault_flush_frames(struct vmlx4_faults *faults, bool deliver)
{
	struct vmlx4_fault_rule *rule = NULL;
	unsigned int i, send;

	/* What waits for the card came before what is overtaken on the cable. */
	while ((rule = vmlx4_fault_next(faults, rule, VMLX4_FAULT_SLOW)) != NULL)
		for (i = 0; i < VMLX4_MAX_PORTS; i++)
			flush(&rule->slow[i].frames, &faults->adapter->ports[i], false, deliver);
	for (send = 0; send < 2; send++)
		for (i = 0; i < VMLX4_MAX_PORTS; i++) {
			struct vmlx4_overtaken *list = &faults->overtaken[send][i];

			flush(&list->frames, list->port, list->send, deliver);
			vmlx4_timer_cancel(faults->adapter, &list->timer);
		}
}

/* ---- a frame that is hit ---- */

/* The port where a sent frame arrives, if it is one of ours. */
static struct vmlx4_port *
other_end(struct vmlx4_port *port)
{
	switch (port->adapter->options.wire[port->number - 1].kind) {
	case VMLX4_WIRE_PEER:
		return &port->adapter->ports[port->number == 1 ? 1 : 0];
	case VMLX4_WIRE_LOOP:
		return port;
	default:
		return NULL;
	}
}

/* It never arrives. bad_fcs: but its remains do, and are counted there. */
static void
lose(struct vmlx4_port *port, bool send, size_t length, bool bad_fcs)
{
	struct vmlx4_port *at = send ? other_end(port) : port;

	if (send) {
		port->stats.tx_frames++;
		port->stats.tx_bytes += length;
	}
	if (bad_fcs && at != NULL)
		at->stats.rx_crc_errors++;
}

static void
corrupt(struct vmlx4_fault_rule *rule, struct vmlx4_port *port, bool send,
	const uint8_t *frame, size_t length)
{
	/* The adapter is locked; a sent frame may be hit again where it arrives. */
	static uint8_t damaged[2][VMLX4_MAX_FRAME + 64];
	struct vmlx4_fault_stats *stats = &rule->adapter->fault_state->stats;
	const struct vmlx4_fault_spec *spec = &rule->spec;
	uint64_t bit = spec->bit >= 0 ? (uint64_t)spec->bit : vmlx4_fault_random(rule, 1);
	char when[64];

	bit %= length * 8;
	snprintf(when, sizeof(when), "bit=%" PRIu64 " nth=%" PRIu64, bit, rule->events);
	vmlx4_fault_log(rule, spec->fcs_good ? &stats->frames_corrupted : &stats->frames_bad_fcs,
		spec->bit < 0 && spec->byte < 0 ? when : NULL, "%s, port %u, %zu bytes",
		send ? "tx" : "rx", port->number, length);
	if (!spec->fcs_good) {
		lose(port, send, length, true);
		return;
	}
	memcpy(damaged[send], frame, length);
	if (spec->byte >= 0)
		damaged[send][(uint64_t)spec->byte % length] ^= 0xff;
	else
		damaged[send][bit / 8] ^= (uint8_t)(1u << bit % 8);
	pass(port, send, damaged[send], length);
}

static void
truncate_frame(struct vmlx4_fault_rule *rule, struct vmlx4_port *port, bool send,
	const uint8_t *frame, size_t length)
{
	struct vmlx4_fault_stats *stats = &rule->adapter->fault_state->stats;
	bool good = rule->spec.fcs_good;

	if (length <= rule->spec.n) { /* there is nothing to cut off */
		pass(port, send, frame, length);
		return;
	}
	vmlx4_fault_log(rule, good ? &stats->frames_truncated : &stats->frames_bad_fcs, NULL,
		"%s, port %u, %zu bytes", send ? "tx" : "rx", port->number, length);
	if (good)
		pass(port, send, frame, rule->spec.n);
	else
		lose(port, send, length, true);
}

/* True: the frame went on, whole or not, and has overtaken what is kept. */
static bool
apply(struct vmlx4_fault_rule *rule, struct vmlx4_overtaken *list, const uint8_t *frame,
	size_t length)
{
	struct vmlx4_fault_stats *stats = &rule->adapter->fault_state->stats;
	struct vmlx4_port *port = list->port;
	bool send = list->send;
	uint64_t *counter = rule->spec.action == VMLX4_FAULT_DROP ? &stats->frames_dropped :
		rule->spec.action == VMLX4_FAULT_REORDER ? &stats->frames_reordered :
		&stats->frames_duplicated;
	uint32_t n;

	if (rule->spec.action == VMLX4_FAULT_CORRUPT) {
		corrupt(rule, port, send, frame, length);
		return rule->spec.fcs_good;
	}
	if (rule->spec.action == VMLX4_FAULT_TRUNCATE) {
		truncate_frame(rule, port, send, frame, length);
		return rule->spec.fcs_good || length <= rule->spec.n;
	}
	vmlx4_fault_log(rule, counter, NULL, "%s, port %u, %zu bytes", send ? "tx" : "rx",
		port->number, length);
	if (rule->spec.action == VMLX4_FAULT_DROP) {
		lose(port, send, length, false);
		return false;
	}
	if (rule->spec.action == VMLX4_FAULT_REORDER &&
	    keep_back(list, &rule->spec, frame, length))
		return false;
	pass(port, send, frame, length);
	for (n = 0; n < rule->spec.n && rule->spec.action == VMLX4_FAULT_DUPLICATE; n++)
		pass(port, send, frame, length);
	return true;
}

static bool
matches(const struct vmlx4_fault_spec *spec, const uint8_t *frame, size_t length)
{
	uint32_t i;

	if (spec->match.offset + spec->match.length > length)
		return false;
	for (i = 0; i < spec->match.length; i++)
		if (((frame[spec->match.offset + i] ^ spec->match.value[i]) &
				spec->match.mask[i]) != 0)
			return false;
	return true;
}

static void
frame_event(struct vmlx4_port *port, bool send, const uint8_t *frame, size_t length)
{
	struct vmlx4_faults *faults = port->adapter->faults;
	unsigned int direction = send ? VMLX4_FAULT_DIR_TX : VMLX4_FAULT_DIR_RX;
	struct vmlx4_overtaken *list = &faults->overtaken[send][port->number - 1];
	struct vmlx4_fault_rule *rule = NULL, *hit = NULL;

	vmlx4_fault_state_event(faults, VMLX4_FAULT_AT_FRAME, port->number);
	while ((rule = vmlx4_fault_next(faults, rule, VMLX4_FAULT_FRAME)) != NULL) {
		const struct vmlx4_fault_spec *spec = &rule->spec;

		if ((spec->directions & direction) != 0 &&
		    (spec->port == 0 || spec->port == port->number) &&
		    matches(spec, frame, length) && vmlx4_fault_hits(rule) && hit == NULL)
			hit = rule;
	}
	if (hit == NULL)
		pass(port, send, frame, length);
	if (hit == NULL || apply(hit, list, frame, length))
		overtake(list);
}

void
vmlx4_fault_send(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	if (port->active)
		frame_event(port, true, frame, length);
	else
		vmlx4_port_transmit(port, frame, length); /* which counts the drop */
}

void
vmlx4_fault_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length)
{
	if (port->active && !port->infiniband && length != 0)
		frame_event(port, false, frame, length);
	else
		vmlx4_port_accept(port, frame, length);
}
