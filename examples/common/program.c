/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

void
die(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "%s: ", program);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

void
must0(int err, const char *call)
{
	if (err != 0)
		die(1, "%s failed: %s%s", call, strerror(err),
		    err == EPERM ? "; give the program CAP_NET_RAW" : "");
}

void *
must(void *object, const char *call)
{
	if (object == NULL)
		must0(errno != 0 ? errno : ENOMEM, call);
	return object;
}

static uint64_t
number(char option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < min || value > max)
		die(2, "-%c '%s': want a number, %" PRIu64 " to %" PRIu64, option, text, min, max);
	return value;
}

static void
take_option(const struct option_entry *option, const char *text)
{
	if (option->text != NULL)
		*option->text = text;
	else
		*option->number = number(option->letter, text, option->min, option->max);
}

void
parse_options(int argc, char **argv, const struct option_entry *options, const char *usage)
{
	char letters[32] = "+:";
	const struct option_entry *option;
	size_t at = strlen(letters);
	int c;

	for (option = options; option->letter != '\0' && at + 2 < sizeof(letters); option++) {
		letters[at++] = option->letter;
		letters[at++] = ':';
	}
	opterr = 0;
	while ((c = getopt(argc, argv, letters)) != -1) {
		for (option = options; option->letter != '\0' && option->letter != c; option++)
			;
		if (option->letter == '\0')
			die(2, "-%c %s; %s", optopt, c == ':' ? "lacks its value" : "is unknown",
			    usage);
		take_option(option, optarg);
	}
	if (optind != argc)
		die(2, "'%s' is one argument too many; %s", argv[optind], usage);
}

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
