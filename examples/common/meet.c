/* SPDX-License-Identifier: BSD-3-Clause */

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "meet.h"

int
meet(const char *path, bool serving)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;

	if (fd < 0)
		err(1, "socket");
	if (strlen(path) >= sizeof(name.sun_path))
		errx(2, "'%s' is too long for the name of a socket", path);
	strcpy(name.sun_path, path);
	if (!serving) {
		if (connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
			errx(1, "%s: %s; start the server first", path, strerror(errno));
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0 || listen(fd, 1) != 0)
		errx(1, "%s: %s%s", path, strerror(errno), errno == EADDRINUSE ?
		     "; remove it, unless a server is waiting there" : "");
	printf("waiting at %s\n", path);
	fflush(stdout);
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		err(1, "%s", path);
	unlink(path);
	close(fd);
	return peer;
}

void
exchange(int fd, const void *mine, void *theirs, size_t size)
{
	if (send(fd, mine, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    recv(fd, theirs, size, MSG_WAITALL) != (ssize_t)size)
		errx(1, "the other process has gone");
}

void
wait_for_peer(int fd)
{
	char ready = 0;

	exchange(fd, &ready, &ready, 1);
}

void
part(int fd)
{
	wait_for_peer(fd);
	close(fd);
}
