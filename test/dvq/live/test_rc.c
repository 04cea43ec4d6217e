/* SPDX-License-Identifier: BSD-3-Clause */

/* Every operation of a reliable connection, from one QP of the adapter to another. */

#include <errno.h>

#include "live.h"

#define HERE 0u            /* where the one end's buffers lie, … */
#define THERE 32768u       /* …and the other's */

struct pair {
	struct live_end a, b;
};

static int
setup(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct live *live;
	uint32_t i;

	assert_non_null(pair);
	live_setup(state);
	live = *state;
	live_pair(live, &pair->a, &pair->b);
	for (i = 0; i < 8192; i++)
		live->mem[HERE + i] = (uint8_t)(i * 7 + i / 256);
	*(struct pair **)(void *)(live->mem + LIVE_BYTES - sizeof(pair)) = pair;
	return 0;
}

static struct pair *
pair_of(const struct live *live)
{
	return *(struct pair **)(void *)(live->mem + LIVE_BYTES - sizeof(struct pair *));
}

static int
teardown(void **state)
{
	struct pair *pair = pair_of(*state);

	live_close(&pair->a);
	live_close(&pair->b);
	free(pair);
	return live_teardown(state);
}

/* A buffer of this size at THERE for the other end. */
static void
post_recv(struct live *live, struct live_end *end, uint32_t size)
{
	struct dvq_sge sge = live_sge(live, THERE, size);

	assert_int_equal(dvq_post_recv(&end->rq, &sge, 1), 0);
	dvq_rq_publish(&end->rq);
}

static struct dvq_wc
expect(struct live_end *end, enum ibv_wc_opcode opcode)
{
	struct dvq_wc wc = live_wait(end);

	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("%s, vendor 0x%02x", ibv_wc_status_str(wc.status), wc.vendor_err);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.qpn, end->qp->qp_num);
	if ((wc.flags & DVQ_WC_SEND) != 0)
		assert_true(dvq_sendq_complete(&end->sq, wc.wqe_index) > 0);
	else
		dvq_rq_complete(&end->rq);
	return wc;
}

static void
expect_received(struct live *live, uint32_t size)
{
	assert_memory_equal(live->mem + THERE, live->mem + HERE, size);
	memset(live->mem + THERE, 0, size);
}

static void
test_send(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	static const uint32_t sizes[] = { 0, 1, 64, 1024, 1025, 5000 };
	struct dvq_sge sge;
	struct dvq_wc wc;
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sge = live_sge(live, HERE, sizes[i]);
		post_recv(live, &p->b, 8192);
		assert_int_equal(dvq_post_send(&p->a.sq, &sge, 1, DVQ_CTRL_CQE), 0);
		dvq_sendq_ring(&p->a.sq);
		wc = expect(&p->b, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.flags, 0);
		expect(&p->a, IBV_WC_SEND);
		expect_received(live, sizes[i]);
	}
}

/* Three in one go, of which the last one tells of all. */
static void
test_one_completion_for_a_batch(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge sge = live_sge(live, HERE, 64);
	int i;

	for (i = 0; i < 3; i++)
		post_recv(live, &p->b, 64);
	for (i = 0; i < 3; i++)
		assert_int_equal(dvq_post_send(&p->a.sq, &sge, 1, i == 2 ? DVQ_CTRL_CQE : 0), 0);
	dvq_sendq_ring(&p->a.sq);
	for (i = 0; i < 3; i++)
		expect(&p->b, IBV_WC_RECV);
	assert_int_equal(live_wait(&p->a).wqe_index, 2);
	assert_int_equal(dvq_sendq_complete(&p->a.sq, 2), 3);
	live_expect_none(&p->a);
}

