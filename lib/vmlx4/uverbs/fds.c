/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "uverbs.h"

_Atomic uint8_t vmlx4_fd_kinds[VMLX4_FDS];
static void *objects[VMLX4_FDS];
static int top; /* no descriptor from here on was ever ours */

int
vmlx4_fd_set(int fd, enum vmlx4_fd_kind kind, void *object)
{
	if ((unsigned int)fd >= VMLX4_FDS)
		return -EMFILE;
	objects[fd] = object;
	if (fd >= top)
		top = fd + 1;
	atomic_store_explicit(&vmlx4_fd_kinds[fd], kind, memory_order_release);
	return 0;
}

int
vmlx4_fd_of(const void *object)
{
	int fd;

	for (fd = 0; fd < top; fd++)
		if (vmlx4_fd_kind(fd) != VMLX4_FD_NONE && objects[fd] == object)
			return fd;
	return -1;
}

void *
vmlx4_fd_get(int fd, enum vmlx4_fd_kind kind)
{
	return vmlx4_fd_kind(fd) == kind ? objects[fd] : NULL;
}
