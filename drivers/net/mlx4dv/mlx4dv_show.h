/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_SHOW_H_
#define MLX4DV_SHOW_H_

/*
 * The state of a port in names and values, for whoever presents it: the dump into a
 * file and the telemetry socket show the same.
 */

#include <stdint.h>

#include "mlx4dv.h"

struct mdv_shown {
	void (*text)(struct mdv_shown *to, const char *name, const char *value);
	void (*number)(struct mdv_shown *to, const char *name, uint64_t value);
};

void mdv_show_device(struct mdv_priv *priv, struct mdv_shown *to);
void mdv_show_rxq(const struct mdv_rxq *rxq, struct mdv_shown *to);
void mdv_show_txq(const struct mdv_txq *txq, struct mdv_shown *to);
void mdv_show_memory(struct mdv_priv *priv, struct mdv_shown *to);
void mdv_show_errors(struct mdv_priv *priv, struct mdv_shown *to);
void mdv_show_flows(struct mdv_priv *priv, struct mdv_shown *to);

/* mlx4dv_flow.c: how many rules, and how many of them are in the adapter */
void mdv_flow_count(const struct mdv_priv *priv, uint64_t *rules, uint64_t *installed);

#endif /* MLX4DV_SHOW_H_ */
