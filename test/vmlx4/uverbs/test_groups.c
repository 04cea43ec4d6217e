/* SPDX-License-Identifier: BSD-3-Clause */

/* Multicast groups: who may join, who hears. */

#include <arpa/inet.h>
#include <errno.h>

#include "device.h"

#define SIZE 4096
#define GRH 40

static union ibv_gid
gid_of(const char *text)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, &gid), 1);
	return gid;
}

static void
test_join_and_leave(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	struct ibv_qp *ud = device_transport(device, cq, IBV_QPT_UD);
	struct ibv_qp *rc = device_transport(device, cq, IBV_QPT_RC);
	union ibv_gid group = gid_of("ff0e::1234"), host = gid_of("fe80::1");
	union ibv_gid ipv4 = gid_of("::ffff:239.1.1.1"), ipv4_host = gid_of("::ffff:10.1.1.1");
	struct ib_uverbs_attach_mcast raw = { .qp_handle = 999 };

	assert_int_equal(ibv_attach_mcast(rc, &group, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(ud, &host, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(ud, &ipv4_host, 0), EINVAL);
	assert_int_equal(ibv_detach_mcast(ud, &group, 0), EINVAL);
	memcpy(raw.gid, &group, sizeof(raw.gid));
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_ATTACH_MCAST, &raw,
		sizeof(raw), NULL, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(ud, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(ud, &ipv4, 0), 0);
	assert_int_equal(ibv_attach_mcast(ud, &group, 0), 0); /* it is a member */
	assert_int_equal(ibv_destroy_qp(ud), EBUSY);
	assert_int_equal(ibv_detach_mcast(ud, &group, 7), EINVAL);
	assert_int_equal(ibv_detach_mcast(ud, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(ud, &group, 0), EINVAL);
	assert_int_equal(ibv_destroy_qp(ud), EBUSY);
	assert_int_equal(ibv_detach_mcast(ud, &ipv4, 0), 0);
	assert_int_equal(ibv_destroy_qp(ud), 0);
	assert_int_equal(ibv_destroy_qp(rc), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void
test_a_group_is_full(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 15);
	union ibv_gid group = gid_of("ff0e::1");
	struct ibv_device_attr limits;
	struct ibv_qp *qp[300];
	int i, most;

	assert_int_equal(ibv_query_device(device->ctx, &limits), 0);
	most = limits.max_mcast_qp_attach;
	assert_in_range(most, 1, 299);
	for (i = 0; i <= most; i++) {
		qp[i] = device_transport(device, cq, IBV_QPT_UD);
		assert_int_equal(ibv_attach_mcast(qp[i], &group, 0), i < most ? 0 : ENOMEM);
	}
	for (i = 0; i <= most; i++) {
		if (i < most)
			assert_int_equal(ibv_detach_mcast(qp[i], &group, 0), 0);
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Two members of port 1 and one of port 2, which hears over the cable; one of another group. */
static void
test_who_hears(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 31);
	uint8_t *memory = device_memory(SIZE);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	union ibv_gid group = gid_of("ff0e::1"), another = gid_of("ff0e::2");
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = group, .hop_limit = 1 },
	};
	struct ibv_ah *ah = ibv_create_ah(device->pd, &to);
	struct ibv_sge sge = { (uintptr_t)memory, 256, mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { ah, 0xffffff, 0x1ee7 },
	};
	unsigned int heard = 0, copies = 0;
	struct ibv_qp *qp[5];
	struct ibv_wc wc;
	int i;

	assert_non_null(ah);
	for (i = 0; i < 5; i++) { /* the last one sends */
		qp[i] = device_transport(device, cq, IBV_QPT_UD);
		transport_connect(qp[i], i == 2 ? 2 : 1, 0);
		recv.wr_id = i;
		sge.addr = (uintptr_t)memory + 512 * i;
		assert_int_equal(ibv_post_recv(qp[i], &recv, &bad_recv), 0);
		assert_int_equal(ibv_post_recv(qp[i], &recv, &bad_recv), 0);
		if (i < 4)
			assert_int_equal(ibv_attach_mcast(qp[i], i == 3 ? &another : &group, 0), 0);
	}
	sge = (struct ibv_sge){ (uintptr_t)memory + 3000, 100, mr->lkey };
	memset(memory + 3000, 0x5a, 100);
	assert_int_equal(ibv_post_send(qp[4], &send, &bad), 0);
	vmlx4_step(0);
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, GRH + 100);
		assert_int_equal(wc.src_qp, qp[4]->qp_num);
		assert_memory_equal(memory + 512 * wc.wr_id + GRH, memory + 3000, 100);
		heard |= 1u << wc.wr_id;
		copies++;
	}
	assert_int_equal(copies, 3);
	assert_int_equal(heard, 1u << 0 | 1u << 1 | 1u << 2);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	for (i = 0; i < 5; i++) {
		if (i < 4)
			assert_int_equal(ibv_detach_mcast(qp[i], i == 3 ? &another : &group, 0), 0);
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	free(memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_join_and_leave),
		cmocka_unit_test_device(test_a_group_is_full),
		cmocka_unit_test_device(test_who_hears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
