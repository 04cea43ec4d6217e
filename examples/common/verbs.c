/* SPDX-License-Identifier: BSD-3-Clause */

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

void
must0(int err, const char *call)
{
	if (err != 0)
		errx(1, "%s failed: %s%s", call, strerror(err),
		     err == EPERM ? "; give the program CAP_NET_RAW" : "");
}

void *
must(void *object, const char *call)
{
	if (object == NULL)
		must0(errno != 0 ? errno : ENOMEM, call);
	return object;
}

struct ibv_context *
open_device(const char *name, unsigned long port)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device = list;
	struct ibv_device_attr attr;
	struct ibv_context *ctx;

	if (list == NULL || *list == NULL)
		errx(1, "no verbs device: load mlx4_ib, or run this under 'vmlx4 exec'");
	while (name != NULL && *device != NULL &&
	       strcmp(ibv_get_device_name(*device), name) != 0)
		device++;
	if (*device == NULL)
		errx(2, "-d %s: no such device; ibv_devices lists them", name);
	ctx = must(ibv_open_device(*device), "ibv_open_device");
	must0(ibv_query_device(ctx, &attr), "ibv_query_device");
	if (port > attr.phys_port_cnt) {
		must0(ibv_close_device(ctx), "ibv_close_device");
		errx(2, "port %lu: %s has one port", port, ibv_get_device_name(*device));
	}
	ibv_free_device_list(list);
	return ctx;
}

void
close_device(struct ibv_context *ctx)
{
	must0(ibv_close_device(ctx), "ibv_close_device");
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
create_cq(struct ibv_context *ctx, uint32_t entries)
{
	return must(ibv_create_cq(ctx, (int)entries, NULL, NULL, 0), "ibv_create_cq");
}
