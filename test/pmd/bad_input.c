/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every call of ethdev that names a queue, with queues that are there and that are not,
 * in every state of a port: each has an answer, and the other queues do not notice.
 */

#include <sys/mman.h>

#include <rte_power_intrinsics.h>
#include <rte_version.h>

#include "harness.h"

#define PAGE 4096
#define QUEUES 3
#define STATES 4

enum state { UNCONFIGURED, CONFIGURED, SET_UP, STARTED };

static struct rte_mempool *pool;

/* ---- the calls ---- */

static int
rx_setup(uint16_t port, uint16_t q)
{
	return rte_eth_rx_queue_setup(port, q, 64, SOCKET_ID_ANY, NULL, pool);
}

static int
tx_setup(uint16_t port, uint16_t q)
{
	return rte_eth_tx_queue_setup(port, q, 64, SOCKET_ID_ANY, NULL);
}

static int
rx_info(uint16_t port, uint16_t q)
{
	struct rte_eth_rxq_info info;

	return rte_eth_rx_queue_info_get(port, q, &info);
}

static int
tx_info(uint16_t port, uint16_t q)
{
	struct rte_eth_txq_info info;

	return rte_eth_tx_queue_info_get(port, q, &info);
}

static int
rx_mode(uint16_t port, uint16_t q)
{
	struct rte_eth_burst_mode mode;

	return rte_eth_rx_burst_mode_get(port, q, &mode);
}

static int
tx_mode(uint16_t port, uint16_t q)
{
	struct rte_eth_burst_mode mode;

	return rte_eth_tx_burst_mode_get(port, q, &mode);
}

static int
monitor(uint16_t port, uint16_t q)
{
	struct rte_power_monitor_cond condition;

	return rte_eth_get_monitor_addr(port, q, &condition);
}

static int
cleanup(uint16_t port, uint16_t q)
{
	return rte_eth_tx_done_cleanup(port, q, 0);
}

static int
strip_off(uint16_t port, uint16_t q)
{
	return rte_eth_dev_set_vlan_strip_on_queue(port, q, 0);
}

static int
rx_count(uint16_t port, uint16_t q)
{
	return rte_eth_rx_queue_count(port, q);
}

static int
rx_status(uint16_t port, uint16_t q)
{
	return rte_eth_rx_descriptor_status(port, q, 0);
}

static int
tx_status(uint16_t port, uint16_t q)
{
	return rte_eth_tx_descriptor_status(port, q, 0);
}

/* What a call answers by the state of the port. */
struct call {
	const char *name;
	int (*call)(uint16_t port, uint16_t q);
	int there[STATES];        /* a queue of the number that is configured later */
	int beyond[STATES];       /* none of it */
	bool unchecked;           /* ethdev looks the queue up, without a look at its number */
};

#define ALWAYS(ret) { ret, ret, ret, ret }
#define WHEN_CONFIGURED { -EINVAL, 0, 0, 0 }
#define WHEN_SET_UP { -EINVAL, -EINVAL, 0, 0 }
#define WHEN_STARTED { -EINVAL, -EINVAL, -EINVAL, 0 }
#define BUSY_WHEN_STARTED { -EINVAL, 0, 0, -EBUSY }
/*
 * Fast calls are there while the port runs. From DPDK 25.11 on ethdev calls what is not
 * there, unless it is built for debugging.
 */
#define FAST_CALLS_CHECKED (RTE_VERSION < RTE_VERSION_NUM(25, 11, 0, 0))
#define FAST(ret) { -ENOTSUP, -ENOTSUP, -ENOTSUP, ret }

