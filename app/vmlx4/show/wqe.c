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

/* Behind the key that it goes by. */
static void
print_address(const struct wqe *wqe, unsigned int i, uint64_t addr)
{
	unsigned int place = i < VMLX4_TRACE_SEGMENTS ?
		wqe->head.places[i / 4] >> i % 4 * 2 & 3 : VMLX4_TRACE_AS_IS;
	int64_t offset = (int64_t)addr;

	switch (place) {
	case VMLX4_TRACE_IN_MR:
		if (offset < 0)
			printf("-0x%" PRIx64, -(uint64_t)offset);
		else
			printf("+0x%" PRIx64, (uint64_t)offset);
		break;
	case VMLX4_TRACE_OTHER_MR:
		printf(" at mr 0x%" PRIx64 "xx+0x%" PRIx64,
			addr >> VMLX4_TRACE_OFFSET_BITS,
			addr & (((uint64_t)1 << VMLX4_TRACE_OFFSET_BITS) - 1));
		break;
	case VMLX4_TRACE_NOWHERE:
		printf(" at an address in no mr");
		break;
	default:
		printf(" at 0x%" PRIx64, addr);
		break;
	}
}

static void
print_pointer(struct wqe *wqe, const struct vmlx4_segment *segment)
{
	printf(" | lkey 0x%x", segment->lkey);
	print_address(wqe, wqe->pointers++, segment->addr);
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

const char *
opcode_name(uint32_t opcode)
{
	static const char *const names[VMLX4_HW_OPCODE + 1] = {
		[VMLX4_HW_OP_NOP] = "NOP", [VMLX4_HW_OP_SEND] = "SEND",
		[VMLX4_HW_OP_LSO] = "LSO", [VMLX4_HW_OP_SEND_IMM] = "SEND_IMM",
		[VMLX4_HW_OP_SEND_INVAL] = "SEND_INVAL", [VMLX4_HW_OP_WRITE] = "RDMA_WRITE",
		[VMLX4_HW_OP_WRITE_IMM] = "RDMA_WRITE_IMM", [VMLX4_HW_OP_READ] = "RDMA_READ",
		[VMLX4_HW_OP_ATOMIC_CS] = "ATOMIC_CS", [VMLX4_HW_OP_ATOMIC_FA] = "ATOMIC_FA",
		[VMLX4_HW_OP_MASKED_CS] = "MASKED_CS", [VMLX4_HW_OP_MASKED_FA] = "MASKED_FA",
		[VMLX4_HW_OP_BIND_MW] = "BIND_MW", [VMLX4_HW_OP_LOCAL_INVAL] = "LOCAL_INVAL",
	};

	return names[opcode];
}

static void
print_opcode(uint32_t dw0)
{
	const char *name = opcode_name(dw0 & VMLX4_HW_OPCODE);

	if (name != NULL)
		printf(" %s", name);
	else
		printf(" opcode 0x%02x", dw0 & VMLX4_HW_OPCODE);
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

static uint64_t
word64(const uint8_t *wqe, uint32_t at)
{
	return (uint64_t)vmlx4_segment_word(wqe, at) << 32 | vmlx4_segment_word(wqe, at + 4);
}

static void
print_operands(const struct wqe *wqe, uint32_t opcode)
{
	switch (opcode) {
	case VMLX4_HW_OP_ATOMIC_CS:
		printf(" swap 0x%" PRIx64 " if 0x%" PRIx64, word64(wqe->bytes, 32),
			word64(wqe->bytes, 40));
		break;
	case VMLX4_HW_OP_MASKED_CS:
		printf(" swap 0x%" PRIx64 "/0x%" PRIx64 " if 0x%" PRIx64 "/0x%" PRIx64,
			word64(wqe->bytes, 32), word64(wqe->bytes, 48),
			word64(wqe->bytes, 40), word64(wqe->bytes, 56));
		break;
	case VMLX4_HW_OP_ATOMIC_FA:
		printf(" add 0x%" PRIx64, word64(wqe->bytes, 32));
		break;
	case VMLX4_HW_OP_MASKED_FA:
		printf(" add 0x%" PRIx64 " boundaries 0x%" PRIx64, word64(wqe->bytes, 32),
			word64(wqe->bytes, 40));
		break;
	}
}

/* The segments of a transport between the control one and the data. */
static void
print_transport(const struct wqe *wqe, uint32_t qp_type)
{
	uint32_t opcode = vmlx4_segment_word(wqe->bytes, 0) & VMLX4_HW_OPCODE;
	uint32_t imm = vmlx4_segment_word(wqe->bytes, 12);
	uint32_t first = vmlx4_segments_of_transport(wqe->bytes, qp_type == VMLX4_TRACE_QP_UD);
	uint32_t at, key;

	if (opcode == VMLX4_HW_OP_SEND_IMM || opcode == VMLX4_HW_OP_WRITE_IMM)
		printf(" imm 0x%x", imm);
	else if (opcode == VMLX4_HW_OP_SEND_INVAL)
		printf(" invalidates 0x%x", imm);
	if (first > wqe->size || first == 16)
		return;
	if (qp_type == VMLX4_TRACE_QP_UD)
		printf(" | to qp 0x%x qkey 0x%x", vmlx4_segment_word(wqe->bytes, 48) & 0xffffff,
			vmlx4_segment_word(wqe->bytes, 52));
	else
		printf(" | rkey 0x%x", vmlx4_segment_word(wqe->bytes, 24));
	at = vmlx4_segment_remote(wqe->bytes, wqe->size, qp_type == VMLX4_TRACE_QP_UD, &key);
	if (at == 32)
		printf(" lkey 0x%x", vmlx4_segment_word(wqe->bytes, key));
	if (at != 0)
		print_address(wqe, VMLX4_TRACE_REMOTE, word64(wqe->bytes, at));
	print_operands(wqe, opcode);
}

/* SE has another meaning than on a raw packet QP, and there is nothing to insert. */
static void
print_transport_control(uint32_t qpn, uint32_t dw0, uint32_t dw1, uint32_t dw2)
{
	printf(" owner %u ds %u", dw0 >> 31, dw1 & VMLX4_HW_DS);
	print_flag((dw0 & VMLX4_HW_NEC) != 0, "no-error-cqe");
	print_flag((dw1 >> 8) == qpn, "blueflame");
	print_flag((dw1 & VMLX4_HW_FENCE) != 0, "fence");
	print_flag((dw2 & VMLX4_HW_ORDERED) != 0, "ordered");
	print_flag((dw2 & VMLX4_HW_CQE_ALWAYS) == VMLX4_HW_CQE_ALWAYS, "signaled");
	print_flag((dw2 & VMLX4_HW_SE) != 0, "solicited");
}

void
print_wqe(const struct show *show, const struct record *record)
{
	uint32_t dw0, dw1, dw2, lso, qp_type;
	struct wqe wqe;

	wqe_load(record, &wqe);
	dw0 = vmlx4_segment_word(wqe.bytes, 0);
	dw1 = vmlx4_segment_word(wqe.bytes, 4);
	dw2 = vmlx4_segment_word(wqe.bytes, 8);
	printf("qp 0x%x #%u", le32toh(wqe.head.number), le32toh(wqe.head.index));
	print_opcode(dw0);
	qp_type = le32toh(wqe.head.length);
	if (qp_type != 0) {
		print_transport_control(le32toh(wqe.head.number), dw0, dw1, dw2);
		print_transport(&wqe, qp_type);
	} else {
		print_control(le32toh(wqe.head.number), dw0, dw1, dw2);
	}
	if (qp_type == 0 && (dw0 & VMLX4_HW_OPCODE) == VMLX4_HW_OP_LSO && wqe.size >= 32) {
		lso = vmlx4_segment_word(wqe.bytes, 16);
		printf(" | mss %u header %u B", VMLX4_HW_LSO_MSS(lso), VMLX4_HW_LSO_HEADER(lso));
	}
	if ((dw0 & VMLX4_HW_OPCODE) != VMLX4_HW_OP_NOP)
		print_segments(&wqe, vmlx4_segments_of_send(wqe.bytes, wqe.size, qp_type));
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
