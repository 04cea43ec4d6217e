/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hello.h"

void
vmlx4_hello_say(const struct vmlx4_meet *meet, int fd, enum vmlx4_meet_what what,
	enum vmlx4_meet_status status)
{
	struct vmlx4_hello hello = {
		.version = VMLX4_MEET_VERSION,
		.kind = meet->kind,
		.what = what,
		.status = status,
	};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = &hello, .iov_len = sizeof(hello) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	memcpy(hello.magic, VMLX4_MEET_MAGIC, sizeof(hello.magic));
	memcpy(hello.mac, meet->mac, sizeof(hello.mac));
	if (what == VMLX4_MEET_ANSWER && status == VMLX4_MEET_WELCOME && meet->memory >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		cmsg = CMSG_FIRSTHDR(&message);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &meet->memory, sizeof(int));
	}
	/* Who does not get it finds the socket closed sooner or later. */
	(void)!sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Keep the descriptor that came along, close what came too much. */
static void
take_descriptors(struct msghdr *message, int *memory)
{
	struct cmsghdr *cmsg;
	size_t i, count;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(message); cmsg != NULL; cmsg = CMSG_NXTHDR(message, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (memory != NULL && *memory < 0)
				*memory = fd;
			else
				close(fd);
		}
	}
}

int
vmlx4_hello_hear(int fd, struct vmlx4_hello *hello, int *memory)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got;

	memset(hello, 0, sizeof(*hello));
	got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	take_descriptors(&message, memory);
	return got == 0 ? -ECONNRESET : 1;
}

enum vmlx4_meet_status
vmlx4_hello_judge(const struct vmlx4_meet *meet, const struct vmlx4_hello *hello)
{
	if (hello->version != VMLX4_MEET_VERSION)
		return VMLX4_MEET_VERSION_DIFFERS;
	if (hello->kind != meet->kind)
		return VMLX4_MEET_KIND_DIFFERS;
	return hello->status;
}

bool
vmlx4_hello_is_one(const struct vmlx4_hello *hello)
{
	return memcmp(hello->magic, VMLX4_MEET_MAGIC, sizeof(hello->magic)) == 0;
}

int
vmlx4_hello_explain(const struct vmlx4_meet *meet, const struct vmlx4_hello *answer,
	char *error, size_t error_size)
{
	if (!vmlx4_hello_is_one(answer) || (answer->version == VMLX4_MEET_VERSION &&
			answer->what != VMLX4_MEET_ANSWER)) {
		snprintf(error, error_size, "%s: what listens there is no vmlx4: use another name",
			meet->title);
		return -EPROTO;
	}
	switch (vmlx4_hello_judge(meet, answer)) {
	case VMLX4_MEET_WELCOME:
		return 0;
	case VMLX4_MEET_VERSION_DIFFERS:
		snprintf(error, error_size, "%s: the other end has version %u of this wire, this "
			"one version %u: use the same vmlx4 for both", meet->title,
			answer->version, VMLX4_MEET_VERSION);
		return -EPROTONOSUPPORT;
	case VMLX4_MEET_KIND_DIFFERS:
		snprintf(error, error_size, "%s: the other end is of another kind: use unix: or "
			"shm: at both", meet->title);
		return -EPROTOTYPE;
	case VMLX4_MEET_TAKEN:
		break;
	}
	snprintf(error, error_size, "%s: two adapters are on it already: end one of them or use "
		"another name", meet->title);
	return -EBUSY;
}
