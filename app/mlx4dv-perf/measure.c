/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>

#include "perf.h"

#define WARM_UP 64           /* samples that do not count */
#define KEPT 0.95            /* of the samples: the others were interrupted */
#define COUNTED 16           /* samples whose instructions are counted */

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of a measurement of nothing. */
static uint64_t
timing_overhead(void)
{
	uint64_t took, best = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		uint64_t begin = bench_tsc();

		took = bench_tsc() - begin;
		if (took < best)
			best = took;
	}
	return best;
}

static double
per_packet(const struct perf_case *one, double cost, int packets)
{
	if (!one->empty && packets == 0)
		bench_die("%s: no packet in %d bursts", one->name, PERF_CALLS);
	return cost / (one->empty ? PERF_CALLS : packets);
}

/* Cycles per packet of some bursts. */
static double
sample(const struct perf_case *one, uint64_t overhead)
{
	uint64_t begin, took;
	unsigned int i;
	int packets = 0;

	one->prepare(PERF_CALLS);
	begin = bench_tsc();
	for (i = 0; i < PERF_CALLS; i++)
		packets += one->burst(i);
	took = bench_tsc() - begin;
	one->finish();
	took = took > overhead ? took - overhead : 0;
	return per_packet(one, (double)took, packets);
}

static double
repeat(const struct perf_case *one, const struct perf_options *options, double *values)
{
	unsigned int kept = (unsigned int)(KEPT * options->samples), i;
	uint64_t overhead = timing_overhead();
	double sum = 0;

	for (i = 0; i < options->samples; i++)
		values[i] = sample(one, overhead);
	qsort(values, options->samples, sizeof(values[0]), by_value);
	kept += kept == 0;
	for (i = 0; i < kept; i++)
		sum += values[i];
	return sum / kept;
}

static const struct perf_case *counted;
static int counted_packets;

static int
counted_burst(unsigned int index)
{
	int packets = counted->burst(index);

	counted_packets += packets;
	return packets;
}

static int
nothing(unsigned int index)
{
	(void)index;
	counted_packets += 0;
	return 0;
}

static const struct perf_case idle = { .name = "nothing", .burst = nothing };

static double
instructions(const struct perf_case *one)
{
	uint64_t own, all = 0;
	unsigned int i, call;

	/* What the counting adds, with a call of nothing. */
	counted = &idle;
	own = bench_instructions(counted_burst, 0);
	counted = one;
	counted_packets = 0;
	for (i = 0; i < COUNTED; i++) {
		one->prepare(PERF_CALLS);
		for (call = 0; call < PERF_CALLS; call++)
			all += bench_instructions(counted_burst, call) - own;
		one->finish();
	}
	if (one->empty)
		return (double)all / (COUNTED * PERF_CALLS);
	return per_packet(one, (double)all, counted_packets);
}

void
perf_measure(const char *driver, const struct perf_case *one, const struct perf_options *options)
{
	double *values = calloc(options->samples, sizeof(values[0]));
	unsigned int i;

	if (values == NULL)
		bench_die("no memory for %u samples", options->samples);
	if (!one->open(one, options)) {
		printf("{\"driver\": \"%s\", \"case\": \"%s\", \"skipped\": true}\n", driver,
			one->name);
		free(values);
		return;
	}
	for (i = 0; i < WARM_UP; i++)
		sample(one, 0);
	printf("{\"driver\": \"%s\", \"case\": \"%s\"", driver, one->name);
	if (options->instructions)
		printf(", \"instructions_per_packet\": %.2f", instructions(one));
	if (options->cycles) {
		printf(", \"core_per_tsc\": %.3f, \"cycles\": [", bench_core_ratio());
		for (i = 0; i < options->repeats; i++)
			printf("%s%.2f", i == 0 ? "" : ", ", repeat(one, options, values));
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
	one->close();
	free(values);
}
