/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations out of order and twice, in each state of a port: what they answer. */

#include <stdio.h>

#include <rte_dev.h>
#include <rte_flow.h>

#include "harness.h"

enum state { FRESH, CONFIGURED, SET_UP, STARTED, STOPPED, RESET, STATES };

static const char * const state_names[STATES] = {
	"fresh", "configured", "set up", "started", "stopped", "reset",
};

static struct port_conf conf;

static int
op_queue_start(uint16_t port)
{
	return rte_eth_dev_rx_queue_start(port, 0);
}

static int
op_queue_stop(uint16_t port)
{
	return rte_eth_dev_tx_queue_stop(port, 0);
}

static int
op_queue_start_beyond(uint16_t port)
{
	return rte_eth_dev_rx_queue_start(port, 7);
}

static int
op_configure(uint16_t port)
{
	return rte_eth_dev_configure(port, conf.rxq, conf.txq, &conf.eth);
}

static int
op_rx_setup(uint16_t port)
{
	return rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, conf.pool);
}

static int
op_intr_enable(uint16_t port)
{
	return rte_eth_dev_rx_intr_enable(port, 0);
}

static int
op_mac_add(uint16_t port)
{
	struct rte_ether_addr mac = { { 2, 0, 0, 0, 0, 9 } };
	int ret = rte_eth_dev_mac_addr_add(port, &mac, 0);

	if (ret == 0)
		ret = rte_eth_dev_mac_addr_add(port, &mac, 0);
	if (ret == 0)
		ret = rte_eth_dev_mac_addr_remove(port, &mac);
	return ret != 0 ? ret : rte_eth_dev_mac_addr_remove(port, &mac);
}

static int
op_mtu(uint16_t port)
{
	int ret = rte_eth_dev_set_mtu(port, 1400);

	return ret != 0 ? ret : rte_eth_dev_set_mtu(port, 1500);
}

static int
op_rss(uint16_t port)
{
	struct rte_eth_rss_conf rss = { .rss_hf = RTE_ETH_RSS_IPV4 };

	return rte_eth_dev_rss_hash_update(port, &rss);
}

static int
op_reta(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta[8] = { { .mask = ~UINT64_C(0) } };
	struct rte_eth_dev_info info;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK(info.reta_size <= 512);
	return rte_eth_dev_rss_reta_query(port, reta, info.reta_size);
}

static int
op_flow(uint16_t port)
{
	struct rte_flow_attr attr = { .ingress = 1 };
	struct rte_flow_item pattern[] = {
		{ .type = RTE_FLOW_ITEM_TYPE_ETH }, { .type = RTE_FLOW_ITEM_TYPE_END },
	};
	struct rte_flow_action actions[] = {
		{ .type = RTE_FLOW_ACTION_TYPE_DROP }, { .type = RTE_FLOW_ACTION_TYPE_END },
	};
	struct rte_flow_error error;
	struct rte_flow *flow = rte_flow_create(port, &attr, pattern, actions, &error);

	if (flow == NULL)
		return -rte_errno;
	CHECK_OK(rte_flow_flush(port, &error));
	return rte_flow_destroy(port, flow, &error);
}

static int
op_link(uint16_t port)
{
	int ret = rte_eth_dev_set_link_down(port);

	if (ret == 0)
		ret = rte_eth_dev_set_link_up(port);
	return ret != 0 ? ret : rte_eth_dev_set_link_up(port);
}

static int
op_dump(uint16_t port)
{
	FILE *null = fopen("/dev/null", "w");
	int ret;

	CHECK(null != NULL);
	ret = rte_eth_dev_priv_dump(port, null);
	fclose(null);
	return ret;
}

static int
op_promiscuous(uint16_t port)
{
	int ret = rte_eth_promiscuous_disable(port);

	return ret != 0 ? ret : rte_eth_promiscuous_enable(port);
}

static int
op_stats(uint16_t port)
{
	struct rte_eth_stats stats;
	int ret = rte_eth_stats_get(port, &stats);

	return ret != 0 ? ret : rte_eth_xstats_reset(port);
}

