/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options_parser.h"
#include "spec.h"

int
option_faults(struct option_parser *parser, const char *value)
{
	const char *place;
	char *text;
	int ret;

	if (parser->options->faults[0] != '\0')
		return option_fail(parser, value, "give it once: several faults stand in one file, "
			"or between semicolons");
	if (strlen(value) >= sizeof(parser->options->faults))
		return option_fail(parser, value, "longer than %d characters: put the faults into "
			"a file", VMLX4_FAULTS_MAX - 1);
	text = vmlx4_fault_text(value, &place, parser->error, parser->error_size);
	if (text == NULL)
		return -EINVAL;
	ret = vmlx4_fault_parse(text, place, VMLX4_SEED_DEFAULT, NULL, NULL, parser->error,
		parser->error_size);
	free(text);
	strcpy(parser->options->faults, value);
	return ret;
}

int
option_faults_log(struct option_parser *parser, const char *value)
{
	return option_path(parser, value, parser->options->faults_log);
}
