/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_BARRIER_H_
#define DVQ_BARRIER_H_

/*
 * Every ordering between the processor and the adapter, by what it is for.
 *
 * x86: queue memory is cached and coherent, stores become visible in program
 * order, loads too; and a store to the UAR page, mapped uncached, does not pass
 * earlier stores. So a compiler barrier is enough everywhere but at a BlueFlame
 * page, which is write-combining: stores to it are not ordered by themselves.
 *
 * Arm: the outer shareable domain includes the adapter. A store barrier orders
 * stores to memory and to the UAR page; a load barrier orders loads before
 * everything behind it.
 *
 * DVQ_BARRIER_HOOK(name), when defined before this file is included, runs at
 * each of them: a unit test looks at queue memory there.
 */

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DVQ_BARRIER_HOOK
#define DVQ_BARRIER_HOOK(name) ((void)0)
#endif

/** Earlier stores before later stores, both to memory or a UAR page. */
static inline void
dvq_barrier_store(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshst" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/** Earlier loads before later loads and stores. */
static inline void
dvq_barrier_load(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/** Memory that the adapter writes is read anew by plain loads behind it. */
static inline void
dvq_barrier_compiler(void)
{
	__asm__ volatile("" ::: "memory");
}

/**
 * Bytes 4..63 of each later block of a WQE before the first dwords of those
 * blocks: the adapter may have prefetched a block and keeps it once dword 0 is
 * no stamp. (libmlx4, mlx4_en)
 */
static inline void
dvq_barrier_block_before_head(void)
{
	dvq_barrier_store();
	DVQ_BARRIER_HOOK(block_before_head);
}

/** The whole WQE before its owner dword, which lets the adapter execute it. (libmlx4) */
static inline void
dvq_barrier_wqe_before_owner(void)
{
	dvq_barrier_store();
	DVQ_BARRIER_HOOK(wqe_before_owner);
}

/** The owner dwords before the send doorbell, or the kick finds no work. (libmlx4) */
static inline void
dvq_barrier_owner_before_doorbell(void)
{
	dvq_barrier_store();
	DVQ_BARRIER_HOOK(owner_before_doorbell);
}

/** The WQE in the ring before its copy in the BlueFlame page, write-combining. (libmlx4) */
static inline void
dvq_barrier_wqe_before_blueflame(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("sfence" ::: "memory");
#else
	dvq_barrier_store();
#endif
	DVQ_BARRIER_HOOK(wqe_before_blueflame);
}

/** The copy leaves the write-combining buffers now, and before the next one. (libmlx4) */
static inline void
dvq_barrier_blueflame_flush(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("sfence" ::: "memory");
#else
	dvq_barrier_store();
#endif
	DVQ_BARRIER_HOOK(blueflame_flush);
}

/** The receive WQEs before the doorbell record that counts them. (libmlx4) */
static inline void
dvq_barrier_rwqe_before_record(void)
{
	dvq_barrier_store();
	DVQ_BARRIER_HOOK(rwqe_before_record);
}

/** The load of a CQE's owner byte before the loads of its other fields. (libmlx4) */
static inline void
dvq_barrier_owner_before_cqe(void)
{
	dvq_barrier_load();
	DVQ_BARRIER_HOOK(owner_before_cqe);
}

/** All loads from consumed CQEs before the record that lets them be overwritten. (libmlx4) */
static inline void
dvq_barrier_cqe_before_ci(void)
{
	dvq_barrier_load();
	DVQ_BARRIER_HOOK(cqe_before_ci);
}

/** The arm record before the arm doorbell: the adapter may re-read the record. (libmlx4) */
static inline void
dvq_barrier_arm_before_doorbell(void)
{
	dvq_barrier_store();
	DVQ_BARRIER_HOOK(arm_before_doorbell);
}

#ifdef __cplusplus
}
#endif

#endif /* DVQ_BARRIER_H_ */
