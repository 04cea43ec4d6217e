/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

void
bench_die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "%s: ", bench_program);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(EXIT_FAILURE);
}

unsigned int
bench_number(const char *name, const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || text[0] == '-' || value < min || value > max)
		bench_die("--%s %s: give a number from %lu to %lu", name, text, min, max);
	return (unsigned int)value;
}

int
bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}
