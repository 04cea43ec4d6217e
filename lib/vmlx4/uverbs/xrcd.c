/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uverbs.h"

/*
 * XRC domains. Programs share one by a file that all of them open: its inode is the
 * name of the domain. A kernel lets other processes in; here it is the contexts of
 * one process, which an adapter does not reach beyond.
 */

#define XRCDN_FIRST 1u /* 0 is reserved */
#define NO_FILE UINT32_MAX

/* The next handle of a context from this one on that is a domain's. */
static struct vmlx4_xrcd *
next_domain(struct vmlx4_obj *obj)
{
	while (obj != NULL && obj->type != VMLX4_XRCD)
		obj = TAILQ_NEXT(obj, next);
	return (struct vmlx4_xrcd *)(void *)obj;
}

#define FOREACH_DOMAIN(ctx, adapter, xrcd) \
	TAILQ_FOREACH(ctx, &(adapter)->contexts, next) \
		for ((xrcd) = next_domain(TAILQ_FIRST(&(ctx)->objs)); (xrcd) != NULL; \
		     (xrcd) = next_domain(TAILQ_NEXT(&(xrcd)->obj, next)))

static struct vmlx4_xrcd *
find_file(const struct vmlx4_adapter *adapter, const struct stat *st)
{
	struct vmlx4_context *ctx;
	struct vmlx4_xrcd *xrcd;

	FOREACH_DOMAIN(ctx, adapter, xrcd)
		if (xrcd->file && xrcd->device == st->st_dev && xrcd->inode == st->st_ino)
			return xrcd;
	return NULL;
}

static uint32_t
free_number(const struct vmlx4_adapter *adapter)
{
	struct vmlx4_context *ctx;
	struct vmlx4_xrcd *xrcd;
	uint32_t number = XRCDN_FIRST;

	FOREACH_DOMAIN(ctx, adapter, xrcd)
		if (xrcd->xrcdn >= number)
			number = xrcd->xrcdn + 1;
	return number;
}

/* The domain of the file, if there is one yet: *shared. */
static int
look_at_file(const struct vmlx4_adapter *adapter, const struct ib_uverbs_open_xrcd *request,
	struct stat *st, const struct vmlx4_xrcd **shared)
{
	/* By system call: our own fstat() has its say on descriptors of the device. */
	if (syscall(SYS_fstat, request->fd, st) < 0)
		return -EBADF;
	*shared = find_file(adapter, st);
	if (*shared == NULL && (request->oflags & O_CREAT) == 0)
		return -EAGAIN;
	return *shared != NULL && (request->oflags & O_EXCL) != 0 ? -EINVAL : 0;
}

int
vmlx4_cmd_open_xrcd(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	const struct vmlx4_xrcd *shared = NULL;
	struct ib_uverbs_open_xrcd_resp reply;
	struct ib_uverbs_open_xrcd request;
	struct vmlx4_xrcd *xrcd;
	struct stat st;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0 && request.fd != NO_FILE)
		ret = look_at_file(ctx->adapter, &request, &st, &shared);
	if (ret < 0)
		return ret;
	xrcd = vmlx4_obj_new(ctx, VMLX4_XRCD, sizeof(*xrcd));
	if (xrcd == NULL)
		return -ENOMEM;
	xrcd->xrcdn = shared != NULL ? shared->xrcdn : free_number(ctx->adapter);
	if (request.fd != NO_FILE) {
		xrcd->file = true;
		xrcd->device = st.st_dev;
		xrcd->inode = st.st_ino;
	}
	reply.xrcd_handle = xrcd->obj.handle;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

void
vmlx4_xrcd_release(struct vmlx4_xrcd *xrcd)
{
	vmlx4_obj_free(&xrcd->obj);
}

int
vmlx4_cmd_close_xrcd(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_close_xrcd request;
	struct vmlx4_xrcd *xrcd;
	int ret;

	ret = vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (ret == 0)
		ret = vmlx4_obj_find_idle(ctx, request.xrcd_handle, VMLX4_XRCD, &xrcd);
	if (ret < 0)
		return ret;
	vmlx4_xrcd_release(xrcd);
	return 0;
}
