/* SPDX-License-Identifier: BSD-3-Clause */

#include "card.h"

/* Timers of a stepped adapter: when, in which order, how often. */

struct shot {
	struct vmlx4_timer timer;
	struct card *card;
	unsigned int order;    /* the how many-th to fire; 0: not fired */
	uint64_t again;        /* arm again so much later; 0: do not */
};

static unsigned int fired;

static void
shot_fire(struct vmlx4_timer *timer)
{
	struct shot *shot = (struct shot *)(void *)timer;

	shot->order = ++fired;
	if (shot->again != 0)
		vmlx4_timer_arm(shot->card->adapter, timer, timer->at + shot->again);
}

static void
shots_new(struct card *card, struct shot *shots, unsigned int n)
{
	unsigned int i;

	fired = 0;
	card_new(card, VMLX4_STRICT_FATAL);
	for (i = 0; i < n; i++)
		shots[i] = (struct shot){ .timer.fire = shot_fire, .card = card };
}

static void
at(struct card *card, uint64_t ns)
{
	card->adapter->time.stepped = ns;
	vmlx4_engine_pass(card->adapter, 0);
}

static void
timers_fire_when_due_in_order(void **state)
{
	struct shot shot[4];
	struct card card;
	uint64_t start;

	(void)state;
	shots_new(&card, shot, 4);
	start = vmlx4_time(card.adapter);
	assert_int_equal(start, VMLX4_STEPPED_START_NS);
	vmlx4_timer_arm(card.adapter, &shot[0].timer, start + 300);
	vmlx4_timer_arm(card.adapter, &shot[1].timer, start + 100);
	vmlx4_timer_arm(card.adapter, &shot[2].timer, start + 300);
	vmlx4_timer_arm(card.adapter, &shot[3].timer, start + 200);
	at(&card, start + 99);
	assert_int_equal(fired, 0);
	at(&card, start + 100);
	assert_int_equal(fired, 1);
	at(&card, start + 1000);
	assert_int_equal(shot[1].order, 1);
	assert_int_equal(shot[3].order, 2);
	assert_int_equal(shot[0].order, 3);
	assert_int_equal(shot[2].order, 4);
	assert_int_equal(card.adapter->time.next, VMLX4_NEVER);
	card_free(&card);
}

static void
timer_armed_again_or_cancelled_keeps_the_last_word(void **state)
{
	struct shot shot[2];
	struct card card;
	uint64_t start;

	(void)state;
	shots_new(&card, shot, 2);
	start = vmlx4_time(card.adapter);
	vmlx4_timer_arm(card.adapter, &shot[0].timer, start + 100);
	vmlx4_timer_arm(card.adapter, &shot[0].timer, start + 500);
	vmlx4_timer_arm(card.adapter, &shot[1].timer, start + 100);
	vmlx4_timer_cancel(card.adapter, &shot[1].timer);
	vmlx4_timer_cancel(card.adapter, &shot[1].timer);
	assert_int_equal(card.adapter->time.next, start + 500);
	at(&card, start + 499);
	assert_int_equal(fired, 0);
	at(&card, start + 500);
	assert_int_equal(shot[0].order, 1);
	assert_int_equal(fired, 1);
	card_free(&card);
}

static void
timer_that_arms_itself_fires_each_time_and_ends(void **state)
{
	struct shot shot[1];
	struct card card;
	uint64_t start;

	(void)state;
	shots_new(&card, shot, 1);
	start = vmlx4_time(card.adapter);
	shot[0].again = 10;
	vmlx4_timer_arm(card.adapter, &shot[0].timer, start + 10);
	at(&card, start + 30);
	assert_int_equal(fired, 3);
	assert_int_equal(card.adapter->time.next, start + 40);
	vmlx4_timer_cancel(card.adapter, &shot[0].timer);
	at(&card, start + 100);
	assert_int_equal(fired, 3);
	card_free(&card);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_when_due_in_order),
		cmocka_unit_test(timer_armed_again_or_cancelled_keeps_the_last_word),
		cmocka_unit_test(timer_that_arms_itself_fires_each_time_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
