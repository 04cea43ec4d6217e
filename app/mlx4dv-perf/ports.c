/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "ethdev.h"

#define PEER_RING 2048
#define PEER_ROOM (9216 + RTE_PKTMBUF_HEADROOM)
#define CACHE 250
#define DATA_ROOM RTE_MBUF_DEFAULT_BUF_SIZE
#define FLOWS 256            /* of the frames that PEER sends */
#define PATIENCE 100000      /* steps until a frame counts as lost */

static struct rte_mempool *rx_pool, *peer_rx_pool, *peer_tx_pool, *tx_pools[PERF_POOLS_MAX];
static unsigned int nb_tx_pools;
static struct rte_ether_addr tested_mac;
static struct rte_eth_dev_info info[2];

static void
must(int ret, const char *call)
{
	if (ret < 0)
		bench_die("%s: %s", call, rte_strerror(-ret));
}

static struct rte_mempool *
pool(const char *name, unsigned int mbufs, uint16_t room)
{
	struct rte_mempool *made = rte_pktmbuf_pool_create(name, mbufs, CACHE, 0, room,
		SOCKET_ID_ANY);

	if (made == NULL)
		bench_die("no pool %s of %u mbufs: %s; give EAL more memory (-m)", name, mbufs,
			rte_strerror(rte_errno));
	return made;
}

const char *
ports_start(int argc, char **argv)
{
	must(rte_eal_init(argc, argv), "rte_eal_init");
	if (rte_eth_dev_count_avail() < 2)
		bench_die("%u ports: two are needed, back to back", rte_eth_dev_count_avail());
	must(rte_eth_dev_info_get(TESTED, &info[TESTED]), "rte_eth_dev_info_get");
	must(rte_eth_dev_info_get(PEER, &info[PEER]), "rte_eth_dev_info_get");
	must(rte_eth_macaddr_get(TESTED, &tested_mac), "rte_eth_macaddr_get");
	peer_rx_pool = pool("peer_rx", 8191, PEER_ROOM);
	peer_tx_pool = pool("peer_tx", 4095, PEER_ROOM);
	return info[TESTED].driver_name;
}

/* ---- ports ---- */

static void
port_open(uint16_t port, const struct rte_eth_conf *conf, unsigned int queues,
	unsigned int ring, struct rte_mempool *from, unsigned int size)
{
	struct rte_eth_rxconf rx = info[port].default_rxconf;
	struct rte_eth_txconf tx = info[port].default_txconf;
	unsigned int i;

	rx.offloads = conf->rxmode.offloads;
	tx.offloads = conf->txmode.offloads;
	must(rte_eth_dev_configure(port, (uint16_t)queues, 1, conf), "rte_eth_dev_configure");
	must(rte_eth_dev_set_mtu(port, (uint16_t)RTE_MAX(1500u, size)), "rte_eth_dev_set_mtu");
	for (i = 0; i < queues; i++)
		must(rte_eth_rx_queue_setup(port, (uint16_t)i, (uint16_t)ring, SOCKET_ID_ANY, &rx,
			from), "rte_eth_rx_queue_setup");
	must(rte_eth_tx_queue_setup(port, 0, (uint16_t)ring, SOCKET_ID_ANY, &tx),
		"rte_eth_tx_queue_setup");
	must(rte_eth_dev_start(port), "rte_eth_dev_start");
}

bool
ports_open(const struct ports_conf *conf, const struct perf_options *options)
{
	struct rte_eth_conf tested = {
		.rxmode = { .offloads = conf->rx_offloads,
			.mq_mode = conf->rss_hf != 0 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE },
		.rx_adv_conf.rss_conf.rss_hf = conf->rss_hf & info[TESTED].flow_type_rss_offloads,
		.txmode.offloads = conf->tx_offloads,
	}, peer = { 0 };

	if ((conf->rx_offloads & ~info[TESTED].rx_offload_capa) != 0 ||
	    (conf->tx_offloads & ~info[TESTED].tx_offload_capa) != 0 ||
	    conf->rx_queues > info[TESTED].max_rx_queues)
		return false;
	/* The ring, what is on its way to the application, and the caches. */
	rx_pool = pool("rx", options->ring * conf->rx_queues * (1 + conf->size / DATA_ROOM * 3) +
		4095, DATA_ROOM);
	port_open(TESTED, &tested, conf->rx_queues, options->ring, rx_pool, conf->size);
	port_open(PEER, &peer, 1, PEER_RING, peer_rx_pool, conf->size);
	must(rte_eth_promiscuous_enable(PEER), "rte_eth_promiscuous_enable");
	perf_step();
	return true;
}

