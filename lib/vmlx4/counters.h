/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_COUNTERS_H_
#define VMLX4_COUNTERS_H_

#include "vmlx4.h"

/* The members of struct vmlx4_port_stats, for all who go through them. */

/* Each tells of something that did not go its way. */
#define VMLX4_DROP_COUNTERS(X) \
	X(tx_oversize) X(tx_link_down) X(tx_wire_drops) X(tx_errors) \
	X(rx_no_rule) X(rx_no_wqe) \
	X(rx_oversize) X(rx_dropped_by_rule) X(rx_cq_overrun) X(rx_errors) X(rx_link_down) \
	X(rx_runt) X(rx_wire_drops) X(rx_wire_bad) X(rx_crc_errors) X(rx_overruns) \
	X(rx_roce_sequence) X(rx_roce_bad) X(rx_roce_no_qp) X(rx_roce_qkey) \
	X(rx_roce_no_wqe) X(rx_roce_refused)

#define VMLX4_PORT_COUNTERS(X) \
	X(tx_frames) X(tx_bytes) X(tx_loopback) X(tx_lso) X(tx_pause) \
	X(rx_frames) X(rx_bytes) X(rx_multicast) X(rx_broadcast) X(rx_pause) \
	X(tx_roce) X(tx_roce_timeouts) X(tx_roce_sequence) X(tx_roce_rnr) X(rx_roce_rnr) \
	X(rx_roce_invalid) X(rx_roce_access) \
	VMLX4_DROP_COUNTERS(X)

/* Sums as the interface's statistics have them. */
static inline uint64_t
vmlx4_rx_errors(const struct vmlx4_port_stats *stats)
{
	return stats->rx_errors + stats->rx_oversize + stats->rx_runt + stats->rx_crc_errors;
}

static inline uint64_t
vmlx4_rx_dropped(const struct vmlx4_port_stats *stats)
{
	return stats->rx_no_wqe + stats->rx_no_rule + stats->rx_dropped_by_rule +
		stats->rx_cq_overrun + stats->rx_roce_no_qp + stats->rx_roce_qkey +
		stats->rx_roce_no_wqe + stats->rx_roce_refused;
}

static inline uint64_t
vmlx4_tx_dropped(const struct vmlx4_port_stats *stats)
{
	return stats->tx_oversize + stats->tx_link_down + stats->tx_wire_drops;
}

#define VMLX4_COUNT_ONE(name) + sizeof(((struct vmlx4_port_stats *)NULL)->name)
_Static_assert(0 VMLX4_PORT_COUNTERS(VMLX4_COUNT_ONE) == sizeof(struct vmlx4_port_stats),
	"every counter is in the list");
#undef VMLX4_COUNT_ONE

#endif /* VMLX4_COUNTERS_H_ */
