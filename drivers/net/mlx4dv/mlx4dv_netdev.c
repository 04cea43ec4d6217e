/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The Linux network interface that mlx4_en shows for the port. The adapter has
 * one MTU, one link and one set of port counters, and they are managed there.
 */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include <rte_string_fns.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

int
mdv_sysfs_read(const struct ibv_device *ibdev, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	FILE *f;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/%s", ibdev->ibdev_path, file) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (f == NULL)
		return -errno;
	if (fgets(buf, (int)size, f) == NULL)
		ret = -EIO;
	else
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return ret;
}

/* True when the interface is the one of the port; dev_id is for old kernels. */
static bool
netdev_matches(const struct mdv_priv *priv, const char *ifname)
{
	static const char *const files[] = { "dev_port", "dev_id" };
	char file[PATH_MAX];
	char value[32];
	unsigned int i;

	for (i = 0; i < RTE_DIM(files); i++) {
		snprintf(file, sizeof(file), "device/net/%s/%s", ifname, files[i]);
		if (mdv_sysfs_read(priv->ibdev, file, value, sizeof(value)) == 0)
			return strtoul(value, NULL, 0) == priv->port - 1;
	}
	return false;
}

int
mdv_netdev_find(struct mdv_priv *priv)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/device/net", priv->ibdev->ibdev_path) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	priv->ifname[0] = '\0';
	dir = opendir(path);
	if (dir != NULL) {
		while ((entry = readdir(dir)) != NULL) {
			if (entry->d_name[0] == '.' || !netdev_matches(priv, entry->d_name))
				continue;
			strlcpy(priv->ifname, entry->d_name, sizeof(priv->ifname));
			break;
		}
		closedir(dir);
	}
	priv->ifindex = priv->ifname[0] != '\0' ? if_nametoindex(priv->ifname) : 0;
	if (priv->ifindex != 0)
		return 0;
	MDV_LOG(ERR, "port %u of %s has no network interface here: load mlx4_en "
		"(modprobe mlx4_en), and run in the network namespace that holds it",
		priv->port, priv->ibdev->name);
	return -ENODEV;
}

static int
netdev_ioctl(const struct mdv_priv *priv, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	strlcpy(ifr->ifr_name, priv->ifname, sizeof(ifr->ifr_name));
	if (ioctl(fd, request, ifr) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int
mdv_netdev_ethtool(const struct mdv_priv *priv, void *cmd)
{
	struct ifreq ifr = { .ifr_data = cmd };

	return netdev_ioctl(priv, SIOCETHTOOL, &ifr);
}

int
mdv_netdev_get_mac(const struct mdv_priv *priv, struct rte_ether_addr *mac)
{
	struct ifreq ifr = { .ifr_name = "" };
	int ret = netdev_ioctl(priv, SIOCGIFHWADDR, &ifr);

	if (ret == 0)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, sizeof(*mac));
	return ret;
}

int
mdv_netdev_get_mtu(const struct mdv_priv *priv, uint16_t *mtu)
{
	struct ifreq ifr = { .ifr_name = "" };
	int ret = netdev_ioctl(priv, SIOCGIFMTU, &ifr);

	if (ret == 0)
		*mtu = (uint16_t)RTE_MIN(ifr.ifr_mtu, UINT16_MAX);
	return ret;
}

int
mdv_netdev_set_mtu(const struct mdv_priv *priv, uint16_t mtu)
{
	struct ifreq ifr = { .ifr_mtu = mtu };
	uint16_t old;
	int ret;

	/* Asking for what is already there would need privileges for nothing. */
	ret = mdv_netdev_get_mtu(priv, &old);
	if (ret == 0 && old == mtu)
		return 0;
	ret = netdev_ioctl(priv, SIOCSIFMTU, &ifr);
	if (ret != 0)
		MDV_PLOG(priv, ERR, "cannot set the MTU of %s to %u: %s%s", priv->ifname, mtu,
			 strerror(-ret), ret == -EPERM ?
			 "; give the process CAP_NET_ADMIN or set it with ip link" : "");
	return ret;
}

int
mdv_netdev_get_flags(const struct mdv_priv *priv, unsigned int *flags)
{
	struct ifreq ifr = { .ifr_name = "" };
	int ret = netdev_ioctl(priv, SIOCGIFFLAGS, &ifr);

	if (ret == 0)
		*flags = (unsigned short)ifr.ifr_flags;
	return ret;
}

/* IFF_UP alone changes: the other flags are the administrator's. */
int
mdv_netdev_set_up(const struct mdv_priv *priv, bool up)
{
	struct ifreq ifr = { .ifr_name = "" };
	unsigned int flags;
	int ret;

	ret = mdv_netdev_get_flags(priv, &flags);
	if (ret != 0 || ((flags & IFF_UP) != 0) == up)
		return ret;
	flags = up ? flags | IFF_UP : flags & ~(unsigned int)IFF_UP;
	ifr.ifr_flags = (short)flags;
	return netdev_ioctl(priv, SIOCSIFFLAGS, &ifr);
}

int
mdv_netdev_get_speed(const struct mdv_priv *priv, uint32_t *mbps, bool *full_duplex, bool *autoneg)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	uint32_t speed;
	int ret = mdv_netdev_ethtool(priv, &cmd);

	if (ret != 0)
		return ret;
	/* Not ethtool_cmd_speed(), which shifts an unknown speed into a sign bit. */
	speed = (uint32_t)cmd.speed_hi << 16 | cmd.speed;
	*mbps = speed == (uint32_t)SPEED_UNKNOWN || speed == UINT16_MAX ?
		RTE_ETH_SPEED_NUM_UNKNOWN : speed;
	*full_duplex = cmd.duplex != DUPLEX_HALF;
	*autoneg = cmd.autoneg != AUTONEG_DISABLE;
	return 0;
}

int
mdv_netdev_get_pause(const struct mdv_priv *priv, struct rte_eth_fc_conf *conf)
{
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };
	int ret = mdv_netdev_ethtool(priv, &pause);

	if (ret != 0)
		return ret;
	conf->autoneg = pause.autoneg != 0;
	if (pause.rx_pause != 0)
		conf->mode = pause.tx_pause != 0 ? RTE_ETH_FC_FULL : RTE_ETH_FC_RX_PAUSE;
	else
		conf->mode = pause.tx_pause != 0 ? RTE_ETH_FC_TX_PAUSE : RTE_ETH_FC_NONE;
	return 0;
}

int
mdv_netdev_set_pause(const struct mdv_priv *priv, const struct rte_eth_fc_conf *conf)
{
	struct ethtool_pauseparam pause = {
		.cmd = ETHTOOL_SPAUSEPARAM,
		.autoneg = conf->autoneg,
		.rx_pause = conf->mode == RTE_ETH_FC_FULL || conf->mode == RTE_ETH_FC_RX_PAUSE,
		.tx_pause = conf->mode == RTE_ETH_FC_FULL || conf->mode == RTE_ETH_FC_TX_PAUSE,
	};

	return mdv_netdev_ethtool(priv, &pause);
}
