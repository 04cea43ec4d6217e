/* SPDX-License-Identifier: BSD-3-Clause */

/* The link, and the adapter's events, which EAL's interrupt thread takes. */

#include <errno.h>
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
	mdv_event_post(priv, RTE_ETH_EVENT_INTR_LSC);
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

	if (MDV_LOAD_ACQUIRE(&priv->gone) != 0 || read_link(priv, &link, &flags) != 0)
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
	struct ibv_port_attr attr;
	struct rte_eth_link link;
	unsigned int flags;

	if (read_link(priv, &link, &flags) != 0)
		return;
	rte_eth_linkstatus_set(priv->dev, &link);
	priv->lsc_reported = link.link_status;
	/* The event may be over, and the interface about to follow it. */
	memset(&attr, 0, sizeof(attr));
	if (ibv_query_port(priv->ctx, (uint8_t)priv->port, &attr) != 0)
		return;
	priv->link_expected = attr.state == IBV_PORT_ACTIVE;
	check_link(priv);
}

/* ---- async events ---- */

/* The queue that an event is about; false: it is none that is in use. */
static bool
find_queue(struct mdv_priv *priv, const struct ibv_async_event *event,
	struct mdv_error_entry *entry)
{
	const struct rte_eth_dev_data *data = priv->data;
	const void *object = event->element.qp; /* or cq, or wq: all are pointers */
	uint16_t i, r;

	for (i = 0; i < data->nb_tx_queues; i++) {
		const struct mdv_txq *txq = data->tx_queues[i];

		entry->queue = MDV_ERROR_TX_QUEUE;
		entry->idx = i;
		if (txq != NULL && (txq->ibv_qp == object || txq->ibv_cq == object))
			return true;
	}
	for (i = 0; i < data->nb_rx_queues; i++) {
		const struct mdv_rxq *rxq = data->rx_queues[i];

		entry->queue = MDV_ERROR_RX_QUEUE;
		entry->idx = i;
		if (rxq != NULL && rxq->ibv_cq == object)
			return true;
		for (r = 0; rxq != NULL && rxq->rings != NULL && r < rxq->nb_rings; r++)
			if (rxq->rings[r].wq == object)
				return true;
	}
	entry->queue = MDV_ERROR_NO_QUEUE;
	return false;
}

/*
 * A QP or WQ that failed flushes what it has, and the completions bring it into the
 * watchdog's hands. A CQ that failed completes nothing more, and its queue cannot
 * change to another one while it is polled: that takes a reset of the port.
 */
static void
queue_event(struct mdv_priv *priv, const struct ibv_async_event *event)
{
	bool cq = event->event_type == IBV_EVENT_CQ_ERR;
	struct mdv_error_entry entry = {
		.cause = cq ? MDV_ERROR_CQ_EVENT : MDV_ERROR_QUEUE_EVENT,
	};
	bool found;

	rte_spinlock_lock(&priv->lock);
	found = find_queue(priv, event, &entry);
	rte_spinlock_unlock(&priv->lock);
	MDV_PLOG(priv, ERR, "%s%s %u: %s%s", found ? "" : "no ",
		 entry.queue == MDV_ERROR_RX_QUEUE ? "RX queue" : "TX queue", entry.idx,
		 ibv_event_type_str(event->event_type),
		 cq ? "; reset the port (rte_eth_dev_reset), or stop and start it" : "");
	mdv_error_note(priv, &entry);
	if (cq)
		mdv_event_post(priv, RTE_ETH_EVENT_INTR_RESET);
}

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
		mdv_gone_fatal(priv);
		break;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_WQ_FATAL:
		queue_event(priv, event);
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
 * Nothing of the port runs in the interrupt thread afterwards, but for the alarm
 * that the caller may be in. The handler can set the alarms, so it goes first.
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
	mdv_event_cancel(priv);
	priv->dev->intr_handle = NULL;
	rte_intr_instance_free(priv->intr);
	priv->intr = NULL;
}
