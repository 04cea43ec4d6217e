/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uverbs.h"

/*
 * Whether memory could be pinned is read from /proc/self/maps: nothing is
 * touched, so a program's untouched gigabytes stay untouched. The limit on locked
 * memory is a matter of privileges.c.
 */

struct walk {
	uint64_t at, end; /* what is still to be covered */
	bool writable;    /* what is covered */
	bool failed;
};

/* One line "start-end rwxp …"; false once the answer is known. */
static bool
walk_line(struct walk *walk, const char *line)
{
	char *rest;
	unsigned long start = strtoul(line, &rest, 16), end;

	if (*rest != '-')
		return true;
	end = strtoul(rest + 1, &rest, 16);
	if (rest[0] != ' ' || end <= walk->at)
		return true;
	if (start > walk->at || rest[1] != 'r') {
		walk->failed = true;
		return false;
	}
	walk->writable = walk->writable && rest[2] == 'w';
	walk->at = end;
	return walk->at < walk->end;
}

int
vmlx4_memory_look(uint64_t start, uint64_t length, bool *writable)
{
	struct walk walk = { .at = start, .end = start + length, .writable = true };
	char buffer[8192 + 1];
	size_t have = 0;
	bool more = true;
	int fd;

	if (walk.end < start)
		return -EFAULT;
	*writable = true;
	if (length == 0)
		return 0;
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (more) {
		ssize_t got = read(fd, buffer + have, sizeof(buffer) - 1 - have);
		char *line = buffer, *end;

		if (got <= 0)
			break;
		have += got;
		buffer[have] = '\0';
		while (more && (end = strchr(line, '\n')) != NULL) {
			*end = '\0';
			more = walk_line(&walk, line);
			line = end + 1;
		}
		have -= line - buffer;
		memmove(buffer, line, have);
	}
	close(fd);
	*writable = walk.writable;
	return walk.failed || walk.at < walk.end ? -EFAULT : 0;
}

int
vmlx4_memory_check(uint64_t start, uint64_t length)
{
	bool writable;
	int ret = vmlx4_memory_look(start, length, &writable);

	return ret == 0 && !writable ? -EFAULT : ret;
}

int
vmlx4_memory_check_queue(uint64_t start, uint64_t length)
{
	if (start % sysconf(_SC_PAGESIZE) != 0)
		return -EINVAL;
	return vmlx4_memory_check(start, length);
}

int
vmlx4_memory_check_db(uint64_t start, uint64_t length)
{
	if (start % length != 0)
		return -EINVAL;
	return vmlx4_memory_check(start, length);
}
