/* SPDX-License-Identifier: BSD-3-Clause */

/* The queues of a port: set up in all ways, and each stopped and started alone. */

#include <errno.h>
#include <stdlib.h>

#include "sequence.h"

#define OVERHEAD 26           /* Ethernet, two tags, FCS */
#define MAX_SEGMENTS 16
#define MIN_RING 64
#define DEFAULT_DESC 512
#define MAX_SENDING (SEQ_QUEUES * DEFAULT_DESC + 1000)

#define VLAN_OFFLOADS (RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_QINQ_STRIP | \
	RTE_ETH_RX_OFFLOAD_VLAN_FILTER)

uint64_t
seq_rx_offloads(void)
{
	static const uint64_t each[] = {
		RTE_ETH_RX_OFFLOAD_SCATTER, RTE_ETH_RX_OFFLOAD_RSS_HASH,
		RTE_ETH_RX_OFFLOAD_VLAN_STRIP, RTE_ETH_RX_OFFLOAD_QINQ_STRIP,
		RTE_ETH_RX_OFFLOAD_VLAN_FILTER, RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT,
		RTE_ETH_RX_OFFLOAD_KEEP_CRC, RTE_ETH_RX_OFFLOAD_CHECKSUM,
		RTE_ETH_RX_OFFLOAD_TIMESTAMP,
	};
	uint64_t offloads = seq_chance(60) ? RTE_ETH_RX_OFFLOAD_TCP_LRO : 0;

	return offloads | seq_some_of(each, RTE_DIM(each), 4);
}

uint64_t
seq_tx_offloads(void)
{
	static const uint64_t each[] = {
		RTE_ETH_TX_OFFLOAD_MULTI_SEGS, RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
		RTE_ETH_TX_OFFLOAD_TCP_TSO, RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM,
	};
	uint64_t offloads = seq_chance(60) ? RTE_ETH_TX_OFFLOAD_MACSEC_INSERT : 0;

	return offloads | seq_some_of(each, RTE_DIM(each), 3);
}

/* ---- set-up ---- */

uint16_t
seq_segments(const struct seq_rxq *rxq, uint16_t mtu)
{
	uint32_t frame = mtu + OVERHEAD, whole = rxq->pool->room + RTE_PKTMBUF_HEADROOM;
	uint32_t n = 1;

	if (rxq->split) {
		/* Two segments: the first is cut, the second a buffer of the last pool. */
		n = rxq->segments;
		frame -= RTE_MIN(frame, rxq->first_room + (n > 1 ? whole : 0));
		n += (frame + whole - 1) / whole;
		return n <= MAX_SEGMENTS ? n : 0;
	}
	if (frame > rxq->pool->room)
		n += (frame - rxq->pool->room + whole - 1) / whole;
	n = rte_align32pow2(n);
	return n <= MAX_SEGMENTS ? n : 0;
}

