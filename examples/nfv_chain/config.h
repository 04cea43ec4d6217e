/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef NFV_CONFIG_H_
#define NFV_CONFIG_H_

/* What the file says: plain data without a pointer, so that processes can share it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ether.h>

#define PORTS_MAX 16u       /* ethdevs are numbered below this */
#define RULES_MAX 1024u
#define NEIGHBOURS_MAX 1024u
#define ROUTES_MAX 1024u

/* What NAT has a table, a range of ports and a timeout for. */
enum nat_proto { NAT_TCP, NAT_UDP, NAT_ICMP, NAT_PROTOS };

struct prefix {
	uint32_t address;   /* host byte order, as all addresses here */
	uint8_t depth;      /* bits that count: 0 to 32 */
};

struct port_range {
	uint16_t first, last;
};

struct config_port {
	unsigned int line;  /* of the file; 0: the port is not ours */
	bool outside;
	struct prefix subnet;
	uint32_t address;   /* the chain's own */
};

struct config_rule {
	unsigned int line;
	bool permit;
	uint8_t proto, proto_mask;
	struct prefix src, dst;
	struct port_range sport, dport;
};

struct config_neighbour {
	unsigned int line;
	uint16_t port;
	uint32_t address;
	struct rte_ether_addr mac;
};

struct config_route {
	unsigned int line;
	struct prefix to;
	uint32_t via;
	unsigned int neighbour; /* index of the one with that address */
};

struct config {
	char file[256];
	struct config_port ports[PORTS_MAX];
	struct config_rule rules[RULES_MAX];
	struct config_neighbour neighbours[NEIGHBOURS_MAX];
	struct config_route routes[ROUTES_MAX];
	unsigned int n_ports, n_rules, n_neighbours, n_routes;
	struct {
		unsigned int line;  /* 0: no address is translated */
		uint32_t address;
		struct port_range ports;
	} nat;
	unsigned int timeout[NAT_PROTOS]; /* seconds */
};

/*
 * Read and check a file. On a fault write one line to error, with file, line, value
 * and cure, and return -1.
 */
int config_load(const char *file, struct config *config, char *error, size_t size);

/* ---- words.c: one word of the file each; NULL, or what is wrong with it ---- */

const char *word_number(const char *word, unsigned long min, unsigned long max,
	unsigned long *value);
const char *word_address(const char *word, uint32_t *address);
const char *word_prefix(const char *word, struct prefix *prefix); /* bits beyond depth: kept */
const char *word_range(const char *word, struct port_range *range);
const char *word_mac(const char *word, struct rte_ether_addr *mac);
const char *word_proto(const char *word, uint8_t *proto, uint8_t *mask);
const char *word_end(char *word, struct prefix *prefix, struct port_range *range);

uint32_t prefix_mask(uint8_t depth);
bool prefix_holds(const struct prefix *prefix, uint32_t address);

#endif /* NFV_CONFIG_H_ */
