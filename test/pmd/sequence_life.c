/* SPDX-License-Identifier: BSD-3-Clause */

/* A port from its probe to its end, its queues, and what is said by the way. */

#include <errno.h>
#include <stdio.h>

#include <rte_dev.h>

#include "events.h"
#include "sequence.h"

#define NAME "net_mlx4dv7"

static const uint8_t default_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* ---- open ---- */

void
seq_open(void)
{
	char args[64];

	if (seq.open)
		return;
	snprintf(args, sizeof(args), "device=%s,port=1", verbs_device());
	seq_call("probe");
	seq_done(port_probe(NAME, args), 0);
	CHECK_OK(rte_eth_dev_get_port_by_name(NAME, &seq.port));
	port_adopt(seq.port, 1);
	seq.open = true;
	seq.nb_mac = 1;
	CHECK_OK(rte_eth_macaddr_get(seq.port, &seq.mac[0]));
	CHECK_OK(rte_eth_dev_get_mtu(seq.port, &seq.mtu));
}

/* ---- configure ---- */

/* The queues take turns in a table of their number, or twice the next power of two. */
static void
default_reta(void)
{
	unsigned int i, n = seq.nb_rxq == 0 ? 0 : rte_align32pow2(seq.nb_rxq);

	seq.reta_size = n == seq.nb_rxq ? n : 2 * n;
	for (i = 0; i < seq.reta_size; i++)
		seq.layout[i] = seq.reta[i] = i % seq.nb_rxq;
}

uint64_t
seq_effective_types(uint64_t hf)
{
	const uint64_t ports6 = RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP |
		RTE_ETH_RSS_IPV6_TCP_EX | RTE_ETH_RSS_IPV6_UDP_EX;

	return (hf & ports6) != 0 ? hf | RTE_ETH_RSS_IPV6 : hf;
}

uint64_t
seq_types(void)
{
	static const uint64_t each[] = {
		RTE_ETH_RSS_IPV4, RTE_ETH_RSS_IPV6, RTE_ETH_RSS_NONFRAG_IPV4_TCP,
		RTE_ETH_RSS_NONFRAG_IPV4_UDP, RTE_ETH_RSS_NONFRAG_IPV6_TCP,
		RTE_ETH_RSS_NONFRAG_IPV6_UDP,
	};
	uint64_t types = seq_chance(40) ? RTE_ETH_RSS_L2_PAYLOAD : 0;

	return types | seq_some_of(each, RTE_DIM(each), 2);
}

static void
forget_queues(void)
{
	memset(seq.rxq, 0, sizeof(seq.rxq));
	memset(seq.txq, 0, sizeof(seq.txq));
	seq.nb_rxq = seq.nb_txq = 0;
}

