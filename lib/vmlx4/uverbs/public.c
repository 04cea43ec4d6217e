/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../adapter.h"
#include "../counters.h"
#include "../fault/fault.h"
#include "../profile.h"
#include "uverbs.h"

/* The part of vmlx4.h that looks at objects and ports; the rest is the engine's. */

static int
port_get(unsigned int number, struct vmlx4_adapter **adapter, struct vmlx4_port **port)
{
	*adapter = vmlx4_adapter_get();
	if (*adapter == NULL)
		return -ENODEV;
	if (number < 1 || number > (*adapter)->options.ports)
		return -EINVAL;
	*port = &(*adapter)->ports[number - 1];
	return 0;
}

int
vmlx4_set_carrier(unsigned int number, int up)
{
	struct vmlx4_adapter *adapter;
	struct vmlx4_port *port;
	int ret = port_get(number, &adapter, &port);

	if (ret < 0)
		return ret;
	vmlx4_lock(adapter);
	port->carrier = up != 0;
	vmlx4_port_update(port);
	vmlx4_unlock(adapter);
	return 0;
}

int
vmlx4_port_stats(unsigned int number, struct vmlx4_port_stats *stats)
{
	struct vmlx4_adapter *adapter;
	struct vmlx4_port *port;
	int ret = port_get(number, &adapter, &port);

	if (ret < 0)
		return ret;
	vmlx4_lock(adapter);
	*stats = port->stats;
	vmlx4_unlock(adapter);
	return 0;
}

int
vmlx4_object_counts(struct vmlx4_object_counts *counts)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter == NULL)
		return -ENODEV;
	vmlx4_lock(adapter);
	*counts = adapter->counts;
	vmlx4_unlock(adapter);
	return 0;
}

int
vmlx4_violations(void)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	int count;

	if (adapter == NULL)
		return -ENODEV;
	vmlx4_lock(adapter);
	count = adapter->violations;
	vmlx4_unlock(adapter);
	return count;
}

int
vmlx4_violations_of(const char *name)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	unsigned int rule;
	int count;

	if (adapter == NULL)
		return -ENODEV;
	rule = name != NULL ? vmlx4_rule_find(name) : VMLX4_RULES;
	if (rule == VMLX4_RULES)
		return -EINVAL;
	vmlx4_lock(adapter);
	count = (int)adapter->violations_of[rule];
	vmlx4_unlock(adapter);
	return count;
}

#define OBJECT_COUNTS(X) \
	X(contexts) X(pds) X(mrs) X(channels) X(cqs) X(qps) X(wqs) X(tables) X(flows) \
	X(srqs) X(mws) X(xrcds) X(mr_bytes) X(mrs_registered)
#define COUNT_OBJECT(name) + sizeof(((struct vmlx4_object_counts *)NULL)->name)
_Static_assert(0 OBJECT_COUNTS(COUNT_OBJECT) == sizeof(struct vmlx4_object_counts),
	"every count is written");

#define FAULT_COUNTS(X) \
	X(injected) X(commands_failed) X(wqes_failed) X(cqes_late) X(cqe_batches) \
	X(frames_dropped) X(frames_bad_fcs) X(frames_corrupted) X(frames_truncated) \
	X(frames_reordered) X(frames_duplicated) X(slow) X(links_down) X(device_fatals) \
	X(qp_errors) X(cq_errors) X(clock_faults)
#define COUNT_FAULT(name) + sizeof(((struct vmlx4_fault_stats *)NULL)->name)
_Static_assert(0 FAULT_COUNTS(COUNT_FAULT) == sizeof(struct vmlx4_fault_stats),
	"every counter is written");

static void
write_faults(const struct vmlx4_adapter *adapter, FILE *out)
{
	const struct vmlx4_fault_stats *stats = vmlx4_fault_stats_get(adapter);
	const char *separator = "";

	fprintf(out, "  \"faults\": {");
#define WRITE_FAULT(name) \
	fprintf(out, "%s\n    \"%s\": %" PRIu64, separator, #name, stats->name); \
	separator = ",";
	FAULT_COUNTS(WRITE_FAULT)
#undef WRITE_FAULT
	fprintf(out, "\n  },\n");
}

/* Those that were broken. */
static void
write_rules(const struct vmlx4_adapter *adapter, FILE *out)
{
	const char *separator = "";
	unsigned int i;

	fprintf(out, "  \"violations_by_rule\": {");
	for (i = 0; i < VMLX4_RULES; i++) {
		if (adapter->violations_of[i] == 0)
			continue;
		fprintf(out, "%s\n    \"%s\": %u", separator,
			vmlx4_rule_name((enum vmlx4_rule)i), adapter->violations_of[i]);
		separator = ",";
	}
	fprintf(out, "%s},\n", separator[0] != '\0' ? "\n  " : "");
}

static void
write_json(struct vmlx4_adapter *adapter, FILE *out)
{
	unsigned int i;

	fprintf(out, "{\n  \"profile\": \"%s\",\n  \"violations\": %u,\n",
		adapter->profile->name, adapter->violations);
	write_rules(adapter, out);
	write_faults(adapter, out);
	fprintf(out, "  \"objects\": {");
#define WRITE_OBJECT(name) \
	fprintf(out, "%s\n    \"%s\": %" PRIu64, strcmp(#name, "contexts") == 0 ? "" : ",", \
		#name, (uint64_t)adapter->counts.name);
	OBJECT_COUNTS(WRITE_OBJECT)
#undef WRITE_OBJECT
	fprintf(out, "\n  },\n  \"ports\": [");
	for (i = 0; i < adapter->options.ports; i++) {
		const struct vmlx4_port *port = &adapter->ports[i];

		fprintf(out, "%s\n    {\n      \"port\": %u", i == 0 ? "" : ",", port->number);
#define WRITE_COUNTER(name) \
		fprintf(out, ",\n      \"%s\": %" PRIu64, #name, port->stats.name);
		VMLX4_PORT_COUNTERS(WRITE_COUNTER)
#undef WRITE_COUNTER
		fprintf(out, "\n    }");
	}
	fprintf(out, "\n  ]\n}\n");
}

/* A device, a pipe or a link, such as /dev/stdout, is written to and stays what it is. */
static bool
is_replaceable(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? S_ISREG(st.st_mode) : errno == ENOENT;
}

/* Called more than once in a run; what cannot be replaced is written the last time. */
void
vmlx4_stats_write(struct vmlx4_adapter *adapter, bool last)
{
	const char *path = adapter->options.stats_file;
	bool replace = is_replaceable(path);
	char part[PATH_MAX + 8];
	FILE *out;
	bool failed;

	if (path[0] == '\0' || (!replace && !last))
		return;
	/* Renamed into place: who waits for the file reads all of it. */
	snprintf(part, sizeof(part), "%s%s", path, replace ? ".part" : "");
	out = fopen(part, replace ? "we" : "ae");
	if (out == NULL) {
		fprintf(stderr, "vmlx4: cannot write the counters to %s: %s\n", part,
			strerror(errno));
		return;
	}
	write_json(adapter, out);
	/* The last of it is written by the close; a part of a file is none. */
	failed = ferror(out) != 0;
	failed = fclose(out) != 0 || failed;
	if (!failed && (!replace || rename(part, path) == 0))
		return;
	fprintf(stderr, "vmlx4: cannot write the counters to %s: %s\n", path, strerror(errno));
	if (replace)
		unlink(part);
}
