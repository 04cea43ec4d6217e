/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * QPs that flow rules lead to. The table of WQs is fixed while the port runs, so a
 * rule for a queue, or for several, is an RSS QP over a part of that table. What is
 * to be dropped goes to a QP that never receives.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx4dv_flow.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rss.h"

static int
create_drop(struct mdv_priv *priv, struct mdv_flow_target *target)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	target->drop_cq = ibv_create_cq(priv->ctx, 1, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = target->drop_cq;
	if (target->drop_cq != NULL)
		target->drop_qp = ibv_create_qp(priv->pd, &attr);
	if (target->drop_qp != NULL)
		return 0;
	MDV_PLOG(priv, ERR, "%s(for dropped frames) failed: %s", target->drop_cq == NULL ?
		 "ibv_create_cq" : "ibv_create_qp", strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

static void
destroy(struct mdv_priv *priv, struct mdv_flow_target *target)
{
	mdv_rss_qp_destroy(priv, &target->rss);
	if (target->drop_qp != NULL && ibv_destroy_qp(target->drop_qp) != 0)
		MDV_PLOG(priv, WARNING, "ibv_destroy_qp(for dropped frames) failed: %s",
			 strerror(errno));
	if (target->drop_cq != NULL && ibv_destroy_cq(target->drop_cq) != 0)
		MDV_PLOG(priv, WARNING, "ibv_destroy_cq(for dropped frames) failed: %s",
			 strerror(errno));
	free(target);
}

bool
mdv_flow_same_fate(const struct mdv_flow_fate *a, const struct mdv_flow_fate *b)
{
	if (a->drop || b->drop)
		return a->drop == b->drop;
	return a->first == b->first && a->entries == b->entries && a->fields == b->fields &&
		memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

int
mdv_flow_target_get(struct mdv_priv *priv, const struct mdv_flow_fate *fate,
	struct mdv_flow_target **found)
{
	struct mdv_flow_target *target;
	int ret;

	TAILQ_FOREACH(target, &priv->flow_targets, next)
		if (!target->retired && mdv_flow_same_fate(&target->fate, fate))
			break;
	if (target == NULL) {
		target = calloc(1, sizeof(*target));
		if (target == NULL)
			return -ENOMEM;
		target->fate = *fate;
		ret = fate->drop ? create_drop(priv, target) :
			mdv_rss_qp_create(priv, &target->rss, fate->first, fate->entries,
				fate->fields, fate->key);
		if (ret != 0) {
			destroy(priv, target);
			return ret;
		}
		TAILQ_INSERT_TAIL(&priv->flow_targets, target, next);
	}
	target->users++;
	*found = target;
	return 0;
}

void
mdv_flow_target_put(struct mdv_priv *priv, struct mdv_flow_target *target)
{
	if (--target->users != 0)
		return;
	TAILQ_REMOVE(&priv->flow_targets, target, next);
	destroy(priv, target);
}

/* No rule is to lead there from now on: the port was stopped. */
void
mdv_flow_targets_retire(struct mdv_priv *priv)
{
	struct mdv_flow_target *target;

	TAILQ_FOREACH(target, &priv->flow_targets, next)
		target->retired = true;
}

void
mdv_flow_targets_forget(struct mdv_priv *priv)
{
	struct mdv_flow_target *target;

	while ((target = TAILQ_FIRST(&priv->flow_targets)) != NULL) {
		TAILQ_REMOVE(&priv->flow_targets, target, next);
		free(target);
	}
}
