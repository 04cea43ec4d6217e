/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_LOCK_H_
#define DVQ_LOCK_H_

/*
 * For queues that several threads use. Without it a queue has one owner at a time
 * and no function here locks. One lock for each queue: a send queue, a receive queue
 * and a CQ can be used at the same time, also by two threads.
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A spinlock; all zero is free. Give it a cache line of its own, or its queue's. */
struct dvq_spinlock {
	uint32_t taken;
};

/** Take it unless somebody has it. */
static inline bool
dvq_trylock(struct dvq_spinlock *lock)
{
	return __atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE) == 0;
}

/** Wait for it, burning cycles. Not fair; not to be taken twice. */
static inline void
dvq_lock(struct dvq_spinlock *lock)
{
	while (!dvq_trylock(lock))
		while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED) != 0)
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#else
			__asm__ volatile("" ::: "memory");
#endif
}

/** Give it back. Everything stored before is seen by who takes it next. */
static inline void
dvq_unlock(struct dvq_spinlock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

/**
 * The result of @p call, made with the lock held:
 * dvq_locked(&lock, dvq_post_send(&sq, &sge, 1, 0)). For several calls in a row
 * (a batch and its doorbell) take the lock once around them.
 */
#define dvq_locked(lock, call) __extension__ ({ \
	struct dvq_spinlock *lock_ = (lock); \
	dvq_lock(lock_); \
	__typeof__(call) result_ = (call); \
	dvq_unlock(lock_); \
	result_; \
})

#ifdef __cplusplus
}
#endif

#endif /* DVQ_LOCK_H_ */
