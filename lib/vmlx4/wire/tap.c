/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "../hca/hca.h"
#include "backends.h"

/*
 * A TAP interface of the host. Its stack completes every checksum and cuts
 * every segment itself, as the interface offers no offload. Addresses and MTU
 * are the user's; a frame that the port cannot take counts as rx_oversize.
 */

#define FRAME_MAX 65535

struct tap {
	struct vmlx4_wire wire;
	struct vmlx4_netif netif;
	bool deleted;              /* not only out of sight */
	bool told;                 /* why the next of its name cannot be had */
	uint8_t frame[FRAME_MAX];
};

static const char *
attach_cure(int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
		return "needs CAP_NET_ADMIN: run as root, or have root make it with "
			"\"ip tuntap add NAME mode tap user YOU\"";
	case EBUSY:
		return "another program holds it: end that one or use another name";
	case EINVAL:
		return "an interface of this name exists and is no plain TAP: use another name";
	default:
		return "use another name";
	}
}

/* The descriptor, or a negative errno with the error line written. */
static int
attach(const char *name, char *error, size_t error_size)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0) {
		err = errno;
		snprintf(error, error_size, "wire tap:%s: /dev/net/tun: %s: %s", name,
			strerror(err), err == EACCES || err == EPERM ? attach_cure(err) :
			"load the tun module or use another wire");
		return -err;
	}
	strcpy(ifr.ifr_name, name);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0) {
		err = errno;
		snprintf(error, error_size, "wire tap:%s: %s: %s", name, strerror(err),
			attach_cure(err));
		close(fd);
		return -err;
	}
	return fd;
}

static bool
tap_send(struct vmlx4_wire *wire, const uint8_t *frame, size_t length)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)frame, .iov_len = length };

	return writev(wire->fd, &part, 1) == (ssize_t)length;
}

/* It was deleted, and there is a TAP of its name again: plug the cable in there. */
static void
follow(struct tap *tap)
{
	char error[256];
	int fd;

	tap->netif.returned = false;
	fd = attach(tap->netif.name, error, sizeof(error));
	if (fd < 0) {
		/* Not ours to have, or gone again: look for the next one. */
		tap->netif.ifindex = 0;
		if (!tap->told)
			fprintf(stderr, "vmlx4: %s\n", error);
		tap->told = true;
		return;
	}
	close(tap->wire.fd);
	tap->wire.fd = fd;
	tap->deleted = false;
	tap->told = false;
	vmlx4_netif_set_flags(&tap->netif, IFF_UP);
}

static unsigned int
tap_poll(struct vmlx4_wire *wire, unsigned int budget)
{
	struct tap *tap = (struct tap *)wire;
	struct iovec part = { .iov_base = tap->frame, .iov_len = sizeof(tap->frame) };
	unsigned int count;

	/* The user may have moved it to another namespace: the fd goes on working. */
	vmlx4_netif_watch(&tap->netif, wire->port, IFF_UP, !tap->deleted);
	if (tap->netif.returned)
		follow(tap);
	for (count = 0; count < budget; count++) {
		ssize_t length = readv(wire->fd, &part, 1);

		if (length <= 0) {
			tap->deleted = length < 0 && errno == EBADFD;
			break;
		}
		vmlx4_wire_deliver(wire, tap->frame, length);
	}
	return count;
}

static void
tap_close(struct vmlx4_wire *wire)
{
	struct tap *tap = (struct tap *)wire;

	vmlx4_netif_close(&tap->netif);
	if (wire->fd >= 0)
		close(wire->fd);
	free(tap);
}

static const struct vmlx4_wire_ops tap_ops = {
	.send = tap_send,
	.poll = tap_poll,
	.close = tap_close,
};

/* 0 or a negative errno with the error line written. */
static int
tap_attach(struct tap *tap, const char *name, char *error, size_t error_size)
{
	int err;

	tap->wire.fd = attach(name, error, error_size);
	if (tap->wire.fd < 0)
		return tap->wire.fd;
	err = vmlx4_netif_open(&tap->netif, name);
	if (err < 0) {
		snprintf(error, error_size, "wire tap:%s: socket: %s", name, strerror(-err));
		return err;
	}
	return 0;
}

struct vmlx4_wire *
vmlx4_wire_tap_open(const struct vmlx4_wire_spec *spec, struct vmlx4_port *port, char *error,
	size_t error_size)
{
	struct tap *tap = calloc(1, sizeof(*tap));
	int err;

	if (tap == NULL) {
		snprintf(error, error_size, "wire tap:%s: %s", spec->ifname, strerror(ENOMEM));
		return NULL;
	}
	tap->wire.ops = &tap_ops;
	tap->wire.port = port;
	tap->wire.fd = -1;
	tap->netif.socket = -1;
	if (tap_attach(tap, spec->ifname, error, error_size) < 0) {
		tap_close(&tap->wire);
		return NULL;
	}
	if (port == NULL)
		return &tap->wire;

	err = vmlx4_netif_set_flags(&tap->netif, IFF_UP);
	/* An unprivileged owner of a ready-made TAP may not, and need not, set it up. */
	tap->netif.running = err == 0 || (vmlx4_netif_flags(&tap->netif) & IFF_UP) != 0;
	port->carrier = tap->netif.running;
	return &tap->wire;
}
