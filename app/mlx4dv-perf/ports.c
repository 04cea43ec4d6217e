/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "ethdev.h"

#define PEER_RING 2048
#define PEER_ROOM (9216 + RTE_PKTMBUF_HEADROOM)
#define CACHE 250
#define DATA_ROOM RTE_MBUF_DEFAULT_BUF_SIZE   /* of a receive buffer */
#define FLOWS 256            /* of the frames that PEER sends */
#define PATIENCE 100000      /* steps until a frame counts as lost */
#define HUGE_PAGE ((size_t)2 << 20)
#define LINK_PATIENCE 10000  /* milliseconds */

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

/*
 * Mbufs lie in huge pages, as they do in production: over small ones all drivers would
 * mostly wait for the TLB. Transparent ones, which no one has to set aside before.
 */
static void *
map_huge(size_t length)
{
	uint8_t *all, *aligned;

	all = mmap(NULL, length + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (all == MAP_FAILED)
		return NULL;
	aligned = RTE_PTR_ALIGN_CEIL(all, HUGE_PAGE);
	munmap(all, RTE_PTR_DIFF(aligned, all));
	munmap(aligned + length, HUGE_PAGE - RTE_PTR_DIFF(aligned, all));
	/* Where the kernel refuses, small ones do. */
	madvise(aligned, length, MADV_HUGEPAGE);
	return aligned;
}

static void
unmap(struct rte_mempool_memhdr *chunk, void *length)
{
	munmap(chunk->addr, (size_t)(uintptr_t)length);
}

/* With a mapping of its own, so that no other pool shares its memory region. */
static struct rte_mempool *
pool(const char *name, unsigned int mbufs, unsigned int room)
{
	struct rte_mempool *made = rte_mempool_create_empty(name, mbufs,
		sizeof(struct rte_mbuf) + room, CACHE, sizeof(struct rte_pktmbuf_pool_private),
		SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	struct rte_pktmbuf_pool_private private = { .mbuf_data_room_size = (uint16_t)room };
	size_t length;
	void *area;

	if (made == NULL || rte_mempool_set_ops_byname(made, "ring_mp_mc", NULL) != 0)
		bench_die("no pool %s of %u mbufs: %s; give EAL more memory (-m)", name, mbufs,
			rte_strerror(rte_errno));
	rte_pktmbuf_pool_init(made, &private);
	length = (size_t)(made->header_size + made->elt_size + made->trailer_size) * mbufs;
	length = RTE_ALIGN_CEIL(length, HUGE_PAGE);
	area = map_huge(length);
	if (area == NULL || rte_mempool_populate_virt(made, area, length, HUGE_PAGE, unmap,
			(void *)length) != (int)mbufs)
		bench_die("no memory for pool %s of %u mbufs of %u bytes", name, mbufs, room);
	rte_mempool_obj_iter(made, rte_pktmbuf_init, NULL);
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

/* The call that the driver refuses is named by *call. */
static int
port_open(const char **call, uint16_t port, const struct rte_eth_conf *conf, unsigned int queues,
	unsigned int ring, struct rte_mempool *from, unsigned int size)
{
	struct rte_eth_rxconf rx = info[port].default_rxconf;
	struct rte_eth_txconf tx = info[port].default_txconf;
	unsigned int i;
	uint16_t mtu;
	int ret;

	rx.offloads = conf->rxmode.offloads;
	tx.offloads = conf->txmode.offloads;
	*call = "rte_eth_dev_configure";
	ret = rte_eth_dev_configure(port, (uint16_t)queues, 1, conf);
	if (ret != 0)
		return ret;
	*call = "rte_eth_dev_set_mtu";
	ret = rte_eth_dev_get_mtu(port, &mtu);
	/* A driver without this call may do without it. */
	if (ret == 0 && mtu != RTE_MAX(RTE_ETHER_MTU, size))
		ret = rte_eth_dev_set_mtu(port, (uint16_t)RTE_MAX(RTE_ETHER_MTU, size));
	*call = ret == 0 ? "rte_eth_rx_queue_setup" : *call;
	for (i = 0; i < queues && ret == 0; i++)
		ret = rte_eth_rx_queue_setup(port, (uint16_t)i, (uint16_t)ring, SOCKET_ID_ANY, &rx,
			from);
	if (ret != 0)
		return ret;
	*call = "rte_eth_tx_queue_setup";
	ret = rte_eth_tx_queue_setup(port, 0, (uint16_t)ring, SOCKET_ID_ANY, &tx);
	if (ret != 0)
		return ret;
	*call = "rte_eth_dev_start";
	return rte_eth_dev_start(port);
}

/*
 * Queues give their mbufs back when they are released, which has to be before the pools
 * go: first those of one kind, then the others. No queue at all would mean the
 * driver's own number.
 */
static void
port_close(uint16_t port)
{
	static const struct rte_eth_conf conf;

	must(rte_eth_dev_stop(port), "rte_eth_dev_stop");
	must(rte_eth_dev_configure(port, 0, 1, &conf), "releasing RX queues");
	must(rte_eth_dev_configure(port, 1, 0, &conf), "releasing TX queues");
}

static bool
is_ring(const struct rte_eth_desc_lim *limits, unsigned int ring)
{
	return ring <= limits->nb_max && ring >= limits->nb_min;
}

static char why_not[160];

/* What the tested port has not got. */
static bool
ports_lack(const struct ports_conf *conf, const struct perf_options *options)
{
	const struct rte_eth_dev_info *has = &info[TESTED];
	uint64_t rx = conf->rx_offloads & ~has->rx_offload_capa;
	uint64_t tx = conf->tx_offloads & ~has->tx_offload_capa;

	if (rx != 0 || tx != 0)
		snprintf(why_not, sizeof(why_not), "no %s offload %s", rx != 0 ? "RX" : "TX",
			rx != 0 ? rte_eth_dev_rx_offload_name(rx & -rx) :
			rte_eth_dev_tx_offload_name(tx & -tx));
	else if (conf->rx_queues > has->max_rx_queues)
		snprintf(why_not, sizeof(why_not), "%u RX queues at most", has->max_rx_queues);
	else if (!is_ring(&has->rx_desc_lim, options->ring) ||
		 !is_ring(&has->tx_desc_lim, options->ring))
		snprintf(why_not, sizeof(why_not), "rings of %u to %u descriptors",
			RTE_MAX(has->rx_desc_lim.nb_min, has->tx_desc_lim.nb_min),
			RTE_MIN(has->rx_desc_lim.nb_max, has->tx_desc_lim.nb_max));
	else if (has->max_rx_pktlen < conf->size + RTE_ETHER_CRC_LEN)
		snprintf(why_not, sizeof(why_not), "no frames of %u bytes", conf->size);
	else
		return false;
	return true;
}

/* Frames would be lost, or not accepted. */
static void
await_link(uint16_t port)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct rte_eth_link link = { 0 };
	unsigned int patience;

	perf_step();
	for (patience = LINK_PATIENCE; patience != 0; patience--) {
		must(rte_eth_link_get_nowait(port, &link), "rte_eth_link_get_nowait");
		if (link.link_status == RTE_ETH_LINK_UP)
			return;
		nanosleep(&pause, NULL);
		perf_step();
	}
	bench_die("port %u has no link: are the two ports connected?", port);
}

const char *
ports_open(const struct ports_conf *conf, const struct perf_options *options)
{
	struct rte_eth_conf tested = {
		.rxmode = { .offloads = conf->rx_offloads,
			.mq_mode = conf->rss_hf != 0 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE },
		.rx_adv_conf.rss_conf.rss_hf = conf->rss_hf & info[TESTED].flow_type_rss_offloads,
		.txmode.offloads = conf->tx_offloads,
	}, peer = { 0 };

	const char *call;
	int ret;

	if (ports_lack(conf, options))
		return why_not;
	/* The ring, what is on its way to the application, and the caches. */
	rx_pool = pool("rx", options->ring * conf->rx_queues *
		rte_align32pow2(conf->size / RTE_MBUF_DEFAULT_DATAROOM + 1) + 4095, DATA_ROOM);
	ret = port_open(&call, TESTED, &tested, conf->rx_queues, options->ring, rx_pool,
		conf->size);
	if (ret != 0) {
		snprintf(why_not, sizeof(why_not), "%s: %s", call, rte_strerror(-ret));
		port_close(TESTED);
		rte_mempool_free(rx_pool);
		return why_not;
	}
	must(port_open(&call, PEER, &peer, 1, PEER_RING, peer_rx_pool, conf->size), call);
	must(rte_eth_promiscuous_enable(PEER), "rte_eth_promiscuous_enable");
	await_link(TESTED);
	await_link(PEER);
	/* Some drivers have buffers for the other end only once they were polled. */
	peer_take(0);
	return NULL;
}

void
ports_close(void)
{
	port_close(TESTED);
	port_close(PEER);
	rte_mempool_free(rx_pool);
}

void
ports_end(void)
{
	must(rte_eth_dev_close(TESTED), "rte_eth_dev_close");
	must(rte_eth_dev_close(PEER), "rte_eth_dev_close");
	rte_mempool_free(peer_rx_pool);
	rte_mempool_free(peer_tx_pool);
	must(rte_eal_cleanup(), "rte_eal_cleanup");
}

/* ---- pools of frames to send ---- */

struct rte_mempool *const *
pools_open(unsigned int count, unsigned int mbufs, unsigned int room)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	for (nb_tx_pools = 0; nb_tx_pools < count; nb_tx_pools++) {
		snprintf(name, sizeof(name), "tx%u", nb_tx_pools);
		tx_pools[nb_tx_pools] = pool(name, RTE_MAX(mbufs / count, 511u), room);
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
	do {
		got = rte_eth_rx_burst(PEER, 0, m, PERF_BURST_MAX);
		rte_pktmbuf_free_bulk(m, got);
		taken += got;
		if (got == 0 && frames != 0 && patience-- == 0)
			bench_die("%u of %u frames arrived at the other end", taken, frames);
		if (got == 0)
			perf_step();
	} while (taken < frames);
}
