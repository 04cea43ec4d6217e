/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef STEER_H_
#define STEER_H_

#include <stdlib.h>

#include "card.h"
#include "frames.h"

/* Three receive queues behind rules of port 2; who gets a frame? */

struct steer {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *qp[3];
	struct vmlx4_flow *flow[8];
	unsigned int flows;
	uint8_t got[3];
};

static inline struct steer *
steer_new(void)
{
	struct steer *s = calloc(1, sizeof(*s));
	unsigned int i, k;

	assert_non_null(s);
	card_new(&s->card, VMLX4_STRICT_REPORT);
	s->cq = card_cq(&s->card, 1024, 64);
	for (i = 0; i < 3; i++) {
		s->qp[i] = card_rq(&s->card, s->cq, 128, 1);
		for (k = 0; k < 128; k++)
			card_post_recv(s->qp[i], k, s->card.arena, 2048);
		card_rq_record(s->qp[i], 128);
	}
	return s;
}

static inline void
steer_free(struct steer *s)
{
	unsigned int i;

	for (i = 0; i < s->flows; i++)
		card_flow_free(s->flow[i]);
	for (i = 0; i < 3; i++)
		card_qp_free(&s->card, s->qp[i]);
	card_cq_free(s->cq);
	card_free(&s->card);
	free(s);
}

static inline struct vmlx4_flow *
rule(struct steer *s, unsigned int qp, enum vmlx4_flow_type type, uint16_t priority,
	const char *mac)
{
	struct vmlx4_flow *flow = calloc(1, sizeof(*flow));

	assert_non_null(flow);
	flow->flow_type = type;
	flow->priority = priority;
	flow->port = &s->card.adapter->ports[1];
	flow->qp = s->qp[qp];
	if (mac != NULL) {
		flow->match.eth = true;
		memcpy(flow->match.dst_mac, mac, 6);
		memset(flow->match.dst_mac_mask, 0xff, 6);
	}
	s->flow[s->flows++] = flow;
	return flow;
}

static inline struct vmlx4_flow *
add(struct vmlx4_flow *flow)
{
	assert_int_equal(vmlx4_steering_add(flow), 0);
	return flow;
}

/* Send a frame in; which queues took it, as digits: "100" the first alone. */
static inline const char *
who(struct steer *s, const uint8_t *frame, size_t length, const char *mac)
{
	static char answer[4];
	uint8_t copy[256];
	uint16_t before[3];
	unsigned int i;

	memcpy(copy, frame, length);
	if (mac != NULL)
		memcpy(copy, mac, 6);
	for (i = 0; i < 3; i++)
		before[i] = s->qp[i]->rq.ci;
	vmlx4_port_receive(&s->card.adapter->ports[1], copy, length);
	for (i = 0; i < 3; i++)
		answer[i] = (char)('0' + (uint16_t)(s->qp[i]->rq.ci - before[i]));
	return answer;
}

#define OWN "\x00\x02\xc9\x11\x22\x30"
#define FOREIGN "\x00\x02\xc9\x99\x99\x99"
#define GROUP "\x01\x00\x5e\x00\x00\x01"
#define BROADCAST "\xff\xff\xff\xff\xff\xff"
#define WHO(s, mac) who(s, frame_udp4, sizeof(frame_udp4), mac)

#endif /* STEER_H_ */
