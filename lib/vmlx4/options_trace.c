/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "options_parser.h"

/* What makes a run repeat, and what records it. */

int
option_seed(struct option_parser *parser, const char *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 0);
	/* strtoull() takes a sign and leading blanks too. */
	if (isdigit((unsigned char)value[0]) == 0 || *end != '\0' || errno != 0)
		return option_fail(parser, value, "give a number from 0 to 2^64 - 1");
	parser->options->seed = number;
	return 0;
}

int
option_trace(struct option_parser *parser, const char *value)
{
	return option_path(parser, value, parser->options->trace_file);
}

int
option_trace_snaplen(struct option_parser *parser, const char *value)
{
	long number;
	int ret = option_number(parser, value, 0, VMLX4_TRACE_SNAPLEN_MAX, &number);

	if (ret == 0)
		parser->options->trace_snaplen = (unsigned int)number;
	return ret;
}

int
option_trace_raw(struct option_parser *parser, const char *value)
{
	(void)value;
	parser->options->trace_raw = true;
	return 0;
}
