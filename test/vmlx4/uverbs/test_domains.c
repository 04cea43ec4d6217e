/* SPDX-License-Identifier: BSD-3-Clause */

/* XRC: domains by a file, receivers that several have open, SRQs that packets name. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "device.h"

static struct ibv_xrcd *
domain(struct ibv_context *ctx, int fd, int flags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = flags,
	};

	return ibv_open_xrcd(ctx, &attr);
}

static int
file(void)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	fd = dup(fileno(f));
	fclose(f);
	assert_true(fd >= 0);
	return fd;
}

static struct ibv_qp *
receiver(struct ibv_context *ctx, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *
open_receiver(struct ibv_context *ctx, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(ctx, &attr);
}

static void
test_files(void **state)
{
	struct device *device = *state;
	struct ibv_context *other = device_open();
	int fd = file(), another = file();
	struct ibv_xrcd *first, *second, *third;
	struct ibv_qp *qp, *opened;

	assert_null(domain(device->ctx, fd, 0));
	assert_int_equal(errno, EAGAIN); /* nobody made it */
	assert_null(domain(device->ctx, 12345, O_CREAT));
	assert_int_equal(errno, EBADF);
	first = domain(device->ctx, fd, O_CREAT);
	assert_non_null(first);
	assert_null(domain(other, fd, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	second = domain(other, fd, 0);
	third = domain(other, another, O_CREAT);
	assert_non_null(second);
	assert_non_null(third);
	/* The first two are one. */
	qp = receiver(device->ctx, first);
	assert_null(open_receiver(other, third, qp->qp_num));
	opened = open_receiver(other, second, qp->qp_num);
	assert_non_null(opened);
	assert_int_equal(opened->qp_num, qp->qp_num);
	assert_int_equal(ibv_close_xrcd(second), EBUSY);
	assert_int_equal(ibv_destroy_qp(opened), 0);
	assert_int_equal(ibv_close_xrcd(first), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(first), 0);
	assert_int_equal(ibv_close_xrcd(second), 0);
	assert_int_equal(ibv_close_xrcd(third), 0);
	assert_int_equal(ibv_close_device(other), 0);
	close(fd);
	close(another);
}

/* Who made the receiver may go: the others keep it, its state and its events. */
static void
test_the_last_handle_keeps_it(void **state)
{
	struct device *device = *state;
	struct ibv_context *maker = device_open();
	int fd = file();
	struct ibv_xrcd *made = domain(maker, fd, O_CREAT);
	struct ibv_xrcd *joined = domain(device->ctx, fd, 0);
	struct ibv_qp *qp = receiver(maker, made);
	struct ibv_qp *opened = open_receiver(device->ctx, joined, qp->qp_num);
	struct ibv_qp *twice = open_receiver(device->ctx, joined, qp->qp_num);
	struct ibv_qp_init_attr init;
	uint32_t number = qp->qp_num;
	struct ibv_qp_attr attr;

	assert_int_equal(transport_to_init(qp, 2), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(made), 0);
	assert_int_equal(ibv_close_device(maker), 0);
	assert_int_equal(ibv_query_qp(opened, &attr, IBV_QP_STATE | IBV_QP_PORT, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(qp_to(twice, IBV_QPS_ERR, 0), 0);
	assert_int_equal(ibv_destroy_qp(twice), 0);
	assert_int_equal(ibv_query_qp(opened, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(ibv_destroy_qp(opened), 0);
	assert_null(open_receiver(device->ctx, joined, number));
	assert_int_equal(ibv_close_xrcd(joined), 0);
	close(fd);
}

/* Its program ends without a word: the handle of the other is not touched. */
static void
test_the_maker_closes_its_device(void **state)
{
	struct device *device = *state;
	struct ibv_context *maker = device_open();
	int fd = file();
	struct ibv_xrcd *made = domain(maker, fd, O_CREAT);
	struct ibv_xrcd *joined = domain(device->ctx, fd, 0);
	struct ibv_qp *qp = receiver(maker, made);
	struct ibv_qp *opened = open_receiver(device->ctx, joined, qp->qp_num);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_close_device(maker), 0);
	assert_int_equal(ibv_query_qp(opened, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RESET);
	assert_int_equal(ibv_destroy_qp(opened), 0);
	assert_int_equal(ibv_close_xrcd(joined), 0);
	close(fd);
}

/* A message names the SRQ that it is for; its CQ gets the completion. */
static void
test_messages(void **state)
{
	struct device *device = *state;
	struct ibv_cq *send_cq = device_cq(device, 15), *recv_cq = device_cq(device, 15);
	struct ibv_xrcd *xrcd = domain(device->ctx, -1, O_CREAT);
	uint8_t *memory = device_memory(4096);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 7, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = device->pd, .xrcd = xrcd, .cq = recv_cq,
	};
	struct ibv_qp_init_attr_ex sender_attr = {
		.qp_type = IBV_QPT_XRC_SEND, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = device->pd,
		.send_cq = send_cq, .cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_srq *srq = ibv_create_srq_ex(device->ctx, &srq_attr);
	struct ibv_qp *sender = ibv_create_qp_ex(device->ctx, &sender_attr);
	struct ibv_qp *target = receiver(device->ctx, xrcd);
	struct ibv_sge sge = { (uintptr_t)memory, 16, mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	assert_non_null(srq);
	assert_non_null(sender);
	assert_int_equal(ibv_get_srq_num(srq, &send.qp_type.xrc.remote_srqn), 0);
	assert_int_equal(target->qp_num & 1u << 23, 1u << 23);
	transport_connect(sender, 1, target->qp_num);
	transport_connect(target, 1, sender->qp_num);
	sge.addr += 1024;
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad_recv), 0);
	sge.addr -= 1024;
	memcpy(memory, "sixteen bytes!!", 16);
	assert_int_equal(ibv_post_send(sender, &send, &bad), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(recv_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 7);
	assert_memory_equal(memory + 1024, "sixteen bytes!!", 16);
	/* In use: by the SRQ its CQ and domain, by nobody the SRQ itself. */
	assert_int_equal(ibv_destroy_cq(recv_cq), EBUSY);
	assert_int_equal(ibv_destroy_qp(target), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_qp(sender), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(recv_cq), 0);
	assert_int_equal(ibv_destroy_cq(send_cq), 0);
	free(memory);
}

static void
test_illegal_requests(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_open_xrcd open = { .fd = UINT32_MAX, .oflags = O_CREAT };
	struct ib_uverbs_open_xrcd_resp xrcd = { 0 };
	struct ib_uverbs_open_qp request = { .qpn = 0x812345, .qp_type = IBV_QPT_XRC_RECV };
	struct ib_uverbs_create_qp core = {
		.pd_handle = device->pd->handle, .qp_type = IBV_QPT_XRC_RECV,
	};
	struct mlx4_ib_create_qp driver = { .log_sq_stride = 6 };
	struct ib_uverbs_create_qp_resp reply;
	struct ib_uverbs_close_xrcd end = { .xrcd_handle = device->pd->handle };
	uint32_t command = IB_USER_VERBS_CMD_OPEN_QP;

	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_OPEN_XRCD, &open,
		sizeof(open), &xrcd, sizeof(xrcd)), 0);
	request.pd_handle = xrcd.xrcd_handle;
	assert_int_equal(write_plain(device->ctx, command, &request, sizeof(request), &reply,
		sizeof(reply)), EINVAL);
	request.pd_handle = device->pd->handle;
	assert_int_equal(write_plain(device->ctx, command, &request, sizeof(request), &reply,
		sizeof(reply)), EINVAL);
	/* A receiver is of a domain, not of a PD, and has no queue to size. */
	assert_int_equal(write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_QP, &core,
		sizeof(core), &driver, sizeof(driver), &reply, sizeof(reply)), EINVAL);
	core.pd_handle = xrcd.xrcd_handle;
	core.max_recv_wr = 1;
	assert_int_equal(write_mlx4(device->ctx, IB_USER_VERBS_CMD_CREATE_QP, &core,
		sizeof(core), &driver, sizeof(driver), &reply, sizeof(reply)), EINVAL);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_CLOSE_XRCD, &end,
		sizeof(end), NULL, 0), EINVAL);
	end.xrcd_handle = 999;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_CLOSE_XRCD, &end,
		sizeof(end), NULL, 0), ENOENT);
	end.xrcd_handle = xrcd.xrcd_handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_CLOSE_XRCD, &end,
		sizeof(end), NULL, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_files),
		cmocka_unit_test_device(test_the_last_handle_keeps_it),
		cmocka_unit_test_device(test_the_maker_closes_its_device),
		cmocka_unit_test_device(test_messages),
		cmocka_unit_test_device(test_illegal_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
