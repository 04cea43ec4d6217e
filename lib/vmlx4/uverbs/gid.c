/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <string.h>

#include "../sysfs/sysfs.h"
#include "uverbs.h"

/*
 * The GIDs of a port, and where a GID lies: on Ethernet a GID is an IP address, of
 * the port's interface or of a neighbour on its network.
 */

bool
vmlx4_gid_get(const struct vmlx4_port *port, unsigned int index, uint8_t gid[VMLX4_GID_SIZE],
	enum vmlx4_roce *roce)
{
	return vmlx4_port_gid(&port->adapter->options, port->number, port->netdev.mac, index,
		gid, roce);
}

int
vmlx4_gid_find(const struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	enum vmlx4_roce roce)
{
	uint8_t entry[VMLX4_GID_SIZE];
	enum vmlx4_roce kind;
	unsigned int i;

	for (i = 0; vmlx4_gid_get(port, i, entry, &kind); i++)
		if (kind == roce && memcmp(entry, gid, VMLX4_GID_SIZE) == 0)
			return (int)i;
	return -1;
}

/* Addresses that the MAC follows from: groups, and link-local ones. */
static bool
mac_of_gid(const uint8_t gid[VMLX4_GID_SIZE], uint8_t mac[6])
{
	static const uint8_t link_local[8] = { 0xfe, 0x80 };

	if (gid[0] == 0xff) {
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, gid + 12, 4);
	} else if (vmlx4_gid_is_ipv4(gid) && (gid[12] & 0xf0) == 0xe0) {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = gid[13] & 0x7f;
		memcpy(mac + 4, gid + 14, 2);
	} else if (memcmp(gid, link_local, sizeof(link_local)) == 0) {
		mac[0] = gid[8] ^ 0x02;
		memcpy(mac + 1, gid + 9, 2);
		memcpy(mac + 3, gid + 13, 3);
	} else {
		return false;
	}
	return true;
}

int
vmlx4_gid_resolve(const struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	uint8_t mac[6])
{
	const struct vmlx4_adapter *adapter = port->adapter;
	const struct vmlx4_addresses *known = &adapter->options.addresses[port->number - 1];
	unsigned int i;

	if (mac_of_gid(gid, mac))
		return 0;
	for (i = 0; i < adapter->options.ports; i++) {
		const struct vmlx4_port *own = &adapter->ports[i];

		if (!own->infiniband && vmlx4_gid_find(own, gid, VMLX4_ROCE_V1) >= 0) {
			memcpy(mac, own->netdev.mac, 6);
			return 0;
		}
	}
	for (i = 0; i < known->neighbours; i++) {
		if (memcmp(known->neighbour[i].gid, gid, VMLX4_GID_SIZE) == 0) {
			memcpy(mac, known->neighbour[i].mac, 6);
			return 0;
		}
	}
	return -EHOSTUNREACH;
}