static const struct call calls[] = {
	{ "rx_queue_info_get", rx_info, WHEN_SET_UP, ALWAYS(-EINVAL), false },
	{ "tx_queue_info_get", tx_info, WHEN_SET_UP, ALWAYS(-EINVAL), false },
	{ "rx_burst_mode_get", rx_mode, WHEN_SET_UP, ALWAYS(-EINVAL), false },
	{ "tx_burst_mode_get", tx_mode, WHEN_SET_UP, ALWAYS(-EINVAL), false },
	{ "get_monitor_addr", monitor, WHEN_STARTED, ALWAYS(-EINVAL), false },
	{ "rx_queue_start", rte_eth_dev_rx_queue_start, WHEN_STARTED, ALWAYS(-EINVAL), false },
	{ "tx_queue_start", rte_eth_dev_tx_queue_start, WHEN_STARTED, ALWAYS(-EINVAL), false },
	/* Without intr_conf.rxq there are none. */
	{ "rx_intr_enable", rte_eth_dev_rx_intr_enable, ALWAYS(-EINVAL), ALWAYS(-EINVAL), false },
	{ "rx_intr_disable", rte_eth_dev_rx_intr_disable, ALWAYS(-EINVAL), ALWAYS(-EINVAL),
	  false },
	{ "set_vlan_strip_on_queue", strip_off, WHEN_CONFIGURED, ALWAYS(-EINVAL), false },
	{ "tx_done_cleanup", cleanup, WHEN_SET_UP, ALWAYS(-EINVAL), true },
	{ "rx_queue_count", rx_count, FAST(0), FAST(-EINVAL), true },
	{ "rx_descriptor_status", rx_status, FAST(RTE_ETH_RX_DESC_AVAIL), FAST(-EINVAL), true },
	{ "tx_descriptor_status", tx_status, FAST(RTE_ETH_TX_DESC_DONE), FAST(-EINVAL), true },
	/* Last: they change the state. */
	{ "rx_queue_setup", rx_setup, BUSY_WHEN_STARTED, ALWAYS(-EINVAL), false },
	{ "tx_queue_setup", tx_setup, BUSY_WHEN_STARTED, ALWAYS(-EINVAL), false },
};

static void
check_calls(uint16_t port, enum state state)
{
	static const uint16_t beyond[] = { QUEUES, 1023, UINT16_MAX };
	const struct call *c;
	unsigned int k;
	int ret;

	for (c = calls; c < calls + RTE_DIM(calls); c++) {
		/* Of its tables ethdev has 1024 entries once there are queues. */
		unsigned int n = !c->unchecked ? RTE_DIM(beyond) : state == UNCONFIGURED ? 0 : 2;

		if (!FAST_CALLS_CHECKED && state != STARTED && c->there[state] == -ENOTSUP)
			continue;
		for (k = 0; k < n; k++) {
			ret = c->call(port, beyond[k]);
			CHECK_MSG(ret == c->beyond[state], "%s(%u) in state %u: %d, not %d",
				c->name, beyond[k], state, ret, c->beyond[state]);
		}
		if (c->call == cleanup && state == UNCONFIGURED)
			continue;
		ret = c->call(port, 1);
		CHECK_MSG(ret == c->there[state], "%s(1) in state %u: %d, not %d", c->name, state,
			ret, c->there[state]);
	}
}

TEST(bad_input_of_queues_in_every_state)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	struct vmlx4_object_counts before;
	uint16_t port = port_open(0), q;
	unsigned int left;

	pool = conf.pool;
	conf.rxq = conf.txq = QUEUES;
	check_calls(port, UNCONFIGURED);
	CHECK_OK(rte_eth_dev_configure(port, QUEUES, QUEUES, &conf.eth));
	check_calls(port, CONFIGURED);
	for (q = 0; q < QUEUES; q++) {
		CHECK_OK(rx_setup(port, q));
		CHECK_OK(tx_setup(port, q));
	}
	check_calls(port, SET_UP);
	port_start(port, &conf);
	before = object_counts();
	left = rte_mempool_avail_count(pool);
	check_calls(port, STARTED);
	check_traffic(port);
	rte_eth_tx_done_cleanup(port, 0, 0);
	CHECK_EQ(rte_mempool_avail_count(pool), left);
	CHECK_EQ(object_counts().qps, before.qps);
	CHECK_EQ(object_counts().wqs, before.wqs);
	CHECK_EQ(object_counts().cqs, before.cqs);
	CHECK_EQ(object_counts().mrs, before.mrs);
	CHECK_OK(rte_eth_dev_stop(port));
	check_calls(port, SET_UP);
}

