/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port whose device is gone: unplugged, dead of a fatal error, or lost in a reset
 * that failed. It is told once; from then on the port has the table of operations
 * below, in which all that would need the device answers -EIO, as ethdev has it for
 * a removed device. Counters, information, stop, close and reset go on working, and
 * bursts find all queues out of service.
 *
 * What verbs holds is freed by the ordinary stop and close: libibverbs takes the EIO
 * of a command that destroys for success when it is asked to (see mdv_gone_init).
 */

#include <errno.h>
#include <stdlib.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

/*
 * Read by libibverbs when it first lists devices. Without it the memory of every
 * queue of a device that is gone would be lost. As with the stock driver an
 * application that wants otherwise sets the variable itself.
 */
RTE_INIT(mdv_gone_init)
{
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 0);
}

bool
mdv_is_ours(const struct rte_eth_dev *dev)
{
	return dev->dev_ops == &mdv_dev_ops || dev->dev_ops == &mdv_gone_ops;
}

/* No burst touches a queue from its next call on. */
static void
queues_out_of_service(struct mdv_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	struct mdv_rxq *rxq;
	struct mdv_txq *txq;
	uint16_t i;

	rte_spinlock_lock(&priv->lock);
	for (i = 0; i < data->nb_rx_queues; i++) {
		rxq = data->rx_queues[i];
		if (rxq != NULL)
			mdv_rxq_set_state(rxq, MDV_QUEUE_GONE);
	}
	for (i = 0; i < data->nb_tx_queues; i++) {
		txq = data->tx_queues[i];
		if (txq != NULL)
			MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_GONE);
	}
	rte_spinlock_unlock(&priv->lock);
}

static void
tell_link_down(struct mdv_priv *priv)
{
	struct rte_eth_link down = {
		.link_speed = RTE_ETH_SPEED_NUM_NONE,
		.link_status = RTE_ETH_LINK_DOWN,
	};

	if (rte_eth_linkstatus_set(priv->dev, &down) != 0 || !priv->started ||
	    priv->data->dev_conf.intr_conf.lsc == 0)
		return;
	priv->lsc_reported = RTE_ETH_LINK_DOWN;
	mdv_event_post(priv, RTE_ETH_EVENT_INTR_LSC);
}

