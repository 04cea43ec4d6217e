/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Statistics: the queues count in software what bursts see, the interface counts
 * what no queue had room for. A reset remembers where counters stood and leaves
 * them to their writers.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

struct counter {
	const char *name;
	size_t offset;
};

#define RX(field) offsetof(struct mdv_rxq_stats, field)
#define TX(field) offsetof(struct mdv_txq_stats, field)

/* Sums over the queues; each reason for a loss has a name of its own. */
static const struct counter rx_counters[] = {
	{ "rx_error_completions", RX(errors) },
	{ "rx_flushed_completions", RX(flushed) },
	{ "rx_nombuf_packets", RX(nombuf) },
	{ "rx_queue_recoveries", RX(recoveries) },
	{ "rx_unpolled_packets", RX(unpolled) },
	{ "rx_vlan_filtered_packets", RX(filtered) },
};

static const struct counter tx_counters[] = {
	{ "tx_lost_packets", TX(lost_packets) },
	{ "tx_drop_unregistered_memory", TX(drop_unregistered) },
	{ "tx_drop_segments", TX(drop_segments) },
	{ "tx_drop_size", TX(drop_size) },
	{ "tx_drop_tso", TX(drop_tso) },
	{ "tx_error_completions", TX(errors) },
	{ "tx_queue_recoveries", TX(recoveries) },
};

#define NB_RX RTE_DIM(rx_counters)
#define NB_TX RTE_DIM(tx_counters)

/* Both structures are rows of 64-bit counters. */
static void
since(const void *now, const void *base, void *out, size_t size)
{
	const uint64_t *a = now, *b = base;
	uint64_t *d = out;
	size_t i;

	for (i = 0; i < size / sizeof(*a); i++)
		d[i] = a[i] - b[i];
}

static void
rx_since_reset(const struct mdv_rxq *rxq, struct mdv_rxq_stats *out)
{
	RTE_BUILD_BUG_ON(sizeof(*out) % sizeof(uint64_t) != 0);
	since(&rxq->stats, &rxq->base, out, sizeof(*out));
}

static void
tx_since_reset(const struct mdv_txq *txq, struct mdv_txq_stats *out)
{
	RTE_BUILD_BUG_ON(sizeof(*out) % sizeof(uint64_t) != 0);
	since(&txq->stats, &txq->base, out, sizeof(*out));
}

/* A packet that the adapter took and then failed to send was not sent. */
static uint64_t
sent_packets(const struct mdv_txq_stats *s)
{
	return s->packets - RTE_MIN(s->packets, s->lost_packets);
}

static uint64_t
sent_bytes(const struct mdv_txq_stats *s)
{
	return s->bytes - RTE_MIN(s->bytes, s->lost_bytes);
}

static uint64_t
tx_failures(const struct mdv_txq_stats *s)
{
	return s->lost_packets + s->drop_unregistered + s->drop_segments + s->drop_size +
		s->drop_tso;
}

int
mdv_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats MDV_STATS_QUEUES_ARG)
{
	struct mdv_rxq_stats rx;
	struct mdv_txq_stats tx;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (dev->data->rx_queues[i] == NULL)
			continue;
		rx_since_reset(dev->data->rx_queues[i], &rx);
		stats->ipackets += rx.packets;
		stats->ibytes += rx.bytes;
		stats->ierrors += rx.errors;
		stats->rx_nombuf += rx.nombuf;
		if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS && MDV_STATS_QUEUES(stats) != NULL) {
			MDV_STATS_QUEUES(stats)->q_ipackets[i] = rx.packets;
			MDV_STATS_QUEUES(stats)->q_ibytes[i] = rx.bytes;
			MDV_STATS_QUEUES(stats)->q_errors[i] = rx.errors;
		}
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (dev->data->tx_queues[i] == NULL)
			continue;
		tx_since_reset(dev->data->tx_queues[i], &tx);
		stats->opackets += sent_packets(&tx);
		stats->obytes += sent_bytes(&tx);
		stats->oerrors += tx_failures(&tx);
		if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS && MDV_STATS_QUEUES(stats) != NULL) {
			MDV_STATS_QUEUES(stats)->q_opackets[i] = sent_packets(&tx);
			MDV_STATS_QUEUES(stats)->q_obytes[i] = sent_bytes(&tx);
		}
	}
	stats->imissed = mdv_netdev_missed(mdv_priv(dev));
	return 0;
}

int
mdv_stats_reset(struct rte_eth_dev *dev)
{
	struct mdv_rxq *rxq;
	struct mdv_txq *txq;
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		rxq = dev->data->rx_queues[i];
		if (rxq != NULL)
			rxq->base = rxq->stats;
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		txq = dev->data->tx_queues[i];
		if (txq != NULL)
			txq->base = txq->stats;
	}
	memcpy(mdv_priv(dev)->errors.base, mdv_priv(dev)->errors.count,
	       sizeof(mdv_priv(dev)->errors.base));
	mdv_netdev_stats_reset(mdv_priv(dev));
	return 0;
}

static void
add_counters(const struct counter *counters, unsigned int n, const void *stats,
	struct rte_eth_xstat *out)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		out[i].value += *(const uint64_t *)((const char *)stats + counters[i].offset);
}

/* Those of the queues, the errors by cause, then those of the interface. */
static unsigned int
xstats_count(const struct rte_eth_dev *dev)
{
	return NB_RX + NB_TX + MDV_ERROR_CAUSES + mdv_priv(dev)->netdev.n;
}

int
mdv_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *stats, unsigned int n)
{
	const struct mdv_errors *errors = &mdv_priv(dev)->errors;
	struct mdv_rxq_stats rx;
	struct mdv_txq_stats tx;
	unsigned int total = xstats_count(dev);
	unsigned int i;

	if (stats == NULL || n < total)
		return (int)total;
	for (i = 0; i < total; i++) {
		stats[i].id = i;
		stats[i].value = 0;
	}
	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		if (dev->data->rx_queues[i] == NULL)
			continue;
		rx_since_reset(dev->data->rx_queues[i], &rx);
		add_counters(rx_counters, NB_RX, &rx, stats);
	}
	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		if (dev->data->tx_queues[i] == NULL)
			continue;
		tx_since_reset(dev->data->tx_queues[i], &tx);
		add_counters(tx_counters, NB_TX, &tx, stats + NB_RX);
	}
	for (i = 0; i < MDV_ERROR_CAUSES; i++)
		stats[NB_RX + NB_TX + i].value = errors->count[i] - errors->base[i];
	mdv_netdev_stats_read(mdv_priv(dev), stats + NB_RX + NB_TX + MDV_ERROR_CAUSES);
	return (int)total;
}

int
mdv_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	const struct mdv_netdev_counters *netdev = &mdv_priv(dev)->netdev;
	unsigned int total = xstats_count(dev);
	unsigned int i;

	if (names == NULL || n < total)
		return (int)total;
	for (i = 0; i < NB_RX; i++)
		strlcpy(names[i].name, rx_counters[i].name, sizeof(names[i].name));
	for (i = 0; i < NB_TX; i++)
		strlcpy(names[NB_RX + i].name, tx_counters[i].name, sizeof(names[i].name));
	for (i = 0; i < MDV_ERROR_CAUSES; i++)
		snprintf(names[NB_RX + NB_TX + i].name, sizeof(names[i].name), "error_%s",
			 mdv_error_name(i));
	names += NB_RX + NB_TX + MDV_ERROR_CAUSES;
	for (i = 0; i < netdev->n; i++)
		snprintf(names[i].name, sizeof(names[i].name), "netdev_%s",
			 netdev->names[i]);
	return (int)total;
}
