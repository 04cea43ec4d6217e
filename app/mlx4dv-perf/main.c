/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Measures some cases of one subject and prints a line of JSON for each. Started by
 * the script mlx4dv-perf, which compares and draws:
 *
 *	vmlx4 exec --step -- mlx4dv-perf-run SUBJECT [OPTIONS] CASE... [-- EAL ARGUMENTS]
 */

#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

static struct perf_options opt = {
	.burst = 32, .size = 60, .ring = 1024, .segs = 1, .pools = 1, .queues = 1,
	.samples = 500, .repeats = 5, .counted = 16, .cycles = true, .instructions = true,
};
static const struct perf_subject *const subjects[] = { &perf_ethdev, &perf_verbs, &perf_floor,
	&perf_rc_verbs, &perf_rc_dvq };
const char bench_program[] = "mlx4dv-perf";

static int (*step_adapter)(unsigned int budget);

void
perf_step(void)
{
	const struct timespec while_ns = { .tv_nsec = 200000 };

	if (step_adapter != NULL)
		step_adapter(0);
	else
		nanosleep(&while_ns, NULL);
}

static const struct number_option {
	const char *name;
	size_t offset;
	unsigned int min, max;
} numbers[] = {
	{ "burst", offsetof(struct perf_options, burst), 1, PERF_BURST_MAX },
	{ "size", offsetof(struct perf_options, size), 60, 9000 },
	{ "ring", offsetof(struct perf_options, ring), 64, 16384 },
	{ "segs", offsetof(struct perf_options, segs), 1, PERF_SEGS_MAX },
	{ "pools", offsetof(struct perf_options, pools), 1, PERF_POOLS_MAX },
	{ "regions", offsetof(struct perf_options, regions), 0, PERF_REGIONS_MAX },
	{ "queues", offsetof(struct perf_options, queues), 1, PERF_QUEUES_MAX },
	{ "flows", offsetof(struct perf_options, flows), 0, PERF_FLOWS_MAX },
	{ "samples", offsetof(struct perf_options, samples), 1, 1000000 },
	{ "repeats", offsetof(struct perf_options, repeats), 1, 1000 },
	{ "counted", offsetof(struct perf_options, counted), 1, 1000 },
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static int
usage(void)
{
	unsigned int i, s;

	fputs("usage: mlx4dv-perf-run SUBJECT [OPTIONS] [CASE...] [-- EAL ARGUMENTS]\noptions:",
		stderr);
	for (i = 0; i < NUMBERS; i++)
		fprintf(stderr, " --%s N", numbers[i].name);
	fputs(" --no-cycles --no-instructions\n", stderr);
	for (s = 0; s < sizeof(subjects) / sizeof(subjects[0]); s++) {
		fprintf(stderr, "cases of %s:", subjects[s]->name);
		for (i = 0; i < subjects[s]->nb_cases; i++)
			fprintf(stderr, " %s", subjects[s]->cases[i].name);
		fputc('\n', stderr);
	}
	return 2;
}

/* Returns false for an option that there is not. */
static bool
parse(int argc, char **argv)
{
	struct option known[NUMBERS + 3] = {
		[NUMBERS] = { "no-cycles", no_argument, NULL, 'c' },
		[NUMBERS + 1] = { "no-instructions", no_argument, NULL, 'i' },
	};
	unsigned int i;
	int c, index;

	for (i = 0; i < NUMBERS; i++)
		known[i] = (struct option){ numbers[i].name, required_argument, NULL, 'n' };
	while ((c = getopt_long(argc, argv, "+", known, &index)) != -1) {
		if (c == 'n')
			*(unsigned int *)((char *)&opt + numbers[index].offset) =
				bench_number(numbers[index].name, optarg, numbers[index].min,
					numbers[index].max);
		else if (c == 'c')
			opt.cycles = false;
		else if (c == 'i')
			opt.instructions = false;
		else
			return false;
	}
	return true;
}

/* What is allowed by itself, and does not go together. */
static void
check(const struct perf_subject *subject)
{
	/* A queue keeps some of its entries free, and completes not with every burst. */
	unsigned int room = opt.ring / 2 < PERF_FRAMES ? opt.ring / 2 : PERF_FRAMES;

	opt.calls = room / opt.burst < PERF_CALLS ? room / opt.burst : PERF_CALLS;
	if (opt.calls == 0)
		bench_die("--burst %u: give a --ring of at least twice that, not %u", opt.burst,
			opt.ring);
	if (subject != &perf_ethdev && (opt.segs > 1 || opt.pools > 1 || opt.queues > 1 ||
	    opt.regions > 0 || opt.flows > 0))
		bench_die("%s knows no --segs, --pools, --queues, --regions and --flows",
			subject->name);
	if (opt.regions > 0 && (opt.pools > 1 || opt.segs > 1))
		bench_die("--regions %u: one piece a frame then; leave out --pools and --segs",
			opt.regions);
}

static const struct perf_case *
find_case(const struct perf_subject *subject, const char *name)
{
	unsigned int i;

	for (i = 0; i < subject->nb_cases; i++)
		if (strcmp(subject->cases[i].name, name) == 0)
			return &subject->cases[i];
	bench_die("%s: %s has no such case", name, subject->name);
}

static const struct perf_subject *
find_subject(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (strcmp(subjects[i]->name, name) == 0)
			return subjects[i];
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct perf_subject *subject = argc > 1 ? find_subject(argv[1]) : NULL;
	int cases, end, i;

	if (subject == NULL || !parse(argc - 1, argv + 1))
		return usage();
	cases = optind + 1;
	/* getopt_long() takes the dashes if there is no case before them. */
	if (strcmp(argv[cases - 1], "--") == 0)
		cases--;
	for (end = cases; end < argc && strcmp(argv[end], "--") != 0; end++)
		find_case(subject, argv[end]);
	check(subject);
	step_adapter = (int (*)(unsigned int))dlsym(RTLD_DEFAULT, "vmlx4_step");
	subject->start(argc - end, argv + end);
	if (cases == end)
		for (i = 0; i < (int)subject->nb_cases; i++)
			perf_measure(subject->driver(), &subject->cases[i], &opt);
	for (i = cases; i < end; i++)
		perf_measure(subject->driver(), find_case(subject, argv[i]), &opt);
	subject->end();
	return EXIT_SUCCESS;
}
