/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_MEET_H_
#define EXAMPLES_MEET_H_

/* Two processes find each other at a socket of the file system. */

#include <stdbool.h>
#include <stddef.h>

/* Returns the connected socket. The one that serves is there first, and waits. */
int meet(const char *path, bool serving);
/* Both send, and both receive, the same number of bytes. */
void exchange(int fd, const void *mine, void *theirs, size_t size);
/* Returns when the other process has come to the same point. */
void wait_for_peer(int fd);
/* The same, and it is the last one. */
void part(int fd);

#endif /* EXAMPLES_MEET_H_ */
