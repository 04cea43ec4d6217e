/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The redirection table. The adapter has none: what it hashes goes to one of a run of
 * consecutive WQs, whose numbers and completion queues are fixed at start. So a table
 * is first a layout, the queue that each WQ belongs to, which is free as long as the
 * port is stopped; and then the run of it that is hashed over, which RSS QPs fix and
 * which can change while the port runs.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

static void
whole_run(struct mdv_rss *rss, uint32_t entries)
{
	rss->first = 0;
	rss->used = entries;
}

/* The queues take turns, until the application says otherwise. */
int
mdv_reta_configure(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t n = dev->data->nb_rx_queues;
	uint32_t entries = mdv_rss_entries(priv, n);
	uint16_t *layout = NULL;
	uint32_t i;

	if (entries != 0) {
		layout = mdv_zalloc(priv, "the RSS table", entries * sizeof(*layout),
			SOCKET_ID_ANY);
		if (layout == NULL)
			return -ENOMEM;
	}
	for (i = 0; i < entries; i++)
		layout[i] = (uint16_t)(i % n);
	mdv_reta_free(priv);
	priv->rss.layout = layout;
	whole_run(&priv->rss, entries);
	return 0;
}

void
mdv_reta_free(struct mdv_priv *priv)
{
	rte_free(priv->rss.layout);
	priv->rss.layout = NULL;
}

/* The aligned run of the layout that gives the table, the longest there is. */
static bool
find_run(const uint16_t *layout, const uint16_t *table, uint32_t entries, uint32_t *first,
	uint32_t *used)
{
	uint32_t i;

	for (*used = entries; *used != 0; *used /= 2)
		for (*first = 0; *first < entries; *first += *used) {
			for (i = 0; i < entries; i++)
				if (layout[*first + i % *used] != table[i])
					break;
			if (i == entries)
				return true;
		}
	return false;
}

/* A layout of the application's own, from the next start on. */
static int
set_layout(struct mdv_priv *priv, const uint16_t *table, uint32_t entries)
{
	if (priv->started) {
		MDV_PLOG(priv, ERR, "this RETA is no aligned run of 2^n entries of the table that "
			 "the port was started with, repeated, and the adapter's WQs cannot change "
			 "their queue: stop the port first");
		return -ENOTSUP;
	}
	/* They name places of the layout. */
	if (!TAILQ_EMPTY(&priv->flows)) {
		MDV_PLOG(priv, ERR, "this RETA moves the queues that flow rules lead to: flush the "
			 "rules first");
		return -EBUSY;
	}
	memcpy(priv->rss.layout, table, entries * sizeof(table[0]));
	whole_run(&priv->rss, entries);
	return 0;
}

static int
set_table(struct mdv_priv *priv, const uint16_t *table, uint32_t entries)
{
	uint32_t first, used;

	if (!find_run(priv->rss.layout, table, entries, &first, &used))
		return set_layout(priv, table, entries);
	return mdv_rss_use_run(priv, first, used);
}

static int
check_size(const struct mdv_priv *priv, uint16_t size)
{
	uint32_t entries = mdv_rss_entries(priv, priv->data->nb_rx_queues);

	if (size <= entries)
		return 0;
	MDV_PLOG(priv, ERR, "a RETA of %u entries: there are %u with %u queues", size, entries,
		 priv->data->nb_rx_queues);
	return -EINVAL;
}

static uint16_t *
reta_entry(struct rte_eth_rss_reta_entry64 *reta, uint32_t i)
{
	struct rte_eth_rss_reta_entry64 *group = &reta[i / RTE_ETH_RETA_GROUP_SIZE];
	uint32_t bit = i % RTE_ETH_RETA_GROUP_SIZE;

	return (group->mask & RTE_BIT64(bit)) != 0 ? &group->reta[bit] : NULL;
}

int
mdv_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta, uint16_t size)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint32_t entries = mdv_rss_entries(priv, dev->data->nb_rx_queues);
	const uint16_t *entry;
	uint16_t *table;
	uint32_t i;
	int ret;

	ret = check_size(priv, size);
	if (ret != 0)
		return ret;
	table = mdv_zalloc(priv, "the RSS table", entries * sizeof(*table), SOCKET_ID_ANY);
	if (table == NULL)
		return -ENOMEM;
	for (i = 0; i < entries; i++) {
		entry = i < size ? reta_entry(reta, i) : NULL;
		table[i] = entry != NULL ? *entry : mdv_reta_queue(&priv->rss, i);
	}
	ret = set_table(priv, table, entries);
	rte_free(table);
	return ret;
}

int
mdv_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta, uint16_t size)
{
	const struct mdv_priv *priv = mdv_priv(dev);
	uint16_t *entry;
	uint32_t i;
	int ret;

	ret = check_size(priv, size);
	for (i = 0; ret == 0 && i < size; i++) {
		entry = reta_entry(reta, i);
		if (entry != NULL)
			*entry = mdv_reta_queue(&priv->rss, i);
	}
	return ret;
}
