/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_OPTIONS_H_
#define EXAMPLES_OPTIONS_H_

/* What the examples can be told. */

#define MODES_MAX 4

/* A program takes those of which it sets a default. */
struct option_number {
	unsigned long value, min, max;
};

struct options {
	const char *about;              /* the program, in a sentence */
	const char *modes[MODES_MAX];   /* the first word is one; "server SOCKET" takes a second */
	int mode;                       /* which one it is, 1 the first; 0 of a program without */
	const char *second;             /* the second word */
	const char *device;             /* -d; NULL: the first one there is */
	struct option_number port;      /* -p */
	struct option_number count;     /* -n, of messages or frames */
	struct option_number size;      /* -s, in bytes */
	struct option_number qps;       /* -q */
};

/* What is wrong ends the program with status 2; --help and --usage end it with 0. */
void parse_options(struct options *options, int argc, char **argv);

#endif /* EXAMPLES_OPTIONS_H_ */
