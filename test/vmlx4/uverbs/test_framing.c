/* SPDX-License-Identifier: BSD-3-Clause */

/* The device file itself: sizes of commands, what is refused, fork. */

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "device.h"

#define PATH "/dev/infiniband/uverbs0"

static void
test_looks_like_a_device(void **state)
{
	struct device *device = *state;
	struct stat by_name, by_fd;

	assert_int_equal(stat(PATH, &by_name), 0);
	assert_int_equal(fstat(device->ctx->cmd_fd, &by_fd), 0);
	assert_true(S_ISCHR(by_name.st_mode) && S_ISCHR(by_fd.st_mode));
	assert_int_equal(by_name.st_rdev, makedev(231, 192));
	assert_int_equal(by_fd.st_rdev, makedev(231, 192));
	assert_int_equal(stat("/dev/infiniband/uverbs1", &by_name), -1);
}

static void
test_other_files_are_left_alone(void **state)
{
	char name[] = "/tmp/vmlx4-framing-XXXXXX", back[3];
	struct stat st;
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, 3);
	assert_int_equal(pread(fd, back, 3, 0), 3);
	assert_memory_equal(back, "abc", 3);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(fd), -1);
	assert_int_equal(errno, EBADF);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	unlink(name);
	assert_int_equal(open(name, O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	unlink(name);
}

static void
test_ioctl_is_refused(void **state)
{
	struct device *device = *state;
	uint64_t words[8] = { 0 };

	assert_int_equal(ioctl(device->ctx->cmd_fd, RDMA_VERBS_IOCTL, words), -1);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), -1);
}

static void
test_plain_sizes(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_query_port request = { .port_num = 1 };
	struct ib_uverbs_query_port_resp reply;
	struct ibv_context *ctx = device->ctx;
	uint32_t word = 0;

	assert_int_equal(write_plain(ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request), &reply, sizeof(reply)), 0);
	assert_int_equal(reply.state, IBV_PORT_ACTIVE);
	/* Too short a request, too short a reply. */
	assert_int_equal(write_plain(ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request) - 4, &reply, sizeof(reply)), ENOSPC);
	assert_int_equal(write_plain(ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request), &reply, sizeof(reply) - 4), ENOSPC);
	/* A command that is not even a header. */
	assert_int_equal(write(ctx->cmd_fd, &word, sizeof(word)), -1);
	assert_int_equal(errno, EINVAL);
	request.port_num = 3;
	assert_int_equal(write_plain(ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request), &reply, sizeof(reply)), EINVAL);
}

static void
test_header_must_tell_the_length(void **state)
{
	struct device *device = *state;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dealloc_pd request;
	} command = { { IB_USER_VERBS_CMD_DEALLOC_PD, 2, 0 }, { 12345 } };

	assert_int_equal(write(device->ctx->cmd_fd, &command, sizeof(command)), -1);
	assert_int_equal(errno, EINVAL);
	command.hdr.in_words = 3;
	assert_int_equal(write(device->ctx->cmd_fd, &command, sizeof(command)), -1);
	assert_int_equal(errno, ENOENT);
}

static void
test_extended_sizes(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_ex_query_device request = { 0 };
	struct ib_uverbs_ex_query_device_resp reply;
	struct { struct ib_uverbs_ex_query_device core; uint64_t more; } longer = { { 0 }, 0 };
	uint32_t command = IB_USER_VERBS_EX_CMD_QUERY_DEVICE;

	assert_int_equal(write_ex(device->ctx, command, &request, sizeof(request), NULL, 0,
		&reply, sizeof(reply)), 0);
	assert_int_equal(reply.response_length, sizeof(reply));
	assert_int_equal(reply.base.vendor_id, 0x02c9);
	/* An older program: room up to and with response_length. */
	memset(&reply, 0x55, sizeof(reply));
	assert_int_equal(write_ex(device->ctx, command, &request, sizeof(request), NULL, 0,
		&reply, 184), 0);
	assert_int_equal(reply.response_length, 184);
	assert_int_equal(reply.timestamp_mask, 0x5555555555555555);
	assert_int_equal(write_ex(device->ctx, command, &request, sizeof(request), NULL, 0,
		&reply, 176), ENOSPC);
	/* A newer one: what we do not know must be zero. */
	assert_int_equal(write_ex(device->ctx, command, &longer, sizeof(longer), NULL, 0,
		&reply, sizeof(reply)), 0);
	longer.more = 1;
	assert_int_equal(write_ex(device->ctx, command, &longer, sizeof(longer), NULL, 0,
		&reply, sizeof(reply)), EOPNOTSUPP);
	request.comp_mask = 1;
	assert_int_equal(write_ex(device->ctx, command, &request, sizeof(request), NULL, 0,
		&reply, sizeof(reply)), EINVAL);
}

static void
test_not_offered(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_create_ah ah = { .pd_handle = device->pd->handle };
	struct ib_uverbs_create_ah_resp reply;
	uint64_t request[8] = { 0 };

	/* mlx4 makes address handles in the library. */
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_CREATE_AH, &ah, sizeof(ah),
		&reply, sizeof(reply)), EOPNOTSUPP);
	assert_int_equal(write_plain(device->ctx, 200, request, sizeof(request), NULL, 0),
		EOPNOTSUPP);
	assert_int_equal(write_plain(device->ctx, 0x40000000, request, sizeof(request), NULL,
		0), EINVAL);
	assert_int_equal(write_ex(device->ctx, 40, request, 8, NULL, 0, NULL, 0), EOPNOTSUPP);
}

