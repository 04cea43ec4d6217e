/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "bed.h"
#include "fault/internal.h"

/* What a bad cable and a slow card do to frames. */

static void
drop_nth(void **state)
{
	struct bed *bed = bed_new("frame tx port=1 nth=2,4 drop");

	(void)state;
	bed_send(bed, 5);
	EXPECT(bed, 0, 2, 4);
	assert_int_equal(FAULTS(bed)->frames_dropped, 2);
	assert_int_equal(FAULTS(bed)->injected, 2);
	/* The port has sent them; the program is none the wiser. */
	assert_int_equal(TX_STATS(bed)->tx_frames, 5);
	assert_int_equal(TX_STATS(bed)->tx_bytes, 5 * BED_FRAME);
	assert_int_equal(bed_tx_count(bed), 5);
	assert_int_equal(RX_STATS(bed)->rx_crc_errors, 0);
	bed_free(bed);
}

static void
drop_received(void **state)
{
	struct bed *bed = bed_new("frame rx port=2 every=3 count=2 drop; frame rx port=1 drop");

	(void)state;
	bed_send(bed, 10);
	EXPECT(bed, 0, 1, 3, 4, 6, 7, 8, 9);
	assert_int_equal(FAULTS(bed)->frames_dropped, 2);
	bed_free(bed);
}

static void
matching(void **state)
{
	/* Odd numbers, and of those every second. */
	struct bed *bed = bed_new("frame tx match=14:01/01 every=2 drop; "
		"frame tx match=12:0800 drop; frame tx match=63:5a5a drop");

	(void)state;
	bed_send(bed, 8);
	EXPECT(bed, 0, 1, 2, 4, 5, 6);
	bed_free(bed);
}

static void
bad_fcs(void **state)
{
	struct bed *bed = bed_new("frame tx nth=1 corrupt; frame rx nth=1 corrupt byte=0; "
		"frame tx nth=3 truncate=32");

	(void)state;
	bed_send(bed, 4);
	EXPECT(bed, 3);
	assert_int_equal(FAULTS(bed)->frames_bad_fcs, 3);
	assert_int_equal(RX_STATS(bed)->rx_crc_errors, 3);
	assert_int_equal(TX_STATS(bed)->rx_crc_errors, 0);
	assert_int_equal(TX_STATS(bed)->tx_frames, 4);
	assert_int_equal(RX_STATS(bed)->rx_frames, 1);
	bed_free(bed);
}

static void
good_fcs(void **state)
{
	struct bed *bed = bed_new("frame tx nth=1 corrupt bit=505 fcs=good; "
		"frame tx nth=2 corrupt byte=63 fcs=good; frame rx nth=3 truncate=32 fcs=good; "
		"frame rx nth=4 truncate=64 fcs=good; frame tx nth=5 corrupt bit=1017 fcs=good");
	const uint8_t *frame;
	uint32_t length;

	(void)state;
	bed_send(bed, 5);
	assert_int_equal(bed_received(bed, &frame, &length), 0);
	assert_int_equal(frame[63], 0x5a ^ 0x02);
	assert_int_equal(bed_received(bed, &frame, &length), 1);
	assert_int_equal(frame[63], 0x5a ^ 0xff);
	assert_int_equal(bed_received(bed, &frame, &length), 2);
	assert_int_equal(length, 32);
	/* Nothing to cut off; and a bit behind the end counts from the start. */
	assert_int_equal(bed_received(bed, &frame, &length), 3);
	assert_int_equal(length, BED_FRAME);
	assert_int_equal(bed_received(bed, &frame, &length), 4);
	assert_int_equal(frame[63], 0x5a ^ 0x02);
	assert_int_equal(FAULTS(bed)->frames_corrupted, 3);
	assert_int_equal(FAULTS(bed)->frames_truncated, 1);
	assert_int_equal(RX_STATS(bed)->rx_crc_errors, 0);
	/* The program's own buffer is as it was. */
	assert_int_equal(bed->card.arena[63], 0x5a);
	bed_free(bed);
}

static void
duplicates(void **state)
{
	struct bed *bed = bed_new("frame tx nth=2 duplicate; frame rx nth=4 duplicate=2");

	(void)state;
	bed_send(bed, 3);
	EXPECT(bed, 0, 1, 1, 2, 2, 2);
	assert_int_equal(FAULTS(bed)->frames_duplicated, 2);
	assert_int_equal(TX_STATS(bed)->tx_frames, 4);
	assert_int_equal(RX_STATS(bed)->rx_frames, 6);
	bed_free(bed);
}

static void
reordered(void **state)
{
	struct bed *bed = bed_new("frame tx nth=1,6 reorder; frame rx nth=3 reorder=2");

	(void)state;
	bed_send(bed, 5);
	EXPECT(bed, 1, 0, 3, 4, 2);
	assert_int_equal(FAULTS(bed)->frames_reordered, 2);
	/* Nothing overtakes it: it comes a millisecond later. */
	bed_send(bed, 1);
	bed_wait(bed, 999999);
	EXPECT_NONE(bed);
	bed_wait(bed, 1);
	EXPECT(bed, 5);
	bed_free(bed);
}

