/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_IB_TRANSPORT_H_
#define VMLX4_IB_TRANSPORT_H_

/* Between the files of the transports. */

#include "../hca/internal.h"
#include "ib.h"
#include "packet.h"

#define VMLX4_IB_WINDOW 64u     /* packets of requests without an answer */
#define VMLX4_IB_ACK_EVERY 16u  /* of a long message, this often an answer is asked for */
#define VMLX4_IB_ATOMICS 16u    /* results kept for duplicates; the most a peer may ask at once */
#define VMLX4_IB_ANSWERS 64u    /* waiting to be sent; power of two */

/* ---- a send WQE, decoded (wqe.c) ---- */

struct vmlx4_ib_wqe {
	uint8_t opcode;            /* VMLX4_HW_OP_* */
	bool signaled, solicited, fence, ordered;
	uint32_t imm;              /* or the rkey to invalidate */
	uint32_t srqn;             /* XRC: of the peer */
	uint64_t va;               /* of the peer */
	uint32_t rkey;
	uint64_t swap_add, compare; /* masked addition: the second is the boundaries */
	uint64_t swap_mask, compare_mask;
	const uint8_t *datagram;   /* UD: the address, 48 bytes */
	uint32_t data;             /* where its segments begin */
	const uint8_t *bytes;      /* all of it, contiguous */
	uint32_t size;
};

/* The WQE at a running index. False: its opcode or size is none of this QP's. */
bool vmlx4_ib_wqe_read(struct vmlx4_qp *qp, uint32_t index, struct vmlx4_ib_wqe *wqe);

/* The least bytes of a WQE: its segments before the data. 0: not one of this QP's. */
uint32_t vmlx4_ib_wqe_least(const struct vmlx4_qp *qp, uint8_t opcode);

static inline bool
vmlx4_ib_is_read(uint8_t opcode)
{
	return opcode == VMLX4_HW_OP_READ || opcode == VMLX4_HW_OP_ATOMIC_CS ||
		opcode == VMLX4_HW_OP_ATOMIC_FA || opcode == VMLX4_HW_OP_MASKED_CS ||
		opcode == VMLX4_HW_OP_MASKED_FA;
}

/* ---- a QP's transport ---- */

struct vmlx4_ib_timer {
	struct vmlx4_timer timer;  /* first: it leads back here */
	struct vmlx4_qp *qp;
};

/* A WQE that was begun and is not completed. */
struct vmlx4_ib_request {
	uint32_t index;            /* in the send queue, runs free */
	uint8_t opcode;
	uint8_t syndrome;          /* it failed, which is told when those before are done */
	bool no_error_cqe;
	bool signaled, done;
	uint32_t psn, packets;     /* the first, and how many; 0: nothing of it is sent */
	uint32_t number, sends;    /* the same, of packets that the requester sends */
	uint32_t length;           /* bytes */
	uint32_t acked;            /* of packets */
};

/* What the responder still has to send. */
struct vmlx4_ib_answer {
	uint8_t op;                /* VMLX4_OP_READ, _ACK, _ATOMIC_ACK */
	uint8_t syndrome;
	uint32_t psn, msn;
	uint64_t va, original;
	uint32_t rkey, length;
	uint32_t srqn;             /* XRC: named by the request */
	uint32_t sent;             /* READ: packets */
	bool again;                /* the request was a repetition */
};

struct vmlx4_ib {
	struct vmlx4_qp *qp;
	struct vmlx4_ib_attr attr;
	uint32_t mtu;              /* bytes */

	struct {
		struct vmlx4_ib_request *requests; /* a ring, as long as the send queue */
		uint32_t mask;
		uint32_t first, last;  /* of those in it, running; last is behind the youngest */
		uint32_t current;      /* to be sent next… */
		uint32_t sent;         /* …and how many packets of it were */
		uint32_t psn, number;  /* of the next request */
		uint32_t reads;        /* under way: reads and atomics */
		unsigned int retries, rnr_retries; /* left */
		bool rnr_waits;
		bool failed;           /* one of them: no new one begins */
		bool implied;          /* went back for a lost answer, and no progress since */
		bool overdue;          /* the time is over; in work->overdue */
		bool draining, notify; /* SQD */
		struct vmlx4_ib_timer retry, rnr;
	} tx;

