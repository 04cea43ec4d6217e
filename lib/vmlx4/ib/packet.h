/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_IB_PACKET_H_
#define VMLX4_IB_PACKET_H_

/*
 * RoCE packets: their headers, as the InfiniBand specification has them (volume
 * 1, chapter 9; annexes A14 for XRC, A16 and A17 for Ethernet). All of it in host
 * order here, and in network order in a frame.
 */

#include "ib.h"

#define VMLX4_PSN_MASK 0xffffffu
#define VMLX4_QPN_MULTICAST 0xffffffu
#define VMLX4_PKEY_DEFAULT 0xffffu

/* ---- BTH opcodes: a transport, and what is done ---- */

#define VMLX4_BTH_RC 0x00u
#define VMLX4_BTH_UC 0x20u
#define VMLX4_BTH_UD 0x60u
#define VMLX4_BTH_XRC 0xa0u
/*
 * Atomics with masks have no opcodes in the specification, and no public source tells
 * those of mlx4. Here they are of the range that it leaves to manufacturers: the ordinary
 * operation with these bits, of RC and of XRC.
 */
#define VMLX4_BTH_MASKED 0xc0u
#define VMLX4_BTH_IS_MASKED(opcode) (((opcode) & VMLX4_BTH_MASKED) == VMLX4_BTH_MASKED)
#define VMLX4_BTH_OP(opcode) ((opcode) & 0x1fu)

static inline unsigned int
vmlx4_bth_transport(uint8_t opcode)
{
	if (VMLX4_BTH_IS_MASKED(opcode))
		return (opcode & 0x20u) != 0 ? VMLX4_BTH_XRC : VMLX4_BTH_RC;
	return opcode & 0xe0u;
}

enum vmlx4_bth_op {
	VMLX4_OP_SEND_FIRST,
	VMLX4_OP_SEND_MIDDLE,
	VMLX4_OP_SEND_LAST,
	VMLX4_OP_SEND_LAST_IMM,
	VMLX4_OP_SEND_ONLY,
	VMLX4_OP_SEND_ONLY_IMM,
	VMLX4_OP_WRITE_FIRST,
	VMLX4_OP_WRITE_MIDDLE,
	VMLX4_OP_WRITE_LAST,
	VMLX4_OP_WRITE_LAST_IMM,
	VMLX4_OP_WRITE_ONLY,
	VMLX4_OP_WRITE_ONLY_IMM,
	VMLX4_OP_READ,
	VMLX4_OP_READ_FIRST,       /* these four are responses */
	VMLX4_OP_READ_MIDDLE,
	VMLX4_OP_READ_LAST,
	VMLX4_OP_READ_ONLY,
	VMLX4_OP_ACK,
	VMLX4_OP_ATOMIC_ACK,
	VMLX4_OP_COMPARE_SWAP,
	VMLX4_OP_FETCH_ADD,
	VMLX4_OP_SEND_LAST_INVAL = 22,
	VMLX4_OP_SEND_ONLY_INVAL,
	VMLX4_OPS
};

/* What a packet of an opcode has, and is. */
#define VMLX4_HAS_DETH 0x0001u
#define VMLX4_HAS_RETH 0x0002u
#define VMLX4_HAS_AETH 0x0004u
#define VMLX4_HAS_ATOMIC 0x0008u
#define VMLX4_HAS_ATOMIC_ACK 0x0010u
#define VMLX4_HAS_IMM 0x0020u
#define VMLX4_HAS_IETH 0x0040u
#define VMLX4_HAS_XRCETH 0x0080u
#define VMLX4_HAS_PAYLOAD 0x0100u
#define VMLX4_IS_FIRST 0x0200u      /* of its message; ONLY is both */
#define VMLX4_IS_LAST 0x0400u
#define VMLX4_IS_SEND 0x0800u
#define VMLX4_IS_WRITE 0x1000u
#define VMLX4_IS_RESPONSE 0x2000u
#define VMLX4_HAS_MASKS 0x4000u     /* behind the AtomicETH: of the swap, of the comparison */

