/* SPDX-License-Identifier: BSD-3-Clause */

/* An application may do away with a port from the port's own events. */

#include <rte_dev.h>

#include "events.h"
#include "harness.h"

/* What closes it all, in the interrupt thread; the port is then not the harness's. */
static void
stop_in_event(uint16_t port)
{
	CHECK_OK(rte_eth_dev_stop(port));
}

static void
close_in_event(uint16_t port)
{
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_close(port));
}

static void
remove_in_event(uint16_t port)
{
	struct rte_eth_dev_info info;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_OK(rte_dev_remove(info.device));
}

static void
reset_in_event(uint16_t port)
{
	CHECK_OK(vmlx4_fault_clear());
	CHECK_OK(rte_eth_dev_reset(port));
}

static const struct {
	enum rte_eth_event_type type;
	const char *fault;
} causes[] = {
	{ RTE_ETH_EVENT_INTR_LSC, "link port=1 down" },
	{ RTE_ETH_EVENT_INTR_RMV, "device remove" },
	{ RTE_ETH_EVENT_INTR_RESET, "cq error" },
};

static struct port_conf
conf_with_events(struct rte_mempool *pool)
{
	struct port_conf conf = port_conf(pool);

	conf.eth.intr_conf.lsc = 1;
	conf.eth.intr_conf.rmv = 1;
	return conf;
}

/* Probe, start, and have the action happen in the event; then nothing is left. */
static void
act_in_event(unsigned int cause, void (*act)(uint16_t port), bool stays, bool closed)
{
	struct port_conf conf = conf_with_events(pool_create(1024, 2048));
	uint16_t port = port_open(0);

	events_watch(port);
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
	capture_clear(port);
	events_act(port, causes[cause].type, act);
	fault_add(causes[cause].fault);
	if (!stays)
		port_disown(port);
	WAIT_FOR(events_of(port, causes[cause].type) == 1, 30000);
	CHECK_EQ(rte_mempool_avail_count(conf.pool), conf.pool->size);
	events_quiet();
	CHECK_OK(vmlx4_fault_clear());
	if (stays) {
		if (act == stop_in_event && cause == 0)
			CHECK_OK(rte_eth_dev_start(port));
		port_close(port);
		return;
	}
	CHECK_EQ(rte_eth_dev_count_avail(), 0);
	if (closed)
		CHECK_OK(rte_eal_hotplug_remove("vdev", "net_mlx4dv0"));
}

TEST(event_close_of_the_port_from_each_event)
{
	unsigned int cause;

	for (cause = 0; cause < RTE_DIM(causes); cause++)
		act_in_event(cause, close_in_event, false, true);
}

TEST(event_close_remove_of_the_device_from_each_event)
{
	unsigned int cause;

	for (cause = 0; cause < RTE_DIM(causes); cause++)
		act_in_event(cause, remove_in_event, false, false);
}

TEST(event_close_stop_from_each_event)
{
	unsigned int cause;

	for (cause = 0; cause < RTE_DIM(causes); cause++)
		act_in_event(cause, stop_in_event, true, false);
}

/* A reset in the event, then the port works on. */
TEST(event_close_reset_from_each_event)
{
	struct port_conf conf = conf_with_events(pool_create(1024, 2048));
	uint16_t port = port_open(0);
	unsigned int cause;

	events_watch(port);
	for (cause = 0; cause < RTE_DIM(causes); cause++) {
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
		capture_clear(port);
		events_act(port, causes[cause].type, reset_in_event);
		fault_add(causes[cause].fault);
		WAIT_FOR(events_of(port, causes[cause].type) >= 1, 30000);
	}
	port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
}
