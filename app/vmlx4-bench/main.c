/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a packet costs the engine of the virtual adapter: execute a send WQE,
 * take the frame over the wire from port 1 to port 2, scatter it, write both
 * CQEs. The program posts and reaps with plain verbs; only vmlx4_step() is
 * measured.
 *
 *	vmlx4 exec --step [--strict] -- vmlx4-bench [OPTIONS]
 */

#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define ROUNDS_MAX 100000

static struct bench_options opt = {
	.batch = 64, .size = 64, .steps = 200, .rounds = 101,
};
const char bench_program[] = "vmlx4-bench";

static int (*step_adapter)(unsigned int budget);

struct round {
	double tsc, core;    /* cycles of the engine per packet */
	double mpps;         /* posting and reaping included */
};

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void
one_round(struct bench_end *sender, struct bench_end *receiver, struct round *round)
{
	double packets = (double)opt.steps * opt.batch, begin, ratio;
	uint64_t cycles = 0, before;
	unsigned int i;

	ratio = bench_core_ratio();
	begin = now();
	for (i = 0; i < opt.steps; i++) {
		bench_post(sender, receiver, &opt);
		before = bench_tsc();
		step_adapter(0);
		cycles += bench_tsc() - before;
		bench_reap(sender, receiver, &opt);
	}
	round->mpps = packets / (now() - begin) * 1e-6;
	ratio = (ratio + bench_core_ratio()) / 2;
	round->tsc = (double)cycles / packets;
	round->core = round->tsc * ratio;
}

static void
print_row(const char *label, const struct round *rounds, size_t offset)
{
	static double value[ROUNDS_MAX];
	unsigned int i;

	for (i = 0; i < opt.rounds; i++)
		memcpy(&value[i], (const char *)&rounds[i] + offset, sizeof(value[i]));
	qsort(value, opt.rounds, sizeof(value[0]), bench_by_value);
	printf("%-28s %8.1f %8.1f %8.1f\n", label, value[0], value[opt.rounds / 2],
		value[opt.rounds - 1]);
}

/* The median of some steps: now and then one looks at the clock. */
static double
count_instructions(struct bench_end *sender, struct bench_end *receiver)
{
	double value[9];
	unsigned int i;

	for (i = 0; i < 9; i++) {
		bench_post(sender, receiver, &opt);
		value[i] = (double)bench_instructions(step_adapter, 0) / opt.batch;
		bench_reap(sender, receiver, &opt);
	}
	qsort(value, 9, sizeof(value[0]), bench_by_value);
	return value[4];
}

static void
run(struct ibv_device *device)
{
	struct bench_end sender = { 0 }, receiver = { 0 };
	struct round warm;
	struct round *rounds = calloc(opt.rounds, sizeof(*rounds));
	unsigned int i;

	if (rounds == NULL)
		bench_die("out of memory");
	bench_open_sender(&sender, device, &opt);
	bench_open_receiver(&receiver, device, &opt);
	one_round(&sender, &receiver, &warm);
	for (i = 0; i < opt.rounds; i++)
		one_round(&sender, &receiver, &rounds[i]);
	printf("%u B frames, %u per step, %s, %u rounds of %u steps\n", opt.size, opt.batch,
		opt.rss ? "RSS QP" : "plain QP", opt.rounds, opt.steps);
	printf("per packet                        min   median      max\n");
	print_row("engine cycles (TSC)", rounds, offsetof(struct round, tsc));
	print_row("engine cycles (core)", rounds, offsetof(struct round, core));
	print_row("whole loop, Mpps", rounds, offsetof(struct round, mpps));
	if (opt.count)
		printf("%-28s %17.1f\n", "engine instructions",
			count_instructions(&sender, &receiver));
	bench_close(&receiver);
	bench_close(&sender);
	free(rounds);
}

static void
arguments(int argc, char **argv)
{
	static const struct option known[] = {
		{ "batch", required_argument, NULL, 'b' },
		{ "size", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "rss", no_argument, NULL, 'R' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "instructions", no_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'b':
			opt.batch = bench_number("batch", optarg, 1, BATCH_MAX);
			break;
		case 's':
			opt.size = bench_number("size", optarg, 42, FRAME_MAX);
			break;
		case 'n':
			opt.steps = bench_number("steps", optarg, 1, 1000000);
			break;
		case 'r':
			opt.rounds = bench_number("rounds", optarg, 1, ROUNDS_MAX);
			break;
		case 'R':
			opt.rss = true;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'i':
			opt.count = true;
			break;
		default:
			fprintf(stderr, "usage: vmlx4-bench [--batch N] [--size BYTES] [--steps N] "
				"[--rounds N] [--rss] [--quiet] [--instructions]\n");
			exit(2);
		}
	}
	if (optind != argc)
		bench_die("%s: one argument too many", argv[optind]);
}

int
main(int argc, char **argv)
{
	struct ibv_device **list;

	arguments(argc, argv);
	step_adapter = (int (*)(unsigned int))dlsym(RTLD_DEFAULT, "vmlx4_step");
	if (step_adapter == NULL)
		bench_die("run it as: vmlx4 exec --step -- vmlx4-bench");
	list = ibv_get_device_list(NULL);
	if (list == NULL || list[0] == NULL)
		bench_die("no verbs device");
	run(list[0]);
	ibv_free_device_list(list);
	return EXIT_SUCCESS;
}
