/* SPDX-License-Identifier: BSD-3-Clause */

/* What rte_flow_query() tells of a rule: its queue, or its queues and their hash. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx4dv_flow.h"

static int
keep_rss(struct mdv_flow_asked *asked, const struct rte_flow_action_rss *rss,
	const struct mdv_flow_fate *fate)
{
	asked->rss = *rss;
	asked->queues = malloc(rss->queue_num * sizeof(asked->queues[0]));
	if (asked->queues == NULL)
		return -ENOMEM;
	memcpy(asked->queues, rss->queue, rss->queue_num * sizeof(asked->queues[0]));
	memcpy(asked->key, fate->key, sizeof(asked->key));
	asked->rss.func = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
	asked->rss.key_len = sizeof(asked->key);
	return 0;
}

/* The actions were parsed: one of them is the fate of the rule. */
int
mdv_flow_asked_keep(struct mdv_flow_asked *asked, const struct rte_flow_action *actions,
	const struct mdv_flow_fate *fate)
{
	memset(asked, 0, sizeof(*asked));
	while (actions->type == RTE_FLOW_ACTION_TYPE_VOID ||
	       actions->type == RTE_FLOW_ACTION_TYPE_PASSTHRU)
		actions++;
	asked->type = actions->type;
	if (actions->type == RTE_FLOW_ACTION_TYPE_QUEUE)
		asked->queue = *(const struct rte_flow_action_queue *)actions->conf;
	if (actions->type == RTE_FLOW_ACTION_TYPE_RSS)
		return keep_rss(asked, actions->conf, fate);
	return 0;
}

void
mdv_flow_asked_free(struct mdv_flow_asked *asked)
{
	free(asked->queues);
	asked->queues = NULL;
}

/* Key and queues of an answer belong to the rule, and are there as long as it is. */
int
mdv_flow_asked_tell(const struct mdv_flow_asked *asked, const struct rte_flow_action *action,
	void *data, struct rte_flow_error *error)
{
	struct rte_flow_action_rss rss = asked->rss;

	for (; action->type == RTE_FLOW_ACTION_TYPE_VOID; action++)
		;
	if (action->type == RTE_FLOW_ACTION_TYPE_COUNT)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"what a rule takes is not counted: neither kernel nor adapter has a "
			"counter for it");
	if (data == NULL || action->type != asked->type ||
	    (action->type != RTE_FLOW_ACTION_TYPE_QUEUE &&
	     action->type != RTE_FLOW_ACTION_TYPE_RSS))
		return rte_flow_error_set(error, data == NULL ? EINVAL : ENOTSUP,
			RTE_FLOW_ERROR_TYPE_ACTION, action,
			"what can be asked for is the queue or rss action of the rule");
	/* The key in effect, when the application left it to the port. */
	rss.key = asked->key;
	rss.queue = asked->queues;
	if (action->type == RTE_FLOW_ACTION_TYPE_QUEUE)
		*(struct rte_flow_action_queue *)data = asked->queue;
	else
		*(struct rte_flow_action_rss *)data = rss;
	return 0;
}