/* A frame that is lost does not overtake, a copy does not count twice. */
static void
reordered_among_others(void **state)
{
	struct bed *bed = bed_new("frame tx nth=1 reorder=2 within=1s; frame tx nth=2 drop; "
		"frame tx nth=3 duplicate");

	(void)state;
	bed_send(bed, 5);
	EXPECT(bed, 2, 2, 3, 0, 4);
	bed_free(bed);
}

static void
by_lot(void **state)
{
	struct bed *bed = bed_new("seed=3; frame tx p=0.25 drop; frame rx p=0 drop");
	unsigned int i, first[2] = { 0 };

	(void)state;
	for (i = 0; i < 100; i++) {
		bed_send(bed, 40);
		card_rq_record(bed->rx, BED_WQES + RX_STATS(bed)->rx_frames);
		while (bed_tx_cqe(bed) != NULL || bed_rx_cqe(bed) != NULL)
			;
		if (i == 0)
			first[0] = FAULTS(bed)->frames_dropped;
	}
	/* 1000 expected of 4000, the standard deviation is 27. */
	assert_in_range(FAULTS(bed)->frames_dropped, 900, 1100);
	assert_int_equal(RX_STATS(bed)->rx_frames, 4000 - FAULTS(bed)->frames_dropped);
	bed_free(bed);
	bed = bed_new("seed=3; frame tx p=0.25 drop");
	bed_send(bed, 40);
	first[1] = FAULTS(bed)->frames_dropped;
	assert_int_equal(first[0], first[1]);
	bed_free(bed);
	bed = bed_new("frame tx p=1 drop");
	bed_send(bed, 40);
	assert_int_equal(FAULTS(bed)->frames_dropped, 40);
	bed_free(bed);
}

/* Which frames are lost, as bits. */
static uint64_t
lost(const char *faults)
{
	struct bed *bed = bed_new(faults);
	uint64_t got = 0;
	const uint8_t *frame;
	uint32_t length;
	int number;

	bed_send(bed, 60);
	while ((number = bed_received(bed, &frame, &length)) >= 0)
		got |= UINT64_C(1) << number;
	bed_free(bed);
	return ~got & ((UINT64_C(1) << 60) - 1);
}

static void
the_seed_decides(void **state)
{
	uint64_t one = lost("seed=1; frame tx p=0.3 drop");

	(void)state;
	assert_int_equal(lost("seed=1; frame tx p=0.3 drop"), one);
	assert_true(lost("seed=2; frame tx p=0.3 drop") != one);
	/* Another fault in the list has its own luck. */
	assert_int_equal(lost("seed=1; frame tx p=0.3 drop; link port=1 down at=1s"), one);
	assert_true(lost("seed=1; link port=1 down at=1s; frame tx p=0.3 drop") != one);
	/* Without a seed of its own it is the adapter's. */
	assert_int_equal(lost("frame tx p=0.3 drop"), lost("seed=0; frame tx p=0.3 drop"));
}

static void
slow(void **state)
{
	struct bed *bed = bed_new("slow port=2 frames=2 per=10us queue=3");

	(void)state;
	bed_send(bed, 8);
	EXPECT(bed, 0, 1);
	assert_int_equal(RX_STATS(bed)->rx_overruns, 3);
	bed_wait(bed, 9999);
	EXPECT_NONE(bed);
	bed_wait(bed, 1);
	EXPECT(bed, 2, 3);
	/* In order behind what waits, though one more could pass now. */
	bed_wait(bed, 10000);
	bed_send(bed, 2);
	EXPECT(bed, 4, 8);
	bed_wait(bed, 10000);
	EXPECT(bed, 9);
	assert_int_equal(RX_STATS(bed)->rx_overruns, 3);
	assert_int_equal(FAULTS(bed)->slow, 1);
	bed_free(bed);
}

/* What is held back when the faults end comes at once, or goes with the adapter. */
static void
held_frames_are_not_lost(void **state)
{
	struct bed *bed = bed_new("frame tx nth=3 reorder=9 within=1s; "
		"slow port=2 frames=1 per=1s");

	(void)state;
	bed_send(bed, 4);
	EXPECT(bed, 0);
	vmlx4_fault_clear_all(bed->card.adapter->fault_state, true);
	EXPECT(bed, 1, 3, 2);
	bed_send(bed, 1);
	EXPECT(bed, 4);
	bed_free(bed);
	bed = bed_new("frame tx nth=1 reorder=9; slow port=2 frames=1 per=1s");
	bed_send(bed, 4);
	bed_free(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop_nth),
		cmocka_unit_test(drop_received),
		cmocka_unit_test(matching),
		cmocka_unit_test(bad_fcs),
		cmocka_unit_test(good_fcs),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(reordered),
		cmocka_unit_test(reordered_among_others),
		cmocka_unit_test(by_lot),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(slow),
		cmocka_unit_test(held_frames_are_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
