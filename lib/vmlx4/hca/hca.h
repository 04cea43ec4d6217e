/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_HCA_H_
#define VMLX4_HCA_H_

/*
 * The object model of the virtual adapter. The uverbs layer creates, changes
 * and destroys these objects on command; the engine (sq.c, rq.c, cq.c) moves
 * packets through them; both hold adapter->lock while they do.
 *
 * Memory named here (queues, doorbell records, packet buffers) belongs to the
 * program under test and is reached by its own virtual addresses: adapter and
 * program share one process.
 */

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "../check/check.h"
#include "../ib/ib.h"
#include "../options.h"
#include "../vmlx4.h"
#include "timer.h"

#define VMLX4_PAGE 4096u
#define VMLX4_QP_TABLE (1u << 19)  /* numbers below this, unique after masking */
#define VMLX4_CQ_TABLE (1u << 16)
#define VMLX4_SRQ_TABLE (1u << 16)
#define VMLX4_MR_TABLE (1u << 19)
#define VMLX4_RSS_KEY 40
#define VMLX4_QPN_XRC (1u << 23)   /* set in the number of an XRC receiver */

/*
 * Zeroed memory that shares no cache line (nor the pair that a processor
 * fetches) with other memory of the heap. The heap is the program's: what its
 * cores write must not lie beside what the engine reads for every packet.
 * free() releases it.
 */
static inline void *
vmlx4_zalloc(size_t size)
{
	size_t whole = (size + 127) & ~(size_t)127;
	void *p = aligned_alloc(128, whole);

	return p == NULL ? NULL : memset(p, 0, whole);
}

struct vmlx4_adapter;
struct vmlx4_arriving;
struct vmlx4_context;
struct vmlx4_faults; /* fault/: what is to go wrong */
struct vmlx4_held;
struct vmlx4_port;
struct vmlx4_trace;
struct vmlx4_wire;
struct vmlx4_parsed; /* parse.h: what the parser found in a frame */

/* ---- verbs objects ---- */

enum vmlx4_obj_type {
	VMLX4_PD,
	VMLX4_MR,
	VMLX4_CHANNEL,
	VMLX4_CQ,
	VMLX4_QP,
	VMLX4_WQ,
	VMLX4_TABLE,
	VMLX4_FLOW,
	VMLX4_SRQ,
	VMLX4_MW,
	VMLX4_XRCD,
	VMLX4_OBJ_TYPES
};

/* Head of every object that the uverbs ABI names by a handle. */
struct vmlx4_obj {
	enum vmlx4_obj_type type;
	uint32_t handle;       /* of its context */
	uint32_t users;        /* objects that refer to this one: EBUSY while > 0 */
	uint64_t user_handle;  /* what the program passed at creation; echoed in events */
	uint64_t pinned, db;   /* pages, and a doorbell record: uverbs/privileges.c */
	struct vmlx4_context *ctx;
	TAILQ_ENTRY(vmlx4_obj) next;
};
TAILQ_HEAD(vmlx4_obj_list, vmlx4_obj);

struct vmlx4_pd {
	struct vmlx4_obj obj;
	uint32_t pdn;
};

struct vmlx4_mr {
	struct vmlx4_obj obj;
	struct vmlx4_pd *pd;
	uint32_t lkey;      /* == rkey */
	uint32_t access;    /* IBV_ACCESS_* */
	uint64_t start;     /* address in the program */
	uint64_t length;
	uint64_t iova;      /* address that WQEs use for start */
	bool writable;      /* the memory, when it was registered */
};

struct vmlx4_channel {
	struct vmlx4_obj obj;
	int write_fd;       /* our end; the program reads the other */
	int read_fd;        /* our copy of the other: to drop what was not read */
	int fd;             /* the program's, or -1 once it closed it */
};

