/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "internal.h"

/* The list of faults, the choice of what they hit, and the log. */

struct vmlx4_fault_rule *
vmlx4_fault_next(struct vmlx4_faults *faults, struct vmlx4_fault_rule *from,
	enum vmlx4_fault_subject subject)
{
	struct vmlx4_fault_rule *rule = from != NULL ? STAILQ_NEXT(from, list) :
		STAILQ_FIRST(&faults->rules);

	while (rule != NULL && rule->spec.subject != subject)
		rule = STAILQ_NEXT(rule, list);
	return rule;
}

/* A hash whose every bit depends on all of its input (the finish of splitmix64). */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t
vmlx4_fault_random(const struct vmlx4_fault_rule *rule, unsigned int stream)
{
	return mix(mix(mix(rule->spec.seed + 1) + rule->id + 1) + 8 * rule->events + stream);
}

bool
vmlx4_fault_hits(struct vmlx4_fault_rule *rule)
{
	const struct vmlx4_fault_spec *spec = &rule->spec;
	unsigned int i;

	rule->events++;
	if (rule->hits >= spec->count)
		return false;
	if (spec->nths != 0) {
		for (i = 0; i < spec->nths; i++)
			if (spec->nth[i] == rule->events)
				return true;
		return false;
	}
	if (spec->every != 0)
		return rule->events % spec->every == 0;
	if (spec->random)
		return vmlx4_fault_random(rule, 0) % 1000000000 < spec->ppb;
	return true;
}

/* ---- the log ---- */

void
vmlx4_fault_log(struct vmlx4_fault_rule *rule, uint64_t *counter, const char *when,
	const char *object, ...)
{
	struct vmlx4_faults *faults = rule->adapter->fault_state;
	char line[VMLX4_FAULT_TEXT + 256], nth[32], about[128];
	va_list args;

	rule->hits++;
	faults->stats.injected++;
	(*counter)++;
	if (when == NULL) {
		snprintf(nth, sizeof(nth), "nth=%" PRIu64, rule->events);
		when = nth;
	}
	va_start(args, object);
	vsnprintf(about, sizeof(about), object, args);
	va_end(args);
	snprintf(line, sizeof(line), "%s%s%s # %" PRIu64 " at %" PRIu64 " ns%s%s", rule->spec.text,
		when[0] != '\0' ? " " : "", when, faults->stats.injected,
		vmlx4_time(rule->adapter), about[0] != '\0' ? ", " : "", about);
	vmlx4_trace_fault(rule->adapter, line);
	if (faults->log == NULL)
		return;
	fprintf(faults->log, "%s\n", line);
	fflush(faults->log);
}

void
vmlx4_fault_note(struct vmlx4_faults *faults, const char *format, ...)
{
	va_list args;

	if (faults->log == NULL)
		return;
	fprintf(faults->log, "# at %" PRIu64 " ns: ", vmlx4_time(faults->adapter));
	va_start(args, format);
	vfprintf(faults->log, format, args);
	va_end(args);
	fputc('\n', faults->log);
	fflush(faults->log);
}

/* ---- the list ---- */

static bool
add_rule(struct vmlx4_faults *faults, const struct vmlx4_fault_spec *spec,
	bool brief)
{
	struct vmlx4_fault_rule *rule = calloc(1, sizeof(*rule));
	unsigned int i;

	if (rule == NULL)
		return false;
	rule->spec = *spec;
	rule->adapter = faults->adapter;
	rule->id = faults->next_id++;
	rule->brief = brief;
	for (i = 0; i < VMLX4_MAX_PORTS; i++) {
		STAILQ_INIT(&rule->slow[i].frames);
		rule->slow[i].left = spec->n;
	}
	rule->timer.fire = vmlx4_fault_slow_timer;
	rule->period_end = vmlx4_time(faults->adapter) + spec->per;
	STAILQ_INSERT_TAIL(&faults->rules, rule, list);
	faults->adapter->faults = faults;
	switch (spec->subject) {
	case VMLX4_FAULT_LINK:
	case VMLX4_FAULT_DEVICE:
	case VMLX4_FAULT_QP:
	case VMLX4_FAULT_CQ:
	case VMLX4_FAULT_CLOCK:
		vmlx4_fault_state_start(rule);
		break;
	case VMLX4_FAULT_SLOW:
		vmlx4_fault_log(rule, &faults->stats.slow, "", "%s", "");
		break;
	default:
		break;
	}
	return true;
}

