/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RXTX_H_
#define MLX4DV_RXTX_H_

/*
 * The queues as the burst functions see them, hot fields first. Control code
 * (mlx4dv_rxq.c, mlx4dv_txq.c) builds and tears them down; the bursts make no
 * system call, no log and no verbs call.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_spinlock.h>

#include <dvq.h>

#include "mlx4dv_compat.h"

struct mdv_priv;

#define MDV_RX_AHEAD 4       /* packets whose mbufs are fetched before their turn */
#define MDV_RX_RING_SLOTS 64 /* for the rings of a queue, by the last bits of their numbers */
#define MDV_RX_MAX_SGE 16    /* segments of a scattered frame; power of two */
#define MDV_TX_MAX_SEGS 31   /* 16 + 31 * 16 = 512 B = 8 WQE blocks of 64 B */
#define MDV_TX_MIN_LEN 14    /* an Ethernet header; the adapter pads to 60 B */
#define MDV_TX_OVERHEAD 22   /* Ethernet header, two VLAN tags: beyond the MTU */
/* Of UDP tunnels, as mlx4_en has it: nothing says that GRE would do. */
#define MDV_TX_TUNNEL_TSO_OFFLOADS RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO
#define MDV_TX_TSO_OFFLOADS (RTE_ETH_TX_OFFLOAD_TCP_TSO | MDV_TX_TUNNEL_TSO_OFFLOADS)
#define MDV_MR_CACHE 8       /* regions that a queue remembers, the latest first */
#define MDV_MR_POOLS_BITS 10 /* and one of each pool, where no three share two slots */

/*
 * Life of a queue as the bursts and the control code pass it to each other.
 * A burst moves RUNNING to FAILED when a completion proves the queue dead; the
 * watchdog (mlx4dv_watchdog.c) moves FAILED back to RUNNING. In every state but
 * RUNNING a burst touches nothing and returns 0.
 */
enum mdv_queue_state {
	MDV_QUEUE_STOPPED,
	MDV_QUEUE_RUNNING,
	MDV_QUEUE_FAILED,
	MDV_QUEUE_GONE,           /* with its device */
};

/* The error that a queue met last; 0: none yet. */
struct mdv_last_error {
	uint8_t syndrome, vendor;
	bool ended;               /* the queue's life: what is flushed then says nothing */
	bool noted;               /* by the watchdog */
};

/* A piece of memory and the key that opens it to the adapter. */
struct mdv_mr_entry {
	uintptr_t start, end;
	uint32_t lkey;            /* big endian, as the WQE wants it */
};

/* ---- RX ---- */

/*
 * One WQ. A queue has several when the number of queues is not a power of two:
 * the indirection table then has more entries than queues, each entry its own
 * WQ, and the WQs of one queue share its CQ.
 */
struct mdv_rx_ring {
	struct dvq_rq rq;
	struct rte_mbuf **elts;   /* segment s of WQE i: elts[(i << sges_n) + s]; padded */
	uint32_t wqn;             /* as the CQE names it; set by mdv_rx_ring_fill() */
	struct ibv_wq *wq;        /* not touched in bursts */
};

struct mdv_rxq_stats {
	uint64_t packets;
	uint64_t bytes;
	uint64_t nombuf;          /* allocation failures: the frame was not delivered */
	uint64_t errors;          /* error completions and malformed ones */
	uint64_t flushed;         /* completions flushed by a queue in error */
	uint64_t recoveries;      /* times the queue was brought back to life */
	uint64_t unpolled;        /* packets that nobody took before the queue stopped */
	uint64_t filtered;        /* packets of a VLAN that the application did not name */
};

/* How a queue receives. Not a pointer: processes load the driver where they like. */
enum mdv_rx_way {
	MDV_RX_PLAIN,
	MDV_RX_OFFLOADS,
	MDV_RX_TAGS,
	MDV_RX_FULL,
	MDV_RX_SCATTERED,
	MDV_RX_SPLIT,
	MDV_RX_RECYCLED,
};

struct mdv_rx_split;

/* What rte_eth_recycle_mbufs() goes by (mlx4dv_recycle.c). */
struct mdv_rx_recycle {
	bool on;                  /* the application asked for it */
	uint16_t head, tail;      /* of the ring's slots, as senders read them */
	struct rte_mbuf *none;    /* the ring of a queue that has none to show */
};