	struct {
		uint32_t psn, msn;     /* expected; completed */
		bool established;      /* COMM_EST was told */
		bool nak_sent;         /* for this gap */
		unsigned int message;  /* VMLX4_IS_SEND, _WRITE: in the middle of one; or 0 */
		uint32_t message_bytes; /* of it so far */
		uint32_t received;     /* of a receive WQE: bytes in it */
		bool has_wqe;          /* taken, and not completed */
		struct vmlx4_rwqe wqe;
		uint32_t srqn;         /* where it is from, of XRC */
		uint64_t va;           /* WRITE: where the rest goes… */
		uint32_t rkey, left;   /* …and how much it is */
		struct {
			bool used;
			uint32_t psn;
			uint64_t original;
		} atomics[VMLX4_IB_ATOMICS];
		unsigned int next_atomic;
	} rx;

	struct vmlx4_ib_answer answers[VMLX4_IB_ANSWERS];
	uint32_t answer_first, answer_last;
	bool answering;            /* in work->answering */
	TAILQ_ENTRY(vmlx4_ib) answers_next, overdue_next;
};
TAILQ_HEAD(vmlx4_ib_list, vmlx4_ib);

/* ---- what an adapter has to do (work.c) ---- */

struct vmlx4_ib_frame {
	STAILQ_ENTRY(vmlx4_ib_frame) next;
	struct vmlx4_port *port;
	uint32_t except;           /* QPN that gets no copy, or 0 */
	size_t length;
	uint8_t bytes[];
};
STAILQ_HEAD(vmlx4_ib_frames, vmlx4_ib_frame);

/* Whose memory is touched just now: for memory that is gone. */
enum vmlx4_ib_phase { VMLX4_IB_IDLE, VMLX4_IB_REQUESTER, VMLX4_IB_RESPONDER };

struct vmlx4_ib_work {
	struct vmlx4_ib_frames frames; /* arrived */
	unsigned int waiting;      /* of them */
	struct vmlx4_ib_frame *current;
	struct vmlx4_ib_list answering, overdue;
	struct vmlx4_qp *active;
	enum vmlx4_ib_phase phase;
};

struct vmlx4_ib_work *vmlx4_ib_work_new(void);
/* May another packet be made, or do too many wait already? */
bool vmlx4_ib_may_send(const struct vmlx4_qp *qp);
/* The head of a packet of the connection: addresses, PKey. */
void vmlx4_ib_address(struct vmlx4_qp *qp, const struct vmlx4_path *path,
	struct vmlx4_ib_packet *packet);
/* A frame leaves, or turns round in the port. */
void vmlx4_ib_emit(struct vmlx4_qp *qp, const uint8_t *frame, size_t length);
/* The one frame that is being made (the adapter is locked). */
uint8_t *vmlx4_ib_frame_buffer(void);

/* ---- memory (memory.c) ---- */

/* Where a list of segments is, for complaints. */
struct vmlx4_ib_where {
	const char *queue;
	uint32_t number, index;
};

/*
 * Spread size bytes over a list of segments, from offset of the message on; a
 * syndrome. max segments, fewer if one has lkey 0x100.
 */
uint8_t vmlx4_ib_scatter(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	const struct vmlx4_hw_data *seg, uint32_t max, uint64_t offset, const uint8_t *data,
	uint32_t size, const struct vmlx4_ib_where *where);
/* Copy a part of what was gathered. */
void vmlx4_ib_gather_part(const struct vmlx4_gather *g, uint32_t offset, uint32_t size,
	uint8_t *to);

/* ---- completions (completion.c) ---- */

