/* SPDX-License-Identifier: BSD-3-Clause */

/* The send engine: a ring full of an input's bytes. */

#include <stdio.h>
#include <stdlib.h>

#include "card.h"
#include "fuzz.h"

#define RING 8192u

static struct card card;
static struct vmlx4_cq *cq;
static struct vmlx4_qp *tx, *rx;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	card_new(&card, VMLX4_STRICT_REPORT);
	cq = card_cq(&card, 64, 64);
	tx = card_sq(&card, cq, RING / 64, 6);
	rx = card_rq(&card, cq, 64, 4);
	card_catch_all(&card, 2, rx);
	return 0;
}

/* The toggles of the model that the send side looks at, and the card's model. */
static void
configure(uint8_t bits)
{
	struct vmlx4_unknowns *unknowns = &card.adapter->options.unknowns;

	*unknowns = vmlx4_unknown_defaults;
	unknowns->tx_oversize_error = bits & 1;
	unknowns->tx_empty_error = bits >> 1 & 1;
	unknowns->tx_cq_full_stalls = bits >> 2 & 1;
	unknowns->tx_vlan_both = bits >> 3 & 1;
	card.adapter->profile = vmlx4_profile_find((bits & 0x10) != 0 ? "cx3" : "cx3pro");
	card.adapter->options.strict = (bits & 0x20) != 0 ? VMLX4_STRICT_OFF :
		VMLX4_STRICT_REPORT;
	card.adapter->ports[1].netdev.mtu = (bits & 0x40) != 0 ? 9000 : 1500;
	card.adapter->ports[0].netdev.mtu = card.adapter->ports[1].netdev.mtu;
}

static void
reset(unsigned int shift)
{
	unsigned int i;

	vmlx4_sq_reset(tx);
	vmlx4_rq_reset(&rx->rq);
	vmlx4_cq_init(cq);
	memset(cq->db, 0, 8);
	tx->state = IBV_QPS_RTS;
	tx->sq.stride_shift = shift;
	tx->sq.wqe_cnt = RING >> shift;
	memset(tx->sq.buf, 0xff, RING);
	for (i = 0; i < 64; i++)
		card_post_recv(rx, i, card.arena + 512 * i, 512);
	card_rq_record(rx, 64);
	vmlx4_sq_ready(tx);
	vmlx4_rq_ready(&rx->rq);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned int i;

	configure(take8(&in));
	reset(6 + take8(&in) % 5);
	size = take(&in, tx->sq.buf, RING);
	place_in_wqe(tx->sq.buf, size, card.arena, 2 * CARD_ARENA);
	for (i = 0; i < 4; i++) {
		card_ring(&card, tx);
		vmlx4_engine_audit(card.adapter);
		/* A program that polls. */
		*cq->db = htobe32(cq->pi & 0xffffff);
	}
	return 0;
}