struct vmlx4_cq {
	struct vmlx4_obj obj;
	struct vmlx4_channel *channel; /* or NULL */
	uint32_t cqn;
	uint32_t cqe_cnt;   /* power of two */
	uint32_t cqe_size;  /* 32 or 64 */
	uint8_t *buf;
	uint32_t *db;       /* [0] set_ci, [1] arm; big endian, the program's */
	uint32_t pi;        /* next CQE to write, runs free */
	bool timestamps;
	bool error;         /* overrun: nothing is delivered any more */
	uint8_t fired_sn;   /* sn of the last arm that was answered, 0xff: none */
	uint32_t room;      /* CQEs that may be written before set_ci is read again */
	uint32_t error_pi;  /* behind the last error CQE… */
	uint32_t solicited_pi; /* …and solicited one: what a solicited arm waits for */
	uint32_t comp_events; /* written to the channel for this CQ */
	uint32_t async_events;
	struct {
		uint32_t ci;        /* the consumer's record when it was last read */
		bool ci_known;
		uint32_t fired_ci;  /* of the last arm that was answered */
		uint32_t arm;       /* the arm record at the last doorbell… */
		uint32_t arm_seen;  /* …and another one since, seen how often? */
		unsigned int arm_looks;
	} check;
	struct {
		uint16_t count, period; /* of CQEs and µs; 0, 0: none */
		bool due;              /* the time is over */
		struct vmlx4_timer timer;
	} moderation;          /* of events, not of CQEs */
	struct vmlx4_held *held; /* CQEs that a fault keeps back, or NULL */
};

/* A receive queue: of a WQ, or of a plain QP. */
struct vmlx4_rq {
	uint8_t *buf;
	uint32_t wqe_cnt;      /* power of two */
	uint32_t stride_shift; /* log2 of bytes per WQE */
	uint32_t max_sge;
	uint32_t *db;          /* big endian, low 16 bits count the posted WQEs */
	uint16_t ci;           /* next WQE to fill, runs free */
	uint16_t posted;       /* the record, when it was last read */
	bool live;             /* takes frames */
	bool error;            /* everything posted is flushed */
	bool transport;        /* of a QP with one: its peers write where they may */
	bool scatter_fcs;
	uint32_t inline_size;  /* frames up to here go into the WQE itself; 0: none */
	uint32_t qpn;          /* for the CQE */
	struct vmlx4_cq *cq;
	struct vmlx4_pd *pd;
	struct vmlx4_rq_check *check; /* what the contract checker remembers, or NULL */
	bool not_restarted;    /* used, and not reset by the program since… */
	uint16_t used_record;  /* …and what the record said then */
};

/* A send queue, in units of its stride (64 B and up). */
struct vmlx4_sq {
	uint8_t *buf;
	uint32_t wqe_cnt;      /* power of two */
	uint32_t stride_shift;
	uint32_t ci;           /* next stride to execute, runs free */
	bool live;             /* RTS */
	bool error;            /* everything posted is flushed */
	bool pending;          /* a doorbell asked for a look, or work was left over */
	struct {
		uint32_t ci, dw0;  /* where it stood when it was found idle… */
		unsigned int looks;/* …how often since… */
		uint64_t since;    /* …and when first, in ns; 0: it moved */
	} idle;
	bool cq_blocked;       /* stopped until its CQ has room */
	bool careful;          /* one WQE at a time: it met memory that is gone */
	struct vmlx4_cq *cq;
	struct vmlx4_port *port;
	struct vmlx4_sq_check *check; /* what the contract checker remembers, or NULL */
};

/*
 * A shared receive queue: a chain of WQEs, each of which names the next. The
 * program appends at the tail and counts in the record; the adapter takes from
 * the head.
 */
struct vmlx4_srq {
	struct vmlx4_obj obj;
	uint32_t srqn;
	struct vmlx4_pd *pd;
	struct vmlx4_cq *cq;       /* XRC: where its completions go; else NULL */
	struct vmlx4_xrcd *xrcd;   /* XRC, or NULL */
	uint8_t *buf;
	uint32_t wqe_cnt;          /* power of two */
	uint32_t stride_shift;
	uint32_t max_sge;
	uint32_t *db;              /* big endian, low 16 bits count the posted WQEs */
	uint32_t head;             /* index of the WQE to take next */
	uint16_t taken;            /* WQEs taken, modulo 2^16 */
	uint32_t limit;            /* armed: below this many WQEs an event; 0: not */
	bool error;                /* a WQE in it was no good */
	uint32_t async_events;
};

/* A memory window: an rkey of its own for a part of a region. */
struct vmlx4_mw {
	struct vmlx4_obj obj;
	struct vmlx4_pd *pd;
	unsigned int type;         /* IBV_MW_TYPE_1, _2 */
	uint32_t rkey;
	struct vmlx4_mr *mr;       /* what it is bound to, or NULL */
	struct vmlx4_qp *qp;       /* type 2: that bound it */
	uint64_t start, length, iova; /* as of a region */
	uint32_t access;
};

