/* SPDX-License-Identifier: BSD-3-Clause */

/* The adapter does not let go of a flow rule, of the port's own or of the application. */

#include "events.h"
#include "flow_rule.h"

/* libmlx4 forgets what it holds of an object that could not be destroyed. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void
check_flows(uint32_t before)
{
	CHECK_EQ(object_counts().flows, before);
}

static bool
comes(uint16_t port, const uint8_t dst[6])
{
	uint8_t frame[100];

	frame_make(frame, sizeof(frame), dst, 1);
	wire_inject(port, frame, sizeof(frame));
	return rx_discard(port) != 0;
}

/*
 * The adapter does not let go of a rule: who can be told is, and all is as before; what
 * nobody can be told of is made good by the next change.
 */
TEST(faults_a_rule_that_cannot_be_removed)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	struct rte_ether_addr second = { { 2, 0, 0, 0, 0, 9 } };
	uint32_t before;
	uint16_t port = port_up(0, &conf);

	before = object_counts().flows;
	fault_add("command destroy_flow nth=1 errno=EBUSY");
	CHECK_EQ(rte_eth_promiscuous_disable(port), -EBUSY);
	CHECK_EQ(rte_eth_promiscuous_get(port), 1);
	CHECK(comes(port, mac_foreign));
	check_flows(before);
	CHECK_OK(vmlx4_fault_clear());
	CHECK_OK(rte_eth_promiscuous_disable(port));
	CHECK(!comes(port, mac_foreign));
	CHECK_OK(rte_eth_dev_mac_addr_add(port, &second, 0));
	CHECK(comes(port, second.addr_bytes));
	before = object_counts().flows;
	fault_add("command destroy_flow nth=1 errno=EBUSY");
	CHECK_OK(rte_eth_dev_mac_addr_remove(port, &second));
	CHECK_OK(vmlx4_fault_clear());
	CHECK_OK(rte_eth_allmulticast_enable(port));
	CHECK(!comes(port, second.addr_bytes));
	check_flows(before); /* one less and one more */
}

static unsigned int
comes_to_queue(uint16_t port, uint16_t queue, const uint8_t dst[6])
{
	struct rte_mbuf *pkts[4];
	uint8_t frame[100];
	unsigned int n;

	frame_make(frame, sizeof(frame), dst, 1);
	wire_inject(port, frame, sizeof(frame));
	n = rx_all(port, queue, pkts, 4);
	free_mbufs(pkts, n);
	return n;
}

/* A rule that a stop leaves in the adapter leads to rings that are gone, until the next start. */
TEST(faults_a_rule_of_the_application_that_outlives_a_stop)
{
	struct port_conf conf = flow_conf(pool_create(1024, 2048), 2);
	struct rte_flow *flow;
	struct rule r;
	uint16_t port;

	if (__lsan_disable != NULL)
		__lsan_disable(); /* libmlx4 loses the QP and all that it uses */
	port = port_up(0, &conf);
	rule_begin(&r);
	rule_eth(&r, mac_foreign);
	rule_queue(&r, 1);
	flow = rule_create(port, &r);
	CHECK_EQ(comes_to_queue(port, 1, mac_foreign), 1);
	fault_add("command destroy_flow nth=1 errno=EBUSY");
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(vmlx4_fault_clear());
	CHECK_OK(rte_eth_dev_start(port));
	CHECK_EQ(comes_to_queue(port, 1, mac_foreign), 1);
	/* And one that is there when the port closes. */
	fault_add("command destroy_flow nth=1 errno=EBUSY");
	CHECK_OK(rte_eth_dev_reset(port));
	CHECK_OK(vmlx4_fault_clear());
	port_configure(port, &conf);
	CHECK_OK(rte_eth_dev_start(port));
	CHECK_EQ(comes_to_queue(port, 1, mac_foreign), 1);
	rule_destroy(port, flow);
	if (__lsan_enable != NULL)
		__lsan_enable();
}
