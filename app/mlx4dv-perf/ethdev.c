/* SPDX-License-Identifier: BSD-3-Clause */

/* A driver through the rte_eth calls that an application makes, and nothing else. */

#include <string.h>

#include "ethdev.h"

#define RSS_HF (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)
#define SCATTERED 6000       /* bytes of a frame over several mbufs */
#define RECEIVE_BUFFER (RTE_MBUF_DEFAULT_BUF_SIZE - RTE_PKTMBUF_HEADROOM)
#define TCI 5

/* What a case does differently: bits of its kind. */
enum {
	RX = 1 << 0,
	TX = 1 << 1,
	OFFLOADS = 1 << 2,         /* checksum, and RSS hash on receive */
	SCATTER = 1 << 3,
	VLAN = 1 << 4,             /* RX: stripped, its TCI in the mbuf; TX: inserted */
	FAST_FREE = 1 << 5,
	TWO_SEGS = 1 << 6,
	MANY_POOLS = 1 << 7,
	EMPTY = 1 << 8,
	FORWARD = 1 << 9,          /* what was received is sent */
	INLINE = 1 << 10,          /* frames are copied into WQEs, by a device argument */
	STAMPS = 1 << 11,          /* RX: the time of arrival in the mbuf */
	SIXTEEN_SEGS = 1 << 12,
};

static struct {
	unsigned int kind, burst, size, segs, pools, regions, queues, next_queue, next_pool;
	uint16_t tci;
	unsigned int expected, moved;
	unsigned int sent[PERF_CALLS];   /* of each burst */
	struct rte_mempool *const *pool;
	/* In two halves: received, or to be sent. */
	struct rte_mbuf *m[PERF_CALLS * PERF_BURST_MAX];
} run;

/* ---- set-up ---- */

