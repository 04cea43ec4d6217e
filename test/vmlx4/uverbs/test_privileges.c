/* SPDX-License-Identifier: BSD-3-Clause */

/*
 *	vmlx4 exec --step --memlock 65536 --no-cap CAP_NET_ADMIN -- test_privileges
 *
 * What a user may who may pin 16 pages and lacks a capability.
 */

#include <errno.h>

#include "device.h"

#define PAGES 16

static int
reg(struct ibv_pd *pd, void *memory, size_t size, struct ibv_mr **mr)
{
	*mr = ibv_reg_mr(pd, memory, size, 0);
	return *mr == NULL ? errno : 0;
}

/* Whole pages count, for each region, and come back with it. */
static void
test_regions(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory((PAGES + 1) * 4096);
	struct ibv_mr *mr, *other;

	assert_int_equal(reg(device->pd, memory, (PAGES + 1) * 4096, &mr), ENOMEM);
	assert_int_equal(reg(device->pd, memory, PAGES * 4096, &mr), 0);
	assert_int_equal(reg(device->pd, memory, 1, &other), ENOMEM);
	/* In place of what it has, it may have as much again. */
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + 4096,
		PAGES * 4096, 0), 0);
	assert_int_not_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + 1,
		PAGES * 4096, 0), 0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory, 1, 0), 0);
	/* Two bytes on two pages. */
	assert_int_equal(reg(device->pd, memory + 4095, 2, &other), 0);
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(reg(device->pd, memory, (PAGES - 1) * 4096, &other), 0);
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(memory);
}

/* Queues and doorbell records count as well; records of one page once. */
static void
test_queues(void **state)
{
	struct device *device = *state;
	struct ibv_mr *mr;
	uint8_t *memory = device_memory(PAGES * 4096);
	struct ibv_cq *cq[3];

	cq[0] = device_cq(device, 63); /* a page of entries, and one of records */
	cq[1] = device_cq(device, 63); /* another page of entries */
	assert_int_equal(reg(device->pd, memory, (PAGES - 2) * 4096, &mr), ENOMEM);
	assert_int_equal(reg(device->pd, memory, (PAGES - 3) * 4096, &mr), 0);
	assert_null(ibv_create_cq(device->ctx, 63, NULL, NULL, 0));
	assert_int_equal(errno, ENOMEM);
	/* Old and new buffer at the same time. */
	assert_int_equal(ibv_resize_cq(cq[0], 127), ENOMEM);
	assert_int_equal(ibv_destroy_cq(cq[1]), 0);
	assert_int_equal(ibv_resize_cq(cq[0], 31), 0);
	cq[2] = device_cq(device, 63);
	assert_int_equal(ibv_destroy_cq(cq[2]), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq[0]), 0);
	assert_int_equal(reg(device->pd, memory, PAGES * 4096, &mr), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(memory);
}

static struct ibv_flow *
flow_of_type(struct ibv_qp *qp, enum ibv_flow_attr_type type)
{
	struct ibv_flow_attr attr = { .type = type, .size = sizeof(attr), .port = 1 };

	errno = 0;
	return ibv_create_flow(qp, &attr);
}

static void
test_sniffer(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ibv_flow *flow;

	assert_null(flow_of_type(qp, IBV_FLOW_ATTR_SNIFFER));
	assert_int_equal(errno, EPERM);
	flow = flow_of_type(qp, IBV_FLOW_ATTR_ALL_DEFAULT);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_regions),
		cmocka_unit_test_device(test_queues),
		cmocka_unit_test_device(test_sniffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
