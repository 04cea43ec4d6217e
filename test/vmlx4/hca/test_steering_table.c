/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "frames_tunnel.h"
#include "steer.h"

/* The order of rules, the kernel's second rule for tunnels, the MAC table. */

#define PORT(s) (&(s)->card.adapter->ports[1])
#define UNKNOWNS(s) (&(s)->card.adapter->options.unknowns)

/* MAC index of the CQE last written: bits 30:24 of the dword at byte 8. */
static uint8_t
last_index(const struct steer *s)
{
	return card_cqe(s->cq, s->cq->pi - 1)[8];
}

static void
test_udp_port_ignores_priority(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	add(rule(s, 1, VMLX4_FLOW_NORMAL, 1, OWN));
	flow = rule(s, 0, VMLX4_FLOW_NORMAL, 0x800, NULL);
	flow->match.ipv4 = true;
	flow->match.udp = true;
	flow->match.dst_port = htobe16(2000);
	flow->match.dst_port_mask = 0xffff;
	add(flow);
	assert_string_equal(WHO(s, OWN), "100");
	card_flow_free(s->flow[--s->flows]);
	assert_string_equal(WHO(s, OWN), "010");
	/* A source port is not among what makes the difference. */
	flow = rule(s, 2, VMLX4_FLOW_NORMAL, 0x800, NULL);
	flow->match.ipv4 = true;
	flow->match.udp = true;
	flow->match.src_port = htobe16(1000);
	flow->match.src_port_mask = 0xffff;
	add(flow);
	assert_string_equal(WHO(s, OWN), "010");
	steer_free(s);
}

static void
test_mac_index(void **state)
{
	struct steer *s = steer_new();

	(void)state;
	memcpy(PORT(s)->netdev.mac, "\x00\x02\xc9\x11\x22\x01", 6);
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0, FOREIGN));
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0, OWN));
	add(rule(s, 1, VMLX4_FLOW_ALL_DEFAULT, 0xfff, NULL));
	UNKNOWNS(s)->rx_mac_index_none = 0x55;
	WHO(s, FOREIGN);
	assert_int_equal(last_index(s), 1);
	WHO(s, OWN);
	assert_int_equal(last_index(s), 2);
	WHO(s, OWN); /* remembered */
	assert_int_equal(last_index(s), 2);
	/* The interface's own address needs no rule. */
	assert_string_equal(WHO(s, "\x00\x02\xc9\x11\x22\x01"), "010");
	assert_int_equal(last_index(s), 0);
	assert_string_equal(WHO(s, "\x00\x02\xc9\x55\x55\x55"), "010");
	assert_int_equal(last_index(s), 0x55);
	steer_free(s);
}

static struct vmlx4_flow *
numbered(struct steer *s, unsigned int number)
{
	struct vmlx4_flow *flow = rule(s, 0, VMLX4_FLOW_NORMAL, 0, FOREIGN);

	s->flows--; /* kept by the test */
	flow->match.dst_mac[5] = (uint8_t)number;
	flow->match.dst_mac[4] = (uint8_t)(number >> 8);
	return flow;
}

/* 128 addresses: the interface's, and those of 127 rules. */
static void
test_mac_table_full(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow[128], *again;
	unsigned int i;

	(void)state;
	for (i = 0; i < 127; i++)
		flow[i] = add(numbered(s, i));
	flow[127] = numbered(s, 127);
	assert_int_equal(vmlx4_steering_add(flow[127]), -ENOSPC);
	assert_int_equal(PORT(s)->steering.own[127], 0);
	/* A second rule for one of them, and one for a group, take no entry. */
	again = add(numbered(s, 5));
	flow[127]->match.dst_mac[0] = 1;
	add(flow[127]);
	card_flow_free(flow[127]);
	/* Its entry is free only when both rules are gone. */
	card_flow_free(again);
	flow[127] = numbered(s, 127);
	assert_int_equal(vmlx4_steering_add(flow[127]), -ENOSPC);
	card_flow_free(flow[5]);
	add(flow[127]);
	assert_int_equal(flow[127]->mac_index, 6);
	for (i = 0; i < 128; i++)
		if (i != 5)
			card_flow_free(flow[i]);
	/* Without the table there is no limit. */
	UNKNOWNS(s)->steer_mac_table = 0;
	for (i = 0; i < 128; i++)
		flow[i] = add(numbered(s, i));
	for (i = 0; i < 128; i++)
		card_flow_free(flow[i]);
	steer_free(s);
}

#define VXLAN(s) who(s, frame_vxlan4, sizeof(frame_vxlan4), OWN)

/* The twin has 0xff of 0xfff, so it goes before what lies between. */
static void
test_tunnel_twin(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, OWN));
	flow = rule(s, 1, VMLX4_FLOW_NORMAL, 0x200, NULL);
	flow->match.ipv4 = true;
	flow->match.dst_ip = htobe32(0x0a000002);
	flow->match.dst_ip_mask = 0xffffffff;
	add(flow);
	assert_string_equal(VXLAN(s), "100");
	assert_string_equal(WHO(s, OWN), "010");
	/* It goes with its rule. */
	card_flow_free(s->flow[0]);
	s->flow[0] = s->flow[--s->flows];
	assert_string_equal(VXLAN(s), "010");
	steer_free(s);
}

/* On a card without tunnels there is none, and VXLAN is UDP. */
static void
test_no_twin_without_tunnels(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	s->card.adapter->profile = vmlx4_profile_find("cx3");
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0xfff, OWN));
	flow = rule(s, 1, VMLX4_FLOW_NORMAL, 0x200, NULL);
	flow->match.ipv4 = true;
	flow->match.dst_ip = htobe32(0x0a000002);
	flow->match.dst_ip_mask = 0xffffffff;
	add(flow);
	assert_string_equal(VXLAN(s), "010");
	steer_free(s);
}

/* With the option plain rules do not see tunnels, whatever they match. */
static void
test_tunnel_needs_rule(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_flow *flow;

	(void)state;
	UNKNOWNS(s)->steer_tunnel_needs_rule = 1;
	flow = rule(s, 1, VMLX4_FLOW_NORMAL, 0, NULL);
	flow->match.ipv4 = true;
	add(flow);
	assert_string_equal(WHO(s, OWN), "010");
	assert_string_equal(VXLAN(s), "000");
	add(rule(s, 2, VMLX4_FLOW_NORMAL, 0xfff, OWN));
	assert_string_equal(VXLAN(s), "001");
	card_flow_free(s->flow[--s->flows]);
	add(rule(s, 0, VMLX4_FLOW_ALL_DEFAULT, 0xfff, NULL));
	assert_string_equal(VXLAN(s), "100");
	steer_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp_port_ignores_priority),
		cmocka_unit_test(test_mac_index),
		cmocka_unit_test(test_mac_table_full),
		cmocka_unit_test(test_tunnel_twin),
		cmocka_unit_test(test_no_twin_without_tunnels),
		cmocka_unit_test(test_tunnel_needs_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
