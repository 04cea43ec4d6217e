/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <string.h>

#include "../hca/hca.h"
#include "route.h"

/*
 * The answers of a kernel's routing about the interfaces of the ports, in the form
 * of NETLINK_ROUTE. libibverbs asks it where an address handle leads: for the
 * links, for the neighbours, and for the route to the one address.
 */

/* A message as it grows; room for it was seen to. */
struct message {
	struct nlmsghdr *head;
	size_t room;      /* bytes from head on */
};

static bool
message_begin(struct message *message, uint8_t *at, size_t room, const struct vmlx4_route *ask,
	uint16_t type, uint16_t flags, size_t body)
{
	message->head = (struct nlmsghdr *)(void *)at;
	message->room = room;
	if (NLMSG_SPACE(body) > room)
		return false;
	memset(at, 0, NLMSG_SPACE(body));
	message->head->nlmsg_len = NLMSG_LENGTH(body);
	message->head->nlmsg_type = type;
	message->head->nlmsg_flags = flags;
	message->head->nlmsg_seq = ask->request->nlmsg_seq;
	message->head->nlmsg_pid = ask->socket;
	return true;
}

static bool
message_add(struct message *message, uint16_t type, const void *data, size_t size)
{
	size_t used = NLMSG_ALIGN(message->head->nlmsg_len);
	struct rtattr *attribute = (void *)((uint8_t *)message->head + used);

	if (used + RTA_SPACE(size) > message->room)
		return false;
	memset(attribute, 0, RTA_SPACE(size));
	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(size);
	memcpy(RTA_DATA(attribute), data, size);
	message->head->nlmsg_len = (uint32_t)(used + RTA_LENGTH(size));
	return true;
}

static size_t
message_size(const struct message *message)
{
	return NLMSG_ALIGN(message->head->nlmsg_len);
}

/* ---- links ---- */

static size_t
link_message(const struct vmlx4_route *ask, const struct vmlx4_port *port, uint8_t *at,
	size_t room)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const struct vmlx4_netdev *netdev = &port->netdev;
	uint32_t mtu = netdev->mtu, queue = 1000;
	struct ifinfomsg *body;
	struct message message;

	if (!message_begin(&message, at, room, ask, RTM_NEWLINK, NLM_F_MULTI, sizeof(*body)))
		return 0;
	body = NLMSG_DATA(message.head);
	body->ifi_type = ARPHRD_ETHER;
	body->ifi_index = (int)netdev->ifindex;
	body->ifi_flags = vmlx4_netdev_flags(port);
	return message_add(&message, IFLA_IFNAME, netdev->name, strlen(netdev->name) + 1) &&
		message_add(&message, IFLA_TXQLEN, &queue, sizeof(queue)) &&
		message_add(&message, IFLA_MTU, &mtu, sizeof(mtu)) &&
		message_add(&message, IFLA_ADDRESS, netdev->mac, sizeof(netdev->mac)) &&
		message_add(&message, IFLA_BROADCAST, broadcast, sizeof(broadcast)) ?
		message_size(&message) : 0;
}

/* ---- addresses ---- */

size_t
vmlx4_address_of_gid(const uint8_t gid[VMLX4_GID_SIZE], const uint8_t **address)
{
	bool ipv4 = vmlx4_gid_is_ipv4(gid);

	*address = ipv4 ? gid + 12 : gid;
	return ipv4 ? 4 : 16;
}

static bool
gid_of_address(uint8_t family, const void *address, size_t size, uint8_t gid[VMLX4_GID_SIZE])
{
	memset(gid, 0, VMLX4_GID_SIZE);
	if (family == AF_INET && size == 4) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, address, 4);
		return true;
	}
	if (family != AF_INET6 || size != 16)
		return false;
	memcpy(gid, address, 16);
	return true;
}

/* ---- neighbours: those that the options name ---- */

static size_t
neighbour_message(const struct vmlx4_route *ask, const struct vmlx4_port *port,
	const struct vmlx4_neighbour *neighbour, uint8_t *at, size_t room)
{
	const uint8_t *address;
	size_t size = vmlx4_address_of_gid(neighbour->gid, &address);
	struct message message;
	struct ndmsg *body;

	if (!message_begin(&message, at, room, ask, RTM_NEWNEIGH, NLM_F_MULTI, sizeof(*body)))
		return 0;
	body = NLMSG_DATA(message.head);
	body->ndm_family = size == 4 ? AF_INET : AF_INET6;
	body->ndm_ifindex = (int)port->netdev.ifindex;
	body->ndm_state = NUD_PERMANENT;
	body->ndm_type = RTN_UNICAST;
	return message_add(&message, NDA_DST, address, size) &&
		message_add(&message, NDA_LLADDR, neighbour->mac, sizeof(neighbour->mac)) ?
		message_size(&message) : 0;
}

static size_t
neighbour_messages(const struct vmlx4_route *ask, const struct vmlx4_port *port, uint8_t *at,
	size_t room)
{
	const struct vmlx4_addresses *known =
		&port->adapter->options.addresses[port->number - 1];
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < known->neighbours; i++)
		used += neighbour_message(ask, port, &known->neighbour[i], at + used,
			room - used);
	return used;
}

