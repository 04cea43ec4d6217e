/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Addresses and modes: kept here, turned into rules by mdv_rules_sync() now or at
 * the next start. When that fails the old state is put back, and the rules follow.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

static int
change_mac(struct mdv_priv *priv, uint32_t idx, const struct rte_ether_addr *mac)
{
	struct rte_ether_addr old = priv->mac[idx];
	int ret;

	priv->mac[idx] = *mac;
	ret = mdv_rules_sync(priv);
	if (ret != 0) {
		priv->mac[idx] = old;
		mdv_rules_sync(priv);
	}
	return ret;
}

int
mdv_mac_addr_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t idx, uint32_t pool)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint32_t i;

	RTE_SET_USED(pool); /* there is one */
	if (idx >= MDV_MAX_MAC)
		return -ENOSPC;
	if (!rte_is_valid_assigned_ether_addr(mac)) {
		MDV_PLOG(priv, ERR, RTE_ETHER_ADDR_PRT_FMT " is no unicast address: use "
			 "rte_eth_dev_set_mc_addr_list() for multicast",
			 RTE_ETHER_ADDR_BYTES(mac));
		return -EINVAL;
	}
	for (i = 0; i < MDV_MAX_MAC; i++)
		if (i != idx && rte_is_same_ether_addr(&priv->mac[i], mac))
			return -EADDRINUSE;
	return change_mac(priv, idx, mac);
}

void
mdv_mac_addr_remove(struct rte_eth_dev *dev, uint32_t idx)
{
	static const struct rte_ether_addr none;
	struct mdv_priv *priv = mdv_priv(dev);

	if (idx >= MDV_MAX_MAC)
		return;
	/* Nobody can be told that it failed: the next change tries again. */
	priv->mac[idx] = none;
	mdv_rules_sync(priv);
}

/* The address of the port here; the kernel's interface keeps its own. */
int
mdv_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	return change_mac(mdv_priv(dev), 0, mac);
}

int
mdv_set_mc_addr_list(struct rte_eth_dev *dev, struct rte_ether_addr *mc, uint32_t n)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct rte_ether_addr *old = priv->mc;
	struct rte_ether_addr *copy = NULL;
	uint32_t old_n = priv->nb_mc;
	uint32_t i;
	int ret;

	if (n > MDV_MAX_MC) {
		MDV_PLOG(priv, ERR, "%u multicast addresses: the limit is %u; use all-multicast "
			 "mode", n, MDV_MAX_MC);
		return -ENOSPC;
	}
	for (i = 0; i < n; i++)
		if (!rte_is_multicast_ether_addr(&mc[i])) {
			MDV_PLOG(priv, ERR, RTE_ETHER_ADDR_PRT_FMT " is no multicast address",
				 RTE_ETHER_ADDR_BYTES(&mc[i]));
			return -EINVAL;
		}
	if (n != 0) {
		copy = malloc(n * sizeof(*copy));
		if (copy == NULL)
			return -ENOMEM;
		memcpy(copy, mc, n * sizeof(*copy));
	}
	priv->mc = copy;
	priv->nb_mc = n;
	ret = mdv_rules_sync(priv);
	if (ret != 0) {
		priv->mc = old;
		priv->nb_mc = old_n;
		mdv_rules_sync(priv);
		old = copy;
	}
	free(old);
	return ret;
}

static int
change_mode(struct mdv_priv *priv, bool *mode, bool on)
{
	bool old = *mode;
	int ret;

	*mode = on;
	ret = mdv_rules_sync(priv);
	if (ret != 0) {
		*mode = old;
		mdv_rules_sync(priv);
	}
	return ret;
}

int
mdv_promiscuous_enable(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	return change_mode(priv, &priv->promisc, true);
}

int
mdv_promiscuous_disable(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	return change_mode(priv, &priv->promisc, false);
}

int
mdv_allmulticast_enable(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	return change_mode(priv, &priv->allmulti, true);
}

int
mdv_allmulticast_disable(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);

	return change_mode(priv, &priv->allmulti, false);
}
