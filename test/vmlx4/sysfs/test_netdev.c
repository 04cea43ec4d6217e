/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>

#include "../wire/mock.h"
#include "sysfs/sysfs.h"

static struct vmlx4_port *port;

/* An ioctl that must be ours; what it returns. */
static int
request(unsigned long number, struct ifreq *ifr)
{
	int handled = 0, ret;

	strcpy(ifr->ifr_name, "vmlx4p2");
	ret = vmlx4_netdev_ioctl(&mock_adapter, number, ifr, &handled);
	assert_int_equal(handled, 1);
	assert_int_equal(mock_adapter.lock_waiters, 0);
	return ret;
}

static int
ethtool(void *data)
{
	struct ifreq ifr = { .ifr_data = data };

	return request(SIOCETHTOOL, &ifr);
}

/* ethtool_cmd_speed() shifts into the sign bit of an int. */
static uint32_t
speed(const struct ethtool_cmd *cmd)
{
	return (uint32_t)cmd->speed_hi << 16 | cmd->speed;
}

static void
leaves_others_to_the_kernel(void **state)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int handled = 1;

	(void)state;
	assert_int_equal(vmlx4_netdev_ioctl(&mock_adapter, SIOCGIFFLAGS, &ifr, &handled), 0);
	assert_int_equal(handled, 0);
	handled = 1;
	vmlx4_netdev_ioctl(NULL, SIOCGIFFLAGS, &ifr, &handled);
	assert_int_equal(handled, 0);
	/* A request whose argument is no ifreq must not be looked into. */
	handled = 1;
	vmlx4_netdev_ioctl(&mock_adapter, FIONREAD, (void *)8, &handled);
	assert_int_equal(handled, 0);
}

static void
names_and_indices(void **state)
{
	struct ifreq ifr = { .ifr_ifindex = 0 };
	unsigned int index = vmlx4_netdev_nametoindex(&mock_adapter, "vmlx4p2");
	char name[IFNAMSIZ];
	int handled = 0;

	(void)state;
	assert_int_not_equal(index, 0);
	assert_int_not_equal(index, vmlx4_netdev_nametoindex(&mock_adapter, "vmlx4p1"));
	assert_int_equal(vmlx4_netdev_nametoindex(&mock_adapter, "lo"), 0);
	assert_int_equal(vmlx4_netdev_nametoindex(&mock_adapter, ""), 0);
	assert_int_equal(vmlx4_netdev_nametoindex(NULL, "vmlx4p2"), 0);
	assert_string_equal(vmlx4_netdev_indextoname(&mock_adapter, index, name), "vmlx4p2");
	assert_null(vmlx4_netdev_indextoname(&mock_adapter, 1, name));
	assert_int_equal(request(SIOCGIFINDEX, &ifr), 0);
	assert_int_equal(ifr.ifr_ifindex, index);
	memset(&ifr, 0, sizeof(ifr));
	ifr.ifr_ifindex = index;
	assert_int_equal(vmlx4_netdev_ioctl(&mock_adapter, SIOCGIFNAME, &ifr, &handled), 0);
	assert_int_equal(handled, 1);
	assert_string_equal(ifr.ifr_name, "vmlx4p2");
}

static void
address(void **state)
{
	struct ifreq ifr = { .ifr_flags = 0 };

	(void)state;
	assert_int_equal(request(SIOCGIFHWADDR, &ifr), 0);
	assert_int_equal(ifr.ifr_hwaddr.sa_family, ARPHRD_ETHER);
	assert_memory_equal(ifr.ifr_hwaddr.sa_data, "\x00\x02\xc9\x05\x00\x02", 6);
	memcpy(ifr.ifr_hwaddr.sa_data, "\x02\1\2\3\4\5", 6);
	assert_int_equal(request(SIOCSIFHWADDR, &ifr), 0);
	assert_memory_equal(port->netdev.mac, "\x02\1\2\3\4\5", 6);
	memcpy(ifr.ifr_hwaddr.sa_data, "\x03\1\2\3\4\5", 6);
	assert_int_equal(request(SIOCSIFHWADDR, &ifr), -EADDRNOTAVAIL);
	memset(ifr.ifr_hwaddr.sa_data, 0, 6);
	assert_int_equal(request(SIOCSIFHWADDR, &ifr), -EADDRNOTAVAIL);
	assert_memory_equal(port->netdev.mac, "\x02\1\2\3\4\5", 6);
}

