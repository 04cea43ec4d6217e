/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <stdio.h>

#include "../ib/packet.h"
#include "internal.h"
#include "segments.h"

/*
 * Addresses differ from run to run, and tell a reader little: in their place the
 * trace has the memory region and the offset in it.
 */

/* Shorter numbers are lengths, keys and indices. */
#define ADDRESS_DIGITS 9
/* A longer segment may reach a region by chance, which the next run does not repeat. */
#define NEAR 65536u

static bool
contains(const struct vmlx4_mr *mr, uint64_t addr)
{
	return addr - mr->iova < mr->length;
}

static const struct vmlx4_mr *
mr_around(const struct vmlx4_context *ctx, uint64_t addr)
{
	const struct vmlx4_obj *obj;

	TAILQ_FOREACH(obj, &ctx->objs, next) {
		const struct vmlx4_mr *mr = (const struct vmlx4_mr *)(const void *)obj;

		if (obj->type == VMLX4_MR && contains(mr, addr))
			return mr;
	}
	return NULL;
}

/*
 * Only what follows from the program, not from where the kernel happened to put two
 * mappings: how far an address is from a region that it is not in does not count.
 */
static enum vmlx4_trace_place
place_of(const struct vmlx4_context *ctx, const struct vmlx4_segment *segment, uint64_t *offset)
{
	const struct vmlx4_mr *of_key = NULL, *mr;

	if (segment->lkey >> 8 < VMLX4_MR_TABLE)
		of_key = ctx->adapter->mr_table[segment->lkey >> 8];
	mr = of_key != NULL && contains(of_key, segment->addr) ? of_key :
		mr_around(ctx, segment->addr);
	if (mr == NULL && of_key != NULL && of_key->iova - segment->addr < segment->size &&
			segment->size < NEAR)
		mr = of_key; /* begins before its region */
	*offset = mr != NULL ? segment->addr - mr->iova : 0;
	if (mr == NULL)
		return VMLX4_TRACE_NOWHERE;
	if (mr == of_key)
		return VMLX4_TRACE_IN_MR;
	*offset |= (uint64_t)(mr->lkey >> 8) << VMLX4_TRACE_OFFSET_BITS;
	return VMLX4_TRACE_OTHER_MR;
}

/* The card does not read it, and it may hold anything: an address, for instance. */
static void
clear_padding(uint8_t *wqe, uint32_t size, const struct vmlx4_segment *segment, uint32_t next)
{
	uint32_t end = segment->at + 4 + segment->size;

	if (segment->size <= size && end < next && next <= size)
		memset(wqe + end, 0, next - end);
}

void
vmlx4_trace_clear_header(uint8_t *wqe, uint32_t size, uint32_t first)
{
	uint32_t end;

	if (first <= sizeof(struct vmlx4_hw_ctrl) || first > size)
		return;
	end = 20 + VMLX4_HW_LSO_HEADER(vmlx4_segment_word(wqe, 16));
	memset(wqe + end, 0, first - end);
}

void
vmlx4_trace_places(const struct vmlx4_context *ctx, uint8_t *wqe, uint32_t size,
	uint32_t first, uint8_t *places)
{
	struct vmlx4_segment segment;
	uint32_t at = first, i = 0;

	while (vmlx4_segment_next(wqe, size, &at, &segment)) {
		enum vmlx4_trace_place place;
		uint64_t offset;

		if (segment.is_inline) {
			clear_padding(wqe, size, &segment, at);
			continue;
		}
		if (i == VMLX4_TRACE_SEGMENTS)
			continue;
		place = place_of(ctx, &segment, &offset);
		places[i / 4] |= (uint8_t)(place << i % 4 * 2);
		i++;
		offset = htobe64(offset);
		memcpy(wqe + segment.at + 8, &offset, sizeof(offset));
	}
}

static const struct vmlx4_mr *
mr_anywhere(const struct vmlx4_adapter *adapter, uint64_t addr)
{
	const struct vmlx4_context *ctx;
	const struct vmlx4_mr *mr;

	TAILQ_FOREACH(ctx, &adapter->contexts, next) {
		mr = mr_around(ctx, addr);
		if (mr != NULL)
			return mr;
	}
	return NULL;
}

