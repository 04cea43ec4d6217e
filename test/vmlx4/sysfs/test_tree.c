/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sysfs/sysfs.h"

#define PCI "bus/pci/devices/0000:05:00.0/"

static char root[] = "vmlx4-tree-XXXXXX";

static void
build(const char *text)
{
	struct vmlx4_options options;
	char error[256] = "";

	assert_int_equal(vmlx4_options_parse(text, &options, error, sizeof(error)), 0);
	assert_int_equal(vmlx4_sysfs_build(&options, root, error, sizeof(error)), 0);
}

static void
holds(const char *name, const char *expected)
{
	char path[PATH_MAX], text[512] = "";
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_true(length > 0 && text[length - 1] == '\n');
	text[length - 1] = '\0';
	assert_string_equal(text, expected);
}

static bool
present(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static void
what_libibverbs_reads(void **state)
{
	(void)state;
	build("");
	holds("class/infiniband_verbs/abi_version", "6");
	holds("class/infiniband_verbs/uverbs0/dev", "231:192");
	holds("class/infiniband_verbs/uverbs0/ibdev", "mlx4_0");
	holds("class/infiniband_verbs/uverbs0/abi_version", "4");
	holds("class/infiniband/mlx4_0/node_type", "1: CA");
	holds("class/infiniband/mlx4_0/node_guid", "0002:c903:0005:0000");
	holds("class/infiniband/mlx4_0/sys_image_guid", "0002:c903:0005:0003");
	holds("class/infiniband/mlx4_0/fw_ver", "2.42.5000");
	holds("class/infiniband/mlx4_0/hca_type", "MT4103");
	holds("class/infiniband/mlx4_0/device/modalias",
		"pci:v000015B3d00001007sv000015B3sd00000055bc02sc00i00");
	holds("class/infiniband/mlx4_0/ports/2/gids/0",
		"fe80:0000:0000:0000:0202:c9ff:fe05:0002");
	holds("class/infiniband/mlx4_0/ports/2/gids/1",
		"fe80:0000:0000:0000:0202:c9ff:fe05:0002");
	holds("class/infiniband/mlx4_0/ports/2/gids/127",
		"0000:0000:0000:0000:0000:0000:0000:0000");
	assert_false(present("class/infiniband/mlx4_0/ports/2/gids/128"));
	holds("class/infiniband/mlx4_0/ports/1/gid_attrs/types/0", "IB/RoCE v1");
	holds("class/infiniband/mlx4_0/ports/1/gid_attrs/types/1", "RoCE v2");
	holds("class/infiniband/mlx4_0/ports/1/gid_attrs/ndevs/1", "vmlx4p1");
	holds("class/infiniband/mlx4_0/ports/1/pkeys/0", "0xffff");
	holds("class/infiniband/mlx4_0/ports/1/link_layer", "Ethernet");
}

static void
what_dpdk_reads(void **state)
{
	char path[PATH_MAX], target[PATH_MAX] = "", line[128];
	unsigned long long start, end, flags;
	unsigned int lines = 0;
	FILE *file;

	(void)state;
	build("profile=cx3");
	holds(PCI "vendor", "0x15b3");
	holds(PCI "device", "0x1003");
	holds(PCI "class", "0x020000");
	assert_true(present(PCI "subsystem_vendor") && present(PCI "subsystem_device"));
	/* A link whose last part names the kernel driver. */
	snprintf(path, sizeof(path), "%s/" PCI "driver", root);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(strrchr(target, '/'), "/mlx4_core");
	assert_true(present(PCI "driver/"));
	snprintf(path, sizeof(path), "%s/" PCI "resource", root);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		assert_int_equal(sscanf(line, "0x%llx 0x%llx 0x%llx", &start, &end, &flags), 3);
		lines++;
	}
	fclose(file);
	assert_true(lines >= 6);
	holds("class/infiniband/mlx4_0/device/net/vmlx4p1/dev_port", "0");
	holds("class/infiniband/mlx4_0/device/net/vmlx4p2/dev_port", "1");
	holds("class/infiniband/mlx4_0/device/net/vmlx4p2/dev_id", "0x1");
	holds("class/infiniband/mlx4_0/device/net/vmlx4p2/address", "00:02:c9:05:00:02");
	holds("class/infiniband/mlx4_0/device/net/vmlx4p2/mtu", "1500");
	holds("class/infiniband/mlx4_0/device/net/vmlx4p2/operstate", "up");
	holds("class/net/vmlx4p1/carrier", "1");
}