static void
conf_of(struct ports_conf *conf)
{
	if ((run.kind & RX) != 0 && (run.kind & OFFLOADS) != 0) {
		conf->rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH;
		conf->rss_hf = RSS_HF;
	}
	if ((run.kind & SCATTER) != 0)
		conf->rx_offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if ((run.kind & (SCATTER | FORWARD)) == (SCATTER | FORWARD))
		conf->tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if ((run.kind & VLAN) != 0 && (run.kind & RX) != 0)
		conf->rx_offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	if ((run.kind & VLAN) != 0 && (run.kind & TX) != 0)
		conf->tx_offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
	if ((run.kind & STAMPS) != 0)
		conf->rx_offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	if (run.queues > 1)
		conf->rss_hf = RSS_HF;
	if ((run.kind & TX) != 0 && (run.kind & OFFLOADS) != 0)
		conf->tx_offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	if ((run.kind & FAST_FREE) != 0)
		conf->tx_offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (run.segs > 1)
		conf->tx_offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

static void
run_init(const struct perf_case *one, const struct perf_options *options)
{
	memset(&run, 0, sizeof(run));
	run.kind = one->kind;
	run.burst = options->burst;
	run.size = (run.kind & SCATTER) != 0 ? RTE_MAX(SCATTERED, options->size) : options->size;
	run.segs = (run.kind & TWO_SEGS) != 0 ? 2 : (run.kind & SIXTEEN_SEGS) != 0 ? 16 :
		options->segs;
	run.pools = (run.kind & MANY_POOLS) != 0 ? PERF_POOLS_MAX : options->pools;
	run.regions = options->regions;
	run.queues = (run.kind & (RX | FORWARD)) == RX ? options->queues : 1;
	run.tci = (run.kind & VLAN) != 0 ? TCI : 0;
	/* Queues of the longest frames, also where none is to arrive. */
	if (run.size > RECEIVE_BUFFER)
		run.kind |= SCATTER;
}

/* What no driver may be asked for. */
static const char *
contradiction(void)
{
	if ((run.kind & FAST_FREE) != 0 && run.pools > 1)
		return "MBUF_FAST_FREE is for one pool";
	if ((run.kind & FAST_FREE) != 0 && run.regions > 0)
		return "MBUF_FAST_FREE is for buffers of a pool";
	return NULL;
}

/* Does the driver say of its queue that it copies frames? */
static bool
is_inline(void)
{
	struct rte_eth_burst_mode mode;

	return rte_eth_tx_burst_mode_get(TESTED, 0, &mode) == 0 &&
		strstr(mode.info, "Inline") != NULL;
}

/* The longest a driver has to hold on to, and what the caches hide. */
static unsigned int
mbufs_to_send(const struct perf_options *options)
{
	return RTE_MAX(16383u, options->ring * run.segs + 8191);
}

static bool can_send(void);

static void
close_case(void)
{
	flows_close(TESTED);
	ports_close();
	regions_close();
	pools_close();
}

static const char *
open_case(const struct perf_case *one, const struct perf_options *options)
{
	struct ports_conf conf = { 0 };
	const char *why_not;
	unsigned int room;

	run_init(one, options);
	conf.rx_queues = run.queues;
	conf.size = run.size;
	conf_of(&conf);
	why_not = contradiction();
	if (why_not == NULL)
		why_not = ports_open(&conf, options);
	if (why_not != NULL)
		return why_not;
	/* The last segment has the remainder. */
	room = RTE_MAX(RTE_MBUF_DEFAULT_BUF_SIZE,
		RTE_PKTMBUF_HEADROOM + run.size / run.segs + run.segs);
	run.pool = pools_open(run.pools, mbufs_to_send(options), room);
	regions_open(run.regions, room);
	why_not = flows_open(TESTED, options->flows);
	if (why_not == NULL && (run.kind & (TX | EMPTY)) == TX && !can_send())
		why_not = "such frames are not accepted";
	if (why_not == NULL && (run.kind & INLINE) != 0 && !is_inline())
		why_not = "no TX burst mode Inline (net_mlx4dv: tx_inline=64)";
	if (why_not != NULL)
		close_case();
	return why_not;
}

/* In place of a driver, to count what is not its. */
static uint16_t
return_none(struct rte_mbuf **m, uint16_t n)
{
	(void)m;
	(void)n;
	return 0;
}

static uint16_t (*volatile no_burst)(struct rte_mbuf **m, uint16_t n) = return_none;

/* ---- receive ---- */

static void
rx_prepare(unsigned int bursts)
{
	run.expected = (run.kind & EMPTY) != 0 ? 0 : bursts * run.burst;
	run.moved = 0;
	if (run.expected != 0)
		peer_send(run.expected, run.size, run.tci);
}

/* A burst of each queue in turn. */
static int
rx_burst_of_many(bool idle)
{
	struct rte_mbuf **m = run.m + run.moved;
	unsigned int queue = run.next_queue;
	uint16_t got;

	if (++run.next_queue == run.queues)
		run.next_queue = 0;
	got = idle ? no_burst(m, (uint16_t)run.burst) :
		rte_eth_rx_burst(TESTED, (uint16_t)queue, m, (uint16_t)run.burst);
	run.moved += got;
	return got;
}

static inline int
rx_call(unsigned int index, bool idle)
{
	struct rte_mbuf **m = run.m + index * run.burst;
	uint16_t got;

	if (unlikely(run.queues > 1))
		return rx_burst_of_many(idle);
	got = idle ? no_burst(m, (uint16_t)run.burst) :
		rte_eth_rx_burst(TESTED, 0, m, (uint16_t)run.burst);
	run.moved += got;
	return got;
}

static int
rx_burst(unsigned int index)
{
	return rx_call(index, false);
}

static int
rx_idle(unsigned int index)
{
	return rx_call(index, true);
}

static void
rx_finish(void)
{
	unsigned int empty = 0;

	/* RSS shares frames out unevenly: what the timed bursts did not get to. */
	while (run.queues > 1 && run.moved + run.burst <= RTE_DIM(run.m) && empty < run.queues)
		empty = rx_burst_of_many(false) != 0 ? 0 : empty + 1;
	if (run.queues == 1 && run.moved != run.expected)
		bench_die("%u of %u frames received", run.moved, run.expected);
	rte_pktmbuf_free_bulk(run.m, run.moved);
}

/* ---- send ---- */

/* One frame of so many segments. */
static struct rte_mbuf *
frame(void)
{
	static const uint8_t to[6] = { 2, 0, 0, 0, 0, 9 };
	uint8_t bytes[9216];
	struct rte_mempool *pool = run.pool[run.next_pool];
	unsigned int left = run.size, share = run.size / run.segs, i;
	struct rte_mbuf *first = NULL, *last = NULL, *m;

	if (++run.next_pool == run.pools)
		run.next_pool = 0;
	perf_frame(bytes, run.size, to, 0, 0);
	for (i = 0; i < run.segs; i++) {
		m = rte_pktmbuf_alloc(pool);
		if (m == NULL)
			bench_die("no mbuf left in %s: the driver does not free", pool->name);
		regions_attach(m);
		m->data_len = (uint16_t)(i + 1 == run.segs ? left : share);
		left -= m->data_len;
		memcpy(rte_pktmbuf_mtod(m, void *), bytes + i * share, m->data_len);
		if (first == NULL)
			first = m;
		else
			last->next = m;
		last = m;
	}
	first->nb_segs = (uint16_t)run.segs;
	first->pkt_len = run.size;
	if ((run.kind & OFFLOADS) != 0) {
		first->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM |
			RTE_MBUF_F_TX_UDP_CKSUM;
		first->l2_len = 14;
		first->l3_len = 20;
	}
	if (run.tci != 0) {
		first->ol_flags |= RTE_MBUF_F_TX_VLAN;
		first->vlan_tci = run.tci;
	}
	return first;
}

static void
tx_prepare(unsigned int bursts)
{
	unsigned int i;

	run.expected = (run.kind & EMPTY) != 0 ? 0 : bursts * run.burst;
	run.moved = 0;
	for (i = 0; i < run.expected; i++)
		run.m[i] = frame();
}

/* A first frame, which also has the driver know the memory. */
static bool
can_send(void)
{
	struct rte_mbuf *m = frame();

	if (rte_eth_tx_burst(TESTED, 0, &m, 1) == 1) {
		peer_take(1);
		return true;
	}
	rte_pktmbuf_free(m);
	return false;
}

static inline int
tx_call(unsigned int index, bool idle)
{
	uint16_t n = (run.kind & EMPTY) != 0 ? 0 : (uint16_t)run.burst;
	struct rte_mbuf **m = run.m + index * run.burst;
	uint16_t sent = idle ? no_burst(m, n) : rte_eth_tx_burst(TESTED, 0, m, n);

	run.sent[index] = sent;
	return sent;
}

static int
tx_burst(unsigned int index)
{
	return tx_call(index, false);
}

static int
tx_idle(unsigned int index)
{
	return tx_call(index, true);
}

static void
tx_finish(void)
{
	unsigned int i, n = run.burst;

	/* A full ring takes less: the figure is of the packets that it took. */
	for (i = 0; i < run.expected / n; i++) {
		run.moved += run.sent[i];
		rte_pktmbuf_free_bulk(run.m + i * n + run.sent[i], n - run.sent[i]);
	}
	peer_take(run.moved);
}

/* ---- forward: what was received is sent ---- */

static inline int
forward_call(unsigned int index, bool idle)
{
	struct rte_mbuf **m = run.m + index * run.burst;
	uint16_t got = idle ? no_burst(m, (uint16_t)run.burst) :
		rte_eth_rx_burst(TESTED, 0, m, (uint16_t)run.burst);
	uint16_t sent = idle ? no_burst(m, got) : rte_eth_tx_burst(TESTED, 0, m, got);

	run.moved += sent;
	return sent;
}

static int
forward_burst(unsigned int index)
{
	return forward_call(index, false);
}

static int
forward_idle(unsigned int index)
{
	return forward_call(index, true);
}

static void
forward_finish(void)
{
	if (run.moved != run.expected)
		bench_die("%u of %u frames forwarded", run.moved, run.expected);
	peer_take(run.moved);
}

#define RX_CASE(name_, kind_) { .name = name_, .open = open_case, .prepare = rx_prepare, \
	.burst = rx_burst, .idle = rx_idle, .finish = rx_finish, .close = close_case, \
	.kind = RX | (kind_), .empty = ((kind_) & EMPTY) != 0 }
