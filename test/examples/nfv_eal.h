/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_NFV_EAL_H_
#define TEST_NFV_EAL_H_

/* An EAL without huge pages, devices or files shared with others. */

#include <sched.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>

static int
start_eal(void **state)
{
	static char words[][32] = { "test", "--no-huge", "--no-shconf", "--no-telemetry",
		"--no-pci", "--log-level=error", "-m", "512", "--lcores", "0@cpu" };
	char *argv[RTE_DIM(words)];
	unsigned int i;
	cpu_set_t cpus;
	int cpu = 0;

	(void)state;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &cpus))
			cpu++;
	snprintf(words[RTE_DIM(words) - 1], sizeof(words[0]), "0@%d", cpu);
	for (i = 0; i < RTE_DIM(words); i++)
		argv[i] = words[i];
	return rte_eal_init(RTE_DIM(argv), argv) < 0;
}

#endif /* TEST_NFV_EAL_H_ */
