/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_GUARD_H_
#define VMLX4_GUARD_H_

/*
 * Memory that the program took away. A kernel pins what is registered, so that a
 * card never meets a page that is gone; the adapter shares the program's address
 * space and does. What touches the program's memory runs under a guard, which
 * ends the access instead of the process; faults of everybody else go on to the
 * handler that was there.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmlx4_adapter;

/* Catch SIGSEGV and SIGBUS from now on; when that is so already, nothing changes. */
void vmlx4_guard_install(void);

extern bool vmlx4_guard_is_installed;

__attribute__((no_sanitize("thread"))) static inline bool
vmlx4_guard_installed(void)
{
	return __atomic_load_n(&vmlx4_guard_is_installed, __ATOMIC_ACQUIRE);
}

/*
 * Run a function that touches queues, records or buffers of the program. False:
 * it met memory that is gone and was left in the middle; the object that the
 * memory belongs to was put into its error state. The adapter is locked.
 */
bool vmlx4_guarded(struct vmlx4_adapter *adapter, void (*run)(void *arg), void *arg);

/* memcpy() of the program's memory; false: a part of it is not there. */
bool vmlx4_guard_copy(void *to, const void *from, size_t size);
/* Is all of it there to be written? Nothing changes. */
bool vmlx4_guard_writable(void *to, size_t size);

/*
 * sigaction() of the program for a signal that the guard catches: it is kept
 * and called for faults that are not ours. False: not such a signal, or no guard
 * installed yet.
 */
bool vmlx4_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* ---- unmapped.c ---- */

/* Does the address belong to something of the program that the adapter uses? */
bool vmlx4_unmapped_ours(const struct vmlx4_adapter *adapter, uint64_t addr);
/* What follows of a fault there: an error completion, an event, a report. */
void vmlx4_unmapped(struct vmlx4_adapter *adapter, uint64_t addr, bool write);

#endif /* VMLX4_GUARD_H_ */
