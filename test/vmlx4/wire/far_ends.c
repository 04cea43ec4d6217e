/* SPDX-License-Identifier: BSD-3-Clause */

#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "far_ends.h"

static char folder[] = "/tmp/vmlx4-far-XXXXXX";
char name[VMLX4_WIRE_NAME_MAX];
enum vmlx4_wire_kind kind;
struct vmlx4_wire *pumped;
char error[512];

/* Takes the place of libc's: the other process runs while this one waits. */
int
poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (timeout > 0 && pumped != NULL) {
		pumped->ops->poll(pumped, 64);
		pumped->ops->poll(pumped, 64);
		timeout = 0;
	}
	return syscall(SYS_poll, fds, count, timeout);
}

struct vmlx4_wire *
open_end(struct vmlx4_port *port)
{
	struct vmlx4_wire_spec spec = { .kind = kind };

	strcpy(spec.name, name);
	error[0] = '\0';
	return vmlx4_wire_open(&spec, port, error, sizeof(error));
}

void
pump(struct vmlx4_wire *wire, unsigned int polls)
{
	while (polls-- > 0)
		wire->ops->poll(wire, 64);
}

struct vmlx4_wire *
open_other_end(struct vmlx4_wire *first, struct vmlx4_port *port)
{
	struct vmlx4_wire *other;

	pumped = first;
	other = open_end(port);
	pumped = NULL;
	assert_non_null(other);
	return other;
}

void
open_both(struct vmlx4_wire **here, struct vmlx4_wire **there)
{
	*here = open_end(HERE);
	assert_non_null(*here);
	assert_false(HERE->carrier);
	*there = open_other_end(*here, THERE);
	assert_true(HERE->carrier);
	assert_true(THERE->carrier);
}

static int
set_up(const char *text, enum vmlx4_wire_kind which)
{
	snprintf(name, sizeof(name), text, which == VMLX4_WIRE_UNIX || text[0] == '%' ? folder :
		folder + 5);
	kind = which;
	pumped = NULL;
	mock_reset("ports=2 step mtu=9000");
	HERE->carrier = THERE->carrier = false;
	THERE->netdev.mac[5] = HERE->netdev.mac[5] + 1;
	return 0;
}

int
unix_file(void **state)
{
	(void)state;
	return set_up("%s/socket", VMLX4_WIRE_UNIX);
}

int
shm_name(void **state)
{
	(void)state;
	return set_up("test-%s", VMLX4_WIRE_SHM);
}

int
shm_file(void **state)
{
	(void)state;
	return set_up("%s/socket", VMLX4_WIRE_SHM);
}

int
forget(void **state)
{
	(void)state;
	mock_reset("");
	return 0;
}

int
run_wire_tests(const char *title, const struct CMUnitTest *tests, size_t count)
{
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	failed = _cmocka_run_group_tests(title, tests, count, NULL, NULL);
	rmdir(folder);
	return failed;
}