struct mdv_rxq {
	/* Read in every burst. */
	/* Of the next CQE; of nothing, below, unless the queue runs. */
	const volatile uint8_t *next_owner;
	uint8_t next_expected;    /* what it holds once the CQE is written, in its top bit */
	uint8_t nothing;          /* no CQE and never one: 0, of which 0x80 is expected */
	struct dvq_cq cq;
	struct rte_mempool *mp;
	struct mdv_rx_ring *rings;
	struct mdv_rx_ring *ring; /* of the completions that a burst is at */
	uint64_t rearm;           /* data_off, refcnt, nb_segs, port of a fresh mbuf */
	uint64_t ol_flags;        /* of every mbuf: what its pool gives it */
	uint64_t rss_flag;        /* RX_OFFLOAD_RSS_HASH: the flag of a hashed packet, or 0 */
	uint64_t csum_flags;      /* RX_OFFLOAD_CHECKSUM: those of a verified packet, or 0 */
	uintptr_t near_first;     /* mbufs from here to span bytes further are of the */
	uintptr_t near_span;      /* region last used */
	uint32_t near_lkey;
	uint32_t near_offset;     /* from such an mbuf to its buffer */
	uint32_t near_chunks;     /* of mp, when all of its chunks are in the region; else 0 */
	uint32_t room;            /* bytes of a first segment */
	uint16_t port_id;
	uint16_t nb_rings;
	uint8_t sges_n;           /* log2 of the segments per WQE */
	uint8_t crc_len;          /* 4 when KEEP_CRC is on */
	bool csum_l2tun;
	bool vlan_strip;          /* RX_OFFLOAD_VLAN_STRIP, of this queue at present */
	bool qinq_strip;          /* RX_OFFLOAD_QINQ_STRIP */
	const uint64_t *vlan_ids; /* RX_OFFLOAD_VLAN_FILTER: a bit for each id; or NULL */
	bool dead;                /* a completion of this burst proved it */
	uint32_t state;           /* enum mdv_queue_state, atomic */
	uint32_t way;             /* enum mdv_rx_way, by mdv_rx_select(); atomic */
	struct mdv_mr_entry mr[MDV_MR_CACHE]; /* of mp; set by mdv_rx_ring_fill() */
	struct mdv_rxq_stats stats;
	uint8_t ring_at[MDV_RX_RING_SLOTS]; /* index in rings; of one only, when two meet */
	uint64_t timestamp_flag;  /* the dynamic flag, or 0: no timestamps */
	uint64_t timestamp;       /* the latest, in cycles of the adapter's clock */
	int timestamp_offset;     /* of the dynamic field */
	struct mdv_rx_split *split; /* RX_OFFLOAD_BUFFER_SPLIT, or NULL */
	struct mdv_rx_recycle recycle;

	/* Not touched in bursts. */
	struct mdv_priv *priv;
	struct rte_eth_rxconf conf;
	uint64_t own_offloads;    /* conf.offloads has those of the port as well */
	uint16_t idx;
	uint16_t nb_desc;         /* packets, per ring */
	uint16_t nb_desc_conf;    /* packets, as set up; shared out to the rings at start */
	unsigned int socket;
	struct ibv_cq *ibv_cq;
	struct ibv_comp_channel *channel; /* for receive interrupts, or NULL */
	struct mdv_rxq_stats base; /* subtracted after stats_reset */
	struct mdv_last_error last_error;
	bool stuck;               /* the watchdog tried, and could not bring it back */
};

/* Packets that the queue holds; its rings exist while the port runs. */
static inline uint32_t
mdv_rxq_capacity(const struct mdv_rxq *rxq)
{
	return rxq->nb_rings != 0 ? (uint32_t)rxq->nb_rings * rxq->nb_desc : rxq->nb_desc_conf;
}

/* ---- TX ---- */

