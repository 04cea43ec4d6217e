/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_ADAPTER_H_
#define VMLX4_ADAPTER_H_

#include <stdbool.h>

struct vmlx4_adapter;

/* Did the launcher hand over options? Without them this library stays inert. */
bool vmlx4_configured(void);

/*
 * The adapter of this process, or NULL before its first use and in a child
 * that inherited it over fork(): there is no engine there.
 */
struct vmlx4_adapter *vmlx4_adapter_get(void);

/* True in a child that inherited an adapter: its commands answer EIO. */
bool vmlx4_adapter_inherited(void);

/*
 * The same, and the memory is the child's own: false after vfork(), where the
 * child must leave everything alone.
 */
bool vmlx4_adapter_forked(void);

/* The adapter, brought to life if need be. NULL: one line on stderr says why. */
struct vmlx4_adapter *vmlx4_adapter_require(void);

/*
 * Serialises what starts and stops the engine: the first context, the last one,
 * the end of the process. Taken before adapter->lock.
 */
void vmlx4_life_lock(void);
void vmlx4_life_unlock(void);

/* Write options.stats_file, if there is one. The adapter is locked, or dying. */
void vmlx4_stats_write(struct vmlx4_adapter *adapter, bool last);

#endif /* VMLX4_ADAPTER_H_ */
