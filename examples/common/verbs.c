/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "verbs.h"

struct ibv_context *
open_device(const char *name, uint64_t port)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device = list;
	struct ibv_device_attr attr;
	struct ibv_context *ctx;

	if (list == NULL || *list == NULL)
		die(1, "no verbs device: load mlx4_ib, or run this under 'vmlx4 exec'");
	while (name != NULL && *device != NULL &&
	       strcmp(ibv_get_device_name(*device), name) != 0)
		device++;
	if (*device == NULL)
		die(2, "-d %s: no such device; ibv_devices lists them", name);
	ctx = must(ibv_open_device(*device), "ibv_open_device");
	ibv_free_device_list(list);
	must0(ibv_query_device(ctx, &attr), "ibv_query_device");
	if (port > attr.phys_port_cnt)
		die(2, "port %" PRIu64 ": %s has one port", port, ibv_get_device_name(ctx->device));
	return ctx;
}

void
memory_open(struct memory *memory, struct ibv_context *ctx, size_t size)
{
	memory->bytes = must(aligned_alloc(4096, (size + 4095) & ~(size_t)4095), "aligned_alloc");
	memory->pd = must(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	memory->mr = must(ibv_reg_mr(memory->pd, memory->bytes, size, IBV_ACCESS_LOCAL_WRITE),
		"ibv_reg_mr");
}

void
memory_close(struct memory *memory)
{
	must0(ibv_dereg_mr(memory->mr), "ibv_dereg_mr");
	must0(ibv_dealloc_pd(memory->pd), "ibv_dealloc_pd");
	free(memory->bytes);
}

struct ibv_cq *
create_cq(struct ibv_context *ctx, int entries)
{
	return must(ibv_create_cq(ctx, entries, NULL, NULL, 0), "ibv_create_cq");
}
