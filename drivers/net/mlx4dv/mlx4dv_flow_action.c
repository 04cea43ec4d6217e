/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Actions of rte_flow. Queues of a rule are a run of the port's WQ table: as many
 * as a power of two, or all queues, one after the other from a place that their
 * number divides. The hash of a rule is one QP's.
 */

#include <errno.h>
#include <string.h>

#include "mlx4dv_flow.h"
#include "mlx4dv_rss.h"

/* ---- what is hashed ---- */

enum hashed { NOT_HASHED, BY_ADDRESSES, BY_PORTS };

struct hash_class {
	unsigned int class;
	uint64_t types_addresses, types_ports;
	uint64_t address, port;   /* verbs fields */
};

static const struct hash_class hash_classes[] = {
	{ MDV_CLASS_OTHER4, RSS_IPV4, 0, HASH_IPV4, 0 },
	{ MDV_CLASS_TCP4, RSS_IPV4, RSS_TCP4, HASH_IPV4, HASH_TCP },
	{ MDV_CLASS_UDP4, RSS_IPV4, RSS_UDP4, HASH_IPV4, HASH_UDP },
	{ MDV_CLASS_OTHER6, RSS_IPV6, 0, HASH_IPV6, 0 },
	{ MDV_CLASS_TCP6, RSS_IPV6, RSS_TCP6, HASH_IPV6, HASH_TCP },
	{ MDV_CLASS_UDP6, RSS_IPV6, RSS_UDP6, HASH_IPV6, HASH_UDP },
};

static enum hashed
wanted(const struct hash_class *c, uint64_t types)
{
	if ((types & c->types_ports) != 0)
		return BY_PORTS;
	return (types & c->types_addresses) != 0 ? BY_ADDRESSES : NOT_HASHED;
}

static enum hashed
given(const struct hash_class *c, uint64_t fields)
{
	if ((fields & c->address) == 0)
		return NOT_HASHED;
	return c->port != 0 && (fields & c->port) != 0 ? BY_PORTS : BY_ADDRESSES;
}

/* The fields of one QP that hash the classes of a rule as asked; 0: none do. */
static uint64_t
hash_fields(uint64_t types, unsigned int classes)
{
	uint64_t fields = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(hash_classes); i++) {
		const struct hash_class *c = &hash_classes[i];
		enum hashed how = wanted(c, types);

		if ((classes & c->class) == 0)
			continue;
		fields |= how != NOT_HASHED ? c->address : 0;
		fields |= how == BY_PORTS ? c->port : 0;
	}
	for (i = 0; i < RTE_DIM(hash_classes); i++)
		if ((classes & hash_classes[i].class) != 0 &&
		    wanted(&hash_classes[i], types) != given(&hash_classes[i], fields))
			return 0;
	return fields;
}

/* ---- queues ---- */

/* Is the run from first on these queues, again and again? */
static bool
run_is(const struct mdv_priv *priv, const uint16_t *queues, uint32_t n, uint32_t first,
       uint32_t entries)
{
	uint32_t i;

	for (i = 0; i < entries; i++)
		if (priv->rss.layout[first + i] != queues[i % n])
			return false;
	return true;
}

/* A run of the table that stands for the queues; false: there is none. */
static bool
find_run(const struct mdv_priv *priv, const uint16_t *queues, uint32_t n,
	 struct mdv_flow_fate *fate)
{
	uint32_t table = mdv_rss_entries(priv, priv->data->nb_rx_queues);
	uint32_t first, size;

	/* The larger the run, the more even the shares of a number that is no power of two. */
	for (size = n == rte_align32pow2(n) ? n : table; size >= n && size <= table; size /= 2)
		for (first = 0; first + size <= table; first += size)
			if (run_is(priv, queues, n, first, size)) {
				fate->first = first;
				fate->entries = size;
				return true;
			}
	return false;
}

/* ---- actions ---- */

/* The first place of a queue in the table; as many as the table has: none. */
static uint32_t
find_queue(const struct mdv_priv *priv, uint16_t queue, uint32_t table)
{
	uint32_t entry = 0;

	while (entry < table && priv->rss.layout[entry] != queue)
		entry++;
	return entry;
}

static int
parse_queue(const struct mdv_priv *priv, const struct rte_flow_action *action,
	struct mdv_flow_fate *fate, struct rte_flow_error *error)
{
	const struct rte_flow_action_queue *queue = action->conf;
	uint32_t table = mdv_rss_entries(priv, priv->data->nb_rx_queues);

	if (queue == NULL || queue->index >= priv->data->nb_rx_queues)
		return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"the port has no RX queue of this index");
	fate->first = find_queue(priv, queue->index, table);
	if (fate->first == table)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"the queue has no entry in the RETA");
	fate->entries = 1;
	/* The kernel insists on some fields; with one entry they decide nothing. */
	fate->fields = HASH_IPV4 | HASH_IPV6;
	memcpy(fate->key, priv->rss.key, sizeof(fate->key));
	return 0;
}

