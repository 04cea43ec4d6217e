/* SPDX-License-Identifier: BSD-3-Clause */

#include "frames.h"
#include "steer.h"

/* Pause frames that arrive at port 1, and what its send queue does then. */

/* 40 Gb/s: a quantum of 512 bits takes 12.8 ns. */
#define QUANTA_100_NS 1280u

static const uint8_t pause_frame[60] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55,
	0x88, 0x08, 0x00, 0x01, 0x00, 0x64,
};

struct link {
	struct card card;
	struct vmlx4_cq *cq;
	struct vmlx4_qp *qp;
	struct vmlx4_port *port;
	uint32_t posted;
};

static struct link *
link_new(void)
{
	struct link *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	card_new(&l->card, VMLX4_STRICT_REPORT);
	l->cq = card_cq(&l->card, 64, 64);
	l->qp = card_sq(&l->card, l->cq, 128, 6);
	l->port = &l->card.adapter->ports[0];
	l->port->netdev.rx_pause = true;
	card_watch(&l->card, 1);
	return l;
}

static void
link_free(struct link *l)
{
	vmlx4_timer_cancel(l->card.adapter, &l->port->pause.timer);
	card_qp_free(&l->card, l->qp);
	card_cq_free(l->cq);
	card_free(&l->card);
	free(l);
}

static void
pause_for(struct link *l, uint16_t quanta)
{
	uint8_t frame[60];

	memcpy(frame, pause_frame, 60);
	vmlx4_put_be16(frame + 16, quanta);
	vmlx4_port_receive(l->port, frame, 60);
}

/* Post one frame; how many have left by now. */
static unsigned int
send_one(struct link *l)
{
	card_post(l->qp, l->posted++, 0x0e, l->card.arena, 60);
	card_ring(&l->card, l->qp);
	return card_sent.count;
}

static unsigned int
later(struct link *l, uint64_t ns)
{
	l->card.adapter->time.stepped += ns;
	while (vmlx4_engine_pass(l->card.adapter, 0) != 0)
		;
	return card_sent.count;
}

static void
test_obeyed_for_its_time(void **state)
{
	struct link *l = link_new();

	(void)state;
	assert_int_equal(send_one(l), 1);
	pause_for(l, 100);
	assert_int_equal(send_one(l), 1);
	assert_int_equal(later(l, QUANTA_100_NS - 1), 1);
	assert_int_equal(l->cq->pi, 1);
	/* It goes on by itself, with all that was posted. */
	assert_int_equal(send_one(l), 1);
	assert_int_equal(later(l, 1), 3);
	assert_int_equal(send_one(l), 4);
	assert_int_equal(l->port->stats.rx_pause, 1);
	assert_int_equal(l->port->stats.rx_no_rule, 0);
	link_free(l);
}

static void
test_zero_ends_it(void **state)
{
	struct link *l = link_new();

	(void)state;
	pause_for(l, 0xffff);
	assert_int_equal(send_one(l), 0);
	pause_for(l, 0);
	assert_int_equal(later(l, 0), 1);
	/* A later one counts from its own arrival. */
	pause_for(l, 100);
	l->card.adapter->time.stepped += QUANTA_100_NS / 2;
	pause_for(l, 100);
	send_one(l);
	assert_int_equal(later(l, QUANTA_100_NS - 1), 1);
	assert_int_equal(later(l, 1), 2);
	link_free(l);
}

/* Switched off they end in the port all the same; no sniffer sees them. */
static void
test_switched_off(void **state)
{
	struct link *l = link_new();

	(void)state;
	l->port->netdev.rx_pause = false;
	pause_for(l, 100);
	assert_int_equal(send_one(l), 1);
	assert_int_equal(l->port->stats.rx_pause, 1);
	link_free(l);
}

/* Other MAC control frames, other addresses, and runts are frames like any. */
static void
test_look_alikes(void **state)
{
	struct link *l = link_new();
	uint8_t frame[60];

	(void)state;
	memcpy(frame, pause_frame, 60);
	frame[15] = 0x02;
	vmlx4_port_receive(l->port, frame, 60);
	memcpy(frame, pause_frame, 60);
	frame[5] = 0x02;
	vmlx4_port_receive(l->port, frame, 60);
	vmlx4_port_receive(l->port, pause_frame, 17);
	assert_int_equal(l->port->stats.rx_pause, 0);
	assert_int_equal(l->port->stats.rx_no_rule, 3);
	assert_int_equal(send_one(l), 1);
	link_free(l);
}

/* A port whose queue starves asks the other end, if it is told to, and not too often. */
static void
test_starved(void **state)
{
	struct steer *s = steer_new();
	struct vmlx4_port *port = &s->card.adapter->ports[1];
	unsigned int i;

	(void)state;
	port->netdev.tx_pause = true;
	memcpy(port->netdev.mac, OWN, 6);
	card_watch(&s->card, 2);
	add(rule(s, 0, VMLX4_FLOW_NORMAL, 0, OWN));
	card_rq_record(s->qp[0], 0);
	WHO(s, OWN);
	assert_int_equal(card_sent.count, 0); /* what cards do is not known */
	s->card.adapter->options.unknowns.tx_pause_when_starved = 1;
	for (i = 0; i < 3; i++)
		WHO(s, OWN);
	assert_int_equal(card_sent.count, 1);
	assert_int_equal(card_sent.length[0], 60);
	assert_memory_equal(card_sent.frame[0], pause_frame, 6);
	assert_memory_equal(card_sent.frame[0] + 6, OWN, 6);
	assert_memory_equal(card_sent.frame[0] + 12, "\x88\x08\x00\x01\xff\xff", 6);
	/* The other end is port 1, back to back; it has been told to obey nobody. */
	assert_int_equal(s->card.adapter->ports[0].stats.rx_pause, 1);
	s->card.adapter->time.stepped += 0xffff * 64 / 10; /* half of 65535 quanta */
	WHO(s, OWN);
	assert_int_equal(card_sent.count, 2);
	port->netdev.tx_pause = false;
	s->card.adapter->time.stepped += 1000000;
	WHO(s, OWN);
	assert_int_equal(card_sent.count, 2);
	assert_int_equal(port->stats.tx_pause, 2);
	assert_int_equal(port->stats.rx_no_wqe, 6);
	steer_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_obeyed_for_its_time),
		cmocka_unit_test(test_zero_ends_it),
		cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_look_alikes),
		cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