#define TX_CASE(name_, kind_) { .name = name_, .open = open_case, .prepare = tx_prepare, \
	.burst = tx_burst, .idle = tx_idle, .finish = tx_finish, .close = close_case, \
	.kind = TX | (kind_), .empty = ((kind_) & EMPTY) != 0 }

static const struct perf_case cases[] = {
	RX_CASE("rx", 0),
	RX_CASE("rx_offload", OFFLOADS),
	RX_CASE("rx_vlan", OFFLOADS | VLAN),
	RX_CASE("rx_stamps", OFFLOADS | STAMPS),
	RX_CASE("rx_scatter", SCATTER),
	RX_CASE("rx_empty", EMPTY),
	TX_CASE("tx", 0),
	TX_CASE("tx_fast_free", FAST_FREE),
	TX_CASE("tx_checksum", OFFLOADS),
	TX_CASE("tx_2seg", TWO_SEGS),
	TX_CASE("tx_16seg", SIXTEEN_SEGS),
	TX_CASE("tx_vlan", VLAN),
	TX_CASE("tx_64pools", MANY_POOLS),
	TX_CASE("tx_inline", INLINE),
	TX_CASE("tx_empty", EMPTY),
	{ .name = "forward", .open = open_case, .prepare = rx_prepare, .burst = forward_burst,
		.idle = forward_idle, .finish = forward_finish, .close = close_case,
		.kind = RX | FORWARD },
};

static const char *driver;

static void
start(int argc, char **argv)
{
	driver = ports_start(argc, argv);
}

/* The ports' own name for it, less what only tells how they were named. */
static const char *
driver_name(void)
{
	return strncmp(driver, "net_mlx4dv", 10) == 0 ? "net_mlx4dv" : driver;
}

const struct perf_subject perf_ethdev = {
	.name = "ethdev", .cases = cases, .nb_cases = RTE_DIM(cases), .start = start,
	.end = ports_end, .driver = driver_name,
};
