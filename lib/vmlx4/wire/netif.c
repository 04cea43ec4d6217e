/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../hca/hca.h"
#include "backends.h"

#define LOOK_NS 100000000ull

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int
vmlx4_netif_open(struct vmlx4_netif *netif, const char *name)
{
	struct ifreq ifr = { .ifr_flags = 0 };

	memset(netif, 0, sizeof(*netif));
	netif->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (netif->socket < 0)
		return -errno;
	strcpy(ifr.ifr_name, name);
	if (ioctl(netif->socket, SIOCGIFINDEX, &ifr) < 0)
		return -errno;
	netif->ifindex = ifr.ifr_ifindex;
	return 0;
}

void
vmlx4_netif_close(struct vmlx4_netif *netif)
{
	if (netif->socket >= 0)
		close(netif->socket);
	netif->socket = -1;
}

/*
 * Ask by index: the user may rename the interface or take it to another
 * namespace, and a request by a name that is not there makes the kernel run
 * modprobe, which would hold up the engine for many milliseconds.
 */
static int
get_flags(const struct vmlx4_netif *netif, struct ifreq *ifr)
{
	memset(ifr, 0, sizeof(*ifr));
	ifr->ifr_ifindex = netif->ifindex;
	if (ioctl(netif->socket, SIOCGIFNAME, ifr) < 0 ||
			ioctl(netif->socket, SIOCGIFFLAGS, ifr) < 0)
		return -errno;
	return (unsigned short)ifr->ifr_flags;
}

int
vmlx4_netif_flags(const struct vmlx4_netif *netif)
{
	struct ifreq ifr;

	return get_flags(netif, &ifr);
}

int
vmlx4_netif_set_flags(const struct vmlx4_netif *netif, unsigned int flags)
{
	struct ifreq ifr;
	int present = get_flags(netif, &ifr);

	if (present < 0)
		return present;
	if ((present & flags) == flags)
		return 0;
	ifr.ifr_flags = present | flags;
	return ioctl(netif->socket, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

bool
vmlx4_netif_watch(struct vmlx4_netif *netif, struct vmlx4_port *port, unsigned int mask,
	bool absent)
{
	uint64_t now = now_ns();
	bool running;
	int flags;

	if (now < netif->next_look)
		return false;
	netif->next_look = now + LOOK_NS;
	flags = vmlx4_netif_flags(netif);
	running = flags < 0 ? absent : ((unsigned int)flags & mask) == mask;
	/* Only a change counts: the carrier may also be set by vmlx4_set_carrier(). */
	if (running != netif->running) {
		netif->running = running;
		port->carrier = running;
		vmlx4_port_update(port);
	}
	return true;
}
