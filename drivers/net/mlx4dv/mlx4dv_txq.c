/* SPDX-License-Identifier: BSD-3-Clause */

/* Send queues: a RAW_PACKET QP and its CQ each, from start to stop. */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define TX_SIGNAL_EVERY 64u   /* blocks per completion, at most; half of it at least */
/* Room for the NOPs and the WQE with which a queue starts to stamp: mlx4dv_tx_one.c */
#define TX_SMALL_RING 128u

uint8_t *mdv_uar[RTE_MAX_ETHPORTS];

uint64_t
mdv_tx_offloads(const struct mdv_priv *priv)
{
	uint64_t offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
		RTE_ETH_TX_OFFLOAD_VLAN_INSERT;

	/* One capability bit of the adapter stands for both directions. */
	if (priv->caps.raw_csum)
		offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
			RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	if (priv->caps.raw_csum && priv->caps.tunnel_csum)
		offloads |= RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM;
	if (priv->caps.raw_csum && priv->caps.max_tso != 0)
		offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO |
			(priv->caps.tunnel_csum ? MDV_TX_TUNNEL_TSO_OFFLOADS : 0);
	return offloads;
}

static struct mdv_txq *
alloc_queue(struct mdv_priv *priv, uint16_t idx, unsigned int socket)
{
	struct mdv_txq *txq;

	txq = mdv_zalloc(priv, "a TX queue", sizeof(*txq), socket);
	if (txq == NULL)
		return NULL;
	txq->priv = priv;
	txq->idx = idx;
	txq->port_id = priv->data->port_id;
	txq->socket = socket;
	txq->loopback = priv->caps.vf;
	txq->max_tso = priv->caps.max_tso;
	txq->inline_max = priv->tx_inline;
	return txq;
}

int
mdv_tx_queue_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t desc, unsigned int socket,
	const struct rte_eth_txconf *conf)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct mdv_txq *txq;

	txq = alloc_queue(priv, idx, socket);
	if (txq == NULL)
		return -ENOMEM;
	txq->conf = *conf;
	txq->own_offloads = conf->offloads;
	txq->conf.offloads |= dev->data->dev_conf.txmode.offloads;
	txq->nb_desc = (uint16_t)RTE_MAX(desc, MDV_MIN_DESC);
	dev->data->tx_queues[idx] = txq;
	return 0;
}

/* What the port is configured for holds for queues of before, too. */
void
mdv_txqs_configure(struct rte_eth_dev *dev)
{
	struct mdv_txq *txq;
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++) {
		txq = dev->data->tx_queues[i];
		if (txq != NULL)
			txq->conf.offloads = txq->own_offloads |
				dev->data->dev_conf.txmode.offloads;
	}
}

/* ---- start ---- */

static int
set_qp_state(const struct mdv_txq *txq, enum ibv_qp_state state, const char *name)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = (uint8_t)txq->priv->port };
	int mask = IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0);
	int ret = ibv_modify_qp(txq->ibv_qp, &attr, mask);

	if (ret != 0)
		MDV_PLOG(txq->priv, ERR, "TX queue %u: ibv_modify_qp(%s) failed: %s", txq->idx,
			 name, strerror(ret));
	return -ret;
}

/* From RESET to where it sends. */
static int
ready_qp(struct mdv_txq *txq)
{
	int ret;

	ret = set_qp_state(txq, IBV_QPS_INIT, "INIT");
	if (ret == 0)
		ret = set_qp_state(txq, IBV_QPS_RTR, "RTR");
	if (ret == 0)
		ret = set_qp_state(txq, IBV_QPS_RTS, "RTS");
	if (ret == 0)
		dvq_sq_init(&txq->sq);
	return ret;
}

static const char *
qp_hint(int err)
{
	if (err == EPERM)
		return "; give the process CAP_NET_RAW";
	if (err == ENOMEM)
		return "; raise RLIMIT_MEMLOCK (ulimit -l)";
	return "";
}

