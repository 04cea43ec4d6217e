/* SPDX-License-Identifier: BSD-3-Clause */

/* Counter files that a program opens are of the time it opens them. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "device.h"

static void
path_of(const char *name, char *path, size_t size)
{
	const char *root = getenv("SYSFS_PATH");

	assert_non_null(root);
	snprintf(path, size, "%s/class/net/vmlx4p1/statistics/%s", root, name);
}

static unsigned long long
by_open(const char *name)
{
	char path[512], text[64] = "";
	int fd;

	path_of(name, path, sizeof(path));
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}

static unsigned long long
by_fopen(const char *name)
{
	char path[512], text[64] = "";
	FILE *file;

	path_of(name, path, sizeof(path));
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	return strtoull(text, NULL, 10);
}

static void
inject(unsigned int count)
{
	static const uint8_t frame[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0 };

	while (count-- > 0)
		assert_int_equal(vmlx4_inject(1, frame, sizeof(frame)), 0);
	vmlx4_step(0);
}

/* No rule wants these frames: drops. */
static void
test_files_are_fresh(void **state)
{
	unsigned long long before = by_open("rx_dropped");

	(void)state;
	inject(3);
	assert_int_equal(by_open("rx_dropped"), before + 3);
	inject(2);
	assert_int_equal(by_fopen("rx_dropped"), before + 5);
	assert_int_equal(by_fopen("rx_packets"), by_open("rx_packets"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_files_are_fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
