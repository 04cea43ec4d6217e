/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How far a queue has come, for programs that scale with their load or sleep
 * without it. As bursts, these are called by the core that owns the queue. Whether
 * there is one of the number that was named, ethdev does not ask: it may be NULL.
 */

#include <errno.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"

/* ---- RX ---- */

/* The adapter writes CQEs one after the other: those there end at one place. */
static uint32_t
rx_completed(const struct mdv_rxq *rxq)
{
	uint32_t low = 0, high = rxq->cq.cqe_cnt;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (dvq_cq_peek(&rxq->cq, middle) != NULL)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

mdv_queue_count_t
mdv_rx_queue_count(void *queue)
{
	const struct mdv_rxq *rxq = queue;

	if (rxq == NULL)
		return (mdv_queue_count_t)-EINVAL;
	if (MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING)
		return 0;
	return rx_completed(rxq);
}

int
mdv_rx_descriptor_status(void *queue, uint16_t offset)
{
	const struct mdv_rxq *rxq = queue;

	if (rxq == NULL || offset >= mdv_rxq_capacity(rxq))
		return -EINVAL;
	if (MDV_LOAD_ACQUIRE(&rxq->state) != MDV_QUEUE_RUNNING)
		return RTE_ETH_RX_DESC_UNAVAIL;
	/* What a burst takes it posts again at once: a WQE is never out of use. */
	return dvq_cq_peek(&rxq->cq, offset) != NULL ? RTE_ETH_RX_DESC_DONE :
		RTE_ETH_RX_DESC_AVAIL;
}

/* ---- power management ---- */

/* Sleep on the owner byte only if it does not say yet that the CQE is there. */
static int
rx_monitor_abort(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	return ((value ^ opaque[0]) & DVQ_CQE_OWNER) == 0 ? -1 : 0;
}

int
mdv_get_monitor_addr(void *queue, struct rte_power_monitor_cond *condition)
{
	const struct mdv_rxq *rxq = queue;
	const struct dvq_cqe *next;

	if (rxq == NULL || rxq->cq.buf == NULL)
		return -EINVAL; /* not started: there is no CQ yet */
	next = dvq_cq_entry(&rxq->cq, rxq->cq.ci);
	condition->addr = (volatile void *)(uintptr_t)&next->owner_sr_opcode;
	condition->size = sizeof(next->owner_sr_opcode);
	condition->fn = rx_monitor_abort;
	condition->opaque[0] = dvq_cq_owner(&rxq->cq, rxq->cq.ci);
	return 0;
}

/* ---- TX ---- */

/*
 * Descriptors are packets: from the next to be sent on come the free ones, then
 * those in flight, oldest first. A program that waits for one to be sent may call
 * nothing but this: it takes back what was sent, and asks for the completion of
 * what was posted without.
 */
int
mdv_tx_descriptor_status(void *queue, uint16_t offset)
{
	struct mdv_txq *txq = queue;

	if (txq == NULL || offset >= txq->nb_desc)
		return -EINVAL;
	if (offset >= txq->nb_desc - txq->inflight)
		mdv_tx_reap(txq, 0);
	if (MDV_LOAD_ACQUIRE(&txq->state) != MDV_QUEUE_RUNNING)
		return RTE_ETH_TX_DESC_UNAVAIL;
	return offset < txq->nb_desc - txq->inflight ? RTE_ETH_TX_DESC_DONE :
		RTE_ETH_TX_DESC_FULL;
}
