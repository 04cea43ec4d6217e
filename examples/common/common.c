/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"

void
die(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "%s: ", program);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

void
must0(int err, const char *call)
{
	if (err != 0)
		die(1, "%s failed: %s%s", call, strerror(err),
		    err == EPERM ? "; give the program CAP_NET_RAW" : "");
}

void *
must(void *object, const char *call)
{
	if (object == NULL)
		must0(errno != 0 ? errno : ENOMEM, call);
	return object;
}

uint64_t
number(char option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < min || value > max)
		die(2, "-%c '%s': want a number, %" PRIu64 " to %" PRIu64, option, text, min, max);
	return value;
}

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct ibv_context *
open_device(const char *name, uint8_t port)
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
		die(2, "port %u: %s has one port", port, ibv_get_device_name(ctx->device));
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

struct address
address_of(struct ibv_qp *qp, uint8_t port)
{
	struct address address = { .qpn = qp->qp_num };
	union ibv_gid gid;

	must0(ibv_query_gid(qp->context, port, 0, &gid), "ibv_query_gid");
	memcpy(address.gid, gid.raw, sizeof(address.gid));
	return address;
}

void
connect_rc(struct ibv_qp *qp, uint8_t port, const struct address *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port };

	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
		IBV_QP_ACCESS_FLAGS), "ibv_modify_qp to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		/* RoCE: an address is a GID, here that of index 0, from the MAC address. */
		.ah_attr = { .is_global = 1, .port_num = port, .grh = { .hop_limit = 64 } },
	};
	memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER), "ibv_modify_qp to RTR");
	/* 7 retries, 67 ms apart; for a receiver that is not ready as many as it takes. */
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1 };
	must0(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
		"ibv_modify_qp to RTS");
}