static void
modules_and_steering(void **state)
{
	(void)state;
	build("");
	holds("module/mlx4_core/parameters/log_num_mgm_entry_size", "-1");
	assert_true(present("module/mlx4_en") && present("module/mlx4_ib") &&
		present("module/ib_uverbs"));
}

static void
steering_of_old_firmware(void **state)
{
	(void)state;
	build("profile=cx3-old-fw");
	holds("module/mlx4_core/parameters/log_num_mgm_entry_size", "10");
}

static void
one_port(void **state)
{
	(void)state;
	build("ports=1 mtu=9000");
	assert_true(present("class/infiniband/mlx4_0/ports/1"));
	assert_false(present("class/infiniband/mlx4_0/ports/2"));
	assert_true(present(PCI "net/vmlx4p1"));
	assert_false(present(PCI "net/vmlx4p2"));
	holds(PCI "net/vmlx4p1/mtu", "9000");
}

static void
infiniband_port_has_no_interface(void **state)
{
	(void)state;
	build("ib=2");
	holds("class/infiniband/mlx4_0/ports/1/link_layer", "Ethernet");
	holds("class/infiniband/mlx4_0/ports/2/link_layer", "InfiniBand");
	holds("class/infiniband/mlx4_0/ports/2/gids/0",
		"fe80:0000:0000:0000:0002:c903:0005:0002");
	assert_true(present(PCI "net/vmlx4p1"));
	assert_false(present(PCI "net/vmlx4p2"));
	assert_false(present("class/infiniband/mlx4_0/ports/2/gid_attrs/ndevs"));
}

static void
another_pci_address(void **state)
{
	(void)state;
	build("pci=0000:0a:02.3");
	assert_false(present("bus/pci/devices/0000:05:00.0"));
	holds("bus/pci/devices/0000:0a:02.3/net/vmlx4p1/address", "00:02:c9:0a:13:01");
	holds("class/infiniband/mlx4_0/node_guid", "0002:c903:000a:1300");
}

static void
reports_a_place_it_cannot_write(void **state)
{
	struct vmlx4_options options;
	char error[256] = "";

	(void)state;
	assert_int_equal(vmlx4_options_parse("", &options, error, sizeof(error)), 0);
	assert_int_equal(vmlx4_sysfs_build(&options, "/proc/nowhere", error, sizeof(error)),
		-ENOENT);
	assert_non_null(strstr(error, "/proc/nowhere/"));
}

static void
removes_only_its_own(void **state)
{
	char path[PATH_MAX];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/precious", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(vmlx4_sysfs_remove(root), -ENOTEMPTY);
	assert_true(present("precious"));
	unlink(path);
}

static int
set_up(void **state)
{
	(void)state;
	strcpy(root + sizeof(root) - 7, "XXXXXX");
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	if (vmlx4_sysfs_remove(root) != 0)
		return -1;
	return access(root, F_OK) < 0 ? 0 : -1;
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(what_libibverbs_reads),
		TREE_TEST(what_dpdk_reads),
		TREE_TEST(modules_and_steering),
		TREE_TEST(steering_of_old_firmware),
		TREE_TEST(one_port),
		TREE_TEST(infiniband_port_has_no_interface),
		TREE_TEST(another_pci_address),
		TREE_TEST(reports_a_place_it_cannot_write),
		TREE_TEST(removes_only_its_own),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
