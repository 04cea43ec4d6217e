/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "../profile.h"
#include "sysfs.h"

/*
 * Far above what a host hands out, so that an index of ours never names a real
 * interface by accident.
 */
#define IFINDEX_BASE 0x3d0000u

/* Bus in the high byte, device and function in the low one. */
static unsigned int
pci_number(const struct vmlx4_options *options)
{
	unsigned int bus = 0, device = 0, function = 0;

	sscanf(options->pci_address, "%*x:%x:%x.%x", &bus, &device, &function);
	return bus << 8 | device << 3 | function;
}

void
vmlx4_port_mac(const struct vmlx4_options *options, unsigned int port, uint8_t mac[6])
{
	unsigned int pci = pci_number(options);

	/* 00:02:c9 is the vendor's prefix. */
	mac[0] = 0x00;
	mac[1] = 0x02;
	mac[2] = 0xc9;
	mac[3] = pci >> 8;
	mac[4] = pci & 0xff;
	mac[5] = port;
}

uint64_t
vmlx4_node_guid(const struct vmlx4_options *options)
{
	return 0x0002c90300000000u | (uint64_t)pci_number(options) << 8;
}

static void
link_local(uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
}

/* Link-local address of an interface: EUI-64 of its MAC. */
static void
gid_of_mac(const uint8_t mac[6], uint8_t gid[16])
{
	link_local(gid);
	gid[8] = mac[0] ^ 0x02;
	gid[9] = mac[1];
	gid[10] = mac[2];
	gid[11] = 0xff;
	gid[12] = 0xfe;
	memcpy(&gid[13], &mac[3], 3);
}

static void
gid_of_guid(uint64_t guid, uint8_t gid[16])
{
	unsigned int i;

	link_local(gid);
	for (i = 0; i < 8; i++)
		gid[8 + i] = guid >> (56 - 8 * i);
}

bool
vmlx4_port_gid(const struct vmlx4_options *options, unsigned int port, const uint8_t mac[6],
	unsigned int index, uint8_t gid[16], enum vmlx4_roce *roce)
{
	/* The kernel enters an address once for each kind of RoCE that the card speaks. */
	unsigned int kinds = options->profile->roce_v2 ? 2 : 1;
	const struct vmlx4_addresses *addresses = &options->addresses[port - 1];

	*roce = VMLX4_ROCE_V1;
	if (options->infiniband[port - 1]) {
		gid_of_guid(vmlx4_node_guid(options) + port, gid);
		return index == 0;
	}
	if (index / kinds > addresses->owns)
		return false;
	if (index / kinds == 0)
		gid_of_mac(mac, gid);
	else
		memcpy(gid, addresses->own[index / kinds - 1], 16);
	if (index % kinds == 1)
		*roce = VMLX4_ROCE_V2;
	return true;
}

void
vmlx4_gid_text(const uint8_t gid[16], char text[40])
{
	unsigned int i;
	size_t used = 0;

	for (i = 0; i < 16; i += 2)
		used += snprintf(text + used, 40 - used, "%s%02x%02x", i == 0 ? "" : ":",
			gid[i], gid[i + 1]);
}

bool
vmlx4_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

void
vmlx4_ifname(unsigned int port, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "vmlx4p%u", port);
}

unsigned int
vmlx4_ifindex(unsigned int port)
{
	return IFINDEX_BASE + port;
}
