/* SPDX-License-Identifier: BSD-3-Clause */

/* The runner: which tests there are, and what none of them may leave behind. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>

#include "harness.h"
#include "internal.h"

static struct test *tests;

void
test_register(struct test *test)
{
	struct test **at = &tests;

	while (*at != NULL && strcmp((*at)->name, test->name) < 0)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

/* ---- leaks ---- */

static void
check_objects(const struct vmlx4_object_counts *before)
{
	struct vmlx4_object_counts after = object_counts();

#define CHECK_KIND(kind)                                                  \
	CHECK_MSG(after.kind == before->kind, "%lld " #kind " left over", \
		(long long)after.kind - (long long)before->kind)
	CHECK_KIND(contexts);
	CHECK_KIND(pds);
	CHECK_KIND(mrs);
	CHECK_KIND(mr_bytes);
	CHECK_KIND(channels);
	CHECK_KIND(cqs);
	CHECK_KIND(qps);
	CHECK_KIND(wqs);
	CHECK_KIND(tables);
	CHECK_KIND(flows);
#undef CHECK_KIND
}

static void
run_test(const struct test *test)
{
	struct vmlx4_object_counts before = object_counts();
	unsigned int fds = fds_count(false);
	unsigned int fds_after;

	test_running(test->name);
	wire_stats_begin();
	test->run();
	ports_close_all();
	captures_stop();
	check_objects(&before);
	fds_after = fds_count(false);
	if (fds_after != fds) {
		fds_count(true);
		FAIL("%d file descriptors left over", (int)(fds_after - fds));
	}
	pools_release_all();
	CHECK_EQ(vmlx4_violations(), 0);
	printf("ok %s\n", test->name);
	fflush(stdout);
}

static const struct test *
find_test(const char *name)
{
	const struct test *test;

	for (test = tests; test != NULL; test = test->next)
		if (strcmp(test->name, name) == 0)
			return test;
	fprintf(stderr, "mdv-test: no test is called '%s'; see mdv-test --list\n", name);
	exit(2);
}

int
main(int argc, char **argv)
{
	const struct test *test;
	int i;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (test = tests; test != NULL; test = test->next)
			puts(test->name);
		return EXIT_SUCCESS;
	}
	if (argc > 1 && argv[1][0] == '-') {
		fprintf(stderr, "usage: mdv-test [--list | NAME...]\n");
		return 2;
	}
	for (i = 1; i < argc; i++)
		find_test(argv[i]);
	eal_start("768");
	for (i = 1; i < argc; i++)
		run_test(find_test(argv[i]));
	for (test = tests; argc == 1 && test != NULL; test = test->next)
		run_test(test);
	eal_stop();
	return EXIT_SUCCESS;
}
