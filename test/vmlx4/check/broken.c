/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "broken.h"
#include "frames.h"

struct broken *
broken_new(enum vmlx4_strict strict, uint32_t stride_shift)
{
	struct broken *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	card_new(&b->card, strict);
	b->cq = card_cq(&b->card, 8, 64);
	b->sq = card_sq(&b->card, b->cq, 128, stride_shift);
	b->rq = card_rq(&b->card, b->cq, 4, 1);
	b->flow = card_catch_all(&b->card, 2, b->rq);
	return b;
}

void
broken_free(struct broken *b)
{
	card_flow_free(b->flow);
	card_qp_free(&b->card, b->sq);
	card_qp_free(&b->card, b->rq);
	card_cq_free(b->cq);
	card_free(&b->card);
	free(b);
}

void
step(struct broken *b)
{
	while (vmlx4_engine_pass(b->card.adapter, 0) != 0)
		;
	vmlx4_engine_audit(b->card.adapter);
}

void
ring(struct broken *b)
{
	card_ring(&b->card, b->sq);
}

void
later(struct broken *b, uint64_t ns)
{
	b->card.adapter->time.stepped += ns;
}

void
receive(struct broken *b)
{
	vmlx4_port_receive(&b->card.adapter->ports[1], frame_udp4, sizeof(frame_udp4));
}

void
reported(struct broken *b, enum vmlx4_rule rule)
{
	unsigned int i;

	for (i = 0; i < VMLX4_RULES; i++)
		if (b->card.adapter->violations_of[i] != (i == (unsigned int)rule))
			fail_msg("%s reported %u times", vmlx4_rule_name((enum vmlx4_rule)i),
				b->card.adapter->violations_of[i]);
	assert_int_equal(b->card.adapter->violations, 1);
	broken_free(b);
}

void
clean(struct broken *b)
{
	assert_int_equal(b->card.adapter->violations, 0);
	broken_free(b);
}
