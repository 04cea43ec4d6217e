/* SPDX-License-Identifier: BSD-3-Clause */

/* Addresses, modes, filters, RSS: what may be set while a port runs. */

#include <errno.h>
#include <stdlib.h>

#include <rte_flow.h>

#include "sequence.h"

const struct rte_ether_addr *
seq_address(unsigned int i)
{
	static const struct rte_ether_addr all[SEQ_ADDRESSES] = {
		{ { 0x02, 0xaa, 0, 0, 0, 1 } }, { { 0x02, 0xaa, 0, 0, 0, 2 } },
		{ { 0x02, 0xaa, 0, 0, 0, 3 } }, { { 0x01, 0x00, 0x5e, 0, 0, 4 } },
		{ { 0x33, 0x33, 0, 0, 0, 5 } }, { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	};

	return &all[i];
}

/* Both states are freed. */
static bool
settled(struct seq_state *before, bool done)
{
	if (done)
		free(before);
	else
		seq_state_same(before, seq_state_take(), 0);
	return done;
}

/* ---- MTU ---- */

static int
judge_mtu(uint16_t mtu)
{
	unsigned int q;

	if (mtu < SEQ_MIN_MTU || mtu > SEQ_MAX_MTU || !seq.configured)
		return -EINVAL;
	for (q = 0; q < seq.nb_rxq; q++) {
		if (!seq.rxq[q].set_up)
			continue;
		if (seq_segments(&seq.rxq[q], mtu) == 0)
			return -EINVAL;
		if (seq.rxq[q].posted != 0 && seq_segments(&seq.rxq[q], mtu) > seq.rxq[q].posted)
			return -EBUSY;
	}
	return 0;
}

void
seq_mtu(void)
{
	uint16_t mtu = seq_chance(10) ? seq_below(65536) : SEQ_MIN_MTU + seq_below(seq_chance(3) ?
		SEQ_MAX_MTU - SEQ_MIN_MTU + 1 : 2000);
	struct seq_state *before = seq_state_take();

	seq_call("set_mtu %u", mtu);
	if (settled(before, seq_done(rte_eth_dev_set_mtu(seq.port, mtu), judge_mtu(mtu))))
		seq.mtu = mtu;
}

/* ---- addresses ---- */

static unsigned int
find_mac(const struct rte_ether_addr *mac)
{
	unsigned int i;

	for (i = 0; i < seq.nb_mac; i++)
		if (rte_is_same_ether_addr(&seq.mac[i], mac))
			break;
	return i;
}

static void
mac_add(const struct rte_ether_addr *mac)
{
	struct seq_state *before = seq_state_take();
	struct rte_ether_addr copy = *mac;
	int want = rte_is_valid_assigned_ether_addr(mac) ? 0 : -EINVAL;

	seq_call("mac_addr_add " RTE_ETHER_ADDR_PRT_FMT, RTE_ETHER_ADDR_BYTES(mac));
	if (settled(before, seq_done(rte_eth_dev_mac_addr_add(seq.port, &copy, 0), want)) &&
	    find_mac(mac) == seq.nb_mac)
		seq.mac[seq.nb_mac++] = *mac;
}

static void
mac_remove(const struct rte_ether_addr *mac)
{
	struct seq_state *before = seq_state_take();
	struct rte_ether_addr copy = *mac;
	unsigned int i = find_mac(mac);

	seq_call("mac_addr_remove " RTE_ETHER_ADDR_PRT_FMT, RTE_ETHER_ADDR_BYTES(mac));
	if (settled(before, seq_done(rte_eth_dev_mac_addr_remove(seq.port, &copy),
			i == 0 ? -EADDRINUSE : 0)) && i < seq.nb_mac)
		seq.mac[i] = seq.mac[--seq.nb_mac];
}

static void
mac_set(const struct rte_ether_addr *mac)
{
	struct seq_state *before = seq_state_take();
	struct rte_ether_addr copy = *mac;
	unsigned int i = find_mac(mac);
	int want = !rte_is_valid_assigned_ether_addr(mac) ? -EINVAL :
		i > 0 && i < seq.nb_mac ? -EEXIST : 0;

	seq_call("default_mac_addr_set " RTE_ETHER_ADDR_PRT_FMT, RTE_ETHER_ADDR_BYTES(mac));
	if (settled(before, seq_done(rte_eth_dev_default_mac_addr_set(seq.port, &copy), want)))
		seq.mac[0] = *mac;
}

void
seq_mac(void)
{
	static const struct rte_ether_addr zero;
	const struct rte_ether_addr *mac = seq_chance(20) ? &zero :
		seq_address(seq_below(seq_chance(10) ? SEQ_ADDRESSES : 3));

	switch (seq_below(4)) {
	case 0: case 1: mac_add(mac); break;
	case 2: mac_remove(seq_chance(8) ? &seq.mac[0] : mac); break;
	default: mac_set(mac); break;
	}
}

void
seq_mc_list(void)
{
	struct rte_ether_addr list[SEQ_MC];
	struct seq_state *before = seq_state_take();
	unsigned int n = seq_below(SEQ_MC + 1), i;
	int want = 0;

	for (i = 0; i < n; i++) {
		list[i] = *seq_address(seq_chance(30) ? 0 : 3 + seq_below(3));
		if (!rte_is_multicast_ether_addr(&list[i]))
			want = -EINVAL;
	}
	seq_call("set_mc_addr_list of %u", n);
	if (!settled(before, seq_done(rte_eth_dev_set_mc_addr_list(seq.port, list, n), want)))
		return;
	memcpy(seq.mc, list, n * sizeof(list[0]));
	seq.nb_mc = n;
}

void
seq_modes(void)
{
	static const struct {
		const char *name;
		int (*call)(uint16_t port);
		bool *mode;
		bool on;
	} each[] = {
		{ "promiscuous_enable", rte_eth_promiscuous_enable, &seq.promisc, true },
		{ "promiscuous_disable", rte_eth_promiscuous_disable, &seq.promisc, false },
		{ "allmulticast_enable", rte_eth_allmulticast_enable, &seq.allmulti, true },
		{ "allmulticast_disable", rte_eth_allmulticast_disable, &seq.allmulti, false },
	};
	unsigned int i = seq_below(RTE_DIM(each));
	struct seq_state *before = seq_state_take();

	seq_call("%s", each[i].name);
	if (settled(before, seq_done(each[i].call(seq.port), 0)))
		*each[i].mode = each[i].on;
}

/* ---- VLANs ---- */

void
seq_vlan_filter(void)
{
	uint16_t id = seq_chance(20) ? 4096 : SEQ_VLAN_ID(seq_below(3));
	bool on = seq_chance(2);
	struct seq_state *before = seq_state_take();
	int want = (seq.rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0 ? -ENOSYS :
		id > 4095 ? -EINVAL : 0;

	seq_call("vlan_filter %u %s", id, on ? "on" : "off");
	if (!settled(before, seq_done(rte_eth_dev_vlan_filter(seq.port, id, on), want)))
		return;
	if (on)
		seq.vlan_ids |= UINT64_C(1) << id;
	else
		seq.vlan_ids &= ~(UINT64_C(1) << id);
}

static const struct {
	int mask;
	uint64_t offload;
} vlan_bits[] = {
	{ RTE_ETH_VLAN_STRIP_OFFLOAD, RTE_ETH_RX_OFFLOAD_VLAN_STRIP },
	{ RTE_ETH_VLAN_FILTER_OFFLOAD, RTE_ETH_RX_OFFLOAD_VLAN_FILTER },
	{ RTE_ETH_QINQ_STRIP_OFFLOAD, RTE_ETH_RX_OFFLOAD_QINQ_STRIP },
};

static int
judge_vlan(uint64_t offloads, uint64_t old, bool extend)
{
	unsigned int q;

	if (extend)
		return -EINVAL;
	if (offloads == old || offloads == 0)
		return 0;
	for (q = 0; q < seq.nb_rxq; q++)
		if (seq.rxq[q].set_up && seq.rxq[q].split && seq.rxq[q].first_room < SEQ_VLAN_REACH)
			return -EINVAL;
	return 0;
}

void
seq_vlan_offload(void)
{
	struct seq_state *before = seq_state_take();
	uint64_t offloads = 0, all = 0, old;
	bool extend = seq_chance(20);
	int mask = extend ? RTE_ETH_VLAN_EXTEND_OFFLOAD : 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(vlan_bits); i++) {
		all |= vlan_bits[i].offload;
		if (seq_chance(2)) {
			mask |= vlan_bits[i].mask;
			offloads |= vlan_bits[i].offload;
		}
	}
	old = seq.rx_offloads & all;
	seq_call("set_vlan_offload 0x%x", mask);
	if (!settled(before, seq_done(rte_eth_dev_set_vlan_offload(seq.port, mask),
			judge_vlan(offloads, old, extend))))
		return;
	seq.rx_offloads = (seq.rx_offloads & ~all) | offloads;
}

/* ---- RSS ---- */

void
seq_rss(void)
{
	uint8_t key[40];
	struct rte_eth_rss_conf rss = { .rss_hf = seq_types() };
	struct seq_state *before = seq_state_take();
	unsigned int i;
	int want;

	for (i = 0; i < sizeof(key); i++)
		key[i] = rng_next(&seq.rng);
	if (seq_chance(2)) {
		rss.rss_key = key;
		rss.rss_key_len = seq_chance(10) ? 16 : sizeof(key);
	}
	want = (rss.rss_hf & RTE_ETH_RSS_L2_PAYLOAD) != 0 ? -EINVAL : !seq.rss ? -ENOTSUP :
		rss.rss_key_len == 16 ? -EINVAL : 0;
	seq_call("rss_hash_update 0x%" PRIx64 "%s", rss.rss_hf, rss.rss_key != NULL ?
		", key" : "");
	if (!settled(before, seq_done(rte_eth_dev_rss_hash_update(seq.port, &rss), want)))
		return;
	seq.hf = seq_effective_types(rss.rss_hf);
	if (rss.rss_key != NULL)
		memcpy(seq.key, key, sizeof(key));
}

/* The port runs and takes part of the table that it was started with, or any table. */
static void
draw_table(uint16_t *table)
{
	unsigned int i, run = 1u << seq_below(4), first = seq_below(seq.reta_size);

	run = RTE_MIN(run, seq.reta_size);
	first -= first % run;
	for (i = 0; i < seq.reta_size; i++)
		table[i] = seq_chance(30) ? seq_below(seq.nb_rxq) : seq.layout[first + i % run];
	if (seq_chance(3))
		for (i = 0; i < seq.reta_size; i++)
			table[i] = seq_below(seq.nb_rxq);
	if (seq_chance(3))
		for (i = 0; i < seq.reta_size; i++)
			table[i] = i % seq.nb_rxq;
}

/* Is it an aligned run of 2^n entries of the layout, again and again? */
static bool
is_run(const uint16_t *table)
{
	unsigned int run, first, i;

	for (run = seq.reta_size; run != 0; run /= 2)
		for (first = 0; first < seq.reta_size; first += run) {
			for (i = 0; i < seq.reta_size; i++)
				if (table[i] != seq.layout[first + i % run])
					break;
			if (i == seq.reta_size)
				return true;
		}
	return false;
}

void
seq_reta(void)
{
	struct rte_eth_rss_reta_entry64 reta[2] = { { .mask = UINT64_MAX } };
	struct seq_state *before;
	uint16_t table[SEQ_RETA];
	unsigned int i;
	bool run;
	int want;

	if (seq.nb_rxq == 0 || seq.reta_size == 0 || !seq.configured)
		return;
	before = seq_state_take();
	draw_table(table);
	for (i = 0; i < seq.reta_size; i++)
		reta[0].reta[i] = table[i];
	run = is_run(table);
	want = !seq.rss ? -ENOTSUP : run ? 0 : seq.started ? -ENOTSUP :
		seq.nb_flows != 0 ? -EBUSY : 0;
	seq_call("reta_update %u %u %u %u …", table[0], table[1 % seq.reta_size],
		table[2 % seq.reta_size], table[3 % seq.reta_size]);
	if (!settled(before, seq_done(rte_eth_dev_rss_reta_update(seq.port, reta,
			seq.reta_size), want)))
		return;
	memcpy(seq.reta, table, sizeof(table));
	if (!run)
		memcpy(seq.layout, table, sizeof(table));
}

/* ---- others ---- */

void
seq_link(void)
{
	struct rte_eth_link link;
	bool up = seq_chance(2);

	if (seq.gone)
		return;
	if (seq_chance(2)) {
		seq_call("link %s and up", up ? "up" : "down");
		seq_done(up ? rte_eth_dev_set_link_up(seq.port) :
			rte_eth_dev_set_link_down(seq.port), 0);
		CHECK_OK(rte_eth_dev_set_link_up(seq.port));
	} else {
		seq_call("the cable out and in");
		CHECK_OK(vmlx4_set_carrier(1, 0));
		CHECK_OK(rte_eth_link_get_nowait(seq.port, &link));
		seq_done(vmlx4_set_carrier(1, 1), 0);
	}
	CHECK_OK(rte_eth_link_get_nowait(seq.port, &link));
}

void
seq_rx_intr(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	bool on = seq_chance(2);
	bool can = seq.started && seq.rx_intr && q < seq.nb_rxq && seq.rxq[q].posted != 0;

	seq_call("rx_intr_%s %u", on ? "enable" : "disable", q);
	seq_done(on ? rte_eth_dev_rx_intr_enable(seq.port, q) :
		rte_eth_dev_rx_intr_disable(seq.port, q), can ? 0 : -EINVAL);
}

void
seq_strip(void)
{
	uint16_t q = seq_below(SEQ_QUEUES);
	bool on = seq_chance(2);

	seq_call("set_vlan_strip_on_queue %u %s", q, on ? "on" : "off");
	seq_done(rte_eth_dev_set_vlan_strip_on_queue(seq.port, q, on),
		q < seq.nb_rxq ? 0 : -EINVAL);
}

/* Of each queue that is there. */
static void
ask_queues(void)
{
	struct rte_eth_burst_mode mode;
	uint16_t q;
	int n;

	for (q = 0; q < seq.nb_rxq; q++) {
		if (!seq.rxq[q].set_up)
			continue;
		CHECK_OK(rte_eth_rx_burst_mode_get(seq.port, q, &mode));
		if (!seq.started)
			continue;
		n = rte_eth_rx_queue_count(seq.port, q);
		CHECK(n >= 0 && n <= 16384);
		n = rte_eth_rx_descriptor_status(seq.port, q, seq_below(600));
		CHECK(n >= RTE_ETH_RX_DESC_AVAIL || n == -EINVAL);
	}
	for (q = 0; q < seq.nb_txq; q++) {
		if (!seq.txq[q].set_up)
			continue;
		CHECK_OK(rte_eth_tx_burst_mode_get(seq.port, q, &mode));
		if (!seq.started)
			continue;
		n = rte_eth_tx_descriptor_status(seq.port, q, seq_below(600));
		CHECK(n >= RTE_ETH_TX_DESC_FULL || n == -EINVAL);
		CHECK(rte_eth_tx_done_cleanup(seq.port, q, seq_below(8)) >= 0);
	}
}

/* Questions: an answer, whatever it is, and nothing else. */
void
seq_ask(void)
{
	struct rte_eth_dev_module_info module;
	struct rte_eth_xstat stats[256];
	struct rte_eth_xstat_name names[256];
	struct rte_flow_error error;
	struct rte_eth_fc_conf fc;
	struct rte_eth_stats basic;
	uint32_t ptypes[64];
	uint64_t clock;
	char version[64];
	FILE *null = fopen("/dev/null", "w");

	CHECK(null != NULL);
	seq_call("questions");
	CHECK_OK(rte_eth_stats_get(seq.port, &basic));
	CHECK(rte_eth_xstats_get(seq.port, stats, 256) <= 256);
	CHECK_EQ(rte_eth_xstats_get_names(seq.port, names, 256),
		rte_eth_xstats_get(seq.port, stats, 256));
	CHECK_OK(rte_eth_dev_fw_version_get(seq.port, version, sizeof(version)));
	CHECK(rte_eth_dev_get_supported_ptypes(seq.port, RTE_PTYPE_ALL_MASK, ptypes, 64) >= 0);
	CHECK_OK(rte_eth_dev_priv_dump(seq.port, null));
	if (!seq.gone)
		CHECK_OK(rte_flow_dev_dump(seq.port, NULL, null, &error));
	ask_queues();
	fclose(null);
	if (!seq.gone) {
		CHECK_OK(rte_eth_dev_get_module_info(seq.port, &module));
		CHECK_OK(rte_eth_read_clock(seq.port, &clock));
		CHECK_OK(rte_eth_dev_flow_ctrl_get(seq.port, &fc));
	}
	if (seq_chance(2))
		CHECK_OK(rte_eth_stats_reset(seq.port));
	else
		CHECK_OK(rte_eth_xstats_reset(seq.port));
	seq_done(0, 0);
}
