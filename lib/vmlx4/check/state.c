/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "../hca/internal.h"
#include "state.h"

void
vmlx4_check_start(struct vmlx4_adapter *adapter)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!vmlx4_strict(adapter) || adapter->check != NULL)
		return;
	adapter->check = vmlx4_zalloc(sizeof(*adapter->check));
	if (adapter->check == NULL)
		return; /* less is seen then */
	/* The generator stands still at 0. */
	adapter->check->lot = adapter->options.seed ^ 0x9e3779b97f4a7c15u;
	if (adapter->check->lot == 0)
		adapter->check->lot = 1;
	adapter->check->untold_memory =
		preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
}

void
vmlx4_check_stop(struct vmlx4_adapter *adapter)
{
	free(adapter->check);
	adapter->check = NULL;
}
