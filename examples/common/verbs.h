/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_VERBS_H_
#define EXAMPLES_VERBS_H_

/* What every program on verbs begins with: a device, memory that it may use, a CQ. */

#include <stdint.h>

#include <infiniband/verbs.h>

/* Ends the program with status 1 if err, a positive errno, is not 0. */
void must0(int err, const char *call);
/* Returns the object, or ends the program. */
void *must(void *object, const char *call);

/* The device of this name, or the first one. It has this port. */
struct ibv_context *open_device(const char *name, unsigned long port);
void close_device(struct ibv_context *ctx);

/* Registered memory of a program, page-aligned. */
struct memory {
	uint8_t *bytes;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

void memory_open(struct memory *memory, struct ibv_context *ctx, size_t size);
void memory_close(struct memory *memory);

struct ibv_cq *create_cq(struct ibv_context *ctx, uint32_t entries);

#endif /* EXAMPLES_VERBS_H_ */
