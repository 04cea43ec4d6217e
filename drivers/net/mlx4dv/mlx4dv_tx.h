/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_TX_H_
#define MLX4DV_TX_H_

/* What the files that turn packets into WQEs share. */

#include "mlx4dv_rxtx.h"

#define TX_CSUM_FLAGS (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | \
	RTE_MBUF_F_TX_OUTER_IP_CKSUM)

static_assert(sizeof(struct mdv_tx_key) == 32, "mdv_tx_key_of()");

static inline bool
mdv_tx_key_fits(const struct mdv_tx_key *key, uintptr_t data)
{
	return data - key->start <= key->limit;
}

/* The first of a pool's two slots. Multiplied, as pools lie at round addresses. */
static inline struct mdv_tx_key *
mdv_tx_key_first(const struct mdv_tx_keys *keys, const struct rte_mempool *mp)
{
	uint64_t hash = (uintptr_t)mp * UINT64_C(0x9e3779b97f4a7c15);

	return (struct mdv_tx_key *)(uintptr_t)&keys->of[hash >> (64 - MDV_MR_POOLS_BITS)];
}

static inline struct mdv_tx_key *
mdv_tx_key_second(const struct mdv_tx_key *first)
{
	return (struct mdv_tx_key *)((uintptr_t)first ^ sizeof(*first));
}

/* The key of a pool's region that holds a frame at @data, or NULL. */
static __rte_always_inline const struct mdv_tx_key *
mdv_tx_key_of(const struct mdv_tx_keys *keys, const struct rte_mempool *mp, uintptr_t data)
{
	const struct mdv_tx_key *key = mdv_tx_key_first(keys, mp);

	if (likely(mdv_tx_key_fits(key, data)))
		return key;
	key = mdv_tx_key_second(key);
	return likely(mdv_tx_key_fits(key, data)) ? key : NULL;
}

/* What a packet was found to be, where it is not its length. */
#define TX_DROPPED 0u         /* counted; the caller frees it */
#define TX_NO_ROOM UINT32_MAX
#define TX_NOT_INLINE (UINT32_MAX - 1)

/* What the control segment says beside the usual. */
struct tx_ctrl {
	uint32_t opcode;
	uint32_t vlan;
	uint32_t flags;
};

/*
 * mlx4dv_tx_key.c: the key of memory that is not of the region last used, or
 * MDV_LKEY_NONE: nobody can register it.
 */
uint32_t mdv_tx_lkey_other(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start,
	uintptr_t end);

/*
 * mlx4dv_tx_run.c: post packets of the common sort, at most @n and none beyond the ring's
 * end; the last of the @n with a CQE if @cqe says so. Stops at the first that is of
 * another sort; returns how many.
 */
uint32_t mdv_tx_run(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe);
/* The same of packets of one segment, in some of which a tag is to be inserted. */
uint32_t mdv_tx_run_tagged(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n,
	bool cqe);
/* The same of one packet of one segment; false: it is of another sort. */
bool mdv_tx_run_single(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe);

/*
 * mlx4dv_tx_any.c: the same of packets of any number of segments, and with a tag to insert.
 * Also stops at one whose WQE wraps, or may be the last that there is room for.
 */
uint32_t mdv_tx_run_any(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n, bool cqe);

/*
 * mlx4dv_tx_one.c: post any packet, with a CQE if @cqe says so, or free and count it as
 * dropped. False: it takes more blocks than there is room for.
 */
bool mdv_tx_one(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe);
/*
 * Begin a WQE of at most so many blocks; false: there is no room for it. What takes the
 * last block asks for its CQE: then that is added to @flags, of the control segment.
 */
bool mdv_tx_wqe_begin(struct mdv_txq *txq, struct dvq_wqe *wqe, uint32_t blocks,
	uint32_t *flags);
void mdv_tx_wqe_end(struct mdv_txq *txq, struct dvq_wqe *wqe, struct rte_mbuf *m,
	const struct tx_ctrl *ctrl);

/*
 * mlx4dv_tx_inline.c: as mdv_tx_run_any(), packets of one segment that go inside their
 * WQEs, with a tag to insert or without.
 */
uint32_t mdv_tx_run_inline(struct mdv_txq *txq, struct rte_mbuf *const *pkts, uint32_t n,
	bool cqe);
/* The same of one packet; false: it is of another sort. */
bool mdv_tx_run_inline_single(struct mdv_txq *txq, struct rte_mbuf *m, bool cqe);
/*
 * Post any packet inside its WQE, if it is short enough for that. The length, TX_NO_ROOM
 * or TX_NOT_INLINE.
 */