/* Complete requests in their order, as far as they are done. */
void vmlx4_ib_reap(struct vmlx4_qp *qp);
/* A request ends with an error, when its turn comes. */
void vmlx4_ib_fail(struct vmlx4_qp *qp, struct vmlx4_ib_request *request, uint8_t syndrome);
/* The event of a QP in error: of one that cannot tell so by a completion, or else -1. */
int vmlx4_ib_untold(const struct vmlx4_cq *cq);

/* ---- requester.c, answers.c ---- */

static inline struct vmlx4_ib_request *
vmlx4_ib_request_at(struct vmlx4_ib *ib, uint32_t number)
{
	return &ib->tx.requests[number & ib->tx.mask];
}

/* The WQE at the head was left in the middle: it ends as one with a bad key. False: none. */
bool vmlx4_ib_begin_failed(struct vmlx4_qp *qp);
/* Send again from the oldest that was not answered on. */
void vmlx4_ib_go_back(struct vmlx4_qp *qp);
void vmlx4_ib_kick(struct vmlx4_qp *qp);
void vmlx4_ib_retry_arm(struct vmlx4_qp *qp);
/* Nothing came in time: try again, or not. */
void vmlx4_ib_answer_missed(struct vmlx4_qp *qp);
void vmlx4_ib_timers_init(struct vmlx4_qp *qp);
void vmlx4_ib_timers_cancel(struct vmlx4_qp *qp);
/* A response arrived. */
void vmlx4_ib_answered(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet);
/* RC and XRC: PSNs, retries. UC: each packet once. */
static inline bool
vmlx4_ib_reliable(const struct vmlx4_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND ||
		qp->qp_type == IBV_QPT_XRC_RECV;
}

/* ---- responder.c, respond.c ---- */

void vmlx4_ib_requested(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet);
/* UC: no answers, and nothing is asked for again. */
void vmlx4_ib_requested_uc(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet);
/* Queue an ACK or NAK for a PSN. */
void vmlx4_ib_answer(struct vmlx4_qp *qp, uint8_t syndrome, uint32_t psn);
/* Queue another answer; false: too many wait. */
bool vmlx4_ib_answer_add(struct vmlx4_qp *qp, const struct vmlx4_ib_answer *answer);
/* Send what is queued, at most budget packets; how many. */
unsigned int vmlx4_ib_answers_run(struct vmlx4_qp *qp, unsigned int budget);
/* The PSN of the packet that is sent next. */
uint32_t vmlx4_ib_answer_psn(const struct vmlx4_qp *qp);
/* Not any more… */
void vmlx4_ib_answers_drop(struct vmlx4_qp *qp);
/* …from the answer on that has this PSN, or comes behind it. */
void vmlx4_ib_answers_drop_from(struct vmlx4_qp *qp, uint32_t psn);

/* ---- receive.c ---- */

/* The SRQ of an XRC receiver's domain that a packet names, or NULL. */
struct vmlx4_srq *vmlx4_ib_xrc_srq(const struct vmlx4_qp *qp, uint32_t srqn);
/* The message goes on to, or begins, the receive WQE at hand; false: there is none. */
bool vmlx4_ib_recv_begin(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet);
/* Payload for it; a syndrome. */
uint8_t vmlx4_ib_recv_data(struct vmlx4_qp *qp, const uint8_t *data, uint32_t size);
/* Complete it; false: the CQ ran over. opcode: of a receive CQE. */
bool vmlx4_ib_recv_complete(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet,
	uint8_t opcode, uint32_t byte_cnt);
void vmlx4_ib_recv_error(struct vmlx4_qp *qp, uint8_t syndrome);
/* The event of a QP whose receive WQE was the last: it may not have been able to tell so. */
int vmlx4_ib_recv_untold(const struct vmlx4_qp *qp);

/* ---- datagram.c ---- */

/* Send one; a syndrome. */
uint8_t vmlx4_ib_datagram_send(struct vmlx4_qp *qp, const struct vmlx4_ib_wqe *wqe);
void vmlx4_ib_datagram_received(struct vmlx4_qp *qp, const struct vmlx4_ib_packet *packet);

#endif /* VMLX4_IB_TRANSPORT_H_ */
