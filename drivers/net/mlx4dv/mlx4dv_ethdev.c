/* SPDX-License-Identifier: BSD-3-Clause */

/* Life of a port as ethdev sees it: configure, start, stop, close, reset. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

/* What rte_eth_dev_stop() leaves to the driver: nothing may reach a queue. */
void
mdv_burst_dummy(struct rte_eth_dev *dev)
{
	dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	dev->tx_pkt_prepare = NULL;
	rte_wmb();
}

static int
mdv_dev_configure(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	ret = mdv_rss_configure(dev);
	if (ret != 0)
		return ret;
	mdv_flows_place(priv);
	mdv_txqs_configure(dev);
	ret = mdv_rxqs_configure(dev);
	if (ret != 0)
		return ret;
	/* ethdev put rxmode.mtu, or its default, into data->mtu. */
	return mdv_netdev_set_mtu(priv, dev->data->mtu);
}

static void
set_states(struct rte_eth_dev *dev, bool running)
{
	struct mdv_rxq *rxq;
	struct mdv_txq *txq;
	uint16_t i;
	bool on;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		rxq = dev->data->rx_queues[i];
		on = running && rxq->conf.rx_deferred_start == 0;
		/* A queue without rings is no part of the RSS table: nothing to poll. */
		if (rxq != NULL)
			mdv_rxq_set_state(rxq, on && rxq->nb_rings != 0 ?
				MDV_QUEUE_RUNNING : MDV_QUEUE_STOPPED);
		dev->data->rx_queue_state[i] = on ? RTE_ETH_QUEUE_STATE_STARTED :
			RTE_ETH_QUEUE_STATE_STOPPED;
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		txq = dev->data->tx_queues[i];
		on = running && txq->conf.tx_deferred_start == 0;
		if (txq != NULL)
			MDV_STORE_RELEASE(&txq->state, on ? MDV_QUEUE_RUNNING : MDV_QUEUE_STOPPED);
		dev->data->tx_queue_state[i] = on ? RTE_ETH_QUEUE_STATE_STARTED :
			RTE_ETH_QUEUE_STATE_STOPPED;
	}
}

/*
 * Also the unwind of a start that failed halfway. Received packets that nobody
 * polled and packets not yet sent are freed here, with every buffer of the
 * rings: after a stop the pools are whole.
 */
int
mdv_dev_stop(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	mdv_burst_dummy(dev);
	mdv_mp_tell(priv, false);
	rte_spinlock_lock(&priv->lock);
	priv->started = false;
	set_states(dev, false);
	rte_spinlock_unlock(&priv->lock);
	/* Waits for a recovery in progress; none begins once started is false. */
	mdv_watchdog_stop(priv);
	mdv_rx_intr_stop(priv);
	mdv_flows_stop(priv);
	mdv_rules_flush(priv);
	mdv_rss_stop(priv);
	mdv_rxqs_stop(dev);
	mdv_txqs_stop(dev);
	return 0;
}

static int
bring_up(struct mdv_priv *priv)
{
	unsigned int flags;
	int ret;

	ret = mdv_netdev_get_flags(priv, &flags);
	if (ret == 0 && (flags & IFF_UP) == 0) {
		ret = mdv_netdev_set_up(priv, true);
		priv->brought_up = ret == 0;
	}
	if (ret != 0)
		MDV_PLOG(priv, ERR, "cannot bring %s up: %s; give the process CAP_NET_ADMIN or "
			 "run: ip link set %s up", priv->ifname, strerror(-ret), priv->ifname);
	return ret;
}

static int
check_queues(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (dev->data->rx_queues[i] == NULL) {
			MDV_PLOG(priv, ERR, "RX queue %u was not set up: call "
				 "rte_eth_rx_queue_setup() for each of the %u", i,
				 dev->data->nb_rx_queues);
			return -EINVAL;
		}
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] == NULL) {
			MDV_PLOG(priv, ERR, "TX queue %u was not set up: call "
				 "rte_eth_tx_queue_setup() for each of the %u", i,
				 dev->data->nb_tx_queues);
			return -EINVAL;
		}
	return mdv_rx_check_frame(dev, dev->data->mtu);
}

static int
start_queues(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	ret = mdv_txqs_start(dev);
	if (ret == 0)
		ret = mdv_rxqs_start(dev);
	if (ret == 0)
		ret = mdv_rss_start(priv);
	if (ret == 0)
		ret = mdv_rx_intr_start(dev);
	return ret;
}

