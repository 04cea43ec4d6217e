/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_INTERNAL_H_
#define DVQ_INTERNAL_H_

/* Shared by the .c files; not installed. */

#include <stddef.h>

struct dvq_error {
	char *text;
	size_t size;    /* 0: not wanted */
};

/* Writes the sentence and returns @err. */
__attribute__((format(printf, 3, 4)))
int dvq_fail(const struct dvq_error *error, int err, const char *format, ...);

/*
 * Is this an object of libmlx4's, or its context when it is a "context"? All objects
 * of verbs begin with their context. -EINVAL: destroyed; -EOPNOTSUPP: of another.
 */
int dvq_check_provider(const char *name, const void *object, const struct dvq_error *error);

/*
 * Read memory that may not be there any more: 0, or -1. Where the system forbids the call
 * nothing can be found out, and the memory is read as it is.
 */
int dvq_read_memory(void *to, const void *from, size_t size);

#endif /* DVQ_INTERNAL_H_ */