void
vmlx4_fault_remove_rule(struct vmlx4_faults *faults, struct vmlx4_fault_rule *rule)
{
	vmlx4_timer_cancel(faults->adapter, &rule->timer);
	STAILQ_REMOVE(&faults->rules, rule, vmlx4_fault_rule, list);
	free(rule);
}

struct addition {
	struct vmlx4_faults *faults;
	bool brief;
};

static int
add_one(void *arg, const struct vmlx4_fault_spec *spec)
{
	struct addition *addition = arg;

	return add_rule(addition->faults, spec, addition->brief) ? 0 : -ENOMEM;
}

/* All of it or, with a mistake in it, nothing: the first pass only checks it. */
int
vmlx4_fault_add_text(struct vmlx4_faults *faults, const char *text, const char *place,
	bool brief, char *error, size_t error_size)
{
	struct addition addition = { faults, brief };
	uint64_t seed = faults->adapter->options.seed;
	int ret = vmlx4_fault_parse(text, place, seed, NULL, NULL, error, error_size);

	if (ret == 0)
		ret = vmlx4_fault_parse(text, place, seed, add_one, &addition, error, error_size);
	if (ret == -ENOMEM)
		snprintf(error, error_size, "faults: out of memory");
	return ret;
}

static struct vmlx4_faults *
faults_new(struct vmlx4_adapter *adapter)
{
	struct vmlx4_faults *faults = vmlx4_zalloc(sizeof(*faults));

	if (faults == NULL)
		return NULL;
	faults->adapter = adapter;
	faults->born = vmlx4_time(adapter);
	STAILQ_INIT(&faults->rules);
	vmlx4_fault_frames_init(faults);
	return faults;
}

static int
open_log(struct vmlx4_faults *faults, char *error, size_t error_size)
{
	const char *path = faults->adapter->options.faults_log;

	if (path[0] == '\0')
		return 0;
	faults->log = strcmp(path, "-") == 0 ? stderr : fopen(path, "ae");
	if (faults->log != NULL)
		return 0;
	snprintf(error, error_size, "option faults-log: \"%s\": %s: give a file in a folder that "
		"you may write", path, strerror(errno));
	return -EINVAL;
}

int
vmlx4_faults_init(struct vmlx4_adapter *adapter, char *error, size_t error_size)
{
	struct vmlx4_faults *faults = faults_new(adapter);
	const char *place;
	char *text;
	int ret;

	adapter->fault_state = faults;
	if (faults == NULL)
		return -ENOMEM;
	ret = open_log(faults, error, error_size);
	if (ret < 0 || adapter->options.faults[0] == '\0')
		return ret;
	text = vmlx4_fault_text(adapter->options.faults, &place, error, error_size);
	if (text == NULL)
		return -EINVAL;
	ret = vmlx4_fault_add_text(faults, text, place, false, error, error_size);
	free(text);
	return ret;
}

void
vmlx4_fault_clear_all(struct vmlx4_faults *faults, bool deliver)
{
	struct vmlx4_fault_rule *rule;

	if (deliver)
		vmlx4_fault_show_cqes(faults->adapter, NULL);
	/* From here on nothing is held back, so that what was keeps its order. */
	faults->adapter->faults = NULL;
	vmlx4_fault_flush_frames(faults, deliver);
	if (deliver)
		vmlx4_fault_state_undo(faults);
	while ((rule = STAILQ_FIRST(&faults->rules)) != NULL)
		vmlx4_fault_remove_rule(faults, rule);
	faults->next_id = 0;
}

void
vmlx4_faults_free(struct vmlx4_adapter *adapter)
{
	struct vmlx4_faults *faults = adapter->fault_state;

	if (faults == NULL)
		return;
	vmlx4_fault_clear_all(faults, false);
	if (faults->log != NULL && faults->log != stderr)
		fclose(faults->log);
	adapter->fault_state = NULL;
	free(faults);
}
