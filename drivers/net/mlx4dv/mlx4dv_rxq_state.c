/* SPDX-License-Identifier: BSD-3-Clause */

/* A receive queue of a running port: recovery, stop and start of it alone. */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

static int
set_wq_state(const struct mdv_rxq *rxq, const struct mdv_rx_ring *ring, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };
	int ret = ibv_modify_wq(ring->wq, &attr);

	if (ret != 0)
		MDV_PLOG(rxq->priv, ERR, "RX queue %u: ibv_modify_wq(%s) failed: %s", rxq->idx,
			 state == IBV_WQS_RDY ? "RDY" : "RESET", strerror(ret));
	return -ret;
}

int
mdv_rxq_fill_ring(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	int ret = mdv_rx_ring_fill(rxq, ring);

	if (ret == 0)
		return set_wq_state(rxq, ring, IBV_WQS_RDY);
	if (rxq->split != NULL && ret == -ENOMEM)
		return ret; /* which pool was said */
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: cannot fill %u rings of %u x %u mbufs from pool %s: "
		 "%s%s", rxq->idx, rxq->nb_rings, rxq->nb_desc, 1u << rxq->sges_n, rxq->mp->name,
		 strerror(-ret), ret == -ENOMEM ? "; make the pool larger" : "");
	return ret;
}

static int
reset_rings(struct mdv_rxq *rxq)
{
	uint16_t i;
	int ret = 0;

	for (i = 0; i < rxq->nb_rings && ret == 0; i++)
		ret = set_wq_state(rxq, &rxq->rings[i], IBV_WQS_RESET);
	return ret;
}

/* The rings were reset: libmlx4 and the adapter are at index 0. */
static int
fill_rings(struct mdv_rxq *rxq)
{
	uint16_t i;
	int ret = 0;

	for (i = 0; i < rxq->nb_rings && ret == 0; i++) {
		dvq_rq_reset(&rxq->rings[i].rq);
		ret = mdv_rxq_fill_ring(rxq, &rxq->rings[i]);
	}
	return ret;
}

static void
drain_rings(struct mdv_rxq *rxq)
{
	uint16_t i;

	for (i = 0; i < rxq->nb_rings; i++)
		mdv_rx_ring_drain(rxq, &rxq->rings[i]);
}

/*
 * Bring a failed queue back to life, in the watchdog. All its WQs take part, as
 * they share the CQ whose completions are thrown away here. The buffers stay
 * where they are: there may be no others just now. On an error the queue stays
 * failed and the next round tries again.
 */
int
mdv_rxq_recover(struct mdv_rxq *rxq)
{
	int ret = reset_rings(rxq);

	if (ret != 0)
		return ret;
	mdv_rx_discard(rxq, &rxq->stats.errors);
	return fill_rings(rxq);
}

/*
 * The WQ keeps its place in the RSS table: what is hashed to it is dropped by the
 * adapter until the queue is started again.
 */
static int
stop_locked(struct mdv_rxq *rxq)
{
	int ret;

	if (MDV_LOAD_ACQUIRE(&rxq->state) == MDV_QUEUE_STOPPED)
		return 0;
	ret = reset_rings(rxq);
	if (ret != 0)
		return ret;
	mdv_rxq_set_state(rxq, MDV_QUEUE_STOPPED);
	mdv_rx_discard(rxq, &rxq->stats.unpolled);
	drain_rings(rxq);
	return 0;
}

static int
start_locked(struct mdv_rxq *rxq)
{
	int ret;

	/* A queue that is no part of the table has nothing to receive. */
	if (rxq->nb_rings == 0 || MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_STOPPED)
		return 0;
	ret = fill_rings(rxq);
	if (ret == 0) {
		mdv_rxq_set_state(rxq, MDV_QUEUE_RUNNING);
		return 0;
	}
	reset_rings(rxq);
	drain_rings(rxq);
	return ret;
}

int
mdv_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	rte_spinlock_lock(&priv->lock);
	ret = stop_locked(dev->data->rx_queues[idx]);
	rte_spinlock_unlock(&priv->lock);
	if (ret == 0)
		dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return ret;
}

int
mdv_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	rte_spinlock_lock(&priv->lock);
	ret = start_locked(dev->data->rx_queues[idx]);
	rte_spinlock_unlock(&priv->lock);
	if (ret == 0)
		dev->data->rx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return ret;
}
