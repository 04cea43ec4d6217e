/* SPDX-License-Identifier: BSD-3-Clause */

/* It would turn the definition of open64() into a second open(). */
#undef _FILE_OFFSET_BITS

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../adapter.h"
#include "../sysfs/sysfs.h"
#include "../uverbs/uverbs.h"
#include "next.h"

/*
 * The libc functions through which programs reach the verbs device and the
 * network interfaces. Each passes everything that is not ours to the next
 * definition of its name (which may be a sanitizer's). mmap() needs no help:
 * the device descriptor is a memfd with the pages that the kernel would map.
 *
 * Programs that call the kernel without libc do not see the adapter.
 */

#if __SIZEOF_POINTER__ != 8
#error "struct stat of the kernel and of libc differ on 32-bit machines"
#endif

#define DEVICE_DIR "/dev/infiniband/"
#define DEVICE_PREFIX DEVICE_DIR "uverbs"
#define DEVICE_PATH DEVICE_DIR VMLX4_UVERBS
#define IFNAME_PREFIX "vmlx4p"

/* Socket requests that carry an interface; those below are about the socket. */
#define SIOC_FIRST 0x8910u
#define SIOC_LAST 0x89ffu

/* The declarations promise that paths are not NULL; programs do not keep to it. */
static const char *
any_pointer(const char *path)
{
	__asm__("" : "+r"(path));
	return path;
}

static bool
is_uverbs(const char *path)
{
	path = any_pointer(path);
	return path != NULL && path[0] == '/' && path[1] == 'd' &&
		strncmp(path, DEVICE_PREFIX, strlen(DEVICE_PREFIX)) == 0;
}

static bool
is_device(const char *path)
{
	return is_uverbs(path) && strcmp(path, DEVICE_PATH) == 0 && vmlx4_configured();
}

/* Loaded without the launcher: nothing is ours, and whoever asks shall know. */
static void
explain_once(void)
{
	static atomic_bool told;

	if (!atomic_exchange(&told, true))
		fprintf(stderr, "vmlx4: the adapter has no options; run the program as "
			"\"vmlx4 exec -- PROGRAM\"\n");
}

static int
device_open(int flags)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_require();
	int fd;

	if (adapter == NULL)
		return fail(vmlx4_adapter_inherited() ? -EIO : -ENODEV);
	fd = vmlx4_uverbs_open(adapter, flags);
	return fd < 0 ? fail(fd) : fd;
}

/* A counter of sysfs has the value of the time it is opened, or younger. */
static void
show_counters(const char *path)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	path = any_pointer(path);
	if (adapter == NULL || path == NULL || !vmlx4_counter_file(adapter, path))
		return;
	vmlx4_lock(adapter);
	vmlx4_counters_update(adapter);
	vmlx4_unlock(adapter);
}

/* A file of sysfs may be one that no plain file can stand for. */
static int
opened(const char *path, int fd)
{
	int found;

	if (fd >= 0)
		show_counters(path);
	if (fd >= 0 || errno != ENOENT || !vmlx4_configured())
		return fd;
	found = vmlx4_sysfs_missing(any_pointer(path));
	return found < 0 ? fail(-ENOENT) : found;
}

static bool
takes_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

#define READ_MODE(mode, flags) do { \
	if (takes_mode(flags)) { \
		va_list args_; \
		va_start(args_, flags); \
		mode = va_arg(args_, mode_t); \
		va_end(args_); \
	} \
} while (0)

VMLX4_API int
open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, flags);
	if (is_device(path))
		return device_open(flags);
	if (is_uverbs(path) && !vmlx4_configured())
		explain_once();
	return opened(path, NEXT(open)(path, flags, mode));
}

VMLX4_API int
open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, flags);
	if (is_device(path))
		return device_open(flags);
	if (is_uverbs(path) && !vmlx4_configured())
		explain_once();
	return opened(path, NEXT(open64)(path, flags, mode));
}

VMLX4_API int
openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, flags);
	if (is_device(path))
		return device_open(flags);
	return opened(path, NEXT(openat)(dir, path, flags, mode));
}

VMLX4_API int
openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, flags);
	if (is_device(path))
		return device_open(flags);
	return opened(path, NEXT(openat64)(dir, path, flags, mode));
}

/* libc opens what fopen() names without coming by open(). */
VMLX4_API FILE *
fopen(const char *path, const char *mode)
{
	FILE *file = NEXT(fopen)(path, mode);

	if (file != NULL)
		show_counters(path);
	return file;
}

VMLX4_API FILE *
fopen64(const char *path, const char *mode)
{
	FILE *file = NEXT(fopen64)(path, mode);

	if (file != NULL)
		show_counters(path);
	return file;
}

/* ---- stat: the device is a character device ---- */

static int
device_stat(struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(VMLX4_UVERBS_MAJOR, VMLX4_UVERBS_MINOR);
	st->st_nlink = 1;
	st->st_blksize = 4096;
	return 0;
}

