/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef CARD_H_
#define CARD_H_

/*
 * A card on plain memory: the object model built by hand, two ports back to
 * back, no verbs. The engine is stepped.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hca/internal.h"
#include "profile.h"
#include "wire/wire.h"

#define CARD_ARENA 65536
#define CARD_LKEY 0x00010000u /* covers the arena */

struct card {
	struct vmlx4_adapter *adapter;
	struct vmlx4_context *ctx;
	struct vmlx4_pd pd;
	struct vmlx4_mr mr;
	uint8_t *arena;      /* CARD_ARENA bytes of packet memory */
	int async[2], comp[2];
	struct vmlx4_channel channel;
};

void card_new(struct card *card, enum vmlx4_strict strict);
void card_free(struct card *card);
/* Faults as --faults takes them, before anything else happens. */
void card_faults(struct card *card, const char *text);

struct vmlx4_cq *card_cq(struct card *card, uint32_t entries, uint32_t cqe_size);
void card_cq_free(struct vmlx4_cq *cq);
uint8_t *card_cqe(struct vmlx4_cq *cq, uint32_t index); /* the valid 32 bytes */

/* A QP of port 1 with an SQ in RTS, its ring stamped as a driver should. */
struct vmlx4_qp *card_sq(struct card *card, struct vmlx4_cq *cq, uint32_t wqes,
	uint32_t stride_shift);
/* The same with an RQ that takes what arrives at port 2. */
struct vmlx4_qp *card_rq(struct card *card, struct vmlx4_cq *cq, uint32_t wqes,
	uint32_t max_sge);
void card_qp_free(struct card *card, struct vmlx4_qp *qp);
/* A rule of a port for everything but broadcast. */
struct vmlx4_flow *card_catch_all(struct card *card, unsigned int port, struct vmlx4_qp *qp);
void card_flow_free(struct vmlx4_flow *flow);

/* Ring the send doorbell and step. */
void card_ring(struct card *card, struct vmlx4_qp *qp);
/* Post one receive buffer at WQE index; the caller advances the record. */
void card_post_recv(struct vmlx4_qp *qp, uint32_t index, const void *buf, uint32_t size);
void card_rq_record(struct vmlx4_qp *qp, uint32_t posted);

/* Big-endian words into a WQE. */
void card_put(uint8_t *at, const uint32_t *dwords, unsigned int count);
/* Control segment and one data segment; the owner dword is written last. */
void card_post(struct vmlx4_qp *qp, uint32_t index, uint32_t flags, const void *buf,
	uint32_t size);

/* Frames that left a port. */
struct card_sent {
	unsigned int count;
	size_t length[64];
	uint8_t frame[64][2048];
};
extern struct card_sent card_sent;
void card_watch(struct card *card, unsigned int port);

#endif /* CARD_H_ */