/*
 * A domain that lends SRQs to whoever opened its file. This is one handle of it: the
 * same number is the same domain.
 */
struct vmlx4_xrcd {
	struct vmlx4_obj obj;
	uint32_t xrcdn;
	bool file;                 /* it has one, and these are its numbers */
	uint64_t device, inode;
};

struct vmlx4_wq {
	struct vmlx4_obj obj;
	uint32_t wqn;          /* a QPN */
	unsigned int state;    /* IBV_WQS_* as the program asked for */
	unsigned int rss_users;/* RSS QPs past RESET: the queue is up while > 0 */
	struct vmlx4_port *port; /* of those RSS QPs */
	struct vmlx4_wqn_range *range;
	struct vmlx4_rq rq;
};

struct vmlx4_table {
	struct vmlx4_obj obj;
	uint32_t size;         /* power of two */
	struct vmlx4_wq *wq[]; /* consecutive WQNs */
};

/* rss.fields: one bit per layer that the hash of an RSS QP covers. */
#define VMLX4_HASH_IPV4     0x20u
#define VMLX4_HASH_TCP_IPV4 0x10u
#define VMLX4_HASH_IPV6     0x08u
#define VMLX4_HASH_TCP_IPV6 0x04u
#define VMLX4_HASH_UDP_IPV4 0x02u
#define VMLX4_HASH_UDP_IPV6 0x01u

#define VMLX4_HASH_L4 (VMLX4_HASH_TCP_IPV4 | VMLX4_HASH_TCP_IPV6 | \
	VMLX4_HASH_UDP_IPV4 | VMLX4_HASH_UDP_IPV6)

enum vmlx4_rss_function {
	VMLX4_RSS_TOEPLITZ,
	VMLX4_RSS_XOR8,   /* one byte: all bytes together */
	VMLX4_RSS_XOR32,  /* all 32-bit words together */
};

TAILQ_HEAD(vmlx4_opened_list, vmlx4_qp);

struct vmlx4_qp {
	struct vmlx4_obj obj;
	uint32_t qpn;
	unsigned int qp_type;  /* IBV_QPT_* */
	unsigned int state;    /* IBV_QPS_* */
	struct vmlx4_port *port; /* set by RESET -> INIT */
	struct vmlx4_pd *pd;
	struct vmlx4_cq *send_cq, *recv_cq;
	bool sq_sig_all;
	bool block_mcast_lb;   /* its multicast frames do not come back to it */
	struct vmlx4_sq sq;
	struct vmlx4_rq rq;
	struct vmlx4_table *table; /* RSS QP: neither SQ nor RQ of its own */
	struct vmlx4_ib *ib;       /* its transport; NULL: raw Ethernet */
	struct vmlx4_srq *srq;     /* instead of an RQ, or NULL */
	struct vmlx4_xrcd *xrcd;   /* XRC receiver: its domain, in place of a PD; else NULL */
	struct vmlx4_qp *real;     /* itself; of a handle from OPEN_QP: the QP that it is of */
	struct vmlx4_opened_list opened; /* the handles of that sort; oldest first */
	TAILQ_ENTRY(vmlx4_qp) opened_next;
	struct {
		uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_data;
	} cap;                 /* as QUERY_QP reports them */
	struct {
		uint8_t fields;
		bool inner;            /* hash the packet inside of a tunnel… */
		uint8_t inner_hides;   /* …without these fields */
		uint8_t function;      /* enum vmlx4_rss_function */
		uint8_t key[VMLX4_RSS_KEY];
		/* Toeplitz, unrolled per input byte: hash ^= key_table[i][byte] */
		uint32_t key_table[36][256];
	} *rss;
	uint32_t async_events;
	TAILQ_ENTRY(vmlx4_qp) sq_next; /* in ctx->sqs while sq.live or sq.error */
};
TAILQ_HEAD(vmlx4_qp_list, vmlx4_qp);

#include "flow.h" /* of objects as above */

/* ---- ports, contexts, the adapter ---- */

/* The Linux network interface that mlx4_en would show for the port. */
struct vmlx4_netdev {
	char name[IFNAMSIZ];
	unsigned int ifindex;
	uint8_t mac[6];
	unsigned int mtu;
	unsigned int flags;    /* IFF_* the user sets; RUNNING is derived */
	bool rx_pause, tx_pause;
};

