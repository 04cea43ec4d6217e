/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counters of the port's interface, as "ethtool -S" prints them: what came to
 * the port whoever took it, pauses, and what the adapter dropped. Their names are
 * read when the port is opened; the kernel's own queues are left out.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ethtool.h>

#include <rte_malloc.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define STAT_MISSED "rx_missed_errors"
#define MAX_STATS 1024 /* more than any mlx4_en has: a bound on what the kernel says */

static uint32_t
count(const struct mdv_priv *priv)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (mdv_netdev_ethtool(priv, &info) != 0 || info.n_stats > MAX_STATS)
		return 0;
	return info.n_stats;
}

/* "rx0_packets", "tx12_bytes" */
static bool
of_kernel_queue(const char *name)
{
	return (strncmp(name, "rx", 2) == 0 || strncmp(name, "tx", 2) == 0) &&
		isdigit((unsigned char)name[2]);
}

static void
take_names(struct mdv_netdev_counters *c, const struct ethtool_gstrings *strings)
{
	uint32_t i;

	c->missed = c->total;
	for (i = 0; i < c->total; i++) {
		const char *name = (const char *)&strings->data[i * ETH_GSTRING_LEN];

		if (strncmp(name, STAT_MISSED, ETH_GSTRING_LEN) == 0)
			c->missed = i;
		if (name[0] == '\0' || of_kernel_queue(name))
			continue;
		memcpy(c->names[c->n], name, ETH_GSTRING_LEN);
		c->names[c->n][ETH_GSTRING_LEN - 1] = '\0';
		c->index[c->n++] = i;
	}
}

/* Without counters the port works, and shows none. */
void
mdv_netdev_stats_open(struct mdv_priv *priv)
{
	struct mdv_netdev_counters *c = &priv->netdev;
	struct ethtool_gstrings *strings = NULL;
	uint32_t total = count(priv);

	memset(c, 0, sizeof(*c));
	if (total == 0)
		return;
	strings = calloc(1, sizeof(*strings) + (size_t)total * ETH_GSTRING_LEN);
	c->names = rte_zmalloc("counters", total * sizeof(c->names[0]), 0);
	c->index = rte_zmalloc("counters", total * sizeof(c->index[0]), 0);
	c->base = rte_zmalloc("counters", total * sizeof(c->base[0]), 0);
	if (strings == NULL || c->names == NULL || c->index == NULL || c->base == NULL)
		goto fail;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_STATS;
	strings->len = total;
	if (mdv_netdev_ethtool(priv, strings) != 0)
		goto fail;
	c->total = total;
	take_names(c, strings);
	free(strings);
	return;
fail:
	free(strings);
	mdv_netdev_stats_close(priv);
	MDV_PLOG(priv, WARNING, "cannot read the names of the counters of %s: they are not shown",
		 priv->ifname);
}

void
mdv_netdev_stats_close(struct mdv_priv *priv)
{
	rte_free(priv->netdev.names);
	rte_free(priv->netdev.index);
	rte_free(priv->netdev.base);
	memset(&priv->netdev, 0, sizeof(priv->netdev));
}

/* All counters of the interface; free() them. NULL: it shows others than before. */
static uint64_t *
read_all(const struct mdv_priv *priv, struct ethtool_stats **block)
{
	uint32_t total = priv->netdev.total;
	struct ethtool_stats *stats;

	*block = NULL;
	if (total == 0 || count(priv) != total)
		return NULL;
	stats = calloc(1, sizeof(*stats) + (size_t)total * sizeof(stats->data[0]));
	if (stats == NULL)
		return NULL;
	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = total;
	if (mdv_netdev_ethtool(priv, stats) != 0) {
		free(stats);
		return NULL;
	}
	*block = stats;
	return (uint64_t *)(uintptr_t)&stats->data[0];
}

/* The interface may have been reset meanwhile. */
static uint64_t
since(uint64_t now, uint64_t base)
{
	return now >= base ? now - base : now;
}

uint64_t
mdv_netdev_missed(struct mdv_priv *priv)
{
	struct mdv_netdev_counters *c = &priv->netdev;
	struct ethtool_stats *block;
	uint64_t *all = read_all(priv, &block);

	if (all != NULL && c->missed < c->total)
		c->missed_last = since(all[c->missed], c->missed_base);
	free(block);
	return c->missed_last;
}

/* One value for each name; 0 where the interface does not answer. */
void
mdv_netdev_stats_read(const struct mdv_priv *priv, struct rte_eth_xstat *stats)
{
	const struct mdv_netdev_counters *c = &priv->netdev;
	struct ethtool_stats *block;
	uint64_t *all = read_all(priv, &block);
	uint32_t i;

	for (i = 0; i < c->n; i++)
		stats[i].value = all != NULL ? since(all[c->index[i]], c->base[i]) : 0;
	free(block);
}

void
mdv_netdev_stats_reset(struct mdv_priv *priv)
{
	struct mdv_netdev_counters *c = &priv->netdev;
	struct ethtool_stats *block;
	uint64_t *all = read_all(priv, &block);
	uint32_t i;

	for (i = 0; i < c->n && all != NULL; i++)
		c->base[i] = all[c->index[i]];
	c->missed_last = 0;
	if (all != NULL && c->missed < c->total)
		c->missed_base = all[c->missed];
	free(block);
}
