/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "guard.h"

#define PAGE 4096u
#define FAULT_WRITES 2 /* in the error code of the processor's page fault */

struct guard {
	sigjmp_buf env;
	struct guard *outer;
	const struct vmlx4_adapter *adapter; /* whose objects the fault may be in, … */
	uint64_t start, end;                 /* … or NULL: an address in here */
	uint64_t addr;                       /* where it was */
	bool write;
};

/* No dynamic TLS: the handler may not allocate. */
static __thread struct guard *current __attribute__((tls_model("initial-exec")));

/* Orders for the handler, in the same thread: it sees the guard, or none. */
static void
set_current(struct guard *guard)
{
	atomic_signal_fence(memory_order_seq_cst);
	current = guard;
	atomic_signal_fence(memory_order_seq_cst);
}

/* The signals, and what the program would have happen on them. */
static const int signals[] = { SIGSEGV, SIGBUS };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction chained[SIGNALS];
static pthread_mutex_t chained_lock = PTHREAD_MUTEX_INITIALIZER;
bool vmlx4_guard_is_installed;

typedef int sigaction_function(int sig, const struct sigaction *act, struct sigaction *old);

/* Behind our own sigaction() (preload/signals.c), if that is loaded. */
static sigaction_function *
next_sigaction(void)
{
	static sigaction_function *next;
	sigaction_function *found = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (found == NULL) {
		found = (sigaction_function *)dlsym(RTLD_NEXT, "sigaction");
		if (found == NULL)
			abort();
		__atomic_store_n(&next, found, __ATOMIC_RELAXED);
	}
	return found;
}

static int
signal_index(int sig)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (signals[i] == sig)
			return (int)i;
	return -1;
}

/* ---- faults that are not ours ---- */

/* The default: let the fault happen again, or send again what a process sent. */
static void
default_action(int sig, const siginfo_t *info)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	next_sigaction()(sig, &act, NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

static void
chain(int sig, siginfo_t *info, void *context)
{
	struct sigaction *slot = &chained[signal_index(sig)], act = *slot;
	sigset_t mask, old;

	/* To ignore a fault is not possible; a kernel ends the process then. */
	if ((act.sa_flags & SA_SIGINFO) == 0 && (act.sa_handler == SIG_DFL ||
			(act.sa_handler == SIG_IGN && info->si_code > 0))) {
		default_action(sig, info);
		return;
	}
	if ((act.sa_flags & SA_SIGINFO) == 0 && act.sa_handler == SIG_IGN)
		return;
	if ((act.sa_flags & (int)SA_RESETHAND) != 0)
		*slot = (struct sigaction){ .sa_handler = SIG_DFL };
	mask = act.sa_mask;
	if ((act.sa_flags & SA_NODEFER) == 0)
		sigaddset(&mask, sig);
	pthread_sigmask(SIG_BLOCK, &mask, &old);
	if ((act.sa_flags & SA_SIGINFO) != 0)
		act.sa_sigaction(sig, info, context);
	else
		act.sa_handler(sig);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- faults that are ---- */

static bool
is_write(const void *context)
{
	const ucontext_t *user = context;

	return (user->uc_mcontext.gregs[REG_ERR] & FAULT_WRITES) != 0;
}

static bool
is_ours(const struct guard *guard, const siginfo_t *info)
{
	uint64_t addr = (uintptr_t)info->si_addr;

	/* si_code > 0: of the processor, not sent by a process. */
	if (guard == NULL || info->si_code <= 0)
		return false;
	if (guard->adapter != NULL)
		return vmlx4_unmapped_ours(guard->adapter, addr);
	/* An address that no program can have is not told. */
	return info->si_code == SI_KERNEL || (addr >= guard->start && addr < guard->end);
}

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	struct guard *guard = current;

	if (!is_ours(guard, info)) {
		chain(sig, info, context);
		return;
	}
	guard->addr = (uintptr_t)info->si_addr;
	guard->write = is_write(context);
	siglongjmp(guard->env, 1);
}

void
vmlx4_guard_install(void)
{
	/*
	 * SA_NODEFER: the handler is left by a jump that restores no signal mask.
	 * SA_ONSTACK: a program that has a stack for its handler keeps it.
	 */
	struct sigaction act = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};
	size_t i;

	pthread_mutex_lock(&chained_lock);
	for (i = 0; i < SIGNALS; i++) {
		struct sigaction before;

		/* Another handler came past our sigaction(): behind it we catch nothing. */
		next_sigaction()(signals[i], NULL, &before);
		if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == on_fault)
			continue;
		chained[i] = before;
		next_sigaction()(signals[i], &act, NULL);
	}
	__atomic_store_n(&vmlx4_guard_is_installed, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&chained_lock);
}

bool
vmlx4_guard_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int i = signal_index(sig);
	struct sigaction before;

	if (i < 0 || !vmlx4_guard_installed())
		return false;
	pthread_mutex_lock(&chained_lock);
	before = chained[i];
	if (act != NULL)
		chained[i] = *act;
	if (old != NULL)
		*old = before;
	pthread_mutex_unlock(&chained_lock);
	return true;
}

/* ---- guards ---- */

bool
vmlx4_guarded(struct vmlx4_adapter *adapter, void (*run)(void *arg), void *arg)
{
	struct guard guard;

	guard.adapter = adapter;
	guard.outer = current;
	/* Without the signal mask it is no system call: this runs once a pass. */
	if (__builtin_expect(sigsetjmp(guard.env, 0) == 0, 1)) {
		set_current(&guard);
		run(arg);
		set_current(guard.outer);
		return true;
	}
	set_current(guard.outer);
	vmlx4_unmapped(adapter, guard.addr, guard.write);
	return false;
}

struct copy {
	void *to;
	const void *from;
	size_t size;
};

/* Run under a guard for an address range. */
static bool
guarded_range(const void *start, size_t size, void (*run)(const struct copy *copy),
	const struct copy *copy)
{
	struct guard guard;

	guard.adapter = NULL;
	guard.start = (uintptr_t)start;
	guard.end = guard.start + size;
	guard.outer = current;
	if (sigsetjmp(guard.env, 0) != 0) {
		set_current(guard.outer);
		return false;
	}
	set_current(&guard);
	run(copy);
	set_current(guard.outer);
	return true;
}

/*
 * By instruction: what a sanitizer adds to a plain access looks into its shadow of
 * the address first, and faults there.
 */
static void
copy_run(const struct copy *copy)
{
	void *to = copy->to;
	const void *from = copy->from;
	size_t size = copy->size;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

bool
vmlx4_guard_copy(void *to, const void *from, size_t size)
{
	struct copy copy = { to, from, size };

	/* No program has memory up to the last address. */
	return (uintptr_t)from + size > (uintptr_t)from &&
		guarded_range(from, size, copy_run, &copy);
}

/* What another thread writes there meanwhile stays. */
static void
touch_run(const struct copy *copy)
{
	uint8_t *at = copy->to, *end = at + copy->size;

	while (at < end) {
		__asm__ volatile("lock orb $0, %0" : "+m"(*at));
		at = (uint8_t *)(((uintptr_t)at | (PAGE - 1)) + 1);
	}
}

bool
vmlx4_guard_writable(void *to, size_t size)
{
	struct copy copy = { .to = to, .size = size };

	return (uintptr_t)to + size > (uintptr_t)to && guarded_range(to, size, touch_run, &copy);
}