/* What a port that runs refuses, and goes on. */
TEST(bad_input_while_started)
{
	struct rte_eth_conf other = { .rxmode.mtu = 1500 };
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	struct rte_ether_addr zero = { { 0 } }, group = { { 1, 2, 3, 4, 5, 6 } };
	struct rte_eth_fc_conf fc = { .mode = RTE_ETH_FC_FULL, .autoneg = 1 };
	uint16_t port = port_up(0, &conf);
	struct rte_eth_rss_conf rss = { .rss_key_len = 39, .rss_key = (uint8_t[39]){ 0 } };
	unsigned int round;

	for (round = 0; round < 3; round++) {
		CHECK_EQ(rte_eth_dev_configure(port, 2, 2, &other), -EBUSY);
		CHECK_EQ(rte_eth_dev_set_mtu(port, 67), -EINVAL);
		CHECK_EQ(rte_eth_dev_set_mtu(port, 9901), -EINVAL);
		CHECK_EQ(rte_eth_dev_set_mtu(port, 9000), -EBUSY); /* more segments */
		CHECK_EQ(rte_eth_dev_set_mtu(port, UINT16_MAX), -EINVAL);
		CHECK_EQ(rte_eth_dev_mac_addr_add(port, &zero, 0), -EINVAL);
		CHECK_EQ(rte_eth_dev_default_mac_addr_set(port, &group), -EINVAL);
		CHECK_EQ(rte_eth_dev_default_mac_addr_set(port, &zero), -EINVAL);
		CHECK(rte_eth_dev_flow_ctrl_set(port, &fc) < 0); /* no negotiation of pauses */
		CHECK(rte_eth_dev_rss_hash_update(port, &rss) < 0);
		CHECK_EQ(rte_eth_dev_vlan_filter(port, 4096, 1), -ENOSYS); /* offload is off */
		CHECK_EQ(rte_eth_dev_start(port), 0);
		CHECK_EQ(rte_eth_dev_reset(port) == 0, true);
		port_configure(port, &conf);
		port_start(port, &conf);
		check_traffic(port);
	}
}

/* ---- mbufs ---- */

static struct rte_mbuf_ext_shared_info shared;

