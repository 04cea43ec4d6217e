/* SPDX-License-Identifier: BSD-3-Clause */

#include "frames.h"
#include "tx.h"

/* A sender and a receiver on port 1: what comes back inside, what leaves. */

struct loop {
	struct tx *tx;
	struct vmlx4_qp *rx;
	struct vmlx4_flow flow;
	struct vmlx4_port *port;
	uint32_t posted;
};

#define OWN "\x00\x02\xc9\x11\x22\x30"
#define FOREIGN "\x00\x02\xc9\x99\x99\x30"
#define GROUP "\x01\x00\x5e\x00\x00\x01"
#define NONE "\x00\x00\x00\x00\x00\x00"

static void
loop_new(struct loop *l, const char *mac)
{
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->tx = tx_new(VMLX4_STRICT_REPORT, 128, 6);
	l->port = &l->tx->card.adapter->ports[0];
	l->rx = card_rq(&l->tx->card, l->tx->cq, 32, 1);
	for (i = 0; i < 32; i++)
		card_post_recv(l->rx, i, l->tx->card.arena + 0x8000, 2048);
	card_rq_record(l->rx, 32);
	l->flow.flow_type = VMLX4_FLOW_NORMAL;
	l->flow.match.eth = true;
	memcpy(l->flow.match.dst_mac, mac, 6);
	memset(l->flow.match.dst_mac_mask, 0xff, 6);
	l->flow.port = l->port;
	l->flow.qp = l->rx;
	assert_int_equal(vmlx4_steering_add(&l->flow), 0);
}

static void
loop_free(struct loop *l)
{
	vmlx4_steering_remove(&l->flow);
	card_qp_free(&l->tx->card, l->rx);
	tx_free(l->tx);
}

/* Send a frame to a MAC whose control segment names another (or none). */
static void
send_to(struct loop *l, const char *frame_mac, const char *ctrl_mac, uint32_t flags)
{
	uint8_t *at = l->tx->card.arena, *wqe = stride(l->tx, l->posted);

	memcpy(at, frame_udp4, sizeof(frame_udp4));
	memcpy(at, frame_mac, 6);
	card_post(l->tx->qp, l->posted++, 0x0e | flags, at, sizeof(frame_udp4));
	memcpy(wqe + 8, ctrl_mac, 2);
	memcpy(wqe + 12, ctrl_mac + 2, 4);
	card_ring(&l->tx->card, l->tx->qp);
}

/* Frames received inside, and frames that left. */
static void
expect(const struct loop *l, unsigned int inside, unsigned int left)
{
	assert_int_equal(l->rx->rq.ci, inside);
	assert_int_equal(card_sent.count, left);
	assert_int_equal(l->port->stats.tx_frames, left);
	assert_int_equal(l->port->stats.tx_loopback, inside);
	assert_int_equal(l->port->stats.rx_no_rule, 0);
	assert_int_equal(l->tx->card.adapter->violations, 0);
}

/* The control segment decides, not the frame. */
static void
test_unicast(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	send_to(&l, OWN, OWN, 0);
	expect(&l, 1, 0);
	assert_memory_equal(l.tx->card.arena + 0x8000, frame_udp4, sizeof(frame_udp4));
	assert_int_equal(l.tx->cq->pi, 2); /* received, then sent */
	send_to(&l, OWN, NONE, 0);
	expect(&l, 1, 1);
	send_to(&l, FOREIGN, FOREIGN, 0);
	expect(&l, 1, 2);
	loop_free(&l);
}

/* Only a rule for the very address makes it the port's. */
static void
test_default_rules_own_nothing(void **state)
{
	struct vmlx4_flow *all;
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	all = card_catch_all(&l.tx->card, 1, l.rx);
	send_to(&l, FOREIGN, FOREIGN, 0);
	expect(&l, 0, 1);
	card_flow_free(all);
	vmlx4_steering_remove(&l.flow);
	send_to(&l, OWN, OWN, 0);
	expect(&l, 0, 2);
	assert_int_equal(vmlx4_steering_add(&l.flow), 0);
	loop_free(&l);
}