/* What an ethdev that was told so much accepts. */
static int
judge_conf(const struct rte_eth_conf *conf, const struct rte_eth_dev_info *info)
{
	if (conf->rxmode.mtu != 0 &&
	    (conf->rxmode.mtu < SEQ_MIN_MTU || conf->rxmode.mtu > SEQ_MAX_MTU))
		return -EINVAL;
	if ((conf->rxmode.offloads & ~info->rx_offload_capa) != 0 ||
	    (conf->txmode.offloads & ~info->tx_offload_capa) != 0 ||
	    (conf->rx_adv_conf.rss_conf.rss_hf & ~info->flow_type_rss_offloads) != 0)
		return -EINVAL;
	if (conf->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE &&
	    (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0)
		return -EINVAL;
	return 0;
}

static void
take_conf(const struct rte_eth_conf *conf, uint16_t nb_rxq, uint16_t nb_txq)
{
	unsigned int q;

	for (q = nb_rxq; q < SEQ_QUEUES; q++)
		memset(&seq.rxq[q], 0, sizeof(seq.rxq[q]));
	for (q = nb_txq; q < SEQ_QUEUES; q++)
		memset(&seq.txq[q], 0, sizeof(seq.txq[q]));
	seq.configured = true;
	seq.nb_rxq = nb_rxq;
	seq.nb_txq = nb_txq;
	seq.rx_offloads = conf->rxmode.offloads;
	seq.tx_offloads = conf->txmode.offloads;
	seq.rss = conf->rxmode.mq_mode == RTE_ETH_MQ_RX_RSS;
	seq.rx_intr = conf->intr_conf.rxq != 0;
	seq.hf = seq_effective_types(conf->rx_adv_conf.rss_conf.rss_hf);
	memcpy(seq.key, conf->rx_adv_conf.rss_conf.rss_key != NULL ?
		conf->rx_adv_conf.rss_conf.rss_key : default_key, sizeof(seq.key));
	seq.mtu = conf->rxmode.mtu != 0 ? conf->rxmode.mtu : RTE_ETHER_MTU;
	if (nb_rxq != 0)
		default_reta();
}

static void
configure(uint16_t nb_rxq, uint16_t nb_txq, const struct rte_eth_conf *conf)
{
	struct rte_eth_dev_info info;
	bool bad_key = conf->rx_adv_conf.rss_conf.rss_key != NULL &&
		conf->rx_adv_conf.rss_conf.rss_key_len != 0 &&
		conf->rx_adv_conf.rss_conf.rss_key_len != sizeof(seq.key);
	int want;

	CHECK_OK(rte_eth_dev_info_get(seq.port, &info));
	want = seq.started ? -EBUSY : judge_conf(conf, &info);
	if (want == 0 && (bad_key || !seq_queues_fit(nb_rxq, conf->rxmode.offloads)))
		want = -EINVAL;
	seq_call("configure %u+%u queues, rx 0x%" PRIx64 ", tx 0x%" PRIx64 ", %s 0x%" PRIx64
		"%s, mtu %u%s", nb_rxq, nb_txq, conf->rxmode.offloads, conf->txmode.offloads,
		conf->rxmode.mq_mode == RTE_ETH_MQ_RX_RSS ? "rss" : "no rss",
		conf->rx_adv_conf.rss_conf.rss_hf, bad_key ? " short key" : "", conf->rxmode.mtu,
		conf->intr_conf.rxq != 0 ? ", interrupts" : "");
	if (seq_done(rte_eth_dev_configure(seq.port, nb_rxq, nb_txq, conf), want)) {
		take_conf(conf, nb_rxq != 0 || nb_txq != 0 ? nb_rxq : 1,
			nb_rxq != 0 || nb_txq != 0 ? nb_txq : 1);
		return;
	}
	/* ethdev forgets that the port was configured, and from some point on its queues. */
	if (seq.started)
		return;
	seq.configured = false;
	if (judge_conf(conf, &info) == 0)
		forget_queues();
}

static void
draw_conf(struct rte_eth_conf *conf, uint8_t key[40])
{
	unsigned int i;

	conf->rxmode.offloads = seq_rx_offloads();
	conf->txmode.offloads = seq_tx_offloads();
	conf->rxmode.mq_mode = seq_chance(4) ? RTE_ETH_MQ_RX_NONE : RTE_ETH_MQ_RX_RSS;
	if (conf->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE && !seq_chance(20))
		conf->rxmode.offloads &= ~RTE_ETH_RX_OFFLOAD_RSS_HASH;
	conf->rx_adv_conf.rss_conf.rss_hf = seq_types();
	conf->rxmode.mtu = seq_chance(3) ? 0 : seq_chance(20) ? seq_below(20000) :
		SEQ_MIN_MTU + seq_below(seq_chance(4) ? SEQ_MAX_MTU - SEQ_MIN_MTU + 1 : 2000);
	conf->intr_conf.lsc = seq_chance(2);
	conf->intr_conf.rmv = seq_chance(2);
	conf->intr_conf.rxq = seq_chance(4);
	if (seq_chance(2))
		return;
	for (i = 0; i < 40; i++)
		key[i] = rng_next(&seq.rng);
	conf->rx_adv_conf.rss_conf.rss_key = key;
	conf->rx_adv_conf.rss_conf.rss_key_len = seq_chance(10) ? 20 : seq_chance(2) ? 40 : 0;
}

void
seq_configure(void)
{
	struct rte_eth_conf conf;
	uint8_t key[40];

	memset(&conf, 0, sizeof(conf));
	draw_conf(&conf, key);
	configure(seq_below(SEQ_QUEUES + 1), seq_below(SEQ_QUEUES + 1), &conf);
}

/* ---- start and stop ---- */

static int
judge_start(void)
{
	unsigned int q;

	if (!seq.configured)
		return -EINVAL;
	if (seq.started)
		return 0;
	for (q = 0; q < seq.nb_rxq; q++)
		if (!seq.rxq[q].set_up || seq_segments(&seq.rxq[q], seq.mtu) == 0)
			return -EINVAL;
	for (q = 0; q < seq.nb_txq; q++)
		if (!seq.txq[q].set_up)
			return -EINVAL;
	return 0;
}

static void
started(void)
{
	unsigned int q;

	seq.started = true;
	for (q = 0; q < seq.nb_rxq; q++) {
		seq.rxq[q].running = !seq.rxq[q].deferred;
		seq.rxq[q].posted = seq_rings(q) != 0 ? seq_segments(&seq.rxq[q], seq.mtu) : 0;
	}
	for (q = 0; q < seq.nb_txq; q++)
		seq.txq[q].running = !seq.txq[q].deferred;
}

static void
stopped(void)
{
	unsigned int q;

	seq.started = false;
	for (q = 0; q < SEQ_QUEUES; q++) {
		seq.rxq[q].running = seq.txq[q].running = false;
		seq.rxq[q].posted = 0;
	}
}

void
seq_start(void)
{
	struct seq_state *before = seq_state_take();
	bool already = seq.started;
	int want = judge_start(), ret;

	if (want == 0 && !already && !seq_flows_fit())
		want = -EINVAL;
	seq_call("start");
	ret = rte_eth_dev_start(seq.port);
	/* Found before it is seen where rules lead. */
	if (ret == -ENOMEM && judge_start() == 0 && !already && !seq_pools_suffice())
		want = -ENOMEM;
	if (seq_done(ret, want)) {
		if (!already)
			started();
		free(before);
		return;
	}
	seq_state_same(before, seq_state_take(), SEQ_RINGS);
}

void
seq_stop(void)
{
	seq_call("stop");
	if (seq_done(rte_eth_dev_stop(seq.port), 0))
		stopped();
}

/* All that it takes until the port runs. */
void
seq_bring_up(void)
{
	struct rte_eth_conf conf;
	uint8_t key[40];
	unsigned int tries;

	if (seq.started || seq.gone)
		return;
	for (tries = 0; !seq.configured || tries == 0; tries++) {
		memset(&conf, 0, sizeof(conf));
		draw_conf(&conf, key);
		configure(1 + seq_below(SEQ_QUEUES), 1 + seq_below(SEQ_QUEUES), &conf);
	}
	seq_set_up_all();
	seq_start();
}

/* ---- end ---- */

static void
forget_port(void)
{
	struct seq fresh = {
		.seed = seq.seed, .rng = seq.rng, .step = seq.step, .quiet = seq.quiet,
		.lost = seq.lost,
	};

	memcpy(fresh.pools, seq.pools, sizeof(fresh.pools));
	seq = fresh;
}

void
seq_close(void)
{
	seq_call("stop, close, remove");
	CHECK_OK(rte_eth_dev_stop(seq.port));
	port_disown(seq.port);
	CHECK_OK(rte_eth_dev_close(seq.port));
	CHECK_OK(vmlx4_fault_clear());
	seq_done(rte_eal_hotplug_remove("vdev", NAME), 0);
	forget_port();
	CHECK_EQ(rte_eth_dev_count_avail(), 0);
}

void
seq_reset(void)
{
	unsigned int q;

	/* What a device that is gone took with it comes back. */
	if (seq.gone)
		CHECK_OK(vmlx4_fault_clear());
	seq_call("reset");
	seq_done(rte_eth_dev_reset(seq.port), 0);
	stopped();
	for (q = 0; q < SEQ_QUEUES; q++) {
		memset(&seq.rxq[q], 0, sizeof(seq.rxq[q]));
		memset(&seq.txq[q], 0, sizeof(seq.txq[q]));
	}
	seq.gone = seq.leaky = false;
	/* It is the interface's, which the port set, or which is new. */
	CHECK_OK(rte_eth_dev_get_mtu(seq.port, &seq.mtu));
}

void
seq_remove(void)
{
	if (seq.gone)
		return;
	seq_call("the device is removed");
	fault_add("device remove");
	/* Asked, the driver does not wait for the event. */
	seq_done(rte_eth_dev_is_removed(seq.port) == 1 ? 0 : -1, 0);
	seq.gone = true;
}
