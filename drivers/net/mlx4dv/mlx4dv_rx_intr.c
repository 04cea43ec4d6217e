/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive interrupts. Each queue has a completion channel, whose descriptor EAL
 * watches in place of an interrupt vector. Enabling arms the queue's CQ for one
 * event; disabling takes the event, if one came, and so lets the next arm count.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <rte_interrupts.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

bool
mdv_rx_intr_wanted(const struct mdv_priv *priv)
{
	return priv->data->dev_conf.intr_conf.rxq != 0;
}

/* The channel of a queue that is being started, or none when nobody wants it. */
int
mdv_rx_intr_open(struct mdv_rxq *rxq)
{
	int flags;

	if (!mdv_rx_intr_wanted(rxq->priv))
		return 0;
	rxq->channel = ibv_create_comp_channel(rxq->priv->ctx);
	if (rxq->channel == NULL)
		goto fail;
	flags = fcntl(rxq->channel->fd, F_GETFL);
	if (flags >= 0 && fcntl(rxq->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0)
		return 0;
fail:
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: cannot make a completion channel: %s", rxq->idx,
		 strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

/* After its CQ. */
void
mdv_rx_intr_close(struct mdv_rxq *rxq)
{
	if (rxq->channel != NULL && ibv_destroy_comp_channel(rxq->channel) != 0)
		MDV_PLOG(rxq->priv, WARNING, "RX queue %u: ibv_destroy_comp_channel() failed: %s",
			 rxq->idx, strerror(errno));
	rxq->channel = NULL;
}

int
mdv_rx_intr_start(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t n = dev->data->nb_rx_queues;
	int vectors = 0;
	int ret = 0;
	uint16_t i;

	if (!mdv_rx_intr_wanted(priv) || n == 0)
		return 0;
	if (rte_intr_vec_list_alloc(priv->intr, NULL, n) != 0)
		return -ENOMEM;
	for (i = 0; i < n && ret == 0; i++) {
		const struct mdv_rxq *rxq = dev->data->rx_queues[i];
		bool none = rxq->channel == NULL; /* not in the RSS table: nothing comes */

		ret = rte_intr_vec_list_index_set(priv->intr, i, none ?
			RTE_INTR_VEC_RXTX_OFFSET + RTE_MAX_RXTX_INTR_VEC_ID :
			RTE_INTR_VEC_RXTX_OFFSET + vectors);
		if (ret == 0 && !none)
			ret = rte_intr_efds_index_set(priv->intr, vectors++, rxq->channel->fd);
	}
	if (ret == 0)
		ret = rte_intr_nb_efd_set(priv->intr, vectors);
	if (ret != 0)
		MDV_PLOG(priv, ERR, "EAL takes no more than %d receive interrupts", vectors);
	return ret;
}

/* Before the channels go. */
void
mdv_rx_intr_stop(struct mdv_priv *priv)
{
	if (priv->intr == NULL)
		return;
	rte_intr_free_epoll_fd(priv->intr);
	rte_intr_vec_list_free(priv->intr);
	rte_intr_nb_efd_set(priv->intr, 0);
}

static struct mdv_rxq *
armed_queue(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	return rxq != NULL && rxq->channel != NULL && rxq->ibv_cq != NULL ? rxq : NULL;
}

int
mdv_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_rxq *rxq = armed_queue(dev, idx);

	if (rxq == NULL)
		return -EINVAL;
	dvq_cq_arm(&rxq->cq, DVQ_CQ_ARM_NEXT);
	return 0;
}

int
mdv_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_rxq *rxq = armed_queue(dev, idx);
	struct ibv_cq *cq;
	void *context;

	if (rxq == NULL)
		return -EINVAL;
	while (ibv_get_cq_event(rxq->channel, &cq, &context) == 0) {
		dvq_cq_event_consumed(&rxq->cq);
		ibv_ack_cq_events(cq, 1);
	}
	/* An arm that nothing has answered stays: its event is taken the next time. */
	return errno == EAGAIN ? 0 : -errno;
}
