/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "adapter.h"
#include "fault/fault.h"
#include "hca/hca.h"
#include "profile.h"
#include "sysfs/sysfs.h"
#include "trace/trace.h"
#include "uverbs/uverbs.h"
#include "wire/wire.h"

static _Atomic(struct vmlx4_adapter *) the_adapter;
static pid_t owner; /* written before the_adapter is published */
static bool forked;
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

/* How long the end of the process waits for a lock that may never be free. */
#define EXIT_WAIT_NS 200000000

bool
vmlx4_configured(void)
{
	const char *text = getenv(VMLX4_OPTIONS_ENV);

	return text != NULL;
}

/*
 * The process id, not a fork handler, tells a child from its parent: it also
 * holds in a vfork() child, which shares our memory and runs no handlers.
 */
struct vmlx4_adapter *
vmlx4_adapter_get(void)
{
	struct vmlx4_adapter *adapter =
		atomic_load_explicit(&the_adapter, memory_order_acquire);

	if (adapter == NULL || owner != getpid())
		return NULL;
	return adapter;
}

bool
vmlx4_adapter_inherited(void)
{
	return atomic_load_explicit(&the_adapter, memory_order_acquire) != NULL &&
		owner != getpid();
}

void
vmlx4_life_lock(void)
{
	pthread_mutex_lock(&life);
}

void
vmlx4_life_unlock(void)
{
	pthread_mutex_unlock(&life);
}

bool
vmlx4_adapter_forked(void)
{
	return forked;
}

static void
fork_child(void)
{
	struct vmlx4_adapter *adapter = atomic_load_explicit(&the_adapter, memory_order_relaxed);
	unsigned int i;

	/* Another thread may have held it at the fork(); nobody unlocks it here. */
	pthread_mutex_init(&life, NULL);
	forked = true;
	/* The other end of a wire is to see the parent go, not wait for us. */
	for (i = 0; adapter != NULL && i < VMLX4_MAX_PORTS; i++)
		vmlx4_wire_forked(adapter->ports[i].wire);
}

void
vmlx4_lock(struct vmlx4_adapter *adapter)
{
	atomic_fetch_add_explicit(&adapter->lock_waiters, 1, memory_order_relaxed);
	pthread_mutex_lock(&adapter->lock);
	atomic_fetch_sub_explicit(&adapter->lock_waiters, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&adapter->lock_turns, 1, memory_order_relaxed);
}

void
vmlx4_unlock(struct vmlx4_adapter *adapter)
{
	pthread_mutex_unlock(&adapter->lock);
}

static void
adapter_free(struct vmlx4_adapter *adapter)
{
	unsigned int i;

	if (adapter == NULL)
		return;
	free(adapter->shown);
	for (i = 0; i < VMLX4_MAX_PORTS; i++)
		if (adapter->ports[i].wire != NULL)
			vmlx4_wire_close(adapter->ports[i].wire);
	vmlx4_faults_free(adapter);
	vmlx4_numbers_free(adapter->numbers);
	free(adapter->qp_table);
	free(adapter->wq_table);
	free(adapter->mr_table);
	free(adapter->cq_table);
	free(adapter->srq_table);
	free(adapter->mw_table);
	pthread_mutex_destroy(&adapter->lock);
	free(adapter);
}

static int
adapter_tables(struct vmlx4_adapter *adapter)
{
	adapter->qp_table = calloc(VMLX4_QP_TABLE, sizeof(adapter->qp_table[0]));
	adapter->wq_table = calloc(VMLX4_QP_TABLE, sizeof(adapter->wq_table[0]));
	adapter->mr_table = calloc(VMLX4_MR_TABLE, sizeof(adapter->mr_table[0]));
	adapter->cq_table = calloc(VMLX4_CQ_TABLE, sizeof(adapter->cq_table[0]));
	adapter->srq_table = calloc(VMLX4_SRQ_TABLE, sizeof(adapter->srq_table[0]));
	adapter->mw_table = calloc(VMLX4_MR_TABLE, sizeof(adapter->mw_table[0]));
	adapter->numbers = vmlx4_numbers_new();
	if (adapter->qp_table == NULL || adapter->wq_table == NULL ||
			adapter->mr_table == NULL || adapter->cq_table == NULL ||
			adapter->srq_table == NULL || adapter->mw_table == NULL ||
			adapter->numbers == NULL)
		return -ENOMEM;
	return 0;
}

