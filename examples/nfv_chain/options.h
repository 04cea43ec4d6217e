/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef NFV_OPTIONS_H_
#define NFV_OPTIONS_H_

#include <stdbool.h>

struct options {
	const char *config;
	unsigned int run;         /* a bit for each stage */
	double period;            /* seconds between reports; 0: one at the end */
	unsigned int descriptors;
	unsigned int idle_us;
};

/* 0; 1 when help was asked for and given; -1 when something is wrong, which is told. */
int options_parse(int argc, char **argv, bool primary, struct options *options);

#endif /* NFV_OPTIONS_H_ */
