/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "../counters.h"
#include "../hca/hca.h"
#include "../profile.h"
#include "sysfs.h"

/* Words of a link mode mask: enough for the 40G modes, as in kernels since 4.14. */
#define MASK_WORDS 3

#define MODE_BIT(mode) (1u << (ETHTOOL_LINK_MODE_ ## mode ## _BIT))

/* Copper cable at 40 Gb/s with both kinds of pause frames. */
#define MODES (MODE_BIT(40000baseCR4_Full) | MODE_BIT(FIBRE) | MODE_BIT(Pause) | \
	MODE_BIT(Asym_Pause))

#define STAT(name, expression) \
	static uint64_t \
	stat_ ## name(const struct vmlx4_port_stats *stats) \
	{ \
		return expression; \
	}

STAT(rx_packets, stats->rx_frames)
STAT(tx_packets, stats->tx_frames)
STAT(rx_bytes, stats->rx_bytes)
STAT(tx_bytes, stats->tx_bytes)
STAT(rx_errors, vmlx4_rx_errors(stats))
STAT(tx_errors, stats->tx_errors)
STAT(rx_dropped, vmlx4_rx_dropped(stats))
STAT(tx_dropped, vmlx4_tx_dropped(stats))
STAT(multicast, stats->rx_multicast)
STAT(rx_length_errors, stats->rx_oversize + stats->rx_runt)
STAT(rx_over_errors, stats->rx_cq_overrun + stats->rx_overruns)
STAT(rx_crc_errors, stats->rx_crc_errors)
STAT(rx_missed_errors, stats->rx_no_wqe)
STAT(tx_carrier_errors, stats->tx_link_down + stats->tx_wire_drops)
STAT(rx_multicast_packets, stats->rx_multicast)
STAT(rx_broadcast_packets, stats->rx_broadcast)
STAT(tso_packets, stats->tx_lso)
STAT(rx_pause, stats->rx_pause)
STAT(tx_pause, stats->tx_pause)
STAT(tx_loopback, stats->tx_loopback)

#define ENTRY(name) { #name, stat_ ## name }

/* Each reason for a drop by its own name, which mlx4_en has not. */
#define DROP_STAT(name) \
	static uint64_t \
	drop_ ## name(const struct vmlx4_port_stats *stats) \
	{ \
		return stats->name; \
	}
VMLX4_DROP_COUNTERS(DROP_STAT)
#define DROP_ENTRY(name) { "vmlx4_" #name, drop_ ## name },

/*
 * Names as "ethtool -S" shows them for mlx4_en; those that the model has no
 * number for are left out. What is the model's own begins with its name.
 */
static const struct {
	char name[ETH_GSTRING_LEN];
	uint64_t (*value)(const struct vmlx4_port_stats *stats);
} stat_table[] = {
	ENTRY(rx_packets),
	ENTRY(tx_packets),
	ENTRY(rx_bytes),
	ENTRY(tx_bytes),
	ENTRY(rx_errors),
	ENTRY(tx_errors),
	ENTRY(rx_dropped),
	ENTRY(tx_dropped),
	ENTRY(multicast),
	ENTRY(rx_length_errors),
	ENTRY(rx_over_errors),
	ENTRY(rx_crc_errors),
	ENTRY(rx_missed_errors),
	ENTRY(tx_carrier_errors),
	ENTRY(tso_packets),
	ENTRY(rx_pause),
	ENTRY(tx_pause),
	ENTRY(rx_multicast_packets),
	ENTRY(rx_broadcast_packets),
	{ "vmlx4_tx_loopback", stat_tx_loopback },
	VMLX4_DROP_COUNTERS(DROP_ENTRY)
};

#define STATS (sizeof(stat_table) / sizeof(stat_table[0]))

static bool
running(const struct vmlx4_port *port)
{
	return (vmlx4_netdev_flags(port) & IFF_RUNNING) != 0;
}

static int
get_drvinfo(const struct vmlx4_port *port, struct ethtool_drvinfo *info)
{
	const struct vmlx4_profile *profile = port->adapter->profile;

	memset(info, 0, sizeof(*info));
	info->cmd = ETHTOOL_GDRVINFO;
	strcpy(info->driver, "mlx4_en");
	strcpy(info->version, "4.0-0");
	snprintf(info->fw_version, sizeof(info->fw_version), "%u.%u.%03u",
		(unsigned int)(profile->fw_ver >> 32),
		(unsigned int)(profile->fw_ver >> 16 & 0xffff),
		(unsigned int)(profile->fw_ver & 0xffff));
	strcpy(info->bus_info, port->adapter->options.pci_address);
	info->n_stats = STATS;
	return 0;
}

