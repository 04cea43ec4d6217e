/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hello.h"

#define LOOK_NS 50000000ull      /* between looks at the name… */
#define REFUSED_NS 1000000000ull /* …and after a refusal */
#define PATIENCE_MS 300          /* for the answer of a host when a wire is opened */

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static const char *
file_name(const struct vmlx4_meet *meet)
{
	return meet->address.sun_path[0] != '\0' ? meet->address.sun_path : NULL;
}

/* ---- looking for the other end ---- */

/* Does the other end belong to our user, or one of us to root? */
static bool
is_stranger(struct vmlx4_meet *meet, int fd)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return true;
	meet->stranger = who.uid;
	return who.uid != geteuid() && who.uid != 0 && geteuid() != 0;
}

/*
 * A connected socket, or a negative errno; -ECONNREFUSED: nobody listens,
 * -EUSERS: one of another user does.
 */
static int
call(struct vmlx4_meet *meet)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&meet->address, meet->address_size) < 0)
		ret = errno == ENOENT ? -ECONNREFUSED : -errno;
	else if (is_stranger(meet, fd))
		ret = -EUSERS;
	else
		return fd;
	close(fd);
	return ret;
}

/* A socket that a dead process left behind makes room; anything else stays. */
static int
clear_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(path) < 0 ? -errno : 0;
}

static int
host_name(struct vmlx4_meet *meet)
{
	const char *path = file_name(meet);
	struct stat st;
	int ret = path != NULL ? clear_stale(path) : 0;

	if (ret < 0)
		return ret;
	meet->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (meet->listener < 0)
		return -errno;
	if (bind(meet->listener, (const struct sockaddr *)&meet->address,
			meet->address_size) < 0 || listen(meet->listener, 8) < 0) {
		ret = -errno;
		close_fd(&meet->listener);
		return ret;
	}
	if (path != NULL && stat(path, &st) == 0) {
		meet->dev = st.st_dev;
		meet->ino = st.st_ino;
	}
	return 0;
}

/*
 * Two that find the same stale socket must not both replace it. A lock on the
 * folder leaves no file; where there are no locks the loser notices later that
 * the socket is no longer its own.
 */
static int
lock_folder(const struct vmlx4_meet *meet)
{
	char path[sizeof(meet->address.sun_path)];
	int fd;

	if (file_name(meet) == NULL)
		return -1;
	strcpy(path, meet->address.sun_path);
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return -2;
	}
	return fd;
}

/* Become guest (asked) or host. 0 or a negative errno; -EAGAIN: later. */
static int
seek(struct vmlx4_meet *meet)
{
	int lock = lock_folder(meet), ret;

	if (lock == -2)
		return -EAGAIN;
	ret = call(meet);
	if (ret >= 0) {
		meet->peer = ret;
		meet->host = false;
		meet->state = VMLX4_MEET_ASKED;
		vmlx4_hello_say(meet, meet->peer, VMLX4_MEET_JOIN, VMLX4_MEET_WELCOME);
		ret = 0;
	} else if (ret == -ECONNREFUSED) {
		ret = host_name(meet);
		/* Another one was quicker. */
		if (ret == -EADDRINUSE)
			ret = -EAGAIN;
		meet->host = ret == 0;
	}
	if (lock >= 0)
		close(lock);
	return ret;
}

/* ---- the guest's side ---- */

/* Is it the answer, and a good one? -EAGAIN: there is none yet. */
static int
take_answer(struct vmlx4_meet *meet, char *error, size_t error_size)
{
	struct vmlx4_hello answer;
	int ret = vmlx4_hello_hear(meet->peer, &answer, &meet->memory);

	if (ret == 0)
		return -EAGAIN;
	if (ret < 0) {
		snprintf(error, error_size, "%s: the other end went away", meet->title);
		return -ECONNRESET;
	}
	memcpy(meet->peer_mac, answer.mac, sizeof(meet->peer_mac));
	return vmlx4_hello_explain(meet, &answer, error, error_size);
}

static bool
guest_poll(struct vmlx4_meet *meet)
{
	char error[256];
	int ret = take_answer(meet, error, sizeof(error));

	if (ret == -EAGAIN)
		return false;
	if (ret == 0) {
		meet->state = VMLX4_MEET_JOINED;
		meet->told = false;
		return true;
	}
	vmlx4_meet_lost(meet);
	if (ret == -ECONNRESET)
		return false;
	if (!meet->told)
		fprintf(stderr, "vmlx4: %s\n", error);
	meet->told = true;
	meet->next_look = now_ns() + REFUSED_NS;
	return false;
}

/* ---- the host's side ---- */

