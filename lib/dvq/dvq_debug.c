/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>

#include "dvq_check.h"

static void
print_and_abort(const char *sentence)
{
	fprintf(stderr, "libdvq: %s\n", sentence);
	abort();
}

void (*dvq_debug_mixed)(const char *sentence) = print_and_abort;

void
dvq_debug_report(const char *queue, uint32_t number, const char *what, uint32_t found,
		 uint32_t due)
{
	char sentence[256];

	snprintf(sentence, sizeof(sentence),
		 "%s 0x%06x is used by others too: %s is 0x%x, 0x%x was left there; a queue "
		 "opened with dvq_open() must not be used through verbs", queue, number, what,
		 found, due);
	dvq_debug_mixed(sentence);
}