static void
test_context_comes_first_and_once(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_get_context request = { 0 };
	uint8_t reply[8 + 16];
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct ib_uverbs_alloc_pd_resp pd_reply;
	struct ibv_context bare = { .cmd_fd = open(PATH, O_RDWR | O_CLOEXEC) };

	assert_true(bare.cmd_fd >= 0);
	assert_int_equal(write_plain(&bare, IB_USER_VERBS_CMD_ALLOC_PD, &pd, sizeof(pd),
		&pd_reply, sizeof(pd_reply)), EINVAL);
	assert_int_equal(close(bare.cmd_fd), 0);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_GET_CONTEXT, &request,
		sizeof(request), reply, sizeof(reply)), EINVAL);
}

/* A program that just closes the device leaves nothing behind. */
static void
test_close_releases_everything(void **state)
{
	struct device *device = *state, other = { 0 };
	struct vmlx4_object_counts before, after;
	struct ibv_wq *wq;
	struct ibv_cq *cq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_ALL_DEFAULT, .port = 1,
		.size = sizeof(flow) };
	void *memory = device_memory(4096);

	(void)device;
	vmlx4_object_counts(&before);
	other.ctx = device_open();
	other.pd = ibv_alloc_pd(other.ctx);
	assert_non_null(ibv_reg_mr(other.pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE));
	cq = ibv_create_cq(other.ctx, 4, NULL, ibv_create_comp_channel(other.ctx), 0);
	assert_non_null(cq);
	wq = device_wq(&other, cq, 0);
	assert_non_null(wq);
	table = device_table(&other, &wq, 0);
	assert_non_null(table);
	qp = device_rss_qp(&other, table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, NULL);
	assert_non_null(qp);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_non_null(ibv_create_flow(qp, &flow));
	assert_int_equal(qp_to(device_qp(&other, cq), IBV_QPS_INIT, IBV_QP_PORT), 0);
	vmlx4_object_counts(&after);
	assert_int_equal(after.qps, before.qps + 2);
	assert_int_equal(close(other.ctx->cmd_fd), 0);
	vmlx4_object_counts(&after);
	before.mrs_registered++;
	assert_memory_equal(&before, &after, sizeof(before));
	free(memory);
}

static int
in_child(void (*run)(struct device *), struct device *device)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		alarm(10);
		run(device);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
use_inherited(struct device *device)
{
	int fd, again;

	if (ibv_alloc_pd(device->ctx) != NULL || errno != EIO)
		_exit(2);
	if (open(PATH, O_RDWR) != -1 || errno != EIO)
		_exit(3);
	if (vmlx4_step(0) != -ENODEV)
		_exit(4);
	/* The number of a closed descriptor is free for other files. */
	fd = device->ctx->cmd_fd;
	if (close(fd) != 0)
		_exit(5);
	again = memfd_create("other", 0);
	if (again != fd || write(again, "x", 1) != 1)
		_exit(6);
	_exit(0);
}

static void
test_child_is_inert(void **state)
{
	struct device *device = *state;
	struct ibv_pd *pd;

	assert_int_equal(in_child(use_inherited, device), 0);
	/* What the child closed is still open here. */
	pd = ibv_alloc_pd(device->ctx);
	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void
test_interfaces(void **state)
{
	struct ifreq ifr = { .ifr_name = "vmlx4p1" };
	char name[IF_NAMESIZE];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned int index;

	(void)state;
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &ifr), 0);
	assert_true((ifr.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING));
	assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &ifr), 0);
	assert_int_equal(((uint8_t *)ifr.ifr_hwaddr.sa_data)[2], 0xc9);
	index = if_nametoindex("vmlx4p1");
	assert_int_not_equal(index, 0);
	assert_string_equal(if_indextoname(index, name), "vmlx4p1");
	/* Real ones as before. */
	index = if_nametoindex("lo");
	assert_int_not_equal(index, 0);
	assert_string_equal(if_indextoname(index, name), "lo");
	strcpy(ifr.ifr_name, "lo");
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &ifr), 0);
	assert_true((ifr.ifr_flags & IFF_LOOPBACK) != 0);
	assert_int_equal(if_nametoindex("vmlx4p9"), 0);
	close(fd);
}

static void
test_clock(void **state)
{
	struct device *device = *state;
	struct ibv_values_ex one = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, two = one;

	vmlx4_step(0);
	assert_int_equal(ibv_query_rt_values_ex(device->ctx, &one), 0);
	assert_int_equal(vmlx4_clock_advance(2000000), 0);
	assert_int_equal(ibv_query_rt_values_ex(device->ctx, &two), 0);
	assert_int_not_equal(one.raw_clock.tv_nsec, 0);
	assert_int_equal(two.raw_clock.tv_nsec - one.raw_clock.tv_nsec, 2 * 427000);
	vmlx4_step(0); /* a microsecond */
	assert_int_equal(ibv_query_rt_values_ex(device->ctx, &one), 0);
	assert_int_equal(one.raw_clock.tv_nsec - two.raw_clock.tv_nsec, 427);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_looks_like_a_device),
		cmocka_unit_test_device(test_other_files_are_left_alone),
		cmocka_unit_test_device(test_ioctl_is_refused),
		cmocka_unit_test_device(test_plain_sizes),
		cmocka_unit_test_device(test_header_must_tell_the_length),
		cmocka_unit_test_device(test_extended_sizes),
		cmocka_unit_test_device(test_not_offered),
		cmocka_unit_test_device(test_context_comes_first_and_once),
		cmocka_unit_test_device(test_close_releases_everything),
		cmocka_unit_test_device(test_child_is_inert),
		cmocka_unit_test_device(test_interfaces),
		cmocka_unit_test_device(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