/* ---- the route to an address ---- */

struct wanted {
	uint8_t family;
	uint32_t oif;
	const void *to;
	size_t size;
};

static bool
read_wanted(const struct vmlx4_route *ask, struct wanted *wanted)
{
	const struct nlmsghdr *head = ask->request;
	const struct rtmsg *body = NLMSG_DATA(head);
	const struct rtattr *attribute;
	int left;

	memset(wanted, 0, sizeof(*wanted));
	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*body)))
		return false;
	wanted->family = body->rtm_family;
	left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*body)));
	for (attribute = RTM_RTA(body); RTA_OK(attribute, left);
	     attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == RTA_DST) {
			wanted->to = RTA_DATA(attribute);
			wanted->size = RTA_PAYLOAD(attribute);
		} else if (attribute->rta_type == RTA_OIF &&
		    RTA_PAYLOAD(attribute) == sizeof(wanted->oif)) {
			memcpy(&wanted->oif, RTA_DATA(attribute), sizeof(wanted->oif));
		}
	}
	return wanted->to != NULL;
}

static const struct vmlx4_port *
port_of(const struct vmlx4_adapter *adapter, uint32_t ifindex)
{
	unsigned int i;

	for (i = 0; ifindex != 0 && i < adapter->options.ports; i++)
		if (adapter->ports[i].netdev.ifindex == ifindex)
			return &adapter->ports[i];
	return NULL;
}

/* The address of the port that a packet there would come from. */
static bool
source_of(const struct vmlx4_port *port, const struct wanted *wanted, const uint8_t **source,
	uint8_t gid[VMLX4_GID_SIZE])
{
	enum vmlx4_roce roce;
	unsigned int i;

	for (i = 0; vmlx4_gid_get(port, i, gid, &roce); i++)
		if (vmlx4_address_of_gid(gid, source) == wanted->size)
			return true;
	return false;
}

static size_t
unreachable(const struct vmlx4_route *ask, uint8_t *at, size_t room)
{
	struct message message;
	struct nlmsgerr *body;

	if (!message_begin(&message, at, room, ask, NLMSG_ERROR, 0, sizeof(*body)))
		return 0;
	body = NLMSG_DATA(message.head);
	body->error = -ENETUNREACH;
	body->msg = *ask->request;
	return message_size(&message);
}

static size_t
route_message(const struct vmlx4_route *ask, const struct wanted *wanted,
	const struct vmlx4_port *port, uint8_t *at, size_t room)
{
	uint8_t gid[VMLX4_GID_SIZE], own[VMLX4_GID_SIZE];
	const uint8_t *source;
	struct message message;
	struct rtmsg *body;
	bool local;

	if (!gid_of_address(wanted->family, wanted->to, wanted->size, gid) ||
	    !source_of(port, wanted, &source, own))
		return unreachable(ask, at, room);
	if (!message_begin(&message, at, room, ask, RTM_NEWROUTE, 0, sizeof(*body)))
		return 0;
	/* An own one leads back to the interface that has it. */
	local = vmlx4_gid_find(port, gid, VMLX4_ROCE_V1) >= 0;
	body = NLMSG_DATA(message.head);
	body->rtm_family = wanted->family;
	body->rtm_dst_len = (uint8_t)(8 * wanted->size);
	body->rtm_table = local ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
	body->rtm_protocol = RTPROT_KERNEL;
	body->rtm_scope = local ? RT_SCOPE_HOST : RT_SCOPE_LINK;
	body->rtm_type = local ? RTN_LOCAL : RTN_UNICAST;
	return message_add(&message, RTA_DST, wanted->to, wanted->size) &&
		message_add(&message, RTA_OIF, &wanted->oif, sizeof(wanted->oif)) &&
		message_add(&message, RTA_PREFSRC, source, wanted->size) ?
		message_size(&message) : 0;
}

/* ---- requests ---- */

static size_t
dumped(const struct vmlx4_route *ask, uint8_t *at, size_t room)
{
	const struct vmlx4_adapter *adapter = ask->adapter;
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++) {
		const struct vmlx4_port *port = &adapter->ports[i];

		if (port->infiniband)
			continue;
		used += ask->request->nlmsg_type == RTM_GETLINK ?
			link_message(ask, port, at + used, room - used) :
			neighbour_messages(ask, port, at + used, room - used);
	}
	return used;
}

size_t
vmlx4_route_answer(const struct vmlx4_route *ask, uint8_t *at, size_t room, bool *whole)
{
	const struct nlmsghdr *head = ask->request;
	bool dump = (head->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	const struct vmlx4_port *port;
	struct wanted wanted;

	*whole = false;
	if (dump && (head->nlmsg_type == RTM_GETLINK || head->nlmsg_type == RTM_GETNEIGH))
		return dumped(ask, at, room);
	if (dump || head->nlmsg_type != RTM_GETROUTE || !read_wanted(ask, &wanted))
		return 0;
	port = port_of(ask->adapter, wanted.oif);
	if (port == NULL)
		return 0;
	*whole = true;
	return route_message(ask, &wanted, port, at, room);
}