uint32_t mdv_tx_inline(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl);

/* mlx4dv_tx_tso.c: post a packet for the adapter to cut. The length, or TX_*. */
uint32_t mdv_tx_tso(struct mdv_txq *txq, struct rte_mbuf *m, struct tx_ctrl *ctrl);
/* Can it be cut as the packet asks for? */
bool mdv_tx_tso_ok(const struct mdv_txq *txq, const struct rte_mbuf *m);

/* False: nobody can register this memory. */
static inline bool
tx_lkey(struct mdv_txq *txq, const struct rte_mbuf *seg, uint32_t *lkey)
{
	uintptr_t start = rte_pktmbuf_mtod(seg, uintptr_t);
	uintptr_t end = start + seg->data_len;

	if (likely(start >= txq->mr[0].start && end <= txq->mr[0].end)) {
		*lkey = txq->mr[0].lkey;
		return true;
	}
	*lkey = mdv_tx_lkey_other(txq, seg, start, end);
	return *lkey != MDV_LKEY_NONE;
}

/*
 * Each checksum only when asked for: a UDP datagram may have none, a fragment
 * none that could be computed. Under a tunnel the plain bits mean the inner
 * headers, which have bits of their own in dword 0. (mlx4_en)
 */
static inline void
tx_csum(struct tx_ctrl *ctrl, uint64_t ol)
{
	bool ip = (ol & RTE_MBUF_F_TX_IP_CKSUM) != 0;
	bool l4 = (ol & RTE_MBUF_F_TX_L4_MASK) != 0;

	if (likely((ol & RTE_MBUF_F_TX_TUNNEL_MASK) == 0)) {
		ctrl->flags |= (ip ? DVQ_CTRL_IP_CSUM : 0) | (l4 ? DVQ_CTRL_L4_CSUM : 0);
		return;
	}
	if ((ol & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0)
		ctrl->flags |= DVQ_CTRL_IP_CSUM;
	ctrl->opcode |= (ip ? DVQ_CTRL_INNER_IP_CSUM : 0) | (l4 ? DVQ_CTRL_INNER_L4_CSUM : 0);
}

static inline uint32_t
tx_vlan_bits(const struct rte_mbuf *m)
{
	return (uint32_t)m->vlan_tci << DVQ_CTRL_VLAN_SHIFT | DVQ_CTRL_INS_CVLAN;
}

/* The tag that the adapter is to insert behind the addresses. */
static inline void
tx_vlan(const struct mdv_txq *txq, struct tx_ctrl *ctrl, const struct rte_mbuf *m)
{
	if ((m->ol_flags & txq->vlan_flag) != 0)
		ctrl->vlan = tx_vlan_bits(m);
}

/* Of a virtual function: the adapter looks for receivers on its own port first. */
static inline const uint8_t *
tx_loopback_mac(const struct mdv_txq *txq, const struct rte_mbuf *m,
		uint8_t room[RTE_ETHER_ADDR_LEN])
{
	unsigned int have = 0, i;

	if (!txq->loopback)
		return NULL;
	if (likely(m->data_len >= RTE_ETHER_ADDR_LEN))
		return rte_pktmbuf_mtod(m, const uint8_t *);
	/* The address lies in several segments. */
	memset(room, 0, RTE_ETHER_ADDR_LEN);
	for (; m != NULL; m = m->next)
		for (i = 0; i < m->data_len && have < RTE_ETHER_ADDR_LEN; i++)
			room[have++] = rte_pktmbuf_mtod(m, const uint8_t *)[i];
	return room;
}

static inline bool
tx_length_ok(const struct mdv_txq *txq, uint32_t len)
{
	return len - MDV_TX_MIN_LEN <= txq->len_range;
}

/*
 * Is there something to take back: a completion, or packets left over of one where the
 * application frees so many at a time?
 */
static inline bool
tx_has_completed(const struct mdv_txq *txq)
{
	return ((*txq->next_owner ^ txq->next_expected) & DVQ_CQE_OWNER) == 0 ||
		txq->freed != txq->sq.ci;
}

/* Does a packet that is alone in its burst ask for a CQE? */
static inline bool
tx_single_asks(const struct mdv_txq *txq)
{
	return !mdv_tx_expects_cqe(txq) ||
		txq->sq.pi + 1 - txq->signalled >= txq->signal_every / 2;
}

#endif /* MLX4DV_TX_H_ */
