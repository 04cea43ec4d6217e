/* SPDX-License-Identifier: BSD-3-Clause */

/* VLAN offloads of receive queues, which can change while they are polled. */

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_rx.h"

void
mdv_rxq_set_vlan_filter(struct mdv_rxq *rxq, uint64_t offloads)
{
	rxq->vlan_ids = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0 ?
		rxq->priv->data->vlan_filter_conf.ids : NULL;
}

/* ethdev has put what is wanted into dev_conf. */
int
mdv_vlan_offload_set(struct rte_eth_dev *dev, int mask)
{
	uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
	uint16_t i;
	int ret;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (dev->data->rx_queues[i] == NULL)
			continue;
		ret = mdv_rx_split_check_vlan(dev->data->rx_queues[i], offloads);
		if (ret != 0)
			return ret;
	}
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		struct mdv_rxq *rxq = dev->data->rx_queues[i];

		if (rxq == NULL)
			continue;
		if ((mask & RTE_ETH_QINQ_STRIP_MASK) != 0)
			rxq->qinq_strip = (offloads & RTE_ETH_RX_OFFLOAD_QINQ_STRIP) != 0;
		if ((mask & RTE_ETH_VLAN_FILTER_MASK) != 0)
			mdv_rxq_set_vlan_filter(rxq, offloads);
		if ((mask & RTE_ETH_VLAN_STRIP_MASK) != 0)
			rxq->vlan_strip = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
		mdv_rx_select(rxq);
	}
	return 0;
}

/* The queues look at ethdev's own map of ids, which follows. */
int
mdv_vlan_filter_set(struct rte_eth_dev *dev, uint16_t vid, int on)
{
	RTE_SET_USED(dev);
	RTE_SET_USED(vid);
	RTE_SET_USED(on);
	return 0;
}

void
mdv_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t idx, int on)
{
	struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	if (rxq == NULL ||
	    (on != 0 && mdv_rx_split_check_vlan(rxq, RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0))
		return;
	rxq->vlan_strip = on != 0;
	mdv_rx_select(rxq);
}
