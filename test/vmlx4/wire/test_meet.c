/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How the two ends of unix: and shm: wires find each other, and what is there
 * instead. What a hostile end does is done on its socket and memory by hand.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "far_ends.h"
#include "wire/meet.h"
#include "wire/ring.h"

static void
a_check_leaves_no_trace(void **state)
{
	struct vmlx4_wire *here, *there;

	(void)state;
	there = open_end(NULL);
	assert_non_null(there);
	vmlx4_wire_close(there);
	assert_int_equal(access(name, F_OK), -1);

	here = open_end(HERE);
	pumped = here;
	there = open_end(NULL);
	assert_non_null(there);
	vmlx4_wire_close(there);
	pumped = NULL;
	pump(here, 3);
	assert_false(HERE->carrier);
	assert_int_equal(mock_updates, 0);
	vmlx4_wire_close(here);
	assert_int_equal(access(name, F_OK), -1);
}

static void
a_dead_host_is_no_obstacle(void **state)
{
	struct vmlx4_wire *here, *there;
	int status = -1;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_end(HERE) == NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (name[0] == '/')
		assert_int_equal(access(name, F_OK), 0);
	open_both(&here, &there);
	vmlx4_wire_close(here);
	vmlx4_wire_close(there);
	assert_int_equal(access(name, F_OK), -1);
}

static void
a_file_of_this_name_is_left_alone(void **state)
{
	struct vmlx4_port *ports[] = { NULL, HERE };
	unsigned int i;
	FILE *file;

	(void)state;
	if (name[0] != '/')
		return;
	file = fopen(name, "w");
	assert_non_null(file);
	fclose(file);
	for (i = 0; i < 2; i++) {
		assert_null(open_end(ports[i]));
		assert_non_null(strstr(error, name));
		assert_non_null(strstr(error, "no socket of a vmlx4"));
		assert_int_equal(access(name, F_OK), 0);
	}
	unlink(name);
	strcat(name, "/absent/socket");
	assert_null(open_end(NULL));
	assert_non_null(strstr(error, "folder that exists"));
	assert_null(open_end(HERE));
	assert_non_null(strstr(error, "folder that exists"));
}

static void
a_moved_socket_is_made_anew(void **state)
{
	struct vmlx4_wire *here, *there;

	(void)state;
	if (name[0] != '/')
		return;
	here = open_end(HERE);
	assert_non_null(here);
	assert_int_equal(unlink(name), 0);
	pump(here, 2);
	there = open_other_end(here, THERE);
	assert_true(THERE->carrier);
	vmlx4_wire_close(there);
	vmlx4_wire_close(here);
}

static socklen_t
address_of(struct sockaddr_un *address)
{
	const char *prefix = kind == VMLX4_WIRE_SHM ? "vmlx4-shm/" : "vmlx4-unix/";

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (name[0] == '/') {
		strcpy(address->sun_path, name);
		return sizeof(*address);
	}
	strcpy(address->sun_path + 1, prefix);
	strcat(address->sun_path + 1, name);
	return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1);
}

static struct vmlx4_hello
hello_of(uint32_t what)
{
	struct vmlx4_hello hello = {
		.version = VMLX4_MEET_VERSION,
		.kind = kind == VMLX4_WIRE_SHM ? VMLX4_MEET_SHM : VMLX4_MEET_UNIX,
		.what = what,
	};

	memcpy(hello.magic, VMLX4_MEET_MAGIC, sizeof(hello.magic));
	return hello;
}

