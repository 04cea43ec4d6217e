/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive bursts compiled for AVX-512 (F, BW, VL). */

#include "mlx4dv_rx_vec_rings.h"
#include "mlx4dv_rx_run.h"
#include "mlx4dv_rx_ways.h"

const struct mdv_rx_ways mdv_rx_avx512 = MDV_RX_WAYS("Vector AVX512");
