/* SPDX-License-Identifier: BSD-3-Clause */

/* Each command of the driver fails once, in turn; the card dies, or is late. */

#include <stdio.h>

#include <rte_dev.h>

#include "events.h"
#include "harness.h"

/*
 * libmlx4 forgets what it holds of an object that could not be destroyed. With a
 * leak checker in the process, what a life allocates is none of its business;
 * objects and mbufs are counted here.
 */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

#define NAME "net_mlx4dv9"
#define COMMANDS_MAX 2000

static uint64_t
faults_injected(void)
{
	struct vmlx4_fault_stats stats;

	CHECK_OK(vmlx4_fault_stats(&stats));
	return stats.injected;
}

/* How far a life got: for the message when something is left behind. */
enum stage { PROBE, CONFIGURE, QUEUES, FILTERS, START, RESTART, ALL };

static const char * const stages[] = {
	"probe", "configure", "queue setup", "filters", "start", "restart", "the end",
};

static int
set_up(uint16_t port, const struct port_conf *conf)
{
	struct rte_eth_dev_info info;
	struct rte_eth_txconf tx;
	uint16_t queue;
	int ret = rte_eth_dev_info_get(port, &info);

	tx = info.default_txconf;
	for (queue = 0; ret == 0 && queue < conf->rxq; queue++)
		ret = rte_eth_rx_queue_setup(port, queue, conf->rxd, SOCKET_ID_ANY, NULL,
			conf->pool);
	for (queue = 0; ret == 0 && queue < conf->txq; queue++)
		ret = rte_eth_tx_queue_setup(port, queue, conf->txd, SOCKET_ID_ANY, &tx);
	return ret;
}

/* What may be set before and after the start; a failure must not spoil the rest. */
static void
filters(uint16_t port)
{
	static struct rte_ether_addr second = { { 2, 0, 0, 0, 0, 9 } };

	rte_eth_promiscuous_enable(port);
	rte_eth_allmulticast_enable(port);
	rte_eth_dev_mac_addr_add(port, &second, 0);
	rte_eth_dev_set_mtu(port, 1400);
	rte_eth_dev_mac_addr_remove(port, &second);
	rte_eth_dev_set_mtu(port, 1500);
	rte_eth_allmulticast_disable(port);
}

/* And what makes new objects while the port runs. */
static void
changes(uint16_t port, bool dead)
{
	uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda };
	struct rte_eth_rss_conf rss = {
		.rss_key = key, .rss_key_len = sizeof(key),
		.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
			RTE_ETH_RSS_NONFRAG_IPV4_UDP,
	};
	struct vmlx4_object_counts before;

	before = object_counts();
	if (rte_eth_dev_rss_hash_update(port, &rss) != 0 && !dead)
		CHECK_EQ(object_counts().qps, before.qps);
	rte_eth_dev_rx_queue_stop(port, 1);
	rte_eth_dev_tx_queue_stop(port, 1);
	rte_eth_dev_rx_queue_start(port, 1);
	rte_eth_dev_tx_queue_start(port, 1);
}

static void
bursts(uint16_t port, const struct port_conf *conf)
{
	uint8_t frame[100];
	struct rte_mbuf *m;

	frame_make(frame, sizeof(frame), mac_foreign, 1);
	wire_inject(port, frame, sizeof(frame));
	settle();
	rx_discard(port);
	m = mbuf_frame(conf->pool, frame, sizeof(frame));
	if (rte_eth_tx_burst(port, 0, &m, 1) == 0)
		rte_pktmbuf_free(m);
	settle();
}

/* All but MRs, which the driver may keep for the next start. */
static void
check_same_objects(const struct vmlx4_object_counts *before)
{
	struct vmlx4_object_counts now = object_counts();

	now.mrs = before->mrs;
	now.mr_bytes = before->mr_bytes;
	now.mrs_registered = before->mrs_registered;
	CHECK_MSG(memcmp(&now, before, sizeof(now)) == 0,
		"a start that failed left %d CQs, %d QPs, %d WQs, %d tables and %d flows",
		(int)(now.cqs - before->cqs), (int)(now.qps - before->qps),
		(int)(now.wqs - before->wqs), (int)(now.tables - before->tables),
		(int)(now.flows - before->flows));
}