/*
 * By system call: the names libc has for these (and sanitizers call) differ from
 * version to version, and one of them must not lead back here.
 */
static int
real_stat(const char *path, struct stat *st)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static int
real_fstat(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st);
}

static int
any_stat(const char *path, struct stat *st)
{
	struct vmlx4_adapter *adapter;

	if (!is_device(path))
		return real_stat(path, st);
	adapter = vmlx4_adapter_get();
	return adapter != NULL && vmlx4_away(adapter) ? fail(-ENOENT) : device_stat(st);
}

static bool
is_device_fd(int fd)
{
	enum vmlx4_fd_kind kind = vmlx4_fd_kind(fd);

	return kind == VMLX4_FD_CONTEXT || kind == VMLX4_FD_FOREIGN;
}

static int
any_fstat(int fd, struct stat *st)
{
	return is_device_fd(fd) ? device_stat(st) : real_fstat(fd, st);
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout");

VMLX4_API int
stat(const char *path, struct stat *st)
{
	return any_stat(path, st);
}

VMLX4_API int
stat64(const char *path, struct stat64 *st)
{
	return any_stat(path, (struct stat *)st);
}

VMLX4_API int
fstat(int fd, struct stat *st)
{
	return any_fstat(fd, st);
}

VMLX4_API int
fstat64(int fd, struct stat64 *st)
{
	return any_fstat(fd, (struct stat *)st);
}

/* The names before glibc 2.33; no header declares them any more. */
VMLX4_API int __xstat(int version, const char *path, struct stat *st);
VMLX4_API int __xstat64(int version, const char *path, struct stat64 *st);
VMLX4_API int __fxstat(int version, int fd, struct stat *st);
VMLX4_API int __fxstat64(int version, int fd, struct stat64 *st);

int
__xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return any_stat(path, st);
}

int
__xstat64(int version, const char *path, struct stat64 *st)
{
	(void)version;
	return any_stat(path, (struct stat *)st);
}

int
__fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return any_fstat(fd, st);
}

int
__fxstat64(int version, int fd, struct stat64 *st)
{
	(void)version;
	return any_fstat(fd, (struct stat *)st);
}

/* ---- network interfaces ---- */

static bool
is_ifname(const char *name)
{
	name = any_pointer(name);
	return name != NULL && strncmp(name, IFNAME_PREFIX, strlen(IFNAME_PREFIX)) == 0 &&
		vmlx4_configured();
}

static bool
is_ifindex(unsigned int index)
{
	return index >= vmlx4_ifindex(1) && index <= vmlx4_ifindex(VMLX4_MAX_PORTS) &&
		vmlx4_configured();
}

/* Cheap, and false for all that cannot be ours: the adapter is not woken for it. */
static bool
may_be_netdev(unsigned long request, const char *ifreq)
{
	int index;

	if (request < SIOC_FIRST || request > SIOC_LAST || ifreq == NULL)
		return false;
	if (request != SIOCGIFNAME)
		return is_ifname(ifreq + offsetof(struct ifreq, ifr_name));
	memcpy(&index, ifreq + offsetof(struct ifreq, ifr_ifindex), sizeof(index));
	return is_ifindex(index);
}

VMLX4_API int
ioctl(int fd, unsigned long request, ...)
{
	void *arg;
	va_list args;
	int handled = 0;
	int ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	/* No ioctl() interface: the library falls back to write(). */
	if (__builtin_expect(is_device_fd(fd), 0))
		return fail(-ENOTTY);
	if (__builtin_expect(may_be_netdev(request, arg), 0)) {
		ret = vmlx4_netdev_ioctl(vmlx4_adapter_require(), request, arg, &handled);
		if (handled)
			return ret < 0 ? fail(ret) : 0;
	}
	return NEXT(ioctl)(fd, request, arg);
}

VMLX4_API int
socket(int domain, int type, int protocol)
{
	/*
	 * With an InfiniBand core in the kernel its list of devices, however short,
	 * keeps the library from looking into sysfs.
	 */
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && vmlx4_configured())
		return fail(-EPROTONOSUPPORT);
	return NEXT(socket)(domain, type, protocol);
}

VMLX4_API unsigned int
if_nametoindex(const char *name)
{
	unsigned int index = 0;

	if (is_ifname(name))
		index = vmlx4_netdev_nametoindex(vmlx4_adapter_require(), name);
	return index != 0 ? index : NEXT(if_nametoindex)(name);
}

VMLX4_API char *
if_indextoname(unsigned int index, char name[IF_NAMESIZE])
{
	char *found = NULL;

	if (is_ifindex(index))
		found = vmlx4_netdev_indextoname(vmlx4_adapter_require(), index, name);
	return found != NULL ? found : NEXT(if_indextoname)(index, name);
}
