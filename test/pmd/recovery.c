/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues that fail: what comes back by itself, and what the application is told. */

#include <stdio.h>
#include <stdlib.h>

#include "events.h"
#include "harness.h"

#define ALIVE_MS 30000

static uint16_t
watched_port(struct port_conf *conf)
{
	uint16_t port = port_open(0);

	events_watch(port);
	port_configure(port, conf);
	port_start(port, conf);
	check_traffic(port);
	capture_clear(port);
	return port;
}

/* One packet; false: the queue does not take it. */
static bool
send_one(uint16_t port, struct rte_mempool *pool)
{
	uint8_t frame[100];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, 5);
	m = mbuf_frame(pool, frame, sizeof(frame));
	if (rte_eth_tx_burst(port, 0, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static bool
tx_alive(uint16_t port, struct rte_mempool *pool)
{
	unsigned int before = capture_count(port);

	send_one(port, pool);
	settle();
	return capture_count(port) > before;
}

/* What the application reads as the last thing that went wrong. */
static bool
dump_has(uint16_t port, const char *text)
{
	char *dump = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&dump, &size);
	bool found;

	CHECK(file != NULL);
	CHECK_OK(rte_eth_dev_priv_dump(port, file));
	fclose(file);
	found = strstr(dump, text) != NULL;
	free(dump);
	return found;
}

/* The adapter ends the QP: what is sent next is flushed, and the queue comes back. */
TEST(recovery_from_the_event_of_a_queue)
{
	static const char * const faults[] = {
		"qp fatal port=1", "qp request-error port=1", "qp access-error port=1",
	};
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = watched_port(&conf);
	unsigned int i;

	for (i = 0; i < RTE_DIM(faults); i++) {
		fault_add(faults[i]);
		WAIT_FOR(xstat_of(port, "error_queue_events") == i + 1, 30000);
		WAIT_FOR(tx_alive(port, conf.pool), ALIVE_MS);
		CHECK_OK(vmlx4_fault_clear());
		WAIT_FOR(xstat_of(port, "tx_queue_recoveries") == i + 1, ALIVE_MS);
		CHECK_EQ(xstat_of(port, "error_flushed"), i + 1);
		check_traffic(port);
		capture_clear(port);
	}
	CHECK(dump_has(port, "TX queue 0: the adapter reported the queue as failed"));
	CHECK_EQ(events_of(port, RTE_ETH_EVENT_INTR_RESET), 0);
}

/* By cause, also after a reset of the statistics. */
TEST(recovery_is_counted_by_cause)
{
	static const struct {
		unsigned int syndrome;
		const char *name, *text;
	} causes[] = {
		{ 0x01, "error_local_length", "local length error (syndrome 0x01" },
		{ 0x02, "error_local_operation", "local QP operation error (syndrome 0x02" },
		{ 0x04, "error_local_protection", "local protection error (syndrome 0x04" },
		{ 0x22, "error_other_completion", "completion with an error (syndrome 0x22" },
	};
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = watched_port(&conf);
	unsigned int i, j;

	for (i = 0; i < RTE_DIM(causes); i++) {
		CHECK_OK(rte_eth_xstats_reset(port));
		CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1,
			causes[i].syndrome));
		CHECK(send_one(port, conf.pool));
		WAIT_FOR(tx_alive(port, conf.pool), ALIVE_MS);
		for (j = 0; j < RTE_DIM(causes); j++)
			CHECK_EQ(xstat_of(port, causes[j].name), j == i);
		WAIT_FOR(xstat_of(port, "tx_queue_recoveries") == 1, ALIVE_MS);
		CHECK_EQ(xstat_of(port, "tx_lost_packets") >= 1, 1);
		CHECK(dump_has(port, causes[i].text));
	}
}

/* A completion queue cannot be brought back: the application is to reset the port. */
TEST(recovery_of_a_cq_is_the_reset_of_the_port)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = watched_port(&conf);
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		fault_add("cq error");
		WAIT_FOR(events_of(port, RTE_ETH_EVENT_INTR_RESET) >= i, 30000);
		/* Both queues of the port have one. */
		WAIT_FOR(xstat_of(port, "error_cq_events") == 2 * i, 30000);
		CHECK(dump_has(port, "TX queue 0: CQ overrun or failed"));
		CHECK(dump_has(port, "RX queue 0: CQ overrun or failed"));
		CHECK_OK(vmlx4_fault_clear());
		events_quiet();
		/* A stop and a start do as well. */
		CHECK_OK(i == 1 ? rte_eth_dev_reset(port) : rte_eth_dev_stop(port));
		CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
		if (i == 1)
			port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
		capture_clear(port);
	}
}

/* The kernel refuses: it is told once, tried on, and works when the kernel does. */
TEST(recovery_that_fails_is_told_once)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = watched_port(&conf);

	fault_add("command modify_qp errno=ENOMEM; command modify_wq errno=ENOMEM");
	CHECK_OK(vmlx4_fail_next(VMLX4_FAULT_TX, port_verbs(port), 1, 0x04));
	CHECK(send_one(port, conf.pool));
	settle();
	CHECK(!tx_alive(port, conf.pool));
	WAIT_FOR(events_of(port, RTE_ETH_EVENT_INTR_RESET) == 1, 30000);
	events_quiet();
	CHECK_EQ(events_of(port, RTE_ETH_EVENT_INTR_RESET), 1);
	CHECK_EQ(xstat_of(port, "error_recovery_failures"), 1);
	CHECK_EQ(xstat_of(port, "error_local_protection"), 1);
	CHECK_EQ(xstat_of(port, "tx_queue_recoveries"), 0);
	CHECK(dump_has(port, "TX queue 0: cannot be brought back"));
	CHECK_OK(vmlx4_fault_clear());
	WAIT_FOR(tx_alive(port, conf.pool), ALIVE_MS);
	WAIT_FOR(xstat_of(port, "tx_queue_recoveries") == 1, ALIVE_MS);
	CHECK_EQ(xstat_of(port, "error_local_protection"), 1);
	check_traffic(port);
}

/* Stopped with the failure seen, or not yet: what was sent is sent, the rest lost. */
TEST(recovery_stop_of_a_failed_queue_counts_right)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = watched_port(&conf);
	unsigned int round, i, sent, taken;

	for (round = 0; round < 16; round++) {
		char text[64];

		CHECK_OK(rte_eth_stats_reset(port));
		capture_clear(port);
		snprintf(text, sizeof(text), "wqe tx port=1 syndrome=0x04 nth=%u", 1 + round / 2);
		fault_add(text);
		for (i = 0, taken = 0; i < 10; i++)
			taken += send_one(port, conf.pool);
		CHECK_EQ(taken, 10);
		settle();
		if (round % 2 == 0)
			CHECK(!send_one(port, conf.pool));
		CHECK_OK(rte_eth_dev_stop(port));
		CHECK_OK(vmlx4_fault_clear());
		sent = capture_count(port);
		CHECK_EQ(stats_of(port).opackets, sent);
		CHECK_EQ(stats_of(port).oerrors, taken - sent);
		CHECK_EQ(xstat_of(port, "tx_lost_packets"), taken - sent);
		CHECK_OK(rte_eth_dev_start(port));
	}
	check_traffic(port);
}
