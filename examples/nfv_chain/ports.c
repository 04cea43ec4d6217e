/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "chain.h"

/* The ethdevs, one queue in and one out: the primary process sets them up. */

#define RX_CKSUM (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | \
	RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
#define TX_L4_CKSUM (RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

#define DRAIN_MS 50     /* so long the device must have given no packet back */
#define DRAIN_MAX_MS 5000

static int
failed(const struct chain *chain, unsigned int port, const char *call, int ret)
{
	complain("%s:%u: port %u: %s: %s", chain->config.file, chain->config.ports[port].line,
		port, call, rte_strerror(-ret));
	return -1;
}

/* What each port can do; what one cannot is done in software for all. */
static int
look_at(struct chain *chain, unsigned int port, struct rte_eth_dev_info *info)
{
	int ret;

	if (!rte_eth_dev_is_valid_port((uint16_t)port)) {
		complain("%s:%u: port %u: there is none of this number, but %u in all: name it "
			"to the EAL with -a or --vdev, or leave the line out", chain->config.file,
			chain->config.ports[port].line, port, rte_eth_dev_count_avail());
		return -1;
	}
	ret = rte_eth_dev_info_get((uint16_t)port, info);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_info_get", ret);
	if ((info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) == 0)
		chain->tx_ip_cksum = false;
	if ((info->tx_offload_capa & TX_L4_CKSUM) != TX_L4_CKSUM)
		chain->tx_l4_cksum = false;
	return 0;
}

static int
set_up(struct chain *chain, uint16_t port, uint16_t descriptors)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t rx = descriptors, tx = descriptors;
	int socket = rte_eth_dev_socket_id(port);
	int ret;

	ret = rte_eth_dev_info_get(port, &info);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_info_get", ret);
	conf.rxmode.offloads = info.rx_offload_capa & RX_CKSUM;
	if (chain->tx_ip_cksum)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
	if (chain->tx_l4_cksum)
		conf.txmode.offloads |= TX_L4_CKSUM;
	ret = rte_eth_dev_configure(port, 1, 1, &conf);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_configure", ret);
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_adjust_nb_rx_tx_desc", ret);
	ret = rte_eth_rx_queue_setup(port, 0, rx, (unsigned int)socket, NULL, chain->pool);
	if (ret != 0)
		return failed(chain, port, "rte_eth_rx_queue_setup", ret);
	ret = rte_eth_tx_queue_setup(port, 0, tx, (unsigned int)socket, NULL);
	if (ret != 0)
		return failed(chain, port, "rte_eth_tx_queue_setup", ret);
	ret = rte_eth_dev_start(port);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_start", ret);
	ret = rte_eth_macaddr_get(port, &chain->mac[port]);
	if (ret != 0)
		return failed(chain, port, "rte_eth_macaddr_get", ret);
	ret = rte_eth_dev_get_mtu(port, &chain->mtu[port]);
	if (ret != 0)
		return failed(chain, port, "rte_eth_dev_get_mtu", ret);
	say("port %u: " RTE_ETHER_ADDR_PRT_FMT ", MTU %u, %s, checksums %s", port,
		RTE_ETHER_ADDR_BYTES(&chain->mac[port]), chain->mtu[port],
		chain->config.ports[port].outside ? "outside" : "inside",
		chain->tx_ip_cksum && chain->tx_l4_cksum ? "by the ports" :
		chain->tx_ip_cksum || chain->tx_l4_cksum ? "in part by the ports" : "in software");
	return 0;
}

int
ports_start(struct chain *chain, unsigned int descriptors)
{
	struct rte_eth_dev_info info;
	unsigned int i;

	chain->tx_ip_cksum = chain->tx_l4_cksum = true;
	for (i = 0; i < PORTS_MAX; i++)
		if (chain->config.ports[i].line != 0 && look_at(chain, i, &info) != 0)
			return -1;
	for (i = 0; i < PORTS_MAX; i++)
		if (chain->config.ports[i].line != 0 &&
		    set_up(chain, (uint16_t)i, (uint16_t)descriptors) != 0)
			return -1;
	return 0;
}

/*
 * What was handed to the ports leaves before they stop. No call says when all of it
 * has: buffers come back when it has, and none comes any more.
 */
void
ports_drain(struct chain *chain)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned int before = 0, same = 0, waited, in_use, i;

	for (waited = 0; same < DRAIN_MS && waited < DRAIN_MAX_MS; waited++) {
		for (i = 0; i < PORTS_MAX; i++)
			if (chain->config.ports[i].line != 0)
				rte_eth_tx_done_cleanup((uint16_t)i, 0, 0);
		in_use = rte_mempool_in_use_count(chain->pool);
		same = in_use == before ? same + 1 : 0;
		before = in_use;
		nanosleep(&ms, NULL);
	}
}

/* Whatever state they are in. */
void
ports_stop(struct chain *chain)
{
	unsigned int i;

	for (i = 0; i < PORTS_MAX; i++) {
		if (chain->config.ports[i].line == 0 || !rte_eth_dev_is_valid_port((uint16_t)i))
			continue;
		rte_eth_dev_stop((uint16_t)i);
		rte_eth_dev_close((uint16_t)i);
	}
}
