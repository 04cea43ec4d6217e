/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef IB_BED_H_
#define IB_BED_H_

/*
 * Two QPs with a transport on a card of plain memory, connected: a on port 1, b on
 * port 2 at the other end of the cable, or on port 1 as well. Each has a CQ of its
 * own, receive buffers and a part of the arena.
 */

#include <stdlib.h>

#include "../hca/card.h"
#include "ib/transport.h"

#define BED_MTU 1024u
#define BED_WQES 64u
#define BED_RWQES 32u
#define BED_STRIDE_SHIFT 7
#define BED_PART (CARD_ARENA / 2)
#define BED_QKEY 0x11111111u

struct bed_end {
	struct vmlx4_cq *cq;
	struct vmlx4_qp *qp;
	uint8_t *memory;           /* BED_PART bytes */
	uint32_t posted, received; /* WQEs */
	uint32_t polled;           /* CQEs */
};

struct bed {
	struct card card;
	struct bed_end a, b;
};

/* Connected and in RTS, stepped, with the contract checker. */
struct bed *bed_new(unsigned int qp_type, unsigned int port_of_b);
void bed_free(struct bed *bed);
/* Attributes and states of both ends, once more after a reset of them. */
void bed_connect(struct bed *bed);
void bed_step(struct bed *bed);
void bed_advance(struct bed *bed, uint64_t ns);

/* ---- posting ---- */

#define SIGNALED 0x0cu     /* in the flags of a control segment */

struct bed_sge {
	const void *addr;
	uint32_t length;
};

struct bed_wr {
	uint8_t opcode;            /* of a WQE */
	uint32_t flags;            /* of the control segment: SIGNALED and others */
	bool fence;
	uint32_t imm;
	uint64_t va;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint64_t swap_mask, compare_mask;
	uint32_t lkey;             /* 0: CARD_LKEY */
	const uint8_t *datagram;   /* UD: 48 bytes */
	unsigned int sges;
	struct bed_sge sge[4];
	bool inlined;              /* the first one */
};

/* A signaled one for a, of the first bytes of its memory and, where it matters, b's. */
struct bed_wr bed_wr_of(const struct bed *bed, uint8_t opcode, uint32_t length);
void bed_post(struct bed_end *end, const struct bed_wr *wr);
void bed_recv(struct bed_end *end, void *addr, uint32_t length);
/* The address vector for a datagram to an end. */
void bed_address(const struct bed_end *to, uint8_t av[48]);

/* ---- completions ---- */

/* The next CQE, 32 bytes; fails if there is none. */
const uint8_t *bed_cqe(struct bed_end *end);
/* No further CQE. */
void bed_no_cqe(struct bed_end *end);
/* It is a good send completion of this opcode and WQE. */
void bed_sent(struct bed_end *end, uint8_t opcode, uint16_t index);
/* It is an error of this syndrome. */
void bed_failed(struct bed_end *end, uint8_t syndrome);
/* A good receive completion; its CQE. */
const uint8_t *bed_received(struct bed_end *end, uint8_t opcode, uint32_t length);
/* The next async event; 0xff: there is none. */
unsigned int bed_event(struct bed *bed);

void bed_fill(uint8_t *at, size_t size, unsigned int seed);

#endif /* IB_BED_H_ */
