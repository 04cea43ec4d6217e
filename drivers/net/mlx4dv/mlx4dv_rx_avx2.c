/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive bursts compiled for AVX2. */

#include "mlx4dv_rx_vec_rings.h"
#include "mlx4dv_rx_run.h"
#include "mlx4dv_rx_ways.h"

const struct mdv_rx_ways mdv_rx_avx2 = MDV_RX_WAYS("Vector AVX2");