/* 0: no such opcode. */
unsigned int vmlx4_bth_what(uint8_t opcode);

/* ---- AETH syndromes ---- */

#define VMLX4_AETH_KIND(syndrome) ((syndrome) & 0x60u)
#define VMLX4_AETH_ACK 0x00u
#define VMLX4_AETH_RNR 0x20u
#define VMLX4_AETH_NAK 0x60u
#define VMLX4_AETH_NO_CREDITS 0x1fu     /* of an ACK: flow control is not in use */
#define VMLX4_NAK_SEQUENCE 0x60u
#define VMLX4_NAK_INVALID_REQUEST 0x61u
#define VMLX4_NAK_REMOTE_ACCESS 0x62u
#define VMLX4_NAK_REMOTE_OPERATION 0x63u

/* ---- a packet ---- */

struct vmlx4_ib_packet {
	uint8_t dmac[6], smac[6];
	bool tagged;
	uint16_t vlan;
	enum vmlx4_roce roce;
	uint8_t sgid[VMLX4_GID_SIZE], dgid[VMLX4_GID_SIZE];
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	uint16_t udp_port;         /* source */

	uint8_t opcode;
	bool solicited, ack_request;
	uint16_t pkey;
	uint32_t dest_qpn, psn;

	uint32_t srqn;             /* XRCETH */
	uint32_t qkey, src_qpn;    /* DETH */
	uint64_t va;               /* RETH, AtomicETH */
	uint32_t rkey, length;
	uint64_t swap_add, compare; /* masked addition: the second is the boundaries */
	uint64_t swap_mask, compare_mask;
	uint8_t syndrome;          /* AETH */
	uint32_t msn;
	uint64_t original;         /* AtomicAckETH */
	uint32_t imm;              /* or the rkey to invalidate */

	/* Of a packet that was read: */
	const uint8_t *network;    /* GRH or IP header */
	bool ipv4;
	const uint8_t *payload;
	uint32_t size;
};

/* The longest headers and trailer: tag, IPv6, UDP, BTH, XRC, atomic with masks, pad, ICRC. */
#define VMLX4_IB_OVERHEAD (14u + 4 + 40 + 8 + 12 + 4 + 44 + 3 + 4)
#define VMLX4_IB_MTU_MAX 4096u
#define VMLX4_IB_FRAME_MAX (VMLX4_IB_MTU_MAX + VMLX4_IB_OVERHEAD)

/* Write the headers; where the payload goes. */
uint8_t *vmlx4_ib_packet_head(const struct vmlx4_ib_packet *packet, uint8_t *frame);
/* The payload of size bytes is there: pad, lengths, ICRC. Length of the frame. */
size_t vmlx4_ib_packet_seal(const struct vmlx4_ib_packet *packet, uint8_t *frame, size_t size);

/* Another address in the RETH or AtomicETH of a packet that was read; the ICRC follows. */
void vmlx4_ib_packet_readdress(const struct vmlx4_ib_packet *packet, uint8_t *frame,
	uint64_t va);

enum vmlx4_ib_read {
	VMLX4_IB_OTHER,      /* not a RoCE packet */
	VMLX4_IB_BAD,        /* cut off, an unknown opcode, or the wrong ICRC */
	VMLX4_IB_GOOD,
};

/* Is it RoCE, by its type and port? */
bool vmlx4_ib_is_packet(const uint8_t *frame, size_t length, bool v2);
enum vmlx4_ib_read vmlx4_ib_packet_read(const uint8_t *frame, size_t length, bool v2,
	struct vmlx4_ib_packet *packet);

/* ---- icrc.c ---- */

/*
 * ICRC of a packet: network header at network, of size bytes, then UDP if there is
 * one, and all of the transport up to the ICRC. In the order of memory.
 */
uint32_t vmlx4_icrc(const uint8_t *network, size_t network_size, bool udp,
	const uint8_t *bth, size_t size);

/* ---- PSNs: 24 bits, and which comes first ---- */

static inline int32_t
vmlx4_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif /* VMLX4_IB_PACKET_H_ */
