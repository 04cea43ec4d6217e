/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef REFLECT_H_
#define REFLECT_H_

#include <stdint.h>

#include <infiniband/verbs.h>

struct reflector;

/* Take the frames for a MAC that arrive at a port. NULL: errno says why. */
struct reflector *reflector_open(struct ibv_device *device, uint8_t port,
	const uint8_t mac[6]);

/* Send back what came, addresses exchanged. Frames sent; -1: a work request failed. */
int reflector_poll(struct reflector *reflector);

void reflector_close(struct reflector *reflector);

#endif /* REFLECT_H_ */