static int
mdv_dev_start(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	ret = check_queues(dev);
	if (ret == 0)
		ret = mdv_netdev_set_mtu(priv, dev->data->mtu);
	if (ret == 0)
		ret = bring_up(priv);
	if (ret != 0)
		return ret;
	/* Pools that exist now cost the data path no registration later. */
	mdv_mr_register_known(priv);
	ret = start_queues(dev);
	if (ret != 0)
		goto fail;
	priv->started = true;
	ret = mdv_flows_start(priv);
	if (ret == 0)
		ret = mdv_rules_sync(priv);
	if (ret != 0)
		goto fail;
	set_states(dev, true);
	dev->rx_pkt_burst = mdv_rx_choose();
	dev->tx_pkt_burst = mdv_has_blueflame(dev->data->port_id) ? mdv_tx_burst_blueflame :
		mdv_tx_burst;
	dev->tx_pkt_prepare = mdv_tx_prepare;
	rte_wmb();
	mdv_watchdog_start(priv);
	mdv_intr_started(priv);
	mdv_mp_tell(priv, true);
	return 0;
fail:
	mdv_dev_stop(dev);
	return ret;
}

/* Everything that configure and set-up made, so that only the open port is left. */
static void
release_all(struct rte_eth_dev *dev)
{
	uint16_t i;

	mdv_dev_stop(dev);
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		mdv_rx_queue_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		mdv_tx_queue_release(dev, i);
	mdv_flows_forget(mdv_priv(dev));
	mdv_rules_forget(mdv_priv(dev));
}

int
mdv_dev_close(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	if (priv == NULL)
		return 0;
	/* After a reset that failed the list of addresses is all that is left. */
	if (priv->ctx != NULL) {
		release_all(dev);
		mdv_port_close(priv);
	}
	mdv_flows_free(priv);
	mdv_reta_free(priv);
	free(priv->mc);
	priv->mc = NULL;
	priv->nb_mc = 0;
	return 0;
}

/*
 * New verbs objects, down to the context: what an application wants when the
 * adapter was reset under it. It sets the queues up again; addresses and modes
 * stay, as ethdev replays them at the next start.
 */
int
mdv_dev_reset(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	/* After a reset that failed there is nothing left to release. */
	if (priv->ctx != NULL) {
		release_all(dev);
		mdv_port_close(priv);
	}
	ret = mdv_port_open(priv);
	if (ret == 0) {
		mdv_gone_back(priv);
		return 0;
	}
	MDV_PLOG(priv, ERR, "the port cannot be opened again after its reset: %s; reset it again "
		 "when the device is back, or close it", strerror(-ret));
	mdv_error_note(priv, &(struct mdv_error_entry){ .cause = MDV_ERROR_RESET });
	mdv_gone(priv);
	return ret;
}

int
mdv_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint32_t max_rxq = RTE_MIN(priv->caps.max_queues, priv->caps.max_table);
	uint16_t nb_rxq = dev->data->nb_rx_queues;

	info->if_index = priv->ifindex;
	info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_PASSIVE;
	/* An RX queue set up anew would be another number than the RSS table has. */
	info->dev_capa = RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP |
		RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
	info->min_mtu = MDV_MIN_MTU;
	info->max_mtu = MDV_MAX_MTU;
	info->min_rx_bufsize = 64;
	info->max_rx_pktlen = MDV_MAX_MTU + MDV_FRAME_OVERHEAD;
	info->max_rx_queues = (uint16_t)RTE_MIN(max_rxq, UINT16_MAX);
	info->max_tx_queues = (uint16_t)RTE_MIN(priv->caps.max_queues, UINT16_MAX);
	info->max_mac_addrs = MDV_MAX_MAC;
	info->rx_offload_capa = mdv_rx_offloads(priv);
	info->rx_queue_offload_capa = info->rx_offload_capa & ~RTE_ETH_RX_OFFLOAD_RSS_HASH;
	info->tx_offload_capa = mdv_tx_offloads(priv);
	info->tx_queue_offload_capa = info->tx_offload_capa;
	/* Fixed by the number of queues: the adapter has no free table. */
	info->reta_size = (uint16_t)(nb_rxq != 0 ? mdv_reta_size(priv, nb_rxq) :
		priv->caps.max_table);
	info->hash_key_size = MDV_RSS_KEY_LEN;
	info->flow_type_rss_offloads = mdv_rss_offloads();
	info->rx_seg_capa = (struct rte_eth_rxseg_capa){
		.multi_pools = 1, .offset_allowed = 1, .max_nseg = MDV_RX_MAX_SGE,
	};
	info->default_rxconf.rx_drop_en = 1; /* an empty queue never holds up another */
	info->rx_desc_lim = (struct rte_eth_desc_lim){
		.nb_max = (uint16_t)RTE_MIN(priv->caps.max_qp_wr, UINT16_MAX),
		.nb_min = 1,
		.nb_align = 1,
		.nb_seg_max = MDV_RX_MAX_SGE,
		.nb_mtu_seg_max = MDV_RX_MAX_SGE,
	};
	/*
	 * One WQE stays free for the NOP that asks for the completion of the others. Inline
	 * frames may take several blocks each.
	 */
	info->tx_desc_lim = (struct rte_eth_desc_lim){
		.nb_max = (uint16_t)RTE_MIN((priv->caps.max_qp_wr - 1) /
			mdv_tx_inline_blocks(priv->tx_inline), UINT16_MAX),
		.nb_min = 1,
		.nb_align = 1,
		.nb_seg_max = MDV_TX_MAX_SEGS,
		.nb_mtu_seg_max = MDV_TX_MAX_SEGS,
	};
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = 32, .ring_size = MDV_DEFAULT_DESC, .nb_queues = 1,
	};
	info->default_txportconf = info->default_rxportconf;
	info->speed_capa = RTE_ETH_LINK_SPEED_1G | RTE_ETH_LINK_SPEED_10G |
		RTE_ETH_LINK_SPEED_40G | RTE_ETH_LINK_SPEED_56G;
	return 0;
}

