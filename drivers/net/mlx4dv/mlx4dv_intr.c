/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happens beside the bursts, in EAL's interrupt thread: link changes, and the
 * watchdog that brings failed queues back.
 *
 * Hand-over of a queue: a burst that finds it dead stores FAILED as its last
 * access and touches nothing from then on; the watchdog takes it over by reading
 * FAILED, and gives it back by storing RUNNING. Nobody needs a lock between them.
 * The lock of the port is for stop, which may come while the watchdog is at work.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define LINK_WAIT_MS 9000
#define LINK_POLL_MS 100

/* ---- link ---- */

static int
read_link(const struct mdv_priv *priv, struct rte_eth_link *link, unsigned int *flags)
{
	bool full_duplex = true, autoneg = true;
	uint32_t speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	int ret;

	ret = mdv_netdev_get_flags(priv, flags);
	if (ret != 0)
		return ret;
	/* A link whose speed the interface does not tell is still a link. */
	if (mdv_netdev_get_speed(priv, &speed, &full_duplex, &autoneg) != 0)
		speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	memset(link, 0, sizeof(*link));
	link->link_status = (*flags & IFF_UP) != 0 && (*flags & IFF_RUNNING) != 0 ?
		RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
	link->link_duplex = full_duplex ? RTE_ETH_LINK_FULL_DUPLEX : RTE_ETH_LINK_HALF_DUPLEX;
	link->link_autoneg = autoneg ? RTE_ETH_LINK_AUTONEG : RTE_ETH_LINK_FIXED;
	link->link_speed = link->link_status == RTE_ETH_LINK_UP ? speed :
		RTE_ETH_SPEED_NUM_NONE;
	return 0;
}

int
mdv_link_update(struct rte_eth_dev *dev, int wait_to_complete)
{
	struct mdv_priv *priv = mdv_priv(dev);
	unsigned int waited = 0;
	struct rte_eth_link link;
	unsigned int flags;
	int ret;

	for (;;) {
		ret = read_link(priv, &link, &flags);
		if (ret != 0)
			return ret;
		/* Waiting is for a link that can come: the interface is up. */
		if (wait_to_complete == 0 || link.link_status == RTE_ETH_LINK_UP ||
		    (flags & IFF_UP) == 0 || waited >= LINK_WAIT_MS)
			break;
		rte_delay_us_sleep(LINK_POLL_MS * 1000);
		waited += LINK_POLL_MS;
	}
	return rte_eth_linkstatus_set(dev, &link);
}

static int
set_link(struct rte_eth_dev *dev, bool up)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret = mdv_netdev_set_up(priv, up);

	if (ret != 0)
		MDV_PLOG(priv, ERR, "cannot set %s %s: %s%s", priv->ifname, up ? "up" : "down",
			 strerror(-ret), ret == -EPERM ? "; give the process CAP_NET_ADMIN" : "");
	return ret;
}

int
mdv_link_set_up(struct rte_eth_dev *dev)
{
	return set_link(dev, true);
}

int
mdv_link_set_down(struct rte_eth_dev *dev)
{
	return set_link(dev, false);
}

/* Tell the application of a status that it has not been told yet. */
static void
report_link(struct mdv_priv *priv, const struct rte_eth_link *link)
{
	struct rte_eth_dev *dev = priv->dev;

	rte_eth_linkstatus_set(dev, link);
	if (!priv->started || dev->data->dev_conf.intr_conf.lsc == 0 ||
	    priv->lsc_reported == link->link_status)
		return;
	priv->lsc_reported = link->link_status;
	rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

static void link_recheck(void *arg);

/*
 * An event may arrive before the interface agrees with it, and no second event
 * comes: look again until they agree. An interface that is set down agrees with
 * anything.
 */
static void
check_link(struct mdv_priv *priv)
{
	struct rte_eth_link link;
	unsigned int flags;

	if (read_link(priv, &link, &flags) != 0)
		return;
	if ((flags & IFF_UP) != 0 &&
	    (link.link_status == RTE_ETH_LINK_UP) != priv->link_expected) {
		if (!priv->alarm_link &&
		    rte_eal_alarm_set(MDV_LINK_RECHECK_US, link_recheck, priv) == 0)
			priv->alarm_link = true;
		return;
	}
	report_link(priv, &link);
}

static void
link_recheck(void *arg)
{
	struct mdv_priv *priv = arg;

	priv->alarm_link = false;
	check_link(priv);
}

/* The status at the start is what the application reads, not news. */
void
mdv_intr_started(struct mdv_priv *priv)
{
	struct rte_eth_link link;
	unsigned int flags;

	if (read_link(priv, &link, &flags) != 0)
		return;
	rte_eth_linkstatus_set(priv->dev, &link);
	priv->lsc_reported = link.link_status;
}

/* ---- async events ---- */

static void
handle_event(struct mdv_priv *priv, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		/* Every context hears of every port of the adapter. */
		if ((unsigned int)event->element.port_num != priv->port)
			break;
		priv->link_expected = event->event_type == IBV_EVENT_PORT_ACTIVE;
		check_link(priv);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		MDV_PLOG(priv, ERR, "%s reported a fatal error: see dmesg; close the port, or "
			 "reset it when the adapter is back", priv->ibname);
		break;
	case IBV_EVENT_CQ_ERR:
		MDV_PLOG(priv, ERR, "a CQ overran or failed: stop and start the port");
		break;
	default:
		MDV_PLOG(priv, DEBUG, "async event: %s", ibv_event_type_str(event->event_type));
	}
}

