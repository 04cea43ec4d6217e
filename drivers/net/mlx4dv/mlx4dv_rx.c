/* SPDX-License-Identifier: BSD-3-Clause */

/* Which receive burst a queue has, and the scalar one of queues with one segment. */

#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "mlx4dv_rx_run.h"
#include "mlx4dv_rx_ways.h"

const struct mdv_rx_ways mdv_rx_scalar = MDV_RX_WAYS("Scalar");

/* What an idle core spends its time on. */
static inline bool
rx_idle(const struct mdv_rxq *rxq)
{
	return ((*rxq->next_owner ^ rxq->next_expected) & DVQ_CQE_OWNER) != 0;
}

/* By enum mdv_rx_way; the first ones as mdv_rx_choose() found this process's CPU. */
static mdv_rx_receive_t *ways[] = {
	[MDV_RX_SCATTERED] = mdv_rx_receive_scattered,
	[MDV_RX_SPLIT] = mdv_rx_receive_split,
#if MDV_HAS_RECYCLE
	[MDV_RX_RECYCLED] = mdv_rx_receive_recycled,
#endif
};
static const struct mdv_rx_ways *chosen = &mdv_rx_scalar;

/* One for all queues: each has its own way to receive, and may change it. */
static uint16_t
rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_rxq *rxq = queue;

	if (rx_idle(rxq) || unlikely(MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING))
		return 0;
	return ways[MDV_LOAD_ACQUIRE(&rxq->way)](rxq, pkts, n);
}

/* The least that does what the queue is asked for. */
void
mdv_rx_select(struct mdv_rxq *rxq)
{
	enum mdv_rx_way way = MDV_RX_PLAIN;

	if (rxq->recycle.on)
		way = MDV_RX_RECYCLED;
	else if (rxq->split != NULL)
		way = MDV_RX_SPLIT;
	else if (rxq->sges_n != 0)
		way = MDV_RX_SCATTERED;
	else if (rxq->timestamp_flag != 0 || rxq->vlan_ids != NULL)
		way = MDV_RX_FULL;
	else if (rxq->vlan_strip || rxq->qinq_strip)
		way = MDV_RX_TAGS;
	else if ((rxq->csum_flags | rxq->rss_flag) != 0)
		way = MDV_RX_OFFLOADS;
	MDV_STORE_RELEASE(&rxq->way, way);
}

/* ---- what the CPU can do ---- */

static const struct mdv_rx_ways *
widest(void)
{
	uint16_t bits = rte_vect_get_max_simd_bitwidth();

#ifdef MDV_HAVE_AVX512
	if (bits >= RTE_VECT_SIMD_512 && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512F) > 0 &&
	    rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512BW) > 0 &&
	    rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512VL) > 0)
		return &mdv_rx_avx512;
#endif
#ifdef MDV_HAVE_AVX2
	if (bits >= RTE_VECT_SIMD_256 && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0)
		return &mdv_rx_avx2;
#endif
#ifdef MDV_HAVE_VEC128
	if (bits >= RTE_VECT_SIMD_128)
		return &mdv_rx_vec128;
#endif
	return &mdv_rx_scalar;
}

mdv_rx_burst_t *
mdv_rx_choose(void)
{
	chosen = widest();
	ways[MDV_RX_PLAIN] = chosen->plain;
	ways[MDV_RX_OFFLOADS] = chosen->offloads;
	ways[MDV_RX_TAGS] = chosen->tags;
	ways[MDV_RX_FULL] = chosen->full;
	return rx_burst;
}

const char *
mdv_rx_way_name(const struct mdv_rxq *rxq)
{
	switch (MDV_LOAD_ACQUIRE(&rxq->way)) {
	case MDV_RX_SCATTERED:
		return "Scalar Scattered";
	case MDV_RX_SPLIT:
		return "Scalar Split";
#if MDV_HAS_RECYCLE
	case MDV_RX_RECYCLED:
		return "Scalar Recycled";
#endif
	default:
		return chosen->name;
	}
}