/* WQEs of one block that the ring is to hold: as many frames as descriptors, inline or not. */
static uint32_t
ring_wqes(const struct mdv_txq *txq)
{
	return txq->nb_desc * mdv_tx_inline_blocks(txq->inline_max);
}

static int
create_qp(struct mdv_txq *txq)
{
	struct mdv_priv *priv = txq->priv;
	/* One segment and nothing inline: that gives strides of 64 bytes. */
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = txq->ibv_cq,
		.recv_cq = txq->ibv_cq,
		.cap = {
			.max_send_wr = ring_wqes(txq),
			.max_send_sge = 1,
		},
	};

	txq->ibv_qp = ibv_create_qp(priv->pd, &attr);
	if (txq->ibv_qp != NULL)
		return 0;
	MDV_PLOG(priv, ERR, "TX queue %u: ibv_create_qp(RAW_PACKET, %u WQEs) failed: %s%s",
		 txq->idx, ring_wqes(txq), strerror(errno), qp_hint(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

static int
create_cq(struct mdv_txq *txq)
{
	/*
	 * When the queue fails, each WQE of the ring is flushed with a CQE of its
	 * own; the ring is what max_send_wr and libmlx4's headroom round up to.
	 */
	uint32_t cqes = rte_align32pow2(ring_wqes(txq) + DVQ_SQ_PREFETCH / DVQ_SQ_BB_SIZE + 1);

	txq->ibv_cq = ibv_create_cq(txq->priv->ctx, (int)cqes, NULL, NULL, 0);
	if (txq->ibv_cq != NULL)
		return 0;
	MDV_PLOG(txq->priv, ERR, "TX queue %u: ibv_create_cq(%u) failed: %s", txq->idx, cqes,
		 strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

/*
 * Stamps are for WQEs of several blocks: a block that only ever held the first one of a
 * WQE says by its owner bit that it is not posted.
 */
static void
choose_ring_rules(struct mdv_txq *txq)
{
	uint64_t long_wqes = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | MDV_TX_TSO_OFFLOADS;

	txq->stamps = (txq->conf.offloads & long_wqes) != 0 || txq->sq.bb_cnt < TX_SMALL_RING ||
		mdv_tx_inline_blocks(txq->inline_max) > 1;
	txq->signal_every = RTE_MIN(TX_SIGNAL_EVERY, txq->nb_desc / 2u);
}

static int
open_queue(struct mdv_txq *txq)
{
	struct dvq_open_request req = {
		.qp = txq->ibv_qp, .sq = &txq->sq,
		.ibv_cq = txq->ibv_cq, .cq = &txq->cq,
	};
	int ret = dvq_open(&req);

	if (ret != 0) {
		MDV_PLOG(txq->priv, ERR, "TX queue %u: %s", txq->idx, req.error);
		return ret;
	}
	mdv_uar[txq->port_id] = (uint8_t *)(uintptr_t)txq->sq.db - DVQ_UAR_SEND_DB;
	mdv_tx_set_next(txq);
	choose_ring_rules(txq);
	txq->elts = mdv_zalloc(txq->priv, "a TX ring", txq->sq.bb_cnt * sizeof(txq->elts[0]),
		txq->socket);
	return txq->elts != NULL ? 0 : -ENOMEM;
}

static int
start_queue(struct mdv_txq *txq)
{
	int ret;

	txq->inflight = 0;
	txq->freed = 0;
	txq->mixed = 0;
	ret = create_cq(txq);
	if (ret == 0)
		ret = create_qp(txq);
	if (ret == 0)
		ret = open_queue(txq);
	return ret;
}

int
mdv_txqs_start(struct rte_eth_dev *dev)
{
	uint16_t i;
	int ret = 0;

	for (i = 0; i < dev->data->nb_tx_queues && ret == 0; i++) {
		struct mdv_txq *txq = dev->data->tx_queues[i];

		mdv_tx_select(txq);
		ret = start_queue(txq);
		if (ret == 0 && txq->conf.tx_deferred_start == 0)
			ret = ready_qp(txq);
	}
	return ret;
}

/* ---- stop ---- */

static void
stop_queue(struct mdv_txq *txq)
{
	if (txq->ibv_qp != NULL && ibv_destroy_qp(txq->ibv_qp) != 0)
		MDV_PLOG(txq->priv, WARNING, "TX queue %u: ibv_destroy_qp() failed: %s", txq->idx,
			 strerror(errno));
	txq->ibv_qp = NULL;
	if (txq->elts != NULL)
		mdv_tx_drain(txq);
	rte_free(txq->elts);
	txq->elts = NULL;
	if (txq->ibv_cq != NULL && ibv_destroy_cq(txq->ibv_cq) != 0)
		MDV_PLOG(txq->priv, WARNING, "TX queue %u: ibv_destroy_cq() failed: %s", txq->idx,
			 strerror(errno));
	txq->ibv_cq = NULL;
}

void
mdv_txqs_stop(struct rte_eth_dev *dev)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] != NULL)
			stop_queue(dev->data->tx_queues[i]);
}

void
mdv_tx_queue_release(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_txq *txq = dev->data->tx_queues[idx];

	if (txq == NULL)
		return;
	/* The port may be running: the watchdog looks at its queues. */
	rte_spinlock_lock(&txq->priv->lock);
	dev->data->tx_queues[idx] = NULL;
	rte_spinlock_unlock(&txq->priv->lock);
	stop_queue(txq);
	rte_free(txq);
}

/* ---- while the port runs ---- */

/*
 * Bring a failed queue back to life, in the watchdog. RESET ends the adapter's
 * use of the ring and of the packets; whatever it did not report is lost.
 */
int
mdv_txq_recover(struct mdv_txq *txq)
{
	int ret;

	ret = set_qp_state(txq, IBV_QPS_RESET, "RESET");
	if (ret != 0)
		return ret;
	mdv_tx_drain(txq);
	return ready_qp(txq);
}

static int
stop_locked(struct mdv_txq *txq)
{
	int ret;

	if (MDV_LOAD_ACQUIRE(&txq->state) == MDV_QUEUE_STOPPED)
		return 0;
	ret = set_qp_state(txq, IBV_QPS_RESET, "RESET");
	if (ret != 0)
		return ret;
	mdv_tx_drain(txq);
	MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_STOPPED);
	return 0;
}