static void
mtu(void **state)
{
	static const struct { int mtu, ret; } cases[] = {
		{ 45, -EINVAL }, { 46, 0 }, { 9000, 0 }, { 9900, 0 }, { 9901, -EINVAL },
		{ -1, -EINVAL },
	};
	struct ifreq ifr = { .ifr_flags = 0 };
	unsigned int i;
	int last = 1500;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ifr.ifr_mtu = cases[i].mtu;
		assert_int_equal(request(SIOCSIFMTU, &ifr), cases[i].ret);
		if (cases[i].ret == 0)
			last = cases[i].mtu;
		assert_int_equal(request(SIOCGIFMTU, &ifr), 0);
		assert_int_equal(ifr.ifr_mtu, last);
	}
}

static void
flags_and_link(void **state)
{
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	struct ifreq ifr = { .ifr_flags = 0 };

	(void)state;
	assert_int_equal(request(SIOCGIFFLAGS, &ifr), 0);
	assert_int_equal(ifr.ifr_flags, IFF_UP | IFF_RUNNING | IFF_BROADCAST | IFF_MULTICAST);
	assert_int_equal(ethtool(&link), 0);
	assert_int_equal(link.data, 1);
	assert_int_equal(ethtool(&settings), 0);
	assert_int_equal(speed(&settings), 40000);
	assert_int_equal(settings.duplex, DUPLEX_FULL);

	/* Down; and what the user may not switch stays. */
	ifr.ifr_flags = IFF_PROMISC | IFF_LOOPBACK;
	assert_int_equal(request(SIOCSIFFLAGS, &ifr), 0);
	assert_int_equal(mock_updates, 1);
	assert_int_equal(request(SIOCGIFFLAGS, &ifr), 0);
	assert_int_equal(ifr.ifr_flags, IFF_PROMISC | IFF_BROADCAST | IFF_MULTICAST);
	assert_int_equal(ethtool(&link), 0);
	assert_int_equal(link.data, 0);
	settings.cmd = ETHTOOL_GSET;
	assert_int_equal(ethtool(&settings), 0);
	assert_int_equal(speed(&settings), (uint32_t)SPEED_UNKNOWN);

	/* Up without a cable is not running. */
	port->carrier = false;
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(request(SIOCSIFFLAGS, &ifr), 0);
	assert_int_equal(request(SIOCGIFFLAGS, &ifr), 0);
	assert_int_equal(ifr.ifr_flags & (IFF_UP | IFF_RUNNING), IFF_UP);
}

static void
link_settings_handshake(void **state)
{
	size_t size = sizeof(struct ethtool_link_settings) + 3 * 8 * sizeof(uint32_t);
	struct ethtool_link_settings *link = calloc(1, size);
	int words;

	(void)state;
	assert_non_null(link);
	link->cmd = ETHTOOL_GLINKSETTINGS;
	assert_int_equal(ethtool(link), 0);
	words = -link->link_mode_masks_nwords;
	assert_in_range(words, 1, 7);
	assert_int_equal(link->cmd, ETHTOOL_GLINKSETTINGS);
	memset(link, 0xff, size);
	link->cmd = ETHTOOL_GLINKSETTINGS;
	link->link_mode_masks_nwords = words;
	assert_int_equal(ethtool(link), 0);
	assert_int_equal(link->link_mode_masks_nwords, words);
	assert_int_equal(link->speed, 40000);
	assert_int_equal(link->link_mode_masks[0] >>
		ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT & 1, 1);
	assert_int_equal(link->link_mode_masks[1], 0);
	/* No word behind the masks is touched. */
	assert_int_equal(link->link_mode_masks[3 * words], 0xffffffff);
	free(link);
}

