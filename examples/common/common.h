/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_COMMON_H_
#define EXAMPLES_COMMON_H_

/* What the examples on libdvq share: verbs objects, and complaints. */

#include <stdint.h>

#include <infiniband/verbs.h>

/* What complaints begin with; each program defines it. */
extern const char program[];

__attribute__((noreturn, format(printf, 2, 3)))
void die(int status, const char *format, ...);
/* Ends the program with status 1 if err, a positive errno, is not 0. */
void must0(int err, const char *call);
/* Returns the object, or ends the program. */
void *must(void *object, const char *call);
/* The value of an option; status 2 if it is no number within the limits. */
uint64_t number(char option, const char *text, uint64_t min, uint64_t max);
/* Seconds since whenever. */
double now(void);

/* The device of this name, or the first one. It has this port. */
struct ibv_context *open_device(const char *name, uint8_t port);

/* Registered memory of a program, page-aligned. */
struct memory {
	uint8_t *bytes;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

void memory_open(struct memory *memory, struct ibv_context *ctx, size_t size);
void memory_close(struct memory *memory);

/* How a peer is reached: 28 bytes, to be handed over by whatever there is. */
struct address {
	uint32_t qpn;
	uint8_t gid[16];
};

struct address address_of(struct ibv_qp *qp, uint8_t port);
/* From RESET to RTS, connected with the QP at this address. */
void connect_rc(struct ibv_qp *qp, uint8_t port, const struct address *peer);

#endif /* EXAMPLES_COMMON_H_ */