/*
 * Start; what fails leaves nothing behind, and then, as the fault is over unless
 * the card is dead, works.
 */
static int
start(uint16_t port, bool dead)
{
	struct vmlx4_object_counts before = object_counts();
	int ret = rte_eth_dev_start(port);

	if (ret == 0 || dead)
		return ret;
	check_same_objects(&before);
	CHECK_OK(rte_eth_dev_start(port));
	return ret;
}

static enum stage
live(uint16_t port, const struct port_conf *conf, bool dead)
{
	enum stage stage = ALL;

	if (rte_eth_dev_configure(port, conf->rxq, conf->txq, &conf->eth) != 0) {
		stage = CONFIGURE;
		if (dead)
			return stage;
		CHECK_OK(rte_eth_dev_configure(port, conf->rxq, conf->txq, &conf->eth));
	}
	if (set_up(port, conf) != 0) {
		stage = QUEUES;
		if (dead)
			return stage;
		CHECK_OK(set_up(port, conf));
	}
	filters(port);
	if (start(port, dead) != 0)
		stage = START;
	if (stage == START && dead)
		return stage;
	bursts(port, conf);
	filters(port);
	changes(port, dead);
	bursts(port, conf);
	rte_eth_dev_stop(port);
	if (start(port, dead) != 0)
		stage = RESTART;
	if (stage == RESTART && dead)
		return stage;
	bursts(port, conf);
	/* The one fault is over: whatever it was, promiscuous mode can be had again. */
	if (!dead && stage != ALL) {
		CHECK_OK(rte_eth_promiscuous_disable(port));
		CHECK_OK(rte_eth_promiscuous_enable(port));
		check_traffic(port);
	}
	return stage;
}

/* From probe to removal; the removal always succeeds. */
static enum stage
life(const struct port_conf *conf, bool dead)
{
	enum stage stage = PROBE;
	char args[64];
	uint16_t port;

	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	if (__lsan_disable != NULL)
		__lsan_disable();
	if (port_probe(NAME, args) != 0)
		goto end;
	CHECK_OK(rte_eth_dev_get_port_by_name(NAME, &port));
	port_adopt(port, 1);
	stage = live(port, conf, dead);
	port_disown(port);
	rte_eth_dev_stop(port);
	CHECK_OK(rte_eth_dev_close(port));
	rte_eal_hotplug_remove("vdev", NAME);
end:
	if (__lsan_enable != NULL)
		__lsan_enable();
	return stage;
}

static void
check_nothing_left(const struct vmlx4_object_counts *before, const struct port_conf *conf,
	unsigned int n, enum stage stage)
{
	struct vmlx4_object_counts now = object_counts();

	now.mrs_registered = before->mrs_registered;
	CHECK_MSG(memcmp(&now, before, sizeof(now)) == 0,
		"command %u failed, %s was reached, and %d contexts, %d PDs, %d MRs, %d CQs, "
		"%d QPs, %d WQs, %d flows are left", n, stages[stage],
		(int)(now.contexts - before->contexts), (int)(now.pds - before->pds),
		(int)(now.mrs - before->mrs), (int)(now.cqs - before->cqs),
		(int)(now.qps - before->qps), (int)(now.wqs - before->wqs),
		(int)(now.flows - before->flows));
	CHECK_MSG(rte_mempool_avail_count(conf->pool) == conf->pool->size,
		"command %u failed, %s was reached, and %u mbufs are gone", n, stages[stage],
		conf->pool->size - rte_mempool_avail_count(conf->pool));
	CHECK_EQ(rte_eth_dev_count_avail(), 0);
}

static struct port_conf
two_queues(void)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));

	conf.rxq = conf.txq = 2;
	conf.rxd = conf.txd = 64;
	conf.eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf.eth.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 |
		RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	return conf;
}

