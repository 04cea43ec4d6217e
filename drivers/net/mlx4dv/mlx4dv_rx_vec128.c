/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive bursts compiled for the 128 bits that every supported CPU has: SSE4.2, NEON. */

#include "mlx4dv_rx_vec_rings.h"
#include "mlx4dv_rx_run.h"
#include "mlx4dv_rx_ways.h"

const struct mdv_rx_ways mdv_rx_vec128 = MDV_RX_WAYS("Vector");
