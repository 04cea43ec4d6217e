/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>

#include <ethdev_driver.h>

#include "mlx4dv_show.h"

/* ---- what there is to show ---- */

static const char *
state_name(uint32_t state)
{
	switch (state) {
	case MDV_QUEUE_STOPPED:
		return "stopped";
	case MDV_QUEUE_RUNNING:
		return "running";
	case MDV_QUEUE_FAILED:
		return "failed";
	case MDV_QUEUE_GONE:
		return "gone";
	default:
		return "unknown";
	}
}

void
mdv_show_device(struct mdv_priv *priv, struct mdv_shown *to)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(mac, sizeof(mac), &priv->mac[0]);
	to->text(to, "device", priv->ibname);
	to->number(to, "device_port", priv->port);
	to->text(to, "interface", priv->ifname);
	to->text(to, "mac", mac);
	to->text(to, "firmware", priv->caps.fw_ver);
	to->number(to, "part_id", priv->caps.part_id);
	to->number(to, "virtual_function", priv->caps.vf);
	to->number(to, "removed", MDV_LOAD_ACQUIRE(&priv->gone));
	to->number(to, "started", priv->started);
	to->number(to, "isolated", priv->isolated);
	to->number(to, "promiscuous", priv->promisc);
	to->number(to, "all_multicast", priv->allmulti);
	to->number(to, "rx_queues", priv->data->nb_rx_queues);
	to->number(to, "tx_queues", priv->data->nb_tx_queues);
	to->number(to, "rss_table_entries", priv->rss.entries);
	to->number(to, "rss_types", priv->rss.hf);
	to->number(to, "shared_with_secondaries", priv->shared);
}

void
mdv_show_rxq(const struct mdv_rxq *rxq, struct mdv_shown *to)
{
	to->text(to, "state", state_name(MDV_LOAD_ACQUIRE(&rxq->state)));
	to->number(to, "rings", rxq->nb_rings);
	to->number(to, "descriptors", mdv_rxq_capacity(rxq));
	to->number(to, "segments_per_frame", 1u << rxq->sges_n);
	to->text(to, "pool", rxq->mp->name);
	to->number(to, "cq", rxq->cq.cqn);
	to->number(to, "consumer_index", rxq->cq.ci);
	to->number(to, "packets", rxq->stats.packets);
	to->number(to, "bytes", rxq->stats.bytes);
	to->number(to, "nombuf_packets", rxq->stats.nombuf);
	to->number(to, "unpolled_packets", rxq->stats.unpolled);
	to->number(to, "vlan_filtered_packets", rxq->stats.filtered);
	to->number(to, "error_completions", rxq->stats.errors);
	to->number(to, "flushed_completions", rxq->stats.flushed);
	to->number(to, "recoveries", rxq->stats.recoveries);
	to->number(to, "last_syndrome", rxq->last_error.syndrome);
	to->number(to, "last_vendor_error", rxq->last_error.vendor);
}

void
mdv_show_txq(const struct mdv_txq *txq, struct mdv_shown *to)
{
	to->text(to, "state", state_name(MDV_LOAD_ACQUIRE(&txq->state)));
	to->number(to, "descriptors", txq->nb_desc);
	to->number(to, "in_flight", txq->inflight);
	to->number(to, "qp", be32toh(txq->sq.qpn_be) >> 8);
	to->number(to, "producer_index", txq->sq.pi);
	to->number(to, "consumer_index", txq->sq.ci);
	to->number(to, "packets", txq->stats.packets);
	to->number(to, "bytes", txq->stats.bytes);
	to->number(to, "lost_packets", txq->stats.lost_packets);
	to->number(to, "drop_unregistered_memory", txq->stats.drop_unregistered);
	to->number(to, "drop_segments", txq->stats.drop_segments);
	to->number(to, "drop_size", txq->stats.drop_size);
	to->number(to, "drop_tso", txq->stats.drop_tso);
	to->number(to, "error_completions", txq->stats.errors);
	to->number(to, "recoveries", txq->stats.recoveries);
	to->number(to, "last_syndrome", txq->last_error.syndrome);
	to->number(to, "last_vendor_error", txq->last_error.vendor);
}

void
mdv_show_memory(struct mdv_priv *priv, struct mdv_shown *to)
{
	uint64_t regions = 0, bytes = 0;

	mdv_mr_count(priv, &regions, &bytes);
	to->number(to, "regions", regions);
	to->number(to, "region_bytes", bytes);
	to->number(to, "generation", priv->mr.generation);
}

void
mdv_show_flows(struct mdv_priv *priv, struct mdv_shown *to)
{
	uint64_t rules, installed, own = 0;
	const struct mdv_rule *rule;

	TAILQ_FOREACH(rule, &priv->rules, next)
		own++;
	mdv_flow_count(priv, &rules, &installed);
	to->number(to, "own_rules", own);
	to->number(to, "application_rules", rules);
	to->number(to, "application_rules_installed", installed);
}

/* ---- into a file ---- */

struct to_file {
	struct mdv_shown shown;
	FILE *file;
};

static void
file_text(struct mdv_shown *to, const char *name, const char *value)
{
	fprintf(((struct to_file *)(void *)to)->file, "\t%s: %s\n", name, value);
}

static void
file_number(struct mdv_shown *to, const char *name, uint64_t value)
{
	fprintf(((struct to_file *)(void *)to)->file, "\t%s: %" PRIu64 "\n", name, value);
}

int
mdv_priv_dump(struct rte_eth_dev *dev, FILE *file)
{
	struct to_file to = { { file_text, file_number }, file };
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t i;

	fprintf(file, "port %u\n", dev->data->port_id);
	mdv_show_device(priv, &to.shown);
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		fprintf(file, "rx queue %u\n", i);
		if (dev->data->rx_queues[i] != NULL)
			mdv_show_rxq(dev->data->rx_queues[i], &to.shown);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		fprintf(file, "tx queue %u\n", i);
		if (dev->data->tx_queues[i] != NULL)
			mdv_show_txq(dev->data->tx_queues[i], &to.shown);
	}
	fprintf(file, "memory\n");
	mdv_show_memory(priv, &to.shown);
	fprintf(file, "flow rules\n");
	mdv_show_flows(priv, &to.shown);
	fprintf(file, "errors\n");
	mdv_show_errors(priv, &to.shown);
	return 0;
}

/* ---- how bursts work; ethdev does not ask whether the queue was set up ---- */

int
mdv_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_burst_mode *mode)
{
	const struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	if (rxq == NULL)
		return -EINVAL;
	snprintf(mode->info, sizeof(mode->info), "%s", mdv_rx_way_name(rxq));
	return 0;
}

int
mdv_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_burst_mode *mode)
{
	const struct mdv_txq *txq = dev->data->tx_queues[idx];

	if (txq == NULL)
		return -EINVAL;
	snprintf(mode->info, sizeof(mode->info), "Scalar%s%s",
		 txq->inline_max != 0 ? " Inline" : "",
		 mdv_has_blueflame(dev->data->port_id) ? " BlueFlame" : "");
	return 0;
}
