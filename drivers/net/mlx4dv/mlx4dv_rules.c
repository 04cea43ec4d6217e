/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which frames reach the port, as verbs flow rules. The rules that the port's
 * addresses and modes call for are computed anew on every change and compared
 * with those in place: first the missing ones are made, then the others removed.
 * When one cannot be made the others are as before. One that cannot be removed stays
 * and is tried again with each change: the caller hears of it, and puts back what it
 * wanted to change.
 *
 * Broadcast has a rule of its own: neither promiscuous nor all-multicast mode
 * brings it on this adapter.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_flow.h"
#include "mlx4dv_log.h"

#define PRIORITY_BASE 0xfff
#define PRIORITY_CLASS 0xffe /* wins over an address rule */

static const char *const kind_names[] = {
	[MDV_RULE_UNICAST] = "unicast",
	[MDV_RULE_MULTICAST] = "multicast",
	[MDV_RULE_ALLMULTI] = "all-multicast",
	[MDV_RULE_PROMISC] = "promiscuous",
	[MDV_RULE_CLASS_TCP] = "IPv4 TCP",
	[MDV_RULE_CLASS_UDP] = "IPv4 UDP",
};

/* ---- verbs ---- */

static void
add_class(struct mdv_flow_request *req, enum ibv_flow_spec_type l4)
{
	/* Empty masks: any address, any port. */
	req->ipv4 = (struct ibv_flow_spec_ipv4){
		.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(req->ipv4),
	};
	req->l4 = (struct ibv_flow_spec_tcp_udp){ .type = l4, .size = sizeof(req->l4) };
	req->attr.num_of_specs += 2;
	req->attr.size = sizeof(*req);
	req->attr.priority = PRIORITY_CLASS;
}

static void
add_eth(struct mdv_flow_request *req, const struct rte_ether_addr *mac)
{
	req->eth = (struct ibv_flow_spec_eth){
		.type = IBV_FLOW_SPEC_ETH, .size = sizeof(req->eth),
	};
	memcpy(req->eth.val.dst_mac, mac, sizeof(req->eth.val.dst_mac));
	memset(req->eth.mask.dst_mac, 0xff, sizeof(req->eth.mask.dst_mac));
	req->attr.num_of_specs = 1;
	req->attr.size = offsetof(struct mdv_flow_request, ipv4);
}

static struct ibv_qp *
build_request(const struct mdv_priv *priv, const struct mdv_rule *rule,
	struct mdv_flow_request *req)
{
	memset(req, 0, sizeof(*req));
	req->attr.port = (uint8_t)priv->port;
	req->attr.priority = PRIORITY_BASE;
	req->attr.size = sizeof(req->attr);
	switch (rule->kind) {
	case MDV_RULE_UNICAST:
	case MDV_RULE_MULTICAST:
		add_eth(req, &rule->mac);
		return priv->rss.base.qp;
	case MDV_RULE_ALLMULTI:
		req->attr.type = IBV_FLOW_ATTR_MC_DEFAULT;
		return priv->rss.base.qp;
	case MDV_RULE_PROMISC:
		req->attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
		return priv->rss.base.qp;
	case MDV_RULE_CLASS_TCP:
		add_eth(req, &rule->mac);
		add_class(req, IBV_FLOW_SPEC_TCP);
		return priv->rss.tcp.qp;
	case MDV_RULE_CLASS_UDP:
		add_eth(req, &rule->mac);
		add_class(req, IBV_FLOW_SPEC_UDP);
		return priv->rss.udp.qp;
	}
	return NULL;
}

static int
create_flow(const struct mdv_priv *priv, struct mdv_rule *rule)
{
	struct mdv_flow_request req;
	struct ibv_qp *qp = build_request(priv, rule, &req);
	int err;

	rule->flow = ibv_create_flow(qp, &req.attr);
	if (rule->flow != NULL)
		return 0;
	err = errno != 0 ? errno : EIO;
	MDV_PLOG(priv, ERR, "ibv_create_flow(%s rule for " RTE_ETHER_ADDR_PRT_FMT ") failed: "
		 "%s%s", kind_names[rule->kind], RTE_ETHER_ADDR_BYTES(&rule->mac), strerror(err),
		 mdv_flow_hint(err));
	return err == ENOMEM ? -ENOSPC : -err;
}

/* One that the adapter does not let go of is kept, and known to be of no use. */
static int
remove_rule(struct mdv_priv *priv, struct mdv_rule *rule)
{
	int ret = ibv_destroy_flow(rule->flow);

	if (ret != 0) {
		MDV_PLOG(priv, WARNING, "ibv_destroy_flow(%s rule) failed: %s",
			 kind_names[rule->kind], strerror(ret));
		rule->stale = true;
		return -ret;
	}
	TAILQ_REMOVE(&priv->rules, rule, next);
	free(rule);
	return 0;
}

/* ---- the set ---- */