#define VMLX4_MACS 128
#define VMLX4_MAC_OWN 0 /* entry of the interface's own address, always taken */

/* Unicast addresses that a port knows. */
struct vmlx4_mac_table {
	struct {
		uint64_t mac;  /* 48 bits, first byte highest */
		uint32_t users;
	} entry[VMLX4_MACS];
	unsigned int end;      /* entries that were ever used */
};

struct vmlx4_port {
	struct vmlx4_adapter *adapter;
	unsigned int number;   /* 1, 2 */
	bool infiniband;
	bool carrier;          /* cable plugged in and the other end alive */
	bool active;           /* last state told to the contexts */
	uint8_t tx_hold;       /* send queues wait; bits: VMLX4_HOLD_*, wire/wire.h */
	struct {
		bool trains;       /* both ends are up, the link is not yet */
		bool lags;         /* the interface does not show the link yet */
		struct vmlx4_timer trained, late;
	} link;                /* uverbs/link.c */
	struct vmlx4_netdev netdev;
	struct vmlx4_wire *wire;
	struct vmlx4_flow_list flows; /* in match order */
	struct {
		unsigned int deep;     /* flows that look beyond the destination MAC */
		unsigned int copies;   /* flows that get a copy and decide nothing */
		struct vmlx4_destination last; /* that was looked up… */
		struct vmlx4_destination known[VMLX4_DESTINATIONS]; /* …and others, by hash */
		uint16_t own[256];     /* flows that own a MAC, by its last byte */
	} steering;
	struct vmlx4_mac_table macs;
	struct {
		bool paused;           /* by the other end: the send queues hold */
		struct vmlx4_timer timer; /* until when */
		uint64_t quiet_until;  /* when the port may ask for a pause again */
	} pause;
	uint64_t syndromes[2][32]; /* error CQEs of receive and send queues */
	struct vmlx4_port_stats stats;
	unsigned int unplugged; /* faults that keep the link down */
	void (*tx_tap)(void *arg, const void *frame, size_t length);
	void *tx_tap_arg;
};

struct vmlx4_context {
	struct vmlx4_adapter *adapter;
	unsigned int number;   /* from 1 in the order of opening */
	int fd;                /* the program's; a memfd of four pages */
	uint8_t *pages;        /* our mapping: UAR, BlueFlame, unused, clock */
	int async_fd;          /* our end */
	int async_read_fd;     /* our copy of the program's end */
	bool ready;            /* GET_CONTEXT succeeded */
	bool closing;          /* its objects go because the program closed it */
	struct vmlx4_obj **by_handle;
	uint32_t handle_room;  /* entries of by_handle */
	uint32_t handle_hint;  /* no free entry below this one */
	struct vmlx4_obj_list objs;    /* youngest first: the order to destroy them in */
	struct vmlx4_qp_list sqs;      /* what a send doorbell makes the engine scan */
	struct vmlx4_wqn_range *wqn_range; /* the one still open */
	struct vmlx4_db_page *db_pages; /* pinned for doorbell records */
	bool scan;             /* look at all SQs in the next pass */
	struct {
		bool known;        /* the last BlueFlame post… */
		unsigned int buffer;
		uint32_t qpn;
		uint16_t next;     /* …and the index of the WQE behind it */
	} bf;
	bool dead;             /* the device died under it */
	TAILQ_ENTRY(vmlx4_context) next;
};
TAILQ_HEAD(vmlx4_context_list, vmlx4_context);

TAILQ_HEAD(vmlx4_mcast_list, vmlx4_mcast);

struct vmlx4_adapter {
	struct vmlx4_options options;
	const struct vmlx4_profile *profile;
	pthread_mutex_t lock;
	atomic_uint lock_waiters;  /* commands that want the lock: the engine steps aside… */
	atomic_uint lock_turns;    /* …until one of them had it; counts those that did */
	struct vmlx4_port ports[VMLX4_MAX_PORTS];
	struct vmlx4_context_list contexts;
	struct vmlx4_object_counts counts;
	uint64_t cq_overruns;
	uint64_t *shown;           /* counters as the files have them… */
	uint64_t shown_at;         /* …and since when */
	unsigned int contexts_opened;

