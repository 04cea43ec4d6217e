/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>

#include "perf.h"

#define WARM_UP 64           /* samples that do not count */
#define KEPT 0.95            /* of the samples: the others were interrupted */

static int
nothing(unsigned int index)
{
	(void)index;
	return 0;
}

/* Bursts timed together: of empty ones so many that the steps of the TSC do not matter. */
static unsigned int
timed_calls(const struct perf_case *one, const struct perf_options *options)
{
	return one->empty ? PERF_EMPTY_CALLS : options->calls;
}

/* Cycles of so many calls, and the packets that they moved. */
static uint64_t
timed(const struct perf_case *one, int (*burst)(unsigned int index), unsigned int calls,
      int *packets)
{
	/* Empty ones are all the first: they move nothing. */
	const unsigned int next = one->empty ? 0 : 1;
	uint64_t begin = bench_tsc();
	unsigned int i, index;

	for (i = 0, index = 0; i < calls; i++, index += next)
		*packets += burst(index);
	return bench_tsc() - begin;
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
per_packet(const struct perf_case *one, double cost, int packets, unsigned int calls)
{
	if (!one->empty && packets == 0)
		bench_die("%s: no packet in %u bursts", one->name, calls);
	return cost / (one->empty ? (int)calls : packets);
}

/*
 * Cycles per packet of some bursts. Next to empty ones the loop and the call are not nothing:
 * they are timed with a function that returns at once, right before, as the processor may be
 * slower a moment later.
 */
static double
sample(const struct perf_case *one, const struct perf_options *options, uint64_t overhead)
{
	const unsigned int calls = timed_calls(one, options);
	uint64_t took;
	int packets = 0;

	one->prepare(calls);
	if (one->empty && one->idle != NULL)
		overhead = timed(one, one->idle, calls, &packets);
	took = timed(one, one->burst, calls, &packets);
	one->finish();
	took = took > overhead ? took - overhead : 0;
	return per_packet(one, (double)took, packets, calls);
}

static double
repeat(const struct perf_case *one, const struct perf_options *options, double *values)
{
	unsigned int kept = (unsigned int)(KEPT * options->samples), first, i;
	uint64_t overhead = timing_overhead();
	double sum = 0;

	for (i = 0; i < options->samples; i++)
		values[i] = sample(one, options, overhead);
	qsort(values, options->samples, sizeof(values[0]), bench_by_value);
	kept += kept == 0;
	/* Of the difference of two times the least are of interrupted ones as well. */
	first = one->empty ? options->samples - kept : 0;
	first -= first == kept;
	for (i = first; i < kept; i++)
		sum += values[i];
	return sum / (kept - first);
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

/* What the counting adds, and the case itself around its driver. */
static uint64_t
instructions_apart(const struct perf_case *one)
{
	struct perf_case idle = { .burst = one->idle != NULL ? one->idle : nothing };

	counted = &idle;
	return bench_instructions(counted_burst, 0);
}

static double
instructions(const struct perf_case *one, const struct perf_options *options)
{
	uint64_t own, all = 0;
	unsigned int i, call;

	own = instructions_apart(one);
	counted = one;
	counted_packets = 0;
	for (i = 0; i < options->counted; i++) {
		one->prepare(options->calls);
		for (call = 0; call < options->calls; call++)
			all += bench_instructions(counted_burst, call) - own;
		one->finish();
	}
	return per_packet(one, (double)all, counted_packets, options->counted * options->calls);
}

static double *
room_for(unsigned int values)
{
	double *room = calloc(values, sizeof(room[0]));

	if (room == NULL)
		bench_die("no memory for %u values", values);
	return room;
}

/* The line comes when all is measured: a run that ends early leaves no half of one. */
static void
measure(const char *driver, const struct perf_case *one, const struct perf_options *options)
{
	double *values = room_for(options->samples), *repeats = room_for(options->repeats);
	double count = 0;
	unsigned int i;

	for (i = 0; i < WARM_UP; i++)
		sample(one, options, 0);
	if (options->instructions)
		count = instructions(one, options);
	for (i = 0; options->cycles && i < options->repeats; i++)
		repeats[i] = repeat(one, options, values);
	printf("{\"driver\": \"%s\", \"case\": \"%s\"", driver, one->name);
	if (options->instructions)
		printf(", \"instructions_per_packet\": %.2f", count);
	if (options->cycles) {
		printf(", \"calls\": %u, \"core_per_tsc\": %.3f, \"cycles\": [",
			timed_calls(one, options), bench_core_ratio());
		for (i = 0; i < options->repeats; i++)
			printf("%s%.2f", i == 0 ? "" : ", ", repeats[i]);
		printf("]");
	}
	printf("}\n");
	free(repeats);
	free(values);
}

void
perf_measure(const char *driver, const struct perf_case *one, const struct perf_options *options)
{
	const char *why_not = one->open(one, options);

	if (why_not == NULL) {
		measure(driver, one, options);
		one->close();
	} else {
		printf("{\"driver\": \"%s\", \"case\": \"%s\", \"skipped\": \"%s\"}\n", driver,
			one->name, why_not);
	}
	fflush(stdout);
}