void
ports_close(void)
{
	must(rte_eth_dev_stop(TESTED), "rte_eth_dev_stop");
	must(rte_eth_dev_stop(PEER), "rte_eth_dev_stop");
	/* Queues give their mbufs back when they are released. */
	must(rte_eth_dev_configure(TESTED, 0, 0, &(struct rte_eth_conf){ 0 }), "releasing queues");
	must(rte_eth_dev_configure(PEER, 0, 0, &(struct rte_eth_conf){ 0 }), "releasing queues");
	rte_mempool_free(rx_pool);
}

/* ---- pools of frames to send ---- */

/* With a mapping of its own, so that no other pool shares its memory region. */
static struct rte_mempool *
pool_apart(const char *name, unsigned int mbufs)
{
	struct rte_mempool *made = rte_mempool_create_empty(name, mbufs,
		sizeof(struct rte_mbuf) + DATA_ROOM, CACHE, sizeof(struct rte_pktmbuf_pool_private),
		SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	struct rte_pktmbuf_pool_private room = { .mbuf_data_room_size = DATA_ROOM };

	if (made == NULL || rte_mempool_set_ops_byname(made, "ring_mp_mc", NULL) != 0)
		bench_die("no pool %s: %s", name, rte_strerror(rte_errno));
	rte_pktmbuf_pool_init(made, &room);
	if (rte_mempool_populate_anon(made) <= 0)
		bench_die("no memory for pool %s: %s", name, rte_strerror(rte_errno));
	rte_mempool_obj_iter(made, rte_pktmbuf_init, NULL);
	return made;
}

struct rte_mempool *const *
pools_open(unsigned int count, unsigned int mbufs)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	for (nb_tx_pools = 0; nb_tx_pools < count; nb_tx_pools++) {
		snprintf(name, sizeof(name), "tx%u", nb_tx_pools);
		tx_pools[nb_tx_pools] = count == 1 ? pool(name, mbufs, DATA_ROOM) :
			pool_apart(name, RTE_MAX(mbufs / count, 511u));
	}
	return tx_pools;
}

void
pools_close(void)
{
	while (nb_tx_pools != 0)
		rte_mempool_free(tx_pools[--nb_tx_pools]);
}

/* ---- the other end ---- */

void
peer_send(unsigned int frames, unsigned int size, uint16_t tci)
{
	static unsigned int serial;
	struct rte_mbuf *m[PERF_CALLS * PERF_BURST_MAX];
	unsigned int i, sent = 0, patience = PATIENCE;

	if (rte_pktmbuf_alloc_bulk(peer_tx_pool, m, frames) != 0)
		bench_die("the other end ran out of mbufs");
	for (i = 0; i < frames; i++) {
		m[i]->data_len = (uint16_t)size;
		m[i]->pkt_len = size;
		perf_frame(rte_pktmbuf_mtod(m[i], uint8_t *), size, tested_mac.addr_bytes,
			serial++ % FLOWS, tci);
	}
	while (sent < frames) {
		sent += rte_eth_tx_burst(PEER, 0, m + sent, (uint16_t)(frames - sent));
		perf_step();
		if (patience-- == 0)
			bench_die("the other end cannot send: %u of %u frames", sent, frames);
	}
}

void
peer_take(unsigned int frames)
{
	struct rte_mbuf *m[PERF_BURST_MAX];
	unsigned int taken = 0, patience = PATIENCE;
	uint16_t got;

	perf_step();
	while (taken < frames) {
		got = rte_eth_rx_burst(PEER, 0, m, PERF_BURST_MAX);
		rte_pktmbuf_free_bulk(m, got);
		taken += got;
		if (got == 0 && patience-- == 0)
			bench_die("%u of %u frames arrived at the other end", taken, frames);
		if (got == 0)
			perf_step();
	}
}
