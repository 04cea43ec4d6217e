/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memzone.h>

#include "chain.h"

/* The memory that the stages share, wherever they run, and the rings between them. */

#define NAME "nfv_chain"

void
complain(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("nfv_chain: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}

void
say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
}

static int
create_rings(struct chain *chain)
{
	char name[RTE_RING_NAMESIZE];
	unsigned int i;

	for (i = 1; i < STAGES; i++) {
		struct rte_ring *ring;

		/* A stage is on one lcore: one producer, one consumer. */
		snprintf(name, sizeof(name), NAME "_%s", stage_ops[i]->name);
		ring = rte_ring_create(name, RING_SIZE, rte_socket_id(),
			RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (ring == NULL)
			return -1;
		chain->stages[i - 1].out = ring;
		chain->stages[i].in = ring;
	}
	return 0;
}

struct chain *
chain_create(const struct config *config, unsigned int mbufs)
{
	const struct rte_memzone *zone = rte_memzone_reserve_aligned(NAME, sizeof(struct chain),
		rte_socket_id(), 0, RTE_CACHE_LINE_SIZE);
	struct chain *chain;

	if (zone == NULL) {
		complain("no memory for the chain: %s; give the EAL more (-m)",
			rte_strerror(rte_errno));
		return NULL;
	}
	chain = zone->addr;
	memset(chain, 0, sizeof(*chain));
	chain->config = *config;
	chain->pool = rte_pktmbuf_pool_create(NAME, mbufs, RTE_MIN(256u, mbufs / 8), 0,
		RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	if (chain->pool == NULL || create_rings(chain) != 0) {
		complain("no memory for %u packets and the rings: %s; give the EAL more (-m)",
			mbufs, rte_strerror(rte_errno));
		chain_free(chain);
		return NULL;
	}
	if (routes_build(chain) != 0) {
		chain_free(chain);
		return NULL;
	}
	return chain;
}

struct chain *
chain_attach(void)
{
	const struct rte_memzone *zone = rte_memzone_lookup(NAME);

	if (zone == NULL) {
		complain("the primary process has no chain (yet): start nfv_chain there first");
		return NULL;
	}
	return zone->addr;
}

unsigned int
chain_free(struct chain *chain)
{
	unsigned int i, missing = 0;

	if (chain->pool != NULL)
		missing = rte_mempool_in_use_count(chain->pool);
	for (i = 1; i < STAGES; i++)
		rte_ring_free(chain->stages[i].in);
	rte_lpm_free(chain->lpm);
	rte_mempool_free(chain->pool);
	rte_memzone_free(rte_memzone_lookup(NAME));
	return missing;
}
