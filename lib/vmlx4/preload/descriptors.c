/* SPDX-License-Identifier: BSD-3-Clause */

/* It would turn the definition of fcntl64() into a second fcntl(). */
#undef _FILE_OFFSET_BITS

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../adapter.h"
#include "../uverbs/uverbs.h"
#include "netlink.h"
#include "next.h"

/*
 * Commands, and the life of the descriptors they are written to: a context lives
 * until its last descriptor is closed, however many copies were made of it.
 */

/* ---- commands ---- */

VMLX4_API ssize_t
write(int fd, const void *buffer, size_t count)
{
	enum vmlx4_fd_kind kind = vmlx4_fd_kind(fd);
	struct vmlx4_adapter *adapter;
	ssize_t ret;

	if (__builtin_expect(kind != VMLX4_FD_CONTEXT && kind != VMLX4_FD_FOREIGN, 1))
		return NEXT(write)(fd, buffer, count);
	adapter = kind == VMLX4_FD_CONTEXT ? vmlx4_adapter_get() : NULL;
	/* It came over fork() or from another process: no engine on this side. */
	ret = adapter != NULL ? vmlx4_uverbs_write(adapter, fd, buffer, count) : -EIO;
	return ret < 0 ? fail(ret) : ret;
}

/* A command per part, as the kernel does it. */
VMLX4_API ssize_t
writev(int fd, const struct iovec *iov, int count)
{
	enum vmlx4_fd_kind kind = vmlx4_fd_kind(fd);
	ssize_t done = 0, ret;
	int i;

	if (__builtin_expect(kind != VMLX4_FD_CONTEXT && kind != VMLX4_FD_FOREIGN, 1))
		return NEXT(writev)(fd, iov, count);
	if (count < 0 || count > IOV_MAX)
		return fail(-EINVAL);
	for (i = 0; i < count; i++) {
		ret = write(fd, iov[i].iov_base, iov[i].iov_len);
		if (ret < 0)
			return done > 0 ? done : ret;
		done += ret;
	}
	return done;
}

/* ---- the end of a descriptor ---- */

static bool
is_known(int fd)
{
	return __builtin_expect(vmlx4_fd_kind(fd) != VMLX4_FD_NONE, 0);
}

static void
forget(int fd)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter != NULL)
		vmlx4_uverbs_close(adapter, fd);
	else if (vmlx4_adapter_forked() || !vmlx4_adapter_inherited())
		/* A child closes its copy; the parent's context lives on. */
		vmlx4_fd_set(fd, VMLX4_FD_NONE, NULL);
}

VMLX4_API int
close(int fd)
{
	if (is_known(fd))
		forget(fd);
	vmlx4_netlink_closed(fd);
	return NEXT(close)(fd);
}

static void
forget_range(unsigned int first, unsigned int last)
{
	unsigned int fd;

	for (fd = first; fd <= last && fd < VMLX4_FDS; fd++)
		if (is_known((int)fd))
			forget((int)fd);
}

VMLX4_API int
close_range(unsigned int first, unsigned int last, int flags)
{
	if (first <= last && flags == 0)
		forget_range(first, last);
	return NEXT(close_range)(first, last, flags);
}

VMLX4_API void
closefrom(int first)
{
	forget_range(first > 0 ? (unsigned int)first : 0, UINT_MAX);
	NEXT(closefrom)(first);
}

/* ---- copies ---- */

static int
copied(int fd, int copy)
{
	struct vmlx4_adapter *adapter;

	if (copy < 0 || copy == fd || (!is_known(fd) && !is_known(copy)))
		return copy;
	adapter = vmlx4_adapter_get();
	if (adapter != NULL)
		vmlx4_uverbs_dup(adapter, fd, copy);
	else if (vmlx4_adapter_forked() || !vmlx4_adapter_inherited())
		vmlx4_fd_set(copy, vmlx4_fd_kind(fd), vmlx4_fd_get(fd, vmlx4_fd_kind(fd)));
	return copy;
}

VMLX4_API int
dup(int fd)
{
	return copied(fd, NEXT(dup)(fd));
}

VMLX4_API int
dup2(int fd, int copy)
{
	return copied(fd, NEXT(dup2)(fd, copy));
}

VMLX4_API int
dup3(int fd, int copy, int flags)
{
	return copied(fd, NEXT(dup3)(fd, copy, flags));
}

#define FCNTL(name) \
VMLX4_API int \
name(int fd, int command, ...) \
{ \
	va_list args; \
	void *arg; \
	int ret; \
\
	va_start(args, command); \
	arg = va_arg(args, void *); \
	va_end(args); \
	ret = NEXT(name)(fd, command, arg); \
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) \
		copied(fd, ret); \
	return ret; \
}

FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- descriptors that arrive in a message ---- */

static void
received(const struct msghdr *message)
{
	struct cmsghdr *part;
	size_t at;
	int fd;

	for (part = CMSG_FIRSTHDR(message); part != NULL;
			part = CMSG_NXTHDR((struct msghdr *)(uintptr_t)message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (at = 0; CMSG_LEN(at + sizeof(fd)) <= part->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
			vmlx4_uverbs_received(vmlx4_adapter_get(), fd);
		}
	}
}

VMLX4_API ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t ret;

	if (vmlx4_netlink_receive(fd, message, flags, &ret))
		return ret;
	ret = NEXT(recvmsg)(fd, message, flags);
	if (ret >= 0 && message->msg_controllen != 0)
		received(message);
	return ret;
}
