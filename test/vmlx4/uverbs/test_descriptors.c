/* SPDX-License-Identifier: BSD-3-Clause */

/* Copies of the device's descriptor, and contexts that meet in one process. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

static uint32_t
contexts(void)
{
	struct vmlx4_object_counts counts;

	assert_int_equal(vmlx4_object_counts(&counts), 0);
	return counts.contexts;
}

/* A command by a descriptor of its own; 0 or an errno. */
static int
alloc_pd(int fd)
{
	struct ib_uverbs_alloc_pd_resp reply[3]; /* the others are mlx4's */
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd body;
	} command = {
		.hdr = { IB_USER_VERBS_CMD_ALLOC_PD, sizeof(command) / 4, 3 },
		.body = { .response = (uintptr_t)reply },
	};

	return write(fd, &command, sizeof(command)) == sizeof(command) ? 0 : errno;
}

static bool
is_character_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

static int
copy_by_dup(int fd)
{
	return dup(fd);
}

static int
copy_by_dup2(int fd)
{
	return dup2(fd, open("/dev/null", O_RDONLY));
}

static int
copy_by_dup3(int fd)
{
	return dup3(fd, open("/dev/null", O_RDONLY), O_CLOEXEC);
}

static int
copy_by_fcntl(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 100);
}

static int
copy_by_message(int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int pair[2], copy;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	control.align = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(int)),
	};
	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	assert_int_equal(sendmsg(pair[0], &message, 0), 1);
	memset(&control, 0, sizeof(control));
	assert_int_equal(recvmsg(pair[1], &message, 0), 1);
	memcpy(&copy, CMSG_DATA(&control.align), sizeof(copy));
	close(pair[0]);
	close(pair[1]);
	return copy;
}

/* The context lives until its last descriptor is closed. */
static void
test_copies_keep_the_context(void **state)
{
	int (*const ways[])(int) = {
		copy_by_dup, copy_by_dup2, copy_by_dup3, copy_by_fcntl, copy_by_message,
	};
	uint32_t before = contexts();
	size_t i;
	(void)state;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct ibv_context *ctx = device_open();
		int copy = ways[i](ctx->cmd_fd);

		assert_true(copy >= 0 && copy != ctx->cmd_fd);
		assert_true(is_character_device(copy));
		assert_int_equal(alloc_pd(copy), 0);
		assert_int_equal(close(ctx->cmd_fd), 0);
		assert_int_equal(contexts(), before + 1);
		assert_int_equal(alloc_pd(copy), 0);
		assert_int_equal(alloc_pd(ctx->cmd_fd), EBADF);
		assert_int_equal(close(copy), 0);
		assert_int_equal(contexts(), before);
	}
}

/* Another file takes the descriptor's place. */
static void
test_replaced(void **state)
{
	struct ibv_context *ctx = device_open();
	uint32_t before = contexts();
	int null = open("/dev/null", O_WRONLY);
	(void)state;

	assert_int_equal(dup2(null, ctx->cmd_fd), ctx->cmd_fd);
	assert_int_equal(contexts(), before - 1);
	assert_int_equal(write(ctx->cmd_fd, "x", 1), 1);
	/* Onto itself, or from nowhere: nothing changes. */
	assert_int_equal(dup2(null, null), null);
	assert_int_equal(close(ctx->cmd_fd), 0);
	ctx = device_open();
	assert_int_equal(dup2(ctx->cmd_fd, ctx->cmd_fd), ctx->cmd_fd);
	assert_int_equal(dup2(9999, ctx->cmd_fd), -1);
	assert_int_equal(contexts(), before);
	assert_int_equal(close_range(ctx->cmd_fd, ctx->cmd_fd, 0), 0);
	assert_int_equal(contexts(), before - 1);
	close(null);
}

static void
test_copied_channel(void **state)
{
	struct device *device = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(device->ctx);
	struct vmlx4_object_counts counts;
	struct ibv_cq *cq;
	int original = channel->fd;

	channel->fd = dup(original);
	assert_int_equal(close(original), 0);
	assert_int_equal(vmlx4_object_counts(&counts), 0);
	assert_int_equal(counts.channels, 1);
	cq = ibv_create_cq(device->ctx, 8, NULL, channel, 0);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void
test_parts_of_writev(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_alloc_pd_resp reply[2][2];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd body;
	} command[2] = {
		{ .hdr = { IB_USER_VERBS_CMD_ALLOC_PD, sizeof(command[0]) / 4, 3 },
			.body = { .response = (uintptr_t)reply[0] } },
		{ .hdr = { IB_USER_VERBS_CMD_ALLOC_PD, 1, 3 } }, /* a wrong size */
	};
	struct iovec iov[2] = {
		{ &command[0], sizeof(command[0]) }, { &command[1], sizeof(command[1]) },
	};
	struct ib_uverbs_dealloc_pd dealloc;

	assert_int_equal(writev(device->ctx->cmd_fd, iov, 2), sizeof(command[0]));
	dealloc.pd_handle = reply[0][0].pd_handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DEALLOC_PD, &dealloc,
		sizeof(dealloc), NULL, 0), 0);
	assert_int_equal(writev(device->ctx->cmd_fd, iov + 1, 1), -1);
	assert_int_equal(errno, EINVAL);
}