static int
raw_call(const struct vmlx4_hello *hello)
{
	struct sockaddr_un address;
	socklen_t size = address_of(&address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	if (hello != NULL)
		assert_int_equal(send(fd, hello, sizeof(*hello), 0), sizeof(*hello));
	return fd;
}

/* The answer of a host to a hello, with the memory that came along or -1. */
static struct vmlx4_hello
raw_answer(int fd, int *memory)
{
	struct vmlx4_hello answer = { .status = 99 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = &answer, .iov_len = sizeof(answer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes) };

	*memory = -1;
	assert_int_equal(recvmsg(fd, &message, MSG_DONTWAIT), sizeof(answer));
	if (message.msg_controllen > 0)
		memcpy(memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return answer;
}

static void
another_version_is_told(void **state)
{
	struct vmlx4_hello hello = hello_of(VMLX4_MEET_JOIN);
	struct vmlx4_wire *here = open_end(HERE), *there;
	int fd, memory;

	(void)state;
	assert_non_null(here);
	hello.version = 7;
	fd = raw_call(&hello);
	pump(here, 2);
	assert_int_equal(raw_answer(fd, &memory).status, VMLX4_MEET_VERSION_DIFFERS);
	assert_int_equal(memory, -1);
	close(fd);
	/* Not even a hello, and silence: neither gets in, nor in the way. */
	memset(hello.magic, 'x', sizeof(hello.magic));
	fd = raw_call(&hello);
	pump(here, 2);
	assert_int_equal(recv(fd, &hello, sizeof(hello), MSG_DONTWAIT), 0);
	close(fd);
	fd = raw_call(NULL);
	pump(here, 2);
	assert_false(HERE->carrier);
	there = open_other_end(here, NULL);
	vmlx4_wire_close(there);
	close(fd);
	vmlx4_wire_close(here);
}

/* Answer the guest as another host would. */
static void
host_answers(const struct vmlx4_hello *answer, const char *what)
{
	struct sockaddr_un address;
	socklen_t size = address_of(&address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), status = -1, guest;
	struct vmlx4_hello hello;
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 4), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		guest = accept(fd, NULL, NULL);
		_exit(recv(guest, &hello, sizeof(hello), 0) != sizeof(hello) ||
			send(guest, answer, sizeof(*answer), 0) != sizeof(*answer));
	}
	assert_null(open_end(HERE));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_non_null(strstr(error, name));
	assert_non_null(strstr(error, what));
	assert_null(strchr(error, '\n'));
	close(fd);
	unlink(name);
}

static void
another_host_is_named(void **state)
{
	struct vmlx4_hello answer = hello_of(VMLX4_MEET_ANSWER);

	(void)state;
	answer.version = 3;
	host_answers(&answer, "the other end has version 3 of this wire, this one version 2");
	answer = hello_of(VMLX4_MEET_ANSWER);
	answer.kind ^= 3;
	host_answers(&answer, "of another kind");
	answer = hello_of(VMLX4_MEET_ANSWER);
	answer.magic[0] = 0;
	host_answers(&answer, "no vmlx4");
	answer = hello_of(VMLX4_MEET_ANSWER);
	answer.status = 77;
	host_answers(&answer, "two adapters are on it already");
	/* Welcome, but without memory. */
	answer = hello_of(VMLX4_MEET_ANSWER);
	if (kind == VMLX4_WIRE_SHM)
		host_answers(&answer, "no sealed memory");
}

