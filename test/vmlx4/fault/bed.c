/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "bed.h"

struct bed *
bed_new(const char *faults)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	unsigned int i;

	assert_non_null(bed);
	card_new(&bed->card, VMLX4_STRICT_REPORT);
	card_faults(&bed->card, faults);
	bed->tx_cq = card_cq(&bed->card, BED_WQES, 64);
	bed->rx_cq = card_cq(&bed->card, BED_WQES, 64);
	bed->rx_cq->cqn = 0x81;
	bed->tx = card_sq(&bed->card, bed->tx_cq, BED_WQES, 6);
	bed->rx = card_rq(&bed->card, bed->rx_cq, BED_WQES, 1);
	bed->flow = card_catch_all(&bed->card, 2, bed->rx);
	for (i = 0; i < BED_WQES; i++)
		card_post_recv(bed->rx, i, bed->card.arena + 32768 + i * 128, 128);
	card_rq_record(bed->rx, BED_WQES);
	return bed;
}

void
bed_free(struct bed *bed)
{
	assert_int_equal(bed->card.adapter->violations, 0);
	card_flow_free(bed->flow);
	card_qp_free(&bed->card, bed->tx);
	card_qp_free(&bed->card, bed->rx);
	vmlx4_fault_cq_gone(bed->tx_cq);
	vmlx4_fault_cq_gone(bed->rx_cq);
	card_cq_free(bed->tx_cq);
	card_cq_free(bed->rx_cq);
	card_free(&bed->card);
	free(bed);
}

void
bed_send(struct bed *bed, unsigned int n)
{
	for (; n > 0; n--, bed->sent++) {
		uint8_t *frame = bed->card.arena + (bed->sent % BED_WQES) * BED_FRAME;

		memset(frame, 0x5a, BED_FRAME);
		memcpy(frame, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5", 14);
		frame[14] = (uint8_t)bed->sent;
		card_post(bed->tx, bed->sent, 0xe, frame, BED_FRAME);
	}
	card_ring(&bed->card, bed->tx);
}

void
bed_wait(struct bed *bed, uint64_t ns)
{
	bed->card.adapter->time.stepped += ns;
	while (vmlx4_engine_pass(bed->card.adapter, 0) != 0)
		;
}

static const uint8_t *
next_cqe(struct vmlx4_cq *cq, uint32_t *seen)
{
	const uint8_t *cqe = card_cqe(cq, *seen);

	if ((cqe[31] >> 7) != ((*seen & cq->cqe_cnt) != 0))
		return NULL;
	++*seen;
	cq->db[0] = htobe32(*seen & 0xffffff);
	return cqe;
}

const uint8_t *
bed_tx_cqe(struct bed *bed)
{
	return next_cqe(bed->tx_cq, &bed->tx_seen);
}

const uint8_t *
bed_rx_cqe(struct bed *bed)
{
	return next_cqe(bed->rx_cq, &bed->rx_seen);
}

unsigned int
bed_tx_count(struct bed *bed)
{
	unsigned int n = 0;

	while (bed_tx_cqe(bed) != NULL)
		n++;
	return n;
}

int
bed_received(struct bed *bed, const uint8_t **frame, uint32_t *length)
{
	const uint8_t *cqe = bed_rx_cqe(bed);
	uint32_t slot = (bed->rx_seen - 1) % BED_WQES;

	if (cqe == NULL)
		return -1;
	assert_int_equal(cqe[31] & 0x1f, 1);
	*frame = bed->card.arena + 32768 + slot * 128;
	memcpy(length, cqe + 20, 4);
	*length = be32toh(*length);
	return (*frame)[14];
}

void
bed_expect(struct bed *bed, const int *numbers)
{
	const uint8_t *frame;
	uint32_t length;

	for (; *numbers >= 0; numbers++) {
		assert_int_equal(bed_received(bed, &frame, &length), *numbers);
		assert_int_equal(length, BED_FRAME);
		assert_memory_equal(frame, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5", 14);
		assert_int_equal(frame[63], 0x5a);
	}
	assert_int_equal(bed_received(bed, &frame, &length), -1);
}
