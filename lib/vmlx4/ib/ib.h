/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_IB_H_
#define VMLX4_IB_H_

/*
 * The InfiniBand transports over Ethernet (RoCE): reliable and unreliable
 * connections, datagrams, extended reliable connections. A QP of these types
 * has a struct vmlx4_ib; its packets are ordinary Ethernet frames, which turn
 * round inside the port or leave by its wire as any other.
 *
 * uverbs/ creates the objects, checks and stores their attributes and calls the
 * life functions below; ib/ moves the data. Everything here is called with the
 * adapter locked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct vmlx4_adapter;
struct vmlx4_cq;
struct vmlx4_hw_data;
struct vmlx4_ib;
struct vmlx4_mr;
struct vmlx4_mw;
struct vmlx4_pd;
struct vmlx4_port;
struct vmlx4_qp;
struct vmlx4_rq;
struct vmlx4_srq;

#define VMLX4_GID_SIZE 16

/* ---- addresses ---- */

enum vmlx4_roce {
	VMLX4_ROCE_V1,     /* a header as of InfiniBand behind EtherType 0x8915 */
	VMLX4_ROCE_V2,     /* IP and UDP port 4791 */
};

/* Where packets go, and as whom: of a connection, or of one datagram. */
struct vmlx4_path {
	uint8_t dmac[6];
	bool tagged;           /* with vlan: PCP, DEI and VID */
	uint16_t vlan;
	uint8_t sgid_index;    /* of the port's table: address and enum vmlx4_roce */
	uint8_t dgid[VMLX4_GID_SIZE];
	uint8_t hop_limit, traffic_class, sl, static_rate;
	uint32_t flow_label;
};

/* ---- gid.c: the table of a port (uverbs layer) ---- */

/* An entry; false: there is none of this index. */
bool vmlx4_gid_get(const struct vmlx4_port *port, unsigned int index,
	uint8_t gid[VMLX4_GID_SIZE], enum vmlx4_roce *roce);
/* Which entry is this address, of this kind? -1: none. */
int vmlx4_gid_find(const struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	enum vmlx4_roce roce);

/* ---- attributes of a connection, as MODIFY_QP set them (uverbs layer) ---- */

struct vmlx4_ib_attr {
	struct vmlx4_path path, alt_path; /* alternate: stored and reported */
	uint8_t alt_port, alt_timeout;
	uint8_t path_mig_state;    /* IBV_MIG_* */
	uint16_t pkey_index, alt_pkey_index;
	uint8_t mtu;               /* enum ibv_mtu */
	uint32_t dest_qpn;
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t access;           /* IBV_ACCESS_REMOTE_* that the peer may use */
	uint8_t max_rd_atomic;     /* as requester… */
	uint8_t max_dest_rd_atomic;/* …and as responder */
	uint8_t min_rnr_timer;     /* encoded as in the packet */
	uint8_t timeout;           /* 4.096 us << timeout; 0: forever */
	uint8_t retry_cnt, rnr_retry;
	struct {
		uint32_t access;           /* before max_dest_rd_atomic had its say… */
		uint8_t max_dest_rd_atomic;/* …and this before it was rounded */
	} asked;                   /* for MODIFY_QP alone */
};

/* ---- receive WQEs, of an RQ or an SRQ (hca/srq.c, uverbs layer) ---- */

struct vmlx4_rwqe {
	const struct vmlx4_hw_data *seg;
	uint32_t max_sge;          /* the list may end earlier, at lkey 0x100 */
	uint16_t index;            /* for the CQE */
	const struct vmlx4_pd *pd; /* whose keys are valid in it */
};

/*
 * Take the next receive WQE of the QP, from its SRQ if it has one. False: there
 * is none. The SRQ's limit event is this function's business.
 */
bool vmlx4_recv_take(struct vmlx4_qp *qp, struct vmlx4_rwqe *rwqe);
/* The same of an SRQ that a packet names (XRC). */
bool vmlx4_srq_take(struct vmlx4_srq *srq, struct vmlx4_rwqe *rwqe);

/* ---- remote keys (hca/mr.c and hca/mw.c, uverbs layer) ---- */

