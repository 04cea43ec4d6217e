/* SPDX-License-Identifier: BSD-3-Clause */

#include <unistd.h>

#include "../fault/fault.h"
#include "../profile.h"
#include "uverbs.h"

#define NS_PER_MS 1000000u

uint64_t
vmlx4_clock_now(const struct vmlx4_adapter *adapter)
{
	uint64_t now = vmlx4_time(adapter);
	uint64_t khz = adapter->profile->core_clock_khz;

	/* In two parts: the product of all of it would not fit. */
	now = now / NS_PER_MS * khz + now % NS_PER_MS * khz / NS_PER_MS;
	return adapter->faults != NULL ? vmlx4_fault_clock(adapter, now) : now;
}

void
vmlx4_clock_update(struct vmlx4_adapter *adapter)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct vmlx4_context *ctx;
	uint64_t now;

	if (adapter->profile->core_clock_khz == 0)
		return;
	now = htobe64(vmlx4_clock_now(adapter));
	/* One aligned store: a reader of the two halves sees a carry as the card shows it. */
	TAILQ_FOREACH(ctx, &adapter->contexts, next)
		__atomic_store_n((uint64_t *)(void *)(ctx->pages + 3 * page +
			VMLX4_CLOCK_OFFSET), now, __ATOMIC_RELAXED);
}
