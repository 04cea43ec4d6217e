/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../trace/trace.h"
#include "uverbs.h"

/*
 * An event descriptor is one end of a SOCK_SEQPACKET pair: it reads, polls and
 * takes O_NONBLOCK like the kernel's, an event is one message, and with a copy
 * of the program's end we can take back what it has not read.
 */

#define EVENT_ROOM (4 << 20) /* asked for; the kernel may grant less */
/* More than ever wait: the kernel takes twice the room for itself, 768 bytes for each. */
#define EVENTS_MOST (2 * EVENT_ROOM / 512)
#define LOST_LINES 10

int
vmlx4_event_fds(int fd[3])
{
	int room = EVENT_ROOM;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return -errno;
	fd[2] = fcntl(fd[0], F_DUPFD_CLOEXEC, 0);
	if (fd[2] < 0 || fd[0] >= VMLX4_FDS) {
		int ret = fd[2] < 0 ? -errno : -EMFILE;

		if (fd[2] >= 0)
			close(fd[2]);
		close(fd[0]);
		close(fd[1]);
		return ret;
	}
	setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return 0;
}

/*
 * The adapter is locked, and a pipe that nobody reads blocks who writes to it: a
 * few lines, however many events.
 */
static void
complain_lost(const char *what, int err)
{
	static unsigned int lines;

	if (lines < LOST_LINES)
		fprintf(stderr, "vmlx4: %s event lost: %s; the program must read its events%s\n",
			what, strerror(err), ++lines == LOST_LINES ?
			" (of more that are lost nothing is said)" : "");
}

static bool
event_send(int fd, const void *event, size_t size, const char *what)
{
	if (send(fd, event, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
		return true;
	/* Nobody reads any more: there is nobody to miss it. */
	if (errno != EPIPE && errno != ECONNRESET)
		complain_lost(what, errno);
	return false;
}

/*
 * Take every unread event out and put those back that are to stay. A reader in
 * another thread may see "nothing yet" in between, never a wrong event. Without
 * memory of its own: one that is taken out and lost, or stays and is counted as
 * read, leaves the program waiting for ever when it destroys the object.
 */
static unsigned int
events_drop(int read_fd, int write_fd, bool (*drop)(const void *event, const void *arg),
	const void *arg, size_t size)
{
	static struct ib_uverbs_async_event_desc kept[EVENTS_MOST]; /* the adapter is locked */
	struct ib_uverbs_async_event_desc event;
	unsigned int dropped = 0;
	size_t count = 0, i;

	while (count < EVENTS_MOST &&
	       recv(read_fd, &event, size, MSG_DONTWAIT) == (ssize_t)size) {
		if (drop(&event, arg))
			dropped++;
		else
			kept[count++] = event;
	}
	for (i = 0; i < count; i++)
		event_send(write_fd, &kept[i], size, "earlier");
	return dropped;
}

struct async_match {
	uint64_t element;
	uint32_t codes;
};

static bool
async_matches(const void *event, const void *arg)
{
	const struct ib_uverbs_async_event_desc *desc = event;
	const struct async_match *match = arg;

	return desc->element == match->element && desc->event_type < 32 &&
		(match->codes & 1u << desc->event_type) != 0;
}

unsigned int
vmlx4_async_drop(struct vmlx4_context *ctx, uint64_t element, uint32_t codes)
{
	struct async_match match = { element, codes };

	return events_drop(ctx->async_read_fd, ctx->async_fd, async_matches, &match,
		sizeof(struct ib_uverbs_async_event_desc));
}

static bool
comp_matches(const void *event, const void *arg)
{
	const struct ib_uverbs_comp_event_desc *desc = event;
	const struct vmlx4_cq *cq = arg;

	return desc->cq_handle == cq->obj.user_handle;
}

unsigned int
vmlx4_comp_drop(struct vmlx4_cq *cq)
{
	if (cq->channel == NULL)
		return 0;
	return events_drop(cq->channel->read_fd, cq->channel->write_fd, comp_matches, cq,
		sizeof(struct ib_uverbs_comp_event_desc));
}

static void
count_for_object(struct vmlx4_context *ctx, unsigned int type, uint64_t element)
{
	struct vmlx4_obj *obj;

	TAILQ_FOREACH(obj, &ctx->objs, next) {
		if (obj->user_handle != element)
			continue;
		if (obj->type == VMLX4_CQ && (VMLX4_CQ_EVENT_CODES & 1u << type) != 0)
			((struct vmlx4_cq *)obj)->async_events++;
		else if (obj->type == VMLX4_QP && (VMLX4_QP_EVENT_CODES & 1u << type) != 0)
			((struct vmlx4_qp *)obj)->async_events++;
		else if (obj->type == VMLX4_SRQ && (VMLX4_SRQ_EVENT_CODES & 1u << type) != 0)
			((struct vmlx4_srq *)obj)->async_events++;
	}
}

void
vmlx4_async_event(struct vmlx4_adapter *adapter, struct vmlx4_context *ctx,
	unsigned int type, uint64_t element)
{
	struct ib_uverbs_async_event_desc event = {
		.element = element,
		.event_type = type,
	};

	if (ctx == NULL) {
		TAILQ_FOREACH(ctx, &adapter->contexts, next)
			if (!ctx->dead)
				vmlx4_async_event(adapter, ctx, type, element);
		return;
	}
	vmlx4_trace_async(ctx, type, element);
	if (event_send(ctx->async_fd, &event, sizeof(event), "async") && type < 32)
		count_for_object(ctx, type, element);
}

void
vmlx4_qp_event(struct vmlx4_qp *qp, unsigned int type)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_qp *handle;

	vmlx4_async_event(adapter, qp->obj.ctx, type, qp->obj.user_handle);
	TAILQ_FOREACH(handle, &qp->opened, opened_next)
		vmlx4_async_event(adapter, handle->obj.ctx, type, handle->obj.user_handle);
}

void
vmlx4_comp_event(struct vmlx4_cq *cq)
{
	struct ib_uverbs_comp_event_desc event = { .cq_handle = cq->obj.user_handle };

	if (cq->channel == NULL || cq->channel->write_fd < 0)
		return;
	vmlx4_trace_completion(cq);
	if (event_send(cq->channel->write_fd, &event, sizeof(event), "completion"))
		cq->comp_events++;
}

int
vmlx4_cmd_create_channel(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_create_comp_channel_resp reply;
	struct vmlx4_channel *channel;
	int fd[3];
	int ret;

	ret = vmlx4_event_fds(fd);
	if (ret < 0)
		return ret;
	channel = vmlx4_obj_new(ctx, VMLX4_CHANNEL, sizeof(*channel));
	if (channel == NULL) {
		close(fd[0]);
		close(fd[1]);
		close(fd[2]);
		return -ENOMEM;
	}
	channel->fd = fd[0];
	channel->write_fd = fd[1];
	channel->read_fd = fd[2];
	vmlx4_fd_set(channel->fd, VMLX4_FD_CHANNEL, channel);
	reply.fd = channel->fd;
	vmlx4_cmd_out(cmd, &reply, sizeof(reply));
	return 0;
}

/* The program's descriptor stays: only the program closes it. */
void
vmlx4_channel_release(struct vmlx4_channel *channel)
{
	int fd;

	while ((fd = vmlx4_fd_of(channel)) >= 0)
		vmlx4_fd_set(fd, VMLX4_FD_NONE, NULL);
	close(channel->write_fd);
	close(channel->read_fd);
	vmlx4_obj_free(&channel->obj);
}
