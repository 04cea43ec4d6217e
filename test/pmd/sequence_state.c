/* SPDX-License-Identifier: BSD-3-Clause */

/* What a port says of itself, all of it at once. */

#include <stdlib.h>

#include "sequence.h"

#define MACS 128

struct seq_state {
	uint16_t mtu, nb_rxq, nb_txq, reta_size;
	int promisc, allmulti, vlan;
	struct rte_ether_addr mac[MACS];
	struct {
		int ret;
		uint64_t hf;
		uint8_t key[40];
	} rss;
	struct {
		int ret;
		struct rte_eth_rss_reta_entry64 entries[2];
	} reta;
	struct {
		int ret;
		struct rte_mempool *mp;
		uint64_t offloads;
		uint8_t state;
	} rxq[SEQ_QUEUES];
	struct {
		uint16_t nb_desc;
		uint8_t scattered;
	} rings[SEQ_QUEUES];
	struct {
		int ret;
		uint64_t offloads;
		uint16_t nb_desc;
		uint8_t state;
	} txq[SEQ_QUEUES];
	struct vmlx4_object_counts objects;
};

static void
take_queues(struct seq_state *s)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;
	unsigned int q;

	for (q = 0; q < SEQ_QUEUES; q++) {
		/* ethdev writes a line for each queue that is not there. */
		s->rxq[q].ret = q < s->nb_rxq ? rte_eth_rx_queue_info_get(seq.port, q, &rx) :
			-EINVAL;
		if (s->rxq[q].ret == 0) {
			s->rxq[q].mp = rx.mp;
			s->rxq[q].offloads = rx.conf.offloads;
			s->rings[q].nb_desc = rx.nb_desc;
			s->rings[q].scattered = rx.scattered_rx;
			s->rxq[q].state = rx.queue_state;
		}
		s->txq[q].ret = q < s->nb_txq ? rte_eth_tx_queue_info_get(seq.port, q, &tx) :
			-EINVAL;
		if (s->txq[q].ret == 0) {
			s->txq[q].offloads = tx.conf.offloads;
			s->txq[q].nb_desc = tx.nb_desc;
			s->txq[q].state = tx.queue_state;
		}
	}
}

static void
take_rss(struct seq_state *s)
{
	struct rte_eth_rss_conf rss = { .rss_key = s->rss.key, .rss_key_len = 40 };

	s->rss.ret = rte_eth_dev_rss_hash_conf_get(seq.port, &rss);
	s->rss.hf = rss.rss_hf;
	memset(s->reta.entries, 0, sizeof(s->reta.entries));
	s->reta.entries[0].mask = s->reta.entries[1].mask = UINT64_MAX;
	s->reta.ret = seq.nb_rxq == 0 || s->reta_size == 0 ? -ENOTSUP :
		rte_eth_dev_rss_reta_query(seq.port, s->reta.entries, s->reta_size);
}

struct seq_state *
seq_state_take(void)
{
	struct seq_state *s = calloc(1, sizeof(*s));
	struct rte_eth_dev_info info;

	CHECK(s != NULL);
	CHECK_OK(rte_eth_dev_info_get(seq.port, &info));
	s->nb_rxq = info.nb_rx_queues;
	s->nb_txq = info.nb_tx_queues;
	s->reta_size = info.reta_size;
	CHECK_OK(rte_eth_dev_get_mtu(seq.port, &s->mtu));
	s->promisc = rte_eth_promiscuous_get(seq.port);
	s->allmulti = rte_eth_allmulticast_get(seq.port);
	s->vlan = rte_eth_dev_get_vlan_offload(seq.port);
	CHECK_EQ(info.max_mac_addrs, MACS);
	CHECK_EQ(rte_eth_macaddrs_get(seq.port, s->mac, MACS), MACS);
	take_queues(s);
	take_rss(s);
	s->objects = object_counts();
	/* Memory may be registered at any time, and stay so. */
	s->objects.mrs = 0;
	s->objects.mr_bytes = s->objects.mrs_registered = 0;
	return s;
}