static int
adapter_ports(struct vmlx4_adapter *adapter, char *error, size_t error_size)
{
	unsigned int i;

	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_port *port = &adapter->ports[i];

		port->adapter = adapter;
		port->number = i + 1;
		port->infiniband = adapter->options.infiniband[i];
		port->carrier = true;
		TAILQ_INIT(&port->flows);
		vmlx4_netdev_init(port);
	}
	/* A wire between two ports wants both to exist. */
	for (i = 0; i < adapter->options.ports; i++) {
		struct vmlx4_port *port = &adapter->ports[i];

		port->wire = vmlx4_wire_open(&adapter->options.wire[i], port, error, error_size);
		if (port->wire == NULL)
			return -ENODEV;
	}
	for (i = 0; i < adapter->options.ports; i++)
		vmlx4_port_update(&adapter->ports[i]);
	return 0;
}

static struct vmlx4_adapter *
adapter_new(void)
{
	struct vmlx4_adapter *adapter = vmlx4_zalloc(sizeof(*adapter));
	const char *text = getenv(VMLX4_OPTIONS_ENV);
	char error[512] = "out of memory";

	if (adapter == NULL)
		goto fail;
	pthread_mutex_init(&adapter->lock, NULL);
	TAILQ_INIT(&adapter->contexts);
	TAILQ_INIT(&adapter->mcast);
	vmlx4_time_init(adapter);
	if (vmlx4_options_parse(text, &adapter->options, error, sizeof(error)) < 0)
		goto fail;
	adapter->profile = adapter->options.profile;
	if (adapter_tables(adapter) < 0 || adapter_ports(adapter, error, sizeof(error)) < 0 ||
			vmlx4_trace_open(adapter, error, sizeof(error)) < 0 ||
			vmlx4_faults_init(adapter, error, sizeof(error)) < 0)
		goto fail;
	return adapter;
fail:
	fprintf(stderr, "vmlx4: %s\n", error);
	adapter_free(adapter);
	return NULL;
}

struct vmlx4_adapter *
vmlx4_adapter_require(void)
{
	static bool failed; /* say it once */
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();

	if (adapter != NULL || vmlx4_adapter_inherited() || !vmlx4_configured())
		return adapter;
	vmlx4_life_lock();
	adapter = atomic_load_explicit(&the_adapter, memory_order_acquire);
	if (adapter == NULL && !failed) {
		adapter = adapter_new();
		failed = adapter == NULL;
		if (!failed) {
			owner = getpid();
			pthread_atfork(NULL, NULL, fork_child);
			atomic_store_explicit(&the_adapter, adapter, memory_order_release);
		}
	}
	vmlx4_life_unlock();
	return adapter;
}

/*
 * The end of the process. Contexts that the program left open go with it. A
 * thread that hangs may hold the lock, so the counters are written in any case,
 * the orderly rest only if it is free.
 */
static void __attribute__((destructor))
adapter_exit(void)
{
	struct vmlx4_adapter *adapter = vmlx4_adapter_get();
	struct timespec until;
	unsigned int i;

	if (adapter == NULL)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += EXIT_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	atomic_fetch_add_explicit(&adapter->lock_waiters, 1, memory_order_relaxed);
	if (pthread_mutex_timedlock(&adapter->lock, &until) != 0) {
		atomic_fetch_sub_explicit(&adapter->lock_waiters, 1, memory_order_relaxed);
		vmlx4_stats_write(adapter, true);
		return;
	}
	atomic_fetch_sub_explicit(&adapter->lock_waiters, 1, memory_order_relaxed);
	vmlx4_unlock(adapter);
	if (adapter->engine != NULL)
		vmlx4_engine_stop(adapter);
	vmlx4_lock(adapter);
	for (i = 0; i < adapter->options.ports; i++) {
		if (adapter->ports[i].wire != NULL)
			vmlx4_wire_close(adapter->ports[i].wire);
		adapter->ports[i].wire = NULL;
	}
	vmlx4_trace_close(adapter);
	vmlx4_stats_write(adapter, true);
	vmlx4_unlock(adapter);
}
