/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_VERBS_H_
#define EXAMPLES_VERBS_H_

/* A device, and memory that it may use. */

#include <stdint.h>

#include <infiniband/verbs.h>

/* The device of this name, or the first one. It has this port. */
struct ibv_context *open_device(const char *name, uint64_t port);

/* Registered memory of a program, page-aligned. */
struct memory {
	uint8_t *bytes;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

void memory_open(struct memory *memory, struct ibv_context *ctx, size_t size);
void memory_close(struct memory *memory);

struct ibv_cq *create_cq(struct ibv_context *ctx, int entries);

#endif /* EXAMPLES_VERBS_H_ */
