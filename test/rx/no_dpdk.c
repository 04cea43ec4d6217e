/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What test_rx_bursts.c needs of DPDK and of the rest of the driver beyond headers, for
 * a processor whose libraries are not at hand (devtools/check-arm.sh).
 */

#include <stdlib.h>

#include <rte_vect.h>

#include "mlx4dv.h"
#include "mlx4dv_rx_ways.h"

RTE_DEFINE_PER_LCORE(unsigned int, _lcore_id);
struct rte_mempool_ops_table rte_mempool_ops_table;

void
__rte_panic(const char *function, const char *format, ...)
{
	(void)function;
	(void)format;
	abort();
}

uint16_t
rte_vect_get_max_simd_bitwidth(void)
{
	return RTE_VECT_SIMD_128;
}

uint16_t
mdv_rx_receive_split(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	(void)rxq;
	(void)pkts;
	(void)n;
	abort();
}

int
mdv_rx_split_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	(void)rxq;
	(void)ring;
	abort();
}

void
mdv_rx_split_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	(void)rxq;
	(void)ring;
	abort();
}

int
mdv_mr_get(struct mdv_priv *priv, uintptr_t addr, size_t length, struct rte_mempool *mp,
	struct mdv_mr_entry *entry)
{
	(void)priv;
	(void)addr;
	(void)length;
	(void)mp;
	(void)entry;
	abort();
}

uint32_t
rte_mempool_mem_iter(struct rte_mempool *mp, rte_mempool_mem_cb_t *callback, void *arg)
{
	(void)mp;
	(void)callback;
	(void)arg;
	abort();
}