static int
start_locked(struct mdv_txq *txq)
{
	int ret = 0;

	if (MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_STOPPED)
		return 0;
	/* Set up since the port was started. */
	if (txq->ibv_qp == NULL)
		ret = start_queue(txq);
	if (ret == 0)
		ret = ready_qp(txq);
	if (ret != 0) {
		stop_queue(txq);
		return ret;
	}
	mdv_tx_select(txq);
	MDV_STORE_RELEASE(&txq->state, MDV_QUEUE_RUNNING);
	return 0;
}

int
mdv_tx_queue_stop(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	rte_spinlock_lock(&priv->lock);
	ret = stop_locked(dev->data->tx_queues[idx]);
	rte_spinlock_unlock(&priv->lock);
	if (ret == 0)
		dev->data->tx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STOPPED;
	return ret;
}

int
mdv_tx_queue_start(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_priv *priv = mdv_priv(dev);
	int ret;

	rte_spinlock_lock(&priv->lock);
	ret = start_locked(dev->data->tx_queues[idx]);
	rte_spinlock_unlock(&priv->lock);
	if (ret == 0)
		dev->data->tx_queue_state[idx] = RTE_ETH_QUEUE_STATE_STARTED;
	return ret;
}

/* ---- information ---- */

int
mdv_tx_done_cleanup(void *queue, uint32_t n)
{
	struct mdv_txq *txq = queue;

	if (txq == NULL)
		return -EINVAL; /* not set up, which ethdev does not ask */
	if (MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING)
		return 0;
	return mdv_tx_reap(txq, n);
}

void
mdv_txq_info_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_txq_info *info)
{
	const struct mdv_txq *txq = dev->data->tx_queues[idx];

	info->conf = txq->conf;
	info->nb_desc = txq->nb_desc;
}
