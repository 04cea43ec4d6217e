/* SPDX-License-Identifier: BSD-3-Clause */

/* The redirection table: what it says is where frames go. */

#include <netinet/in.h>

#include "flow_rule.h"
#include "harness.h"

#define FLOWS 40
#define MAX_ENTRIES 64

static uint8_t hash_key[40];

static struct port_conf
reta_conf(struct rte_mempool *pool, uint16_t queues)
{
	struct port_conf conf = port_conf(pool);
	unsigned int i;

	for (i = 0; i < sizeof(hash_key); i++)
		hash_key[i] = (uint8_t)(i * 29 + 3);
	conf.rxq = queues;
	conf.rxd = 64;
	conf.promiscuous = false;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
		.rss_key = hash_key, .rss_key_len = sizeof(hash_key),
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6,
	};
	return conf;
}

static int
set_table(uint16_t port, const uint16_t *table, unsigned int n)
{
	struct rte_eth_rss_reta_entry64 reta[MAX_ENTRIES / 64 + 1] = { { .mask = 0 } };
	unsigned int i;

	for (i = 0; i < n; i++) {
		reta[i / 64].mask |= RTE_BIT64(i % 64);
		reta[i / 64].reta[i % 64] = table[i];
	}
	return rte_eth_dev_rss_reta_update(port, reta, n);
}

static void
check_table(uint16_t port, const uint16_t *table, unsigned int n)
{
	struct rte_eth_rss_reta_entry64 reta[1] = { { .mask = UINT64_MAX } };
	struct rte_eth_dev_info info;
	unsigned int i;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_EQ(info.reta_size, n);
	CHECK_OK(rte_eth_dev_rss_reta_query(port, reta, n));
	for (i = 0; i < n; i++)
		CHECK_MSG(reta[0].reta[i] == table[i], "entry %u is queue %u, not %u", i,
			reta[0].reta[i], table[i]);
}

static void
inject_flow(uint16_t port, const struct frame_flow *flow)
{
	struct rte_ether_addr mac;
	uint8_t frame[128];

	CHECK_OK(rte_eth_macaddr_get(port, &mac));
	frame_flow(frame, sizeof(frame), mac.addr_bytes, flow);
	wire_inject(port, frame, sizeof(frame));
}

/* Exactly one queue gives the frame of the flow out. */
static unsigned int
queue_of(uint16_t port, unsigned int queues, const struct frame_flow *flow)
{
	unsigned int q, found = queues;
	struct rte_mbuf *pkts[4];

	inject_flow(port, flow);
	settle();
	for (q = 0; q < queues; q++) {
		uint16_t got = rte_eth_rx_burst(port, q, pkts, RTE_DIM(pkts));

		CHECK(got == 0 || (got == 1 && found == queues));
		if (got == 1)
			found = q;
		free_mbufs(pkts, got);
	}
	CHECK_MSG(found != queues, "no queue received the frame");
	return found;
}

/* The table is told and kept to. */
static void
check_spread(uint16_t port, unsigned int queues, const uint16_t *table, unsigned int n)
{
	unsigned int i;

	check_table(port, table, n);
	for (i = 0; i < FLOWS; i++) {
		struct frame_flow flow = flow_make(i % 2 == 1, IPPROTO_UDP, i);

		CHECK_EQ(queue_of(port, queues, &flow),
			table[flow_hash(&flow, hash_key, false) & (n - 1)]);
	}
}

TEST(reta_any_table_while_stopped)
{
	static const uint16_t first[] = { 3, 3, 1, 0 }, second[] = { 2, 1, 1, 1 };
	static const uint16_t all[] = { 0, 1, 2, 3 };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_open(0);

	port_configure(port, &conf);
	CHECK_OK(set_table(port, first, 4));
	port_start(port, &conf);
	check_spread(port, 4, first, 4);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_start(port));
	check_spread(port, 4, first, 4);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(set_table(port, second, 4));
	CHECK_OK(rte_eth_dev_start(port));
	check_spread(port, 4, second, 4);
	CHECK_OK(rte_eth_dev_stop(port));
	/* A port that is configured anew has the table of a new port. */
	port_configure(port, &conf);
	CHECK_OK(rte_eth_dev_start(port));
	check_spread(port, 4, all, 4);
}

TEST(reta_weights_of_three_queues)
{
	static const uint16_t weights[] = { 0, 0, 0, 0, 0, 2, 1, 2 };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 3);
	uint16_t port = port_open(0);

	port_configure(port, &conf);
	CHECK_OK(set_table(port, weights, 8));
	port_start(port, &conf);
	check_spread(port, 3, weights, 8);
}

/* Runs of the started table, changed under way; what is in a queue already stays there. */
TEST(reta_runs_while_running_lose_nothing)
{
	static const uint16_t tables[][4] = {
		{ 0, 1, 0, 1 }, { 2, 3, 2, 3 }, { 1, 1, 1, 1 }, { 0, 1, 2, 3 }, { 3, 3, 3, 3 },
	};
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_up(0, &conf);
	struct vmlx4_object_counts before = object_counts(), after;
	unsigned int i, k;

	for (i = 0; i < 4 * RTE_DIM(tables); i++) {
		const uint16_t *table = tables[i % RTE_DIM(tables)];

		for (k = 0; k < 20; k++) {
			struct frame_flow flow = flow_make(false, IPPROTO_UDP, k);

			inject_flow(port, &flow);
		}
		settle();
		CHECK_OK(set_table(port, table, 4));
		CHECK_EQ(rx_discard(port), 20);
		check_spread(port, 4, table, 4);
	}
	/* One that does not hash over all keeps all WQs up with a QP of its own. */
	CHECK_OK(set_table(port, tables[3], 4));
	after = object_counts();
	CHECK_EQ(after.qps, before.qps);
	CHECK_EQ(after.tables, before.tables);
	CHECK_EQ(stats_of(port).ierrors, 0);
	CHECK_EQ(stats_of(port).imissed, 0);
}

