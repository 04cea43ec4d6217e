/* SPDX-License-Identifier: BSD-3-Clause */

/* Opening, setting up and closing ports. */

#include <net/if.h>
#include <stdio.h>

#include <rte_dev.h>

#include "harness.h"
#include "internal.h"

#define MAX_OPEN 8

static struct {
	char name[32];
	uint16_t port;
	unsigned int verbs;
} opened[MAX_OPEN];
static unsigned int nb_opened;

static unsigned int
find_opened(uint16_t port)
{
	unsigned int i;

	for (i = 0; i < nb_opened; i++)
		if (opened[i].port == port)
			return i;
	FAIL("port %u was not opened by the test", port);
}

unsigned int
port_verbs(uint16_t port)
{
	return opened[find_opened(port)].verbs;
}

void
port_netdev(uint16_t port, char name[16])
{
	struct rte_eth_dev_info info;

	CHECK_OK(rte_eth_dev_info_get(port, &info));
	CHECK_MSG(if_indextoname(info.if_index, name) != NULL,
		"port %u: if_index %u is no interface", port, info.if_index);
}

int
port_probe(const char *name, const char *args)
{
	return rte_eal_hotplug_add("vdev", name, args);
}

uint16_t
port_open(unsigned int which)
{
	char args[64];
	uint16_t port;

	CHECK(nb_opened < MAX_OPEN);
	snprintf(opened[nb_opened].name, sizeof(opened[0].name), "net_mlx4dv%u", which);
	snprintf(args, sizeof(args), "device=%s,port=%u", verbs_device(), which + 1);
	CHECK_OK(port_probe(opened[nb_opened].name, args));
	CHECK_OK(rte_eth_dev_get_port_by_name(opened[nb_opened].name, &port));
	opened[nb_opened].port = port;
	opened[nb_opened].verbs = which + 1;
	nb_opened++;
	return port;
}

void
port_adopt(uint16_t port, unsigned int verbs)
{
	CHECK(nb_opened < MAX_OPEN);
	opened[nb_opened].port = port;
	opened[nb_opened].verbs = verbs;
	CHECK_OK(rte_eth_dev_get_name_by_port(port, opened[nb_opened].name));
	nb_opened++;
}

void
port_disown(uint16_t port)
{
	opened[find_opened(port)] = opened[nb_opened - 1];
	nb_opened--;
}

struct port_conf
port_conf(struct rte_mempool *pool)
{
	return (struct port_conf){
		.rxq = 1, .txq = 1, .rxd = 256, .txd = 256,
		.pool = pool, .promiscuous = true,
	};
}

void
port_configure(uint16_t port, const struct port_conf *conf)
{
	struct rte_eth_txconf tx;
	struct rte_eth_dev_info info;
	uint16_t queue;

	CHECK_OK(rte_eth_dev_configure(port, conf->rxq, conf->txq, &conf->eth));
	CHECK_OK(rte_eth_dev_info_get(port, &info));
	tx = info.default_txconf;
	tx.offloads = conf->eth.txmode.offloads | conf->tx_queue_offloads;
	for (queue = 0; queue < conf->rxq; queue++)
		CHECK_OK(rte_eth_rx_queue_setup(port, queue, conf->rxd, SOCKET_ID_ANY,
			NULL, conf->pool));
	for (queue = 0; queue < conf->txq; queue++)
		CHECK_OK(rte_eth_tx_queue_setup(port, queue, conf->txd, SOCKET_ID_ANY, &tx));
}

void
port_start(uint16_t port, const struct port_conf *conf)
{
	if (conf->promiscuous)
		CHECK_OK(rte_eth_promiscuous_enable(port));
	CHECK_OK(rte_eth_dev_start(port));
}

uint16_t
port_up(unsigned int which, const struct port_conf *conf)
{
	uint16_t port = port_open(which);

	port_configure(port, conf);
	port_start(port, conf);
	return port;
}

uint16_t
port_up_with(const char *name, const char *more_args, const struct port_conf *conf)
{
	char args[96];
	uint16_t port;

	snprintf(args, sizeof(args), "device=%s%s", verbs_device(), more_args);
	CHECK_OK(port_probe(name, args));
	CHECK_OK(rte_eth_dev_get_port_by_name(name, &port));
	port_adopt(port, 1);
	port_configure(port, conf);
	port_start(port, conf);
	return port;
}

void
port_close(uint16_t port)
{
	unsigned int i = find_opened(port);
	char name[32];

	memcpy(name, opened[i].name, sizeof(name));
	CHECK_OK(rte_eth_dev_stop(port));
	CHECK_OK(rte_eth_dev_close(port));
	CHECK_OK(rte_eal_hotplug_remove("vdev", name));
	opened[i] = opened[--nb_opened];
}

void
ports_close_all(void)
{
	while (nb_opened > 0)
		port_close(opened[nb_opened - 1].port);
}
