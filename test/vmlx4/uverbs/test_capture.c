/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A capture of what a stepped adapter sends, under "vmlx4 exec --step --wire1
 * pcap:out=FILE": argument 1 is the file.
 */

#include <stdio.h>
#include <sys/stat.h>

#include "device.h"

#define LENGTH 100u

static const char *file;

static void
send_one(struct device *device, struct ibv_qp *qp, uint8_t *frame)
{
	struct ibv_mr *mr = ibv_reg_mr(device->pd, frame, LENGTH, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)frame, .length = LENGTH };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED }, *bad;

	assert_non_null(mr);
	sge.lkey = mr->lkey;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(vmlx4_step(0), 1);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static uint32_t
word(FILE *in)
{
	uint32_t value = 0;

	assert_int_equal(fread(&value, sizeof(value), 1, in), 1);
	return value;
}

/* A reader sees each frame when the step ends, with the time of the step. */
static void
test_seen_at_once(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 16);
	struct ibv_qp *qp = device_qp(device, cq);
	uint8_t *frame = device_memory(LENGTH), copy[LENGTH];
	unsigned int i, j;
	FILE *in;

	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	for (i = 0; i < 3; i++) {
		struct stat st;

		memset(frame, 2 * (int)i, LENGTH);
		/* The first step ends 1 us after the adapter's second 1. */
		assert_int_equal(vmlx4_clock_advance(i * 2500000000), 0);
		send_one(device, qp, frame);
		assert_int_equal(stat(file, &st), 0);
		assert_int_equal(st.st_size, 24 + (i + 1) * (16 + LENGTH));
	}
	in = fopen(file, "r");
	assert_non_null(in);
	assert_int_equal(word(in), 0xa1b23c4d); /* nanoseconds */
	assert_int_equal(fseek(in, 24, SEEK_SET), 0);
	for (i = 0; i < 3; i++) {
		static const uint32_t seconds[] = { 1, 3, 8 };
		static const uint32_t ns[] = { 1000, 500002000, 500003000 };

		assert_int_equal(word(in), seconds[i]);
		assert_int_equal(word(in), ns[i]);
		assert_int_equal(word(in), LENGTH);
		assert_int_equal(word(in), LENGTH);
		assert_int_equal(fread(copy, LENGTH, 1, in), 1);
		for (j = 0; j < LENGTH; j++)
			assert_int_equal(copy[j], 2 * i);
	}
	fclose(in);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	free(frame);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_seen_at_once),
	};

	if (argc != 2)
		return 2;
	file = argv[1];
	return cmocka_run_group_tests_name("vmlx4-uverbs-capture", tests, NULL, NULL);
}
