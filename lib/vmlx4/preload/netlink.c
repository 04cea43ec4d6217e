/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "../adapter.h"
#include "../hca/hca.h"
#include "../sysfs/route.h"
#include "netlink.h"
#include "next.h"

/*
 * Questions about routes, as libnl asks them: with sendmsg() and recvmsg(). The
 * kernel knows nothing of the ports' interfaces. What there is to say of them waits
 * here until the socket is read, which then yields it first.
 */

struct waiting {
	STAILQ_ENTRY(waiting) next;
	int fd;
	size_t size;
	uint8_t bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static STAILQ_HEAD(, waiting) queue = STAILQ_HEAD_INITIALIZER(queue);
static atomic_uint count; /* in the queue: nearly always 0 */

static void
wait_for_reader(int fd, const uint8_t *bytes, size_t size)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + size);

	if (waiting == NULL)
		return; /* as from a kernel without memory: no answer */
	waiting->fd = fd;
	waiting->size = size;
	memcpy(waiting->bytes, bytes, size);
	pthread_mutex_lock(&lock);
	STAILQ_INSERT_TAIL(&queue, waiting, next);
	atomic_fetch_add(&count, 1);
	pthread_mutex_unlock(&lock);
}

static struct waiting *
find(int fd)
{
	struct waiting *waiting;

	STAILQ_FOREACH(waiting, &queue, next)
		if (waiting->fd == fd)
			break;
	return waiting;
}

static void
drop(struct waiting *waiting)
{
	STAILQ_REMOVE(&queue, waiting, waiting, next);
	atomic_fetch_sub(&count, 1);
	free(waiting);
}

void
vmlx4_netlink_closed(int fd)
{
	struct waiting *waiting;

	if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
		return;
	pthread_mutex_lock(&lock);
	while ((waiting = find(fd)) != NULL)
		drop(waiting);
	pthread_mutex_unlock(&lock);
}

/* ---- answers ---- */

static size_t
spread(const struct msghdr *message, const uint8_t *bytes, size_t size)
{
	size_t done = 0, i;

	for (i = 0; i < message->msg_iovlen && done < size; i++) {
		size_t n = message->msg_iov[i].iov_len;

		if (n > size - done)
			n = size - done;
		memcpy(message->msg_iov[i].iov_base, bytes + done, n);
		done += n;
	}
	return done;
}

bool
vmlx4_netlink_receive(int fd, struct msghdr *message, int flags, ssize_t *result)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct waiting *waiting;
	size_t done;

	if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
		return false;
	pthread_mutex_lock(&lock);
	waiting = find(fd);
	if (waiting != NULL) {
		done = spread(message, waiting->bytes, waiting->size);
		message->msg_flags = done < waiting->size ? MSG_TRUNC : 0;
		message->msg_controllen = 0;
		if (message->msg_name != NULL && message->msg_namelen >= sizeof(kernel)) {
			memcpy(message->msg_name, &kernel, sizeof(kernel));
			message->msg_namelen = sizeof(kernel);
		}
		*result = (ssize_t)((flags & MSG_TRUNC) != 0 ? waiting->size : done);
		if ((flags & MSG_PEEK) == 0)
			drop(waiting);
	}
	pthread_mutex_unlock(&lock);
	return waiting != NULL;
}

/* ---- questions ---- */

static bool
is_routing(int fd, uint32_t *number)
{
	struct sockaddr_nl own = { 0 };
	socklen_t size = sizeof(int);
	int protocol;

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) < 0 ||
			protocol != NETLINK_ROUTE)
		return false;
	size = sizeof(own);
	if (getsockname(fd, (struct sockaddr *)&own, &size) < 0 || own.nl_family != AF_NETLINK)
		return false;
	*number = own.nl_pid;
	return true;
}

/* One request that lies in one piece, as libnl sends it; another is none of ours. */
static const struct nlmsghdr *
request_of(const struct msghdr *message)
{
	const struct sockaddr_nl *to = message->msg_name;
	const struct nlmsghdr *head;

	if (to == NULL || message->msg_namelen < sizeof(*to) || to->nl_family != AF_NETLINK ||
			message->msg_iovlen != 1 ||
			message->msg_iov[0].iov_len < sizeof(*head))
		return NULL;
	head = message->msg_iov[0].iov_base;
	return head->nlmsg_len >= sizeof(*head) &&
		head->nlmsg_len <= message->msg_iov[0].iov_len ? head : NULL;
}

static bool
ask(int fd, const struct nlmsghdr *request, struct vmlx4_adapter *adapter)
{
	struct vmlx4_route route = { .adapter = adapter, .request = request };
	_Alignas(struct nlmsghdr) uint8_t answer[VMLX4_ROUTE_ANSWER];
	bool whole = false;
	size_t size;

	if (!is_routing(fd, &route.socket))
		return false;
	vmlx4_lock(adapter);
	size = vmlx4_away(adapter) ? 0 :
		vmlx4_route_answer(&route, answer, sizeof(answer), &whole);
	vmlx4_unlock(adapter);
	if (size > 0)
		wait_for_reader(fd, answer, size);
	return whole;
}

VMLX4_API ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct vmlx4_adapter *adapter = NULL;
	const struct nlmsghdr *request = NULL;

	if (__builtin_expect(message != NULL && message->msg_name != NULL, 0))
		request = request_of(message);
	if (__builtin_expect(request != NULL, 0))
		adapter = vmlx4_adapter_get();
	if (adapter != NULL && ask(fd, request, adapter))
		return (ssize_t)message->msg_iov[0].iov_len;
	return NEXT(sendmsg)(fd, message, flags);
}
