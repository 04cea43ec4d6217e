/* SPDX-License-Identifier: BSD-3-Clause */

/*
 *	raw_packet --list
 *	raw_packet [--step] [NAME...]
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "raw_packet.h"

const char *running = "start-up";
bool stepped;
int (*step_adapter)(unsigned int budget);

static const struct trial *const groups[] = { send_trials, receive_trials, fault_trials };
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static void
run_trial(const struct trial *trial, struct ibv_device *device)
{
	struct end a = { 0 }, b = { 0 };

	running = trial->name;
	open_end(&a, device, 1);
	open_end(&b, device, 2);
	trial->run(&a, &b);
	close_end(&b);
	close_end(&a);
	printf("ok %s\n", trial->name);
	fflush(stdout);
}

static const struct trial *
find_trial(const char *name)
{
	const struct trial *trial;
	unsigned int i;

	for (i = 0; i < GROUPS; i++)
		for (trial = groups[i]; trial->name != NULL; trial++)
			if (strcmp(trial->name, name) == 0)
				return trial;
	fprintf(stderr, "raw_packet: nothing is called '%s'; see raw_packet --list\n", name);
	exit(2);
}

static void
list_trials(void)
{
	const struct trial *trial;
	unsigned int i;

	for (i = 0; i < GROUPS; i++)
		for (trial = groups[i]; trial->name != NULL; trial++)
			printf("%s%s\n", trial->name, trial->violates ? " violates" : "");
}

static void
run_all(struct ibv_device *device)
{
	const struct trial *trial;
	unsigned int i;

	for (i = 0; i < GROUPS; i++)
		for (trial = groups[i]; trial->name != NULL; trial++)
			if (!trial->violates)
				run_trial(trial, device);
}

int
main(int argc, char **argv)
{
	struct ibv_device **list;
	int first = 1, i;

	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		list_trials();
		return EXIT_SUCCESS;
	}
	if (argc > 1 && strcmp(argv[1], "--step") == 0) {
		step_adapter = (int (*)(unsigned int))dlsym(RTLD_DEFAULT, "vmlx4_step");
		if (step_adapter == NULL) {
			fprintf(stderr, "raw_packet: --step works under \"vmlx4 exec --step\"\n");
			return 2;
		}
		stepped = true;
		first = 2;
	}
	list = ibv_get_device_list(NULL);
	if (list == NULL || list[0] == NULL) {
		fprintf(stderr, "raw_packet: no verbs device\n");
		return EXIT_FAILURE;
	}
	for (i = first; i < argc; i++)
		run_trial(find_trial(argv[i]), list[0]);
	if (first == argc)
		run_all(list[0]);
	ibv_free_device_list(list);
	return EXIT_SUCCESS;
}
