/* SPDX-License-Identifier: BSD-3-Clause */

/* Atomics with masks, which no verb has: inside of the port, and over a cable. */

#include "live.h"

#define WORD 0u
#define OLD 64u

/* The operation that was posted: what was there, and what is there now. */
static void
expect(struct live *live, struct live_end *end, enum ibv_wc_opcode opcode, uint64_t was,
	uint64_t is)
{
	const uint64_t *word = (const void *)(live->mem + WORD);
	const uint64_t *old = (const void *)(live->mem + OLD);
	struct dvq_wc wc;

	dvq_sendq_ring(&end->sq);
	wc = live_wait(end);
	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("%s", ibv_wc_status_str(wc.status));
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(dvq_sendq_complete(&end->sq, wc.wqe_index), 1);
	assert_int_equal(*old, was);
	assert_int_equal(*word, is);
}

static void
change_a_word(struct live *live, struct live_end *end)
{
	struct dvq_atomic at = { .raddr = (uintptr_t)live->mem + WORD, .rkey = live->mr->rkey,
		.result = live_sge(live, OLD, 8) };

	*(uint64_t *)(void *)(live->mem + WORD) = 0x11ff;
	/* Two counters of a byte: the lower one runs over, and nothing is carried. */
	assert_int_equal(dvq_post_masked_faa(&end->sq, &at, 0x0102, 0x8080, DVQ_CTRL_CQE), 0);
	expect(live, end, IBV_WC_FETCH_ADD, 0x11ff, 0x1201);
	/* Another byte than the one that is compared; then that one. */
	assert_int_equal(dvq_post_masked_cas(&end->sq, &at, 0x1301, 0xff00, 0x5678, 0x0ff0,
		DVQ_CTRL_CQE), 0);
	expect(live, end, IBV_WC_COMP_SWAP, 0x1201, 0x1201);
	assert_int_equal(dvq_post_masked_cas(&end->sq, &at, 0x12ee, 0xff00, 0x5678, 0x0ff0,
		DVQ_CTRL_CQE), 0);
	expect(live, end, IBV_WC_COMP_SWAP, 0x1201, 0x1671);
}

static void
test_inside(void **state)
{
	struct live *live = *state;
	struct live_end a, b;

	live_pair(live, &a, &b);
	change_a_word(live, &a);
	live_close(&a);
	live_close(&b);
}

static void
test_over_a_cable(void **state)
{
	struct live *live = *state;
	struct live_end a, b;

	live_pair_over_wire(live, &a, &b);
	change_a_word(live, &a);
	live_close(&a);
	live_close(&b);
}

/* A word that is not aligned: the peer refuses, and both ends are in error. */
static void
test_refused(void **state)
{
	struct live *live = *state;
	struct live_end a, b;
	struct dvq_atomic at = { .raddr = (uintptr_t)live->mem + WORD + 4,
		.rkey = live->mr->rkey, .result = live_sge(live, OLD, 8) };

	live_pair_over_wire(live, &a, &b);
	assert_int_equal(dvq_post_masked_faa(&a.sq, &at, 1, 0, DVQ_CTRL_CQE), 0);
	dvq_sendq_ring(&a.sq);
	assert_int_equal(live_wait(&a).status, IBV_WC_REM_INV_REQ_ERR);
	live_close(&a);
	live_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_live(test_inside),
		cmocka_unit_test_live(test_over_a_cable),
		cmocka_unit_test_live(test_refused),
	};

	return cmocka_run_group_tests_name("dvq: atomics with masks", tests, NULL, NULL);
}
