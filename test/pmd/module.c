/* SPDX-License-Identifier: BSD-3-Clause */

/* The EEPROM of the plug, whole and in parts. */

#include "harness.h"

static int
read_eeprom(uint16_t port, uint8_t *data, uint32_t offset, uint32_t length)
{
	struct rte_dev_eeprom_info info = { .data = data, .offset = offset, .length = length };

	return rte_eth_dev_get_module_eeprom(port, &info);
}

static void
check_module(uint32_t type, uint32_t length, uint8_t id, unsigned int vendor_at)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_eth_dev_module_info info = { 0 };
	uint8_t whole[1024], part[1024];
	uint16_t port = port_up(0, &conf);
	uint32_t at;

	CHECK_OK(rte_eth_dev_get_module_info(port, &info));
	CHECK_EQ(info.type, type);
	CHECK_EQ(info.eeprom_len, length);
	memset(whole, 0xaa, sizeof(whole));
	CHECK_OK(read_eeprom(port, whole, 0, length));
	CHECK_EQ(whole[0], id);
	CHECK(memcmp(whole + vendor_at, "vmlx4           ", 16) == 0);
	/* Not a byte more than asked for. */
	CHECK_EQ(whole[length], 0xaa);
	for (at = 0; at < length; at += 37) {
		uint32_t n = RTE_MIN(37u, length - at);

		CHECK_OK(read_eeprom(port, part, at, n));
		CHECK(memcmp(part, whole + at, n) == 0);
	}
	CHECK_EQ(read_eeprom(port, part, 0, length + 1), -EINVAL);
	CHECK_EQ(read_eeprom(port, part, length, 1), -EINVAL);
	CHECK_EQ(read_eeprom(port, part, 1, length), -EINVAL);
	CHECK_EQ(read_eeprom(port, part, UINT32_MAX, 2), -EINVAL);
	CHECK_EQ(read_eeprom(port, part, 1, UINT32_MAX), -EINVAL);
	CHECK_EQ(read_eeprom(port, part, 0, 0), -EINVAL);
	CHECK_EQ(read_eeprom(port, NULL, 0, 1), -EINVAL);
	check_traffic(port);
}

TEST(module_eeprom_of_a_qsfp)
{
	check_module(RTE_ETH_MODULE_SFF_8636, RTE_ETH_MODULE_SFF_8636_LEN, 0x0d, 148);
}

TEST(module_eeprom_of_an_sfp)
{
	check_module(RTE_ETH_MODULE_SFF_8472, RTE_ETH_MODULE_SFF_8472_LEN, 0x03, 20);
}

/* No plug, or a virtual function, which may not ask. */
TEST(module_eeprom_of_none)
{
	struct rte_eth_dev_module_info info;
	uint16_t port = port_open(0);
	uint8_t data[16];

	CHECK_EQ(rte_eth_dev_get_module_info(port, &info), -EIO);
	CHECK_EQ(read_eeprom(port, data, 0, sizeof(data)), -EIO);
}
