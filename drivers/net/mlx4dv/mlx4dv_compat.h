/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_COMPAT_H_
#define MLX4DV_COMPAT_H_

/*
 * The only file that knows DPDK releases apart, 22.11 to 26.11. Code uses the
 * newest form of an interface where the old one can be dressed up as it.
 */

#include <stdint.h>

#include <rte_common.h>
#include <rte_log.h>
#include <rte_version.h>

/* One log line: level, type, prefix (a literal with its arguments), format. */
#define MDV_LOG_LINE(level, type, ...) \
	rte_log(RTE_LOG_ ## level, type, RTE_FMT(RTE_FMT_HEAD(__VA_ARGS__,) "\n", \
		RTE_FMT_TAIL(__VA_ARGS__,)))

/* 23.11 renamed the atomics. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#include <rte_stdatomic.h>
#define MDV_LOAD_ACQUIRE(p) rte_atomic_load_explicit(p, rte_memory_order_acquire)
#define MDV_STORE_RELEASE(p, v) rte_atomic_store_explicit(p, v, rte_memory_order_release)
#else
#define MDV_LOAD_ACQUIRE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define MDV_STORE_RELEASE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif

/* Objects that may be put into a pool's cache by hand; none where the pool counts them. */
#if defined(RTE_LIBRTE_MEMPOOL_DEBUG) || defined(RTE_LIBRTE_MEMPOOL_STATS)
#define MDV_CACHE_LIMIT(cache) (0 * (cache)->len)
#else
#define MDV_CACHE_LIMIT(cache) ((cache)->flushthresh)
#endif

/* 23.11 brought rte_eth_recycle_mbufs(). */
#define MDV_HAS_RECYCLE (RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0))

/* 25.11 lets rte_eth_rx_queue_count() fail. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
typedef int mdv_queue_count_t;
#else
typedef uint32_t mdv_queue_count_t;
#endif

/* 25.11 moved the counters of queues out of rte_eth_stats. */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
#define MDV_STATS_QUEUES_ARG , struct eth_queue_stats *queues
#define MDV_STATS_QUEUES(stats) (queues)
#else
#define MDV_STATS_QUEUES_ARG
#define MDV_STATS_QUEUES(stats) (stats)
#endif

/* 24.03 wants the length of the list as well. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 3, 0, 0)
#define MDV_PTYPES_COUNT_ARG , size_t *no_of_elements
#define MDV_PTYPES_SET_COUNT(n) (*no_of_elements = (n))
#else
#define MDV_PTYPES_COUNT_ARG
#define MDV_PTYPES_SET_COUNT(n) RTE_SET_USED(n)
#endif

/*
 * The cache of a pool that the calling thread may take mbufs out of by hand, or NULL:
 * builds of DPDK that check or count its objects want to be asked.
 */
#if defined(RTE_LIBRTE_MEMPOOL_DEBUG) || defined(RTE_LIBRTE_MEMPOOL_STATS)
#define MDV_MEMPOOL_CACHE(mp) ((struct rte_mempool_cache *)NULL)
#else
#define MDV_MEMPOOL_CACHE(mp) rte_mempool_default_cache(mp, rte_lcore_id())
#endif

/* 23.03 named it after its type. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define MDV_TEL_ADD_DICT_UINT(d, name, value) rte_tel_data_add_dict_uint(d, name, value)
#else
#define MDV_TEL_ADD_DICT_UINT(d, name, value) rte_tel_data_add_dict_u64(d, name, value)
#endif

#endif /* MLX4DV_COMPAT_H_ */
