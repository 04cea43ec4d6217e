/* SPDX-License-Identifier: BSD-3-Clause */

#include "dvq_sq.h"

/* A WQE never exceeds this: ds counts to 63. */
#define WQE_MAX_BYTES (DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT)

void
dvq_sq_init(struct dvq_sq *sq)
{
	uint32_t i;

	sq->pi = 0;
	sq->ci = 0;
	/* Pass 0 is valid with the owner bit clear: all ones are a stamp. */
	for (i = 0; i < sq->bb_cnt; i++)
		*(volatile uint32_t *)dvq_sq_block(sq, i) =
			htobe32(DVQ_SQ_STAMP | DVQ_CTRL_OWNER);
}

void
dvq_sq_stamp_free(struct dvq_sq *sq)
{
	uint32_t i;

	/* As if the pass before had been completed with stamps. */
	for (i = sq->pi - sq->bb_cnt; i != sq->ci; i++)
		*(volatile uint32_t *)dvq_sq_block(sq, i) = dvq_sq_stamp(sq, i);
}

void
dvq_sq_reset(struct dvq_sq *sq)
{
	dvq_sq_init(sq);
}

static uint32_t
pad_to_unit(uint32_t size)
{
	return (size + DVQ_WQE_UNIT - 1) & ~(DVQ_WQE_UNIT - 1);
}

/* Bytes left in the block that holds @offset. */
static uint32_t
block_rest(uint32_t offset)
{
	return DVQ_SQ_BB_SIZE - (offset & (DVQ_SQ_BB_SIZE - 1));
}

int
dvq_wqe_inline(struct dvq_wqe *wqe, const void *data, uint32_t len)
{
	const uint8_t *src = data;
	uint32_t offset = wqe->size;
	uint32_t total = offset;
	uint32_t rest = len;
	uint32_t n;

	/* First how far it reaches: nothing is written of what does not fit. */
	do {
		n = block_rest(total) - (uint32_t)sizeof(struct dvq_inline_seg);
		n = rest < n ? rest : n;
		total += (uint32_t)sizeof(struct dvq_inline_seg) + n;
		rest -= n;
	} while (rest != 0 && total <= WQE_MAX_BYTES);
	if (rest != 0 || pad_to_unit(total) > WQE_MAX_BYTES)
		return -EMSGSIZE;

	do {
		n = block_rest(offset) - (uint32_t)sizeof(struct dvq_inline_seg);
		n = len < n ? len : n;
		dvq_wqe_store(wqe, offset, htobe32(DVQ_SEG_INLINE | n));
		offset += (uint32_t)sizeof(struct dvq_inline_seg);
		if (n != 0)
			memcpy(dvq_wqe_at(wqe, offset), src, n);
		offset += n;
		src += n;
		len -= n;
	} while (len != 0);
	wqe->size = pad_to_unit(offset);
	return 0;
}

int
dvq_wqe_lso(struct dvq_wqe *wqe, const void *hdr, uint32_t hdr_len, uint16_t mss)
{
	const uint8_t *src = hdr;
	uint32_t offset = wqe->size;
	uint32_t head;
	uint32_t n;

	if (offset != sizeof(struct dvq_ctrl_seg) || hdr_len == 0)
		return -EINVAL;
	if (hdr_len > WQE_MAX_BYTES - offset - (uint32_t)sizeof(struct dvq_lso_seg))
		return -EMSGSIZE;
	dvq_wqe_store(wqe, offset, htobe32((uint32_t)mss << 16 | hdr_len));
	offset += (uint32_t)sizeof(struct dvq_lso_seg);
	while (hdr_len != 0) {
		n = block_rest(offset);
		n = hdr_len < n ? hdr_len : n;
		if (block_rest(offset) == DVQ_SQ_BB_SIZE) {
			/* A block that starts with header bytes: the first four wait. */
			n = n < sizeof(head) ? n : (uint32_t)sizeof(head);
			head = 0;
			memcpy(&head, src, n);
			dvq_wqe_store(wqe, offset, head);
		} else {
			memcpy(dvq_wqe_at(wqe, offset), src, n);
		}
		offset += n;
		src += n;
		hdr_len -= n;
	}
	wqe->size = pad_to_unit(offset);
	return 0;
}