/* As user 65534 holds the name, user 65533 learns so. */
static void
other_users_are_kept_apart(void **state)
{
	int ready[2], status = -1;
	pid_t host, guest;
	char c;

	(void)state;
	if (geteuid() != 0)
		skip();
	if (name[0] == '/')
		return; /* there, permissions do */
	assert_int_equal(pipe(ready), 0);
	host = fork();
	if (host == 0) {
		struct vmlx4_wire *wire = setuid(65534) == 0 ? open_end(HERE) : NULL;

		if (wire == NULL || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;) {
			wire->ops->poll(wire, 64);
			usleep(1000);
		}
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	guest = fork();
	if (guest == 0)
		_exit(setuid(65533) != 0 || open_end(HERE) != NULL);
	assert_int_equal(waitpid(guest, &status, 0), guest);
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	/* The host closes on a stranger, so that it has not joined; it may not wait for ever. */
	assert_int_equal(status, 0);
}

/* ---- a hostile end ---- */

static int
join_raw(struct vmlx4_wire *here, struct vmlx4_ring **rings)
{
	struct vmlx4_hello hello = hello_of(VMLX4_MEET_JOIN);
	int fd = raw_call(&hello), memory;
	struct stat st;

	pump(here, 2);
	assert_int_equal(raw_answer(fd, &memory).status, VMLX4_MEET_WELCOME);
	assert_true(HERE->carrier);
	if (rings == NULL) {
		assert_int_equal(memory, -1);
		return fd;
	}
	assert_int_equal(fstat(memory, &st), 0);
	/* It cannot be cut short under the host. */
	assert_int_equal(ftruncate(memory, 0), -1);
	*rings = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	assert_ptr_not_equal(*rings, MAP_FAILED);
	/* The two rings are the last of it. */
	*rings = (struct vmlx4_ring *)(void *)((uint8_t *)*rings + st.st_size -
		2 * sizeof(struct vmlx4_ring));
	close(memory);
	return fd;
}

static void
expect_cut_off(struct vmlx4_wire *here, int fd, uint64_t drops)
{
	pump(here, 2);
	assert_false(HERE->carrier);
	assert_int_equal(HERE->stats.rx_wire_bad, drops);
	close(fd);
}

static void
bad_messages_cut_off(void **state)
{
	static const struct {
		size_t size;
		uint8_t bytes[16];
	} bad[] = {
		{ 1, "X" }, { 1, "" }, { 2, "UU" }, { 4, "F" }, { 5, "F" }, { 8, "F" },
		{ 9, "F" },                                     /* length 0 */
		{ 9, { 'F', 0, 0, 0, 2, 0, 0, 0, 1 } },         /* 2 of 1 */
		{ 12, { 'F', 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
		{ 16, { 'F', 0, 0, 0, 0xfc, 0xff, 0xff, 0xff } },
		{ 16, { 'F', 0, 0, 0, 0, 0, 0, 0x80 } },
	};
	static uint8_t giant[400 << 10] = "F";
	struct vmlx4_wire *here = open_end(HERE);
	size_t i, count = sizeof(bad) / sizeof(bad[0]);
	struct vmlx4_ring *rings;
	int fd, size = 8 << 20;

	(void)state;
	assert_non_null(here);
	for (i = 0; i < count; i++) {
		fd = join_raw(here, kind == VMLX4_WIRE_SHM ? &rings : NULL);
		assert_int_equal(send(fd, bad[i].bytes, bad[i].size, 0), bad[i].size);
		expect_cut_off(here, fd, kind == VMLX4_WIRE_SHM ? 0 : i + 1);
	}
	fd = join_raw(here, kind == VMLX4_WIRE_SHM ? &rings : NULL);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (send(fd, giant, sizeof(giant), MSG_DONTWAIT) == sizeof(giant))
		expect_cut_off(here, fd, kind == VMLX4_WIRE_SHM ? 0 : count + 1);
	else
		close(fd);
	assert_int_equal(mock_count, 0);
	vmlx4_wire_close(here);
}

static void
put_header(struct vmlx4_ring *ring, size_t at, uint32_t length)
{
	memcpy(ring->bytes + at, &length, sizeof(length));
}

static void
bad_rings_cut_off(void **state)
{
	static const struct {
		uint64_t tail;
		uint32_t length;
	} bad[] = {
		{ 1, 60 }, { 8, 60 }, { 16, 60 }, { 16, 0 }, { 16, 65536 }, { 64, 0x80000000u },
		{ VMLX4_RING_BYTES + 16, 60 }, { UINT64_MAX - 15, 60 },
		{ 16, VMLX4_RECORD_SKIP }, { VMLX4_RING_BYTES, VMLX4_RECORD_SKIP },
		{ VMLX4_RING_BYTES, 0xfffffffeu },
	};
	struct vmlx4_wire *here = open_end(HERE);
	size_t i, count = sizeof(bad) / sizeof(bad[0]);
	uint8_t frame[60] = { 0 };
	struct vmlx4_ring *rings;
	unsigned int sent;
	int fd;

	(void)state;
	assert_non_null(here);
	if (kind != VMLX4_WIRE_SHM) {
		vmlx4_wire_close(here);
		return;
	}
	for (i = 0; i < count; i++) {
		fd = join_raw(here, &rings);
		put_header(&rings[1], 0, bad[i].length);
		rings[1].tail = bad[i].tail;
		expect_cut_off(here, fd, i + 1);
	}
	/* A reader that claims to have read what was never written. */
	fd = join_raw(here, &rings);
	rings[0].head = 3ull * VMLX4_RING_BYTES;
	for (sent = 0; sent < 100000 && HERE->tx_hold == 0; sent++)
		here->ops->send(here, frame, sizeof(frame));
	expect_cut_off(here, fd, count);
	assert_int_equal(HERE->tx_hold, 0);
	assert_int_equal(mock_count, 0);
	vmlx4_wire_close(here);
}

/* Whatever the memory holds: no crash, and each frame has a length that there is. */
static void
noise_does_no_harm(void **state)
{
	struct vmlx4_wire *here = open_end(HERE);
	unsigned int round, i;
	uint64_t *at;
	int fd;

	(void)state;
	assert_non_null(here);
	srand(4);
	for (round = 0; round < 300; round++) {
		uint8_t message[256];
		struct vmlx4_ring *rings;

		fd = join_raw(here, kind == VMLX4_WIRE_SHM ? &rings : NULL);
		if (kind == VMLX4_WIRE_SHM) {
			at = (uint64_t *)(void *)rings[1].bytes;
			for (i = 0; i < 8192; i++)
				at[i] = (unsigned int)(rand() % 4 != 0 ? rand() % 300 + 1 : rand());
			rings[1].tail = (rand() % 4096) * 16;
			rings[0].head = rand() % 3 == 0 ? rand() : 0;
		} else {
			for (i = 0; i < sizeof(message); i++)
				message[i] = rand() % 3 == 0 ? rand() : 0;
			message[0] = 'F';
			send(fd, message, rand() % sizeof(message) + 1, 0);
		}
		for (i = 0; i < 20; i++) {
			here->ops->poll(here, 64);
			mock_forget();
			mock_room = MOCK_FRAMES;
		}
		close(fd);
		pump(here, 2);
		assert_false(HERE->carrier);
	}
	vmlx4_wire_close(here);
}

/* What a step puts on stderr. */
static void
say_into(char *said, size_t size, void (*act)(void))
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t got;

	assert_non_null(file);
	assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	act();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	got = fread(said, 1, size - 1, file);
	said[got] = '\0';
	fclose(file);
}

/* The two meet twice: a guest leaves, and comes back. */
static void
meet_twice(void)
{
	struct vmlx4_wire *here, *there;

	open_both(&here, &there);
	vmlx4_wire_close(there);
	pump(here, 2);
	assert_false(HERE->carrier);
	there = open_other_end(here, THERE);
	pump(here, 2);
	vmlx4_wire_close(there);
	vmlx4_wire_close(here);
}

static void
a_twin_is_told_of(void **state)
{
	static const uint8_t mac[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };
	unsigned int lines = 0;
	char said[4096], *at;

	(void)state;
	memcpy(HERE->netdev.mac, mac[0], sizeof(mac[0]));
	memcpy(THERE->netdev.mac, mac[1], sizeof(mac[1]));
	say_into(said, sizeof(said), meet_twice);
	assert_string_equal(said, "");

	memcpy(THERE->netdev.mac, mac[0], sizeof(mac[0]));
	say_into(said, sizeof(said), meet_twice);
	assert_non_null(strstr(said, name));
	assert_non_null(strstr(said, "02:00:00:00:00:01"));
	assert_non_null(strstr(said, "--pci"));
	/* Each end once: here, there, and there when it is another one. */
	for (at = said; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ALL(a_check_leaves_no_trace),
		ALL(a_twin_is_told_of),
		ALL(a_dead_host_is_no_obstacle),
		ALL(a_file_of_this_name_is_left_alone),
		ALL(a_moved_socket_is_made_anew),
		ALL(another_version_is_told),
		ALL(another_host_is_named),
		ALL(other_users_are_kept_apart),
		ALL(bad_messages_cut_off),
		ALL(bad_rings_cut_off),
		ALL(noise_does_no_harm),
	};

	return run_wire_tests("meet", tests, sizeof(tests) / sizeof(tests[0]));
}
