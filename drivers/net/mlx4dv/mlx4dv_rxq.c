/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive queues. Set-up checks and remembers; the verbs objects exist from
 * start to stop, as a WQ must not outlive the RSS QP that it was ready for: that
 * QP's end puts the adapter's index of the WQ back to 0 and ours would stay.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rx.h"

#define MIN_RING 64 /* WQEs: smaller rings lose bursts that one poll would take */

uint64_t
mdv_rx_offloads(const struct mdv_priv *priv)
{
	uint64_t offloads = RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH |
		RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_QINQ_STRIP |
		RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT;

	if (priv->caps.keep_crc)
		offloads |= RTE_ETH_RX_OFFLOAD_KEEP_CRC;
	if (priv->caps.raw_csum)
		offloads |= RTE_ETH_RX_OFFLOAD_CHECKSUM;
	if (priv->caps.timestamps)
		offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
	return offloads;
}

/* ---- frame sizes ---- */

static uint32_t
buffer_size(struct rte_mempool *mp)
{
	return (uint32_t)rte_pktmbuf_data_room_size(mp) - RTE_PKTMBUF_HEADROOM;
}

/* Segments that a WQE needs for frames of the MTU, or -EINVAL. */
static int
count_segments(const struct mdv_rxq *rxq, uint16_t mtu)
{
	uint32_t frame = (uint32_t)mtu + MDV_FRAME_OVERHEAD;
	uint32_t room = rte_pktmbuf_data_room_size(rxq->mp);
	uint32_t size = buffer_size(rxq->mp);
	uint32_t n = 1;

	if (rxq->split != NULL)
		return mdv_rx_split_segments(rxq, frame);
	/* Only the first segment has headroom. */
	if (frame > size)
		n += (frame - size + room - 1) / room;
	n = rte_align32pow2(n);
	if (n <= MDV_RX_MAX_SGE)
		return (int)n;
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: a frame of %u bytes (MTU %u) does not fit %u "
		 "buffers of %u bytes of pool %s: use larger buffers or a smaller MTU", rxq->idx,
		 frame, mtu, MDV_RX_MAX_SGE, size, rxq->mp->name);
	return -EINVAL;
}

/* Can every queue take frames of this MTU, as it is now? */
int
mdv_rx_check_frame(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct mdv_rxq *rxq;
	uint16_t i;
	int n, posted;

	for (i = 0; i < dev->data->nb_rx_queues; i++) {
		rxq = dev->data->rx_queues[i];
		if (rxq == NULL)
			continue;
		n = count_segments(rxq, mtu);
		if (n < 0)
			return n;
		posted = rxq->split != NULL ? mdv_rx_split_posted(rxq) : 1 << rxq->sges_n;
		if (rxq->nb_rings != 0 && n > posted) {
			MDV_PLOG(rxq->priv, ERR, "MTU %u takes %d buffers per frame where RX queue "
				 "%u was started with %d: stop the port first", mtu, n, i, posted);
			return -EBUSY;
		}
	}
	return 0;
}

/* ---- set-up ---- */

static void
set_rearm(struct mdv_rxq *rxq)
{
	struct rte_mbuf m = {
		.data_off = rxq->split != NULL ? mdv_rx_split_headroom(rxq) :
			RTE_PKTMBUF_HEADROOM,
		.nb_segs = 1,
		.port = rxq->port_id,
	};

	rte_mbuf_refcnt_set(&m, 1);
	memcpy(&rxq->rearm, &m.rearm_data, sizeof(rxq->rearm));
}

static struct mdv_rxq *
alloc_queue(struct mdv_priv *priv, uint16_t idx, unsigned int socket)
{
	struct mdv_rxq *rxq;

	rxq = mdv_zalloc(priv, "an RX queue", sizeof(*rxq), socket);
	if (rxq == NULL)
		return NULL;
	rxq->priv = priv;
	rxq->idx = idx;
	rxq->port_id = priv->data->port_id;
	rxq->socket = socket;
	rx_set_none(rxq);
	return rxq;
}

