/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Preloaded into a program that looks at the clock as it polls, on a stepped adapter with
 * a completion lag of WAVE: each look is one step, in which the adapter executes what was
 * posted; with every WAVE-th look all that lags behind completes at once.
 *
 * So does a card that is ahead of a program which gets no CPU for a while.
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAVE 64

/* Is this code the program's own? Libraries look at the clock as well, with locks held. */
static bool
is_program(const void *code)
{
	Dl_info own, program;

	return dladdr(code, &own) != 0 && dladdr((void *)getauxval(AT_PHDR), &program) != 0 &&
		own.dli_fbase == program.dli_fbase;
}

int
clock_gettime(clockid_t id, struct timespec *now)
{
	static int (*step)(unsigned int budget);
	static unsigned int looks;
	unsigned int steps;

	if (step == NULL)
		*(void **)&step = dlsym(RTLD_DEFAULT, "vmlx4_step");
	if (step != NULL && is_program(__builtin_return_address(0)))
		for (steps = ++looks % WAVE != 0 ? 1 : WAVE; steps != 0; steps--)
			step(0);
	return (int)syscall(SYS_clock_gettime, id, now);
}
