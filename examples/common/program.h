/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_PROGRAM_H_
#define EXAMPLES_PROGRAM_H_

/* What has nothing to do with queues: complaints, options, time. */

#include <stdint.h>

/* What complaints begin with; each program defines it. */
extern const char program[];

__attribute__((noreturn, format(printf, 2, 3)))
void die(int status, const char *format, ...);
/* Ends the program with status 1 if err, a positive errno, is not 0. */
void must0(int err, const char *call);
/* Returns the object, or ends the program. */
void *must(void *object, const char *call);

/* An option with a value: a text, or with NULL there a number within the limits. */
struct option_entry {
	char letter;
	const char **text;
	uint64_t *number, min, max;
};

/* All arguments after argv[0] are options; up to 14 entries, the last one's letter is 0. */
void parse_options(int argc, char **argv, const struct option_entry *options, const char *usage);

/* Seconds since whenever. */
double now(void);

#endif /* EXAMPLES_PROGRAM_H_ */
