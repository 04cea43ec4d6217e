/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "nat_table.h"

struct entry {
	struct nat_key key;
	uint64_t expires;
	bool used;
};

/* Free ports of a protocol, oldest first: a ring of as many places as there are ports. */
struct free_ports {
	uint16_t *port;
	uint32_t head, count;
};

struct nat_table {
	struct rte_hash *by_key;   /* to the entry's index */
	uint16_t first;
	uint32_t ports;            /* of each protocol */
	uint32_t next;             /* to be looked at for its age */
	unsigned int used;
	uint64_t timeout[NAT_PROTOS];
	struct free_ports free[NAT_PROTOS];
	struct entry *entries;     /* [proto][port - first] */
};

static struct entry *
entry_of(const struct nat_table *table, unsigned int proto, uint16_t port)
{
	return &table->entries[proto * table->ports + (port - table->first)];
}

static uint16_t
port_take(struct nat_table *table, unsigned int proto)
{
	struct free_ports *free_ports = &table->free[proto];
	uint16_t port = free_ports->port[free_ports->head];

	free_ports->head = (free_ports->head + 1) % table->ports;
	free_ports->count--;
	return port;
}

static void
port_give(struct nat_table *table, unsigned int proto, uint16_t port)
{
	struct free_ports *free_ports = &table->free[proto];

	free_ports->port[(free_ports->head + free_ports->count) % table->ports] = port;
	free_ports->count++;
}

struct nat_table *
nat_table_create(struct port_range ports, const uint64_t timeout[NAT_PROTOS])
{
	uint32_t n = (uint32_t)ports.last - ports.first + 1, i, proto;
	struct rte_hash_parameters hash = {
		.name = "nfv_nat",
		/* With overflow buckets a full table takes all of them. */
		.entries = RTE_MAX(NAT_PROTOS * n, 64u),
		.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
		.key_len = sizeof(struct nat_key),
		.hash_func = rte_hash_crc,
		.socket_id = (int)rte_socket_id(),
	};
	struct nat_table *table = rte_zmalloc("nat", sizeof(*table), 0);

	if (table == NULL)
		goto no_memory;
	table->first = ports.first;
	table->ports = n;
	memcpy(table->timeout, timeout, sizeof(table->timeout));
	table->entries = rte_zmalloc("nat", NAT_PROTOS * n * sizeof(*table->entries), 0);
	if (table->entries == NULL)
		goto no_memory;
	for (proto = 0; proto < NAT_PROTOS; proto++) {
		table->free[proto].port = rte_zmalloc("nat", n * sizeof(uint16_t), 0);
		if (table->free[proto].port == NULL)
			goto no_memory;
		for (i = 0; i < n; i++)
			port_give(table, proto, (uint16_t)(ports.first + i));
	}
	table->by_key = rte_hash_create(&hash);
	if (table->by_key != NULL)
		return table;
	nat_table_free(table);
	return NULL;
no_memory:
	nat_table_free(table);
	rte_errno = ENOMEM;
	return NULL;
}

void
nat_table_free(struct nat_table *table)
{
	unsigned int proto;

	if (table == NULL)
		return;
	rte_hash_free(table->by_key);
	for (proto = 0; proto < NAT_PROTOS; proto++)
		rte_free(table->free[proto].port);
	rte_free(table->entries);
	rte_free(table);
}

int
nat_table_out(struct nat_table *table, const struct nat_key *key, uint64_t now)
{
	struct entry *entry;
	void *data;
	uint16_t port;

	if (rte_hash_lookup_data(table->by_key, key, &data) >= 0) {
		entry = &table->entries[(uintptr_t)data];
		entry->expires = now + table->timeout[key->proto];
		return table->first + (int)((uintptr_t)data % table->ports);
	}
	if (table->free[key->proto].count == 0)
		return -1;
	port = port_take(table, key->proto);
	entry = entry_of(table, key->proto, port);
	if (rte_hash_add_key_data(table->by_key, key,
			(void *)(uintptr_t)(entry - table->entries)) != 0) {
		port_give(table, key->proto, port);
		return -1;
	}
	*entry = (struct entry){ *key, now + table->timeout[key->proto], true };
	table->used++;
	return port;
}

const struct nat_key *
nat_table_in(struct nat_table *table, enum nat_proto proto, uint16_t port, uint64_t now)
{
	struct entry *entry;

	if (port < table->first || port >= table->first + table->ports)
		return NULL;
	entry = entry_of(table, proto, port);
	if (!entry->used || entry->expires <= now)
		return NULL;
	entry->expires = now + table->timeout[proto];
	return &entry->key;
}

unsigned int
nat_table_age(struct nat_table *table, unsigned int entries, uint64_t now)
{
	unsigned int aged = 0;

	for (; entries > 0 && table->used > 0; entries--) {
		struct entry *entry = &table->entries[table->next];

		if (entry->used && entry->expires <= now) {
			rte_hash_del_key(table->by_key, &entry->key);
			port_give(table, entry->key.proto,
				(uint16_t)(table->first + table->next % table->ports));
			entry->used = false;
			table->used--;
			aged++;
		}
		table->next = (table->next + 1) % (NAT_PROTOS * table->ports);
	}
	return aged;
}

unsigned int
nat_table_used(const struct nat_table *table)
{
	return table->used;
}
