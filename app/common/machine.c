/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <string.h>
#include <x86intrin.h>

#include "bench.h"

#define CHAIN 20000u        /* multiplications */
#define CHAIN_LATENCY 3.0   /* cycles of each: AMD since Zen, Intel since Nehalem */

/*
 * Virtual machines seldom have performance counters, and the TSC does not run
 * at the speed of the core. A chain of multiplications, each of which waits for
 * the one before it, tells how the two compare.
 */

uint64_t
bench_tsc(void)
{
	unsigned int cpu;
	uint64_t tsc = __rdtscp(&cpu);

	_mm_lfence();
	return tsc;
}

double
bench_core_ratio(void)
{
	uint64_t begin, took, best = UINT64_MAX, value = 3;
	unsigned int i, attempt;

	/* The fastest of some: the others were interrupted. */
	for (attempt = 0; attempt < 5; attempt++) {
		begin = bench_tsc();
		for (i = 0; i < CHAIN / 10; i++)
			__asm__ volatile(
				"imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
				"imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
				"imul %0, %0\n imul %0, %0" : "+r"(value));
		took = bench_tsc() - begin;
		if (took < best)
			best = took;
	}
	return CHAIN * CHAIN_LATENCY / (double)best;
}

/* ---- instructions ---- */

#define TRAP_FLAG 0x100

static volatile uint64_t trapped;

static void
on_trap(int signal)
{
	(void)signal;
	trapped++;
}

static inline void
trap_flag(bool on)
{
	uint64_t flags = __readeflags();

	__writeeflags(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

static int
call_nothing(unsigned int argument)
{
	return (int)argument;
}

static uint64_t
count_one(int (*call)(unsigned int), unsigned int argument)
{
	trapped = 0;
	trap_flag(true);
	call(argument);
	trap_flag(false);
	return trapped;
}

uint64_t
bench_instructions(int (*call)(unsigned int), unsigned int argument)
{
	struct sigaction action = { .sa_handler = on_trap }, before;
	int (*volatile nothing)(unsigned int) = call_nothing;
	uint64_t own, all;

	sigaction(SIGTRAP, &action, &before);
	own = count_one(nothing, argument);
	all = count_one(call, argument);
	sigaction(SIGTRAP, &before, NULL);
	return all - own;
}
