/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VETH_H_
#define VETH_H_

/* TAP and packet wires on real interfaces, in a network namespace of the test's own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/virtio_net.h>

#include "mock.h"
#include "wire/backends.h"

#define PORT (&mock_adapter.ports[0])

extern char error[512];
extern int far_end; /* packet socket at the other end of the veth "near", "far" */

void command(const char *text);
int open_far_end(const char *name);
void far_send(const struct virtio_net_hdr *vnet, const uint8_t *frame, size_t length);
struct vmlx4_wire *open_wire(enum vmlx4_wire_kind kind, const char *name, struct vmlx4_port *port);
void poll_until(struct vmlx4_wire *wire, unsigned int count);
/* IPv4 and TCP or UDP; the sum is what a stack leaves for the card. */
size_t make_packet(uint8_t *frame, bool tcp, size_t payload);
/* Sum over pseudo header and L4 of a frame whose IPv4 header begins at l3. */
uint16_t l4_sum(const uint8_t *frame, size_t l3, size_t length);

int set_up(void **state);
int tear_down(void **state);
#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
/* Without the right to have a network all are skipped. */
int run_on_veth(const char *title, struct CMUnitTest *tests, size_t count);

#endif /* VETH_H_ */