void
mdv_gone(struct mdv_priv *priv)
{
	if (__atomic_exchange_n(&priv->gone, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	priv->dev->dev_ops = &mdv_gone_ops;
	queues_out_of_service(priv);
	tell_link_down(priv);
}

void
mdv_gone_fatal(struct mdv_priv *priv)
{
	if (MDV_LOAD_ACQUIRE(&priv->gone) != 0)
		return;
	MDV_PLOG(priv, ERR, "%s is gone, removed or after a fatal error (see dmesg): close the "
		 "port, or reset it (rte_eth_dev_reset) when the device is back", priv->ibname);
	mdv_watchdog_note(priv);
	mdv_error_note(priv, &(struct mdv_error_entry){ .cause = MDV_ERROR_DEVICE_FATAL });
	mdv_gone(priv);
	/* Who did not ask for removals is told of it as something that a reset cures. */
	mdv_event_post(priv, priv->data->dev_conf.intr_conf.rmv != 0 ?
		       RTE_ETH_EVENT_INTR_RMV : RTE_ETH_EVENT_INTR_RESET);
}

void
mdv_gone_back(struct mdv_priv *priv)
{
	MDV_STORE_RELEASE(&priv->gone, 0);
	priv->dev->dev_ops = &mdv_dev_ops;
	/* ethdev remembers that somebody asked while it was gone. */
	if (priv->dev->state == RTE_ETH_DEV_REMOVED)
		priv->dev->state = RTE_ETH_DEV_ATTACHED;
}

/* Asked by ethdev whenever an operation failed: the kernel may know before we do. */
int
mdv_is_removed(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct ibv_device_attr attr;

	if (MDV_LOAD_ACQUIRE(&priv->gone) != 0)
		return 1;
	/* The context is the primary's. */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY ||
	    ibv_query_device(priv->ctx, &attr) != EIO)
		return 0;
	mdv_gone_fatal(priv);
	return 1;
}

/* ---- what answers -EIO ---- */

/* A function of the type of an operation; the arguments are of no interest. */
#define GONE(op, ...) \
	static int \
	gone_##op(__VA_ARGS__) \
	{ \
		return -EIO; \
	}

#define DEV struct rte_eth_dev *dev __rte_unused
#define U16(name) uint16_t name __rte_unused

GONE(dev, DEV)
GONE(queue, DEV, U16(idx))
GONE(mtu, DEV, U16(mtu))
GONE(link_update, DEV, int wait __rte_unused)
GONE(mac_add, DEV, struct rte_ether_addr *mac __rte_unused, uint32_t idx __rte_unused,
	uint32_t pool __rte_unused)
GONE(mac_set, DEV, struct rte_ether_addr *mac __rte_unused)
GONE(mc_list, DEV, struct rte_ether_addr *mc __rte_unused, uint32_t n __rte_unused)
GONE(rx_setup, DEV, U16(idx), U16(desc), unsigned int socket __rte_unused,
	const struct rte_eth_rxconf *conf __rte_unused, struct rte_mempool *mp __rte_unused)
GONE(tx_setup, DEV, U16(idx), U16(desc), unsigned int socket __rte_unused,
	const struct rte_eth_txconf *conf __rte_unused)
GONE(monitor_addr, void *rxq __rte_unused, struct rte_power_monitor_cond *c __rte_unused)
GONE(vlan_filter, DEV, U16(vid), int on __rte_unused)
GONE(vlan_offload, DEV, int mask __rte_unused)
GONE(clock, DEV, uint64_t *clock __rte_unused)
GONE(flow_ctrl, DEV, struct rte_eth_fc_conf *conf __rte_unused)
GONE(reta_update, DEV, struct rte_eth_rss_reta_entry64 *reta __rte_unused, U16(size))
GONE(module_info, DEV, struct rte_eth_dev_module_info *info __rte_unused)
GONE(module_eeprom, DEV, struct rte_dev_eeprom_info *info __rte_unused)
GONE(rss_update, DEV, struct rte_eth_rss_conf *conf __rte_unused)

/* rte_flow takes a positive errno here. The rules are freed with the port. */
static int
gone_flow_ops(DEV, const struct rte_flow_ops **ops)
{
	*ops = NULL;
	return EIO;
}

/* Each operation of mdv_dev_ops has its place here: a test compares the two. */
const struct eth_dev_ops mdv_gone_ops = {
	.dev_configure = gone_dev,
	.dev_start = gone_dev,
	.dev_stop = mdv_dev_stop,
	.dev_close = mdv_dev_close,
	.dev_reset = mdv_dev_reset,
	.is_removed = mdv_is_removed,
	.dev_infos_get = mdv_dev_infos_get,
	.dev_supported_ptypes_get = mdv_supported_ptypes,
	.dev_set_link_up = gone_dev,
	.dev_set_link_down = gone_dev,
	.link_update = gone_link_update,
	.promiscuous_enable = gone_dev,
	.promiscuous_disable = gone_dev,
	.allmulticast_enable = gone_dev,
	.allmulticast_disable = gone_dev,
	.mac_addr_add = gone_mac_add,
	/* Cannot fail, and must not come back with a reset. */
	.mac_addr_remove = mdv_mac_addr_remove,
	.mac_addr_set = gone_mac_set,
	.set_mc_addr_list = gone_mc_list,
	.mtu_set = gone_mtu,
	.stats_get = mdv_stats_get,
	.stats_reset = mdv_stats_reset,
	.xstats_get = mdv_xstats_get,
	.xstats_get_names = mdv_xstats_get_names,
	.xstats_reset = mdv_stats_reset,
	.fw_version_get = mdv_fw_version_get,
	.rx_queue_setup = gone_rx_setup,
	.rx_queue_release = mdv_rx_queue_release,
	.tx_queue_setup = gone_tx_setup,
	.tx_queue_release = mdv_tx_queue_release,
	.tx_done_cleanup = mdv_tx_done_cleanup,
	.rxq_info_get = mdv_rxq_info_get,
	.txq_info_get = mdv_txq_info_get,
	.rx_burst_mode_get = mdv_rx_burst_mode_get,
	.tx_burst_mode_get = mdv_tx_burst_mode_get,
	.rx_queue_start = gone_queue,
	.rx_queue_stop = gone_queue,
	.tx_queue_start = gone_queue,
	.tx_queue_stop = gone_queue,
	.rx_queue_intr_enable = gone_queue,
	.rx_queue_intr_disable = gone_queue,
	.get_monitor_addr = gone_monitor_addr,
	.eth_dev_priv_dump = mdv_priv_dump,
	.flow_ops_get = gone_flow_ops,
	.vlan_filter_set = gone_vlan_filter,
	.vlan_offload_set = gone_vlan_offload,
	.vlan_strip_queue_set = mdv_vlan_strip_queue_set,
	.read_clock = gone_clock,
	.get_module_info = gone_module_info,
	.get_module_eeprom = gone_module_eeprom,
	.flow_ctrl_get = gone_flow_ctrl,
	.flow_ctrl_set = gone_flow_ctrl,
	.rss_hash_update = gone_rss_update,
	.rss_hash_conf_get = mdv_rss_hash_conf_get,
	.reta_update = gone_reta_update,
#if MDV_HAS_RECYCLE
	.recycle_rxq_info_get = mdv_recycle_rxq_info_get,
#endif
	.reta_query = mdv_reta_query,
};
