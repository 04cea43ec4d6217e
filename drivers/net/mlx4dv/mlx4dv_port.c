/* SPDX-License-Identifier: BSD-3-Clause */

/* From a port of an adapter to an ethdev, and back. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_string_fns.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_devargs.h"
#include "mlx4dv_log.h"

#define PCI_VENDOR_MELLANOX 0x02c9 /* as verbs reports it: the IEEE company id */
#define PART_CONNECTX3 0x1003
#define PART_CONNECTX3_VF 0x1004
#define PART_CONNECTX3_PRO 0x1007

/* "mlx4_0 mlx4_1", for messages. */
static void
list_names(struct ibv_device **list, int n, char *buf, size_t size)
{
	size_t len = 0;
	int i;

	buf[0] = '\0';
	for (i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, " %s", ibv_get_device_name(list[i]));
}

static const char *
open_hint(int err)
{
	if (err == EACCES || err == EPERM)
		return "; give the user read and write access to /dev/infiniband/uverbs*, "
		       "or run as root";
	if (err == EMFILE || err == ENFILE)
		return "; allow more open files (ulimit -n)";
	if (err == ENOMEM)
		return "; raise RLIMIT_MEMLOCK (ulimit -l) or free memory";
	return "; check dmesg and that mlx4_ib is loaded (modprobe mlx4_ib)";
}

/*
 * Why a device did not open. libibverbs looks for the node in a second place when
 * the first refuses, and what errno then says is about that one.
 */
static int
open_error(const struct ibv_device *ibdev)
{
	char path[PATH_MAX];
	int err = errno != 0 ? errno : EIO;
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", ibdev->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else if (errno == EACCES || errno == EPERM)
		err = errno;
	return err;
}

/* Open a verbs device by name; what stands in the way goes to the log. */
struct ibv_context *
mdv_open_device(const char *ibname)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	char names[256];
	int err = ENODEV;
	int n = 0;
	int i;

	list = ibv_get_device_list(&n);
	if (list == NULL || n == 0) {
		MDV_LOG(ERR, "no verbs device, wanted %s: load mlx4_ib (modprobe mlx4_ib); in a "
			"container also pass in /dev/infiniband", ibname);
		goto out;
	}
	for (i = 0; i < n; i++)
		if (strcmp(ibv_get_device_name(list[i]), ibname) == 0)
			break;
	if (i == n) {
		list_names(list, n, names, sizeof(names));
		MDV_LOG(ERR, "no verbs device is named %s: set device= to one of:%s",
			ibname, names);
		goto out;
	}
	errno = 0;
	ctx = ibv_open_device(list[i]);
	if (ctx == NULL) {
		err = open_error(list[i]);
		MDV_LOG(ERR, "cannot open verbs device %s: %s%s", ibname, strerror(err),
			open_hint(err));
	}
out:
	if (list != NULL)
		ibv_free_device_list(list);
	if (ctx == NULL)
		errno = err;
	return ctx;
}

static int
read_caps(struct mdv_priv *priv)
{
	struct ibv_device_attr_ex attr;
	struct mdv_caps *caps = &priv->caps;
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = ibv_query_device_ex(priv->ctx, NULL, &attr);
	if (ret != 0) {
		MDV_LOG(ERR, "ibv_query_device_ex(%s) failed: %s", priv->ibname, strerror(ret));
		return -ret;
	}
	if (attr.orig_attr.vendor_id != PCI_VENDOR_MELLANOX ||
	    (attr.orig_attr.vendor_part_id != PART_CONNECTX3 &&
	     attr.orig_attr.vendor_part_id != PART_CONNECTX3_VF &&
	     attr.orig_attr.vendor_part_id != PART_CONNECTX3_PRO)) {
		MDV_LOG(ERR, "%s is no ConnectX-3 (vendor 0x%x, part 0x%x): choose another "
			"device", priv->ibname, attr.orig_attr.vendor_id,
			attr.orig_attr.vendor_part_id);
		return -ENODEV;
	}
	if (priv->port < 1 || priv->port > attr.orig_attr.phys_port_cnt) {
		MDV_LOG(ERR, "port=%u: %s has %u port%s, counted from 1", priv->port,
			priv->ibname, attr.orig_attr.phys_port_cnt,
			attr.orig_attr.phys_port_cnt == 1 ? "" : "s");
		return -EINVAL;
	}
	strlcpy(caps->fw_ver, attr.orig_attr.fw_ver, sizeof(caps->fw_ver));
	caps->part_id = attr.orig_attr.vendor_part_id;
	caps->max_qp_wr = (uint32_t)attr.orig_attr.max_qp_wr;
	caps->max_queues = (uint32_t)RTE_MIN(attr.orig_attr.max_cq, attr.orig_attr.max_qp);
	caps->max_table = attr.rss_caps.max_rwq_indirection_table_size;
	if ((attr.tso_caps.supported_qpts & (1u << IBV_QPT_RAW_PACKET)) != 0)
		caps->max_tso = attr.tso_caps.max_tso;
	caps->raw_csum = (attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM) != 0;
	caps->keep_crc = (attr.raw_packet_caps & IBV_RAW_PACKET_CAP_SCATTER_FCS) != 0;
	caps->tunnel_csum = caps->part_id == PART_CONNECTX3_PRO;
	caps->timestamps = attr.completion_timestamp_mask != 0 && attr.hca_core_clock != 0;
	caps->vf = caps->part_id == PART_CONNECTX3_VF;
	if (caps->max_table == 0 ||
	    (attr.rss_caps.supported_qpts & (1u << IBV_QPT_RAW_PACKET)) == 0) {
		MDV_LOG(ERR, "%s offers no RSS for raw packets, which RX is built on: update the "
			"kernel to 4.12 or later and the firmware (%s here)", priv->ibname,
			caps->fw_ver);
		return -ENOTSUP;
	}
	return 0;
}

