/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_WAYS_H_
#define MLX4DV_RX_WAYS_H_

/* The receive bursts of queues with one segment, as each instruction set has them. */

#include "mlx4dv_rxtx.h"

typedef uint16_t mdv_rx_receive_t(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n);

struct mdv_rx_ways {
	const char *name;         /* as rte_eth_rx_burst_mode_get() tells it */
	mdv_rx_receive_t *plain, *offloads, *tags, *full;
};

extern const struct mdv_rx_ways mdv_rx_scalar;
extern const struct mdv_rx_ways mdv_rx_vec128;
extern const struct mdv_rx_ways mdv_rx_avx2;
extern const struct mdv_rx_ways mdv_rx_avx512;

/* The three of a file that has included mlx4dv_rx_run.h. */
#define MDV_RX_WAYS(name_) { .name = (name_), .plain = rx_receive_plain, \
	.offloads = rx_receive_offloads, .tags = rx_receive_tags, .full = rx_receive_full }

#endif /* MLX4DV_RX_WAYS_H_ */