static void
async_handler(void *arg)
{
	struct mdv_priv *priv = arg;
	struct ibv_async_event event;

	/* The fd does not block: this ends when all events are read. */
	while (ibv_get_async_event(priv->ctx, &event) == 0) {
		handle_event(priv, &event);
		ibv_ack_async_event(&event);
	}
}

int
mdv_intr_init(struct mdv_priv *priv)
{
	int ret;

	priv->lsc_reported = -1;
	priv->intr = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_SHARED);
	if (priv->intr == NULL)
		return -ENOMEM;
	if (rte_intr_fd_set(priv->intr, priv->ctx->async_fd) != 0 ||
	    rte_intr_type_set(priv->intr, RTE_INTR_HANDLE_EXT) != 0)
		return -EINVAL;
	ret = rte_intr_callback_register(priv->intr, async_handler, priv);
	if (ret != 0) {
		MDV_LOG(ERR, "cannot watch the events of %s: %s", priv->ibname, strerror(-ret));
		return ret;
	}
	priv->intr_registered = true;
	priv->dev->intr_handle = priv->intr;
	return 0;
}

/*
 * Nothing of the port runs in the interrupt thread afterwards. The handler can
 * set the alarm, so it goes first.
 */
void
mdv_intr_fini(struct mdv_priv *priv)
{
	int ret;

	if (priv->intr_registered) {
		ret = rte_intr_callback_unregister_sync(priv->intr, async_handler, priv);
		if (ret < 0)
			MDV_PLOG(priv, WARNING, "rte_intr_callback_unregister_sync() failed: %s",
				 strerror(-ret));
		priv->intr_registered = false;
		rte_eal_alarm_cancel(link_recheck, priv);
		priv->alarm_link = false;
	}
	priv->dev->intr_handle = NULL;
	rte_intr_instance_free(priv->intr);
	priv->intr = NULL;
}

/* ---- watchdog ---- */

/* Each false when the queue had failed and still has. */
static bool
recover_rx(struct mdv_priv *priv, struct mdv_rxq *rxq)
{
	if (rxq == NULL || MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_FAILED)
		return true;
	if (mdv_rxq_recover(rxq) != 0)
		return false;
	MDV_PLOG(priv, NOTICE, "RX queue %u failed and is back: %" PRIu64 " times so far",
		 rxq->idx, rxq->stats.recoveries);
	MDV_STORE_RELEASE(&rxq->state, MDV_QUEUE_RUNNING);
	return true;
}

static bool
recover_tx(struct mdv_priv *priv, struct mdv_txq *txq)
{
	if (txq == NULL || MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_FAILED)
		return true;
	if (mdv_txq_recover(txq) != 0)
		return false;
	MDV_PLOG(priv, NOTICE, "TX queue %u failed and is back: %" PRIu64 " times so far",
		 txq->idx, txq->stats.recoveries);
	MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_RUNNING);
	return true;
}

static void
watchdog(void *arg)
{
	struct mdv_priv *priv = arg;
	struct rte_eth_dev_data *data = priv->data;
	bool well = true;
	uint16_t i;

	rte_spinlock_lock(&priv->lock);
	if (priv->started) {
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
