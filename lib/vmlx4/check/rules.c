/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../adapter.h"
#include "../hca/hca.h"
#include "../trace/trace.h"
#include "../wire/wire.h"
#include "check.h"

/* Lines per rule in report mode; a broken fast path breaks a rule per packet. */
#define MAX_LINES 100

/* One write, so that lines of other threads do not mix in. */
static void
print_line(char *line, int length, size_t size)
{
	ssize_t done;

	if (length < 0)
		return;
	if ((size_t)length > size - 2)
		length = (int)size - 2;
	line[length++] = '\n';
	done = write(STDERR_FILENO, line, (size_t)length);
	(void)done; /* nobody is left to be told */
}

/*
 * At once, as the program is not to be trusted any further; but what tells of the
 * run until here is kept. The caller has the adapter locked.
 */
static void __attribute__((noreturn))
end_run(struct vmlx4_adapter *adapter)
{
	unsigned int i;

	for (i = 0; i < VMLX4_MAX_PORTS; i++) {
		struct vmlx4_wire *wire = adapter->ports[i].wire;

		if (wire != NULL && wire->ops->idle != NULL)
			wire->ops->idle(wire);
	}
	vmlx4_trace_close(adapter);
	vmlx4_stats_write(adapter, true);
	_exit(VMLX4_EXIT_VIOLATION);
}

void
vmlx4_violation(struct vmlx4_adapter *adapter, enum vmlx4_rule rule,
	const char *queue, uint32_t number, uint32_t index, const char *format, ...)
{
	static unsigned int lines[VMLX4_RULES];
	char text[512], detail[384];
	va_list ap;
	int n;

	if (adapter->options.strict == VMLX4_STRICT_OFF)
		return;
	adapter->violations++;
	adapter->violations_of[rule]++;
	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	vmlx4_trace_violation(adapter, vmlx4_rule_name(rule), queue, number, index, detail);
	if (lines[rule]++ < MAX_LINES) {
		n = snprintf(text, sizeof(text),
			"vmlx4: contract violation: %s: %s 0x%x index %u: %s",
			vmlx4_rule_name(rule), queue, number, index, detail);
		print_line(text, n, sizeof(text));
		if (lines[rule] == MAX_LINES) {
			n = snprintf(text, sizeof(text), "vmlx4: contract violation: %s: "
				"more of these are counted and not shown", vmlx4_rule_name(rule));
			print_line(text, n, sizeof(text));
		}
	}
	if (adapter->options.strict == VMLX4_STRICT_FATAL)
		end_run(adapter);
}
