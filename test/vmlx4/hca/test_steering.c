/* SPDX-License-Identifier: BSD-3-Clause */

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

static struct steer *
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

static void
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

static struct vmlx4_flow *
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

static struct vmlx4_flow *
add(struct vmlx4_flow *flow)
{
	assert_int_equal(vmlx4_steering_add(flow), 0);
	return flow;
}

/* Send a frame in; which queues took it, as digits: "100" the first alone. */
static const char *
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

static void
test_priority_then_age(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	assert_string_equal(WHO(s, OWN), "000");
	assert_int_equal(s->card.adapter->ports[1].stats.rx_no_rule, 1);
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 5, OWN));
	add(rule(s, 1, VMLX4_FLOW_NORMAL, 5, OWN));
	assert_string_equal(WHO(s, OWN), "100");
	add(rule(s, 2, VMLX4_FLOW_NORMAL, 4, OWN));
	assert_string_equal(WHO(s, OWN), "001");
	assert_string_equal(WHO(s, FOREIGN), "000");
	/* The remembered answer goes with its rule. */
	card_flow_free(s->flow[--s->flows]);
	assert_string_equal(WHO(s, OWN), "100");
	steer_free(s);
}

static void
test_default_rules(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, OWN));
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, BROADCAST));
	assert_string_equal(WHO(s, OWN), "100");
	assert_string_equal(WHO(s, BROADCAST), "100");
	assert_string_equal(WHO(s, GROUP), "000");
	assert_string_equal(WHO(s, FOREIGN), "000");
	add(rule(s, 0, VMLX4_FLOW_MC_DEFAULT, 0xfff, NULL));
	assert_string_equal(WHO(s, GROUP), "100");
	assert_string_equal(WHO(s, BROADCAST), "100");
	assert_string_equal(WHO(s, FOREIGN), "000");
	add(rule(s, 0, VMLX4_FLOW_ALL_DEFAULT, 0xfff, NULL));
	/* Exactly one copy of each. */
	assert_string_equal(WHO(s, OWN), "100");
	assert_string_equal(WHO(s, GROUP), "100");
	assert_string_equal(WHO(s, BROADCAST), "100");
	assert_string_equal(WHO(s, FOREIGN), "100");
	steer_free(s);
}

/* On this card neither default rule covers broadcasts: drivers add a rule. */
static void
test_broadcast_needs_its_rule(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_ALL_DEFAULT, 0xfff, NULL));
	add(rule(s, 1, VMLX4_FLOW_MC_DEFAULT, 0xfff, NULL));
	assert_string_equal(WHO(s, BROADCAST), "000");
	s->card.adapter->options.unknowns.default_takes_broadcast = 1;
	assert_string_equal(WHO(s, BROADCAST), "110");
	s->card.adapter->options.unknowns.default_takes_broadcast = 0;
	steer_free(s);
}

static void
test_multicast_is_replicated(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0, GROUP));
	add(rule(s, 2, VMLX4_FLOW_NORMAL, 9, GROUP));
	add(rule(s, 0, VMLX4_FLOW_MC_DEFAULT, 0xfff, NULL));
	assert_string_equal(WHO(s, GROUP), "101");
	steer_free(s);
}

static void
test_sniffer_copies(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0, OWN));
	add(rule(s, 1, VMLX4_FLOW_SNIFFER, 0, NULL));
	assert_string_equal(WHO(s, OWN), "110");
	assert_string_equal(WHO(s, FOREIGN), "010");
	/* What the port itself sends is seen as well. */
	vmlx4_port_send(&s->card.adapter->ports[1], frame_udp4, sizeof(frame_udp4));
	assert_int_equal(s->qp[1]->rq.ci, 3);
	steer_free(s);
}

static void
test_deep_rules(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	flow = rule(s, 0, VMLX4_FLOW_NORMAL, 1, NULL);
	flow->match.udp = true;
	flow->match.dst_port = htobe16(2000);
	flow->match.dst_port_mask = 0xffff;
	add(flow);
	flow = rule(s, 1, VMLX4_FLOW_NORMAL, 2, NULL);
	flow->match.ipv4 = true;
	flow->match.src_ip = htobe32(0x0a000001);
	flow->match.src_ip_mask = 0xffffffff;
	add(flow);
	flow = rule(s, 2, VMLX4_FLOW_NORMAL, 0, OWN);
	flow->match.vlan_tag = htobe16(291);
	flow->match.vlan_mask = htobe16(0x0fff);
	add(flow);
	assert_string_equal(WHO(s, OWN), "100");
	/* A fragment has no ports. */
	assert_string_equal(who(s, frame_frag_first, sizeof(frame_frag_first), NULL), "010");
	assert_string_equal(who(s, frame_tcp4_options, sizeof(frame_tcp4_options), NULL), "010");
	assert_string_equal(who(s, frame_tagged, sizeof(frame_tagged), NULL), "001");
	assert_string_equal(who(s, frame_tcp6, sizeof(frame_tcp6), NULL), "000");
	/* The same destination again, other ports: no answer from memory. */
	assert_string_equal(WHO(s, OWN), "100");
	steer_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_priority_then_age),
		cmocka_unit_test(test_default_rules),
		cmocka_unit_test(test_broadcast_needs_its_rule),
		cmocka_unit_test(test_multicast_is_replicated),
		cmocka_unit_test(test_sniffer_copies),
		cmocka_unit_test(test_deep_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
