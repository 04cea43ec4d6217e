/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_NEXT_H_
#define VMLX4_NEXT_H_

/* What the interposed functions share. */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/*
 * The next definition of a function that we define: libc's, or a sanitizer's.
 * Resolved on first use: programs call these functions before constructors run.
 * Two threads that resolve one at a time store the same address.
 */
#define NEXT(name) ({ \
	static __typeof__(&name) next_; \
	__typeof__(&name) found_ = __atomic_load_n(&next_, __ATOMIC_RELAXED); \
	if (found_ == NULL) { \
		found_ = (__typeof__(&name))next_symbol(#name); \
		__atomic_store_n(&next_, found_, __ATOMIC_RELAXED); \
	} \
	found_; \
})

/* For what ThreadSanitizer calls while it starts: it cannot watch itself yet. */
#define UNWATCHED __attribute__((no_sanitize("thread")))

UNWATCHED static inline void *
next_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL)
		abort();
	return symbol;
}

/* errno and -1 of a negative errno. */
static inline int
fail(int ret)
{
	errno = -ret;
	return -1;
}

#endif /* VMLX4_NEXT_H_ */
