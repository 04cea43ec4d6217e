/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <sys/socket.h>

#include "bed.h"
#include "fault/internal.h"

/* Work requests that fail, completions that show late. */

static void
send_error(void **state)
{
	struct bed *bed = bed_new("wqe tx port=1 nth=3 syndrome=0x02 vendor=0x6f; "
		"wqe tx port=2 syndrome=1; wqe tx qpn=0x101 syndrome=1");
	const uint8_t *cqe = NULL;
	unsigned int i;

	(void)state;
	bed_send(bed, 5);
	EXPECT(bed, 0, 1);
	for (i = 0; i < 3; i++)
		cqe = bed_tx_cqe(bed);
	assert_non_null(cqe);
	assert_int_equal(cqe[31] & 0x7f, 0x5e);
	assert_int_equal(cqe[27], 0x02);
	assert_int_equal(cqe[26], 0x6f);
	for (i = 3; i < 5; i++) {
		cqe = bed_tx_cqe(bed);
		assert_non_null(cqe);
		assert_int_equal(cqe[27], 0x05);
		assert_int_equal(cqe[26], 0);
	}
	assert_null(bed_tx_cqe(bed));
	assert_int_equal(bed->tx->state, IBV_QPS_ERR);
	assert_int_equal(FAULTS(bed)->wqes_failed, 1);
	bed_free(bed);
}

/* Its own vendor error is the model's when the fault names none. */
static void
receive_error(void **state)
{
	struct bed *bed = bed_new("wqe rx qpn=0x40 nth=2 syndrome=0x01; "
		"wqe rx nth=4 syndrome=0x04");
	const uint8_t *cqe;

	(void)state;
	bed_send(bed, 4);
	assert_int_equal(bed_rx_cqe(bed)[31] & 0x1f, 1);
	cqe = bed_rx_cqe(bed);
	assert_int_equal(cqe[31] & 0x7f, 0x1e);
	assert_int_equal(cqe[27], 0x01);
	assert_int_equal(bed_rx_cqe(bed)[31] & 0x1f, 1);
	/* This one ends the queue: the rest of it is flushed. */
	cqe = bed_rx_cqe(bed);
	assert_int_equal(cqe[27], 0x04);
	assert_int_equal(cqe[26], 0x57);
	assert_int_equal(bed_rx_cqe(bed)[27], 0x05);
	assert_false(bed->rx->rq.live);
	assert_int_equal(RX_STATS(bed)->rx_errors, 2);
	bed_free(bed);
}

static void
late(void **state)
{
	struct bed *bed = bed_new("cqe tx port=1 nth=2 late=5us");

	(void)state;
	bed_send(bed, 3);
	/* Only the first; the third has to wait behind the second. */
	assert_int_equal(bed_tx_count(bed), 1);
	EXPECT(bed, 0, 1, 2);
	bed_wait(bed, 4999);
	assert_int_equal(bed_tx_count(bed), 0);
	bed_wait(bed, 1);
	assert_int_equal(bed_tx_count(bed), 2);
	bed_send(bed, 2);
	assert_int_equal(bed_tx_count(bed), 2);
	assert_int_equal(FAULTS(bed)->cqes_late, 1);
	bed_free(bed);
}

/* Each late by itself, in order, over the end of the ring and back. */
static void
all_late(void **state)
{
	struct bed *bed = bed_new("cqe late=3us");
	unsigned int i, n;

	(void)state;
	for (i = 0; i < 40; i++) {
		bed_send(bed, 10);
		card_rq_record(bed->rx, BED_WQES + 10 * i);
		assert_int_equal(bed_tx_count(bed), 0);
		bed_wait(bed, 3000);
		for (n = 0; n < 10; n++) {
			const uint8_t *frame, *cqe = bed_tx_cqe(bed);
			uint32_t length;

			assert_non_null(cqe);
			assert_int_equal(cqe[25], (10 * i + n) & 0xff);
			assert_int_equal(bed_received(bed, &frame, &length), (10 * i + n) & 0xff);
		}
	}
	assert_int_equal(FAULTS(bed)->cqes_late, 800);
	bed_free(bed);
}

