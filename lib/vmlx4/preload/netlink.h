/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_NETLINK_H_
#define VMLX4_NETLINK_H_

#include <stdbool.h>
#include <sys/socket.h>

/* Does an answer wait for the reader of this descriptor? Then *result is recvmsg()'s. */
bool vmlx4_netlink_receive(int fd, struct msghdr *message, int flags, ssize_t *result);
/* What waits for it is lost with it. */
void vmlx4_netlink_closed(int fd);

#endif /* VMLX4_NETLINK_H_ */
