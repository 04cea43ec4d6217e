/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What users of drivers of this kind ran into and no other file is about; the table is
 * doc/guides/nics/mlx4dv_reports.rst.
 */

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_flow.h>

#include "harness.h"

/* A child without a word of its own. */
static void
fork_and_leave(void)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0)
		_exit(0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Both while packets of ours are in the rings. */
TEST(reports_program_starts_others_under_traffic)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_mbuf *m, *got;
	uint8_t frame[1000];
	unsigned int i;

	capture_start(port);
	for (i = 0; i < 20; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		CHECK_EQ(rte_eth_tx_burst(port, 0, &m, 1), 1);
		if (i % 5 == 0)
			CHECK_EQ(system("true"), 0);
		else
			fork_and_leave();
		settle();
		CHECK_EQ(rx_all(port, 0, &got, 1), 1);
		check_mbuf(got, frame, sizeof(frame));
		rte_pktmbuf_free(got);
		check_capture(port, i, frame, sizeof(frame));
	}
}

/* Applications free their pools once the ports have stopped, and close them later. */
TEST(reports_pool_freed_between_stop_and_close)
{
	struct rte_mempool *pool = pool_create(1024, 2048);
	struct port_conf conf = port_conf(pool);
	uint16_t port = port_up(0, &conf);

	check_traffic(port);
	check_traffic(port);
	CHECK_OK(rte_eth_dev_stop(port));
	pool_release(pool);
	port_close(port);
}

/* LACP: members of a bond receive slow protocols, by either of two ways. */
TEST(reports_frames_of_slow_protocols_are_received)
{
	static const uint8_t slow[6] = { 0x01, 0x80, 0xc2, 0, 0, 2 };
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_ether_addr list;
	struct rte_mbuf *got;
	uint8_t frame[124];
	uint16_t port;
	int way;

	conf.promiscuous = false;
	port = port_up(0, &conf);
	memcpy(list.addr_bytes, slow, 6);
	frame_make(frame, sizeof(frame), slow, 1);
	frame[12] = 0x88;
	frame[13] = 0x09;
	for (way = 0; way < 3; way++) {
		CHECK_OK(rte_eth_dev_set_mc_addr_list(port, &list, way == 1));
		CHECK_OK(way == 2 ? rte_eth_allmulticast_enable(port) :
			 rte_eth_allmulticast_disable(port));
		wire_inject(port, frame, sizeof(frame));
		CHECK_EQ(rx_all(port, 0, &got, 1), way != 0);
		if (way == 0)
			continue;
		check_mbuf(got, frame, sizeof(frame));
		rte_pktmbuf_free(got);
	}
}

/* ... and a rule for their type, which the kernel would ignore, is refused. */
TEST(reports_rule_for_slow_protocols_is_refused)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_flow_item_eth spec = { .hdr.ether_type = RTE_BE16(0x8809) };
	struct rte_flow_item_eth mask = { .hdr.ether_type = RTE_BE16(0xffff) };
	struct rte_flow_item items[] = {
		{ .type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &spec, .mask = &mask },
		{ .type = RTE_FLOW_ITEM_TYPE_END },
	};
	struct rte_flow_action_queue queue = { .index = 0 };
	struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue },
		{ .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_error error = { 0 };
	uint16_t port = port_up(0, &conf);

	CHECK(rte_flow_create(port, &attr, items, actions, &error) == NULL);
	CHECK_EQ(rte_errno, ENOTSUP);
	CHECK(error.message != NULL && strstr(error.message, "type") != NULL);
}

/* A device of no node, and queues near any socket, or near one that has no memory. */
TEST(reports_queues_near_any_socket)
{
	static const int sockets[] = { 0, SOCKET_ID_ANY, 7 };
	struct rte_mempool *pool = pool_create(1024, 2048);
	struct port_conf conf = port_conf(pool);
	uint16_t port = port_open(0);
	unsigned int i;

	for (i = 0; i < RTE_DIM(sockets); i++) {
		port_configure(port, &conf);
		CHECK_OK(rte_eth_rx_queue_setup(port, 0, 64, (unsigned int)sockets[i], NULL, pool));
		CHECK_OK(rte_eth_tx_queue_setup(port, 0, 64, (unsigned int)sockets[i], NULL));
		CHECK_OK(rte_eth_promiscuous_enable(port));
		CHECK_OK(rte_eth_dev_start(port));
		check_traffic(port);
		CHECK_OK(rte_eth_dev_stop(port));
	}
}

/* Functions of one card reach each other inside it: the destination goes with each WQE. */
TEST(reports_virtual_function_reaches_its_neighbours)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	static const uint16_t lengths[] = { 30, 70, 100 };
	struct rte_mbuf *got, *m;
	struct rte_ether_addr mac;
	uint8_t frame[200];
	unsigned int i;
	uint16_t port;

	conf.promiscuous = false;
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	for (i = 0; i < 2; i++) {
		frame_make(frame, sizeof(frame), mac.addr_bytes, i);
		m = i == 0 ? mbuf_frame(conf.pool, frame, sizeof(frame)) :
			mbuf_chain(conf.pool, lengths, 3, frame);
		CHECK_EQ(rte_eth_tx_burst(port, 0, &m, 1), 1);
		settle();
		CHECK_EQ(rx_all(port, 0, &got, 1), 1);
		check_mbuf(got, frame, sizeof(frame));
		rte_pktmbuf_free(got);
		CHECK_EQ(wire_stats(port).tx_loopback, i + 1);
		CHECK_EQ(rx_discard(port), 0);
	}
}
