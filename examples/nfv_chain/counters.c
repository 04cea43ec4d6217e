/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "chain.h"

#define DROP_NAME(id, name) name,
static const char *const drop_names[DROP_CAUSES] = { DROPS(DROP_NAME) };

static void
print_drops(const struct stage *stage)
{
	const char *comma = "";
	unsigned int i;

	for (i = 0; i < DROP_CAUSES; i++) {
		uint64_t drops = counted(&stage->drops[i]);

		if (drops == 0)
			continue;
		printf("%s%s %" PRIu64, comma, drop_names[i], drops);
		comma = ", ";
	}
	printf("%s\n", comma[0] == '\0' ? "-" : "");
}

/* With the rate of the last so many seconds; 0: without. */
static void
print_stage(const struct stage *stage, const char *name, uint64_t *before, double seconds)
{
	uint64_t taken = counted(&stage->taken);
	char ring[32] = "-", rate[32] = "-";

	if (stage->in != NULL)
		snprintf(ring, sizeof(ring), "%u/%u", rte_ring_count(stage->in),
			rte_ring_get_capacity(stage->in));
	if (seconds > 0)
		snprintf(rate, sizeof(rate), "%.3f", (double)(taken - *before) / seconds * 1e-6);
	*before = taken;
	printf("%-6s %12" PRIu64 " %12" PRIu64 " %10s %8s  ", name, taken,
		counted(&stage->passed), ring, rate);
	print_drops(stage);
}

static void
print_port(uint16_t port)
{
	struct rte_eth_stats stats;

	if (rte_eth_stats_get(port, &stats) != 0)
		return;
	printf("port %u: received %" PRIu64 ", missed %" PRIu64 ", errors %" PRIu64
		", no buffer %" PRIu64 "; sent %" PRIu64 ", errors %" PRIu64 "\n", port,
		stats.ipackets, stats.imissed, stats.ierrors, stats.rx_nombuf, stats.opackets,
		stats.oerrors);
}

void
counters_print(struct chain *chain, double seconds)
{
	static uint64_t before[STAGES];
	unsigned int i;

	printf("%-6s %12s %12s %10s %8s  %s\n", "stage", "in", "out", "ring", "Mpps", "drops");
	for (i = 0; i < STAGES; i++)
		print_stage(&chain->stages[i], stage_ops[i]->name, &before[i], seconds);
	for (i = 0; i < PORTS_MAX; i++)
		if (chain->config.ports[i].line != 0)
			print_port((uint16_t)i);
	if (chain->config.nat.line != 0)
		printf("nat: %" PRIu64 " translations, %" PRIu64 " expired\n",
			counted(&chain->nat_used), counted(&chain->nat_expired));
	fflush(stdout);
}
