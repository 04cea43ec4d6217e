/* SPDX-License-Identifier: BSD-3-Clause */

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "placement.h"

#define LATE_NS 1000000u     /* a slice went to somebody else */
#define LATE_OFTEN 8u        /* so many times in a window is no accident */
#define WINDOW_NS 100000000u

void
vmlx4_placement_init(struct vmlx4_placement *placement, const cpu_set_t *allowed)
{
	memset(placement, 0, sizeof(*placement));
	placement->allowed = *allowed;
	placement->chosen = *allowed;
}

void
vmlx4_placement_choose(const cpu_set_t *allowed, const unsigned int *busy, cpu_set_t *chosen)
{
	unsigned int least = UINT_MAX;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && busy[cpu] < least)
			least = busy[cpu];
	CPU_ZERO(chosen);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && busy[cpu] == least)
			CPU_SET(cpu, chosen);
}

/* The CPU that a thread of this process is running on, or -1. */
static int
running_on(const char *tid)
{
	char path[64], line[512];
	const char *field;
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	/* Behind the name, which may hold anything: field 3 is the state, 39 the CPU. */
	field = strrchr(line, ')');
	if (field == NULL || strncmp(field, ") R ", 4) != 0)
		return -1;
	for (i = 2; field != NULL && i < 39; i++)
		field = strchr(field + 1, ' ');
	return field != NULL ? atoi(field) : -1;
}

static void
count_busy(unsigned int *busy)
{
	const long self = (long)gettid();
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int cpu;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || atol(entry->d_name) == self)
			continue;
		cpu = running_on(entry->d_name);
		if (cpu >= 0 && cpu < CPU_SETSIZE)
			busy[cpu]++;
	}
	closedir(dir);
}

static void
move(struct vmlx4_placement *placement)
{
	unsigned int busy[CPU_SETSIZE] = { 0 };
	cpu_set_t best;

	count_busy(busy);
	vmlx4_placement_choose(&placement->allowed, busy, &best);
	if (CPU_EQUAL(&best, &placement->chosen))
		return;
	if (sched_setaffinity(0, sizeof(best), &best) == 0)
		placement->chosen = best;
}

void
vmlx4_placement_rested(struct vmlx4_placement *placement, uint64_t from, uint64_t to,
	uint64_t asked_ns)
{
	if (to - from < asked_ns + LATE_NS)
		return;
	if (to - placement->window > WINDOW_NS) {
		placement->window = to;
		placement->late = 0;
	}
	if (++placement->late < LATE_OFTEN)
		return;
	placement->late = 0;
	move(placement);
}
