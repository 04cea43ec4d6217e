/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port in a secondary process. Its queues lie in shared memory, and bursts run
 * here as in the primary; all control is the primary's. Only the doorbell page is
 * mapped anew. Receive interrupts are not for secondaries: they would arm the queue
 * through a page of the primary.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

/* What this process polls with; ethdev copies the rest when a port is attached. */
void
mdv_secondary_bursts(struct rte_eth_dev *dev, bool started)
{
	struct rte_eth_fp_ops *fast = &rte_eth_fp_ops[dev->data->port_id];

	if (dev->dev_ops != &mdv_secondary_ops)
		return;
	if (!started) {
		mdv_burst_dummy(dev);
	} else {
		dev->rx_pkt_burst = mdv_rx_choose();
		dev->tx_pkt_burst = mdv_tx_burst;
		dev->tx_pkt_prepare = mdv_tx_prepare;
		/* Not known yet where the port was attached before it was configured. */
		fast->rxq.data = dev->data->rx_queues;
		fast->txq.data = dev->data->tx_queues;
		rte_wmb();
	}
	fast->rx_pkt_burst = dev->rx_pkt_burst;
	fast->tx_pkt_burst = dev->tx_pkt_burst;
	fast->tx_pkt_prepare = dev->tx_pkt_prepare;
	rte_wmb();
}

/* In place of what was mapped before, while no burst rings. */
static int
map_doorbells(const struct rte_eth_dev *dev, int fd)
{
	size_t page = (size_t)getpagesize();
	uint16_t port_id = dev->data->port_id;
	uint8_t *old = mdv_uar[port_id];
	void *uar;

	uar = mmap(NULL, page, PROT_WRITE, MAP_SHARED, fd, 0);
	if (uar == MAP_FAILED) {
		MDV_LOG(ERR, "%s: cannot map the doorbell page: %s", dev->data->name,
			strerror(errno));
		return -errno;
	}
	mdv_uar[port_id] = uar;
	if (old != NULL)
		munmap(old, page);
	return 0;
}

static int
get_doorbells(const struct rte_eth_dev *dev)
{
	int fd = mdv_mp_get_fd(dev->data->port_id);
	int ret;

	if (fd < 0) {
		MDV_LOG(ERR, "%s: the primary process does not share the port: %s",
			dev->data->name, strerror(-fd));
		return fd;
	}
	ret = map_doorbells(dev, fd);
	close(fd);
	return ret;
}

int
mdv_secondary_started(struct rte_eth_dev *dev, int fd)
{
	int ret;

	if (dev->dev_ops != &mdv_secondary_ops)
		return 0;
	ret = fd >= 0 ? map_doorbells(dev, fd) : -EBADF;
	mdv_secondary_bursts(dev, ret == 0);
	return ret;
}

static int
secondary_close(struct rte_eth_dev *dev)
{
	uint16_t port_id = dev->data->port_id;

	mdv_secondary_bursts(dev, false);
	if (mdv_uar[port_id] != NULL)
		munmap(mdv_uar[port_id], (size_t)getpagesize());
	mdv_uar[port_id] = NULL;
	return 0;
}

int
mdv_secondary_attach(struct rte_device *rdev, const char *name)
{
	struct rte_eth_dev *dev = rte_eth_dev_attach_secondary(name);
	int ret;

	if (dev == NULL)
		return -ENODEV;
	dev->device = rdev;
	dev->dev_ops = &mdv_secondary_ops;
	dev->rx_queue_count = mdv_rx_queue_count;
#if MDV_HAS_RECYCLE
	dev->recycle_tx_mbufs_reuse = mdv_recycle_tx_reuse;
	dev->recycle_rx_descriptors_refill = mdv_recycle_refill;
#endif
	dev->rx_descriptor_status = mdv_rx_descriptor_status;
	dev->tx_descriptor_status = mdv_tx_descriptor_status;
	mdv_burst_dummy(dev);
	ret = mdv_mp_init();
	if (ret == 0)
		ret = get_doorbells(dev);
	if (ret != 0) {
		rte_eth_dev_release_port(dev);
		return ret;
	}
	rte_eth_dev_probing_finish(dev);
	mdv_secondary_bursts(dev, dev->data->dev_started != 0);
	return 0;
}

const struct eth_dev_ops mdv_secondary_ops = {
	.dev_close = secondary_close,
	.is_removed = mdv_is_removed,
	.dev_infos_get = mdv_dev_infos_get,
	.dev_supported_ptypes_get = mdv_supported_ptypes,
	.link_update = mdv_link_update,
	.stats_get = mdv_stats_get,
	.stats_reset = mdv_stats_reset,
	.xstats_get = mdv_xstats_get,
	.xstats_get_names = mdv_xstats_get_names,
	.xstats_reset = mdv_stats_reset,
	.fw_version_get = mdv_fw_version_get,
	.tx_done_cleanup = mdv_tx_done_cleanup,
	.rxq_info_get = mdv_rxq_info_get,
	.txq_info_get = mdv_txq_info_get,
	.rx_burst_mode_get = mdv_rx_burst_mode_get,
	.tx_burst_mode_get = mdv_tx_burst_mode_get,
	.get_monitor_addr = mdv_get_monitor_addr,
	.rss_hash_conf_get = mdv_rss_hash_conf_get,
	.reta_query = mdv_reta_query,
};