/* What each answers: fresh, configured, set up, started, stopped, reset. */
static const struct {
	const char *name;
	int (*run)(uint16_t port);
	int want[STATES];
} ops[] = {
	{ "rx_queue_start", op_queue_start,
		{ -EINVAL, -EINVAL, -EINVAL, 0, -EINVAL, -EINVAL } },
	{ "tx_queue_stop", op_queue_stop,
		{ -EINVAL, -EINVAL, 0, 0, 0, -EINVAL } },
	{ "rx_queue_start(7)", op_queue_start_beyond,
		{ -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL } },
	{ "configure", op_configure,
		{ 0, 0, 0, -EBUSY, 0, 0 } },
	{ "rx_queue_setup", op_rx_setup,
		{ -EINVAL, 0, 0, -EBUSY, 0, 0 } },
	{ "rx_intr_enable", op_intr_enable,
		{ -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL } },
	{ "mac_addr", op_mac_add, { 0 } },
	{ "set_mtu", op_mtu,
		{ -EINVAL, 0, 0, 0, 0, 0 } },
	{ "rss_hash_update", op_rss, { -ENOTSUP } },
	{ "reta_query", op_reta,
		{ -EINVAL, 0, 0, 0, 0, 0 } },
	{ "flow", op_flow,
		{ -ENOENT, -ENOENT, -ENOENT, -ENOENT, -ENOENT, -ENOENT } },
	{ "set_link", op_link, { 0 } },
	{ "priv_dump", op_dump, { 0 } },
	{ "promiscuous", op_promiscuous, { 0 } },
	{ "stats", op_stats, { 0 } },
};

static uint16_t
port_in(enum state state)
{
	uint16_t port = port_open(0);

	if (state == CONFIGURED)
		CHECK_OK(rte_eth_dev_configure(port, conf.rxq, conf.txq, &conf.eth));
	if (state >= SET_UP)
		port_configure(port, &conf);
	if (state >= STARTED)
		port_start(port, &conf);
	if (state == STOPPED)
		CHECK_OK(rte_eth_dev_stop(port));
	if (state == RESET)
		CHECK_OK(rte_eth_dev_reset(port));
	return port;
}

/* From where it is to where packets flow. */
static void
check_works(uint16_t port, enum state state)
{
	if (state == STARTED)
		CHECK_OK(rte_eth_dev_stop(port));
	if (state != STOPPED)
		port_configure(port, &conf);
	port_start(port, &conf);
	check_traffic(port);
	capture_clear(port);
}

/* Whatever was asked of it, the port works afterwards, and its neighbour all along. */
TEST(order_each_operation_in_each_state)
{
	uint16_t neighbour, port;
	unsigned int i, state;

	conf = port_conf(pool_create(4096, 2048));
	conf.rxq = conf.txq = 2;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	neighbour = port_up(1, &conf);
	for (state = 0; state < STATES; state++) {
		for (i = 0; i < RTE_DIM(ops); i++) {
			int ret;

			port = port_in(state);
			ret = ops[i].run(port);
			CHECK_MSG(ret == ops[i].want[state], "%s of a port that is %s: %d, not %d",
				ops[i].name, state_names[state], ret, ops[i].want[state]);
			check_works(port, state);
			port_close(port);
			rx_discard(neighbour);
			check_traffic(neighbour);
			capture_clear(neighbour);
		}
	}
}

/* Twice what is there once. */
TEST(order_twice)
{
	struct rte_eth_dev_info info;
	uint16_t port;

	conf = port_conf(pool_create(1024, 2048));
	port = port_up(0, &conf);
	CHECK_OK(rte_eth_dev_start(port));
	check_traffic(port);
	capture_clear(port);
	/* EAL says 0, as it would have secondaries follow. */
	port_probe("net_mlx4dv0", "port=1");
	CHECK_EQ(rte_eth_dev_count_avail(), 1);
	check_traffic(port);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_reset(port));
	CHECK_OK(rte_eth_dev_reset(port));
	port_disown(port);
	CHECK_OK(rte_eth_dev_close(port));
	CHECK_EQ(rte_eth_dev_close(port), -ENODEV);
	CHECK_EQ(rte_eth_dev_stop(port), -ENODEV);
	CHECK_EQ(rte_eth_dev_reset(port), -ENODEV);
	CHECK_EQ(rte_eth_dev_info_get(port, &info), -ENODEV);
	CHECK_EQ(rte_eth_dev_is_removed(port), 0);
	CHECK_OK(rte_eal_hotplug_remove("vdev", "net_mlx4dv0"));
	CHECK(rte_eal_hotplug_remove("vdev", "net_mlx4dv0") < 0);
}

/* One adapter port under two names: both are their own, and go on their own. */
TEST(order_one_port_under_two_names)
{
	uint16_t first, second;
	char args[64];

	conf = port_conf(pool_create(2048, 2048));
	first = port_up(0, &conf);
	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	CHECK_OK(port_probe("net_mlx4dv5", args));
	CHECK_OK(rte_eth_dev_get_port_by_name("net_mlx4dv5", &second));
	CHECK(second != first);
	CHECK_OK(rte_eal_hotplug_remove("vdev", "net_mlx4dv5"));
	check_traffic(first);
}