/* Have this rule; an existing one is only marked. */
static int
want(struct mdv_priv *priv, enum mdv_rule_kind kind, const struct rte_ether_addr *mac)
{
	struct mdv_rule *rule;
	int ret;

	TAILQ_FOREACH(rule, &priv->rules, next)
		if (!rule->stale && rule->kind == kind &&
		    rte_is_same_ether_addr(&rule->mac, mac)) {
			rule->wanted = true;
			return 0;
		}
	rule = calloc(1, sizeof(*rule));
	if (rule == NULL)
		return -ENOMEM;
	rule->kind = kind;
	rule->mac = *mac;
	rule->wanted = true;
	rule->fresh = true;
	ret = create_flow(priv, rule);
	if (ret != 0) {
		free(rule);
		return ret;
	}
	TAILQ_INSERT_TAIL(&priv->rules, rule, next);
	return 0;
}

/*
 * Frames to an address of ours, and those of its classes that hash differently.
 * Foreign unicast in promiscuous mode, and multicast, have no class rules: they
 * are hashed as the base QP does.
 */
static int
want_unicast(struct mdv_priv *priv, const struct rte_ether_addr *mac)
{
	int ret;

	ret = want(priv, MDV_RULE_UNICAST, mac);
	if (ret == 0 && priv->rss.tcp.qp != NULL)
		ret = want(priv, MDV_RULE_CLASS_TCP, mac);
	if (ret == 0 && priv->rss.udp.qp != NULL)
		ret = want(priv, MDV_RULE_CLASS_UDP, mac);
	return ret;
}

static int
want_all(struct mdv_priv *priv)
{
	static const struct rte_ether_addr none;
	static const struct rte_ether_addr broadcast = {
		.addr_bytes = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	uint32_t i;
	int ret;

	ret = want(priv, MDV_RULE_MULTICAST, &broadcast);
	for (i = 0; i < MDV_MAX_MAC && ret == 0; i++)
		if (!rte_is_zero_ether_addr(&priv->mac[i]))
			ret = want_unicast(priv, &priv->mac[i]);
	for (i = 0; i < priv->nb_mc && ret == 0; i++)
		ret = want(priv, MDV_RULE_MULTICAST, &priv->mc[i]);
	/* The promiscuous rule takes multicast as well: one copy, not two. */
	if (ret == 0 && priv->promisc)
		ret = want(priv, MDV_RULE_PROMISC, &none);
	else if (ret == 0 && priv->allmulti)
		ret = want(priv, MDV_RULE_ALLMULTI, &none);
	return ret;
}

/* Remove what is not to be there; the first error. */
static int
remove_unwanted(struct mdv_priv *priv, bool wanted_stay)
{
	struct mdv_rule *rule, *next;
	int ret = 0, one;

	for (rule = TAILQ_FIRST(&priv->rules); rule != NULL; rule = next) {
		next = TAILQ_NEXT(rule, next);
		if (wanted_stay ? rule->wanted : !rule->fresh)
			continue;
		one = remove_rule(priv, rule);
		ret = ret != 0 ? ret : one;
	}
	return ret;
}

/* Make what is missing, or nothing. */
static int
make_wanted(struct mdv_priv *priv)
{
	struct mdv_rule *rule;
	int ret;

	TAILQ_FOREACH(rule, &priv->rules, next) {
		rule->wanted = false;
		rule->fresh = false;
	}
	ret = priv->isolated ? 0 : want_all(priv);
	if (ret != 0)
		remove_unwanted(priv, false);
	return ret;
}

/* Make the rules in place those that the port's state calls for. */
int
mdv_rules_sync(struct mdv_priv *priv)
{
	int ret;

	if (!priv->started || priv->rss.base.qp == NULL)
		return 0;
	ret = make_wanted(priv);
	return ret != 0 ? ret : remove_unwanted(priv, true);
}

/*
 * Have the rules lead to the RSS QPs that exist now. Those in place lead to other
 * QPs and serve until all new ones are there: no frame is lost in between.
 */
int
mdv_rules_renew(struct mdv_priv *priv)
{
	struct mdv_rule *rule;
	int ret;

	TAILQ_FOREACH(rule, &priv->rules, next) {
		rule->former = !rule->stale;
		rule->stale = true;
	}
	ret = make_wanted(priv);
	if (ret == 0) {
		remove_unwanted(priv, true);
		return 0;
	}
	TAILQ_FOREACH(rule, &priv->rules, next)
		if (rule->former)
			rule->stale = false;
	return ret;
}

void
mdv_rules_flush(struct mdv_priv *priv)
{
	struct mdv_rule *rule;

	TAILQ_FOREACH(rule, &priv->rules, next)
		rule->wanted = false;
	remove_unwanted(priv, true);
}

/* The context goes, and with it what the adapter did not let go of. */
void
mdv_rules_forget(struct mdv_priv *priv)
{
	struct mdv_rule *rule;

	while ((rule = TAILQ_FIRST(&priv->rules)) != NULL) {
		TAILQ_REMOVE(&priv->rules, rule, next);
		free(rule);
	}
}
