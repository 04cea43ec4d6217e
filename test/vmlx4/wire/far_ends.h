/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FAR_ENDS_H_
#define FAR_ENDS_H_

/*
 * Wires between two processes, with both ends in this one: port 1 is the end
 * here, port 2 the far one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"
#include "wire/wire.h"

#define HERE (&mock_adapter.ports[0])
#define THERE (&mock_adapter.ports[1])

/* The name of the wire at hand and its kind; the error line of the last open. */
extern char name[VMLX4_WIRE_NAME_MAX];
extern enum vmlx4_wire_kind kind;
extern char error[512];
/* Polled while another wire waits for its answer: the other process. */
extern struct vmlx4_wire *pumped;

struct vmlx4_wire *open_end(struct vmlx4_port *port);
/* The other end of a wire that has one, which answers meanwhile. */
struct vmlx4_wire *open_other_end(struct vmlx4_wire *first, struct vmlx4_port *port);
void pump(struct vmlx4_wire *wire, unsigned int polls);
/* Here first, as the host; both have a carrier afterwards. */
void open_both(struct vmlx4_wire **here, struct vmlx4_wire **there);

/* Each test runs on a socket's file, and shared memory by both kinds of names. */
int unix_file(void **state);
int shm_name(void **state);
int shm_file(void **state);
int forget(void **state);

#define ONE(test, how) { #test "_" #how, test, how, forget, NULL }
#define ALL(test) ONE(test, unix_file), ONE(test, shm_name), ONE(test, shm_file)

/* In a folder made for the names. */
int run_wire_tests(const char *title, const struct CMUnitTest *tests, size_t count);

#endif /* FAR_ENDS_H_ */
