/* SPDX-License-Identifier: BSD-3-Clause */

/* Work queues, indirection tables, RSS QPs. */

#include <errno.h>

#include "device.h"

#define IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IPV6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

static void
test_numbers_in_a_range(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq[8], *more;
	int i;

	wq[0] = device_wq(device, cq, 2);
	assert_non_null(wq[0]);
	assert_int_equal(wq[0]->wq_num % 4, 0);
	/* The range is open: no second one, but the next number of it. */
	assert_null(device_wq(device, cq, 1));
	assert_int_equal(errno, EINVAL);
	for (i = 1; i < 4; i++) {
		wq[i] = device_wq(device, cq, 0);
		assert_non_null(wq[i]);
		assert_int_equal(wq[i]->wq_num, wq[0]->wq_num + i);
	}
	/* Full: a new one. */
	wq[4] = device_wq(device, cq, 1);
	assert_non_null(wq[4]);
	assert_int_equal(wq[4]->wq_num % 2, 0);
	assert_true(wq[4]->wq_num < wq[0]->wq_num || wq[4]->wq_num > wq[3]->wq_num);
	wq[5] = device_wq(device, cq, 0);
	assert_int_equal(wq[5]->wq_num, wq[4]->wq_num + 1);
	/* A number given back closes its range, though there is room in it. */
	wq[6] = device_wq(device, cq, 2);
	wq[7] = device_wq(device, cq, 0);
	assert_int_equal(ibv_destroy_wq(wq[7]), 0);
	more = device_wq(device, cq, 0);
	assert_non_null(more);
	assert_true(more->wq_num < wq[6]->wq_num || more->wq_num >= wq[6]->wq_num + 4);
	assert_int_equal(ibv_destroy_wq(more), 0);
	for (i = 0; i < 7; i++)
		assert_int_equal(ibv_destroy_wq(wq[i]), 0);
	assert_null(device_wq(device, cq, 8));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_rounding_and_flags(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 100,
		.max_sge = 3,
		.pd = device->pd,
		.cq = cq,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = IBV_WQ_FLAGS_SCATTER_FCS,
	};
	struct ibv_wq *wq = ibv_create_wq(device->ctx, &attr);
	struct ib_uverbs_ex_create_wq raw = { .wq_type = 1, .pd_handle = device->pd->handle,
		.cq_handle = cq->handle, .max_wr = 1, .max_sge = 1 };
	struct mlx4_ib_create_wq driver = { 0 };
	struct ib_uverbs_ex_create_wq_resp reply;
	uint32_t command = IB_USER_VERBS_EX_CMD_CREATE_WQ;

	assert_non_null(wq);
	assert_int_equal(attr.max_wr, 128);
	assert_int_equal(attr.max_sge, 4);
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), &driver,
		sizeof(driver), &reply, sizeof(reply)), EOPNOTSUPP); /* wq_type */
	raw.wq_type = IBV_WQT_RQ;
	raw.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), &driver,
		sizeof(driver), &reply, sizeof(reply)), EOPNOTSUPP);
	raw.create_flags = 0;
	driver.reserved[1] = 1;
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), &driver,
		sizeof(driver), &reply, sizeof(reply)), EOPNOTSUPP);
	driver.reserved[1] = 0;
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), &driver, 8, &reply,
		sizeof(reply)), EINVAL);
	assert_int_equal(write_ex(device->ctx, command, &raw, sizeof(raw), &driver,
		sizeof(driver), &reply, sizeof(reply)), EFAULT); /* no buffer */
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_states(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ib_uverbs_ex_modify_wq raw = { .attr_mask = IBV_WQ_ATTR_FLAGS,
		.wq_handle = wq->handle };
	uint64_t driver = 0;

	assert_int_equal(wq_to(wq, IBV_WQS_ERR), EINVAL);
	assert_int_equal(wq_to(wq, IBV_WQS_RESET), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), EINVAL);
	assert_int_equal(wq_to(wq, IBV_WQS_RESET), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_MODIFY_WQ, &raw,
		sizeof(raw), &driver, sizeof(driver), NULL, 0), EOPNOTSUPP);
	raw.attr_mask = 0;
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_MODIFY_WQ, &raw,
		sizeof(raw), &driver, sizeof(driver), NULL, 0), EINVAL);
	raw.attr_mask = IBV_WQ_ATTR_STATE;
	raw.wq_state = 3;
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_MODIFY_WQ, &raw,
		sizeof(raw), &driver, sizeof(driver), NULL, 0), EINVAL);
	raw.wq_state = IBV_WQS_RESET;
	driver = 1;
	assert_int_equal(write_ex(device->ctx, IB_USER_VERBS_EX_CMD_MODIFY_WQ, &raw,
		sizeof(raw), &driver, sizeof(driver), NULL, 0), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_tables(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq[4], *swapped[4];
	struct ibv_rwq_ind_table *table;
	int i;

	for (i = 0; i < 4; i++) {
		wq[i] = device_wq(device, cq, i == 0 ? 2 : 0);
		assert_non_null(wq[i]);
		swapped[i] = wq[i];
	}
	swapped[1] = wq[2];
	swapped[2] = wq[1];
	assert_null(device_table(device, swapped, 2));
	assert_int_equal(errno, EINVAL);
	/* The first number must be a multiple of the size. */
	assert_null(device_table(device, &wq[1], 1));
	assert_int_equal(errno, EINVAL);
	table = device_table(device, &wq[2], 1);
	assert_non_null(table);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	table = device_table(device, wq, 2);
	assert_non_null(table);
	assert_int_equal(ibv_destroy_wq(wq[3]), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(ibv_destroy_wq(wq[i]), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_table_sizes(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_ex_create_rwq_ind_table raw[2] = { { .log_ind_tbl_size = 1 } };
	struct ib_uverbs_ex_create_rwq_ind_table_resp reply;
	uint32_t command = IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL;

	assert_int_equal(write_ex(device->ctx, command, raw, 8, NULL, 0, &reply,
		sizeof(reply)), ENOSPC);
	assert_int_equal(write_ex(device->ctx, command, raw, 16, NULL, 0, &reply,
		sizeof(reply)), EINVAL); /* no such WQs */
	raw[0].log_ind_tbl_size = 14;
	assert_int_equal(write_ex(device->ctx, command, raw, 16, NULL, 0, &reply,
		sizeof(reply)), EINVAL);
	raw[0].log_ind_tbl_size = 1;
	raw[0].comp_mask = 1;
	assert_int_equal(write_ex(device->ctx, command, raw, 16, NULL, 0, &reply,
		sizeof(reply)), EOPNOTSUPP);
}

static void
test_hash_fields(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ibv_rwq_ind_table *table = device_table(device, &wq, 0);
	const struct { uint64_t fields; int error; } cases[] = {
		{ IPV4, 0 },
		{ IPV6, 0 },
		{ IPV4 | IPV6 | TCP | UDP, 0 },
		{ IPV4 | TCP, 0 },
		{ IPV6 | UDP, 0 },
		{ 0, 0 },
		{ IBV_RX_HASH_SRC_IPV4, EOPNOTSUPP },
		{ IPV4 | IBV_RX_HASH_DST_PORT_TCP, EOPNOTSUPP },
		{ TCP, EOPNOTSUPP },
		{ UDP, EOPNOTSUPP },
		{ IPV4 | 1u << 8, EOPNOTSUPP },
		{ IPV4 | IBV_RX_HASH_INNER, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int error;
		struct ibv_qp *qp = device_rss_qp(device, table, cases[i].fields, &error);

		assert_int_equal(error, cases[i].error);
		if (qp != NULL) {
			assert_int_equal(ibv_destroy_rwq_ind_table(table), EBUSY);
			assert_int_equal(ibv_destroy_qp(qp), 0);
		}
	}
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_rss_qp_rules(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ibv_rwq_ind_table *table = device_table(device, &wq, 0);
	struct ib_uverbs_ex_create_qp good = {
		.pd_handle = device->pd->handle,
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IB_UVERBS_CREATE_QP_MASK_IND_TABLE,
		.rwq_ind_tbl_handle = table->ind_tbl_handle,
	}, bad;
	struct mlx4_ib_create_qp_rss driver = { .rx_hash_fields_mask = IPV4,
		.rx_hash_function = 1 };
	struct ib_uverbs_ex_create_qp_resp reply;

#define CREATE(request, size) write_ex(device->ctx, IB_USER_VERBS_EX_CMD_CREATE_QP, \
	&(request), sizeof(request), &driver, size, &reply, sizeof(reply))
#define REFUSES(member, value, error) do { \
	bad = good; \
	bad.member = value; \
	assert_int_equal(CREATE(bad, sizeof(driver)), error); \
} while (0)
	REFUSES(max_send_wr, 1, EOPNOTSUPP);
	REFUSES(max_recv_wr, 1, EINVAL);
	REFUSES(create_flags, 2, EOPNOTSUPP);
	REFUSES(qp_type, IBV_QPT_UD, EOPNOTSUPP);
	REFUSES(rwq_ind_tbl_handle, 999, EINVAL);
	REFUSES(pd_handle, 999, EINVAL);
	assert_int_equal(CREATE(good, sizeof(driver) - 8), EINVAL);
	driver.rx_hash_function = 2;
	assert_int_equal(CREATE(good, sizeof(driver)), EOPNOTSUPP);
	driver.rx_hash_function = 1;
	driver.comp_mask = 1;
	assert_int_equal(CREATE(good, sizeof(driver)), EOPNOTSUPP);
#undef REFUSES
#undef CREATE
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static int
raw_modify(struct device *device, struct ibv_qp *qp, int state, uint32_t mask, int port)
{
	struct ib_uverbs_modify_qp raw = {
		.qp_handle = qp->handle,
		.attr_mask = mask,
		.qp_state = state,
		.port_num = port,
	};

	return write_plain(device->ctx, IB_USER_VERBS_CMD_MODIFY_QP, &raw, sizeof(raw), NULL,
		0);
}

static void
test_rss_qp_states(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ibv_rwq_ind_table *table = device_table(device, &wq, 0);
	struct ibv_qp *qp = device_rss_qp(device, table, IPV4, NULL);
	struct ibv_qp *other = device_rss_qp(device, table, IPV4, NULL);
	int both = IBV_QP_STATE | IBV_QP_PORT;

	assert_int_equal(raw_modify(device, qp, IBV_QPS_RTR, IBV_QP_STATE, 0), EINVAL);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_RESET, IBV_QP_STATE, 0), EOPNOTSUPP);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_INIT, IBV_QP_STATE, 0), EINVAL);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_INIT, both, 1), 0);
	/* Its queue is on port 1 now. */
	assert_int_equal(raw_modify(device, other, IBV_QPS_INIT, both, 2), EINVAL);
	assert_int_equal(raw_modify(device, other, IBV_QPS_INIT, both, 1), 0);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_RTR, IBV_QP_STATE, 0), 0);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_RTS, IBV_QP_STATE, 0), EOPNOTSUPP);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_RESET, IBV_QP_STATE, 0), EOPNOTSUPP);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_ERR, IBV_QP_STATE, 0), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(other), 0);
	/* Nobody uses it any more: another port is fine. */
	qp = device_rss_qp(device, table, IPV4, NULL);
	assert_int_equal(raw_modify(device, qp, IBV_QPS_INIT, both, 2), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* A WQ takes effect on the wire only through an RSS QP: receives are flushed then. */
static void
test_wq_follows_rss_qp(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 63);
	struct ibv_wq *wq = device_wq(device, cq, 0);
	struct ibv_rwq_ind_table *table = device_table(device, &wq, 0);
	struct ibv_recv_wr *bad, wr = { .wr_id = 3 };
	struct ibv_qp *qp;
	struct ibv_wc wc[4];

	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), 0);
	assert_int_equal(ibv_poll_cq(cq, 4, wc), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RESET), 0);
	qp = device_rss_qp(device, table, IPV4, NULL);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), 0);
	assert_int_equal(ibv_poll_cq(cq, 4, wc), 2);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].wr_id, 3);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_numbers_in_a_range),
		cmocka_unit_test_device(test_rounding_and_flags),
		cmocka_unit_test_device(test_states),
		cmocka_unit_test_device(test_tables),
		cmocka_unit_test_device(test_table_sizes),
		cmocka_unit_test_device(test_hash_fields),
		cmocka_unit_test_device(test_rss_qp_rules),
		cmocka_unit_test_device(test_rss_qp_states),
		cmocka_unit_test_device(test_wq_follows_rss_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
