/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
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
	strcpy(netif->name, name);
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

/*
 * By netlink: asked by ioctl() for a name that is not there, the kernel would run
 * modprobe each time.
 */
int
vmlx4_netif_find(const char *name)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
		struct rtattr attr;
		char name[IFNAMSIZ];
	} request = {
		.header = { .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_len = sizeof(request) },
		.info = { .ifi_family = AF_UNSPEC },
		.attr = { .rta_type = IFLA_IFNAME, .rta_len = RTA_LENGTH(IFNAMSIZ) },
	};
	union {
		struct nlmsghdr header;
		uint8_t bytes[8192]; /* as much of the answer as there may be */
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), index = -ENODEV;
	struct ifinfomsg info;
	ssize_t got;

	if (fd < 0)
		return -errno;
	strcpy(request.name, name);
	/* The kernel answers within the call that asks. */
	if (send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		got = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);
		if (got >= (ssize_t)NLMSG_LENGTH(sizeof(info)) &&
				reply.header.nlmsg_type == RTM_NEWLINK) {
			memcpy(&info, NLMSG_DATA(&reply.header), sizeof(info));
			index = info.ifi_index;
		}
	}
	close(fd);
	return index;
}

/* It was deleted, or is out of sight: has another one its name by now? */
static void
look_for_name(struct vmlx4_netif *netif)
{
	int index = vmlx4_netif_find(netif->name);

	if (index < 0 || index == netif->ifindex)
		return;
	netif->ifindex = index;
	netif->returned = true;
}

bool
vmlx4_netif_watch(struct vmlx4_netif *netif, struct vmlx4_port *port, unsigned int mask,
	bool absent)
{
	uint64_t now = now_ns();
	bool running;
	int flags;

	if (now < netif->next_look && !port->adapter->options.step)
		return false;
	netif->next_look = now + LOOK_NS;
	flags = vmlx4_netif_flags(netif);
	if (flags < 0 && !absent)
		look_for_name(netif);
	running = flags < 0 ? absent : ((unsigned int)flags & mask) == mask;
	/* Only a change counts: the carrier may also be set by vmlx4_set_carrier(). */
	if (running != netif->running) {
		netif->running = running;
		port->carrier = running;
		vmlx4_port_update(port);
	}
	return true;
}
