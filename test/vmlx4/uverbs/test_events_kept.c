/* SPDX-License-Identifier: BSD-3-Clause */

/* What becomes of unread events when an object goes and there is no memory left. */

#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "card.h"
#include "uverbs/uverbs.h"

#define EVENTS 100
#define MINE 1
#define OTHER 2

static bool no_memory;

/* In place of libc's: --wrap. */
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *
__wrap_realloc(void *old, size_t size)
{
	return no_memory ? NULL : __real_realloc(old, size);
}

/* All of the object are dropped and counted, all others stay, in their order. */
static void
test_without_memory(void **state)
{
	struct ib_uverbs_async_event_desc event;
	struct card card;
	unsigned int i, dropped;

	(void)state;
	card_new(&card, VMLX4_STRICT_OFF);
	card.ctx->async_read_fd = card.async[0];
	for (i = 0; i < EVENTS; i++)
		vmlx4_async_event(card.adapter, card.ctx, i % 3,
			i % 2 == 0 ? MINE : OTHER);
	no_memory = true;
	dropped = vmlx4_async_drop(card.ctx, MINE, UINT32_MAX);
	no_memory = false;
	assert_int_equal(dropped, EVENTS / 2);
	for (i = 1; i < EVENTS; i += 2) {
		assert_int_equal(recv(card.async[0], &event, sizeof(event), MSG_DONTWAIT),
			sizeof(event));
		assert_int_equal(event.element, OTHER);
		assert_int_equal(event.event_type, i % 3);
	}
	assert_int_equal(recv(card.async[0], &event, sizeof(event), MSG_DONTWAIT), -1);
	card_free(&card);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