struct mdv_txq_stats {
	uint64_t packets;         /* accepted; those lost to an error are in the drops */
	uint64_t bytes;
	uint64_t lost_packets;    /* accepted, then failed or flushed */
	uint64_t lost_bytes;
	uint64_t drop_unregistered; /* memory that cannot be registered */
	uint64_t drop_segments;   /* more segments than a WQE holds, or malformed */
	uint64_t drop_size;       /* longer than the adapter sends, or empty */
	uint64_t drop_tso;        /* headers or segment size that TSO cannot have */
	uint64_t errors;          /* error completions */
	uint64_t recoveries;
};

/* A frame that starts up to limit bytes behind start lies inside, however long it is. */
struct mdv_tx_key {
	uintptr_t start, limit;
	uint32_t lkey;
} __rte_aligned(32);

/*
 * The region of each pool, found at once where many take turns. Frames at the end of a
 * region are found by the list of regions.
 */
struct mdv_tx_keys {
	struct mdv_tx_key of[1 << MDV_MR_POOLS_BITS] __rte_cache_aligned; /* in pairs */
	uint32_t len_range;       /* of a frame, as mdv_txq has it, that the limits are for */
};

struct mdv_txq {
	/* Read in every burst. */
	const volatile uint8_t *next_owner; /* of the next CQE; by mdv_tx_set_next() */
	uint8_t next_expected;    /* what it holds once the CQE is written, in its top bit */
	bool fast_free;           /* MBUF_FAST_FREE; this and the next by mdv_tx_select() */
	bool uncommon;            /* frames go inside WQEs, or by their addresses */
	bool stamps;              /* blocks are stamped when they complete */
	uint32_t state;           /* enum mdv_queue_state, atomic */
	struct dvq_sq sq;
	struct rte_mbuf **elts;   /* by WQE block in flight: the packet that starts there */
	uint32_t inflight;        /* packets in elts: at most nb_desc */
	uint32_t freed;           /* running count of blocks whose elts are free */
	uint32_t signalled;       /* running index behind the last WQE that asks for a CQE */
	uint32_t mixed;           /* up to here not each block holds one segment alone */
	uint32_t signal_every;    /* at most so many blocks per CQE */
	uint16_t nb_desc;
	uint16_t port_id;
	uint32_t mr_generation;   /* of priv->mr when the keys were found */
	uint64_t others;          /* flags of packets that are not of the common sort */
	uint64_t vlan_flag;       /* RTE_MBUF_F_TX_VLAN, or 0: nothing is inserted */
	uint64_t tso_flag;        /* RTE_MBUF_F_TX_TCP_SEG, or 0 */
	struct mdv_priv *priv;
	struct mdv_txq_stats stats;
	struct mdv_tx_keys keys;

	/*
	 * Completion side. The CQ needs sq.bb_cnt entries: when the queue fails,
	 * every WQE is flushed with one of its own.
	 */
	struct dvq_cq cq;

	/* For packets that are not of the common sort. */
	struct mdv_mr_entry mr[MDV_MR_CACHE]; /* [0] is the most recent */
	uint32_t len_range;       /* of a frame, beyond MDV_TX_MIN_LEN; by mdv_tx_set_mtu() */
	uint32_t max_tso;         /* bytes of payload in a packet to be cut */
	uint32_t inline_max;      /* bytes of a frame that is copied into its WQE; or 0 */
	bool loopback;            /* VF: the adapter looks for the destination inside */

	/* Not touched in bursts. */
	struct rte_eth_txconf conf;
	uint64_t own_offloads;    /* conf.offloads has those of the port as well */
	uint16_t idx;
	unsigned int socket;
	struct ibv_cq *ibv_cq;
	struct ibv_qp *ibv_qp;
	struct mdv_txq_stats base; /* subtracted after stats_reset */
	struct mdv_last_error last_error;
	bool stuck;               /* the watchdog tried, and could not bring it back */
};

