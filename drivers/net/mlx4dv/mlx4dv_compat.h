/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_COMPAT_H_
#define MLX4DV_COMPAT_H_

/* The only file that knows DPDK releases apart. */

#include <rte_version.h>

#endif /* MLX4DV_COMPAT_H_ */
