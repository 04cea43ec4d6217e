/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "show.h"
#include "trace/segments.h"

#define INLINE_SHOWN 16u

struct wqe {
	struct vmlx4_trace_wqe head;
	const uint8_t *bytes;
	uint32_t size;
	unsigned int pointers; /* segments with an address, so far */
};

static void
wqe_load(const struct record *record, struct wqe *wqe)
{
	memcpy(&wqe->head, record->payload, sizeof(wqe->head));
	wqe->bytes = (const uint8_t *)record->payload + sizeof(wqe->head);
	wqe->size = le32toh(wqe->head.size);
	wqe->pointers = 0;
}

static void
print_pointer(struct wqe *wqe, const struct vmlx4_segment *segment)
{
	unsigned int i = wqe->pointers++;
	unsigned int place = i < VMLX4_TRACE_SEGMENTS ?
		wqe->head.places[i / 4] >> i % 4 * 2 & 3 : VMLX4_TRACE_AS_IS;
	int64_t offset = (int64_t)segment->addr;

	printf(" | lkey 0x%x", segment->lkey);
	switch (place) {
	case VMLX4_TRACE_IN_MR:
		if (offset < 0)
			printf("-0x%" PRIx64, -(uint64_t)offset);
		else
			printf("+0x%" PRIx64, (uint64_t)offset);
		break;
	case VMLX4_TRACE_OTHER_MR:
		printf(" at mr 0x%" PRIx64 "xx+0x%" PRIx64,
			segment->addr >> VMLX4_TRACE_OFFSET_BITS,
			segment->addr & (((uint64_t)1 << VMLX4_TRACE_OFFSET_BITS) - 1));
		break;
	case VMLX4_TRACE_NOWHERE:
		printf(" at an address in no mr");
		break;
	default:
		printf(" at 0x%" PRIx64, segment->addr);
		break;
	}
	/* As the card reads it. */
	printf(" %u B", segment->size != 0 ? segment->size : 0x80000000u);
}

static void
print_inline(const struct wqe *wqe, const struct vmlx4_segment *segment)
{
	uint32_t from = segment->at + 4, i;

	printf(" | inline %u B", segment->size);
	for (i = 0; i < segment->size && i < INLINE_SHOWN && from + i < wqe->size; i++)
		printf("%s%02x", i == 0 ? " " : "", wqe->bytes[from + i]);
	if (i < segment->size)
		printf("…");
}

static void
print_segments(struct wqe *wqe, uint32_t at)
{
	struct vmlx4_segment segment;

	while (vmlx4_segment_next(wqe->bytes, wqe->size, &at, &segment)) {
		if (segment.is_inline)
			print_inline(wqe, &segment);
		else
			print_pointer(wqe, &segment);
	}
}

static void
print_opcode(uint32_t dw0)
{
	switch (dw0 & VMLX4_HW_OPCODE) {
	case VMLX4_HW_OP_NOP:
		printf(" NOP");
		break;
	case VMLX4_HW_OP_SEND:
		printf(" SEND");
		break;
	case VMLX4_HW_OP_LSO:
		printf(" LSO");
		break;
	default:
		printf(" opcode 0x%02x", dw0 & VMLX4_HW_OPCODE);
		break;
	}
}

static void
print_flag(bool set, const char *name)
{
	if (set)
		printf(" %s", name);
}

/* Control segment: what it asks for, in the order of its dwords. */
static void
print_control(uint32_t qpn, uint32_t dw0, uint32_t dw1, uint32_t dw2)
{
	uint32_t above = dw1 >> 8;

	printf(" owner %u ds %u", dw0 >> 31, dw1 & VMLX4_HW_DS);
	print_flag((dw0 & VMLX4_HW_NEC) != 0, "no-error-cqe");
	print_flag((dw0 & VMLX4_HW_IIP) != 0, "inner-csum-ip");
	print_flag((dw0 & VMLX4_HW_ILP) != 0, "inner-csum-l4");
	if ((dw1 & (VMLX4_HW_INS_CVLAN | VMLX4_HW_INS_SVLAN)) != 0 && above != qpn)
		printf(" %svlan 0x%04x", dw1 & VMLX4_HW_INS_SVLAN ? "s" : "", dw1 >> 16);
	else if (above == qpn)
		printf(" blueflame");
	else if (above != 0)
		printf(" bytes4..6 %06x", above);
	print_flag((dw2 & VMLX4_HW_CSUM_IP) != 0, "csum-ip");
	print_flag((dw2 & VMLX4_HW_CSUM_L4) != 0, "csum-l4");
	print_flag((dw2 & VMLX4_HW_CQE_ALWAYS) == VMLX4_HW_CQE_ALWAYS, "signaled");
	print_flag((dw2 & VMLX4_HW_SE) == 0, "no-se");
	print_flag((dw2 & 1) != 0, "loopback");
}

void
print_wqe(const struct show *show, const struct record *record)
{
	uint32_t dw0, dw1, dw2, lso;
	struct wqe wqe;

	wqe_load(record, &wqe);
	dw0 = vmlx4_segment_word(wqe.bytes, 0);
	dw1 = vmlx4_segment_word(wqe.bytes, 4);
	dw2 = vmlx4_segment_word(wqe.bytes, 8);
	printf("qp 0x%x #%u", le32toh(wqe.head.number), le32toh(wqe.head.index));
	print_opcode(dw0);
	print_control(le32toh(wqe.head.number), dw0, dw1, dw2);
	if ((dw0 & VMLX4_HW_OPCODE) == VMLX4_HW_OP_LSO && wqe.size >= 32) {
		lso = vmlx4_segment_word(wqe.bytes, 16);
		printf(" | mss %u header %u B", VMLX4_HW_LSO_MSS(lso), VMLX4_HW_LSO_HEADER(lso));
	}
	if ((dw0 & VMLX4_HW_OPCODE) != VMLX4_HW_OP_NOP)
		print_segments(&wqe, vmlx4_segments_of_send(wqe.bytes, wqe.size));
	if (show->hex)
		print_bytes(wqe.bytes, wqe.size);
}

void
print_rqe(const struct show *show, const struct record *record)
{
	struct wqe wqe;

	wqe_load(record, &wqe);
	printf("rq 0x%x #%u takes %u B at port %u", le32toh(wqe.head.number),
		le32toh(wqe.head.index), le32toh(wqe.head.length), record->port);
	print_segments(&wqe, 0);
	if (show->hex)
		print_bytes(wqe.bytes, wqe.size);
}
