/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../wire/mock.h"
#include "sysfs/sysfs.h"

/* The files that tell of a port's counters. */

static char root[64];

static int
set_up(void **state)
{
	char error[256];

	(void)state;
	mock_reset("");
	strcpy(root, "/tmp/vmlx4-counters-XXXXXX");
	assert_non_null(mkdtemp(root));
	strcpy(mock_adapter.options.sysfs, root);
	mock_adapter.shown_at = 0;
	assert_int_equal(vmlx4_sysfs_build(&mock_adapter.options, root, error, sizeof(error)), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	free(mock_adapter.shown);
	mock_adapter.shown = NULL;
	return vmlx4_sysfs_remove(root);
}

/* The number in a file below class/; there must be nothing else in it. */
static unsigned long long
shown(const char *name)
{
	char path[PATH_MAX], line[64] = "", rest[8];
	unsigned long long value;
	FILE *file;

	snprintf(path, sizeof(path), "%s/class/%s", root, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_null(fgets(rest, sizeof(rest), file));
	assert_int_equal(sscanf(line, "%llu\n", &value), 1);
	fclose(file);
	return value;
}

static void
interface_statistics(void **state)
{
	struct vmlx4_port_stats *stats = &mock_adapter.ports[1].stats;

	(void)state;
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_packets"), 0);
	*stats = (struct vmlx4_port_stats){
		.rx_frames = 123456, .rx_bytes = 1ull << 40, .tx_frames = 7, .tx_bytes = 700,
		.rx_no_wqe = 5, .rx_no_rule = 40, .rx_multicast = 3, .rx_oversize = 2,
		.tx_wire_drops = 4, .tx_link_down = 10, .tx_oversize = 1, .rx_crc_errors = 80,
	};
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_packets"), 0);
	vmlx4_counters_update(&mock_adapter);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_packets"), 123456);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_bytes"), 1ull << 40);
	assert_int_equal(shown("net/vmlx4p2/statistics/tx_packets"), 7);
	assert_int_equal(shown("net/vmlx4p2/statistics/tx_bytes"), 700);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_dropped"), 45);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_errors"), 82);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_crc_errors"), 80);
	assert_int_equal(shown("net/vmlx4p2/statistics/rx_missed_errors"), 5);
	assert_int_equal(shown("net/vmlx4p2/statistics/multicast"), 3);
	assert_int_equal(shown("net/vmlx4p2/statistics/tx_dropped"), 15);
	assert_int_equal(shown("net/vmlx4p2/statistics/tx_carrier_errors"), 14);
	assert_int_equal(shown("net/vmlx4p2/statistics/collisions"), 0);
	/* The other port's are its own. */
	assert_int_equal(shown("net/vmlx4p1/statistics/rx_packets"), 0);
}

static void
verbs_counters(void **state)
{
	struct vmlx4_port *port = &mock_adapter.ports[0];

	(void)state;
	port->stats = (struct vmlx4_port_stats){ .rx_frames = 3, .rx_bytes = 403, .tx_frames = 2,
		.tx_bytes = 200 };
	port->syndromes[1][0x04] = 6;
	port->syndromes[0][0x01] = 7;
	port->syndromes[1][0x05] = 8;
	mock_adapter.cq_overruns = 9;
	vmlx4_counters_update(&mock_adapter);
	/* Data in words of four bytes. */
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/counters/port_rcv_data"), 100);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/counters/port_rcv_packets"), 3);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/counters/port_xmit_data"), 50);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/counters/port_xmit_packets"), 2);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/counters/symbol_error"), 0);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/hw_counters/sq_num_lpe"), 6);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/hw_counters/rq_num_lle"), 7);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/hw_counters/sq_num_wrfe"), 8);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/hw_counters/rq_num_lpe"), 0);
	assert_int_equal(shown("infiniband/mlx4_0/ports/1/hw_counters/num_cqovf"), 9);
	mock_adapter.cq_overruns = 0;
	memset(port->syndromes, 0, sizeof(port->syndromes));
}

/* The engine's own: not more than once a second. */
static void
once_a_second(void **state)
{
	(void)state;
	mock_adapter.ports[0].stats = (struct vmlx4_port_stats){ .rx_frames = 1 };
	vmlx4_counters_refresh(&mock_adapter, 5000000000);
	assert_int_equal(shown("net/vmlx4p1/statistics/rx_packets"), 1);
	mock_adapter.ports[0].stats.rx_frames = 2;
	vmlx4_counters_refresh(&mock_adapter, 5999999999);
	assert_int_equal(shown("net/vmlx4p1/statistics/rx_packets"), 1);
	vmlx4_counters_refresh(&mock_adapter, 6000000000);
	assert_int_equal(shown("net/vmlx4p1/statistics/rx_packets"), 2);
}

static void
which_files(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/class/net/vmlx4p1/statistics/rx_bytes", root);
	assert_true(vmlx4_counter_file(&mock_adapter, path));
	snprintf(path, sizeof(path), "%s/class/infiniband/mlx4_0/ports/1/hw_counters/x", root);
	assert_true(vmlx4_counter_file(&mock_adapter, path));
	snprintf(path, sizeof(path), "%s/class/net/vmlx4p1/mtu", root);
	assert_false(vmlx4_counter_file(&mock_adapter, path));
	assert_false(vmlx4_counter_file(&mock_adapter, "/sys/class/net/lo/statistics/rx_bytes"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(interface_statistics),
		TEST(verbs_counters),
		TEST(once_a_second),
		TEST(which_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