static void
test_send_imm(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge sge = live_sge(live, HERE, 100);
	struct dvq_wc wc;

	post_recv(live, &p->b, 100);
	assert_int_equal(dvq_post_send_imm(&p->a.sq, &sge, 1, htobe32(0xdecade), DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	wc = expect(&p->b, IBV_WC_RECV);
	assert_int_equal(wc.flags, DVQ_WC_IMM);
	assert_int_equal(wc.imm_be, htobe32(0xdecade));
	expect(&p->a, IBV_WC_SEND);
	expect_received(live, 100);
}

static void
test_inline_data(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	uint32_t size;

	for (size = 0; size <= 200; size += 20) {
		post_recv(live, &p->b, 256);
		assert_int_equal(dvq_post_send_inline(&p->a.sq, live->mem + HERE, size,
			DVQ_CTRL_CQE), 0);
		dvq_sendq_ring(&p->a.sq);
		assert_int_equal(expect(&p->b, IBV_WC_RECV).byte_len, size);
		expect(&p->a, IBV_WC_SEND);
		expect_received(live, size);
	}
}

static void
test_blueflame(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_send send;
	struct dvq_bf bf;
	int i;

	assert_int_equal(dvq_bf_open(&bf, live->ctx, DVQ_BF_REG_SIZE), 0);
	for (i = 0; i < 200; i++) {
		post_recv(live, &p->b, 64);
		assert_int_equal(dvq_send_begin(&send, &p->a.sq), 0);
		assert_int_equal(dvq_send_inline(&send, live->mem + HERE, 40), 0);
		dvq_send_end_bf(&send, DVQ_OP_SEND, DVQ_CTRL_CQE, 0, &bf);
		expect(&p->b, IBV_WC_RECV);
		expect(&p->a, IBV_WC_SEND);
		expect_received(live, 40);
	}
	dvq_bf_close(&bf);
}

static void
test_write(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge two[2] = { live_sge(live, HERE, 1000), live_sge(live, HERE + 1000, 2000) };
	uint64_t raddr = (uintptr_t)live->mem + THERE;
	uint32_t rkey = live->mr->rkey;
	struct dvq_wc wc;

	assert_int_equal(dvq_post_write(&p->a.sq, two, 2, raddr, rkey, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	expect(&p->a, IBV_WC_RDMA_WRITE);
	expect_received(live, 3000);
	live_expect_none(&p->b);
	/* Immediate data take a receive WQE. */
	post_recv(live, &p->b, 16);
	assert_int_equal(dvq_post_write_imm(&p->a.sq, two, 2, raddr, rkey, htobe32(77),
		DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	wc = expect(&p->b, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 3000);
	assert_int_equal(wc.imm_be, htobe32(77));
	expect(&p->a, IBV_WC_RDMA_WRITE);
	expect_received(live, 3000);
}

static void
test_read(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge sge = live_sge(live, THERE, 3000);

	assert_int_equal(dvq_post_read(&p->a.sq, &sge, 1, (uintptr_t)live->mem + HERE,
		live->mr->rkey, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	assert_int_equal(expect(&p->a, IBV_WC_RDMA_READ).byte_len, 3000);
	expect_received(live, 3000);
}

/* A fenced send waits for the read before it, whose bytes it sends. */
static void
test_fence(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge between = live_sge(live, 16384, 1500);

	post_recv(live, &p->b, 1500);
	assert_int_equal(dvq_post_read(&p->a.sq, &between, 1, (uintptr_t)live->mem + HERE,
		live->mr->rkey, 0), 0);
	assert_int_equal(dvq_post_send(&p->a.sq, &between, 1, DVQ_CTRL_FENCE | DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	expect(&p->b, IBV_WC_RECV);
	expect(&p->a, IBV_WC_SEND);
	expect_received(live, 1500);
}

static void
test_atomics(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	uint64_t *word = (void *)(live->mem + THERE), *old = (void *)(live->mem + 16384);
	struct dvq_atomic at = { .raddr = (uintptr_t)word, .rkey = live->mr->rkey,
		.result = live_sge(live, 16384, 8) };

	*word = 40;
	assert_int_equal(dvq_post_faa(&p->a.sq, &at, 2, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	assert_int_equal(expect(&p->a, IBV_WC_FETCH_ADD).byte_len, 8);
	assert_int_equal(*old, 40);
	assert_int_equal(*word, 42);
	assert_int_equal(dvq_post_cas(&p->a.sq, &at, 41, 7, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	expect(&p->a, IBV_WC_COMP_SWAP);
	assert_int_equal(*old, 42);
	assert_int_equal(*word, 42);
	assert_int_equal(dvq_post_cas(&p->a.sq, &at, 42, 7, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	expect(&p->a, IBV_WC_COMP_SWAP);
	assert_int_equal(*old, 42);
	assert_int_equal(*word, 7);
}

static void
test_nop(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);

	assert_int_equal(dvq_post_nop(&p->a.sq, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	expect(&p->a, IBV_WC_SEND);
	live_expect_none(&p->b);
}

/* Strides of two blocks and more, many times round the ring. */
static void
test_many_rounds(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge sge[4];
	uint32_t i, n;

	for (i = 0; i < 5 * p->a.sq.cnt; i++) {
		for (n = 0; n < 4; n++)
			sge[n] = live_sge(live, HERE + 16 * n, 16);
		n = i % 4 + 1;
		post_recv(live, &p->b, 64);
		assert_int_equal(dvq_post_send(&p->a.sq, sge, n, DVQ_CTRL_CQE), 0);
		dvq_sendq_ring(&p->a.sq);
		assert_int_equal(expect(&p->b, IBV_WC_RECV).byte_len, 16 * n);
		expect(&p->a, IBV_WC_SEND);
		expect_received(live, 16 * n);
	}
}

/* ---- keys ---- */

static struct ibv_mw *
bind_window(struct live *live, struct pair *p)
{
	struct ibv_mw *mw = ibv_alloc_mw(live->pd, IBV_MW_TYPE_2);
	struct dvq_bind bind;

	assert_non_null(mw);
	mw->rkey = ibv_inc_rkey(mw->rkey);
	bind = (struct dvq_bind){
		.addr = (uintptr_t)live->mem + THERE, .length = 64,
		.lkey = live->mr->lkey, .new_rkey = mw->rkey,
		.access = DVQ_BIND_WRITE | DVQ_BIND_READ, .type = DVQ_BIND_TYPE_2,
	};
	assert_int_equal(dvq_post_bind_mw(&p->b.sq, &bind, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->b.sq);
	expect(&p->b, IBV_WC_BIND_MW);
	return mw;
}

static int
write_to(struct live *live, struct pair *p, uint32_t rkey)
{
	struct dvq_sge sge = live_sge(live, HERE, 64);
	struct dvq_wc wc;

	assert_int_equal(dvq_post_write(&p->a.sq, &sge, 1, (uintptr_t)live->mem + THERE,
		rkey, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	wc = live_wait(&p->a);
	assert_int_equal(dvq_sendq_complete(&p->a.sq, wc.wqe_index), 1);
	return wc.status;
}

static void
test_bind_and_invalidate_here(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct ibv_mw *mw = bind_window(live, p);

	assert_int_equal(write_to(live, p, mw->rkey), IBV_WC_SUCCESS);
	expect_received(live, 64);
	assert_int_equal(dvq_post_local_inval(&p->b.sq, mw->rkey, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->b.sq);
	expect(&p->b, IBV_WC_LOCAL_INV);
	assert_int_equal(write_to(live, p, mw->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void
test_invalidated_by_the_peer(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct ibv_mw *mw = bind_window(live, p);
	struct dvq_sge sge = live_sge(live, HERE, 10);
	struct dvq_wc wc;

	post_recv(live, &p->b, 64);
	assert_int_equal(dvq_post_send_inval(&p->a.sq, &sge, 1, mw->rkey,
		DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&p->a.sq);
	wc = expect(&p->b, IBV_WC_RECV);
	assert_int_equal(wc.flags, DVQ_WC_INVAL);
	assert_int_equal(be32toh(wc.imm_be), mw->rkey);
	expect(&p->a, IBV_WC_SEND);
	assert_int_equal(write_to(live, p, mw->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* ---- errors ---- */

/* The WQE that fails has its syndrome, those behind it are flushed, signalled or not. */
static void
test_error_and_flush(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct dvq_sge sge = live_sge(live, HERE, 64);
	struct dvq_wc wc;

	assert_int_equal(dvq_post_write(&p->a.sq, &sge, 1, (uintptr_t)live->mem + THERE,
		0xdead00, 0), 0);
	assert_int_equal(dvq_post_send(&p->a.sq, &sge, 1, 0), 0);
	dvq_sendq_ring(&p->a.sq);
	wc = live_wait(&p->a);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.wqe_index, 0);
	assert_int_equal(dvq_sendq_complete(&p->a.sq, wc.wqe_index), 1);
	wc = live_wait(&p->a);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(dvq_sendq_complete(&p->a.sq, wc.wqe_index), 1);
	assert_int_equal(dvq_sendq_room(&p->a.sq), p->a.sq.limit);
}

/* After a cycle through RESET both ends start at index 0. */
static void
test_cycle_after_an_error(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(write_to(live, p, 0xdead00), IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(p->b.qp, &attr, IBV_QP_STATE), 0);
		dvq_sendq_reset(&p->a.sq);
		dvq_sendq_reset(&p->b.sq);
		dvq_rq_reset(&p->a.rq);
		dvq_rq_reset(&p->b.rq);
		live_connect(live, &p->a, &p->b);
		assert_int_equal(write_to(live, p, live->mr->rkey), IBV_WC_SUCCESS);
		expect_received(live, 64);
	}
}

/* ---- events ---- */

/* Has an event come since the last arm? It is consumed and acknowledged. */
static bool
take_event(struct live_end *end)
{
	struct ibv_cq *cq;
	void *context;
	int i;

	for (i = 0; i < 50; i++)
		vmlx4_step(0);
	if (ibv_get_cq_event(end->channel, &cq, &context) != 0)
		return false;
	assert_ptr_equal(cq, end->ibv_cq);
	dvq_cq_event_consumed(&end->cq);
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void
send_to_b(struct live *live, struct pair *p, uint32_t flags)
{
	struct dvq_sge sge = live_sge(live, HERE, 8);

	post_recv(live, &p->b, 8);
	assert_int_equal(dvq_post_send(&p->a.sq, &sge, 1, flags), 0);
	dvq_sendq_ring(&p->a.sq);
}

/* One for each arm, three times over; none unarmed. */
static void
test_event(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);
	int i;

	send_to_b(live, p, 0);
	assert_false(take_event(&p->b));
	expect(&p->b, IBV_WC_RECV);
	for (i = 0; i < 3; i++) {
		dvq_cq_arm(&p->b.cq, DVQ_CQ_ARM_NEXT);
		assert_false(take_event(&p->b));
		send_to_b(live, p, 0);
		assert_true(take_event(&p->b));
		expect(&p->b, IBV_WC_RECV);
		assert_false(take_event(&p->b));
	}
}

static void
test_solicited_event(void **state)
{
	struct live *live = *state;
	struct pair *p = pair_of(live);

	dvq_cq_arm(&p->b.cq, DVQ_CQ_ARM_SOLICITED);
	send_to_b(live, p, 0);
	assert_false(take_event(&p->b));
	expect(&p->b, IBV_WC_RECV);
	send_to_b(live, p, DVQ_CTRL_SE);
	assert_true(take_event(&p->b));
	expect(&p->b, IBV_WC_RECV);
}

/* The same queue, where nobody acknowledges. */
static void
test_unreliable_connection(void **state)
{
	struct live *live = *state;
	const struct ibv_qp_cap cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
		.max_recv_sge = 1 };
	struct dvq_sge sge = live_sge(live, HERE, 3000);
	struct pair uc;
	int i;

	live_open(live, &uc.a, IBV_QPT_UC, &cap, NULL);
	live_open(live, &uc.b, IBV_QPT_UC, &cap, NULL);
	live_connect(live, &uc.a, &uc.b);
	for (i = 0; i < 40; i++) {
		post_recv(live, &uc.b, 8192);
		assert_int_equal(i % 2 == 0 ?
			dvq_post_send(&uc.a.sq, &sge, 1, DVQ_CTRL_CQE) :
			dvq_post_write_imm(&uc.a.sq, &sge, 1, (uintptr_t)live->mem + THERE,
				live->mr->rkey, htobe32(5), DVQ_CTRL_CQE), 0);
		dvq_sendq_ring(&uc.a.sq);
		assert_int_equal(expect(&uc.b, i % 2 == 0 ? IBV_WC_RECV :
			IBV_WC_RECV_RDMA_WITH_IMM).byte_len, 3000);
		expect(&uc.a, i % 2 == 0 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
		expect_received(live, 3000);
	}
	live_close(&uc.a);
	live_close(&uc.b);
}

#define live_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		live_test(test_send), live_test(test_one_completion_for_a_batch),
		live_test(test_send_imm), live_test(test_inline_data), live_test(test_blueflame),
		live_test(test_write), live_test(test_read), live_test(test_fence),
		live_test(test_atomics), live_test(test_nop), live_test(test_many_rounds),
		live_test(test_bind_and_invalidate_here), live_test(test_invalidated_by_the_peer),
		live_test(test_error_and_flush), live_test(test_cycle_after_an_error),
		live_test(test_event), live_test(test_solicited_event),
		live_test(test_unreliable_connection),
	};

	return cmocka_run_group_tests_name("dvq: a reliable connection", tests, NULL, NULL);
}
