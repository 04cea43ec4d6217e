/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The application's flow rules by what they match and by their handle. Lists of them
 * would be walked for each rule made and each one destroyed, which with thousands of
 * rules takes longer than all the rest.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_jhash.h>

#include "mlx4dv_flow.h"

#define FIRST_SIZE 64 /* buckets; doubled when there are as many rules */

LIST_HEAD(mdv_flow_chain, rte_flow);

struct mdv_flow_bucket {
	struct mdv_flow_chain patterns, handles;
};

/* The parts of a request lie without padding, and what is not used is zero. */
static uint32_t
pattern_hash(const struct mdv_flow_request *req)
{
	return rte_jhash(req, sizeof(*req), 0);
}

static struct mdv_flow_bucket *
bucket(const struct mdv_flow_table *table, uint32_t hash)
{
	return &table->buckets[hash & (table->size - 1)];
}

static struct mdv_flow_bucket *
handle_bucket(const struct mdv_flow_table *table, const struct rte_flow *flow)
{
	uintptr_t address = (uintptr_t)flow;

	return bucket(table, rte_jhash(&address, sizeof(address), 0));
}

static void
link_in(struct mdv_flow_table *table, struct rte_flow *flow)
{
	LIST_INSERT_HEAD(&bucket(table, flow->hash)->patterns, flow, same_pattern);
	LIST_INSERT_HEAD(&handle_bucket(table, flow)->handles, flow, same_handle);
}

/* Room for one rule more; a table that cannot grow is slow, not full. */
int
mdv_flow_table_reserve(struct mdv_priv *priv)
{
	struct mdv_flow_table *table = &priv->flow_table;
	struct mdv_flow_table bigger = *table;
	struct rte_flow *flow;

	if (table->used < table->size)
		return 0;
	bigger.size = table->size == 0 ? FIRST_SIZE : 2 * table->size;
	/* Empty chains are null pointers. */
	bigger.buckets = calloc(bigger.size, sizeof(*bigger.buckets));
	if (bigger.buckets == NULL)
		return table->size == 0 ? -ENOMEM : 0;
	TAILQ_FOREACH(flow, &priv->flows, next)
		link_in(&bigger, flow);
	free(table->buckets);
	*table = bigger;
	return 0;
}

void
mdv_flow_table_add(struct mdv_priv *priv, struct rte_flow *flow)
{
	flow->hash = pattern_hash(&flow->req);
	link_in(&priv->flow_table, flow);
	priv->flow_table.used++;
}

void
mdv_flow_table_remove(struct mdv_priv *priv, struct rte_flow *flow)
{
	LIST_REMOVE(flow, same_pattern);
	LIST_REMOVE(flow, same_handle);
	priv->flow_table.used--;
}

const struct rte_flow *
mdv_flow_table_find(const struct mdv_priv *priv, const struct mdv_flow_request *req)
{
	const struct mdv_flow_table *table = &priv->flow_table;
	uint32_t hash = pattern_hash(req);
	const struct rte_flow *flow;

	if (table->size == 0)
		return NULL;
	LIST_FOREACH(flow, &bucket(table, hash)->patterns, same_pattern)
		if (flow->hash == hash && memcmp(&flow->req, req, sizeof(*req)) == 0)
			return flow;
	return NULL;
}

bool
mdv_flow_table_has(const struct mdv_priv *priv, const struct rte_flow *flow)
{
	const struct mdv_flow_table *table = &priv->flow_table;
	const struct rte_flow *known;

	if (table->size == 0)
		return false;
	LIST_FOREACH(known, &handle_bucket(table, flow)->handles, same_handle)
		if (known == flow)
			return true;
	return false;
}

/* All rules are gone. */
void
mdv_flow_table_free(struct mdv_priv *priv)
{
	free(priv->flow_table.buckets);
	memset(&priv->flow_table, 0, sizeof(priv->flow_table));
}
