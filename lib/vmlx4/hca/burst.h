/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_BURST_H_
#define VMLX4_BURST_H_

/*
 * The short way for plain frames: send WQEs of one segment without offloads go
 * through the adapter by the burst (tx_burst.c, rx_burst.c). All else takes the
 * general way, one at a time (sq.c, rq.c, cq.c), and so does a plain frame as
 * soon as anything is out of the ordinary: the result is the same, and the
 * order of the frames is kept.
 *
 * What is looked at once in a burst is in vmlx4_port_bursts() and
 * vmlx4_adapter_bursts(). A hook into the general way that plain frames must
 * not miss turns the short way off there.
 */

#include "../wire/wire.h"
#include "internal.h"

/* Does nothing of the adapter want to see each frame, WQE or CQE? */
static inline bool
vmlx4_adapter_bursts(const struct vmlx4_adapter *adapter)
{
	return adapter->trace == NULL && adapter->faults == NULL && adapter->ib == NULL;
}

/* May plain frames leave the port by the burst? */
static inline bool
vmlx4_port_bursts(const struct vmlx4_port *port)
{
	return port->wire != NULL && port->wire->ops->send_burst != NULL && port->active &&
		port->steering.copies == 0 && port->tx_tap == NULL &&
		vmlx4_adapter_bursts(port->adapter);
}

/* ---- the MR of the last segment ---- */

/*
 * Within one burst only: the adapter is locked, no MR can go. Starts as zeroes but for
 * the PD, which is the same for all that is asked; lkey 0 is none.
 */
struct vmlx4_mr_cache {
	const struct vmlx4_pd *pd;
	uint32_t lkey;
	uint64_t iova, length;
	uintptr_t start;
};

/* The way of vmlx4_mr_lookup() that also fills the cache. */
void *vmlx4_mr_refill(struct vmlx4_mr_cache *cache, struct vmlx4_adapter *adapter,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access);

/* As vmlx4_mr_lookup(); the access is the same in all calls on one cache. */
static inline void *
vmlx4_mr_cached(struct vmlx4_mr_cache *cache, struct vmlx4_adapter *adapter,
	uint32_t lkey, uint64_t addr, uint32_t length, uint32_t access)
{
	uint64_t offset = addr - cache->iova;

	/* The end cannot run over: offset is bounded before, and length has 32 bits. */
	if (likely(lkey == cache->lkey && offset <= cache->length &&
	    offset + length <= cache->length))
		return (void *)(cache->start + offset);
	return vmlx4_mr_refill(cache, adapter, lkey, addr, length, access);
}

/* ---- CQEs of the plain sort: no timestamp, and there is room ---- */

/*
 * CQEs that fit, as far as the consumer's record told when it was last read; it
 * is read again when they are less than wanted. Never waits for the program.
 */
uint32_t vmlx4_cq_room(struct vmlx4_cq *cq, uint32_t wanted);

/*
 * A CQ while a burst writes to it, in one piece: the ring does not turn within. The
 * entries become valid, in their order, only at the end: the program polls the next one
 * all the time, and one by one each would have to be fetched back from the core that the
 * program runs on.
 */
struct vmlx4_cq_writer {
	struct vmlx4_cq *cq;
	uint8_t *first;      /* valid half of the first entry */
	uint32_t shift;
	uint64_t handover;   /* opcode and owner bit, in the last word */
	volatile unsigned int count; /* a fault (guard.h) may leave it at any time */
	uint64_t last[VMLX4_BURST]; /* the words that make them valid */
};

/* For CQEs with that opcode. How many fit in, but for what vmlx4_cq_room() says. */
static inline uint32_t
vmlx4_cq_writer_open(struct vmlx4_cq_writer *writer, struct vmlx4_cq *cq, uint8_t op)
{
	uint32_t at = cq->pi & (cq->cqe_cnt - 1), piece = cq->cqe_cnt - at;

	writer->cq = cq;
	writer->shift = cq->cqe_size == 64 ? 6 : 5;
	writer->first = cq->buf + ((size_t)at << writer->shift) +
		VMLX4_HW_CQE_OFFSET(cq->cqe_size);
	writer->handover = htobe64(op | ((cq->pi & cq->cqe_cnt) != 0 ? VMLX4_HW_CQE_OWNER : 0));
	writer->count = 0;
	return piece < VMLX4_BURST ? piece : VMLX4_BURST;
}

/* Two dwords as they lie in memory. */
static inline uint64_t
vmlx4_memory_pair(uint32_t first, uint32_t second)
{
	return htole64(le32toh(first) | (uint64_t)le32toh(second) << 32);
}

/* The last two of a CQE but for what the writer knows; the checksum is in memory order. */
static inline uint64_t
vmlx4_cqe_index(uint32_t index, uint16_t checksum)
{
	return htole64(le16toh(htobe16((uint16_t)index)) | (uint64_t)le16toh(checksum) << 16);
}

/* One more, of those that fit in; words as they lie in memory. */
static inline void
vmlx4_cq_writer_put(struct vmlx4_cq_writer *writer, uint64_t word0, uint64_t word1,
	uint64_t word2, uint64_t last)
{
	unsigned int count = writer->count;
	uint8_t *at = writer->first + ((size_t)count << writer->shift);

	/* Each from its register: gathered on the stack they would wait for the stores. */
	memcpy(at, &word0, 8);
	memcpy(at + 8, &word1, 8);
	memcpy(at + 16, &word2, 8);
	writer->last[count] = last | writer->handover;
	/* Orders: the words, before they count. For a signal in this thread. */
	atomic_signal_fence(memory_order_release);
	writer->count = count + 1;
}

/* Hand over what was written; it may raise an event. */
static inline void
vmlx4_cq_writer_close(struct vmlx4_cq_writer *writer)
{
	struct vmlx4_cq *cq = writer->cq;
	unsigned int count = writer->count, i;
	const size_t step = (size_t)1 << writer->shift;
	uint8_t *at = writer->first + 24;

	if (unlikely(cq->error))
		return; /* its memory is gone */
	for (i = 0; i < count; i++, at += step)
		/* After the other words of the entry, and after the frame. */
		__atomic_store_n((uint64_t *)(void *)at, writer->last[i], __ATOMIC_RELEASE);
	cq->pi += count;
	cq->room -= count;
	if (unlikely(cq->channel != NULL) && count != 0)
		vmlx4_cq_check_arm(cq);
}

/* ---- tx_burst.c, rx_burst.c ---- */

/*
 * Execute up to budget plain WQEs at the head of a send queue; how many. It
 * stops at the first that is not plain, not posted, or that the checker
 * rejects: *torn.
 */
unsigned int vmlx4_sq_burst(struct vmlx4_qp *qp, unsigned int budget, bool strict, bool *torn);

/* Finish what a burst has done so far: it was left in the middle. */
void vmlx4_rx_burst_settle(struct vmlx4_arriving *arriving);

/*
 * What vmlx4_rx_status() says of the commonest frames: untagged IPv4 without
 * options or fragments, and whole, with a good header checksum, with UDP or TCP.
 * False: not one of them.
 */
bool vmlx4_rx_plain_status(const uint8_t *frame, size_t length, uint32_t *status,
	uint16_t *checksum);

#endif /* VMLX4_BURST_H_ */