static int
check_rss(const struct mdv_priv *priv, const struct rte_flow_action *action,
	struct rte_flow_error *error)
{
	const struct rte_flow_action_rss *rss = action->conf;
	const char *why = NULL;
	int err = ENOTSUP;
	uint32_t i;

	if (rss == NULL || rss->queue == NULL || rss->queue_num == 0) {
		err = EINVAL;
		why = "RSS without queues";
	} else if (rss->func != RTE_ETH_HASH_FUNCTION_DEFAULT &&
		   rss->func != RTE_ETH_HASH_FUNCTION_TOEPLITZ) {
		why = "the hash function is Toeplitz";
	} else if (rss->level > 1) {
		why = "the hash is of the outermost headers: level 0 or 1";
	} else if (rss->key_len != 0 && (rss->key_len != MDV_RSS_KEY_LEN || rss->key == NULL)) {
		why = "the key has 40 bytes";
	}
	for (i = 0; why == NULL && i < rss->queue_num; i++)
		if (rss->queue[i] >= priv->data->nb_rx_queues) {
			err = EINVAL;
			why = "the port has no RX queue of one of these indices";
		}
	return why == NULL ? 0 :
		rte_flow_error_set(error, err, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action, why);
}

static int
parse_rss(const struct mdv_priv *priv, const struct rte_flow_action *action,
	unsigned int classes, struct mdv_flow_fate *fate, struct rte_flow_error *error)
{
	const struct rte_flow_action_rss *rss = action->conf;
	uint64_t types;
	int ret = check_rss(priv, action, error);

	if (ret != 0)
		return ret;
	if (!find_run(priv, rss->queue, rss->queue_num, fate))
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"the queues are 2, 4, 8 … one after the other, from a multiple of their "
			"number on, or all queues of the port");
	types = rss->types != 0 ? rss->types : priv->rss.hf != 0 ? priv->rss.hf :
		mdv_rss_offloads();
	fate->fields = hash_fields(types, classes);
	if (fate->fields == 0)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION_CONF, action,
			"no hash of the adapter does what these types ask of this pattern: ports "
			"come with addresses, and for IPv4 and IPv6 alike");
	memcpy(fate->key, rss->key_len != 0 ? rss->key : priv->rss.key, sizeof(fate->key));
	return 0;
}

static int
parse_action(const struct mdv_priv *priv, const struct rte_flow_action *action,
	unsigned int classes, struct mdv_flow_fate *fate, struct rte_flow_error *error)
{
	switch (action->type) {
	case RTE_FLOW_ACTION_TYPE_DROP:
		fate->drop = true;
		return 0;
	case RTE_FLOW_ACTION_TYPE_QUEUE:
		return parse_queue(priv, action, fate, error);
	case RTE_FLOW_ACTION_TYPE_RSS:
		return parse_rss(priv, action, classes, fate, error);
	case RTE_FLOW_ACTION_TYPE_COUNT:
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"what a rule takes is not counted: neither kernel nor adapter has a "
			"counter for it; the counters of its queue are there");
	default:
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"the actions are drop, queue and rss, the latter two with passthru too");
	}
}

bool
mdv_flow_copies(const struct rte_flow_action *actions)
{
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++)
		if (actions->type == RTE_FLOW_ACTION_TYPE_PASSTHRU)
			return true;
	return false;
}

int
mdv_flow_parse_actions(const struct mdv_priv *priv, const struct rte_flow_action *actions,
	unsigned int classes, struct mdv_flow_fate *fate, struct rte_flow_error *error)
{
	bool copies = mdv_flow_copies(actions);
	unsigned int fates = 0;
	int ret = 0;

	memset(fate, 0, sizeof(*fate));
	for (; ret == 0 && actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
		if (actions->type == RTE_FLOW_ACTION_TYPE_VOID ||
		    actions->type == RTE_FLOW_ACTION_TYPE_PASSTHRU)
			continue;
		if (actions->type == RTE_FLOW_ACTION_TYPE_COUNT)
			return parse_action(priv, actions, classes, fate, error);
		if (fates++ != 0)
			return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
				actions, "a rule has one of drop, queue and rss");
		ret = parse_action(priv, actions, classes, fate, error);
	}
	if (ret == 0 && fates == 0)
		ret = rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, actions,
			"a rule needs an action: drop, queue or rss");
	if (ret == 0 && copies && fate->drop)
		ret = rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, actions,
			"what is dropped does not go on: passthru is for queue and rss");
	return ret;
}

/*
 * The table was laid out anew: what was asked for is somewhere else in it, or nowhere.
 * A rule that leads nowhere has no entries.
 */
void
mdv_flow_place(const struct mdv_priv *priv, const struct mdv_flow_asked *asked,
	struct mdv_flow_fate *fate)
{
	uint32_t table = mdv_rss_entries(priv, priv->data->nb_rx_queues);

	if (fate->drop)
		return;
	fate->entries = 0;
	if (asked->type == RTE_FLOW_ACTION_TYPE_RSS) {
		find_run(priv, asked->queues, asked->rss.queue_num, fate);
	} else {
		fate->first = find_queue(priv, asked->queue.index, table);
		fate->entries = fate->first < table;
	}
}
