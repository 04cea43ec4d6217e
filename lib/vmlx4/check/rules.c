/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../adapter.h"
#include "../hca/hca.h"
#include "../wire/wire.h"
#include "check.h"

/* Lines per rule in report mode; a broken fast path breaks a rule per packet. */
#define MAX_LINES 100

/*
 * Where each rule comes from, and how it is detected:
 *
 * LKEY            access rules of memory keys. Every segment that is read or
 *                 written is looked up: key, PD, range, LOCAL_WRITE.
 * SQ_OWNERSHIP    owner bit = pass of the WQE's first stride. A doorbell named
 *                 the queue, its next WQE was rewritten since it was last
 *                 executed, and still is not owned by the adapter after the
 *                 grace period.
 * SQ_STAMP        the adapter reads 2 KiB ahead and takes a block whose owner
 *                 bit is the valid one as posted. Blocks ahead of the last
 *                 WQE are looked at when the queue runs dry and when it idles.
 * SQ_HEADROOM     so 2 KiB and one stride stay unposted. The posted WQEs are
 *                 counted before the queue is executed.
 * SQ_FIRST_DWORD  bytes 4..63 of a block before its dword 0, the stamp. A WQE
 *                 is executed and a later block of it still has the stamp.
 * SQ_DWORD1       bytes 4..6 of the control segment are VLAN tag and insertion
 *                 bits; BlueFlame puts the QPN there. Something else stands
 *                 there while no insertion is asked for.
 * SQ_SE           SE on raw Ethernet means "no ICRC". A SEND or LSO lacks it.
 * SQ_DS           the size field covers whole, well-formed segments.
 * SQ_DOORBELL     posted WQEs are announced. A WQE that the adapter owns lies
 *                 unannounced for the grace period (stepped: for two steps).
 * RQ_OVERRUN      posted - consumed <= ring size, when the record is read.
 * RQ_WQE          byte counts of receive segments are 1 .. 2^31 - 1.
 * CQ_OVERRUN      the consumer index leaves room for what completes.
 * CQ_CONSUMER     the consumer index is not ahead of the producer.
 * CQ_ARM          the arm record is written before the doorbell, with the same
 *                 sequence number, command and index.
 */
static const char *const rule_names[VMLX4_RULES] = {
	[VMLX4_RULE_LKEY] = "lkey",
	[VMLX4_RULE_SQ_OWNERSHIP] = "sq-ownership",
	[VMLX4_RULE_SQ_STAMP] = "sq-stamp",
	[VMLX4_RULE_SQ_HEADROOM] = "sq-headroom",
	[VMLX4_RULE_SQ_FIRST_DWORD] = "sq-first-dword-last",
	[VMLX4_RULE_SQ_DWORD1] = "sq-dword1",
	[VMLX4_RULE_SQ_SE] = "sq-se-bit",
	[VMLX4_RULE_SQ_DS] = "sq-size",
	[VMLX4_RULE_SQ_DOORBELL] = "sq-doorbell",
	[VMLX4_RULE_RQ_OVERRUN] = "rq-overrun",
	[VMLX4_RULE_RQ_WQE] = "rq-wqe",
	[VMLX4_RULE_CQ_OVERRUN] = "cq-overrun",
	[VMLX4_RULE_CQ_CONSUMER] = "cq-consumer",
	[VMLX4_RULE_CQ_ARM] = "cq-arm",
};

const char *
vmlx4_rule_name(enum vmlx4_rule rule)
{
	return (unsigned int)rule < VMLX4_RULES ? rule_names[rule] : "unknown";
}

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
	vmlx4_stats_write(adapter, true);
	_exit(VMLX4_EXIT_VIOLATION);
}

void
vmlx4_violation(struct vmlx4_adapter *adapter, enum vmlx4_rule rule,
	const char *queue, uint32_t number, uint32_t index, const char *format, ...)
{
	static unsigned int lines[VMLX4_RULES];
	char text[512];
	va_list ap;
	int n;

	if (adapter->options.strict == VMLX4_STRICT_OFF)
		return;
	adapter->violations++;
	adapter->last_violation = rule;
	if (lines[rule]++ < MAX_LINES) {
		n = snprintf(text, sizeof(text),
			"vmlx4: contract violation: %s: %s 0x%x index %u: ",
			vmlx4_rule_name(rule), queue, number, index);
		va_start(ap, format);
		n += vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
		va_end(ap);
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