static void
pause_frames(void **state)
{
	struct ethtool_pauseparam pause = { .cmd = ETHTOOL_GPAUSEPARAM };

	(void)state;
	assert_int_equal(ethtool(&pause), 0);
	assert_int_equal(pause.autoneg, 0);
	assert_int_equal(pause.rx_pause, 1);
	pause = (struct ethtool_pauseparam) { .cmd = ETHTOOL_SPAUSEPARAM, .tx_pause = 1 };
	assert_int_equal(ethtool(&pause), 0);
	pause.cmd = ETHTOOL_GPAUSEPARAM;
	assert_int_equal(ethtool(&pause), 0);
	assert_int_equal(pause.rx_pause, 0);
	assert_int_equal(pause.tx_pause, 1);
	pause.cmd = ETHTOOL_SPAUSEPARAM;
	pause.autoneg = 1;
	assert_int_equal(ethtool(&pause), -EINVAL);
}

static uint64_t
stat_value(const char *name)
{
	struct ethtool_sset_info *sset = calloc(1, sizeof(*sset) + sizeof(uint32_t));
	struct ethtool_gstrings *strings;
	struct ethtool_stats *stats;
	uint64_t value = UINT64_MAX;
	unsigned int i, count;

	assert_non_null(sset);
	sset->cmd = ETHTOOL_GSSET_INFO;
	sset->sset_mask = 1 << ETH_SS_STATS;
	assert_int_equal(ethtool(sset), 0);
	assert_int_equal(sset->sset_mask, 1 << ETH_SS_STATS);
	count = sset->data[0];
	free(sset);
	assert_in_range(count, 10, 100);
	strings = calloc(1, sizeof(*strings) + count * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + count * sizeof(stats->data[0]));
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_STATS;
	stats->cmd = ETHTOOL_GSTATS;
	assert_int_equal(ethtool(strings), 0);
	assert_int_equal(ethtool(stats), 0);
	assert_int_equal(strings->len, count);
	assert_int_equal(stats->n_stats, count);
	for (i = 0; i < count; i++)
		if (strcmp((char *)strings->data + i * ETH_GSTRING_LEN, name) == 0)
			value = stats->data[i];
	free(strings);
	free(stats);
	return value;
}

static void
statistics(void **state)
{
	(void)state;
	port->stats = (struct vmlx4_port_stats) {
		.rx_frames = 11, .rx_bytes = 1100, .tx_frames = 7, .tx_bytes = 700,
		.rx_no_wqe = 5, .rx_multicast = 3, .rx_oversize = 2, .tx_wire_drops = 4,
		.tx_link_down = 10, .rx_runt = 20, .rx_no_rule = 40, .rx_crc_errors = 80,
		.rx_pause = 6, .tx_pause = 8, .rx_broadcast = 1, .tx_lso = 9, .tx_loopback = 12,
	};
	assert_int_equal(stat_value("rx_packets"), 11);
	assert_int_equal(stat_value("rx_bytes"), 1100);
	assert_int_equal(stat_value("tx_packets"), 7);
	assert_int_equal(stat_value("tx_bytes"), 700);
	assert_int_equal(stat_value("rx_missed_errors"), 5);
	assert_int_equal(stat_value("multicast"), 3);
	assert_int_equal(stat_value("rx_length_errors"), 22);
	assert_int_equal(stat_value("tx_dropped"), 14);
	assert_int_equal(stat_value("tx_carrier_errors"), 14);
	assert_int_equal(stat_value("rx_dropped"), 45);
	assert_int_equal(stat_value("rx_errors"), 102);
	assert_int_equal(stat_value("rx_pause"), 6);
	assert_int_equal(stat_value("tx_pause"), 8);
	assert_int_equal(stat_value("tso_packets"), 9);
	assert_int_equal(stat_value("rx_broadcast_packets"), 1);
	/* Each reason by itself. */
	assert_int_equal(stat_value("vmlx4_rx_no_rule"), 40);
	assert_int_equal(stat_value("vmlx4_rx_no_wqe"), 5);
	assert_int_equal(stat_value("vmlx4_rx_crc_errors"), 80);
	assert_int_equal(stat_value("vmlx4_tx_link_down"), 10);
	assert_int_equal(stat_value("vmlx4_tx_loopback"), 12);
	assert_true(stat_value("no such") == UINT64_MAX);
}

static void
driver_and_strings(void **state)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings strings = { .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_TEST };

	(void)state;
	assert_int_equal(ethtool(&info), 0);
	assert_string_equal(info.driver, "mlx4_en");
	assert_string_equal(info.bus_info, "0000:05:00.0");
	assert_string_equal(info.fw_version, "2.42.5000");
	assert_int_equal(ethtool(&strings), -EOPNOTSUPP);
}