/* Each command of a life once, until a life has no command of that number. */
static void
fail_each_command(int error)
{
	struct port_conf conf = two_queues();
	struct vmlx4_object_counts before = object_counts();
	unsigned int n, reached[ALL + 1] = { 0 };

	for (n = 1; n < COMMANDS_MAX; n++) {
		uint64_t injected = faults_injected();
		enum stage stage;
		char text[64];

		snprintf(text, sizeof(text), "command nth=%u errno=%d", n, error);
		fault_add(text);
		stage = life(&conf, false);
		injected = faults_injected() - injected;
		CHECK_OK(vmlx4_fault_clear());
		check_nothing_left(&before, &conf, n, stage);
		reached[stage]++;
		if (injected == 0)
			break;
	}
	/* The last life was without a fault: all of it works. */
	CHECK_MSG(n > 40 && n < COMMANDS_MAX, "%u commands", n);
	CHECK(reached[PROBE] > 0 && reached[START] > 0 && reached[RESTART] > 0 &&
		reached[ALL] > 0);
	printf("%u commands\n", n - 1);
}

TEST(faults_each_command_of_a_life_without_memory)
{
	fail_each_command(ENOMEM);
}

/* Not EIO: the library takes that for a device that is gone (see the next one). */
TEST(faults_each_command_of_a_life_not_permitted)
{
	fail_each_command(EPERM);
}

/* The card dies at each command, and stays dead until the port is gone. */
TEST(faults_device_dies_at_each_command_of_a_life)
{
	struct port_conf conf = two_queues();
	struct vmlx4_object_counts before = object_counts();
	unsigned int n;

	for (n = 1; n < COMMANDS_MAX; n++) {
		uint64_t injected = faults_injected();
		enum stage stage;
		char text[64];

		snprintf(text, sizeof(text), "device fatal command=%u", n);
		fault_add(text);
		stage = life(&conf, true);
		injected = faults_injected() - injected;
		CHECK_OK(vmlx4_fault_clear());
		check_nothing_left(&before, &conf, n, stage);
		if (injected == 0)
			break;
	}
	CHECK_MSG(n > 40 && n < COMMANDS_MAX, "%u commands", n);
}

/* Completions late, in bunches, or both: in the end each packet is accounted for. */
TEST(faults_late_completions_lose_nothing)
{
	struct port_conf conf = port_conf(pool_create(4096, 2048));
	uint16_t port = port_up(0, &conf);
	struct vmlx4_port_stats before = wire_stats(port);
	unsigned int received = 0, sent = 0, i;
	struct vmlx4_fault_stats stats;
	uint8_t frame[100];

	fault_add("seed=5; cqe p=0.1 late=5us; cqe p=0.05 coalesce=8 within=20us");
	for (i = 0; i < 2000; i++) {
		struct rte_mbuf *m;

		frame_make(frame, sizeof(frame), mac_foreign, i);
		m = mbuf_frame(conf.pool, frame, sizeof(frame));
		wire_inject(port, frame, sizeof(frame));
		if (rte_eth_tx_burst(port, 0, &m, 1) == 1)
			sent++;
		else
			rte_pktmbuf_free(m);
		settle();
		received += rx_discard(port);
	}
	for (i = 0; i < 50; i++) {
		settle();
		received += rx_discard(port);
	}
	CHECK_EQ(received, 2000);
	CHECK_EQ(sent, 2000);
	CHECK_EQ(wire_stats(port).tx_frames - before.tx_frames, 2000);
	CHECK_EQ(stats_of(port).opackets, 2000);
	CHECK_EQ(stats_of(port).ipackets, 2000);
	CHECK_EQ(stats_of(port).ierrors + stats_of(port).oerrors + stats_of(port).imissed, 0);
	CHECK_OK(vmlx4_fault_stats(&stats));
	CHECK(stats.cqes_late > 50 && stats.cqe_batches > 20);
	CHECK_OK(vmlx4_fault_clear());
}
