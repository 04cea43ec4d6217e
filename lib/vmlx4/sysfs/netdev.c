/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>
#include <net/if_arp.h>

#include "../hca/hca.h"
#include "sysfs.h"

/* What a user may switch; the rest of the flags follows from the hardware. */
#define USER_FLAGS (IFF_UP | IFF_DEBUG | IFF_PROMISC | IFF_ALLMULTI | IFF_NOTRAILERS | \
	IFF_NOARP | IFF_DYNAMIC)

void
vmlx4_netdev_init(struct vmlx4_port *port)
{
	const struct vmlx4_options *options = &port->adapter->options;
	struct vmlx4_netdev *netdev = &port->netdev;

	memset(netdev, 0, sizeof(*netdev));
	netdev->mtu = options->mtu;
	vmlx4_port_mac(options, port->number, netdev->mac);
	/* mlx4_core gives a port in InfiniBand mode no interface. */
	if (port->infiniband)
		return;
	vmlx4_ifname(port->number, netdev->name);
	netdev->ifindex = vmlx4_ifindex(port->number);
	netdev->flags = IFF_UP | IFF_BROADCAST | IFF_MULTICAST;
	netdev->rx_pause = true;
	netdev->tx_pause = true;
}

unsigned int
vmlx4_netdev_flags(const struct vmlx4_port *port)
{
	unsigned int flags = port->netdev.flags;

	if ((flags & IFF_UP) != 0 && port->carrier && port->unplugged == 0 &&
	    !port->link.trains && !port->link.lags)
		flags |= IFF_RUNNING;
	return flags;
}

static struct vmlx4_port *
find_name(struct vmlx4_adapter *adapter, const char *name)
{
	unsigned int i;

	if (adapter == NULL || name[0] == '\0' || vmlx4_away(adapter))
		return NULL;
	for (i = 0; i < adapter->options.ports; i++)
		if (strncmp(adapter->ports[i].netdev.name, name, IFNAMSIZ) == 0)
			return &adapter->ports[i];
	return NULL;
}

static struct vmlx4_port *
find_index(struct vmlx4_adapter *adapter, unsigned int index)
{
	unsigned int i;

	if (adapter == NULL || index == 0 || vmlx4_away(adapter))
		return NULL;
	for (i = 0; i < adapter->options.ports; i++)
		if (adapter->ports[i].netdev.ifindex == index)
			return &adapter->ports[i];
	return NULL;
}

unsigned int
vmlx4_netdev_nametoindex(const struct vmlx4_adapter *adapter, const char *name)
{
	/* Name and index never change while the adapter is there: no lock. */
	const struct vmlx4_port *port = find_name((struct vmlx4_adapter *)(uintptr_t)adapter,
		name);

	return port != NULL ? port->netdev.ifindex : 0;
}

char *
vmlx4_netdev_indextoname(const struct vmlx4_adapter *adapter, unsigned int index,
	char name[IFNAMSIZ])
{
	const struct vmlx4_port *port = find_index((struct vmlx4_adapter *)(uintptr_t)adapter,
		index);

	if (port == NULL)
		return NULL;
	memcpy(name, port->netdev.name, IFNAMSIZ);
	return name;
}

/* A file below the folder of the PCI device. */
static void
write_device_file(const struct vmlx4_port *port, const char *name, const char *text)
{
	const struct vmlx4_options *options = &port->adapter->options;
	char path[PATH_MAX + 128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", options->sysfs,
		options->pci_address, name);
	/* "r+": the tree may be gone or another's; then there is nothing to keep up. */
	out = fopen(path, "r+e");
	if (out == NULL)
		return;
	/* Padded, as the file is not cut: readers stop at the newline. */
	fprintf(out, "%s\n%*s", text, strlen(text) < 20 ? 20 - (int)strlen(text) : 0, "");
	fclose(out);
}

static void
write_file(const struct vmlx4_port *port, const char *leaf, const char *text)
{
	char name[64 + IFNAMSIZ];

	snprintf(name, sizeof(name), "net/%s/%s", port->netdev.name, leaf);
	write_device_file(port, name, text);
}

void
vmlx4_gids_sysfs_update(const struct vmlx4_port *port)
{
	char name[64], text[40];
	enum vmlx4_roce roce;
	uint8_t gid[16];
	unsigned int i;

	if (port->adapter->options.sysfs[0] == '\0')
		return;
	for (i = 0; vmlx4_gid_get(port, i, gid, &roce); i++) {
		snprintf(name, sizeof(name), "infiniband/" VMLX4_IBDEV "/ports/%u/gids/%u",
			port->number, i);
		vmlx4_gid_text(gid, text);
		write_device_file(port, name, text);
	}
}

void
vmlx4_netdev_sysfs_update(const struct vmlx4_port *port)
{
	const struct vmlx4_netdev *netdev = &port->netdev;
	bool running = (vmlx4_netdev_flags(port) & IFF_RUNNING) != 0;
	char text[32];

	if (port->adapter->options.sysfs[0] == '\0' || netdev->name[0] == '\0')
		return;
	write_file(port, "operstate", running ? "up" : "down");
	write_file(port, "carrier", running ? "1" : "0");
	snprintf(text, sizeof(text), "%u", netdev->mtu);
	write_file(port, "mtu", text);
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", netdev->mac[0],
		netdev->mac[1], netdev->mac[2], netdev->mac[3], netdev->mac[4], netdev->mac[5]);
	write_file(port, "address", text);
}

