/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <string.h>

#include "../hca/guard.h"
#include "../vmlx4.h"
#include "next.h"

/*
 * A program's own handler for SIGSEGV and SIGBUS stays behind the guard's, in
 * whatever order the two came.
 */

UNWATCHED VMLX4_API int
sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	if (__builtin_expect(sig == SIGSEGV || sig == SIGBUS, 0) && vmlx4_guard_installed() &&
			vmlx4_guard_sigaction(sig, act, old))
		return 0;
	return NEXT(sigaction)(sig, act, old);
}

UNWATCHED static bool
guarded_signal(int sig, sighandler_t handler, int flags, sighandler_t *before)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	if ((sig != SIGSEGV && sig != SIGBUS) || !vmlx4_guard_installed() ||
			!vmlx4_guard_sigaction(sig, &act, &old))
		return false;
	*before = old.sa_handler;
	return true;
}

UNWATCHED VMLX4_API sighandler_t
signal(int sig, sighandler_t handler)
{
	sighandler_t before;

	if (guarded_signal(sig, handler, SA_RESTART, &before))
		return before;
	return NEXT(signal)(sig, handler);
}

VMLX4_API sighandler_t
sysv_signal(int sig, sighandler_t handler)
{
	sighandler_t before;

	if (guarded_signal(sig, handler, (int)(SA_RESETHAND | SA_NODEFER), &before))
		return before;
	return NEXT(sysv_signal)(sig, handler);
}

/* What signal() becomes in a program built for System V. */
VMLX4_API sighandler_t __sysv_signal(int sig, sighandler_t handler);

sighandler_t
__sysv_signal(int sig, sighandler_t handler)
{
	return sysv_signal(sig, handler);
}
