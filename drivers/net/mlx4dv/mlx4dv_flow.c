/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Flow rules of the application. They are kept from their creation on, and are in
 * the adapter while the port runs: their QPs lead to queues that exist from start to
 * stop only.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_flow_driver.h>

#include "mlx4dv_flow.h"
#include "mlx4dv_log.h"
#include "mlx4dv_show.h"

const char *
mdv_flow_hint(int err)
{
	switch (err) {
	case EOPNOTSUPP:
	case ENOSYS:
	case ENXIO:
		return "; device-managed flow steering is off: load mlx4_core with "
		       "log_num_mgm_entry_size=-1 (/etc/modprobe.d)";
	case EPERM:
		return "; give the process CAP_NET_RAW";
	case ENOMEM:
	case ENOSPC:
		return "; the adapter's table is full: use fewer addresses";
	default:
		return "";
	}
}

/* ---- in and out of the adapter ---- */

/* Rules that copy need more than others. */
static const char *
hint(const struct ibv_flow_attr *attr, int err)
{
	if (attr->type == IBV_FLOW_ATTR_SNIFFER && err == EPERM)
		return "; give the process CAP_NET_RAW and CAP_NET_ADMIN";
	if ((attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0 && err == EOPNOTSUPP)
		return "; the firmware has no sniffer of unicast and multicast, or steering is "
		       "not managed by the device (log_num_mgm_entry_size=-1)";
	return mdv_flow_hint(err);
}

static int
uninstall(struct mdv_priv *priv, struct rte_flow *flow)
{
	int ret = 0;

	if (flow->flow != NULL)
		ret = ibv_destroy_flow(flow->flow);
	if (ret != 0) {
		MDV_PLOG(priv, WARNING, "ibv_destroy_flow() failed: %s", strerror(ret));
		return -ret;
	}
	flow->flow = NULL;
	if (flow->target != NULL)
		mdv_flow_target_put(priv, flow->target);
	flow->target = NULL;
	return 0;
}

static int
install(struct mdv_priv *priv, struct rte_flow *flow)
{
	/* The stop before may not have got rid of it. */
	int ret = uninstall(priv, flow);

	if (ret == 0)
		ret = mdv_flow_target_get(priv, &flow->fate, &flow->target);
	if (ret != 0)
		return ret;
	flow->flow = ibv_create_flow(mdv_flow_target_qp(flow->target), &flow->req.attr);
	if (flow->flow != NULL)
		return 0;
	ret = errno != 0 ? -errno : -EIO;
	MDV_PLOG(priv, ERR, "ibv_create_flow() failed: %s%s", strerror(-ret),
		 hint(&flow->req.attr, -ret));
	mdv_flow_target_put(priv, flow->target);
	flow->target = NULL;
	return ret == -ENOMEM ? -ENOSPC : ret;
}

/* The port was configured: rules that there are follow their queues, as far as they go. */
void
mdv_flows_place(struct mdv_priv *priv)
{
	struct rte_flow *flow;

	TAILQ_FOREACH(flow, &priv->flows, next)
		mdv_flow_place(priv, &flow->asked, &flow->fate);
}

static int
check_run(const struct mdv_priv *priv, const struct rte_flow *flow)
{
	if (flow->fate.drop || flow->fate.entries != 0)
		return 0;
	MDV_PLOG(priv, ERR, "a flow rule leads to queues that the port has no more: destroy it, or "
		 "configure as many RX queues as before");
	return -EINVAL;
}

int
mdv_flows_start(struct mdv_priv *priv)
{
	struct rte_flow *flow;
	int ret = 0;

	TAILQ_FOREACH(flow, &priv->flows, next) {
		ret = check_run(priv, flow);
		if (ret == 0)
			ret = install(priv, flow);
		if (ret != 0)
			break;
	}
	return ret;
}

void
mdv_flows_stop(struct mdv_priv *priv)
{
	struct rte_flow *flow;

	TAILQ_FOREACH_REVERSE(flow, &priv->flows, mdv_flow_list, next)
		uninstall(priv, flow);
	/* What is left leads to rings that are gone. */
	mdv_flow_targets_retire(priv);
}

/* The context goes, and with it what the adapter did not let go of. */
void
mdv_flows_forget(struct mdv_priv *priv)
{
	struct rte_flow *flow;

	TAILQ_FOREACH(flow, &priv->flows, next) {
		flow->flow = NULL;
		flow->target = NULL;
	}
	mdv_flow_targets_forget(priv);
}

static void
release(struct rte_flow *flow)
{
	mdv_flow_asked_free(&flow->asked);
	free(flow);
}

void
mdv_flows_free(struct mdv_priv *priv)
{
	struct rte_flow *flow;

	while ((flow = TAILQ_FIRST(&priv->flows)) != NULL) {
		TAILQ_REMOVE(&priv->flows, flow, next);
		release(flow);
	}
	mdv_flow_table_free(priv);
}

void
mdv_flow_count(const struct mdv_priv *priv, uint64_t *rules, uint64_t *installed)
{
	const struct rte_flow *flow;

	*rules = 0;
	*installed = 0;
	TAILQ_FOREACH(flow, &priv->flows, next) {
		*rules += 1;
		*installed += flow->flow != NULL;
	}
}

/* ---- operations ---- */

static int
parse(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct rte_flow *flow, struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	const struct rte_flow *other;
	unsigned int classes;
	int ret;

	memset(flow, 0, sizeof(*flow));
	ret = mdv_flow_parse_pattern(priv, attr, pattern, mdv_flow_copies(actions), &flow->req,
		&classes, error);
	if (ret == 0)
		ret = mdv_flow_parse_actions(priv, actions, classes, &flow->fate, error);
	if (ret != 0)
		return ret;
	/* The adapter would take it, and only one of the two would ever see a frame. */
	other = mdv_flow_table_find(priv, &flow->req);
	if (other != NULL && !mdv_flow_same_fate(&other->fate, &flow->fate))
		return rte_flow_error_set(error, EEXIST, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, other,
			"there is a rule with this pattern and priority that leads elsewhere");
	return 0;
}

static int
flow_validate(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct rte_flow flow;

	return parse(dev, attr, pattern, actions, &flow, error);
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct rte_flow *flow = malloc(sizeof(*flow));
	int ret;

	if (flow == NULL) {
		rte_flow_error_set(error, ENOMEM, RTE_FLOW_ERROR_TYPE_HANDLE, NULL, NULL);
		return NULL;
	}
	ret = parse(dev, attr, pattern, actions, flow, error);
	if (ret == 0) {
		ret = mdv_flow_asked_keep(&flow->asked, actions, &flow->fate);
		if (ret == 0)
			ret = mdv_flow_table_reserve(priv);
		if (ret != 0)
			rte_flow_error_set(error, ENOMEM, RTE_FLOW_ERROR_TYPE_HANDLE, NULL, NULL);
	}
	if (ret == 0 && priv->started) {
		ret = install(priv, flow);
		if (ret != 0)
			rte_flow_error_set(error, -ret, RTE_FLOW_ERROR_TYPE_HANDLE, NULL,
				ret == -ENOSPC ? "the adapter's table is full" :
				"the adapter did not take the rule: see the log");
	}
	if (ret != 0) {
		release(flow);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&priv->flows, flow, next);
	mdv_flow_table_add(priv, flow);
	return flow;
}

static int
check_known(const struct mdv_priv *priv, const struct rte_flow *flow,
	struct rte_flow_error *error)
{
	return mdv_flow_table_has(priv, flow) ? 0 : rte_flow_error_set(error, ENOENT,
		RTE_FLOW_ERROR_TYPE_HANDLE, flow, "no such rule on this port");
}

static int
flow_destroy(struct rte_eth_dev *dev, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret = check_known(priv, flow, error);

	if (ret != 0)
		return ret;
	ret = uninstall(priv, flow);
	if (ret != 0)
		return rte_flow_error_set(error, -ret, RTE_FLOW_ERROR_TYPE_HANDLE, flow,
			"the adapter did not let go of the rule: see the log");
	mdv_flow_table_remove(priv, flow);
	TAILQ_REMOVE(&priv->flows, flow, next);
	release(flow);
	return 0;
}

static int
flow_query(struct rte_eth_dev *dev, struct rte_flow *flow, const struct rte_flow_action *action,
	void *data, struct rte_flow_error *error)
{
	int ret = check_known(mdv_priv(dev), flow, error);

	return ret != 0 ? ret : mdv_flow_asked_tell(&flow->asked, action, data, error);
}

static int
flow_flush(struct rte_eth_dev *dev, struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct rte_flow *flow, *next;
	int ret = 0;

	for (flow = TAILQ_FIRST(&priv->flows); flow != NULL; flow = next) {
		next = TAILQ_NEXT(flow, next);
		if (flow_destroy(dev, flow, error) != 0)
			ret = -EIO;
	}
	return ret;
}

/* The port's own rules go or come; those of the application stay. */
static int
flow_isolate(struct rte_eth_dev *dev, int on, struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	bool before = priv->isolated;
	int ret;

	priv->isolated = on != 0;
	ret = mdv_rules_sync(priv);
	if (ret == 0)
		return 0;
	priv->isolated = before;
	mdv_rules_sync(priv);
	return rte_flow_error_set(error, -ret, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
		"the adapter did not take the port's own rules, or let go of them: see the log");
}

static void
dump_one(FILE *file, const struct rte_flow *flow)
{
	const struct mdv_flow_request *req = &flow->req;

	fprintf(file, "flow %p: priority %u, ", (const void *)flow, req->attr.priority);
	if (req->attr.type == IBV_FLOW_ATTR_SNIFFER)
		fprintf(file, "copy of all that comes in and leaves ");
	else if ((req->attr.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0)
		fprintf(file, "copy of all%s ", req->eth.type == 0 ? "" :
			req->eth.val.dst_mac[0] != 0 ? " multicast" : " unicast");
	else if (req->attr.type == IBV_FLOW_ATTR_ALL_DEFAULT)
		fprintf(file, "everything");
	else if (req->attr.type == IBV_FLOW_ATTR_MC_DEFAULT)
		fprintf(file, "all multicast");
	if (req->eth.mask.dst_mac[0] == 0xff)
		fprintf(file, "dst " RTE_ETHER_ADDR_PRT_FMT " ",
			RTE_ETHER_ADDR_BYTES((const struct rte_ether_addr *)req->eth.val.dst_mac));
	if (req->eth.mask.vlan_tag != 0)
		fprintf(file, "vlan %u ", rte_be_to_cpu_16(req->eth.val.vlan_tag));
	if (req->ipv4.type != 0)
		fprintf(file, "ipv4 src %08x/%08x dst %08x/%08x ",
			rte_be_to_cpu_32(req->ipv4.val.src_ip),
			rte_be_to_cpu_32(req->ipv4.mask.src_ip),
			rte_be_to_cpu_32(req->ipv4.val.dst_ip),
			rte_be_to_cpu_32(req->ipv4.mask.dst_ip));
	if (req->l4.type != 0)
		fprintf(file, "%s src %u/%04x dst %u/%04x ",
			req->l4.type == IBV_FLOW_SPEC_UDP ? "udp" : "tcp",
			rte_be_to_cpu_16(req->l4.val.src_port), req->l4.mask.src_port,
			rte_be_to_cpu_16(req->l4.val.dst_port), req->l4.mask.dst_port);
	if (flow->fate.drop)
		fprintf(file, "-> drop");
	else
		fprintf(file, "-> table entries %u..%u, hash 0x%" PRIx64, flow->fate.first,
			flow->fate.first + flow->fate.entries - 1, flow->fate.fields);
	fprintf(file, "%s\n", flow->flow != NULL ? "" : " (not in the adapter)");
}

static int
flow_dump(struct rte_eth_dev *dev, struct rte_flow *flow, FILE *file,
	struct rte_flow_error *error)
{
	struct mdv_priv *priv = mdv_priv(dev);
	const struct rte_flow *one;
	int ret = flow != NULL ? check_known(priv, flow, error) : 0;

	TAILQ_FOREACH(one, &priv->flows, next)
		if (flow == NULL || flow == one)
			dump_one(file, one);
	return ret;
}

static const struct rte_flow_ops flow_ops = {
	.validate = flow_validate,
	.create = flow_create,
	.destroy = flow_destroy,
	.flush = flow_flush,
	.query = flow_query,
	.isolate = flow_isolate,
	.dev_dump = flow_dump,
};

int
mdv_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops)
{
	RTE_SET_USED(dev);
	*ops = &flow_ops;
	return 0;
}