static int
set_address(struct vmlx4_port *port, const struct sockaddr *address)
{
	const uint8_t *mac = (const uint8_t *)address->sa_data;
	static const uint8_t zero[6];

	if (address->sa_family != ARPHRD_ETHER)
		return -EINVAL;
	if ((mac[0] & 1) != 0 || memcmp(mac, zero, sizeof(zero)) == 0)
		return -EADDRNOTAVAIL;
	memcpy(port->netdev.mac, mac, sizeof(port->netdev.mac));
	vmlx4_destinations_forget(port); /* with their places in the MAC table */
	vmlx4_netdev_sysfs_update(port);
	vmlx4_gids_changed(port); /* the link-local address follows from it */
	return 0;
}

static int
set_mtu(struct vmlx4_port *port, int mtu)
{
	if (mtu < VMLX4_MTU_MIN || mtu > VMLX4_MTU_MAX)
		return -EINVAL;
	port->netdev.mtu = mtu;
	vmlx4_netdev_sysfs_update(port);
	return 0;
}

static int
set_flags(struct vmlx4_port *port, unsigned short flags)
{
	port->netdev.flags = (port->netdev.flags & ~USER_FLAGS) | (flags & USER_FLAGS);
	/* IFF_UP changes the state of the port and the contexts hear of it. */
	vmlx4_port_update(port);
	vmlx4_netdev_sysfs_update(port);
	return 0;
}

/* Requests that take a struct ifreq with a name; others are not looked into. */
static bool
names_interface(unsigned long request)
{
	switch (request) {
	case SIOCGIFFLAGS: case SIOCSIFFLAGS:
	case SIOCGIFADDR: case SIOCSIFADDR:
	case SIOCGIFDSTADDR: case SIOCGIFBRDADDR: case SIOCGIFNETMASK:
	case SIOCGIFMETRIC: case SIOCGIFMTU: case SIOCSIFMTU:
	case SIOCGIFHWADDR: case SIOCSIFHWADDR:
	case SIOCADDMULTI: case SIOCDELMULTI:
	case SIOCGIFINDEX: case SIOCGIFTXQLEN: case SIOCGIFMAP:
	case SIOCETHTOOL: case SIOCGHWTSTAMP: case SIOCSHWTSTAMP:
	case SIOCGMIIPHY: case SIOCGMIIREG:
		return true;
	default:
		return false;
	}
}

static int
netdev_request(struct vmlx4_port *port, unsigned long request, struct ifreq *ifr)
{
	switch (request) {
	case SIOCGIFFLAGS:
		ifr->ifr_flags = vmlx4_netdev_flags(port);
		return 0;
	case SIOCSIFFLAGS:
		return set_flags(port, ifr->ifr_flags);
	case SIOCGIFMTU:
		ifr->ifr_mtu = port->netdev.mtu;
		return 0;
	case SIOCSIFMTU:
		return set_mtu(port, ifr->ifr_mtu);
	case SIOCGIFHWADDR:
		memset(&ifr->ifr_hwaddr, 0, sizeof(ifr->ifr_hwaddr));
		ifr->ifr_hwaddr.sa_family = ARPHRD_ETHER;
		memcpy(ifr->ifr_hwaddr.sa_data, port->netdev.mac, sizeof(port->netdev.mac));
		return 0;
	case SIOCSIFHWADDR:
		return set_address(port, &ifr->ifr_hwaddr);
	case SIOCGIFINDEX:
		ifr->ifr_ifindex = port->netdev.ifindex;
		return 0;
	case SIOCGIFMETRIC:
		ifr->ifr_metric = 0;
		return 0;
	case SIOCGIFTXQLEN:
		ifr->ifr_qlen = 1000;
		return 0;
	case SIOCETHTOOL:
		return ifr->ifr_data != NULL ? vmlx4_ethtool(port, ifr->ifr_data) : -EFAULT;
	case SIOCGIFADDR: case SIOCGIFDSTADDR: case SIOCGIFBRDADDR: case SIOCGIFNETMASK:
		return -EADDRNOTAVAIL; /* no IP address */
	default:
		return -EOPNOTSUPP;
	}
}

static int
aligned_ioctl(struct vmlx4_adapter *adapter, unsigned long request, struct ifreq *ifr,
	int *handled)
{
	struct vmlx4_port *port;
	int ret;

	*handled = 0;
	if (request == SIOCGIFNAME) {
		if (vmlx4_netdev_indextoname(adapter, ifr->ifr_ifindex, ifr->ifr_name) != NULL)
			*handled = 1;
		return 0;
	}
	port = find_name(adapter, ifr->ifr_name);
	if (port == NULL)
		return 0;
	*handled = 1;
	vmlx4_lock(adapter);
	ret = netdev_request(port, request, ifr);
	vmlx4_unlock(adapter);
	return ret;
}

/* As the kernel copies it, it may lie at any address. */
int
vmlx4_netdev_ioctl(struct vmlx4_adapter *adapter, unsigned long request, void *arg,
	int *handled)
{
	struct ifreq ifr;
	int ret;

	*handled = 0;
	if (adapter == NULL || arg == NULL ||
	    (request != SIOCGIFNAME && !names_interface(request)))
		return 0;
	memcpy(&ifr, arg, sizeof(ifr));
	ret = aligned_ioctl(adapter, request, &ifr, handled);
	if (*handled)
		memcpy(arg, &ifr, sizeof(ifr));
	return ret;
}