/* An address in the region or window of a key, of whatever context of the adapter. */
static enum vmlx4_trace_place
place_of_key(const struct vmlx4_adapter *adapter, uint32_t key, uint64_t addr, uint64_t *offset)
{
	const struct vmlx4_mr *mr = NULL;
	const struct vmlx4_mw *mw = NULL;

	if (key >> 8 < VMLX4_MR_TABLE) {
		mr = adapter->mr_table[key >> 8];
		mw = adapter->mw_table[key >> 8];
	}
	*offset = 0;
	if (mr != NULL && contains(mr, addr)) {
		*offset = addr - mr->iova;
		return VMLX4_TRACE_IN_MR;
	}
	if (mw != NULL && mw->mr != NULL && addr - mw->iova < mw->length) {
		*offset = addr - mw->iova;
		return VMLX4_TRACE_IN_MR;
	}
	mr = mr_anywhere(adapter, addr);
	if (mr == NULL)
		return VMLX4_TRACE_NOWHERE;
	*offset = (uint64_t)(mr->lkey >> 8) << VMLX4_TRACE_OFFSET_BITS | (addr - mr->iova);
	return VMLX4_TRACE_OTHER_MR;
}

void
vmlx4_trace_remote_place(const struct vmlx4_adapter *adapter, uint8_t *wqe, uint32_t size,
	bool datagram, uint8_t *places)
{
	uint32_t key, at = vmlx4_segment_remote(wqe, size, datagram, &key);
	enum vmlx4_trace_place place;
	uint64_t offset;

	if (at == 0)
		return;
	place = place_of_key(adapter, vmlx4_segment_word(wqe, key),
		(uint64_t)vmlx4_segment_word(wqe, at) << 32 | vmlx4_segment_word(wqe, at + 4),
		&offset);
	places[VMLX4_TRACE_REMOTE / 4] |= (uint8_t)(place << VMLX4_TRACE_REMOTE % 4 * 2);
	offset = htobe64(offset);
	memcpy(wqe + at, &offset, sizeof(offset));
}

bool
vmlx4_trace_packet(const struct vmlx4_adapter *adapter, const uint8_t *frame, size_t length,
	uint8_t *copy)
{
	struct vmlx4_ib_packet packet;
	uint64_t offset;

	if (length > VMLX4_IB_FRAME_MAX ||
	    vmlx4_ib_packet_read(frame, length, true, &packet) != VMLX4_IB_GOOD ||
	    (vmlx4_bth_what(packet.opcode) & (VMLX4_HAS_RETH | VMLX4_HAS_ATOMIC)) == 0)
		return false;
	place_of_key(adapter, packet.rkey, packet.va, &offset);
	memcpy(copy, frame, length);
	vmlx4_ib_packet_readdress(&packet, copy, offset);
	return true;
}

static int
address_text(const struct vmlx4_adapter *adapter, uint64_t addr, char *out, size_t size)
{
	const struct vmlx4_mr *mr = mr_anywhere(adapter, addr);

	if (mr != NULL)
		return snprintf(out, size, "mr %#x+%#llx", mr->lkey,
			(unsigned long long)(addr - mr->iova));
	return snprintf(out, size, "(address in no MR)");
}

void
vmlx4_trace_text(const struct vmlx4_adapter *adapter, const char *text, char *out, size_t size)
{
	size_t used = 0;

	while (*text != '\0' && used + 1 < size) {
		size_t digits = 0;

		if (text[0] == '0' && text[1] == 'x')
			while (isxdigit((unsigned char)text[2 + digits]))
				digits++;
		if (digits < ADDRESS_DIGITS) {
			out[used++] = *text++;
			continue;
		}
		used += (size_t)address_text(adapter, strtoull(text, NULL, 16), out + used,
			size - used);
		if (used >= size)
			used = size - 1;
		text += 2 + digits;
	}
	out[used] = '\0';
}
