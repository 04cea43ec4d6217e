/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hca/hw.h"
#include "show.h"

#define OPCODE_RESIZE 0x16 /* the program goes on in the new buffer */

static const char *
syndrome_text(unsigned int syndrome)
{
	switch (syndrome) {
	case 0x01:
		return "LOCAL_LENGTH";
	case 0x02:
		return "LOCAL_QP_OP";
	case 0x04:
		return "LOCAL_PROT";
	case 0x05:
		return "WR_FLUSH";
	case 0x06:
		return "MW_BIND";
	case 0x10:
		return "BAD_RESP";
	case 0x11:
		return "LOCAL_ACCESS";
	case 0x12:
		return "REMOTE_INVAL_REQ";
	case 0x13:
		return "REMOTE_ACCESS";
	case 0x14:
		return "REMOTE_OP";
	case 0x15:
		return "TRANSPORT_RETRY_EXC";
	case 0x16:
		return "RNR_RETRY_EXC";
	case 0x22:
		return "REMOTE_ABORTED";
	default:
		return "unknown";
	}
}

static void
print_status(uint32_t status)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} bits[] = {
		{ VMLX4_HW_ST_IPV4, "IPV4" }, { VMLX4_HW_ST_IPV4F, "IPV4F" },
		{ VMLX4_HW_ST_IPV4OPT, "IPV4OPT" }, { VMLX4_HW_ST_IPV6, "IPV6" },
		{ VMLX4_HW_ST_IPOK, "IPOK" }, { VMLX4_HW_ST_TCP, "TCP" },
		{ VMLX4_HW_ST_UDP, "UDP" }, { VMLX4_HW_ST_L4OK, "L4OK" },
	};
	uint32_t rest = status;
	size_t i;

	printf(" status");
	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if ((status & bits[i].bit) == 0)
			continue;
		printf("%c%s", rest == status ? ' ' : '|', bits[i].name);
		rest &= ~bits[i].bit;
	}
	if (rest != 0 || status == 0)
		printf("%c0x%x", rest == status ? ' ' : '|', rest);
}

/* 48 bits in four pieces; they take the place of other fields. */
static void
print_timestamp(const struct vmlx4_hw_cqe *cqe)
{
	uint64_t stamp = (uint64_t)be16toh(cqe->sl_vid) << 32 |
		(uint64_t)be16toh(cqe->smac_hi) << 16 | (be32toh(cqe->owner_op) >> 8 & 0xffff);

	printf(" timestamp 0x%012" PRIx64, stamp);
}

static void
print_received(const struct vmlx4_hw_cqe *cqe, bool stamped)
{
	uint32_t vlan = be32toh(cqe->vlan_qpn);

	printf(" %u B hash 0x%08x", be32toh(cqe->byte_cnt), be32toh(cqe->rss_hash));
	print_status(be32toh(cqe->status));
	printf(" sum 0x%04x", be16toh(cqe->checksum));
	if ((vlan & (VMLX4_HW_CQE_CVLAN | VMLX4_HW_CQE_SVLAN)) != 0)
		printf(" %svlan", vlan & VMLX4_HW_CQE_SVLAN ? "s" : "");
	if (!stamped && cqe->sl_vid != 0)
		printf(" tci 0x%04x", be16toh(cqe->sl_vid));
}

static void
print_error(const struct vmlx4_hw_cqe *cqe, bool send)
{
	unsigned int syndrome = be16toh(cqe->checksum) & 0xff;

	printf(" of a %s: syndrome 0x%02x %s vendor 0x%02x", send ? "send" : "receive", syndrome,
		syndrome_text(syndrome), be16toh(cqe->checksum) >> 8);
}

/* Of a QP that is not for raw packets. */
static void
print_transport(const struct vmlx4_hw_cqe *cqe, unsigned int opcode, bool send)
{
	uint32_t peer = be32toh(cqe->mlpath);

	printf(" %u B", be32toh(cqe->byte_cnt));
	if (!send && opcode == VMLX4_HW_CQE_OP_RECV_INVAL)
		printf(" invalidated 0x%x", be32toh(cqe->rss_hash));
	else if (!send && opcode != VMLX4_HW_CQE_OP_RECV)
		printf(" imm 0x%x", be32toh(cqe->rss_hash));
	if ((peer & 0x80000000u) != 0)
		printf(" from qp 0x%x", peer & 0xffffff);
	else if (peer != 0)
		printf(" srq 0x%x", peer);
}

/* NULL: none that the adapter writes. */
static const char *
opcode_text(unsigned int opcode, bool send)
{
	static const char *const received[] = {
		[VMLX4_HW_CQE_OP_RECV_WRITE_IMM] = "RECV_WRITE_IMM",
		[VMLX4_HW_CQE_OP_RECV] = "RECV",
		[VMLX4_HW_CQE_OP_RECV_IMM] = "RECV_IMM",
		[VMLX4_HW_CQE_OP_RECV_INVAL] = "RECV_INVAL",
	};

	if (opcode == VMLX4_HW_CQE_OP_ERROR)
		return "ERROR";
	if (opcode == OPCODE_RESIZE)
		return "RESIZE";
	if (send)
		return opcode_name(opcode);
	return opcode < sizeof(received) / sizeof(received[0]) ? received[opcode] : NULL;
}

void
print_cqe(const struct show *show, const struct record *record)
{
	struct vmlx4_trace_cqe head;
	struct vmlx4_hw_cqe cqe;
	uint32_t last, number;
	unsigned int opcode;
	bool send, stamped, transport;
	const char *name;

	memcpy(&head, record->payload, sizeof(head));
	memcpy(&cqe, head.bytes, sizeof(cqe));
	number = le32toh(head.number);
	transport = (le32toh(head.index) & VMLX4_TRACE_CQE_TRANSPORT) != 0;
	stamped = show->timestamps[number & 0xffff] != 0;
	last = be32toh(cqe.owner_op);
	opcode = last & 0x1f;
	send = (last & VMLX4_HW_CQE_SEND) != 0;
	name = opcode_text(opcode, send);
	printf("cq 0x%x #%u ", number, le32toh(head.index) & 0xffffff);
	if (name != NULL)
		printf("%s", name);
	else
		printf("%s opcode 0x%02x", send ? "send" : "receive", opcode);
	printf(" owner %u", (last & VMLX4_HW_CQE_OWNER) != 0);
	if (opcode != OPCODE_RESIZE)
		printf(" qp 0x%x #%u", be32toh(cqe.vlan_qpn) & 0xffffff, be16toh(cqe.wqe_index));
	if (opcode == VMLX4_HW_CQE_OP_ERROR)
		print_error(&cqe, send);
	else if (transport && opcode != OPCODE_RESIZE)
		print_transport(&cqe, opcode, send);
	else if (opcode == VMLX4_HW_CQE_OP_RECV)
		print_received(&cqe, stamped);
	if (stamped && opcode != OPCODE_RESIZE)
		print_timestamp(&cqe);
	if (show->hex)
		print_bytes(head.bytes, sizeof(head.bytes));
}
