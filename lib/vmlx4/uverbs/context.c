/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../adapter.h"
#include "../fault/fault.h"
#include "../hca/guard.h"
#include "../profile.h"
#include "../trace/trace.h"
#include "uverbs.h"

/* What mmap() of the real device offers: UAR, BlueFlame, unused, clock. */
#define DEVICE_PAGES 4
#define DEVICE_NAME "vmlx4-uverbs0"

static size_t
device_size(void)
{
	return DEVICE_PAGES * sysconf(_SC_PAGESIZE);
}

static int
context_pages(struct vmlx4_context *ctx, int flags)
{
	ctx->fd = memfd_create(DEVICE_NAME, (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
	if (ctx->fd < 0)
		return -errno;
	if (ftruncate(ctx->fd, device_size()) < 0)
		return -errno;
	ctx->pages = mmap(NULL, device_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ctx->fd, 0);
	if (ctx->pages == MAP_FAILED) {
		ctx->pages = NULL;
		return -errno;
	}
	return 0;
}

/* All but the program's descriptor. */
static void
context_free(struct vmlx4_context *ctx)
{
	if (ctx->pages != NULL)
		munmap(ctx->pages, device_size());
	if (ctx->async_fd >= 0)
		close(ctx->async_fd);
	if (ctx->async_read_fd >= 0)
		close(ctx->async_read_fd);
	free(ctx);
}

static void
context_end(struct vmlx4_context *ctx)
{
	/* Copies of the descriptor (dup()) keep it. */
	ctx->fd = vmlx4_fd_of(ctx);
	if (ctx->fd >= 0)
		return;
	vmlx4_trace_context_close(ctx);
	vmlx4_obj_release_all(ctx);
	if (ctx->ready) {
		TAILQ_REMOVE(&ctx->adapter->contexts, ctx, next);
		ctx->adapter->counts.contexts--;
	}
	context_free(ctx);
}

static void
channel_end(struct vmlx4_channel *channel)
{
	channel->fd = vmlx4_fd_of(channel);
	if (channel->fd < 0 && channel->obj.users == 0)
		vmlx4_channel_release(channel);
}

/* Closed, perhaps behind our back: by a system call, without libc. */
static void
fd_forget(int fd)
{
	struct vmlx4_context *ctx = vmlx4_fd_get(fd, VMLX4_FD_CONTEXT);
	struct vmlx4_channel *channel = vmlx4_fd_get(fd, VMLX4_FD_CHANNEL);

	vmlx4_fd_set(fd, VMLX4_FD_NONE, NULL);
	if (ctx != NULL)
		context_end(ctx);
	else if (channel != NULL)
		channel_end(channel);
}

int
vmlx4_uverbs_open(struct vmlx4_adapter *adapter, int flags)
{
	struct vmlx4_context *ctx;
	int ret;

	if (adapter->options.deny_open)
		return -EACCES;
	if (adapter->faults != NULL && vmlx4_fault_device_dead(adapter))
		return vmlx4_away(adapter) ? -ENOENT : -EIO;
	ctx = vmlx4_zalloc(sizeof(*ctx));
	if (ctx == NULL)
		return -ENOMEM;
	ctx->adapter = adapter;
	ctx->number = __atomic_add_fetch(&adapter->contexts_opened, 1, __ATOMIC_RELAXED);
	ctx->async_fd = -1;
	ctx->async_read_fd = -1;
	TAILQ_INIT(&ctx->objs);
	TAILQ_INIT(&ctx->sqs);
	vmlx4_guard_install();
	ret = context_pages(ctx, flags);
	if (ret == 0) {
		vmlx4_lock(adapter);
		fd_forget(ctx->fd);
		ret = vmlx4_fd_set(ctx->fd, VMLX4_FD_CONTEXT, ctx);
		vmlx4_unlock(adapter);
	}
	if (ret < 0) {
		if (ctx->fd >= 0)
			close(ctx->fd);
		context_free(ctx);
		return ret;
	}
	return ctx->fd;
}

void
vmlx4_uverbs_close(struct vmlx4_adapter *adapter, int fd)
{
	uint32_t contexts;
	bool last;

	vmlx4_life_lock();
	vmlx4_lock(adapter);
	contexts = adapter->counts.contexts;
	fd_forget(fd);
	last = contexts == 1 && adapter->counts.contexts == 0 &&
		!vmlx4_fault_device_returns(adapter);
	vmlx4_unlock(adapter);
	if (last) {
		vmlx4_engine_stop(adapter);
		vmlx4_lock(adapter);
		vmlx4_stats_write(adapter, false);
		vmlx4_unlock(adapter);
	}
	vmlx4_life_unlock();
}

void
vmlx4_uverbs_dup(struct vmlx4_adapter *adapter, int fd, int copy)
{
	enum vmlx4_fd_kind kind;

	vmlx4_lock(adapter);
	kind = vmlx4_fd_kind(fd);
	fd_forget(copy);
	if (kind != VMLX4_FD_NONE && vmlx4_fd_set(copy, kind, vmlx4_fd_get(fd, kind)) < 0)
		fprintf(stderr, "vmlx4: descriptor %d is a copy of %d, which the adapter does "
			"not know: keep them below %d\n", copy, fd, VMLX4_FDS);
	vmlx4_unlock(adapter);
}

/* The same file: a copy that went through a socket. */
static bool
is_of_context(const struct vmlx4_context *ctx, int fd)
{
	struct stat a, b;

	/* By system call: our own fstat() says "character device". */
	return syscall(SYS_fstat, fd, &a) == 0 && syscall(SYS_fstat, ctx->fd, &b) == 0 &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
is_device_file(int fd)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 &&
		strncmp(name, "/memfd:" DEVICE_NAME, strlen("/memfd:" DEVICE_NAME)) == 0;
}

void
vmlx4_uverbs_received(struct vmlx4_adapter *adapter, int fd)
{
	struct vmlx4_context *ctx = NULL;

	if (!is_device_file(fd))
		return;
	if (adapter == NULL) {
		vmlx4_fd_set(fd, VMLX4_FD_FOREIGN, NULL);
		return;
	}
	vmlx4_lock(adapter);
	TAILQ_FOREACH(ctx, &adapter->contexts, next)
		if (is_of_context(ctx, fd))
			break;
	fd_forget(fd);
	vmlx4_fd_set(fd, ctx != NULL ? VMLX4_FD_CONTEXT : VMLX4_FD_FOREIGN, ctx);
	vmlx4_unlock(adapter);
}

static int
context_begin(struct vmlx4_context *ctx, int *async_fd)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	int fd[3];
	int ret;

	ret = vmlx4_event_fds(fd);
	if (ret < 0)
		return ret;
	*async_fd = fd[0];
	ctx->async_fd = fd[1];
	ctx->async_read_fd = fd[2];
	ctx->ready = true;
	TAILQ_INSERT_TAIL(&adapter->contexts, ctx, next);
	adapter->counts.contexts++;
	/* It also goes on without a context where a device is to come back. */
	if (adapter->engine != NULL)
		return 0;
	ret = vmlx4_engine_start(adapter);
	if (ret == 0)
		return 0;
	TAILQ_REMOVE(&adapter->contexts, ctx, next);
	adapter->counts.contexts--;
	ctx->ready = false;
	close(fd[0]);
	close(fd[1]);
	close(fd[2]);
	ctx->async_fd = -1;
	ctx->async_read_fd = -1;
	return ret;
}

/* The caller holds the life lock: the engine may start here. */
int
vmlx4_cmd_get_context(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	const struct vmlx4_adapter *adapter = ctx->adapter;
	struct ib_uverbs_get_context_resp reply = { 0 };
	struct mlx4_ib_alloc_ucontext_resp driver = { 0 };
	int async_fd;
	int ret;

	if (ctx->ready)
		return -EINVAL;
	ret = context_begin(ctx, &async_fd);
	if (ret < 0)
		return ret;
	vmlx4_clock_update(ctx->adapter);
	reply.async_fd = async_fd;
	reply.num_comp_vectors = VMLX4_COMP_VECTORS;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	if (adapter->options.cqe_size == 64)
		driver.dev_caps = MLX4_USER_DEV_CAP_LARGE_CQE;
	driver.qp_tab_size = VMLX4_QP_TABLE;
	driver.bf_reg_size = adapter->profile->bf_reg_size;
	driver.bf_regs_per_page = adapter->profile->bf_regs_per_page;
	driver.cqe_size = adapter->options.cqe_size;
	vmlx4_cmd_drv_out(cmd, &driver, sizeof(driver));
	return 0;
}
