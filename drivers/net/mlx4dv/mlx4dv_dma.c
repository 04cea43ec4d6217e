/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rte_dev_dma_map() and rte_dev_dma_unmap(): memory of the application's own, known to
 * EAL by rte_extmem_register(), is registered with every port of a device before the
 * first packet from it, and given back when the application wants.
 *
 * As of other bus operations, 0 or -1 with rte_errno.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

static int
fail(int err)
{
	rte_errno = err;
	return -1;
}

static int
check_process(const struct rte_device *rdev)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		return 0;
	MDV_LOG(ERR, "%s: memory is mapped and unmapped for DMA by the primary process",
		rdev->name);
	return fail(ENOTSUP);
}

/* ---- memory that a queue receives into ---- */

struct overlap {
	const struct mdv_range *r;
	bool found;
};

static void
look(const struct mdv_range *piece, void *arg)
{
	struct overlap *overlap = arg;

	overlap->found |= piece->start < overlap->r->end && overlap->r->start < piece->end;
}

/* Frames that arrive there would end the queue, or worse. */
static int
check_unused(const struct mdv_priv *priv, const struct mdv_range *r)
{
	struct overlap overlap = { .r = r };
	const struct mdv_rxq *rxq;
	uint16_t i, s;

	for (i = 0; i < priv->data->nb_rx_queues && !overlap.found; i++) {
		rxq = priv->data->rx_queues[i];
		for (s = 0; rxq != NULL && s < mdv_rxq_pools(rxq); s++)
			mdv_mr_pool_pieces(mdv_rxq_pool(rxq, s), look, &overlap);
	}
	if (!overlap.found)
		return 0;
	MDV_PLOG(priv, ERR, "RX queue %u receives into the memory to be unmapped: release the "
		 "queue first", i - 1);
	return -EBUSY;
}

/* ---- operations ---- */

static void
unmap_until(const struct rte_device *rdev, uint16_t end, const struct mdv_range *r)
{
	uint16_t port_id;

	RTE_ETH_FOREACH_DEV_OF(port_id, rdev) {
		if (port_id >= end)
			break;
		if (mdv_is_ours(&rte_eth_devices[port_id]))
			mdv_mr_forget(mdv_priv(&rte_eth_devices[port_id]), r);
	}
}

int
mdv_dma_map(struct rte_device *rdev, void *addr, size_t len)
{
	struct mdv_range r = { (uintptr_t)addr, (uintptr_t)addr + len };
	uint16_t port_id;
	int ret;

	if (check_process(rdev) != 0)
		return -1;
	if (r.end < r.start)
		return fail(EINVAL);
	RTE_ETH_FOREACH_DEV_OF(port_id, rdev) {
		struct mdv_priv *priv = mdv_priv(&rte_eth_devices[port_id]);

		if (!mdv_is_ours(&rte_eth_devices[port_id]))
			continue;
		ret = priv->ctx != NULL ? mdv_mr_register(priv, &r, false) : -EIO;
		if (ret != 0) {
			MDV_PLOG(priv, ERR, "cannot map %zu bytes at %p for DMA: %s%s", len, addr,
				 strerror(-ret), ret == -ENOMEM || ret == -EPERM ?
				 "; raise RLIMIT_MEMLOCK (ulimit -l unlimited)" : "");
			unmap_until(rdev, port_id, &r);
			return fail(-ret);
		}
	}
	return 0;
}

int
mdv_dma_unmap(struct rte_device *rdev, void *addr, size_t len)
{
	struct mdv_range r = { (uintptr_t)addr, (uintptr_t)addr + len };
	bool known = true;
	uint16_t port_id;

	if (check_process(rdev) != 0)
		return -1;
	if (r.end < r.start)
		return fail(EINVAL);
	RTE_ETH_FOREACH_DEV_OF(port_id, rdev) {
		struct mdv_priv *priv = mdv_priv(&rte_eth_devices[port_id]);

		if (!mdv_is_ours(&rte_eth_devices[port_id]))
			continue;
		if (check_unused(priv, &r) != 0)
			return fail(EBUSY);
		known = known && mdv_mr_knows(priv, &r);
	}
	if (!known) {
		MDV_LOG(ERR, "%s: %zu bytes at %p are not mapped for DMA", rdev->name, len, addr);
		return fail(ENOENT);
	}
	unmap_until(rdev, RTE_MAX_ETHPORTS, &r);
	return 0;
}
