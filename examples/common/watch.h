/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_WATCH_H_
#define EXAMPLES_WATCH_H_

/* How long something takes, and whether it still goes on. */

#include <stdbool.h>

struct watch {
	double first, then;  /* seconds of patience until it begins, and from then on */
	double begin, last;  /* when it began, 0: it has not; when something was done last */
	double seen;         /* when it was looked at last */
};

/* Seconds since whenever. */
double now(void);

struct watch watch_start(double first, double then);
/* Whether something was done since the last look. False when patience has come to an end. */
bool watch_goes_on(struct watch *watch, bool done);
/* From the beginning to what was done last. */
double watch_seconds(const struct watch *watch);

#endif /* EXAMPLES_WATCH_H_ */
