/* SPDX-License-Identifier: BSD-3-Clause */

#include <time.h>

#include "watch.h"

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct watch
watch_start(double first, double then)
{
	double start = now();

	return (struct watch){ .first = first, .then = then, .last = start, .seen = start };
}

bool
watch_goes_on(struct watch *watch, bool done)
{
	double before = watch->seen;

	watch->seen = now();
	if (done) {
		if (watch->begin == 0)
			watch->begin = before;
		watch->last = watch->seen;
	}
	return watch->seen - watch->last < (watch->begin == 0 ? watch->first : watch->then);
}

double
watch_seconds(const struct watch *watch)
{
	return watch->begin != 0 ? watch->last - watch->begin : 0;
}
