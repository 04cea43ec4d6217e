/* SPDX-License-Identifier: BSD-3-Clause */

#include "steer.h"

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
	s->card.adapter->options.unknowns.steer_udp_port_first = 0;
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

/* A copy for the rule's QP; the frame goes on as if the rule were not there. */
static void
test_dont_trap(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, OWN));
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, GROUP));
	flow = rule(s, 1, VMLX4_FLOW_DONT_TRAP, 0, NULL);
	flow->copy_unicast = true;
	add(flow);
	assert_string_equal(WHO(s, OWN), "110");
	assert_string_equal(WHO(s, FOREIGN), "010");
	assert_string_equal(WHO(s, GROUP), "100");
	assert_int_equal(s->card.adapter->ports[1].stats.rx_no_rule, 1);
	flow = rule(s, 2, VMLX4_FLOW_DONT_TRAP, 0, NULL);
	flow->copy_multicast = true;
	add(flow);
	assert_string_equal(WHO(s, OWN), "110");
	assert_string_equal(WHO(s, GROUP), "101");
	/* What the port sends is not copied. */
	vmlx4_port_send(&s->card.adapter->ports[1], frame_udp4, sizeof(frame_udp4));
	assert_int_equal(s->qp[1]->rq.ci, 3);
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
		cmocka_unit_test(test_dont_trap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