/*
 * The bytes behind [addr, addr + length) of an rkey, of a region or a bound
 * window, or NULL when a peer of this QP may not have them. access: IBV_ACCESS_REMOTE_*.
 * An XRC receiver has no PD: that of the SRQ counts which the packet names, and
 * which is in qp->srq meanwhile.
 */
void *vmlx4_rkey_map(struct vmlx4_qp *qp, uint32_t rkey, uint64_t addr, uint64_t length,
	uint32_t access);
/* What a BIND_MW WQE asks for (segment behind the control one); a syndrome, 0: done. */
uint8_t vmlx4_mw_bind(struct vmlx4_qp *qp, const uint8_t *segment, size_t size);
/* LOCAL_INVAL here, or SEND_INVAL of the peer; a syndrome, 0: done. */
uint8_t vmlx4_key_invalidate(struct vmlx4_qp *qp, uint32_t rkey, bool remote);

/* ---- multicast groups (uverbs layer) ---- */

/* Calls deliver for each UD QP of the port that is attached to the group; how many. */
unsigned int vmlx4_mcast_each(struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	void (*deliver)(struct vmlx4_qp *qp, void *arg), void *arg);

/* ---- life of a transport (ib/life.c, engine) ---- */

/* When the QP is created; NULL: no memory. */
struct vmlx4_ib *vmlx4_ib_new(struct vmlx4_qp *qp);
void vmlx4_ib_free(struct vmlx4_ib *ib);
struct vmlx4_ib_attr *vmlx4_ib_attr(struct vmlx4_ib *ib);

/*
 * The QP got to this state: qp->state, qp->port and the attributes are set.
 * Timers, packets under way and the queues (vmlx4_sq_ready() and so on) are
 * seen to inside.
 */
void vmlx4_ib_reset(struct vmlx4_qp *qp);
void vmlx4_ib_rtr(struct vmlx4_qp *qp);
/* What RTS takes: false, and nothing has changed, if there is no memory for it. */
bool vmlx4_ib_requests_new(struct vmlx4_qp *qp);
/* From RTR, SQD or SQE; vmlx4_ib_requests_new() comes before. */
void vmlx4_ib_rts(struct vmlx4_qp *qp);
/* SQD: an SQ_DRAINED event follows when what was begun is done, if it is wanted. */
void vmlx4_ib_sqd(struct vmlx4_qp *qp, bool notify);
/* SQD, and not all is done that was begun. */
bool vmlx4_ib_draining(const struct vmlx4_qp *qp);
/* Of the packets that come next, in both directions. */
struct vmlx4_ib_psns {
	uint32_t rq, sq;
};
struct vmlx4_ib_psns vmlx4_ib_next_psns(const struct vmlx4_qp *qp);
/* ERR: flush both queues; LAST_WQE_REACHED with an SRQ. */
void vmlx4_ib_error(struct vmlx4_qp *qp);
/* The same by itself, with an IBV_EVENT_* of the QP, or -1: answers still leave. */
void vmlx4_ib_fatal(struct vmlx4_qp *qp, int event);

/* ---- packets (ib/, engine) ---- */

/* A frame for the port: true when it was RoCE, taken or dropped and counted. */
bool vmlx4_ib_receive(struct vmlx4_port *port, const uint8_t *frame, size_t length);
/* Act on what arrived, at most budget frames, and answer; the work done. */
unsigned int vmlx4_ib_run(struct vmlx4_adapter *adapter, unsigned int budget);
/* With the engine. */
void vmlx4_ib_stop(struct vmlx4_adapter *adapter);
/* Memory that the program took away: the ring of a QP, or a buffer. False: not of one. */
void vmlx4_ib_sq_gone(struct vmlx4_qp *qp);
bool vmlx4_ib_buffer_gone(struct vmlx4_adapter *adapter, uint64_t addr);
/* Execute at most budget WQEs of a send queue with a transport; the work done. */
unsigned int vmlx4_ib_sq_run(struct vmlx4_qp *qp, unsigned int budget);

#endif /* VMLX4_IB_H_ */
