/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a port with tx_blueflame=1 writes to the BlueFlame page, to the doorbell and to the
 * ring, on plain memory: which packets go by which, to the byte. Frames on an adapter are in
 * test/pmd/tx_blueflame.c.
 */

#include "../dvq/ring.h"

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

#define UNTOUCHED 0xdd
#define BUFFER 256u
#define LONGEST 224u

static struct {
	struct ring ring;
	struct mdv_priv priv;
	struct mdv_txq q;
	struct rte_mbuf *elts[RING_BLOCKS];
	uint8_t cqe_owner;
	struct rte_mbuf m[2];
	uint8_t frames[2][LONGEST];
} t;

static _Alignas(64) uint8_t page[4096];
static _Alignas(64) uint8_t uar[4096];

static void
make_packet(unsigned int i, uint16_t length)
{
	unsigned int at;

	for (at = 0; at < LONGEST; at++)
		t.frames[i][at] = (uint8_t)(i + at + 1);
	t.m[i] = (struct rte_mbuf){
		.buf_addr = t.frames[i], .buf_len = LONGEST, .nb_segs = 1,
		.data_len = length, .pkt_len = length,
	};
}

static uint16_t
send_packets(uint16_t n)
{
	struct rte_mbuf *pkts[2] = { &t.m[0], &t.m[1] };

	return mdv_tx_burst_blueflame(&t.q, pkts, n);
}

static void
forget_signals(void)
{
	memset(page, UNTOUCHED, sizeof(page));
	memset(uar, 0, sizeof(uar));
}

/* An idle queue whose next block has this running index. */
static void
queue_at(uint32_t index)
{
	ring_init(&t.ring);
	ring_advance(&t.ring, index);
	t.q.sq = t.ring.sq;
	t.q.freed = index;
	t.q.signalled = index;
	t.q.inflight = 0;
	forget_signals();
	mdv_blueflame[0].bf.offset = 0;
}

static int
setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.cqe_owner = DVQ_CQE_OWNER;
	t.q = (struct mdv_txq){
		.priv = &t.priv, .elts = t.elts, .state = MDV_QUEUE_RUNNING,
		.next_owner = &t.cqe_owner, .uncommon = true, .stamps = true,
		.signal_every = 16, .nb_desc = 24, .inline_max = LONGEST,
		.len_range = 1500, .vlan_flag = RTE_MBUF_F_TX_VLAN, .others = RTE_MBUF_F_TX_VLAN,
	};
	mdv_uar[0] = uar;
	rte_spinlock_init(&mdv_blueflame[0].lock);
	mdv_blueflame[0].bf = (struct dvq_bf){ .page = page, .size = BUFFER };
	queue_at(0);
	return 0;
}

/* Of the WQE at @index so many blocks went to the buffer, and nothing to the doorbell. */
static void
expect_copy(uint32_t buffer, uint32_t index, uint32_t blocks)
{
	static uint8_t untouched[BUFFER + 1];

	memset(untouched, UNTOUCHED, sizeof(untouched));
	assert_memory_equal(page + buffer * BUFFER, dvq_sq_block(&t.q.sq, index), 64 * blocks);
	assert_memory_equal(page + buffer * BUFFER + 64 * blocks, untouched,
		BUFFER - 64 * blocks);
	assert_memory_equal(page + !buffer * BUFFER, untouched, BUFFER);
	assert_int_equal(page[2 * BUFFER], UNTOUCHED);
	expect_dump(uar + DVQ_UAR_SEND_DB, "00000000");
	assert_int_equal(mdv_blueflame[0].bf.offset, !buffer * BUFFER);
}

/* The doorbell alone. */
static void
expect_doorbell(void)
{
	static uint8_t untouched[2 * BUFFER];

	memset(untouched, UNTOUCHED, sizeof(untouched));
	assert_memory_equal(page, untouched, sizeof(untouched));
	expect_dump(uar + DVQ_UAR_SEND_DB, "00024200");
	assert_int_equal(mdv_blueflame[0].bf.offset, 0);
}

/* ---- what goes by BlueFlame ---- */

/* The index and the number of the queue are in it; the two buffers take turns. */
static void
test_copies_take_turns(void **state)
{
	(void)state;
	queue_at(0x12345);
	make_packet(0, 20);
	assert_int_equal(send_packets(1), 1);
	expect_dump(dvq_sq_block(&t.q.sq, 0x12345),
		"8023450a 00024203 0000000e 00000000 80000014 01020304");
	expect_copy(0, 0x12345, 1);
	assert_ptr_equal(t.elts[0x12345 % RING_BLOCKS], &t.m[0]);
	/* A completion is on its way already. */
	forget_signals();
	assert_int_equal(send_packets(1), 1);
	expect_dump(dvq_sq_block(&t.q.sq, 0x12346), "8023460a 00024203 00000002 00000000");
	expect_copy(1, 0x12346, 1);
	forget_signals();
	assert_int_equal(send_packets(1), 1);
	expect_copy(0, 0x12347, 1);
	assert_int_equal(t.q.inflight, 3);
	assert_int_equal(t.q.stats.packets, 3);
	assert_int_equal(t.q.stats.bytes, 60);
}

