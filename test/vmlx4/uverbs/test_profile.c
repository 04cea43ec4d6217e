/* SPDX-License-Identifier: BSD-3-Clause */

/*
 *	test_profile PROFILE
 *
 * What a card model offers, and how it answers what it does not offer. The
 * expectations are written down here once more.
 */

#include <errno.h>

#include "device.h"

struct expected {
	const char *profile;
	uint32_t part_id;
	bool clock, steering, rss;
	uint8_t width, speed;
};

static const struct expected table[] = {
	{ "cx3", 4099, true, true, true, 2, 4 },
	{ "cx3pro", 4103, true, true, true, 2, 4 },
	{ "cx3-vf", 4100, false, true, true, 2, 4 },
	{ "cx3-10g", 4099, true, true, true, 1, 4 },
	{ "cx3pro-10g", 4103, true, true, true, 1, 4 },
	{ "cx3-56g", 4099, true, true, true, 2, 16 },
	{ "cx3-old-fw", 4099, true, false, false, 2, 4 },
};

static const struct expected *expected;

static void
what_it_reports(void **state)
{
	struct device *device = *state;
	struct ibv_query_device_ex_input input = { 0 };
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_device_ex(device->ctx, &input, &attr), 0);
	assert_int_equal(attr.orig_attr.vendor_part_id, expected->part_id);
	assert_int_equal((attr.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0,
		expected->steering);
	assert_int_equal(attr.hca_core_clock, expected->clock ? 427000 : 0);
	assert_int_equal(attr.completion_timestamp_mask != 0, expected->clock);
	assert_int_equal(attr.rss_caps.supported_qpts,
		expected->rss ? 1u << IBV_QPT_RAW_PACKET : 0);
	assert_int_equal(attr.rss_caps.rx_hash_function,
		expected->rss ? IBV_RX_HASH_FUNC_TOEPLITZ : 0);
	assert_int_equal(attr.max_wq_type_rq != 0, expected->rss);
	assert_int_equal(ibv_query_port(device->ctx, 1, &port), 0);
	assert_int_equal(port.active_width, expected->width);
	assert_int_equal(port.active_speed, expected->speed);
}

/* libmlx4 has a clock page only where the card has one. */
static void
the_clock(void **state)
{
	struct device *device = *state;
	struct ibv_cq_init_attr_ex stamps = {
		.cqe = 8, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_ex *cq;

	assert_int_equal(ibv_query_rt_values_ex(device->ctx, &values) == 0, expected->clock);
	cq = ibv_create_cq_ex(device->ctx, &stamps);
	assert_int_equal(cq != NULL, expected->clock);
	if (cq != NULL)
		assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void
flows(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = ibv_create_cq(device->ctx, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	struct ibv_flow_attr rule = {
		.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(rule), .port = 1,
	};
	struct ibv_flow *flow;
	struct ibv_qp *qp;

	assert_non_null(cq);
	qp = ibv_create_qp(device->pd, &init);
	assert_non_null(qp);
	errno = 0;
	flow = ibv_create_flow(qp, &rule);
	assert_int_equal(flow != NULL, expected->steering);
	if (flow != NULL)
		assert_int_equal(ibv_destroy_flow(flow), 0);
	else
		assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
work_queues(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = ibv_create_cq(device->ctx, 8, NULL, NULL, 0);
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = device->pd, .cq = cq,
	};
	struct ibv_wq *wq;

	assert_non_null(cq);
	errno = 0;
	wq = ibv_create_wq(device->ctx, &init);
	assert_int_equal(wq != NULL, expected->rss);
	if (wq != NULL)
		assert_int_equal(ibv_destroy_wq(wq), 0);
	else
		assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_it_reports, device_setup, device_teardown),
		cmocka_unit_test_setup_teardown(the_clock, device_setup, device_teardown),
		cmocka_unit_test_setup_teardown(flows, device_setup, device_teardown),
		cmocka_unit_test_setup_teardown(work_queues, device_setup, device_teardown),
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(argv[1], table[i].profile) == 0)
			expected = &table[i];
	if (expected == NULL) {
		fprintf(stderr, "test_profile: name one profile of its table\n");
		return 2;
	}
	return cmocka_run_group_tests_name(expected->profile, tests, NULL, NULL);
}
