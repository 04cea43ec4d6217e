/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef NFV_NAT_TABLE_H_
#define NFV_NAT_TABLE_H_

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

/*
 * Who has which port of the outside address. Inside, a packet's address and port
 * (of ICMP: the identifier) are looked up in an rte_hash; outside, a port is an
 * index. Ports go round: the one that is free for longest comes next. Times are
 * whatever clock the caller has, as long as it is one.
 */

struct nat_key {
	uint32_t address;
	uint16_t port;
	uint8_t proto; /* enum nat_proto */
	uint8_t zero;
};

struct nat_table;

/* timeout: in units of the clock, of each protocol. NULL, and rte_errno. */
struct nat_table *nat_table_create(struct port_range ports,
	const uint64_t timeout[NAT_PROTOS]);
void nat_table_free(struct nat_table *table);

/* The port outside of a key, which gets one if it has none; -1: all are taken. */
int nat_table_out(struct nat_table *table, const struct nat_key *key, uint64_t now);

/* The key inside of a port outside; NULL: nobody has it. */
const struct nat_key *nat_table_in(struct nat_table *table, enum nat_proto proto, uint16_t port,
	uint64_t now);

/* Forget what has timed out among the next so many entries; how many that were. */
unsigned int nat_table_age(struct nat_table *table, unsigned int entries, uint64_t now);

unsigned int nat_table_used(const struct nat_table *table);

#endif /* NFV_NAT_TABLE_H_ */
