/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_ROUTE_H_
#define VMLX4_ROUTE_H_

/* What the routing tables of Linux would tell of the ports' interfaces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sysfs.h"

struct nlmsghdr;

#define VMLX4_ROUTE_ANSWER 4096 /* bytes: room for any answer */

struct vmlx4_route {
	const struct vmlx4_adapter *adapter; /* locked */
	const struct nlmsghdr *request;      /* all of it is there */
	uint32_t socket;                     /* netlink's number of the one who asks */
};

/*
 * What there is to say: messages that come before those of the kernel, or, *whole,
 * instead of them. 0: nothing.
 */
size_t vmlx4_route_answer(const struct vmlx4_route *ask, uint8_t *at, size_t room, bool *whole);

/* The bytes of the IPv4 or IPv6 address that a GID is; how many. */
size_t vmlx4_address_of_gid(const uint8_t gid[VMLX4_GID_SIZE], const uint8_t **address);

#endif /* VMLX4_ROUTE_H_ */
