/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "sysfs.h"

/*
 * Files of sysfs that a plain file cannot stand for. The kernel has a type and an
 * interface file for every entry of a GID table, and reading those of an unused
 * entry fails with EINVAL: that is how libibverbs tells it from a kernel without
 * such files, and goes on with the next one.
 */

#define GID_ATTRS "/gid_attrs/"

static bool
is_entry(const char *name)
{
	char *end;
	unsigned long index;

	if (strncmp(name, "types/", 6) != 0 && strncmp(name, "ndevs/", 6) != 0)
		return false;
	name += 6;
	if (*name < '0' || *name > '9')
		return false;
	index = strtoul(name, &end, 10);
	return *end == '\0' && index < VMLX4_GIDS;
}

int
vmlx4_sysfs_missing(const char *path)
{
	const char *root = getenv("SYSFS_PATH");
	const char *attrs;

	if (path == NULL || root == NULL || root[0] == '\0' ||
			strncmp(path, root, strlen(root)) != 0)
		return -ENOENT;
	attrs = strstr(path + strlen(root), GID_ATTRS);
	if (attrs == NULL || !is_entry(attrs + strlen(GID_ATTRS)))
		return -ENOENT;
	/* Of all descriptors that cannot be read this one needs no privilege. */
	return epoll_create1(EPOLL_CLOEXEC);
}
