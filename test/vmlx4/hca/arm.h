/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ARM_H_
#define ARM_H_

#include <stdlib.h>
#include <sys/socket.h>

#include "card.h"

/* A CQ with a channel, its arms, and the events that come of them. */

struct arm {
	struct card card;
	struct vmlx4_cq *cq;
};

static inline struct arm *
arm_new(enum vmlx4_strict strict)
{
	struct arm *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	card_new(&a->card, strict);
	a->cq = card_cq(&a->card, 16, 64);
	a->cq->channel = &a->card.channel;
	a->cq->obj.user_handle = 0xc0ffee;
	return a;
}

static inline void
arm_free(struct arm *a)
{
	card_cq_free(a->cq);
	card_free(&a->card);
	free(a);
}

/* As a driver does it: record, then doorbell. */
static inline void
do_arm(struct arm *a, uint32_t sn, uint32_t cmd, uint32_t ci)
{
	uint32_t word[2];

	a->cq->db[1] = htobe32(sn << 28 | cmd << 24 | ci);
	word[0] = htobe32(sn << 28 | cmd << 24 | a->cq->cqn);
	word[1] = htobe32(ci);
	memcpy(a->card.ctx->pages + 0x20, word, 8);
	vmlx4_engine_pass(a->card.adapter, 0);
}

static inline void
complete(struct arm *a)
{
	struct vmlx4_hw_cqe *cqe = vmlx4_cq_claim(a->cq);

	assert_non_null(cqe);
	memset(cqe, 0, 28);
	vmlx4_cq_commit(a->cq, cqe, 0x01);
}

static inline unsigned int
events(struct arm *a)
{
	unsigned int n = 0;
	uint64_t handle;

	while (recv(a->card.comp[0], &handle, 8, MSG_DONTWAIT) == 8) {
		assert_int_equal(handle, 0xc0ffee);
		n++;
	}
	return n;
}

#endif /* ARM_H_ */
