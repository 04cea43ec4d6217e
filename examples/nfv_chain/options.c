/* SPDX-License-Identifier: BSD-3-Clause */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "options.h"

static const char usage[] =
	"nfv_chain [EAL options] -- --config FILE [options]\n"
	"nfv_chain [EAL options] --proc-type=secondary -- --run STAGES [options]\n"
	"  --config FILE      ports, rules and routes (the primary process)\n"
	"  --run STAGES       the stages of this process, of rx,acl,nat,route,tx (all)\n"
	"  --period SECONDS   between two reports; 0: one at the end (1)\n"
	"  --descriptors N    of each queue of a port (1024)\n"
	"  --idle-us N        rest of an lcore without packets; 0: none (50)\n";

static int
parse_stages(char *list, unsigned int *mask)
{
	char *state = NULL, *name;
	unsigned int id;

	*mask = 0;
	for (name = strtok_r(list, ",", &state); name != NULL; name = strtok_r(NULL, ",", &state)) {
		for (id = 0; id < STAGES && strcmp(name, stage_ops[id]->name) != 0; id++)
			;
		if (id == STAGES) {
			complain("--run '%s': no such stage; there are rx, acl, nat, route and tx",
				name);
			return -1;
		}
		*mask |= 1u << id;
	}
	if (*mask == 0) {
		complain("--run: name stages, of rx, acl, nat, route and tx");
		return -1;
	}
	return 0;
}

static int
parse_number(const char *option, const char *text, unsigned long min, unsigned long max,
	unsigned int *number)
{
	unsigned long value;

	if (word_number(text, min, max, &value) != NULL) {
		complain("--%s '%s': give a number, %lu to %lu", option, text, min, max);
		return -1;
	}
	*number = (unsigned int)value;
	return 0;
}

static int
parse_period(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end != text && *end == '\0' && *seconds >= 0 && *seconds <= 86400)
		return 0;
	complain("--period '%s': give seconds, 0 to 86400", text);
	return -1;
}

static int
parse_option(int option, struct options *options)
{
	switch (option) {
	case 'c':
		options->config = optarg;
		return 0;
	case 'r':
		return parse_stages(optarg, &options->run);
	case 'p':
		return parse_period(optarg, &options->period);
	case 'd':
		return parse_number("descriptors", optarg, 64, 32768, &options->descriptors);
	case 'i':
		return parse_number("idle-us", optarg, 0, 100000, &options->idle_us);
	case 'h':
		fputs(usage, stdout);
		return 1;
	}
	return -1;
}

int
options_parse(int argc, char **argv, bool primary, struct options *options)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' }, { "run", required_argument, NULL, 'r' },
		{ "period", required_argument, NULL, 'p' },
		{ "descriptors", required_argument, NULL, 'd' },
		{ "idle-us", required_argument, NULL, 'i' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, ret;

	*options = (struct options){ .run = primary ? (1u << STAGES) - 1 : 0, .period = 1,
		.descriptors = 1024, .idle_us = 50 };
	while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (option == ':' || option == '?') {
			complain("'%s' %s; see -- --help", argv[optind - 1],
				option == ':' ? "lacks its value" : "is no option");
			return -1;
		}
		ret = parse_option(option, options);
		if (ret != 0)
			return ret;
	}
	if (optind < argc)
		complain("'%s': an argument too many; see -- --help", argv[optind]);
	else if (primary && options->config == NULL)
		complain("--config FILE is missing; example.conf shows what is in it");
	else if (!primary && options->config != NULL)
		complain("--config '%s': the primary process has read it", options->config);
	else if (!primary && options->run == 0)
		complain("--run STAGES is missing: what shall this process do?");
	else
		return 0;
	return -1;
}
