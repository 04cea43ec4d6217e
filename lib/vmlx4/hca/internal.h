/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_INTERNAL_H_
#define VMLX4_INTERNAL_H_

/* What the files of the engine share among themselves. */

#include <string.h>

#include <infiniband/verbs.h>

#include "../check/check.h"
#include "../check/cq_check.h"
#include "../check/flight.h"
#include "../check/rq_check.h"
#include "../check/sq_check.h"
#include "../fault/fault.h"
#include "../profile.h"
#include "../trace/trace.h"
#include "guard.h"
#include "hca.h"
#include "hw.h"
#include "parse.h"
#include "placement.h"
#include "rest.h"
#include "unknowns.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define VMLX4_MAX_SEGS 63
#define VMLX4_MAX_FRAME 65535u      /* that the model assembles */

/*
 * Fetch a line to write it. The program's core has read it, and a plain
 * prefetch would leave it there. Processors without the instruction skip it.
 */
static inline void
vmlx4_prefetch_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const uint8_t *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* ---- big-endian words of the program's memory ---- */

/* Orders: a dword that hands memory over, before the reads of that memory. */
static inline uint32_t
vmlx4_load_be32(const uint32_t *p)
{
	return be32toh(__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static inline uint16_t
vmlx4_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline void
vmlx4_put_be16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t
vmlx4_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline void
vmlx4_put_be32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* ---- checksum.c: ones' complement sums, in memory order ---- */

uint64_t vmlx4_sum(const uint8_t *data, size_t length, uint64_t sum);
uint16_t vmlx4_sum_fold(uint64_t sum);
/* Sum of the pseudo header of the L4 packet of length bytes. */
uint64_t vmlx4_sum_pseudo(const uint8_t *frame, const struct vmlx4_parsed *parsed,
	uint8_t protocol, uint32_t length);
/* Ethernet FCS in the order of the wire. */
uint32_t vmlx4_fcs(const uint8_t *data, size_t length);

/* ---- rq.c ---- */

/* Read the producer record; the number of WQEs to fill. */
uint32_t vmlx4_rq_refresh(struct vmlx4_rq *rq);

/* ---- sq.c, rq.c: for unmapped.c ---- */

/* The WQE at the head met a buffer that is gone. */
void vmlx4_sq_lost_buffer(struct vmlx4_qp *qp);
void vmlx4_rq_lost_buffer(struct vmlx4_port *port, struct vmlx4_rq *rq);
/* The WQE at the head was left in the middle by the fault of a receiver. */
void vmlx4_sq_skip(struct vmlx4_qp *qp);

/* ---- mr.c ---- */

static inline void *
vmlx4_mr_lookup(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access)
{
	const struct vmlx4_mr *mr = NULL;
	uint64_t offset;

	if (likely((lkey >> 8) < VMLX4_MR_TABLE))
		mr = adapter->mr_table[lkey >> 8];
	if (unlikely(mr == NULL || mr->lkey != lkey || mr->pd != pd))
		return NULL;
	offset = addr - mr->iova;
	if (unlikely(offset > mr->length || length > mr->length - offset ||
	    (mr->access & access) != access))
		return NULL;
	return (void *)(uintptr_t)(mr->start + offset);
}

/* Why vmlx4_mr_map() said NULL, for the contract checker. */
const char *vmlx4_mr_reason(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access);

/* ---- cq.c ---- */

/*
 * The entry to fill, or NULL: the CQ is in error, or just ran over (which this
 * reports). vmlx4_cq_commit() hands the entry over.
 */
struct vmlx4_hw_cqe *vmlx4_cq_claim(struct vmlx4_cq *cq);
void vmlx4_cq_commit(struct vmlx4_cq *cq, struct vmlx4_hw_cqe *cqe, uint8_t op);
void vmlx4_cq_write_error(struct vmlx4_cq *cq, uint32_t qpn, bool send,
	uint16_t wqe_index, uint8_t syndrome);
/* The same, of a receive WQE of an SRQ that XRC packets name. */
void vmlx4_cq_write_error_of(struct vmlx4_cq *cq, uint32_t qpn, bool send,
	uint16_t wqe_index, uint8_t syndrome, uint32_t srqn);
/* Contract: the consumer record is not ahead of the producer. False: it is. */
bool vmlx4_cq_check_consumer(struct vmlx4_cq *cq);
/* The valid part of an entry, by its running index. */
struct vmlx4_hw_cqe *vmlx4_cq_entry(const struct vmlx4_cq *cq, uint32_t index);
/* All arms of a context, after the doorbell word arm. */
void vmlx4_cq_arm_doorbell(struct vmlx4_context *ctx, uint64_t arm);

/* ---- sq.c ---- */

/* The CQE of the WQE at a running index; false: the CQ is in error, or just ran over. */
bool vmlx4_sq_write_cqe(struct vmlx4_qp *qp, uint32_t index, uint32_t opcode,
	uint32_t byte_cnt);

/* ---- rx_status.c ---- */

struct vmlx4_rx_status {
	uint32_t vlan;       /* bits of vlan_qpn */
	uint32_t status;
	uint16_t sl_vid;
	uint16_t checksum;   /* memory order */
};
void vmlx4_rx_status(const struct vmlx4_unknowns *unknowns, const uint8_t *frame,
	const struct vmlx4_parsed *parsed, struct vmlx4_rx_status *st);

/* ---- rss.c ---- */

/* True when the packet is hashed. */
bool vmlx4_rss_hash(const struct vmlx4_qp *qp, const uint8_t *frame,
	const struct vmlx4_parsed *parsed, uint32_t *hash);

/* ---- steering_table.c ---- */

/* 48 bits, first byte highest. */
static inline uint64_t
vmlx4_mac_word(const uint8_t *mac)
{
	/*
	 * In registers: assembled in memory and read back as one word it would wait
	 * for every store before it, also those to the program's cold buffers.
	 */
	return (uint64_t)vmlx4_be32(mac) << 16 | vmlx4_be16(mac + 4);
}

#define VMLX4_MAC_BROADCAST 0xffffffffffffu

/* Place of a unicast address in the port's table. */
uint8_t vmlx4_mac_index(const struct vmlx4_port *port, uint64_t mac);

/*
 * What is known of an address becomes port->steering.last. False: nothing is. Not for
 * a tunnel's packets, which other rules may match.
 */
bool vmlx4_destination_find(struct vmlx4_port *port, uint64_t mac);
/* Remember the one rule that gets the frames to an address, if the address decides. */
void vmlx4_destination_note(struct vmlx4_port *port, uint64_t mac, struct vmlx4_flow *flow,
	uint8_t mac_index);

/* ---- steering.c ---- */

/* Deliver to every QP that wants the frame. */
void vmlx4_steer(struct vmlx4_port *port, const uint8_t *frame, size_t length);
/* The same for a copy that nobody need want. A QP to leave out, or NULL. */
void vmlx4_steer_copy(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_qp *except);
/* A copy of what left for SNIFFER rules. */
void vmlx4_steer_sent(struct vmlx4_port *port, const uint8_t *frame, size_t length);

/* ---- port.c ---- */

/* Send one frame; drops are counted. */
void vmlx4_port_send(struct vmlx4_port *port, const uint8_t *frame, size_t length);
/* What vmlx4_port_send() and vmlx4_port_receive() do with what no fault has hit. */
void vmlx4_port_transmit(struct vmlx4_port *port, const uint8_t *frame, size_t length);
void vmlx4_port_accept(struct vmlx4_port *port, const uint8_t *frame, size_t length);

/* ---- sq_gather.c ---- */

struct vmlx4_gather {
	uint32_t segs;       /* not empty */
	uint32_t length;
	uint8_t syndrome;    /* 0: fine */
	const uint8_t *base[VMLX4_MAX_SEGS];
	uint32_t size[VMLX4_MAX_SEGS];
};

/* The segments from byte offset of a WQE of size bytes that lies contiguous. */
void vmlx4_gather(struct vmlx4_qp *qp, const uint8_t *wqe, uint32_t offset,
	uint32_t size, struct vmlx4_gather *g);
void vmlx4_gather_copy(const struct vmlx4_gather *g, uint8_t *to);

/* ---- tx_offload.c ---- */

/* What the control segment asks for. */
struct vmlx4_tx_ask {
	bool csum_ip, csum_l4, inner_ip, inner_l4;
	uint16_t vlan_type;  /* 0: insert nothing */
	uint16_t vlan_tci;
	unsigned int vxlan_port; /* VMLX4_NO_VXLAN: the card knows no tunnels */
	unsigned int loop;   /* VMLX4_LOOP_* */
	uint32_t dmac_hi, dmac_lo; /* bytes 0, 1 and 2..5, host order, if loop is not 0 */
	struct vmlx4_qp *qp;
};

void vmlx4_tx_checksums(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask);
/* Insert the tag; room for four more bytes. Returns the new length. */
size_t vmlx4_tx_vlan(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask);

/* ---- tx_lso.c ---- */

/* Cut payload into frames behind copies of header and send them; a syndrome. */
uint8_t vmlx4_tx_lso(struct vmlx4_port *port, uint8_t *header, size_t header_length,
	const struct vmlx4_gather *payload, uint32_t mss, const struct vmlx4_tx_ask *ask);

/* ---- loopback.c: what a port sends to itself ---- */

#define VMLX4_LOOP_FORCE 1u     /* FL: to this port, whatever the destination */
#define VMLX4_LOOP_UNICAST 2u   /* perhaps one of this port's */
#define VMLX4_LOOP_MULTICAST 4u

/* Does the port own a unicast MAC that ends as the one in the control segment? */
static inline bool
vmlx4_may_loop(const struct vmlx4_port *port, const struct vmlx4_hw_ctrl *ctrl)
{
	return port->steering.own[be32toh(ctrl->imm) & 0xff] != 0;
}

/* Which of them the control segment of a send asks for. */
unsigned int vmlx4_loopback_ask(const struct vmlx4_port *port, uint32_t dw2, uint32_t dw3);
/* Deliver it inside; false: it goes to the wire too. */
bool vmlx4_loopback(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_tx_ask *ask);

/* The way of every frame that a WQE asks something for. */
static inline void
vmlx4_tx_emit(struct vmlx4_port *port, const uint8_t *frame, size_t length,
	const struct vmlx4_tx_ask *ask)
{
	if (likely(ask->loop == 0) || !vmlx4_loopback(port, frame, length, ask))
		vmlx4_port_send(port, frame, length);
}

/* ---- pause.c ---- */

/* True: it was a pause frame. */
bool vmlx4_pause_received(struct vmlx4_port *port, const uint8_t *frame, size_t length);
/* A receive queue of the port had no WQE for a frame. */
void vmlx4_pause_starved(struct vmlx4_port *port);

/* ---- moderation.c ---- */

/* Of a CQ with moderation, armed, and with CQEs waiting: does the event wait? */
bool vmlx4_moderation_holds(struct vmlx4_cq *cq, uint32_t waiting, uint32_t errors);

/* ---- engine.c ---- */

/* Take the doorbells of a context, and note what they ask for. */
void vmlx4_engine_doorbells(struct vmlx4_context *ctx);
/* A new doorbell, or another reason to look at the send queues. */
void vmlx4_engine_kick(struct vmlx4_context *ctx);
uint64_t vmlx4_now_ns(void);
/* Nothing moves for a while: the wires may flush, and ask to be woken. */
void vmlx4_wires_idle(struct vmlx4_adapter *adapter);
/* A pass, and who calls it sees to memory that is gone (unmapped.c). */
unsigned int vmlx4_engine_pass_unguarded(struct vmlx4_adapter *adapter, unsigned int budget);
/* Look at the queues that no doorbell announced. */
void vmlx4_engine_audit(struct vmlx4_adapter *adapter);
/* Drop frames injected and not received yet (control.c). */
void vmlx4_inject_drop(struct vmlx4_engine *engine);
unsigned int vmlx4_inject_deliver(struct vmlx4_adapter *adapter, unsigned int budget);

struct vmlx4_injected {
	STAILQ_ENTRY(vmlx4_injected) next;
	struct vmlx4_port *port;
	size_t length;
	uint8_t frame[];
};
STAILQ_HEAD(vmlx4_injected_list, vmlx4_injected);

struct vmlx4_engine {
	struct vmlx4_adapter *adapter;
	pthread_t thread;
	bool threaded;
	atomic_bool stop;
	unsigned int passes;
	uint64_t audit_at;   /* when to look at idle queues again */
	struct vmlx4_rest rest;
	bool placed;         /* nobody told it which CPU to use */
	struct vmlx4_placement placement;
	struct vmlx4_injected_list injected;
};

static inline const struct vmlx4_unknowns *
vmlx4_unknowns(const struct vmlx4_adapter *adapter)
{
	return &adapter->options.unknowns;
}

#define VMLX4_NO_VXLAN UINT32_MAX

/* The UDP port by which the card knows VXLAN. */
static inline unsigned int
vmlx4_vxlan_port(const struct vmlx4_adapter *adapter)
{
	return adapter->profile->tunnel_offload && vmlx4_unknowns(adapter)->vxlan_port != 0 ?
		vmlx4_unknowns(adapter)->vxlan_port : VMLX4_NO_VXLAN;
}

static inline bool
vmlx4_strict(const struct vmlx4_adapter *adapter)
{
	return adapter->options.strict != VMLX4_STRICT_OFF;
}

#endif /* VMLX4_INTERNAL_H_ */
