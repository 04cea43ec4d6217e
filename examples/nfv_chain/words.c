/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

uint32_t
prefix_mask(uint8_t depth)
{
	return depth == 0 ? 0 : UINT32_MAX << (32 - depth);
}

bool
prefix_holds(const struct prefix *prefix, uint32_t address)
{
	return ((address ^ prefix->address) & prefix_mask(prefix->depth)) == 0;
}

const char *
word_number(const char *word, unsigned long min, unsigned long max, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(word, &end, 10);
	if (*word < '0' || *word > '9' || *end != '\0' || errno != 0)
		return "not a number";
	return *value < min || *value > max ? "out of range" : NULL;
}

const char *
word_address(const char *word, uint32_t *address)
{
	struct in_addr in;

	if (inet_pton(AF_INET, word, &in) != 1)
		return "not an IPv4 address: write it as 10.0.0.1";
	*address = ntohl(in.s_addr);
	return NULL;
}

const char *
word_prefix(const char *word, struct prefix *prefix)
{
	const char *slash = strchr(word, '/');
	unsigned long depth = 32;
	char address[32];

	if (slash != NULL && word_number(slash + 1, 0, 32, &depth) != NULL)
		return "behind the slash comes a length, 0 to 32";
	if (slash == NULL)
		slash = word + strlen(word);
	if ((size_t)(slash - word) >= sizeof(address))
		return "not an IPv4 prefix: write it as 10.0.0.0/24";
	memcpy(address, word, slash - word);
	address[slash - word] = '\0';
	prefix->depth = (uint8_t)depth;
	return word_address(address, &prefix->address);
}

const char *
word_range(const char *word, struct port_range *range)
{
	const char *dash = strchr(word, '-');
	unsigned long first, last;
	char low[8];

	if (dash == NULL)
		dash = word + strlen(word);
	if ((size_t)(dash - word) >= sizeof(low))
		return "not a port or a range of them: write 80 or 1024-65535";
	memcpy(low, word, dash - word);
	low[dash - word] = '\0';
	if (word_number(low, 0, UINT16_MAX, &first) != NULL)
		return "not a port or a range of them: write 80 or 1024-65535";
	last = first;
	if (*dash == '-' && word_number(dash + 1, 0, UINT16_MAX, &last) != NULL)
		return "not a port or a range of them: write 80 or 1024-65535";
	if (last < first)
		return "a range that ends before it begins: the lower port comes first";
	range->first = (uint16_t)first;
	range->last = (uint16_t)last;
	return NULL;
}

const char *
word_mac(const char *word, struct rte_ether_addr *mac)
{
	if (strlen(word) != 17 || rte_ether_unformat_addr(word, mac) != 0)
		return "not a MAC address: write it as 02:00:00:00:00:01";
	if (!rte_is_valid_assigned_ether_addr(mac))
		return "not the address of one station: zero, or the multicast bit is set";
	return NULL;
}

const char *
word_proto(const char *word, uint8_t *proto, uint8_t *mask)
{
	static const struct {
		const char *name;
		uint8_t proto, mask;
	} names[] = {
		{ "any", 0, 0 }, { "icmp", 1, 0xff }, { "tcp", 6, 0xff }, { "udp", 17, 0xff },
	};
	unsigned long number;
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i].name) != 0)
			continue;
		*proto = names[i].proto;
		*mask = names[i].mask;
		return NULL;
	}
	if (word_number(word, 0, UINT8_MAX, &number) != NULL)
		return "not a protocol: tcp, udp, icmp, any, or a number up to 255";
	*proto = (uint8_t)number;
	*mask = 0xff;
	return NULL;
}

/* One end of a rule: PREFIX, PREFIX:PORTS, any or any:PORTS. */
const char *
word_end(char *word, struct prefix *prefix, struct port_range *range)
{
	char *colon = strchr(word, ':');
	const char *fault = NULL;

	*range = (struct port_range){ 0, UINT16_MAX };
	if (colon != NULL) {
		fault = word_range(colon + 1, range);
		*colon = '\0';
	}
	if (fault == NULL && strcmp(word, "any") == 0)
		*prefix = (struct prefix){ 0, 0 };
	else if (fault == NULL)
		fault = word_prefix(word, prefix);
	if (fault == NULL && (prefix->address & ~prefix_mask(prefix->depth)) != 0)
		fault = "bits are set behind the length of the prefix";
	if (colon != NULL)
		*colon = ':';
	return fault;
}
