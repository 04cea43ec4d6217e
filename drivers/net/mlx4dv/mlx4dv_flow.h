/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_FLOW_H_
#define MLX4DV_FLOW_H_

/* Flow rules as verbs wants them, and the files that make them of rte_flow. */

#include <rte_flow_driver.h>

#include "mlx4dv.h"

/* The specs follow the attribute in memory, without padding. */
struct mdv_flow_request {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	struct ibv_flow_spec_ipv4 ipv4;
	struct ibv_flow_spec_tcp_udp l4;
};

/* The cure for an errno of ibv_create_flow(), to follow a message; or "". */
const char *mdv_flow_hint(int err);

/* ---- mlx4dv_flow_target.c: where frames of a rule go ---- */

struct mdv_flow_fate {
	bool drop;
	uint32_t first, entries;  /* run of the WQ table; 0: its queues are no run any more */
	uint64_t fields;          /* IBV_RX_HASH_* */
	uint8_t key[MDV_RSS_KEY_LEN];
};

/* A QP that rules with the same fate share, while the port runs. */
struct mdv_flow_target {
	TAILQ_ENTRY(mdv_flow_target) next;
	struct mdv_flow_fate fate;
	unsigned int users;
	bool retired;             /* its rule outlived a stop, as the adapter kept it */
	struct mdv_rss_qp rss;
	struct ibv_cq *drop_cq;
	struct ibv_qp *drop_qp;
};

bool mdv_flow_same_fate(const struct mdv_flow_fate *a, const struct mdv_flow_fate *b);
int mdv_flow_target_get(struct mdv_priv *priv, const struct mdv_flow_fate *fate,
	struct mdv_flow_target **target);
void mdv_flow_target_put(struct mdv_priv *priv, struct mdv_flow_target *target);
void mdv_flow_targets_retire(struct mdv_priv *priv);
void mdv_flow_targets_forget(struct mdv_priv *priv);
static inline struct ibv_qp *
mdv_flow_target_qp(const struct mdv_flow_target *target)
{
	return target->fate.drop ? target->drop_qp : target->rss.qp;
}

/* ---- mlx4dv_flow_query.c: what a rule was asked to do, kept for who asks ---- */

struct mdv_flow_asked {
	enum rte_flow_action_type type;
	struct rte_flow_action_queue queue;
	struct rte_flow_action_rss rss;
	uint8_t key[MDV_RSS_KEY_LEN];
	uint16_t *queues;
};

int mdv_flow_asked_keep(struct mdv_flow_asked *asked, const struct rte_flow_action *actions,
	const struct mdv_flow_fate *fate);
void mdv_flow_asked_free(struct mdv_flow_asked *asked);
int mdv_flow_asked_tell(const struct mdv_flow_asked *asked,
	const struct rte_flow_action *action, void *data, struct rte_flow_error *error);

/* ---- mlx4dv_flow.c, mlx4dv_flow_table.c: the rules of the application ---- */

struct rte_flow {
	TAILQ_ENTRY(rte_flow) next; /* in the order of their creation */
	LIST_ENTRY(rte_flow) same_pattern, same_handle; /* in a bucket of the table */
	uint32_t hash;
	struct mdv_flow_request req;
	struct mdv_flow_fate fate;
	struct mdv_flow_asked asked;
	struct mdv_flow_target *target; /* these while the port runs */
	struct ibv_flow *flow;
};

int mdv_flow_table_reserve(struct mdv_priv *priv);
void mdv_flow_table_add(struct mdv_priv *priv, struct rte_flow *flow);
void mdv_flow_table_remove(struct mdv_priv *priv, struct rte_flow *flow);
/* A rule with this pattern and priority, or NULL. */
const struct rte_flow *mdv_flow_table_find(const struct mdv_priv *priv,
	const struct mdv_flow_request *req);
bool mdv_flow_table_has(const struct mdv_priv *priv, const struct rte_flow *flow);
void mdv_flow_table_free(struct mdv_priv *priv);

/* ---- mlx4dv_flow_parse.c, mlx4dv_flow_action.c ---- */

/* What the patterns of a rule leave to be hashed. */
enum mdv_flow_class {
	MDV_CLASS_OTHER4 = 1 << 0,
	MDV_CLASS_TCP4 = 1 << 1,
	MDV_CLASS_UDP4 = 1 << 2,
	MDV_CLASS_OTHER6 = 1 << 3,
	MDV_CLASS_TCP6 = 1 << 4,
	MDV_CLASS_UDP6 = 1 << 5,
	MDV_CLASS_ALL = (1 << 6) - 1,
};

/*
 * Each 0, or a negative errno with error filled. A rule that copies lets frames go on
 * to other rules.
 */
bool mdv_flow_copies(const struct rte_flow_action *actions);
int mdv_flow_parse_pattern(const struct mdv_priv *priv, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, bool copies, struct mdv_flow_request *req,
	unsigned int *classes, struct rte_flow_error *error);
int mdv_flow_parse_actions(const struct mdv_priv *priv, const struct rte_flow_action *actions,
	unsigned int classes, struct mdv_flow_fate *fate, struct rte_flow_error *error);
void mdv_flow_place(const struct mdv_priv *priv, const struct mdv_flow_asked *asked,
	struct mdv_flow_fate *fate);

#endif /* MLX4DV_FLOW_H_ */
