/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_LOG_H_
#define MLX4DV_LOG_H_

#include <rte_log.h>

#include "mlx4dv_compat.h"

extern int mdv_logtype;

/* One line; level is a bare name such as ERR. */
#define MDV_LOG(level, ...) \
	MDV_LOG_LINE(level, mdv_logtype, \
		RTE_FMT("net_mlx4dv: " RTE_FMT_HEAD(__VA_ARGS__,), RTE_FMT_TAIL(__VA_ARGS__,)))

/* The same, led by the name of the port. */
#define MDV_PLOG(priv, level, ...) \
	MDV_LOG_LINE(level, mdv_logtype, \
		RTE_FMT("net_mlx4dv: %s: " RTE_FMT_HEAD(__VA_ARGS__,), \
			(priv)->data->name, RTE_FMT_TAIL(__VA_ARGS__,)))

#endif /* MLX4DV_LOG_H_ */