/* The run stays when key and types change, and with a restart. */
TEST(reta_run_stays)
{
	static const uint16_t table[] = { 2, 3, 2, 3 };
	struct rte_eth_rss_conf rss = { .rss_key = hash_key, .rss_key_len = sizeof(hash_key),
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_up(0, &conf);

	CHECK_OK(set_table(port, table, 4));
	hash_key[7] ^= 0x55;
	CHECK_OK(rte_eth_dev_rss_hash_update(port, &rss));
	check_spread(port, 4, table, 4);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_start(port));
	check_spread(port, 4, table, 4);
}

TEST(reta_other_tables_while_running_are_refused)
{
	static const uint16_t tables[][4] = {
		{ 0, 0, 1, 1 }, { 1, 2, 1, 2 }, { 3, 2, 1, 0 }, { 0, 1, 2, 0 },
	};
	static const uint16_t run[] = { 0, 1, 0, 1 };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_up(0, &conf);
	unsigned int i;

	CHECK_OK(set_table(port, run, 4));
	for (i = 0; i < RTE_DIM(tables); i++) {
		CHECK_EQ(set_table(port, tables[i], 4), -ENOTSUP);
		check_table(port, run, 4);
	}
	check_spread(port, 4, run, 4);
}

/* A command that fails half way leaves the table as it was. */
TEST(reta_that_fails_changes_nothing)
{
	static const uint16_t all[] = { 0, 1, 2, 3 }, run[] = { 2, 3, 2, 3 };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_up(0, &conf);
	struct vmlx4_object_counts before = object_counts(), after;

	CHECK_OK(vmlx4_fault_add("command create_rwq_ind_tbl nth=1 errno=ENOMEM", NULL, 0));
	CHECK_EQ(set_table(port, run, 4), -ENOMEM);
	after = object_counts();
	CHECK_EQ(after.tables, before.tables);
	CHECK_EQ(after.flows, before.flows);
	vmlx4_fault_clear();
	check_spread(port, 4, all, 4);
}

/* Rules name places of the table: they work with every run, and hold the table. */
TEST(reta_and_flow_rules)
{
	static const uint16_t table[] = { 1, 1, 0, 2 }, run[] = { 0, 1, 0, 1 };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	struct frame_flow flow = flow_make(false, IPPROTO_UDP, 7);
	uint16_t port = port_up(0, &conf);
	struct rte_flow_error error;
	struct rte_flow *handle;
	struct rule rule;

	rule_begin(&rule);
	rule_eth(&rule, NULL);
	rule_ipv4(&rule, flow.src4, flow.dst4);
	rule_queue(&rule, 3);
	handle = rule_create(port, &rule);
	CHECK_OK(set_table(port, run, 4));
	CHECK_EQ(queue_of(port, 4, &flow), 3);
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_EQ(set_table(port, table, 4), -EBUSY);
	check_table(port, run, 4);
	CHECK_OK(rte_flow_destroy(port, handle, &error));
	CHECK_OK(set_table(port, table, 4));
	CHECK_OK(rte_eth_dev_start(port));
	/* A queue without a place in the table cannot be led to; others can. */
	rule_refused(port, &rule, -ENOTSUP, "no entry in the RETA");
	rule_queue(&rule, 2);
	handle = rule_create(port, &rule);
	CHECK_EQ(queue_of(port, 4, &flow), 2);
}

TEST(reta_bad_calls)
{
	static const uint16_t beyond[] = { 0, 1, 2, 4 }, table[] = { 1, 0, 3, 2 };
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = 0 } };
	struct port_conf conf = reta_conf(pool_create(4096, 2048), 4);
	uint16_t port = port_open(0);

	port_configure(port, &conf);
	CHECK_EQ(rte_eth_dev_rss_reta_update(port, NULL, 4), -EINVAL);
	CHECK_EQ(set_table(port, table, 0), -EINVAL);
	CHECK_EQ(set_table(port, beyond, 4), -EINVAL);
	/* Longer than the table, one entry or sixty. */
	reta[0].mask = 1;
	CHECK_EQ(rte_eth_dev_rss_reta_update(port, reta, 5), -EINVAL);
	CHECK_EQ(rte_eth_dev_rss_reta_update(port, reta, 64), -EINVAL);
	CHECK_EQ(rte_eth_dev_rss_reta_query(port, reta, 5), -EINVAL);
	CHECK_OK(set_table(port, table, 4));
	/* What the mask leaves out stays. */
	reta[0].mask = 1 << 1;
	reta[0].reta[1] = 2;
	CHECK_OK(rte_eth_dev_rss_reta_update(port, reta, 4));
	CHECK_OK(rte_eth_dev_rss_reta_update(port, reta, 2));
	check_table(port, (const uint16_t[]){ 1, 2, 3, 2 }, 4);
	port_start(port, &conf);
	check_spread(port, 4, (const uint16_t[]){ 1, 2, 3, 2 }, 4);
	CHECK_OK(rte_eth_dev_stop(port));
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = 0;
	port_configure(port, &conf);
	CHECK_EQ(set_table(port, table, 1), -ENOTSUP);
}