static void
test_each_length(void **state)
{
	uint32_t blocks, length;

	(void)state;
	for (length = 17; length <= LONGEST; length++) {
		queue_at(length % 8);
		make_packet(0, (uint16_t)length);
		assert_int_equal(send_packets(1), 1);
		blocks = mdv_tx_inline_blocks(length);
		expect_copy(0, length % 8, blocks);
		assert_int_equal(t.q.sq.pi, length % 8 + blocks);
	}
}

static void
test_checksums(void **state)
{
	(void)state;
	make_packet(0, 20);
	t.m[0].ol_flags = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
	assert_int_equal(send_packets(1), 1);
	expect_dump(t.ring.mem, "0000000a 00024203 0000003e");
	expect_copy(0, 0, 1);
}

/* ---- what does not ---- */

/* The WQE is an ordinary one then. */
static void
test_while_another_queue_copies(void **state)
{
	(void)state;
	make_packet(0, 20);
	queue_at(5);
	rte_spinlock_lock(&mdv_blueflame[0].lock);
	assert_int_equal(send_packets(1), 1);
	expect_dump(t.ring.mem + 5 * 64, "0000000a 00000003 0000000e 00000000 80000014 01020304");
	expect_doorbell();
	/* It is the other one's still. */
	assert_true(rte_spinlock_is_locked(&mdv_blueflame[0].lock));
	rte_spinlock_unlock(&mdv_blueflame[0].lock);
	forget_signals();
	assert_int_equal(send_packets(1), 1);
	expect_copy(0, 6, 1);
	assert_false(rte_spinlock_is_locked(&mdv_blueflame[0].lock));
}

static void
test_bursts_of_two(void **state)
{
	(void)state;
	make_packet(0, 20);
	make_packet(1, 20);
	assert_int_equal(send_packets(2), 2);
	expect_dump(t.ring.mem, "0000000a 00000003");
	expect_doorbell();
}

/* The tag has the place of the queue's number. */
static void
test_tags(void **state)
{
	(void)state;
	make_packet(0, 20);
	t.m[0].ol_flags = RTE_MBUF_F_TX_VLAN;
	t.m[0].vlan_tci = 0x6123;
	assert_int_equal(send_packets(1), 1);
	expect_dump(t.ring.mem, "0000000a 61234003");
	expect_doorbell();
}

static void
test_chains(void **state)
{
	(void)state;
	make_packet(0, 20);
	make_packet(1, 10);
	t.m[0].next = &t.m[1];
	t.m[0].nb_segs = 2;
	t.m[0].pkt_len = 30;
	assert_int_equal(send_packets(1), 1);
	expect_dump(t.ring.mem, "0000000a 00000004 0000000e 00000000 8000001e");
	expect_doorbell();
}

static void
test_at_the_end_of_the_ring(void **state)
{
	(void)state;
	make_packet(0, 60);
	queue_at(RING_BLOCKS - 2);
	assert_int_equal(send_packets(1), 1);
	expect_copy(0, RING_BLOCKS - 2, 2);
	queue_at(RING_BLOCKS - 1);
	assert_int_equal(send_packets(1), 1);
	assert_int_equal(t.q.sq.pi, RING_BLOCKS + 1);
	expect_dump(t.ring.mem + (RING_BLOCKS - 1) * 64, "0000000a 00000006");
	expect_doorbell();
}

static void
test_full_and_stopped_queues(void **state)
{
	(void)state;
	make_packet(0, 20);
	t.q.inflight = t.q.nb_desc;
	assert_int_equal(send_packets(1), 0);
	t.q.inflight = 0;
	t.q.state = MDV_QUEUE_STOPPED;
	assert_int_equal(send_packets(1), 0);
	assert_int_equal(t.q.sq.pi, 0);
	assert_int_equal(page[0], UNTOUCHED);
	expect_dump(uar + DVQ_UAR_SEND_DB, "00000000");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_copies_take_turns, setup),
		cmocka_unit_test_setup(test_each_length, setup),
		cmocka_unit_test_setup(test_checksums, setup),
		cmocka_unit_test_setup(test_while_another_queue_copies, setup),
		cmocka_unit_test_setup(test_bursts_of_two, setup),
		cmocka_unit_test_setup(test_tags, setup),
		cmocka_unit_test_setup(test_chains, setup),
		cmocka_unit_test_setup(test_at_the_end_of_the_ring, setup),
		cmocka_unit_test_setup(test_full_and_stopped_queues, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