static int
check_link_layer(struct mdv_priv *priv)
{
	struct ibv_port_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = ibv_query_port(priv->ctx, (uint8_t)priv->port, &attr);
	if (ret != 0) {
		MDV_LOG(ERR, "ibv_query_port(%s, %u) failed: %s", priv->ibname, priv->port,
			strerror(ret));
		return -ret;
	}
	if (attr.link_layer == IBV_LINK_LAYER_ETHERNET)
		return 0;
	MDV_LOG(ERR, "port %u of %s is in InfiniBand mode; set the port to Ethernet: "
		"echo eth > /sys/class/infiniband/%s/device/mlx4_port%u",
		priv->port, priv->ibname, priv->ibname, priv->port);
	return -ENOTSUP;
}

static int
read_netdev(struct mdv_priv *priv)
{
	int ret;

	ret = mdv_netdev_find(priv);
	if (ret != 0)
		return ret;
	ret = mdv_netdev_get_mac(priv, &priv->hw_mac);
	if (ret == 0)
		ret = mdv_netdev_get_mtu(priv, &priv->data->mtu);
	if (ret != 0) {
		MDV_LOG(ERR, "cannot read the MAC address and MTU of %s: %s", priv->ifname,
			strerror(-ret));
		return ret;
	}
	/* After a reset ethdev puts the addresses of before back. */
	if (rte_is_zero_ether_addr(&priv->mac[0])) {
		priv->mac[0] = priv->hw_mac;
		priv->data->mac_addrs[0] = priv->hw_mac;
	}
	return 0;
}

static int
set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static void *
queue_alloc(size_t size, void *arg)
{
	struct mdv_priv *priv = arg;

	return rte_zmalloc_socket("a verbs queue", size, (unsigned int)getpagesize(),
		priv->data->numa_node);
}

static void
queue_free(void *queue, void *arg)
{
	RTE_SET_USED(arg);
	rte_free(queue);
}

/* Rings and doorbell records in memory that secondary processes have, too. */
static void
share_queues(struct mdv_priv *priv)
{
	struct mlx4dv_ctx_allocators allocators = {
		.alloc = queue_alloc, .free = queue_free, .data = priv,
	};
	int ret = mlx4dv_set_context_attr(priv->ctx, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS,
		&allocators);

	if (ret != 0)
		MDV_PLOG(priv, WARNING, "mlx4dv_set_context_attr(BUF_ALLOCATORS) failed: %s; "
			 "secondary processes cannot use the port", strerror(ret));
	priv->shared = ret == 0;
}

/* Take the port into use; on failure everything is as before and logged. */
int
mdv_port_open(struct mdv_priv *priv)
{
	char numa[16];
	int ret;

	priv->ctx = mdv_open_device(priv->ibname);
	if (priv->ctx == NULL)
		return -errno;
	priv->ibdev = priv->ctx->device;
	ret = read_caps(priv);
	if (ret == 0)
		ret = check_link_layer(priv);
	if (ret == 0)
		ret = read_netdev(priv);
	if (ret == 0)
		ret = set_nonblock(priv->ctx->async_fd);
	if (ret != 0)
		goto fail;
	/* From sysfs, as a virtual device has no node of its own. */
	priv->data->numa_node =
		mdv_sysfs_read(priv->ibdev, "device/numa_node", numa, sizeof(numa)) == 0 ?
		atoi(numa) : SOCKET_ID_ANY;
	share_queues(priv);
	priv->pd = ibv_alloc_pd(priv->ctx);
	if (priv->pd == NULL) {
		ret = errno != 0 ? -errno : -ENOMEM;
		MDV_LOG(ERR, "ibv_alloc_pd(%s) failed: %s", priv->ibname, strerror(-ret));
		goto fail;
	}
	ret = mdv_mr_init(priv);
	if (ret == 0)
		ret = mdv_intr_init(priv);
	if (ret == 0) {
		mdv_blueflame_open(priv);
		mdv_netdev_stats_open(priv);
		/* What the interface missed so far was never this port's to receive. */
		mdv_netdev_stats_reset(priv);
		return 0;
	}
fail:
	mdv_port_close(priv);
	return ret;
}