#define SAME(what) \
	CHECK_MSG(memcmp(&before->what, &after->what, sizeof(before->what)) == 0, \
		"a call that was refused changed " #what)

void
seq_state_same(struct seq_state *before, struct seq_state *after, unsigned int but)
{
	SAME(mtu);
	SAME(nb_rxq);
	SAME(nb_txq);
	SAME(reta_size);
	SAME(promisc);
	SAME(allmulti);
	SAME(vlan);
	SAME(mac);
	SAME(rss);
	SAME(reta);
	SAME(rxq);
	SAME(txq);
	if ((but & SEQ_RINGS) == 0)
		SAME(rings);
	if ((but & SEQ_OBJECTS) == 0 && !seq.leaky && !seq.gone)
		SAME(objects);
	free(before);
	free(after);
}

/* ---- beside the model ---- */

static void
check_addresses(const struct seq_state *s)
{
	unsigned int i, k, found = 0;

	CHECK_MSG(rte_is_same_ether_addr(&s->mac[0], &seq.mac[0]),
		"the port has another address");
	for (i = 0; i < MACS; i++) {
		if (rte_is_zero_ether_addr(&s->mac[i]))
			continue;
		for (k = 0; k < seq.nb_mac; k++)
			if (rte_is_same_ether_addr(&s->mac[i], &seq.mac[k]))
				break;
		CHECK_MSG(k < seq.nb_mac, "address %u was never added", i);
		found++;
	}
	CHECK_EQ(found, seq.nb_mac);
}

static void
check_rss(const struct seq_state *s)
{
	unsigned int i;

	CHECK_EQ(s->rss.ret, 0);
	if (seq.rss) {
		CHECK_EQ(s->rss.hf, seq.hf);
		CHECK(memcmp(s->rss.key, seq.key, sizeof(seq.key)) == 0);
	}
	if (!seq.rss || seq.nb_rxq == 0)
		return;
	CHECK_EQ(s->reta_size, seq.reta_size);
	CHECK_EQ(s->reta.ret, 0);
	for (i = 0; i < seq.reta_size; i++)
		CHECK_MSG(s->reta.entries[0].reta[i] == seq.reta[i],
			"entry %u of the RETA is %u, not %u", i, s->reta.entries[0].reta[i],
			seq.reta[i]);
}

static void
check_queues(const struct seq_state *s)
{
	unsigned int q;

	for (q = 0; q < SEQ_QUEUES; q++) {
		const struct seq_rxq *rx = &seq.rxq[q];
		const struct seq_txq *tx = &seq.txq[q];

		CHECK_EQ(s->rxq[q].ret, q < seq.nb_rxq && rx->set_up ? 0 : -EINVAL);
		CHECK_EQ(s->txq[q].ret, q < seq.nb_txq && tx->set_up ? 0 : -EINVAL);
		if (s->rxq[q].ret == 0 && !seq.gone)
			CHECK_EQ(s->rxq[q].state, rx->running ? RTE_ETH_QUEUE_STATE_STARTED :
				RTE_ETH_QUEUE_STATE_STOPPED);
		if (s->txq[q].ret == 0 && !seq.gone)
			CHECK_EQ(s->txq[q].state, tx->running ? RTE_ETH_QUEUE_STATE_STARTED :
				RTE_ETH_QUEUE_STATE_STOPPED);
	}
}

void
seq_state_check(void)
{
	struct seq_state *s = seq_state_take();
	uint64_t vlan = 0;

	vlan |= (s->vlan & RTE_ETH_VLAN_STRIP_OFFLOAD) != 0 ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0;
	vlan |= (s->vlan & RTE_ETH_VLAN_FILTER_OFFLOAD) != 0 ? RTE_ETH_RX_OFFLOAD_VLAN_FILTER : 0;
	vlan |= (s->vlan & RTE_ETH_QINQ_STRIP_OFFLOAD) != 0 ? RTE_ETH_RX_OFFLOAD_QINQ_STRIP : 0;
	CHECK_EQ(vlan, seq.rx_offloads & (RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
		RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_QINQ_STRIP));
	CHECK_EQ(s->mtu, seq.mtu);
	CHECK_EQ(s->promisc, seq.promisc);
	CHECK_EQ(s->allmulti, seq.allmulti);
	CHECK_EQ(s->nb_rxq, seq.nb_rxq);
	CHECK_EQ(s->nb_txq, seq.nb_txq);
	check_addresses(s);
	if (seq.configured)
		check_rss(s);
	check_queues(s);
	free(s);
}