/* mlx4dv_rx.c */
typedef uint16_t mdv_rx_burst_t(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* The burst of all queues, by what the CPU and EAL's limit of vectors allow; in each process. */
mdv_rx_burst_t *mdv_rx_choose(void);
/* How a queue receives, for people. */
const char *mdv_rx_way_name(const struct mdv_rxq *rxq);
/* How the queue receives, by its offloads and segments; also while it is polled. */
void mdv_rx_select(struct mdv_rxq *rxq);
/* mlx4dv_rx_scatter.c */
uint16_t mdv_rx_receive_scattered(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n);

/*
 * mlx4dv_rx_split.c: queues whose frames are split over buffers of several pools.
 * In set-up, rxq->conf.rx_seg is the application's; a copy takes its place.
 */
int mdv_rx_split_setup(struct mdv_rxq *rxq);
void mdv_rx_split_free(struct mdv_rxq *rxq);
/* The pools that a queue, split or not, takes buffers from. */
uint16_t mdv_rxq_pools(const struct mdv_rxq *rxq);
struct rte_mempool *mdv_rxq_pool(const struct mdv_rxq *rxq, uint16_t i);
uint16_t mdv_rx_split_headroom(const struct mdv_rxq *rxq);
/* Can the queue do these offloads? -EINVAL and a message when it cannot. */
int mdv_rx_split_check_vlan(const struct mdv_rxq *rxq, uint64_t offloads);
/* Segments that a WQE has, for frames of this length; or -EINVAL and a message. */
int mdv_rx_split_segments(const struct mdv_rxq *rxq, uint32_t frame);
void mdv_rx_split_start(struct mdv_rxq *rxq, uint16_t nb);
uint16_t mdv_rx_split_posted(const struct mdv_rxq *rxq);
int mdv_rx_split_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
void mdv_rx_split_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
uint16_t mdv_rx_receive_split(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n);

/* mlx4dv_recycle.c, where DPDK has it */
uint16_t mdv_rx_receive_recycled(struct mdv_rxq *rxq, struct rte_mbuf **pkts, uint16_t n);
int mdv_rx_recycle_mend(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
void mdv_recycle_refill(void *rxq, uint16_t n);
struct rte_eth_recycle_rxq_info;
uint16_t mdv_recycle_tx_reuse(void *txq, struct rte_eth_recycle_rxq_info *info);

/* No slot is free, whatever the size of the ring. */
static inline void
mdv_rx_recycle_none(struct mdv_rxq *rxq)
{
	rxq->recycle.head = UINT16_MAX;
	rxq->recycle.tail = 0;
}

/* mlx4dv_rx_ring.c */
/* The key of a buffer of a pool, by the entries remembered; or MDV_LKEY_NONE. */
uint32_t mdv_rx_find_key(struct mdv_priv *priv, struct rte_mempool *mp, struct mdv_mr_entry *mr,
	const struct rte_mbuf *m);
static inline uint16_t
mdv_rx_headroom(const struct mdv_rxq *rxq)
{
	uint16_t data_off;

	/* data_off is what rearm starts with. */
	memcpy(&data_off, &rxq->rearm, sizeof(data_off));
	return data_off;
}

/*
 * Point a segment at the buffer of an mbuf that is not of the region last used.
 * False: m is NULL, or no region covers it.
 */
bool mdv_rx_attach_other(struct mdv_rxq *rxq, struct dvq_data_seg *seg, const struct rte_mbuf *m,
	uint32_t headroom);
/* Post a buffer in every WQE of a ring; -ENOMEM leaves the ring empty. */
int mdv_rx_ring_fill(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
/* Free all buffers of a ring that the adapter no longer writes to. */
void mdv_rx_ring_drain(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
/*
 * With every WQ of the queue in RESET or gone: consume the completions that the
 * bursts did not get to. Packets among them add to *packets, the rest is errors.
 */
void mdv_rx_discard(struct mdv_rxq *rxq, uint64_t *packets);

/* mlx4dv_desc.c: what rte_eth_rx_queue_count() and its like call */
mdv_queue_count_t mdv_rx_queue_count(void *rxq);
int mdv_rx_descriptor_status(void *rxq, uint16_t offset);
int mdv_tx_descriptor_status(void *txq, uint16_t offset);

/* mlx4dv_ptype.c */
extern const uint32_t mdv_ptype_table[256];
const uint32_t *mdv_supported_ptypes(struct rte_eth_dev *dev MDV_PTYPES_COUNT_ARG);

/* mlx4dv_tx.c */
uint16_t mdv_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* The same of a port that has a BlueFlame page: mlx4dv_tx_inline.c */
uint16_t mdv_tx_burst_blueflame(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* mlx4dv_tx_inline.c: blocks of a WQE that holds a frame of this length */
uint32_t mdv_tx_inline_blocks(uint32_t len);
/* mlx4dv_tx_key.c: the regions that a queue remembers may be gone. */
void mdv_tx_forget_keys(struct mdv_txq *txq);
/* mlx4dv_tx_prepare.c */
uint16_t mdv_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* What the queue does to packets, by its offloads and the MTU; before it runs. */
void mdv_tx_select(struct mdv_txq *txq);

/* Longer frames are dropped: the adapter would stop the queue over one. */
void mdv_tx_set_mtu(struct rte_eth_dev *dev, uint16_t mtu);

/*
 * Where this process has mapped the doorbell page of a port's context: all queues of
 * a context share one. NULL in a process that has not.
 */
extern uint8_t *mdv_uar[RTE_MAX_ETHPORTS];

/* The queue's own doorbell address is the primary's. */
static inline void
mdv_tx_ring(const struct mdv_txq *txq)
{
	dvq_sq_ring_at(&txq->sq, mdv_uar[txq->port_id]);
}

/*
 * mlx4dv_blueflame.c: where this process has mapped the BlueFlame page of a port's context.
 * All queues of the context share its two buffers; who does not get the lock rings.
 */
struct mdv_blueflame {
	rte_spinlock_t lock;
	struct dvq_bf bf;         /* its page may be NULL: doorbells are ordinary ones */
} __rte_cache_aligned;
extern struct mdv_blueflame mdv_blueflame[RTE_MAX_ETHPORTS];

static inline bool
mdv_has_blueflame(uint16_t port_id)
{
	return mdv_blueflame[port_id].bf.page != NULL;
}

/* Of ports with tx_blueflame=1; also of those that have no page. */
void mdv_blueflame_open(struct mdv_priv *priv);
void mdv_blueflame_close(struct mdv_priv *priv);

/* mlx4dv_tx_free.c */
/* Remember where the next CQE will lie. */
static inline void
mdv_tx_set_next(struct mdv_txq *txq)
{
	txq->next_owner = &dvq_cq_entry(&txq->cq, txq->cq.ci)->owner_sr_opcode;
	txq->next_expected = dvq_cq_owner(&txq->cq, txq->cq.ci);
}

/* Take all completions and free nothing; false: the queue does not run. */
bool mdv_tx_take_completions(struct mdv_txq *txq);
/* Take all completions and free what they end; false: the queue failed. */
bool mdv_tx_reap_all(struct mdv_txq *txq);
/* Free what has completed; at most n packets, 0 for all. Returns how many. */
int mdv_tx_reap(struct mdv_txq *txq, uint32_t n);
/*
 * Free everything, completed or not, once the adapter is done with the queue (QP
 * in RESET or destroyed) and while its CQ exists. Empties the CQ and leaves the
 * indices at 0, as dvq_sq_reset() will.
 */
void mdv_tx_drain(struct mdv_txq *txq);

/* Is a CQE on its way that will take back packets? */
static inline bool
mdv_tx_expects_cqe(const struct mdv_txq *txq)
{
	return (int32_t)(txq->signalled - txq->sq.ci) > 0;
}

void mdv_tx_post_nop(struct mdv_txq *txq);

/*
 * Ask, with a NOP, for the CQE of packets that were posted without, once no other
 * is on its way; true: the doorbell is due. There is a block for it: the WQE that
 * asked for the last CQE has given its own back.
 */
static inline bool
mdv_tx_signal_rest(struct mdv_txq *txq)
{
	if (likely(txq->signalled == txq->sq.pi || mdv_tx_expects_cqe(txq)))
		return false;
	mdv_tx_post_nop(txq);
	return true;
}

/*
 * mlx4dv_mr.c: the lkey (big endian) of the memory [addr, addr + length) that
 * missed the queue's cache; registers unknown memory. MDV_LKEY_NONE when nobody
 * can register it. The one call out of a burst that may enter verbs.
 */
#define MDV_LKEY_NONE UINT32_MAX
uint32_t mdv_mr_lookup_slow(struct mdv_txq *txq, const struct rte_mbuf *seg);

#endif /* MLX4DV_RXTX_H_ */