/* The mbuf field that timestamps go to is registered by whoever comes first. */
static int
set_timestamps(struct mdv_rxq *rxq)
{
	int ret;

	rxq->timestamp_flag = 0;
	if ((rxq->conf.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0)
		return 0;
	ret = rte_mbuf_dyn_rx_timestamp_register(&rxq->timestamp_offset, &rxq->timestamp_flag);
	if (ret == 0)
		return 0;
	MDV_PLOG(rxq->priv, ERR, "RX queue %u: no room in mbufs for timestamps: %s", rxq->idx,
		 rte_strerror(rte_errno));
	return -rte_errno;
}

static void
set_offloads(struct mdv_rxq *rxq)
{
	uint64_t offloads = rxq->conf.offloads;

	rxq->crc_len = (offloads & RTE_ETH_RX_OFFLOAD_KEEP_CRC) != 0 ? RTE_ETHER_CRC_LEN : 0;
	rxq->rss_flag = (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 ?
		RTE_MBUF_F_RX_RSS_HASH : 0;
	rxq->csum_flags = (offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0 ?
		RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	rxq->csum_l2tun = rxq->csum_flags != 0 && rxq->priv->caps.tunnel_csum;
	rxq->vlan_strip = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	rxq->qinq_strip = (offloads & RTE_ETH_RX_OFFLOAD_QINQ_STRIP) != 0;
	mdv_rxq_set_vlan_filter(rxq, offloads);
}

/* What depends on where buffers come from. */
static int
finish_setup(struct mdv_rxq *rxq, uint16_t mtu)
{
	uint16_t i;
	int ret;

	set_rearm(rxq);
	if ((rte_pktmbuf_priv_flags(rxq->mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0)
		rxq->ol_flags = RTE_MBUF_F_EXTERNAL;
	ret = count_segments(rxq, mtu);
	if (ret >= 0)
		ret = set_timestamps(rxq);
	for (i = 0; ret >= 0 && i < mdv_rxq_pools(rxq); i++)
		ret = mdv_mr_rx_setup(rxq, mdv_rxq_pool(rxq, i));
	return RTE_MIN(ret, 0);
}

int
mdv_rx_queue_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t desc, unsigned int socket,
	const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
	struct mdv_rxq *rxq;
	int ret;

	rxq = alloc_queue(priv, idx, socket);
	if (rxq == NULL)
		return -ENOMEM;
	rxq->mp = mp;
	rxq->conf = *conf;
	rxq->own_offloads = conf->offloads;
	rxq->conf.offloads = offloads;
	rxq->nb_desc_conf = (uint16_t)rte_align32pow2(RTE_MAX(desc, MDV_MIN_DESC));
	set_offloads(rxq);
	dev->data->rx_queues[idx] = rxq;
	/* ethdev sees to it that there is a pool or a list of segments. */
	ret = conf->rx_nseg != 0 ? mdv_rx_split_setup(rxq) : 0;
	if (ret == 0)
		ret = finish_setup(rxq, dev->data->mtu);
	if (ret != 0)
		mdv_rx_queue_release(dev, idx);
	return ret;
}

/* What the port is configured for holds for queues of before, too. */
int
mdv_rxqs_configure(struct rte_eth_dev *dev)
{
	struct mdv_rxq *rxq;
	uint16_t i;
	int ret = 0;

	for (i = 0; i < dev->data->nb_rx_queues && ret == 0; i++) {
		rxq = dev->data->rx_queues[i];
		if (rxq == NULL)
			continue;
		rxq->conf.offloads = rxq->own_offloads | dev->data->dev_conf.rxmode.offloads;
		set_offloads(rxq);
		ret = mdv_rx_split_check_vlan(rxq, rxq->conf.offloads);
		if (ret == 0)
			ret = set_timestamps(rxq);
	}
	return ret;
}

/* ---- start ---- */

/* Rings of a queue: those of the table's entries before the end that are its. */
static uint16_t
count_rings(const struct mdv_rss *rss, uint32_t end, uint16_t idx)
{
	uint16_t n = 0;
	uint32_t i;

	for (i = 0; i < end; i++)
		n += rss->layout[i] == idx;
	return n;
}

/*
 * WQEs of each ring of a queue. A descriptor is a buffer, as applications size their
 * pools for that, and a WQE takes as many as its longest frame; but with segments
 * that have pools of their own it is one of each.
 */
static uint16_t
ring_size(const struct mdv_rxq *rxq)
{
	uint32_t wqes = rxq->nb_desc_conf >> (rxq->split != NULL ? 0 : rxq->sges_n);
	uint32_t share = (wqes + rxq->nb_rings - 1u) / rxq->nb_rings;

	share = RTE_MAX(rte_align32pow2(share), (uint32_t)MIN_RING);
	return (uint16_t)RTE_MIN(share, (uint32_t)rxq->nb_desc_conf);
}

static int
create_cq(struct mdv_rxq *rxq, uint32_t cqes)
{
	struct mdv_priv *priv = rxq->priv;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqes,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *with_timestamps;
	int ret = mdv_rx_intr_open(rxq);

	if (ret != 0)
		return ret;
	attr.channel = rxq->channel;
	if (rxq->timestamp_flag == 0) {
		rxq->ibv_cq = ibv_create_cq(priv->ctx, (int)cqes, NULL, rxq->channel, 0);
	} else {
		with_timestamps = ibv_create_cq_ex(priv->ctx, &attr);
		rxq->ibv_cq = with_timestamps != NULL ? ibv_cq_ex_to_cq(with_timestamps) : NULL;
		/* From the clock of now on, the 48 bits of a CQE say all. */
		if (rxq->ibv_cq != NULL && mdv_read_clock(priv->dev, &rxq->timestamp) != 0)
			rxq->timestamp = 0;
	}
	if (rxq->ibv_cq != NULL)
		return 0;
	MDV_PLOG(priv, ERR, "RX queue %u: ibv_create_cq(%u%s) failed: %s", rxq->idx, cqes,
		 rxq->timestamp_flag != 0 ? ", timestamps" : "", strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

static int
prepare_queue(struct mdv_rxq *rxq, uint16_t mtu)
{
	struct mdv_priv *priv = rxq->priv;
	int n;

	rxq->nb_rings = count_rings(&priv->rss, priv->rss.entries, rxq->idx);
	if (rxq->nb_rings == 0)
		return 0;
	n = count_segments(rxq, mtu);
	if (n < 0)
		return n;
	rxq->sges_n = (uint8_t)rte_log2_u32(rte_align32pow2((uint32_t)n));
	if (rxq->split != NULL)
		mdv_rx_split_start(rxq, (uint16_t)n);
	else if (n > 1 && (rxq->conf.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) == 0)
		/* Applications with an MTU for jumbo frames count on that. */
		MDV_PLOG(priv, WARNING, "RX queue %u: frames of MTU %u come as chains, for which "
			 "RTE_ETH_RX_OFFLOAD_SCATTER was not asked: a buffer of pool %s has %u "
			 "bytes", rxq->idx, mtu, rxq->mp->name, buffer_size(rxq->mp));
	rxq->nb_desc = ring_size(rxq);
	memset(rxq->ring_at, 0, sizeof(rxq->ring_at));
	rxq->rings = mdv_zalloc(priv, "RX rings", rxq->nb_rings * sizeof(*rxq->rings),
		rxq->socket);
	if (rxq->rings == NULL)
		return -ENOMEM;
	mdv_rx_select(rxq);
	return create_cq(rxq, (uint32_t)rxq->nb_rings * rxq->nb_desc);
}

static int
create_wq(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct mdv_priv *priv = rxq->priv;
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		/* The kernel rounds up, but refuses a request above its limit. */
		.max_wr = RTE_MIN(rxq->nb_desc, priv->caps.max_qp_wr),
		.max_sge = 1u << rxq->sges_n,
		.pd = priv->pd,
		.cq = rxq->ibv_cq,
	};

	if (rxq->crc_len != 0) {
		attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
		attr.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
	}
	ring->wq = ibv_create_wq(priv->ctx, &attr);
	if (ring->wq != NULL)
		return 0;
	MDV_PLOG(priv, ERR, "RX queue %u: ibv_create_wq(%u WQEs of %u segments) failed: %s",
		 rxq->idx, attr.max_wr, attr.max_sge, strerror(errno));
	return errno != 0 ? -errno : -ENOMEM;
}

static int
open_ring(struct mdv_rxq *rxq, struct mdv_rx_ring *ring)
{
	struct dvq_open_request req = {
		.wq = ring->wq, .rq = &ring->rq, .need = DVQ_ARM,
	};
	size_t n;
	int ret;

	/* The CQ with its first WQ; once a CQ is opened, verbs must not poll it. */
	if (ring == &rxq->rings[0]) {
		req.ibv_cq = rxq->ibv_cq;
		req.cq = &rxq->cq;
	}
	ret = dvq_open(&req);
	/* Bursts count on both. */
	if (ret == 0 && (ring->rq.wqe_cnt != rxq->nb_desc ||
			 (rxq->sges_n == 0 && ring->rq.stride_shift != RX_WQE_SHIFT))) {
		ret = -ENOTSUP;
		snprintf(req.error, sizeof(req.error), "asked for %u WQEs of %u segments, got "
			 "%u of %u bytes", rxq->nb_desc, 1u << rxq->sges_n, ring->rq.wqe_cnt,
			 1u << ring->rq.stride_shift);
	}
	if (ret != 0) {
		MDV_PLOG(rxq->priv, ERR, "RX queue %u: %s", rxq->idx, req.error);
		return ret;
	}
	/* Bursts fetch what lies ahead, without a look at the ring's end. */
	n = ((size_t)rxq->nb_desc << rxq->sges_n) + MDV_RX_AHEAD;
	ring->elts = mdv_zalloc(rxq->priv, "an RX ring", n * sizeof(ring->elts[0]), rxq->socket);
	return ring->elts != NULL ? 0 : -ENOMEM;
}

/*
 * The adapter finds the WQ of a table entry by adding its index to the first
 * number: numbers must be consecutive, and aligned to the size of the table.
 */
static int
check_number(const struct mdv_priv *priv, const struct ibv_wq *wq, uint32_t entry)
{
	uint32_t first = entry == 0 ? wq->wq_num : priv->rss.wqs[0]->wq_num;

	if (first % priv->rss.entries == 0 && wq->wq_num == first + entry)
		return 0;
	MDV_PLOG(priv, ERR, "the kernel gave WQ number 0x%x for entry %u of a table that starts at "
		 "0x%x: RSS is not possible; use one RX queue or update the kernel", wq->wq_num,
		 entry, first);
	return -EIO;
}

static int
start_entry(struct rte_eth_dev *dev, uint32_t entry)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t idx = priv->rss.layout[entry];
	struct mdv_rxq *rxq = dev->data->rx_queues[idx];
	struct mdv_rx_ring *ring = &rxq->rings[count_rings(&priv->rss, entry, idx)];
	int ret;

	ret = create_wq(rxq, ring);
	if (ret == 0)
		ret = check_number(priv, ring->wq, entry);
	if (ret != 0)
		return ret;
	priv->rss.wqs[entry] = ring->wq;
	ret = open_ring(rxq, ring);
	if (ret != 0 || rxq->conf.rx_deferred_start != 0)
		return ret;
	return mdv_rxq_fill_ring(rxq, ring);
}

int
mdv_rxqs_start(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t n = dev->data->nb_rx_queues;
	struct mdv_rxq *rxq;
	uint8_t log2_range;
	uint32_t i;
	int ret;

	dev->data->scattered_rx = 0;
	priv->rss.entries = mdv_rss_entries(priv, n);
	if (priv->rss.entries == 0)
		return 0;
	priv->rss.wqs = mdv_zalloc(priv, "the RSS table",
		priv->rss.entries * sizeof(priv->rss.wqs[0]), SOCKET_ID_ANY);
	if (priv->rss.wqs == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		rxq = dev->data->rx_queues[i];
		ret = prepare_queue(rxq, dev->data->mtu);
		if (ret != 0)
			return ret;
		if (rxq->sges_n != 0)
			dev->data->scattered_rx = 1;
	}
	/* libmlx4 asks for the range with the first WQ and forgets it then. */
	log2_range = (uint8_t)rte_log2_u32(priv->rss.entries);
	ret = mlx4dv_set_context_attr(priv->ctx, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ,
		&log2_range);
	if (ret != 0) {
		MDV_PLOG(priv, ERR, "mlx4dv_set_context_attr(LOG_WQS_RANGE_SZ) failed: %s",
			 strerror(ret));
		return -ret;
	}
	for (i = 0; i < priv->rss.entries && ret == 0; i++)
		ret = start_entry(dev, i);
	return ret;
}

/* ---- stop ---- */

/* One that cannot go stops at least: the adapter wrote to buffers that are freed next. */
static void
destroy_wq(const struct mdv_rxq *rxq, struct ibv_wq *wq)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RESET,
	};

	if (ibv_destroy_wq(wq) == 0)
		return;
	MDV_PLOG(rxq->priv, WARNING, "RX queue %u: ibv_destroy_wq() failed: %s", rxq->idx,
		 strerror(errno));
	if (ibv_modify_wq(wq, &attr) != 0)
		MDV_PLOG(rxq->priv, WARNING, "RX queue %u: ibv_modify_wq(RESET) failed: %s",
			 rxq->idx, strerror(errno));
}

static void
stop_queue(struct mdv_rxq *rxq)
{
	struct mdv_rx_ring *ring;
	uint16_t i;

	rx_set_none(rxq);         /* where polls look is freed now */
	for (i = 0; i < rxq->nb_rings && rxq->rings != NULL; i++) {
		ring = &rxq->rings[i];
		if (ring->wq != NULL)
			destroy_wq(rxq, ring->wq);
		ring->wq = NULL;
		if (ring->elts != NULL)
			mdv_rx_ring_drain(rxq, ring);
		rte_free(ring->elts);
		ring->elts = NULL;
	}
	rte_free(rxq->rings);
	rxq->rings = NULL;
	rxq->nb_rings = 0;
	rxq->recycle.on = false; /* its ring is gone */
	mdv_rx_discard(rxq, &rxq->stats.unpolled);
	if (rxq->ibv_cq != NULL && ibv_destroy_cq(rxq->ibv_cq) != 0)
		MDV_PLOG(rxq->priv, WARNING, "RX queue %u: ibv_destroy_cq() failed: %s", rxq->idx,
			 strerror(errno));
	rxq->ibv_cq = NULL;
	rxq->cq.buf = NULL;
	mdv_rx_intr_close(rxq);
}

/* After the RSS QPs: the adapter then writes to no buffer any more. */
void
mdv_rxqs_stop(struct rte_eth_dev *dev)
{
	struct mdv_priv *priv = mdv_priv(dev);
	uint16_t i;

	for (i = 0; i < dev->data->nb_rx_queues; i++)
		if (dev->data->rx_queues[i] != NULL)
			stop_queue(dev->data->rx_queues[i]);
	rte_free(priv->rss.wqs);
	priv->rss.wqs = NULL;
	priv->rss.entries = 0;
}

void
mdv_rx_queue_release(struct rte_eth_dev *dev, uint16_t idx)
{
	struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	if (rxq == NULL)
		return;
	stop_queue(rxq);
	dev->data->rx_queues[idx] = NULL;
	mdv_rx_split_free(rxq);
	rte_free(rxq);
}

/* ---- information ---- */

/* Cycles of the clock that timestamps count in. */
int
mdv_read_clock(struct rte_eth_dev *dev, uint64_t *clock)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int ret;

	if (!priv->caps.timestamps)
		return -ENOTSUP; /* a virtual function has no clock page */
	ret = ibv_query_rt_values_ex(priv->ctx, &values);
	if (ret == 0)
		*clock = (uint64_t)values.raw_clock.tv_nsec;
	return -ret;
}

void
mdv_rxq_info_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_rxq_info *info)
{
	const struct mdv_rxq *rxq = dev->data->rx_queues[idx];

	info->mp = rxq->mp;
	info->conf = rxq->conf;
	info->scattered_rx = rxq->sges_n != 0;
	info->nb_desc = (uint16_t)mdv_rxq_capacity(rxq);
	info->rx_buf_size = (uint16_t)buffer_size(rxq->mp);
}
