/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hca/placement.h"

static cpu_set_t
cpus(unsigned int bits)
{
	cpu_set_t set;
	unsigned int i;

	CPU_ZERO(&set);
	for (i = 0; i < 32; i++)
		if ((bits >> i & 1) != 0)
			CPU_SET(i, &set);
	return set;
}

static void
check_choice(unsigned int allowed, const unsigned int *busy, unsigned int expected)
{
	cpu_set_t from = cpus(allowed), want = cpus(expected), got;

	vmlx4_placement_choose(&from, busy, &got);
	assert_true(CPU_EQUAL(&got, &want));
}

static void
chooses_the_least_busy_of_the_allowed(void **state)
{
	unsigned int busy[CPU_SETSIZE] = { 0 };

	(void)state;
	check_choice(0x3, busy, 0x3);
	busy[1] = 1;
	check_choice(0x3, busy, 0x1);
	busy[0] = 1;
	check_choice(0x3, busy, 0x3);
	busy[0] = 2;
	check_choice(0x3, busy, 0x2);
	check_choice(0x7, busy, 0x4);
	check_choice(0x1, busy, 0x1);
}

static atomic_bool spin_end;

static void *
spin(void *arg)
{
	(void)arg;
	while (!atomic_load(&spin_end))
		;
	return NULL;
}

/* A thread that spins on one CPU, and the engine that is late n times. */
static void
rest(struct vmlx4_placement *placement, unsigned int n, uint64_t late_ns)
{
	static uint64_t now = 1;

	for (; n != 0; n--) {
		vmlx4_placement_rested(placement, now, now + 1000 + late_ns, 1000);
		now += 1000 + late_ns;
	}
}

static void
leaves_a_cpu_that_a_busy_thread_has(void **state)
{
	struct vmlx4_placement placement;
	cpu_set_t allowed, one;
	pthread_attr_t attr;
	pthread_t thread;
	int cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	if (CPU_COUNT(&allowed) < 2)
		skip();
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	assert_int_equal(pthread_create(&thread, &attr, spin, NULL), 0);
	pthread_attr_destroy(&attr);

	vmlx4_placement_init(&placement, &allowed);
	rest(&placement, 100, 1000);     /* not late enough to mean anything */
	assert_true(CPU_EQUAL(&placement.chosen, &allowed));
	rest(&placement, 7, 3000000);    /* not often enough */
	assert_true(CPU_EQUAL(&placement.chosen, &allowed));
	rest(&placement, 1, 3000000);
	assert_false(CPU_ISSET(cpu, &placement.chosen));

	atomic_store(&spin_end, true);
	pthread_join(thread, NULL);
	rest(&placement, 8, 3000000);    /* nobody is busy any more */
	assert_true(CPU_EQUAL(&placement.chosen, &allowed));
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_the_least_busy_of_the_allowed),
		cmocka_unit_test(leaves_a_cpu_that_a_busy_thread_has),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
