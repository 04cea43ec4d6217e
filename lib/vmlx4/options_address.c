/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options_parser.h"

/* Addresses of the ports' interfaces, and of who is on their network. */

/* As a GID: an IPv4 address behind ten zeroes and ffff. */
static bool
parse_address(const char *text, uint8_t gid[VMLX4_GID_BYTES])
{
	memset(gid, 0, VMLX4_GID_BYTES);
	if (inet_pton(AF_INET6, text, gid) == 1)
		return true;
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1;
}

static bool
may_be_own(const uint8_t gid[VMLX4_GID_BYTES])
{
	static const uint8_t none[VMLX4_GID_BYTES], no_ipv4[VMLX4_GID_BYTES] =
		{ [10] = 0xff, [11] = 0xff };

	if (memcmp(gid, none, sizeof(none)) == 0 || memcmp(gid, no_ipv4, sizeof(no_ipv4)) == 0)
		return false;
	/* A group, the link-local one that it has already, IPv4 multicast and above. */
	return gid[0] != 0xff && gid[0] != 0xfe &&
		(memcmp(gid, no_ipv4, 12) != 0 || gid[12] < 224);
}

static int
add_own(struct option_parser *parser, struct vmlx4_addresses *addresses, const char *item)
{
	uint8_t *gid = addresses->own[addresses->owns];
	unsigned int i;

	if (addresses->owns == VMLX4_ADDRESSES_MAX)
		return option_fail(parser, item, "give at most %d addresses",
			VMLX4_ADDRESSES_MAX);
	if (!parse_address(item, gid) || !may_be_own(gid))
		return option_fail(parser, item,
			"write IPv4 or IPv6 addresses of a host, without a prefix: "
			"10.0.0.1,fd00::1");
	for (i = 0; i < addresses->owns; i++)
		if (memcmp(addresses->own[i], gid, VMLX4_GID_BYTES) == 0)
			return option_fail(parser, item, "it stands there twice: take one away");
	addresses->owns++;
	return 0;
}

static int
add_neighbour(struct option_parser *parser, struct vmlx4_addresses *addresses, const char *item)
{
	struct vmlx4_neighbour *neighbour = &addresses->neighbour[addresses->neighbours];
	const char *at = strchr(item, '@');
	char address[INET6_ADDRSTRLEN] = "", rest;
	unsigned int mac[6], i;

	if (addresses->neighbours == VMLX4_ADDRESSES_MAX)
		return option_fail(parser, item, "give at most %d neighbours",
			VMLX4_ADDRESSES_MAX);
	if (at != NULL && (size_t)(at - item) < sizeof(address))
		memcpy(address, item, (size_t)(at - item));
	if (!parse_address(address, neighbour->gid) || !may_be_own(neighbour->gid) ||
			sscanf(at + 1, "%2x:%2x:%2x:%2x:%2x:%2x%c", &mac[0], &mac[1], &mac[2],
				&mac[3], &mac[4], &mac[5], &rest) != 6 || (mac[0] & 1) != 0)
		return option_fail(parser, item,
			"write ADDRESS@MAC: 10.0.0.2@00:02:c9:06:00:01");
	for (i = 0; i < 6; i++)
		neighbour->mac[i] = (uint8_t)mac[i];
	addresses->neighbours++;
	return 0;
}

static int
each_item(struct option_parser *parser, const char *value, unsigned int port,
	int (*add)(struct option_parser *parser, struct vmlx4_addresses *addresses,
		const char *item))
{
	struct vmlx4_addresses *addresses = &parser->options->addresses[port - 1];
	char list[1024], *rest = list, *item;
	int ret;

	if (strlen(value) >= sizeof(list))
		return option_fail(parser, value, "it is longer than %zu characters",
			sizeof(list) - 1);
	strcpy(list, value);
	while ((item = strsep(&rest, ",")) != NULL) {
		ret = add(parser, addresses, item);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int
option_ip1(struct option_parser *parser, const char *value)
{
	return each_item(parser, value, 1, add_own);
}

int
option_ip2(struct option_parser *parser, const char *value)
{
	return each_item(parser, value, 2, add_own);
}

int
option_neighbour1(struct option_parser *parser, const char *value)
{
	return each_item(parser, value, 1, add_neighbour);
}

int
option_neighbour2(struct option_parser *parser, const char *value)
{
	return each_item(parser, value, 2, add_neighbour);
}

int
option_addresses_settle(struct option_parser *parser)
{
	static const char *const names[2][VMLX4_MAX_PORTS] = {
		{ "ip1", "ip2" }, { "neighbour1", "neighbour2" },
	};
	const struct vmlx4_options *options = parser->options;
	unsigned int i;

	for (i = 0; i < VMLX4_MAX_PORTS; i++) {
		const struct vmlx4_addresses *addresses = &options->addresses[i];

		if (addresses->owns == 0 && addresses->neighbours == 0)
			continue;
		parser->name = names[addresses->owns == 0][i];
		if (i >= options->ports)
			return option_fail(parser, "2", "the adapter has one port: use ports=2");
		if (options->infiniband[i])
			return option_fail(parser, i == 0 ? "1" : "2", "a port in InfiniBand mode "
				"has no interface: drop it, or ib");
	}
	return 0;
}
