/* SPDX-License-Identifier: BSD-3-Clause */

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "../adapter.h"
#include "../hca/hca.h"
#include "../sysfs/route.h"
#include "next.h"

/* getifaddrs() with the interfaces of the ports, before those that the kernel has. */

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	struct sockaddr_ll link;
};

struct entry {
	struct ifaddrs ifa; /* first: that is what the program gets */
	char name[IFNAMSIZ];
	union address address, mask;
};

/* One call's entries; kernels is the list that libc made, behind them. */
struct block {
	LIST_ENTRY(block) next;
	struct ifaddrs *kernels;
	unsigned int count;
	struct entry entries[];
};

static LIST_HEAD(, block) blocks = LIST_HEAD_INITIALIZER(blocks);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *
entry_add(struct block *block, const struct vmlx4_port *port)
{
	struct entry *entry = &block->entries[block->count++];

	memcpy(entry->name, port->netdev.name, sizeof(entry->name));
	entry->ifa.ifa_name = entry->name;
	entry->ifa.ifa_flags = vmlx4_netdev_flags(port);
	entry->ifa.ifa_addr = &entry->address.any;
	return entry;
}

static void
add_link(struct block *block, const struct vmlx4_port *port)
{
	struct entry *entry = entry_add(block, port);

	entry->address.link.sll_family = AF_PACKET;
	entry->address.link.sll_ifindex = (int)port->netdev.ifindex;
	entry->address.link.sll_hatype = ARPHRD_ETHER;
	entry->address.link.sll_halen = ETH_ALEN;
	memcpy(entry->address.link.sll_addr, port->netdev.mac, ETH_ALEN);
}

static void
add_address(struct block *block, const struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE])
{
	struct entry *entry = entry_add(block, port);
	const uint8_t *address;

	if (vmlx4_address_of_gid(gid, &address) == 4) {
		entry->address.ipv4.sin_family = AF_INET;
		memcpy(&entry->address.ipv4.sin_addr, address, 4);
		entry->mask.ipv4.sin_family = AF_INET;
		entry->mask.ipv4.sin_addr.s_addr = htonl(0xffffff00);
	} else {
		entry->address.ipv6.sin6_family = AF_INET6;
		memcpy(&entry->address.ipv6.sin6_addr, address, 16);
		if (gid[0] == 0xfe)
			entry->address.ipv6.sin6_scope_id = port->netdev.ifindex;
		entry->mask.ipv6.sin6_family = AF_INET6;
		memset(&entry->mask.ipv6.sin6_addr, 0xff, 8);
	}
	entry->ifa.ifa_netmask = &entry->mask.any;
}

static void
add_port(struct block *block, const struct vmlx4_port *port)
{
	uint8_t gid[VMLX4_GID_SIZE];
	enum vmlx4_roce roce;
	unsigned int i;

	if (port->infiniband)
		return;
	add_link(block, port);
	/* Each address is a GID of version 1, and may be one of version 2 as well. */
	for (i = 0; vmlx4_gid_get(port, i, gid, &roce); i++)
		if (roce == VMLX4_ROCE_V1)
			add_address(block, port, gid);
}

static struct block *
block_new(struct vmlx4_adapter *adapter)
{
	size_t most = adapter->options.ports * (2 + VMLX4_ADDRESSES_MAX);
	struct block *block = calloc(1, sizeof(*block) + most * sizeof(block->entries[0]));
	unsigned int i;

	if (block == NULL)
		return NULL;
	vmlx4_lock(adapter);
	for (i = 0; i < adapter->options.ports && !vmlx4_away(adapter); i++)
		add_port(block, &adapter->ports[i]);
	vmlx4_unlock(adapter);
	return block;
}

VMLX4_API int
getifaddrs(struct ifaddrs **list)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	struct block *block;
	unsigned int i;

	if (NEXT(getifaddrs)(list) < 0)
		return -1;
	block = adapter != NULL ? block_new(adapter) : NULL;
	if (block == NULL || block->count == 0) {
		free(block);
		return 0;
	}
	block->kernels = *list;
	for (i = 0; i < block->count; i++)
		block->entries[i].ifa.ifa_next = i + 1 < block->count ?
			&block->entries[i + 1].ifa : *list;
	*list = &block->entries[0].ifa;
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&blocks, block, next);
	pthread_mutex_unlock(&lock);
	return 0;
}

VMLX4_API void
freeifaddrs(struct ifaddrs *list)
{
	struct block *block;

	pthread_mutex_lock(&lock);
	LIST_FOREACH(block, &blocks, next)
		if (&block->entries[0].ifa == list)
			break;
	if (block != NULL)
		LIST_REMOVE(block, next);
	pthread_mutex_unlock(&lock);
	if (block != NULL)
		list = block->kernels;
	free(block);
	NEXT(freeifaddrs)(list);
}