static void
test_unicast_options(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	l.tx->card.adapter->options.unknowns.loopback_unicast = 0;
	send_to(&l, OWN, OWN, 0);
	expect(&l, 0, 1);
	l.tx->card.adapter->options.unknowns.loopback_unicast = 2;
	send_to(&l, OWN, OWN, 0);
	expect(&l, 1, 2);
	loop_free(&l);
}

/* FL: inside, whatever the control segment names; without a rule it is lost. */
static void
test_forced(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	send_to(&l, OWN, NONE, 1);
	expect(&l, 1, 0);
	send_to(&l, FOREIGN, NONE, 1);
	assert_int_equal(card_sent.count, 0);
	assert_int_equal(l.rx->rq.ci, 1);
	assert_int_equal(l.port->stats.rx_no_rule, 1);
	loop_free(&l);
}

/* A group's frame leaves, and the port's own members get it too. */
static void
test_multicast(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, GROUP);
	send_to(&l, GROUP, GROUP, 0);
	expect(&l, 1, 1);
	send_to(&l, GROUP, NONE, 0);
	expect(&l, 1, 2);
	l.tx->card.adapter->options.unknowns.loopback_multicast = 0;
	send_to(&l, GROUP, GROUP, 0);
	expect(&l, 1, 3);
	loop_free(&l);
}

/* BLOCK_SELF_MCAST_LB keeps a QP's own frames from it, and from no other. */
static void
test_block_self(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, GROUP);
	l.tx->qp->block_mcast_lb = true;
	send_to(&l, GROUP, GROUP, 0);
	assert_int_equal(l.rx->rq.ci, 1);
	/* The rule leads to the sender itself. */
	l.flow.qp = l.tx->qp;
	send_to(&l, GROUP, GROUP, 0);
	assert_int_equal(l.port->stats.rx_dropped_by_rule, 0);
	l.tx->qp->block_mcast_lb = false;
	send_to(&l, GROUP, GROUP, 0);
	assert_int_equal(l.port->stats.rx_dropped_by_rule, 1); /* it has no receive queue */
	assert_int_equal(card_sent.count, 3);
	loop_free(&l);
}

/* The cable has no part in it, unless the option says so. */
static void
test_without_link(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	l.port->active = false;
	send_to(&l, OWN, OWN, 0);
	expect(&l, 1, 0);
	l.tx->card.adapter->options.unknowns.loopback_needs_link = 1;
	send_to(&l, OWN, OWN, 0);
	expect(&l, 1, 0);
	assert_int_equal(l.port->stats.tx_link_down, 1);
	loop_free(&l);
}

/* Offloads are done before the frame turns round. */
static void
test_with_offloads(void **state)
{
	struct loop l;

	(void)state;
	loop_new(&l, OWN);
	memset(l.tx->card.arena + 0x8000, 0, 128);
	memcpy(l.tx->card.arena, frame_udp4, sizeof(frame_udp4));
	memset(l.tx->card.arena + 24, 0xaa, 2);
	memset(l.tx->card.arena + 40, 0xaa, 2);
	card_post(l.tx->qp, 0, 0x3e, l.tx->card.arena, sizeof(frame_udp4));
	memcpy(stride(l.tx, 0) + 8, OWN, 2);
	memcpy(stride(l.tx, 0) + 12, &OWN[2], 4);
	card_ring(&l.tx->card, l.tx->qp);
	expect(&l, 1, 0);
	assert_memory_equal(l.tx->card.arena + 0x8000, frame_udp4, sizeof(frame_udp4));
	loop_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unicast),
		cmocka_unit_test(test_default_rules_own_nothing),
		cmocka_unit_test(test_unicast_options),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_multicast),
		cmocka_unit_test(test_block_self),
		cmocka_unit_test(test_without_link),
		cmocka_unit_test(test_with_offloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
