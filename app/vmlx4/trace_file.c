/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"
#include "trace/format.h"

/* Nothing, or the trace of an earlier run: it may go. */
static bool
is_trace(const char *name)
{
	char magic[sizeof(VMLX4_TRACE_MAGIC) - 1];
	struct stat st;
	ssize_t got = -1;
	int fd;

	if (lstat(name, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, magic, sizeof(magic));
		close(fd);
	}
	return got == 0 || (got == sizeof(magic) &&
		memcmp(magic, VMLX4_TRACE_MAGIC, sizeof(magic)) == 0);
}

/* The first process of the run makes FILE, the next ones FILE.2, FILE.3 … */
static void
remove_others(const char *name)
{
	char other[PATH_MAX + 16];
	unsigned int i = 2;

	do {
		snprintf(other, sizeof(other), "%s.%u", name, i++);
	} while (is_trace(other) && unlink(other) == 0);
}

bool
try_trace(const struct launch *launch)
{
	const char *name = launch->options.trace_file;
	int fd;

	if (name[0] == '\0')
		return true;
	if (is_trace(name))
		unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0) {
		close(fd);
		unlink(name);
		remove_others(name);
		return true;
	}
	if (errno == EEXIST)
		complain("option trace: \"%s\": is there already, and no trace: name another file",
			name);
	else
		complain("option trace: \"%s\": %s: give a file in a folder that you may write",
			name, strerror(errno));
	return false;
}