static int
get_settings(const struct vmlx4_port *port, struct ethtool_cmd *cmd)
{
	bool up = running(port);

	memset(cmd, 0, sizeof(*cmd));
	cmd->cmd = ETHTOOL_GSET;
	cmd->supported = MODES;
	cmd->advertising = MODES;
	cmd->duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	cmd->port = PORT_DA;
	cmd->transceiver = XCVR_INTERNAL;
	cmd->autoneg = AUTONEG_DISABLE;
	ethtool_cmd_speed_set(cmd, up ? port->adapter->profile->speed_mbps :
		(uint32_t)SPEED_UNKNOWN);
	return 0;
}

/*
 * The caller asks with the number of mask words it has room for; any number but
 * the kernel's own is answered by the kernel's, negative, and nothing else.
 */
static int
get_link_settings(const struct vmlx4_port *port, struct ethtool_link_settings *link)
{
	int words = link->link_mode_masks_nwords;
	bool up = running(port);

	memset(link, 0, sizeof(*link));
	link->cmd = ETHTOOL_GLINKSETTINGS;
	if (words != MASK_WORDS) {
		link->link_mode_masks_nwords = -MASK_WORDS;
		return 0;
	}
	link->link_mode_masks_nwords = MASK_WORDS;
	link->speed = up ? port->adapter->profile->speed_mbps : (uint32_t)SPEED_UNKNOWN;
	link->duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	link->port = PORT_DA;
	link->autoneg = AUTONEG_DISABLE;
	/* supported, advertised, advertised by the peer */
	memset(link->link_mode_masks, 0, 3 * MASK_WORDS * sizeof(uint32_t));
	link->link_mode_masks[0] = MODES;
	link->link_mode_masks[MASK_WORDS] = MODES;
	return 0;
}

static int
get_pause(const struct vmlx4_port *port, struct ethtool_pauseparam *pause)
{
	pause->autoneg = 0;
	pause->rx_pause = port->netdev.rx_pause;
	pause->tx_pause = port->netdev.tx_pause;
	return 0;
}

static int
set_pause(struct vmlx4_port *port, const struct ethtool_pauseparam *pause)
{
	/* The card cannot negotiate them. */
	if (pause->autoneg != 0)
		return -EINVAL;
	port->netdev.rx_pause = pause->rx_pause != 0;
	port->netdev.tx_pause = pause->tx_pause != 0;
	return 0;
}

static int
get_sset_info(struct ethtool_sset_info *info)
{
	uint64_t asked = info->sset_mask;

	info->sset_mask = asked & (1ull << ETH_SS_STATS);
	if (info->sset_mask != 0)
		info->data[0] = STATS;
	return 0;
}

static int
get_strings(struct ethtool_gstrings *strings)
{
	size_t i;

	if (strings->string_set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	strings->len = STATS;
	for (i = 0; i < STATS; i++)
		memcpy(strings->data + i * ETH_GSTRING_LEN, stat_table[i].name, ETH_GSTRING_LEN);
	return 0;
}

static int
get_stats(const struct vmlx4_port *port, struct ethtool_stats *stats)
{
	size_t i;

	stats->n_stats = STATS;
	for (i = 0; i < STATS; i++) {
		uint64_t value = stat_table[i].value(&port->stats);

		/* The program's buffer need not be aligned. */
		memcpy((uint8_t *)stats + sizeof(*stats) + i * sizeof(value), &value,
			sizeof(value));
	}
	return 0;
}

static int
get_permaddr(const struct vmlx4_port *port, struct ethtool_perm_addr *address)
{
	if (address->size < 6)
		return -ENOBUFS;
	address->size = 6;
	vmlx4_port_mac(&port->adapter->options, port->number, address->data);
	return 0;
}

int
vmlx4_ethtool(struct vmlx4_port *port, void *data)
{
	uint32_t command;

	memcpy(&command, data, sizeof(command));
	switch (command) {
	case ETHTOOL_GDRVINFO:
		return get_drvinfo(port, data);
	case ETHTOOL_GLINK:
		((struct ethtool_value *)data)->data = running(port);
		return 0;
	case ETHTOOL_GSET:
		return get_settings(port, data);
	case ETHTOOL_GLINKSETTINGS:
		return get_link_settings(port, data);
	case ETHTOOL_GPAUSEPARAM:
		return get_pause(port, data);
	case ETHTOOL_SPAUSEPARAM:
		return set_pause(port, data);
	case ETHTOOL_GSSET_INFO:
		return get_sset_info(data);
	case ETHTOOL_GSTRINGS:
		return get_strings(data);
	case ETHTOOL_GSTATS:
		return get_stats(port, data);
	case ETHTOOL_GPERMADDR:
		return get_permaddr(port, data);
	case ETHTOOL_GMODULEINFO:
		return vmlx4_module_info(port, data);
	case ETHTOOL_GMODULEEEPROM:
		return vmlx4_module_eeprom(port, data);
	default:
		/* The model has no part of it. */
		return -EOPNOTSUPP;
	}
}
