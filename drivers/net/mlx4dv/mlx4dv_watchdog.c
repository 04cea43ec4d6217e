/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The watchdog, in EAL's interrupt thread, brings failed queues back.
 *
 * Hand-over of a queue: a burst that finds it dead stores FAILED as its last
 * access and touches nothing from then on; the watchdog takes it over by reading
 * FAILED, and gives it back by storing RUNNING. Nobody needs a lock between them.
 * The lock of the port is for stop, which may come while the watchdog is at work.
 */

#include <errno.h>
#include <inttypes.h>

#include <rte_alarm.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

/* What ended the queue, once for each time that it failed. */
static void
note_failure(struct mdv_priv *priv, struct mdv_error_entry *entry, struct mdv_last_error *last)
{
	if (last->noted)
		return;
	last->noted = true;
	entry->cause = mdv_error_of(last);
	entry->syndrome = last->syndrome;
	entry->vendor = last->vendor;
	mdv_error_note(priv, entry);
}

/*
 * After an attempt at a failed queue; if it succeeded the queue is the bursts' again.
 * The application learns of the first one in a row that did not: a reset of the port
 * may be the better cure.
 */
static bool
settle(struct mdv_priv *priv, struct mdv_error_entry *entry, struct mdv_last_error *last,
	uint64_t *recoveries, bool *stuck, int ret)
{
	const char *name = entry->queue == MDV_ERROR_RX_QUEUE ? "RX" : "TX";

	if (ret == 0) {
		*stuck = false;
		last->noted = false;
		/* Last: who sees it may count on the queue. */
		__atomic_fetch_add(recoveries, 1, __ATOMIC_RELEASE);
		MDV_PLOG(priv, NOTICE, "%s queue %u failed and is back: %" PRIu64 " times so far",
			 name, entry->idx, *recoveries);
		return true;
	}
	if (*stuck)
		return false;
	*stuck = true;
	entry->cause = MDV_ERROR_RECOVERY;
	mdv_error_note(priv, entry);
	mdv_event_post(priv, RTE_ETH_EVENT_INTR_RESET);
	return false;
}

/* Each false when the queue had failed and still has. */
static bool
recover_rx(struct mdv_priv *priv, struct mdv_rxq *rxq)
{
	struct mdv_error_entry entry = { .queue = MDV_ERROR_RX_QUEUE };
	int ret;

	if (rxq == NULL || MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_FAILED)
		return true;
	entry.idx = rxq->idx;
	note_failure(priv, &entry, &rxq->last_error);
	ret = mdv_rxq_recover(rxq);
	if (ret == 0)
		mdv_rxq_set_state(rxq, MDV_QUEUE_RUNNING);
	return settle(priv, &entry, &rxq->last_error, &rxq->stats.recoveries, &rxq->stuck, ret);
}

static bool
recover_tx(struct mdv_priv *priv, struct mdv_txq *txq)
{
	struct mdv_error_entry entry = { .queue = MDV_ERROR_TX_QUEUE };
	int ret;

	if (txq == NULL || MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_FAILED)
		return true;
	entry.idx = txq->idx;
	note_failure(priv, &entry, &txq->last_error);
	ret = mdv_txq_recover(txq);
	if (ret == 0)
		MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_RUNNING);
	return settle(priv, &entry, &txq->last_error, &txq->stats.recoveries, &txq->stuck, ret);
}

/* A device may die before the watchdog came to see what ended a queue. */
void
mdv_watchdog_note(struct mdv_priv *priv)
{
	struct rte_eth_dev_data *data = priv->data;
	struct mdv_error_entry entry = { .queue = MDV_ERROR_RX_QUEUE };
	uint16_t i;

	for (i = 0; i < data->nb_rx_queues; i++) {
		struct mdv_rxq *rxq = data->rx_queues[i];

		entry.idx = i;
		if (rxq != NULL && MDV_LOAD_ACQUIRE(&rxq->state) == MDV_QUEUE_FAILED)
			note_failure(priv, &entry, &rxq->last_error);
	}
	entry.queue = MDV_ERROR_TX_QUEUE;
	for (i = 0; i < data->nb_tx_queues; i++) {
		struct mdv_txq *txq = data->tx_queues[i];

		entry.idx = i;
		if (txq != NULL && MDV_LOAD_ACQUIRE(&txq->state) == MDV_QUEUE_FAILED)
			note_failure(priv, &entry, &txq->last_error);
	}
}

static void
watchdog(void *arg)
{
	struct mdv_priv *priv = arg;
	struct rte_eth_dev_data *data = priv->data;
	bool well = true;
	uint16_t i;

	rte_spinlock_lock(&priv->lock);
	if (priv->started && MDV_LOAD_ACQUIRE(&priv->gone) == 0) {
		for (i = 0; i < data->nb_rx_queues; i++)
			well &= recover_rx(priv, data->rx_queues[i]);
		for (i = 0; i < data->nb_tx_queues; i++)
			well &= recover_tx(priv, data->tx_queues[i]);
		/* Each failure writes a line: not too many of them. */
		if (rte_eal_alarm_set(well ? MDV_WATCHDOG_US : MDV_WATCHDOG_RETRY_US, watchdog,
				      priv) != 0)
			MDV_PLOG(priv, ERR, "no alarm for the watchdog: queues that fail stay "
				 "dead");
	}
	rte_spinlock_unlock(&priv->lock);
}

void
mdv_watchdog_start(struct mdv_priv *priv)
{
	if (rte_eal_alarm_set(MDV_WATCHDOG_US, watchdog, priv) != 0)
		MDV_PLOG(priv, ERR, "no alarm for the watchdog: queues that fail stay dead");
}

/* The caller has cleared priv->started and does not hold the lock. */
void
mdv_watchdog_stop(struct mdv_priv *priv)
{
	rte_eal_alarm_cancel(watchdog, priv);
}
