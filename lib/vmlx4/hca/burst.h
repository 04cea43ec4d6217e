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

/*
 * The MR of the last segment. Within one burst only: the adapter is locked, no
 * MR can go. Start with lkey 0, which is none.
 */
struct vmlx4_mr_cache {
	uint32_t lkey;
	uint64_t iova, length;
	uintptr_t start;
};

/* As vmlx4_mr_lookup(), for a run of segments of one PD with one access. */
static inline void *
vmlx4_mr_cached(struct vmlx4_mr_cache *cache, struct vmlx4_adapter *adapter,
	const struct vmlx4_pd *pd, uint32_t lkey, uint64_t addr, uint64_t length,
	uint32_t access)
{
	uint64_t offset = addr - cache->iova;
	const struct vmlx4_mr *mr;
	void *memory;

	if (likely(lkey == cache->lkey && offset <= cache->length &&
	    length <= cache->length - offset))
		return (void *)(cache->start + offset);
	memory = vmlx4_mr_lookup(adapter, pd, lkey, addr, length, access);
	if (memory != NULL && lkey != 0) {
		mr = adapter->mr_table[lkey >> 8];
		*cache = (struct vmlx4_mr_cache){ lkey, mr->iova, mr->length, mr->start };
	}
	return memory;
}

/* Does nothing of the adapter want to see each frame, WQE or CQE? */
static inline bool
vmlx4_adapter_bursts(const struct vmlx4_adapter *adapter)
{
	return adapter->trace == NULL;
}

/* May plain frames leave the port by the burst? */
static inline bool
vmlx4_port_bursts(const struct vmlx4_port *port)
{
	return port->wire != NULL && port->wire->ops->send_burst != NULL && port->active &&
		port->steering.sniffers == 0 && port->tx_tap == NULL &&
		port->fail[VMLX4_FAULT_TX].count == 0 && vmlx4_adapter_bursts(port->adapter);
}

/* The valid half of a CQE, ready to be stored: all words are big endian. */
struct vmlx4_cqe_words {
	uint64_t word[4];
};

/* Store it and hand it over; the owner bit is in the last word, which goes last. */
static inline void
vmlx4_cq_put(struct vmlx4_cq *cq, const struct vmlx4_cqe_words *cqe)
{
	uint8_t *at = cq->buf + (size_t)(cq->pi & (cq->cqe_cnt - 1)) * cq->cqe_size +
		VMLX4_HW_CQE_OFFSET(cq->cqe_size);

	memcpy(at, cqe->word, 24);
	__atomic_store_n((uint64_t *)(void *)(at + 24), cqe->word[3], __ATOMIC_RELEASE);
	cq->pi++;
	cq->room--;
}

/* The last word: index, checksum or syndrome, owner and opcode. */
static inline uint64_t
vmlx4_cqe_last(const struct vmlx4_cq *cq, uint16_t wqe_index, uint16_t checksum, uint8_t op)
{
	uint32_t last = op | ((cq->pi & cq->cqe_cnt) ? VMLX4_HW_CQE_OWNER : 0);

	/* The checksum comes in memory order. */
	return htobe64((uint64_t)wqe_index << 48 | (uint64_t)be16toh(checksum) << 32 | last);
}

/* CQEs of the plain sort that fit, without waiting for the program. */
uint32_t vmlx4_cq_room(struct vmlx4_cq *cq, uint32_t wanted);

/*
 * Execute up to budget plain WQEs at the head of a send queue; how many. It
 * stops at the first that is not plain, not posted, or that the checker
 * rejects: *torn.
 */
unsigned int vmlx4_sq_burst(struct vmlx4_qp *qp, unsigned int budget, bool strict, bool *torn);

/*
 * What vmlx4_rx_status() says of the commonest frames: untagged IPv4 without
 * options or fragments, and whole, with a good header checksum, with UDP or TCP.
 * False: not one of them.
 */
bool vmlx4_rx_plain_status(const uint8_t *frame, size_t length, uint32_t *status,
	uint16_t *checksum);

#endif /* VMLX4_BURST_H_ */