static void
keep(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

/* An mbuf whose buffer is the last page of an area, with nothing mapped behind it. */
static struct rte_mbuf *
at_the_end(uint8_t *page, uint16_t buf_len, uint16_t data_len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CHECK(m != NULL);
	shared.free_cb = keep;
	rte_mbuf_ext_refcnt_set(&shared, 1);
	rte_pktmbuf_attach_extbuf(m, page, RTE_BAD_IOVA, buf_len, &shared);
	m->data_off = 0;
	m->data_len = data_len;
	m->pkt_len = data_len;
	return m;
}

static uint8_t *
last_page(void)
{
	uint8_t *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	CHECK(area != MAP_FAILED);
	CHECK(munmap(area + PAGE, PAGE) == 0);
	return area;
}

/* Longer than its buffer and the region, or the buffer longer than its memory. */
TEST(bad_input_mbufs_longer_than_their_memory)
{
	static const struct {
		uint16_t buf_len, data_len;
	} bad[] = { { PAGE, PAGE + 1 }, { 3 * PAGE, 2 * PAGE }, { 100, 9000 } };
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint8_t *page = last_page(), frame[100];
	struct rte_mbuf *pkts[3];
	unsigned int i, round;
	uint16_t port;

	pool = conf.pool;
	conf.txq = 2;
	conf.txd = 64;
	conf.eth.rxmode.mtu = 9000;
	conf.eth.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	capture_start(port);
	frame_make(frame, sizeof(frame), mac_foreign, 1);
	for (round = 0; round < 100; round++) {
		uint64_t errors = stats_of(port).oerrors;
		unsigned int sent = capture_count(port);

		i = round % RTE_DIM(bad);
		pkts[0] = mbuf_frame(pool, frame, sizeof(frame));
		pkts[1] = at_the_end(page, bad[i].buf_len, bad[i].data_len);
		pkts[2] = mbuf_frame(pool, frame, sizeof(frame));
		if (round % 2 == 1) {
			struct rte_mbuf *head = mbuf_frame(pool, frame, sizeof(frame));

			CHECK_OK(rte_pktmbuf_chain(head, pkts[1]));
			pkts[1] = head;
		}
		tx_all(port, 0, pkts, 3);
		pkts[0] = mbuf_frame(pool, frame, sizeof(frame));
		tx_all(port, 1, pkts, 1);
		CHECK_EQ(stats_of(port).oerrors, errors + 1);
		CHECK_EQ(capture_count(port), sent + 3);
		check_capture(port, sent + 1, frame, sizeof(frame));
		/* The same memory, told truly, is sent. */
		pkts[0] = at_the_end(page, PAGE, PAGE);
		frame_make(page, PAGE, mac_foreign, round);
		tx_all(port, 0, pkts, 1);
		check_capture(port, sent + 3, page, PAGE);
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		CHECK(rte_eth_tx_done_cleanup(port, 1, 0) >= 0);
	}
	CHECK_EQ(wire_stats(port).tx_errors, 0);
	CHECK_EQ(xstat_of(port, "tx_queue_recoveries"), 0);
	port_close(port);
	CHECK(munmap(page, PAGE) == 0);
}

/* A chain of every kind of segment at once. */
TEST(bad_input_chain_of_all_kinds)
{
	struct port_conf conf = port_conf(pool_create(2048, 2048));
	uint8_t *page = last_page(), frame[900], hundred[100];
	struct rte_mbuf *head, *kept, *empty, *clone, *origin, *external;
	unsigned int round;
	uint16_t port;

	pool = conf.pool;
	conf.txd = 64;
	conf.eth.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	port = port_up(0, &conf);
	capture_start(port);
	frame_make(hundred, sizeof(hundred), mac_foreign, 5);
	kept = mbuf_frame(pool, hundred, sizeof(hundred));
	for (round = 0; round < 200; round++) {
		frame_make(frame, sizeof(frame), mac_foreign, round);
		memcpy(frame + 200, hundred, 100);
		memcpy(page + PAGE - 500, frame + 400, 500);
		head = mbuf_frame(pool, frame, 200);
		empty = rte_pktmbuf_alloc(pool);
		origin = mbuf_frame(pool, frame + 300, 100);
		clone = rte_pktmbuf_clone(origin, pool);
		external = at_the_end(page + PAGE - 500, 500, 500);
		CHECK(empty != NULL && clone != NULL);
		rte_mbuf_refcnt_update(kept, 1);
		CHECK_OK(rte_pktmbuf_chain(head, empty));
		CHECK_OK(rte_pktmbuf_chain(head, kept));
		CHECK_OK(rte_pktmbuf_chain(head, clone));
		CHECK_OK(rte_pktmbuf_chain(head, external));
		rte_pktmbuf_free(origin);
		tx_all(port, 0, &head, 1);
		check_capture(port, round, frame, sizeof(frame));
		CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
		CHECK_EQ(rte_mbuf_refcnt_read(kept), 1);
		/* Who holds a segment of a chain unlinks it. */
		kept->next = NULL;
	}
	rte_pktmbuf_free(kept);
	CHECK_EQ(stats_of(port).oerrors, 0);
	port_close(port);
	CHECK(munmap(page, PAGE) == 0);
}