static int
judge_rx_setup(uint16_t q, const struct seq_rxq *rxq, const struct rte_eth_rxconf *conf)
{
	uint64_t offloads = conf->offloads | seq.rx_offloads;

	if (q >= seq.nb_rxq ||
	    (rxq->split && (offloads & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) == 0))
		return -EINVAL;
	if (seq.started)
		return -EBUSY;
	if ((conf->offloads & ~seq.rx_offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 ||
	    seq_segments(rxq, seq.mtu) == 0)
		return -EINVAL;
	if (rxq->split && (offloads & VLAN_OFFLOADS) != 0 && rxq->first_room < SEQ_VLAN_REACH)
		return -EINVAL;
	return 0;
}

static bool
rx_setup(uint16_t q, uint16_t desc, const struct seq_rxq *rxq, struct rte_eth_rxconf *conf)
{
	union rte_eth_rxseg segs[2] = {
		{ .split = { .mp = rxq->first_pool->mp, .length = rxq->first_room } },
		{ .split = { .mp = rxq->pool->mp } },
	};
	uint64_t offloads = conf->offloads | seq.rx_offloads;
	int want = judge_rx_setup(q, rxq, conf);
	int ret;

	if (rxq->split) {
		conf->rx_seg = segs;
		conf->rx_nseg = rxq->segments;
	}
	seq_call("rx_queue_setup %u, %u of room %u, split %u*%u, offloads 0x%" PRIx64 "%s", q, desc,
		rxq->pool->room, rxq->split ? rxq->segments : 0, rxq->first_room, conf->offloads,
		rxq->deferred ? ", deferred" : "");
	ret = rte_eth_rx_queue_setup(seq.port, q, desc, SOCKET_ID_ANY, conf,
		rxq->split ? NULL : rxq->pool->mp);
	/* Refused or not, ethdev has released the queue of before. */
	if (q < seq.nb_rxq && !seq.started &&
	    (!rxq->split || (offloads & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) != 0))
		memset(&seq.rxq[q], 0, sizeof(seq.rxq[q]));
	if (!seq_done(ret, want))
		return false;
	seq.rxq[q] = *rxq;
	seq.rxq[q].set_up = true;
	seq.rxq[q].own = conf->offloads & ~seq.rx_offloads;
	return true;
}

static uint16_t
draw_desc(void)
{
	return seq_chance(3) ? 64 : seq_chance(2) ? 1 + seq_below(300) : 0;
}

static void
draw_rxq(struct seq_rxq *rxq, struct rte_eth_rxconf *conf)
{
	memset(rxq, 0, sizeof(*rxq));
	memset(conf, 0, sizeof(*conf));
	rxq->pool = rxq->first_pool = &seq.pools[seq_below(RTE_DIM(seq.pools))];
	rxq->deferred = seq_chance(5);
	conf->rx_deferred_start = rxq->deferred;
	conf->rx_drop_en = 1;
	conf->rx_free_thresh = seq_below(64);
	if (seq_chance(3))
		conf->offloads = seq_rx_offloads() & ~(uint64_t)RTE_ETH_RX_OFFLOAD_TCP_LRO;
	rxq->split = (conf->offloads & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) != 0 || seq_chance(8) ||
		((seq.rx_offloads & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT) != 0 && seq_chance(2));
	if (rxq->split) {
		rxq->first_room = 14 + seq_below(200);
		rxq->segments = 1 + seq_below(2);
		/* One that is listed alone is the last one, too. */
		rxq->first_pool = rxq->segments == 1 ? rxq->pool :
			&seq.pools[seq_below(RTE_DIM(seq.pools))];
	}
}

void
seq_rx_setup(void)
{
	struct rte_eth_rxconf conf;
	struct seq_rxq rxq;

	draw_rxq(&rxq, &conf);
	rx_setup(seq_below(SEQ_QUEUES), draw_desc(), &rxq, &conf);
}

static bool
tx_setup(uint16_t q, uint16_t desc, struct rte_eth_txconf *conf)
{
	int want = q >= seq.nb_txq ? -EINVAL :
		seq.started && seq.txq[q].running ? -EBUSY : 0;

	seq_call("tx_queue_setup %u, %u, offloads 0x%" PRIx64 "%s", q, desc, conf->offloads,
		conf->tx_deferred_start ? ", deferred" : "");
	if (!seq_done(rte_eth_tx_queue_setup(seq.port, q, desc, SOCKET_ID_ANY, conf), want)) {
		if (seq.gone && q < seq.nb_txq && want == 0)
			memset(&seq.txq[q], 0, sizeof(seq.txq[q]));
		return false;
	}
	seq.txq[q] = (struct seq_txq){
		.set_up = true, .deferred = conf->tx_deferred_start != 0,
		.own = conf->offloads & ~seq.tx_offloads,
	};
	return true;
}

static void
draw_txconf(struct rte_eth_txconf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->tx_deferred_start = seq_chance(5);
	conf->tx_free_thresh = seq_below(64);
	conf->tx_rs_thresh = seq_below(64);
	if (seq_chance(3))
		conf->offloads = seq_tx_offloads() & ~(uint64_t)RTE_ETH_TX_OFFLOAD_MACSEC_INSERT;
}

void
seq_tx_setup(void)
{
	struct rte_eth_txconf conf;

	draw_txconf(&conf);
	tx_setup(seq_below(SEQ_QUEUES), draw_desc(), &conf);
}

/* The queues of before take the offloads that the port is configured for. */
bool
seq_queues_fit(uint16_t nb_rxq, uint64_t offloads)
{
	unsigned int q;

	for (q = 0; q < nb_rxq; q++)
		if (seq.rxq[q].set_up && seq.rxq[q].split &&
		    seq.rxq[q].first_room < SEQ_VLAN_REACH &&
		    ((seq.rxq[q].own | offloads) & VLAN_OFFLOADS) != 0)
			return false;
	return true;
}

void
seq_set_up_all(void)
{
	struct rte_eth_rxconf rxconf;
	struct rte_eth_txconf txconf;
	struct seq_rxq rxq;
	unsigned int q;

	for (q = 0; q < seq.nb_rxq; q++)
		do
			draw_rxq(&rxq, &rxconf);
		while (judge_rx_setup(q, &rxq, &rxconf) != 0 ||
			!rx_setup(q, draw_desc(), &rxq, &rxconf));
	for (q = 0; q < seq.nb_txq; q++) {
		draw_txconf(&txconf);
		tx_setup(q, draw_desc(), &txconf);
	}
}

/* ---- rings ---- */

unsigned int
seq_rings(unsigned int q)
{
	unsigned int i, n = 0;

	for (i = 0; i < seq.reta_size; i++)
		n += seq.layout[i] == q;
	return n;
}

bool
seq_pools_suffice(void)
{
	uint32_t need[RTE_DIM(seq.pools)] = { MAX_SENDING };
	unsigned int q, i, wqes;

	for (q = 0; q < seq.nb_rxq; q++) {
		const struct seq_rxq *rxq = &seq.rxq[q];
		if (!rxq->set_up)
			continue;
		wqes = seq_rings(q) * MIN_RING + 2 * DEFAULT_DESC;
		need[rxq->pool - seq.pools] += wqes *
			rte_align32pow2(seq_segments(rxq, seq.mtu));
		if (rxq->split)
			need[rxq->first_pool - seq.pools] += wqes;
	}
	for (i = 0; i < RTE_DIM(seq.pools); i++)
		if (need[i] > seq.pools[i].mp->size)
			return false;
	return true;
}

/* ---- queues of a port that runs ---- */

void
seq_rx_queue_state(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	struct seq_rxq *rxq = &seq.rxq[q];
	bool on = seq_chance(2), there = q < seq.nb_rxq && rxq->set_up;
	struct seq_state *before = seq_state_take();
	bool poor = !seq_pools_suffice();
	int want = (on && !seq.started) || !there ? -EINVAL : 0;

	seq_call("rx_queue_%s %u", on ? "start" : "stop", q);
	if (seq_either(on ? rte_eth_dev_rx_queue_start(seq.port, q) :
			rte_eth_dev_rx_queue_stop(seq.port, q), want,
			poor && want == 0 ? -ENOMEM : want)) {
		rxq->running = on;
		free(before);
		return;
	}
	seq_state_same(before, seq_state_take(), 0);
}

void
seq_tx_queue_state(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	struct seq_txq *txq = &seq.txq[q];
	bool on = seq_chance(2), there = q < seq.nb_txq && txq->set_up;
	struct seq_state *before = seq_state_take();
	int want = (on && !seq.started) || !there ? -EINVAL : 0;

	seq_call("tx_queue_%s %u", on ? "start" : "stop", q);
	if (seq_done(on ? rte_eth_dev_tx_queue_start(seq.port, q) :
			rte_eth_dev_tx_queue_stop(seq.port, q), want)) {
		txq->running = on;
		free(before);
		return;
	}
	/* The queue may have lost its QP, which the next start makes anew. */
	seq_state_same(before, seq_state_take(), SEQ_OBJECTS);
}