static uint8_t
sum(const uint8_t *bytes, unsigned int first, unsigned int last)
{
	uint8_t total = 0;

	for (; first <= last; first++)
		total += bytes[first];
	return total;
}

static void
plug(void **state)
{
	union {
		struct ethtool_eeprom request;
		uint8_t all[sizeof(struct ethtool_eeprom) + 512];
	} eeprom = { .request = { .cmd = ETHTOOL_GMODULEEEPROM } };
	const uint8_t *data = eeprom.all + sizeof(struct ethtool_eeprom);
	struct ethtool_modinfo module = { .cmd = ETHTOOL_GMODULEINFO };

	(void)state;
	assert_int_equal(ethtool(&module), 0);
	assert_int_equal(module.type, ETH_MODULE_SFF_8636);
	assert_int_equal(module.eeprom_len, 256);
	assert_int_equal(ethtool(&eeprom), -EINVAL);
	eeprom.request.len = 256;
	assert_int_equal(ethtool(&eeprom), 0);
	assert_int_equal(data[0], 0x0d);
	assert_int_equal(sum(data, 128, 190), data[191]);
	assert_int_equal(sum(data, 192, 222), data[223]);
	eeprom.request.offset = 1;
	assert_int_equal(ethtool(&eeprom), -EINVAL);
	eeprom.request.offset = UINT32_MAX;
	assert_int_equal(ethtool(&eeprom), -EINVAL);
	mock_adapter.options.module = VMLX4_MODULE_SFP;
	eeprom.request.offset = 0;
	eeprom.request.len = 512;
	assert_int_equal(ethtool(&module), 0);
	assert_int_equal(module.type, ETH_MODULE_SFF_8472);
	assert_int_equal(ethtool(&eeprom), 0);
	assert_int_equal(data[0], 0x03);
	assert_int_equal(sum(data, 0, 62), data[63]);
	assert_int_equal(sum(data, 64, 94), data[95]);
	mock_adapter.options.module = VMLX4_MODULE_NONE;
	assert_int_equal(ethtool(&module), -EIO);
	assert_int_equal(ethtool(&eeprom), -EIO);
	mock_adapter.options.module = VMLX4_MODULE_DEFAULT;
}

static void
keeps_the_tree_up_to_date(void **state)
{
	char error[256], root[] = "/tmp/vmlx4-netdev-XXXXXX", path[PATH_MAX], line[64];
	struct ifreq ifr = { .ifr_mtu = 46 };
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(root));
	strcpy(mock_adapter.options.sysfs, root);
	mock_adapter.options.mtu = 9000;
	assert_int_equal(vmlx4_sysfs_build(&mock_adapter.options, root, error, sizeof(error)), 0);
	assert_int_equal(request(SIOCSIFMTU, &ifr), 0);
	ifr.ifr_flags = 0;
	assert_int_equal(request(SIOCSIFFLAGS, &ifr), 0);

	snprintf(path, sizeof(path), "%s/class/net/vmlx4p2/mtu", root);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "46\n");
	fclose(file);
	snprintf(path, sizeof(path), "%s/class/net/vmlx4p2/operstate", root);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "down\n");
	fclose(file);
	assert_int_equal(vmlx4_sysfs_remove(root), 0);
}

static int
set_up(void **state)
{
	unsigned int i;

	(void)state;
	mock_reset("");
	for (i = 0; i < 2; i++)
		vmlx4_netdev_init(&mock_adapter.ports[i]);
	port = &mock_adapter.ports[1];
	return 0;
}

#define NETDEV_TEST(name) cmocka_unit_test_setup(name, set_up)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		NETDEV_TEST(leaves_others_to_the_kernel),
		NETDEV_TEST(names_and_indices),
		NETDEV_TEST(address),
		NETDEV_TEST(mtu),
		NETDEV_TEST(flags_and_link),
		NETDEV_TEST(link_settings_handshake),
		NETDEV_TEST(pause_frames),
		NETDEV_TEST(statistics),
		NETDEV_TEST(driver_and_strings),
		NETDEV_TEST(plug),
		NETDEV_TEST(keeps_the_tree_up_to_date),
	};

	return cmocka_run_group_tests_name("netdev", tests, NULL, NULL);
}
