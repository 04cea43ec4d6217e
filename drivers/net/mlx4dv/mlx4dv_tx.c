/* SPDX-License-Identifier: BSD-3-Clause */

/* Transmit bursts: what is common to all packets of one, and which way they take. */

#include <rte_mbuf.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

/* A region went away, or frames may be longer: what the queue remembers may be wrong. */
static inline void
tx_check_generation(struct mdv_txq *txq)
{
	uint32_t now = MDV_LOAD_ACQUIRE(&txq->priv->mr.generation);

	if (likely(now == txq->mr_generation))
		return;
	mdv_tx_forget_keys(txq);
	txq->mr_generation = now;
}

/* Packets that can be tried: each takes a block at least. */
static inline uint32_t
tx_room(const struct mdv_txq *txq, uint32_t n)
{
	uint32_t room = dvq_sq_room(&txq->sq);
	uint32_t packets = txq->nb_desc - txq->inflight;

	room = RTE_MIN(room, packets);
	return RTE_MIN(room, n);
}

/*
 * How many of the next @n packets lie before the ring's end and the next CQE, which the
 * last of them asks for if *@cqe says so: once there are enough, and at the end of a
 * burst on an @idle queue, where no CQE is on its way. More would cost both sides a cache
 * line per burst; without that one the queue would not drain.
 */
static inline uint32_t
tx_next_part(const struct mdv_txq *txq, uint32_t n, bool idle, bool *cqe)
{
	uint32_t rest = txq->sq.bb_cnt - (txq->sq.pi & (txq->sq.bb_cnt - 1));
	uint32_t since = RTE_MIN(txq->sq.pi - txq->signalled, txq->signal_every - 1);

	n = RTE_MIN(n, txq->signal_every - since);
	n = RTE_MIN(n, rest);
	*cqe = idle || since + n >= txq->signal_every / 2;
	return n;
}

/* On a queue of packets of no common sort: those of a VF need their addresses in the WQE. */
static __rte_noinline uint32_t
tx_run_uncommon(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	return txq->loopback ? 0 : mdv_tx_run_inline(txq, pkts, n, cqe);
}

/* What the run of the most common sort has left. */
static __rte_noinline uint32_t
tx_run_rest(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	uint32_t done = 0;

	if (pkts[0]->nb_segs == 1 && (pkts[0]->ol_flags & txq->vlan_flag) != 0)
		done = mdv_tx_run_tagged(txq, pkts, n, cqe);
	return likely(done == n) ? n : done + mdv_tx_run_any(txq, &pkts[done], n - done, cqe);
}

/* As many of @n as go in runs, the last of the @n with a CQE if @cqe says so. */
static inline uint32_t
tx_run(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe)
{
	uint32_t done;

	if (unlikely(txq->uncommon))
		return tx_run_uncommon(txq, pkts, n, cqe);
	done = mdv_tx_run(txq, pkts, n, cqe);
	if (unlikely(done != n))
		done += tx_run_rest(txq, &pkts[done], n - done, cqe);
	return done;
}

/* @n packets, each of which there is a block for. */
static __rte_noinline uint16_t
tx_send(struct mdv_txq *txq, struct rte_mbuf **pkts, uint32_t n)
{
	const bool idle = !mdv_tx_expects_cqe(txq);
	const uint32_t before = txq->sq.pi;
	uint32_t i = 0, part, done, room;
	bool cqe;

	do {
		part = tx_next_part(txq, n - i, idle, &cqe);
		done = tx_run(txq, &pkts[i], part, cqe);
		i += done;
		if (unlikely(done != part)) {
			if (unlikely(!mdv_tx_one(txq, pkts[i], cqe && done + 1 == part)))
				break;
			i++;
		}
		if (likely(i == n))
			break;
		/* Some may have taken more than a block. */
		room = dvq_sq_room(&txq->sq);
		n = RTE_MIN(n, i + room);
	} while (i < n);
	if (likely(txq->sq.pi != before)) {
		/* The one that was to ask for a CQE may have been dropped. */
		mdv_tx_signal_rest(txq);
		mdv_tx_ring(txq);
	}
	return (uint16_t)i;
}

static inline bool
tx_run_single(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe)
{
	if (unlikely(txq->uncommon))
		return !txq->loopback && mdv_tx_run_inline_single(txq, m, cqe);
	if (likely(mdv_tx_run_single(txq, m, cqe)))
		return true;
	return (m->ol_flags & txq->vlan_flag) != 0 && tx_run_rest(txq, &m, 1, cqe) != 0;
}

/* A packet alone, which is what latency is measured with; 0: it is of no run's sort. */
static inline uint16_t
tx_send_single(struct mdv_txq *txq, struct rte_mbuf *m)
{
	bool cqe = tx_single_asks(txq);

	if (unlikely(!tx_run_single(txq, m, cqe)))
		return 0;
	mdv_tx_ring(txq);
	return 1;
}

/* With all completions taken. */
static __rte_noinline uint16_t
tx_burst_on(struct mdv_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t room = n != 0 ? tx_room(txq, n) : 0;

	if (unlikely(room == 0)) {
		if (mdv_tx_signal_rest(txq))
			mdv_tx_ring(txq);
		return 0;
	}
	tx_check_generation(txq);
	if (room == 1 && tx_send_single(txq, pkts[0]) != 0)
		return 1;
	return tx_send(txq, pkts, room);
}

static __rte_noinline uint16_t
tx_burst_reaped(struct mdv_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	return likely(mdv_tx_reap_all(txq)) ? tx_burst_on(txq, pkts, n) : 0;
}

/* A burst of nothing takes completions all the same. */
uint16_t
mdv_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct mdv_txq *txq = queue;

	if (unlikely(MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING))
		return 0;
	if (tx_has_completed(txq))
		return tx_burst_reaped(txq, pkts, n);
	if (unlikely(n == 0) && txq->signalled == txq->sq.pi)
		return 0;
	return tx_burst_on(txq, pkts, n);
}

static void
set_longest(struct mdv_txq *txq, uint16_t mtu)
{
	txq->len_range = (uint32_t)mtu + MDV_TX_OVERHEAD - MDV_TX_MIN_LEN;
	/* One of the two tags may be the adapter's to insert. */
	if (txq->vlan_flag != 0)
		txq->len_range -= RTE_VLAN_HLEN;
}

void
mdv_tx_set_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
	uint16_t i;

	for (i = 0; i < dev->data->nb_tx_queues; i++)
		if (dev->data->tx_queues[i] != NULL)
			set_longest(dev->data->tx_queues[i], mtu);
	/* The bursts have limits that go by it. */
	mdv_mr_changed(mdv_priv(dev));
}

void
mdv_tx_select(struct mdv_txq *txq)
{
	const struct rte_eth_dev_data *data = txq->priv->data;
	uint64_t offloads = data->dev_conf.txmode.offloads | txq->conf.offloads;

	txq->fast_free = (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	txq->vlan_flag = (offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0 ? RTE_MBUF_F_TX_VLAN : 0;
	txq->tso_flag = (offloads & MDV_TX_TSO_OFFLOADS) != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0;
	txq->others = RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IP_CKSUM |
		txq->vlan_flag | txq->tso_flag;
	txq->uncommon = txq->loopback || txq->inline_max != 0;
	set_longest(txq, data->mtu);
	mdv_tx_forget_keys(txq);
}