int
mdv_fw_version_get(struct rte_eth_dev *dev, char *version, size_t size)
{
	const char *fw = mdv_priv(dev)->caps.fw_ver;
	size_t need = strlen(fw) + 1;

	if (size < need)
		return (int)need;
	memcpy(version, fw, need);
	return 0;
}

static int
mdv_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	int ret = mdv_rx_check_frame(dev, mtu);

	if (ret == 0)
		ret = mdv_netdev_set_mtu(mdv_priv(dev), mtu);
	if (ret == 0)
		mdv_tx_set_mtu(dev, mtu);
	return ret;
}

static int
mdv_flow_ctrl_get(struct rte_eth_dev *dev, struct rte_eth_fc_conf *conf)
{
	return mdv_netdev_get_pause(mdv_priv(dev), conf);
}

static int
mdv_flow_ctrl_set(struct rte_eth_dev *dev, struct rte_eth_fc_conf *conf)
{
	return mdv_netdev_set_pause(mdv_priv(dev), conf);
}

const struct eth_dev_ops mdv_dev_ops = {
	.dev_configure = mdv_dev_configure,
	.dev_start = mdv_dev_start,
	.dev_stop = mdv_dev_stop,
	.dev_close = mdv_dev_close,
	.dev_reset = mdv_dev_reset,
	.is_removed = mdv_is_removed,
	.dev_infos_get = mdv_dev_infos_get,
	.dev_supported_ptypes_get = mdv_supported_ptypes,
	.dev_set_link_up = mdv_link_set_up,
	.dev_set_link_down = mdv_link_set_down,
	.link_update = mdv_link_update,
	.promiscuous_enable = mdv_promiscuous_enable,
	.promiscuous_disable = mdv_promiscuous_disable,
	.allmulticast_enable = mdv_allmulticast_enable,
	.allmulticast_disable = mdv_allmulticast_disable,
	.mac_addr_add = mdv_mac_addr_add,
	.mac_addr_remove = mdv_mac_addr_remove,
	.mac_addr_set = mdv_mac_addr_set,
	.set_mc_addr_list = mdv_set_mc_addr_list,
	.mtu_set = mdv_mtu_set,
	.stats_get = mdv_stats_get,
	.stats_reset = mdv_stats_reset,
	.xstats_get = mdv_xstats_get,
	.xstats_get_names = mdv_xstats_get_names,
	.xstats_reset = mdv_stats_reset,
	.fw_version_get = mdv_fw_version_get,
	.get_module_info = mdv_get_module_info,
	.get_module_eeprom = mdv_get_module_eeprom,
	.rx_queue_setup = mdv_rx_queue_setup,
	.rx_queue_release = mdv_rx_queue_release,
	.tx_queue_setup = mdv_tx_queue_setup,
	.tx_queue_release = mdv_tx_queue_release,
	.tx_done_cleanup = mdv_tx_done_cleanup,
	.rxq_info_get = mdv_rxq_info_get,
	.txq_info_get = mdv_txq_info_get,
	.rx_burst_mode_get = mdv_rx_burst_mode_get,
	.tx_burst_mode_get = mdv_tx_burst_mode_get,
	.rx_queue_start = mdv_rx_queue_start,
	.rx_queue_stop = mdv_rx_queue_stop,
	.tx_queue_start = mdv_tx_queue_start,
	.tx_queue_stop = mdv_tx_queue_stop,
	.rx_queue_intr_enable = mdv_rx_queue_intr_enable,
	.rx_queue_intr_disable = mdv_rx_queue_intr_disable,
	.get_monitor_addr = mdv_get_monitor_addr,
	.eth_dev_priv_dump = mdv_priv_dump,
	.flow_ops_get = mdv_flow_ops_get,
	.vlan_filter_set = mdv_vlan_filter_set,
	.vlan_offload_set = mdv_vlan_offload_set,
	.vlan_strip_queue_set = mdv_vlan_strip_queue_set,
	.read_clock = mdv_read_clock,
	.flow_ctrl_get = mdv_flow_ctrl_get,
	.flow_ctrl_set = mdv_flow_ctrl_set,
	.rss_hash_update = mdv_rss_hash_update,
	.rss_hash_conf_get = mdv_rss_hash_conf_get,
	.reta_query = mdv_reta_query,
	.reta_update = mdv_reta_update,
#if MDV_HAS_RECYCLE
	.recycle_rxq_info_get = mdv_recycle_rxq_info_get,
#endif
};