/* Handles count per context: another one's mean nothing, or something else. */
static void
test_handles_of_another_context(void **state)
{
	struct device *device = *state;
	struct device other = { .ctx = device_open() };
	struct ibv_pd *own = device->pd;
	struct ibv_cq *cq;
	struct ib_uverbs_destroy_cq destroy = { 0 };
	struct ib_uverbs_destroy_cq_resp reply;
	uint8_t *memory = device_memory(4096);
	struct ib_uverbs_dealloc_pd dealloc;
	struct ib_uverbs_reg_mr reg = {
		.start = (uintptr_t)memory, .hca_va = (uintptr_t)memory, .length = 100,
	};
	struct ib_uverbs_reg_mr_resp mr;

	/* The only object there; here it has a higher handle than any there. */
	other.pd = ibv_alloc_pd(other.ctx);
	assert_non_null(other.pd);
	cq = device_cq(device, 8);
	destroy.cq_handle = cq->handle;
	destroy.response = (uintptr_t)&reply;
	assert_int_equal(write_plain(other.ctx, IB_USER_VERBS_CMD_DESTROY_CQ, &destroy,
		sizeof(destroy), &reply, sizeof(reply)), ENOENT);
	/* Its PD names one of its own objects, or none: never ours. */
	dealloc.pd_handle = 4711;
	assert_int_equal(write_plain(other.ctx, IB_USER_VERBS_CMD_DEALLOC_PD, &dealloc,
		sizeof(dealloc), NULL, 0), ENOENT);
	reg.pd_handle = cq->handle;
	assert_int_equal(write_plain(other.ctx, IB_USER_VERBS_CMD_REG_MR, &reg, sizeof(reg),
		&mr, sizeof(mr)), EINVAL);
	/* A channel is named by its descriptor: of another context it is no good. */
	struct ibv_comp_channel *channel = ibv_create_comp_channel(other.ctx);
	assert_null(ibv_create_cq(device->ctx, 8, NULL, channel, 0));
	assert_int_equal(errno, EBADF);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	/* Destroyed twice. */
	destroy.cq_handle = cq->handle;
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DESTROY_CQ, &destroy,
		sizeof(destroy), &reply, sizeof(reply)), ENOENT);
	assert_ptr_equal(device->pd, own);
	assert_int_equal(ibv_dealloc_pd(other.pd), 0);
	assert_int_equal(ibv_close_device(other.ctx), 0);
	free(memory);
}

/* Keys are the adapter's, PDs are not: a key of another context does not work here. */
static void
test_key_of_another_context(void **state)
{
	struct device *device = *state;
	struct device other = { .ctx = device_open() };
	uint8_t *memory = device_memory(4096);
	struct ibv_cq *cq = device_cq(device, 8);
	struct ibv_qp *qp = device_qp(device, cq);
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = 100 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	int before = vmlx4_violations();

	other.pd = ibv_alloc_pd(other.ctx);
	mr = ibv_reg_mr(other.pd, memory, 4096, 0);
	assert_non_null(mr);
	sge.lkey = mr->lkey;
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(vmlx4_violations(), before + 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other.pd), 0);
	assert_int_equal(ibv_close_device(other.ctx), 0);
	free(memory);
}

struct busy {
	int fd;
	int result;
};

static void *
commands(void *arg)
{
	struct busy *busy = arg;

	do
		busy->result = alloc_pd(busy->fd);
	while (busy->result == 0);
	return NULL;
}

/* Whatever the other thread is at: it gets EBADF in the end, or the PDs run out. */
static void
test_closed_while_in_use(void **state)
{
	int i;
	(void)state;

	for (i = 0; i < 20; i++) {
		struct ibv_context *ctx = device_open();
		struct busy busy = { .fd = ctx->cmd_fd };
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, commands, &busy), 0);
		sched_yield();
		assert_int_equal(close(ctx->cmd_fd), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_true(busy.result == EBADF || busy.result == ENOMEM);
	}
}

/* In a child, and in a program that came by exec(), a copy is no adapter. */
static void
test_copy_in_a_child(void **state)
{
	struct device *device = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int copy = dup(device->ctx->cmd_fd);

		alarm(10);
		if (copy < 0 || alloc_pd(copy) != EIO || close(device->ctx->cmd_fd) != 0 ||
				alloc_pd(copy) != EIO || close(copy) != 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(alloc_pd(device->ctx->cmd_fd), 0);
	assert_int_equal(ibv_close_device(device->ctx), 0);
	device->ctx = device_open();
	device->pd = ibv_alloc_pd(device->ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_copies_keep_the_context),
		cmocka_unit_test_device(test_replaced),
		cmocka_unit_test_device(test_copied_channel),
		cmocka_unit_test_device(test_parts_of_writev),
		cmocka_unit_test_device(test_handles_of_another_context),
		cmocka_unit_test_device(test_key_of_another_context),
		cmocka_unit_test_device(test_closed_while_in_use),
		cmocka_unit_test_device(test_copy_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
