/* SPDX-License-Identifier: BSD-3-Clause */

#include "dvq_sendq.h"

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

/* Where the inline segments of @len bytes end that begin at @offset. */
static uint32_t
inline_end(uint32_t offset, uint32_t len)
{
	uint32_t n;

	do {
		n = block_rest(offset) - (uint32_t)sizeof(struct dvq_inline_seg);
		n = len < n ? len : n;
		offset += (uint32_t)sizeof(struct dvq_inline_seg) + n;
		len -= n;
	} while (len != 0);
	return offset;
}

int
dvq_send_inline_blocks(struct dvq_send *send, const void *data, uint32_t len)
{
	const uint8_t *src = data;
	uint32_t offset = send->size;
	uint32_t n;

	/* The first comparison keeps the second one's sum from overflowing. */
	if (len > DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT ||
	    pad_to_unit(inline_end(offset, len)) > send->sq->max_bytes)
		return -EMSGSIZE;
	do {
		n = block_rest(offset) - (uint32_t)sizeof(struct dvq_inline_seg);
		n = len < n ? len : n;
		dvq_send_store(send, offset, htobe32(DVQ_SEG_INLINE | n));
		offset += (uint32_t)sizeof(struct dvq_inline_seg);
		if (n != 0)
			memcpy(send->wqe + offset, src, n);
		offset += n;
		src += n;
		len -= n;
	} while (len != 0);
	send->size = pad_to_unit(offset);
	return 0;
}

int
dvq_send_lso(struct dvq_send *send, const void *hdr, uint32_t hdr_len, uint16_t mss)
{
	const uint8_t *src = hdr;
	uint32_t offset = send->size;
	uint32_t dword, n;

	if (hdr_len == 0)
		return -EINVAL;
	if (hdr_len > DVQ_WQE_MAX_UNITS * DVQ_WQE_UNIT ||
	    pad_to_unit(offset + (uint32_t)sizeof(struct dvq_lso_seg) + hdr_len) >
	    send->sq->max_bytes)
		return -EMSGSIZE;
	dvq_send_store(send, offset, htobe32((uint32_t)mss << 16 | hdr_len));
	offset += (uint32_t)sizeof(struct dvq_lso_seg);
	/* Headers have no break; a dword of them may be the first one of a block. */
	for (; hdr_len != 0; hdr_len -= n, src += n, offset += n) {
		n = hdr_len < sizeof(dword) ? hdr_len : (uint32_t)sizeof(dword);
		dword = 0;
		memcpy(&dword, src, n);
		dvq_send_store(send, offset, dword);
	}
	send->size = pad_to_unit(offset);
	return 0;
}

void
dvq_sendq_stamp(struct dvq_sendq *sq, uint32_t n)
{
	uint32_t i, at, bytes;
	uint8_t *wqe;

	for (i = 0; i < n; i++) {
		wqe = dvq_sendq_wqe(sq, sq->ci + i);
		bytes = be32toh(((const struct dvq_ctrl_seg *)(void *)wqe)->vlan_ds) &
			DVQ_CTRL_DS_MASK;
		bytes *= DVQ_WQE_UNIT;
		/* Not the first block: its owner bit is invalid in the coming pass. */
		for (at = DVQ_SQ_BB_SIZE; at < bytes && at < sq->max_bytes; at += DVQ_SQ_BB_SIZE)
			*(volatile uint32_t *)(void *)(wqe + at) =
				htobe32(DVQ_SQ_STAMP | DVQ_CTRL_OWNER);
	}
	/* Long after the last one it would look as if it were still to come. */
	if ((int32_t)(sq->wide - sq->pi) > 0)
		sq->wide = sq->ci;
}
