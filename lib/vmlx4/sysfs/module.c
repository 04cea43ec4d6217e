/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The plug at the end of the cable, as "ethtool -m" shows it: a passive copper cable of
 * one metre, SFP+ (SFF-8472) or QSFP+ (SFF-8636). Sources: mlx4_en's ethtool operations
 * for types, lengths and errors; the SFF documents for what the bytes mean.
 */

#include <errno.h>
#include <string.h>

#include <linux/ethtool.h>

#include "../hca/hca.h"
#include "../profile.h"
#include "sysfs.h"

#define QSFP_SPEED 40000 /* Mb/s; slower ports have SFP+ cages */
#define PART_ID_VF 0x1004

static bool
is_qsfp(const struct vmlx4_adapter *adapter)
{
	if (adapter->options.module == VMLX4_MODULE_DEFAULT)
		return adapter->profile->speed_mbps >= QSFP_SPEED;
	return adapter->options.module == VMLX4_MODULE_QSFP;
}

/* A virtual function may not ask the firmware for it. */
static bool
can_be_read(const struct vmlx4_adapter *adapter)
{
	return adapter->options.module != VMLX4_MODULE_NONE &&
		adapter->profile->part_id != PART_ID_VF;
}

/* Text fields are padded with spaces. */
static void
put_text(uint8_t *rom, unsigned int at, unsigned int size, const char *text)
{
	memset(rom + at, ' ', size);
	memcpy(rom + at, text, strlen(text));
}

/* The low byte of the sum of [first, last] lies behind it. */
static void
put_checksum(uint8_t *rom, unsigned int first, unsigned int last)
{
	unsigned int i;

	rom[last + 1] = 0;
	for (i = first; i <= last; i++)
		rom[last + 1] += rom[i];
}

static void
fill_sfp(uint8_t *rom, unsigned int port)
{
	rom[0] = 0x03;            /* SFP */
	rom[1] = 0x04;            /* identified by this memory alone */
	rom[2] = 0x21;            /* copper pigtail */
	rom[8] = 0x04;            /* passive cable */
	rom[12] = 103;            /* 10.3 Gb/s */
	rom[18] = 1;              /* metre */
	put_text(rom, 20, 16, "vmlx4");
	put_text(rom, 40, 16, "SFP-VIRTUAL");
	put_text(rom, 56, 4, "A1");
	put_text(rom, 68, 16, port == 1 ? "VMLX4SFP1" : "VMLX4SFP2");
	put_checksum(rom, 0, 62);
	put_checksum(rom, 64, 94);
	/* The other page, of diagnostics, does not answer: mlx4_en leaves it zero. */
}

static void
fill_qsfp(uint8_t *rom, unsigned int port)
{
	rom[0] = rom[128] = 0x0d; /* QSFP+ */
	rom[1] = 0x03;            /* revision: makes it SFF-8636 and not 8436 */
	rom[2] = 0x04;            /* no pages behind page 0 */
	rom[130] = 0x23;          /* no separable connector */
	rom[131] = 0x08;          /* 40GBASE-CR4 */
	rom[140] = 103;           /* 10.3 Gb/s a lane */
	rom[146] = 1;             /* metre */
	rom[147] = 0xa0;          /* copper, unequalized */
	put_text(rom, 148, 16, "vmlx4");
	put_text(rom, 168, 16, "QSFP-VIRTUAL");
	put_text(rom, 184, 2, "A1");
	put_text(rom, 196, 16, port == 1 ? "VMLX4QSFP1" : "VMLX4QSFP2");
	put_checksum(rom, 128, 190);
	put_checksum(rom, 192, 222);
}

int
vmlx4_module_info(const struct vmlx4_port *port, struct ethtool_modinfo *info)
{
	if (!can_be_read(port->adapter))
		return -EIO;
	info->type = is_qsfp(port->adapter) ? ETH_MODULE_SFF_8636 : ETH_MODULE_SFF_8472;
	info->eeprom_len = is_qsfp(port->adapter) ? ETH_MODULE_SFF_8636_LEN :
		ETH_MODULE_SFF_8472_LEN;
	return 0;
}

int
vmlx4_module_eeprom(const struct vmlx4_port *port, struct ethtool_eeprom *eeprom)
{
	uint8_t rom[ETH_MODULE_SFF_8472_LEN] = { 0 };
	struct ethtool_modinfo info;
	int ret = vmlx4_module_info(port, &info);

	if (ret != 0)
		return ret;
	/* As the kernel checks it for all drivers. */
	if (eeprom->offset + eeprom->len <= eeprom->offset ||
	    eeprom->offset + eeprom->len > info.eeprom_len)
		return -EINVAL;
	if (is_qsfp(port->adapter))
		fill_qsfp(rom, port->number);
	else
		fill_sfp(rom, port->number);
	memcpy(eeprom->data, rom + eeprom->offset, eeprom->len);
	return 0;
}