static bool
peer_is_gone(const struct vmlx4_meet *meet)
{
	struct pollfd fd = { .fd = meet->peer, .events = POLLRDHUP };

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

/* Answer a caller that said what it wants; true when it is the new guest. */
static bool
answer(struct vmlx4_meet *meet, int fd, const struct vmlx4_hello *hello)
{
	enum vmlx4_meet_status status = vmlx4_hello_judge(meet, hello);

	if (status == VMLX4_MEET_WELCOME && meet->state == VMLX4_MEET_JOINED)
		status = VMLX4_MEET_TAKEN;
	if (hello->what != VMLX4_MEET_JOIN || status != VMLX4_MEET_WELCOME) {
		vmlx4_hello_say(meet, fd, VMLX4_MEET_ANSWER, status);
		return false;
	}
	if (meet->prepare != NULL && meet->prepare(meet) < 0)
		return false;
	vmlx4_hello_say(meet, fd, VMLX4_MEET_ANSWER, status);
	return true;
}

/* True when it is the new guest; otherwise it is closed, or waits on. */
static bool
serve_caller(struct vmlx4_meet *meet, int *fd)
{
	struct vmlx4_hello hello;
	int ret = vmlx4_hello_hear(*fd, &hello, NULL);

	if (ret == 0)
		return false;
	if (ret < 0 || !vmlx4_hello_is_one(&hello) || is_stranger(meet, *fd) ||
			!answer(meet, *fd, &hello)) {
		close_fd(fd);
		return false;
	}
	memcpy(meet->peer_mac, hello.mac, sizeof(meet->peer_mac));
	meet->peer = *fd;
	*fd = -1;
	meet->state = VMLX4_MEET_JOINED;
	return true;
}

static void
accept_callers(struct vmlx4_meet *meet)
{
	unsigned int i, count;
	int fd;

	for (count = 0; count < 2 * VMLX4_MEET_CALLERS; count++) {
		fd = accept4(meet->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		for (i = 0; i < VMLX4_MEET_CALLERS - 1 && meet->caller[i] >= 0; i++)
			;
		/* One too many of those that call and do not speak: the last makes room. */
		close_fd(&meet->caller[i]);
		meet->caller[i] = fd;
	}
}

/* Somebody took the socket's file away, or put another in its place. */
static bool
is_moved(const struct vmlx4_meet *meet)
{
	const char *path = file_name(meet);
	struct stat st;

	return path != NULL && (stat(path, &st) < 0 || st.st_dev != meet->dev ||
		st.st_ino != meet->ino);
}

static bool
host_poll(struct vmlx4_meet *meet)
{
	bool joined = false;
	unsigned int i;

	accept_callers(meet);
	for (i = 0; i < VMLX4_MEET_CALLERS; i++) {
		if (meet->caller[i] < 0)
			continue;
		/* A successor may call before its predecessor's end was noticed. */
		if (meet->state == VMLX4_MEET_JOINED && !joined && peer_is_gone(meet))
			return false;
		joined |= serve_caller(meet, &meet->caller[i]);
	}
	return joined;
}

bool
vmlx4_meet_poll(struct vmlx4_meet *meet, bool look_now)
{
	uint64_t now = now_ns();
	bool due = now >= meet->next_look || (look_now && !meet->told), joined = false;

	if (meet->state == VMLX4_MEET_ASKED)
		return guest_poll(meet);
	/* While nobody is there a call wakes us up, and is not put off. */
	if (meet->listener >= 0 && (due || meet->state == VMLX4_MEET_ALONE))
		joined = host_poll(meet);
	if (!due || meet->state != VMLX4_MEET_ALONE)
		return joined;
	meet->next_look = now + LOOK_NS;
	if (meet->listener >= 0 && is_moved(meet))
		close_fd(&meet->listener);
	if (meet->listener < 0)
		seek(meet);
	return joined;
}

/* ---- life ---- */

void
vmlx4_meet_lost(struct vmlx4_meet *meet)
{
	close_fd(&meet->peer);
	close_fd(&meet->memory);
	meet->state = VMLX4_MEET_ALONE;
	meet->next_look = 0;
}

void
vmlx4_meet_forget(struct vmlx4_meet *meet)
{
	unsigned int i;

	close_fd(&meet->listener);
	close_fd(&meet->peer);
	close_fd(&meet->memory);
	for (i = 0; i < VMLX4_MEET_CALLERS; i++)
		close_fd(&meet->caller[i]);
	meet->state = VMLX4_MEET_ALONE;
}

void
vmlx4_meet_close(struct vmlx4_meet *meet)
{
	if (meet->listener >= 0 && file_name(meet) != NULL && !is_moved(meet))
		unlink(file_name(meet));
	vmlx4_meet_forget(meet);
}

int
vmlx4_meet_fd(const struct vmlx4_meet *meet)
{
	return meet->peer >= 0 ? meet->peer : meet->listener;
}

static int
set_address(struct vmlx4_meet *meet, const char *name, char *error, size_t error_size)
{
	size_t length = strlen(name), room = sizeof(meet->address.sun_path);
	bool is_file = strchr(name, '/') != NULL ||
		(meet->kind == VMLX4_MEET_UNIX && name[0] != '@');
	const char *prefix = meet->kind == VMLX4_MEET_SHM ? "vmlx4-shm/" : "vmlx4-unix/";

	snprintf(meet->title, sizeof(meet->title), "wire %s:%s",
		meet->kind == VMLX4_MEET_SHM ? "shm" : "unix", name);
	meet->address.sun_family = AF_UNIX;
	if (is_file && length < room) {
		strcpy(meet->address.sun_path, name);
		meet->address_size = offsetof(struct sockaddr_un, sun_path) + length + 1;
		return 0;
	}
	if (!is_file && 1 + strlen(prefix) + length <= room) {
		memcpy(meet->address.sun_path + 1, prefix, strlen(prefix));
		memcpy(meet->address.sun_path + 1 + strlen(prefix), name, length);
		meet->address_size = offsetof(struct sockaddr_un, sun_path) + 1 +
			strlen(prefix) + length;
		return 0;
	}
	snprintf(error, error_size, "%s: the name is too long for a socket: give one of at most "
		"%zu characters", meet->title,
		is_file ? room - 1 : room - 1 - strlen(prefix));
	return -ENAMETOOLONG;
}

/* What a host would run into, without becoming one. */
static int
check_host(const struct vmlx4_meet *meet)
{
	char path[sizeof(meet->address.sun_path)];
	struct stat st;

	if (file_name(meet) == NULL)
		return 0;
	if (lstat(file_name(meet), &st) == 0 && !S_ISSOCK(st.st_mode))
		return -EEXIST;
	strcpy(path, file_name(meet));
	return access(dirname(path), W_OK | X_OK) < 0 ? -errno : 0;
}

static int
probe_name(struct vmlx4_meet *meet)
{
	int ret = call(meet);

	if (ret == -ECONNREFUSED)
		return check_host(meet);
	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	meet->peer = ret;
	meet->state = VMLX4_MEET_ASKED;
	vmlx4_hello_say(meet, meet->peer, VMLX4_MEET_PROBE, VMLX4_MEET_WELCOME);
	return 0;
}

static const char *
name_cure(int ret)
{
	switch (ret) {
	case -EEXIST:
	case -ENOTSOCK:
	case -EPROTOTYPE:
		return "what has this name is no socket of a vmlx4: use another name";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "give a name in a folder that you may write";
	case -ENOTDIR:
		return "give a name in a folder that exists";
	default:
		return "use another name";
	}
}

int
vmlx4_meet_open(struct vmlx4_meet *meet, enum vmlx4_meet_kind kind, const char *name,
	bool probe, char *error, size_t error_size)
{
	struct pollfd fd = { .events = POLLIN };
	unsigned int i;
	int ret;

	meet->kind = kind;
	meet->listener = -1;
	meet->peer = -1;
	meet->memory = -1;
	for (i = 0; i < VMLX4_MEET_CALLERS; i++)
		meet->caller[i] = -1;
	ret = set_address(meet, name, error, error_size);
	if (ret < 0)
		return ret;
	ret = probe ? probe_name(meet) : seek(meet);
	if (ret == -EUSERS)
		snprintf(error, error_size, "%s: the other end belongs to user %u: use another "
			"name", meet->title, (unsigned int)meet->stranger);
	else if (ret < 0 && ret != -EAGAIN)
		snprintf(error, error_size, "%s: %s: %s", meet->title, strerror(-ret),
			ret == -ENOENT ? "give a name in a folder that exists" : name_cure(ret));
	if (ret < 0 && ret != -EAGAIN) {
		vmlx4_meet_close(meet);
		return ret;
	}
	if (meet->state != VMLX4_MEET_ASKED)
		return 0;
	/* A host that is stepped may answer much later: then the port waits for it. */
	fd.fd = meet->peer;
	poll(&fd, 1, PATIENCE_MS);
	ret = take_answer(meet, error, error_size);
	if (ret == 0) {
		meet->state = VMLX4_MEET_JOINED;
		return 0;
	}
	if (ret == -ECONNRESET)
		vmlx4_meet_lost(meet);
	if (ret == -EAGAIN || ret == -ECONNRESET)
		return 0;
	vmlx4_meet_close(meet);
	return ret;
}