static void
coalesced(void **state)
{
	struct bed *bed = bed_new("cqe rx cqn=0x81 coalesce=4 within=20us");

	(void)state;
	bed_send(bed, 3);
	EXPECT_NONE(bed);
	assert_int_equal(bed_tx_count(bed), 3);
	bed_send(bed, 1);
	EXPECT(bed, 0, 1, 2, 3);
	bed_send(bed, 6);
	EXPECT(bed, 4, 5, 6, 7);
	bed_wait(bed, 19999);
	EXPECT_NONE(bed);
	bed_wait(bed, 1);
	EXPECT(bed, 8, 9);
	assert_int_equal(FAULTS(bed)->cqe_batches, 3);
	bed_free(bed);
}

static unsigned int
events(struct bed *bed)
{
	unsigned int n = 0;
	uint64_t handle;

	while (recv(bed->card.comp[0], &handle, 8, MSG_DONTWAIT) == 8)
		n++;
	return n;
}

/* An event comes with the completion that is seen, not before. */
static void
late_event(void **state)
{
	struct bed *bed = bed_new("cqe tx nth=1 late=5us; wqe tx nth=2 syndrome=4");
	unsigned int cmd;

	(void)state;
	for (cmd = 1; cmd <= 2; cmd++) {
		bed->tx_cq->channel = &bed->card.channel;
		bed->tx_cq->db[1] = htobe32(1u << 28 | cmd << 24);
		bed_send(bed, 2);
		assert_int_equal(events(bed), 0);
		bed_wait(bed, 5000);
		assert_int_equal(events(bed), 1);
		bed_free(bed);
		bed = bed_new("cqe tx nth=1 late=5us; wqe tx nth=2 syndrome=4");
	}
	bed_free(bed);
}

/* Kept completions fill the CQ as visible ones do. */
static void
late_ones_take_room(void **state)
{
	struct bed *bed = bed_new("cqe tx late=1s");

	(void)state;
	bed->card.adapter->options.strict = VMLX4_STRICT_OFF;
	bed_send(bed, 200);
	bed_send(bed, 50);
	assert_false(bed->tx_cq->error);
	bed->card.adapter->options.unknowns.tx_cq_full_stalls = 1;
	bed_send(bed, 4);
	card_rq_record(bed->rx, BED_WQES + 250);
	bed_wait(bed, 1000000000);
	assert_int_equal(bed_tx_count(bed), 254);
	bed_free(bed);
}

static void
cleared(void **state)
{
	struct bed *bed = bed_new("cqe late=1s");

	(void)state;
	bed_send(bed, 3);
	EXPECT_NONE(bed);
	vmlx4_fault_clear_all(bed->card.adapter->fault_state, true);
	EXPECT(bed, 0, 1, 2);
	assert_int_equal(bed_tx_count(bed), 3);
	bed_send(bed, 1);
	EXPECT(bed, 3);
	bed_free(bed);
}

/* One event, two faults: the first acts, both have counted it. */
static void
first_in_the_list(void **state)
{
	struct bed *bed = bed_new("wqe rx every=2 syndrome=1; wqe rx nth=2,3 syndrome=1 vendor=9");

	(void)state;
	bed_send(bed, 4);
	assert_int_equal(bed_rx_cqe(bed)[31] & 0x1f, 1);
	assert_int_equal(bed_rx_cqe(bed)[26], 0);
	assert_int_equal(bed_rx_cqe(bed)[26], 9);
	assert_int_equal(bed_rx_cqe(bed)[26], 0);
	assert_int_equal(FAULTS(bed)->wqes_failed, 3);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_error),
		cmocka_unit_test(receive_error),
		cmocka_unit_test(late),
		cmocka_unit_test(all_late),
		cmocka_unit_test(coalesced),
		cmocka_unit_test(late_event),
		cmocka_unit_test(late_ones_take_room),
		cmocka_unit_test(cleared),
		cmocka_unit_test(first_in_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
