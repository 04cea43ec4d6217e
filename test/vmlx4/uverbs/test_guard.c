/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program's memory goes away, and the program has fault handlers of its own.
 * Runs stepped (meson) and with the engine thread (test_uverbs_programs.py).
 */

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

static sigjmp_buf back;
static volatile sig_atomic_t faults;
static volatile int *volatile nowhere = (volatile int *)8;

static void
on_fault(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(back, 1);
}

static void
on_fault_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	assert_ptr_equal(info->si_addr, nowhere);
	on_fault(sig);
}

/* A fault of the program's own; its handler leaves by a jump. */
static void
fault(void)
{
	if (sigsetjmp(back, 1) == 0)
		*nowhere = 1;
}

static void *
page_new(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	memset(page, 2, 4096);
	return page;
}

/* Wait for one completion, with the engine thread too. */
static struct ibv_wc
completion(struct ibv_cq *cq)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	struct ibv_wc wc = { 0 };
	int i;

	for (i = 0; i < 5000; i++) {
		vmlx4_step(0);
		if (ibv_poll_cq(cq, 1, &wc) == 1)
			return wc;
		nanosleep(&nap, NULL);
	}
	fail_msg("no completion came");
	return wc;
}

static struct ibv_qp *
ready_qp(struct device *device, struct ibv_cq *cq)
{
	struct ibv_qp *qp = device_qp(device, cq);

	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	return qp;
}

static void
send_page(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 100, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/*
 * libmlx4 reads the destination from the buffer when it posts, so the page goes
 * before the engine sees it but after that: the QP is not in RTS yet.
 */
static void
test_buffer_unmapped(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 8);
	struct ibv_qp *qp = device_qp(device, cq);
	void *page = page_new();
	struct ibv_mr *mr = ibv_reg_mr(device->pd, page, 4096, 0);
	/* Rung before RTS is a violation, too. */
	int before = vmlx4_violations_of("mr-unmapped");

	assert_non_null(mr);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	send_page(qp, mr);
	/* As good as unmapped, and no other thread's memory comes to lie there. */
	assert_ptr_equal(mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		0), page);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	assert_int_equal(completion(cq).status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(vmlx4_violations_of("mr-unmapped"), before + 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	/* Another queue is none the worse. */
	qp = ready_qp(device, cq);
	page = page_new();
	mr = ibv_reg_mr(device->pd, page, 4096, 0);
	assert_non_null(mr);
	send_page(qp, mr);
	assert_int_equal(completion(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	munmap(page, 4096);
}

static void
test_handler_by_signal(void **state)
{
	sighandler_t before = signal(SIGSEGV, on_fault);

	faults = 0;
	fault();
	fault();
	assert_int_equal(faults, 2);
	test_buffer_unmapped(state);
	assert_int_equal(faults, 2);
	fault();
	assert_int_equal(faults, 3);
	assert_ptr_equal(signal(SIGSEGV, before), on_fault);
}

static void
test_handler_by_sigaction(void **state)
{
	struct sigaction act = { .sa_sigaction = on_fault_info, .sa_flags = SA_SIGINFO };
	struct sigaction before, now;

	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
	assert_ptr_equal(now.sa_sigaction, on_fault_info);
	assert_int_equal(now.sa_flags, SA_SIGINFO);
	faults = 0;
	fault();
	test_buffer_unmapped(state);
	fault();
	assert_int_equal(faults, 2);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
}

static void
test_handler_for_once(void **state)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before, now;

	(void)state;
	faults = 0;
	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	fault();
	assert_int_equal(faults, 1);
	assert_int_equal(sigaction(SIGSEGV, &before, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_DFL);
}

/* The rings of a QP and a CQ: memory of libmlx4's, which the test takes from it. */
static void
test_queues_unmapped(void **state)
{
	struct device *device = *state;
	struct ibv_cq *cq = device_cq(device, 8);
	struct ibv_qp *qp = device_qp(device, cq);
	struct mlx4dv_qp dv_qp = { .comp_mask = 0 };
	struct mlx4dv_cq dv_cq = { .comp_mask = 0 };
	struct mlx4dv_obj obj = { .qp = { qp, &dv_qp }, .cq = { cq, &dv_cq } };
	void *page = page_new();
	struct ibv_mr *mr = ibv_reg_mr(device->pd, page, 4096, 0);
	struct ibv_async_event event;

	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTR, 0), 0);
	send_page(qp, mr);
	assert_int_equal(mprotect(dv_cq.buf.buf, 4096, PROT_NONE), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_RTS, 0), 0);
	vmlx4_step(0);
	assert_int_equal(ibv_get_async_event(device->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	ibv_ack_async_event(&event);
	/* The flush of a ring that is gone. */
	assert_int_equal(mprotect(dv_qp.buf.buf, 4096, PROT_NONE), 0);
	assert_int_equal(qp_to(qp, IBV_QPS_ERR, 0), 0);
	assert_int_equal(mprotect(dv_qp.buf.buf, 4096, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(mprotect(dv_cq.buf.buf, 4096, PROT_READ | PROT_WRITE), 0);
	while (vmlx4_step(0) > 0)
		;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	/* Takes the event of the QP that nobody read. */
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	munmap(page, 4096);
}

static void
test_commands_at_bad_addresses(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_query_port request = { .port_num = 1 };
	struct ib_uverbs_query_port_resp reply;
	struct ib_uverbs_alloc_pd alloc = { 0 };
	struct vmlx4_object_counts before, after;
	uint8_t *page = page_new();

	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request), &reply, sizeof(reply)), 0);
	assert_int_equal(vmlx4_object_counts(&before), 0);
	/* A reply that does not fit in front of a hole; nothing is made. */
	assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
	assert_int_equal(write_mlx4(device->ctx, IB_USER_VERBS_CMD_ALLOC_PD, &alloc,
		sizeof(alloc), NULL, 0, page, 12), EFAULT);
	assert_int_equal(munmap(page, 4096), 0);
	assert_int_equal(write_mlx4(device->ctx, IB_USER_VERBS_CMD_ALLOC_PD, &alloc,
		sizeof(alloc), NULL, 0, page, 12), EFAULT);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_QUERY_PORT, &request,
		sizeof(request), (void *)(uintptr_t)0x4141414141414140, sizeof(reply)), EFAULT);
	assert_int_equal(vmlx4_object_counts(&after), 0);
	assert_int_equal(after.pds, before.pds);
	/* The command itself. */
	assert_int_equal(write(device->ctx->cmd_fd, page, 24), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(write(device->ctx->cmd_fd, (void *)(uintptr_t)-4096, 24), -1);
	assert_int_equal(errno, EFAULT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_buffer_unmapped),
		cmocka_unit_test_device(test_handler_by_signal),
		cmocka_unit_test_device(test_handler_by_sigaction),
		cmocka_unit_test_device(test_handler_for_once),
		cmocka_unit_test_device(test_queues_unmapped),
		cmocka_unit_test_device(test_commands_at_bad_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
