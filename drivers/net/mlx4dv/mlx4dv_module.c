/* SPDX-License-Identifier: BSD-3-Clause */

/* The EEPROM of the plug in the port, through the kernel's interface. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ethtool.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

static int
get_info(const struct mdv_priv *priv, struct ethtool_modinfo *info)
{
	int ret;

	memset(info, 0, sizeof(*info));
	info->cmd = ETHTOOL_GMODULEINFO;
	ret = mdv_netdev_ethtool(priv, info);
	if (ret != 0)
		MDV_PLOG(priv, ERR, "the plug in %s cannot be read: %s%s", priv->ifname,
			 strerror(-ret), ret == -EIO ?
			 "; is one there, and this no virtual function?" : "");
	return ret;
}

int
mdv_get_module_info(struct rte_eth_dev *dev, struct rte_eth_dev_module_info *info)
{
	static const uint32_t types[] = {
		[ETH_MODULE_SFF_8079] = RTE_ETH_MODULE_SFF_8079,
		[ETH_MODULE_SFF_8472] = RTE_ETH_MODULE_SFF_8472,
		[ETH_MODULE_SFF_8636] = RTE_ETH_MODULE_SFF_8636,
		[ETH_MODULE_SFF_8436] = RTE_ETH_MODULE_SFF_8436,
	};
	struct mdv_priv *priv = mdv_priv(dev);
	struct ethtool_modinfo found;
	int ret = get_info(priv, &found);

	if (ret != 0)
		return ret;
	if (found.type >= RTE_DIM(types) || types[found.type] == 0) {
		MDV_PLOG(priv, ERR, "the plug in %s is of a type that ethdev has no name for: %u",
			 priv->ifname, found.type);
		return -ENOTSUP;
	}
	info->type = types[found.type];
	info->eeprom_len = found.eeprom_len;
	return 0;
}

int
mdv_get_module_eeprom(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct ethtool_eeprom *eeprom;
	struct ethtool_modinfo found;
	int ret = get_info(priv, &found);

	if (ret != 0)
		return ret;
	if (info->offset > found.eeprom_len || info->length > found.eeprom_len - info->offset) {
		MDV_PLOG(priv, ERR, "%u bytes from %u of the EEPROM of the plug: it has %u",
			 info->length, info->offset, found.eeprom_len);
		return -EINVAL;
	}
	eeprom = calloc(1, sizeof(*eeprom) + info->length);
	if (eeprom == NULL)
		return -ENOMEM;
	eeprom->cmd = ETHTOOL_GMODULEEEPROM;
	eeprom->offset = info->offset;
	eeprom->len = info->length;
	ret = mdv_netdev_ethtool(priv, eeprom);
	if (ret == 0)
		memcpy(info->data, eeprom->data, info->length);
	free(eeprom);
	return ret;
}
