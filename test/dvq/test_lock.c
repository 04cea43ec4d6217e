/* SPDX-License-Identifier: BSD-3-Clause */

/* The optional spinlock: several threads on one queue lose and double nothing. */

#include <pthread.h>
#include <sched.h>

#include "sendq.h"

#define THREADS 4
#define EACH 20000u

static struct {
	struct sendq s;
	struct dvq_spinlock lock;
	uint32_t seen[THREADS];         /* WQEs of each that the consumer found, in order */
	uint32_t consumed;
} t;

static void *
poster(void *argument)
{
	uint32_t who = (uint32_t)(uintptr_t)argument, i;
	struct dvq_sge sge;
	int ret;

	for (i = 0; i < EACH; i++) {
		sge = (struct dvq_sge){ .addr = (uint64_t)who << 32 | i, .len = 8 };
		do {
			ret = dvq_locked(&t.lock, dvq_post_send(&t.s.sq, &sge, 1, 0));
			/* With fewer processors than threads the consumer has to get one. */
			if (ret == -ENOMEM)
				sched_yield();
		} while (ret == -ENOMEM);
		if (ret != 0)
			return (void *)1;
	}
	return NULL;
}

/* In the adapter's place: execute what has the right owner bit, and complete it. */
static bool
consume_one(void)
{
	const uint8_t *wqe = dvq_sendq_wqe(&t.s.sq, t.consumed);
	uint32_t valid = (t.consumed & t.s.sq.cnt) != 0 ? DVQ_CTRL_OWNER : 0;
	uint32_t dword = __atomic_load_n((const uint32_t *)(const void *)wqe, __ATOMIC_ACQUIRE);
	uint64_t addr;

	if ((be32toh(dword) & DVQ_CTRL_OWNER) != valid)
		return false;
	memcpy(&addr, wqe + 24, sizeof(addr));
	addr = be64toh(addr);
	if (addr >> 32 >= THREADS || (uint32_t)addr != t.seen[addr >> 32])
		fail_msg("WQE %u is number %u of thread %u, %u was due", t.consumed, (uint32_t)addr,
			(uint32_t)(addr >> 32), t.seen[addr >> 32 & (THREADS - 1)]);
	t.seen[addr >> 32]++;
	t.consumed++;
	if (t.consumed % 8 == 0 || t.consumed == THREADS * EACH)
		dvq_locked(&t.lock, dvq_sendq_complete(&t.s.sq, (uint16_t)(t.consumed - 1)));
	return true;
}

static void
test_send_queue_of_several_threads(void **state)
{
	pthread_t threads[THREADS];
	uintptr_t i;
	void *result;

	(void)state;
	sendq_init(&t.s, 6, 256);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster, (void *)i), 0);
	while (t.consumed < THREADS * EACH)
		if (!consume_one())
			sched_yield();
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
		assert_int_equal(t.seen[i], EACH);
	}
	assert_int_equal(t.s.sq.ci, THREADS * EACH);
	assert_int_equal(t.lock.taken, 0);
}

static void
test_lock_and_trylock(void **state)
{
	struct dvq_spinlock lock = { 0 };

	(void)state;
	assert_true(dvq_trylock(&lock));
	assert_false(dvq_trylock(&lock));
	dvq_unlock(&lock);
	dvq_lock(&lock);
	assert_false(dvq_trylock(&lock));
	dvq_unlock(&lock);
	assert_int_equal(dvq_locked(&lock, lock.taken + 41), 42);
	assert_int_equal(lock.taken, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lock_and_trylock),
		cmocka_unit_test(test_send_queue_of_several_threads),
	};

	return cmocka_run_group_tests_name("dvq: locks", tests, NULL, NULL);
}