void
mdv_port_close(struct mdv_priv *priv)
{
	mdv_intr_fini(priv);
	mdv_netdev_stats_close(priv);
	mdv_blueflame_close(priv);
	mdv_mr_fini(priv);
	if (priv->brought_up) {
		mdv_netdev_set_up(priv, false);
		priv->brought_up = false;
	}
	if (priv->pd != NULL && ibv_dealloc_pd(priv->pd) != 0)
		MDV_PLOG(priv, WARNING, "ibv_dealloc_pd() failed: an object still uses it");
	priv->pd = NULL;
	if (priv->ctx != NULL)
		ibv_close_device(priv->ctx);
	priv->ctx = NULL;
	priv->ibdev = NULL;
}

void *
mdv_zalloc(const struct mdv_priv *priv, const char *what, size_t size, unsigned int socket)
{
	void *p = rte_zmalloc_socket(what, size, RTE_CACHE_LINE_SIZE, (int)socket);

	if (p == NULL)
		p = rte_zmalloc(what, size, RTE_CACHE_LINE_SIZE);
	if (p == NULL)
		MDV_PLOG(priv, ERR, "no memory for %s (%zu bytes): give EAL more with -m", what,
			 size);
	return p;
}

static void
init_priv(struct mdv_priv *priv, struct rte_eth_dev *dev, const char *ibname, unsigned int port)
{
	priv->dev = dev;
	priv->data = dev->data;
	priv->port = port;
	strlcpy(priv->ibname, ibname, sizeof(priv->ibname));
	rte_spinlock_init(&priv->lock);
	rte_spinlock_init(&priv->errors.lock);
	TAILQ_INIT(&priv->rules);
	TAILQ_INIT(&priv->flows);
	TAILQ_INIT(&priv->flow_targets);
	dev->data->dev_private = priv;
	dev->data->dev_flags = RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_INTR_RMV |
		RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->dev_ops = &mdv_dev_ops;
	dev->rx_queue_count = mdv_rx_queue_count;
#if MDV_HAS_RECYCLE
	dev->recycle_tx_mbufs_reuse = mdv_recycle_tx_reuse;
	dev->recycle_rx_descriptors_refill = mdv_recycle_refill;
#endif
	dev->rx_descriptor_status = mdv_rx_descriptor_status;
	dev->tx_descriptor_status = mdv_tx_descriptor_status;
	mdv_burst_dummy(dev);
}

int
mdv_port_create(struct rte_device *rdev, const char *name, const char *ibname,
	unsigned int port, const struct mdv_devargs *args)
{
	struct rte_eth_dev *dev;
	struct mdv_priv *priv;
	int ret;

	dev = rte_eth_dev_allocate(name);
	if (dev == NULL) {
		MDV_LOG(ERR, "cannot make an ethdev named %s: the name or all %d port ids are "
			"taken", name, RTE_MAX_ETHPORTS);
		return -ENOMEM;
	}
	priv = rte_zmalloc_socket(name, sizeof(*priv), RTE_CACHE_LINE_SIZE, rdev->numa_node);
	if (priv == NULL)
		priv = rte_zmalloc(name, sizeof(*priv), RTE_CACHE_LINE_SIZE);
	dev->data->mac_addrs = rte_zmalloc(name, sizeof(priv->mac), 0);
	if (priv == NULL || dev->data->mac_addrs == NULL) {
		MDV_LOG(ERR, "no memory for the ethdev %s: give EAL more with -m", name);
		rte_free(priv);
		rte_eth_dev_release_port(dev);
		return -ENOMEM;
	}
	dev->device = rdev;
	init_priv(priv, dev, ibname, port);
	priv->mr_ext_memseg = args->mr_ext_memseg;
	priv->tx_inline = args->tx_inline;
	priv->tx_blueflame = args->tx_blueflame;
	ret = mdv_port_open(priv);
	if (ret != 0) {
		rte_eth_dev_release_port(dev);
		return ret;
	}
	mdv_mp_init();
	MDV_PLOG(priv, INFO, "port %u of %s, %s, MAC " RTE_ETHER_ADDR_PRT_FMT ", firmware %s",
		 port, ibname, priv->ifname, RTE_ETHER_ADDR_BYTES(&priv->hw_mac),
		 priv->caps.fw_ver);
	rte_eth_dev_probing_finish(dev);
	return 0;
}

int
mdv_port_remove_all(struct rte_device *rdev)
{
	struct rte_eth_dev *dev;
	uint16_t port_id;
	int ret = 0;
	int one;

	RTE_ETH_FOREACH_DEV_OF(port_id, rdev) {
		dev = &rte_eth_devices[port_id];
		if (!mdv_is_ours(dev) && dev->dev_ops != &mdv_secondary_ops)
			continue;
		one = dev->dev_ops->dev_close(dev);
		ret = ret != 0 ? ret : one;
		rte_eth_dev_release_port(dev);
	}
	return ret;
}
