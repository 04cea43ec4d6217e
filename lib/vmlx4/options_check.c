/* SPDX-License-Identifier: BSD-3-Clause */

#include "options_parser.h"

/* How the contract checker looks. */

#define MOST_LAG_US 1000000

int
option_completion_lag(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, 0, MOST_LAG_US, &number);

	if (ret == 0)
		parser->options->completion_lag_ns = (uint64_t)number * 1000;
	return ret;
}