	struct vmlx4_qp **qp_table;   /* by QPN */
	struct vmlx4_wq **wq_table;   /* by WQN, the same number space */
	struct vmlx4_mr **mr_table;   /* by lkey >> 8 */
	struct vmlx4_cq **cq_table;   /* by CQN */
	struct vmlx4_srq **srq_table; /* by SRQN */
	struct vmlx4_mw **mw_table;   /* by rkey >> 8, in the numbers of the regions */
	struct vmlx4_mcast_list mcast; /* multicast groups with members: uverbs/mcast.c */
	struct vmlx4_ib_work *ib;     /* NULL: there never was a QP with a transport (ib/) */
	struct vmlx4_trace *trace;    /* NULL: off (trace/) */

	struct vmlx4_engine *engine;
	uint64_t pinned;              /* pages, with --memlock */
	struct vmlx4_check_state *check; /* the contract checker's, or NULL */
	struct vmlx4_faults *faults; /* NULL while there are none */
	struct vmlx4_faults *fault_state; /* the same, always */
	bool away;                    /* removed from the machine; atomic */
	struct vmlx4_time time;
	struct vmlx4_qp *tx_active;   /* whose send queue is being executed, or NULL */
	struct vmlx4_rq *rx_active;   /* which took a frame last */
	struct vmlx4_arriving *rx_burst; /* NULL, or it is one of a burst (rx_burst.c)… */
	bool rx_lost;                 /* …and met a buffer that is gone */
	struct vmlx4_numbers *numbers; /* uverbs/numbers.c: which ones are taken */
	unsigned int violations;
	unsigned int violations_of[VMLX4_RULES]; /* the same, by rule */
};

/* The adapter of this process, or NULL while no context is open (adapter.c). */
struct vmlx4_adapter *vmlx4_adapter_get(void);

/* The QP of a number that came from outside, or NULL. */
static inline struct vmlx4_qp *
vmlx4_qp_by_number(const struct vmlx4_adapter *adapter, uint32_t qpn)
{
	struct vmlx4_qp *qp = adapter->qp_table[qpn & (VMLX4_QP_TABLE - 1)];

	return qp != NULL && qp->qpn == qpn ? qp : NULL;
}

/* Was it removed from the machine? No lock. */
static inline bool
vmlx4_away(const struct vmlx4_adapter *adapter)
{
	return __atomic_load_n(&adapter->away, __ATOMIC_ACQUIRE);
}

/* Takes the lock ahead of the engine (adapter.c). */
void vmlx4_lock(struct vmlx4_adapter *adapter);
void vmlx4_unlock(struct vmlx4_adapter *adapter);

/* ---- engine.c: everything below is called with the adapter locked ---- */

/*
 * Start and stop the engine. It exists from the first context on, as a thread
 * unless options.step.
 */
int vmlx4_engine_start(struct vmlx4_adapter *adapter);
void vmlx4_engine_stop(struct vmlx4_adapter *adapter); /* lock not held */

/* One pass over doorbells, send queues and wires; returns the work done. */
unsigned int vmlx4_engine_pass(struct vmlx4_adapter *adapter, unsigned int budget);

/*
 * A frame from the wire (or from a peer port): steering, RSS, scatter, CQE.
 * The frame has no FCS. tx_csum_partial frames never reach this: the wire
 * completes them.
 */
void vmlx4_port_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length);

/* Longest frame without FCS that the port passes: MTU + Ethernet + two tags. */
static inline size_t
vmlx4_port_max_frame(const struct vmlx4_port *port)
{
	return port->netdev.mtu + 14 + 2 * 4;
}

/* ---- sq.c, rq.c, cq.c ---- */

/*
 * Queue life: called by the uverbs layer when an object changes state. It sets
 * the geometry and the cq, pd, port and qpn of a queue first; live, error and
 * membership in ctx->sqs belong to these functions. Destroying a QP or WQ
 * includes a reset.
 */
void vmlx4_sq_reset(struct vmlx4_qp *qp);  /* to RESET: index 0, forget */
void vmlx4_sq_ready(struct vmlx4_qp *qp);  /* to RTS */
void vmlx4_sq_pause(struct vmlx4_qp *qp);  /* to SQD: stays where it is until RTS */
void vmlx4_sq_error(struct vmlx4_qp *qp);  /* to ERR: flush what is posted */
void vmlx4_rq_reset(struct vmlx4_rq *rq);
void vmlx4_rq_ready(struct vmlx4_rq *rq);
void vmlx4_rq_error(struct vmlx4_rq *rq);

