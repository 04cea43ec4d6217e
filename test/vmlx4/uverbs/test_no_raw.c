/* SPDX-License-Identifier: BSD-3-Clause */

/* What a user may who lacks CAP_NET_RAW: vmlx4 exec --no-cap CAP_NET_RAW. */

#include <errno.h>

#include "device.h"

static void
test_no_raw_packets(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			.max_recv_sge = 1 },
	};
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ibv_rwq_ind_table *table = device_table(device, &wq, 0);
	struct ib_uverbs_create_flow flow = { .flow_attr = { .port = 1 } };
	struct ib_uverbs_create_flow_resp reply;
	int error;

	assert_null(ibv_create_qp(device->pd, &attr));
	assert_int_equal(errno, EPERM);
	assert_null(device_rss_qp(device, table, 3, &error));
	assert_int_equal(error, EPERM);
	/* Before anything is looked at. */
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_CREATE_FLOW, &flow,
		sizeof(flow), NULL, 0, &reply, sizeof(reply)), EPERM);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_no_raw_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