/* The next receive WQE of a queue; false: there is none. For the transports. */
bool vmlx4_rq_take(struct vmlx4_rq *rq, struct vmlx4_rwqe *rwqe);

/* Execute at most budget WQEs of one send queue; returns how many. */
unsigned int vmlx4_sq_run(struct vmlx4_qp *qp, unsigned int budget);

/* Put one received frame into a receive queue. */
void vmlx4_rq_receive(struct vmlx4_port *port, struct vmlx4_rq *rq,
	const uint8_t *frame, size_t length, const struct vmlx4_parsed *parsed,
	uint32_t hash);

/* Fresh CQ: mark all entries invalid for the first pass. */
void vmlx4_cq_init(struct vmlx4_cq *cq);
/* Room for one more CQE, judged by the consumer index record. */
bool vmlx4_cq_has_room(const struct vmlx4_cq *cq);
/*
 * There is no call to take CQEs of a dead QP back: what is written is the
 * program's, and libmlx4 compacts its CQ after RESET and destroy. The engine
 * has none in flight while the adapter is locked.
 */
/* Answer an arm that was not answered yet (doorbell word at UAR + 0x20). */
void vmlx4_cq_check_arm(struct vmlx4_cq *cq);

/* ---- moderation.c ---- */

void vmlx4_moderation_set(struct vmlx4_cq *cq, uint16_t count, uint16_t period);
void vmlx4_moderation_end(struct vmlx4_cq *cq); /* before the CQ goes */

/* ---- steering.c ---- */

/* Insert by priority, then age. 0, -ENOSPC (the MAC table is full) or -ENOMEM. */
int vmlx4_steering_add(struct vmlx4_flow *flow);
void vmlx4_steering_remove(struct vmlx4_flow *flow);
/* What was remembered of destinations; also when the MAC table changes. */
void vmlx4_destinations_forget(struct vmlx4_port *port);

/* A rule for one unicast destination makes the port own that address. */
static inline bool
vmlx4_flow_owns_mac(const struct vmlx4_flow *flow)
{
	static const uint8_t ones[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return flow->flow_type == VMLX4_FLOW_NORMAL && flow->match.eth &&
		(flow->match.dst_mac[0] & 1) == 0 &&
		memcmp(flow->match.dst_mac_mask, ones, 6) == 0;
}

/* ---- rss.c ---- */

/* Prepare qp->rss->key_table from the key. */
void vmlx4_rss_prepare(struct vmlx4_qp *qp);

/* ---- mr.c ---- */

/*
 * The bytes behind [addr, addr + length) of an lkey, or NULL when the key is
 * unknown, belongs to another PD, does not cover the range or lacks access
 * (IBV_ACCESS_LOCAL_WRITE, or 0 for reading).
 */
void *vmlx4_mr_map(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access);

/* ---- srq.c, mw.c ---- */

/* Nothing is taken from it any more, and an event says so. */
void vmlx4_srq_error(struct vmlx4_srq *srq);
/* Fewer WQEs than its limit? Then the event, once. */
void vmlx4_srq_check_limit(struct vmlx4_srq *srq);
/* The window is bound to nothing any more. */
void vmlx4_mw_unbind(struct vmlx4_mw *mw);

/* ---- clock (uverbs/clock.c) ---- */

/* Cycles of the adapter's clock: the lower 48 bits are a CQE's timestamp. */
uint64_t vmlx4_clock_now(const struct vmlx4_adapter *adapter);
/* Show it on the clock pages of all contexts: the engine does once a pass. */
void vmlx4_clock_update(struct vmlx4_adapter *adapter);

/* ---- events (uverbs/events.c) ---- */

/* An async event of IBV_EVENT_* to one context, or with ctx NULL to all. */
void vmlx4_async_event(struct vmlx4_adapter *adapter, struct vmlx4_context *ctx,
	unsigned int type, uint64_t element);
/* One of a QP, to each that has it open. */
void vmlx4_qp_event(struct vmlx4_qp *qp, unsigned int type);
/* A completion event of a CQ to its channel. */
void vmlx4_comp_event(struct vmlx4_cq *cq);
/* Recompute the port's state, and its GIDs; the contexts hear of what changed. */
void vmlx4_port_update(struct vmlx4_port *port);
void vmlx4_gids_changed(struct vmlx4_port *port);

#endif /* VMLX4_HCA_H_ */
