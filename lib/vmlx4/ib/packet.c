/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/internal.h"
#include "packet.h"

#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_IPV4 0x0800u
#define ETHERTYPE_IPV6 0x86ddu
#define ETHERTYPE_ROCE 0x8915u
#define UDP_PORT_ROCE 4791u
#define PROTOCOL_UDP 17u
#define NEXT_HEADER_IBA 0x1bu
#define ICRC_SIZE 4u
#define BTH_SIZE 12u

#define SEND_ (VMLX4_IS_SEND | VMLX4_HAS_PAYLOAD)
#define WRITE_ (VMLX4_IS_WRITE | VMLX4_HAS_PAYLOAD)
#define ONLY_ (VMLX4_IS_FIRST | VMLX4_IS_LAST)
#define RESPONSE_ (VMLX4_IS_RESPONSE | VMLX4_HAS_PAYLOAD)

static const uint16_t what[VMLX4_OPS] = {
	[VMLX4_OP_SEND_FIRST] = SEND_ | VMLX4_IS_FIRST,
	[VMLX4_OP_SEND_MIDDLE] = SEND_,
	[VMLX4_OP_SEND_LAST] = SEND_ | VMLX4_IS_LAST,
	[VMLX4_OP_SEND_LAST_IMM] = SEND_ | VMLX4_IS_LAST | VMLX4_HAS_IMM,
	[VMLX4_OP_SEND_ONLY] = SEND_ | ONLY_,
	[VMLX4_OP_SEND_ONLY_IMM] = SEND_ | ONLY_ | VMLX4_HAS_IMM,
	[VMLX4_OP_WRITE_FIRST] = WRITE_ | VMLX4_IS_FIRST | VMLX4_HAS_RETH,
	[VMLX4_OP_WRITE_MIDDLE] = WRITE_,
	[VMLX4_OP_WRITE_LAST] = WRITE_ | VMLX4_IS_LAST,
	[VMLX4_OP_WRITE_LAST_IMM] = WRITE_ | VMLX4_IS_LAST | VMLX4_HAS_IMM,
	[VMLX4_OP_WRITE_ONLY] = WRITE_ | ONLY_ | VMLX4_HAS_RETH,
	[VMLX4_OP_WRITE_ONLY_IMM] = WRITE_ | ONLY_ | VMLX4_HAS_RETH | VMLX4_HAS_IMM,
	[VMLX4_OP_READ] = ONLY_ | VMLX4_HAS_RETH,
	[VMLX4_OP_READ_FIRST] = RESPONSE_ | VMLX4_IS_FIRST | VMLX4_HAS_AETH,
	[VMLX4_OP_READ_MIDDLE] = RESPONSE_,
	[VMLX4_OP_READ_LAST] = RESPONSE_ | VMLX4_IS_LAST | VMLX4_HAS_AETH,
	[VMLX4_OP_READ_ONLY] = RESPONSE_ | ONLY_ | VMLX4_HAS_AETH,
	[VMLX4_OP_ACK] = VMLX4_IS_RESPONSE | ONLY_ | VMLX4_HAS_AETH,
	[VMLX4_OP_ATOMIC_ACK] = VMLX4_IS_RESPONSE | ONLY_ | VMLX4_HAS_AETH |
		VMLX4_HAS_ATOMIC_ACK,
	[VMLX4_OP_COMPARE_SWAP] = ONLY_ | VMLX4_HAS_ATOMIC,
	[VMLX4_OP_FETCH_ADD] = ONLY_ | VMLX4_HAS_ATOMIC,
	[VMLX4_OP_SEND_LAST_INVAL] = SEND_ | VMLX4_IS_LAST | VMLX4_HAS_IETH,
	[VMLX4_OP_SEND_ONLY_INVAL] = SEND_ | ONLY_ | VMLX4_HAS_IETH,
};

/* The boundaries of a masked addition stand where there would be a comparison. */
static unsigned int
what_masked(unsigned int op)
{
	switch (op) {
	case VMLX4_OP_COMPARE_SWAP:
		return what[op] | VMLX4_HAS_MASKS;
	case VMLX4_OP_FETCH_ADD:
		return what[op];
	default:
		return 0;
	}
}

unsigned int
vmlx4_bth_what(uint8_t opcode)
{
	unsigned int op = VMLX4_BTH_OP(opcode);
	unsigned int has = op < VMLX4_OPS ? what[op] : 0;

	if (VMLX4_BTH_IS_MASKED(opcode))
		has = what_masked(op);
	switch (vmlx4_bth_transport(opcode)) {
	case VMLX4_BTH_RC:
		return has;
	case VMLX4_BTH_XRC:
		return has == 0 || (has & VMLX4_IS_RESPONSE) != 0 ? has : has | VMLX4_HAS_XRCETH;
	case VMLX4_BTH_UC:
		return op <= VMLX4_OP_WRITE_ONLY_IMM ? has : 0;
	case VMLX4_BTH_UD:
		return op == VMLX4_OP_SEND_ONLY || op == VMLX4_OP_SEND_ONLY_IMM ?
			has | VMLX4_HAS_DETH : 0;
	default:
		return 0;
	}
}

/* ---- writing ---- */

static void
put_be64(uint8_t *at, uint64_t v)
{
	vmlx4_put_be32(at, (uint32_t)(v >> 32));
	vmlx4_put_be32(at + 4, (uint32_t)v);
}

static uint64_t
be64(const uint8_t *at)
{
	return (uint64_t)vmlx4_be32(at) << 32 | vmlx4_be32(at + 4);
}

/* ::ffff:a.b.c.d */
static bool
is_ipv4(const uint8_t *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

static uint8_t *
put_ethernet(const struct vmlx4_ib_packet *p, uint8_t *at, uint32_t type)
{
	memcpy(at, p->dmac, 6);
	memcpy(at + 6, p->smac, 6);
	at += 12;
	if (p->tagged) {
		vmlx4_put_be16(at, ETHERTYPE_VLAN);
		vmlx4_put_be16(at + 2, p->vlan);
		at += 4;
	}
	vmlx4_put_be16(at, (uint16_t)type);
	return at + 2;
}

/* Lengths and the checksum are filled in at the end. */
static uint8_t *
put_ipv4(const struct vmlx4_ib_packet *p, uint8_t *at)
{
	memset(at, 0, 20);
	at[0] = 0x45;
	at[1] = p->traffic_class;
	at[6] = 0x40; /* not to be cut */
	at[8] = p->hop_limit;
	at[9] = PROTOCOL_UDP;
	memcpy(at + 12, p->sgid + 12, 4);
	memcpy(at + 16, p->dgid + 12, 4);
	return at + 20;
}

/* A GRH has the form of an IPv6 header. */
static uint8_t *
put_ipv6(const struct vmlx4_ib_packet *p, uint8_t *at, uint8_t next)
{
	vmlx4_put_be32(at, 0x60000000u | (uint32_t)p->traffic_class << 20 |
		(p->flow_label & 0xfffff));
	vmlx4_put_be16(at + 4, 0);
	at[6] = next;
	at[7] = p->hop_limit;
	memcpy(at + 8, p->sgid, VMLX4_GID_SIZE);
	memcpy(at + 24, p->dgid, VMLX4_GID_SIZE);
	return at + 40;
}

static uint8_t *
put_extended(const struct vmlx4_ib_packet *p, uint8_t *at, unsigned int has)
{
	if ((has & VMLX4_HAS_XRCETH) != 0) {
		vmlx4_put_be32(at, p->srqn & 0xffffff);
		at += 4;
	}
	if ((has & VMLX4_HAS_DETH) != 0) {
		vmlx4_put_be32(at, p->qkey);
		vmlx4_put_be32(at + 4, p->src_qpn & 0xffffff);
		at += 8;
	}
	if ((has & (VMLX4_HAS_RETH | VMLX4_HAS_ATOMIC)) != 0) {
		put_be64(at, p->va);
		vmlx4_put_be32(at + 8, p->rkey);
		at += 12;
	}
	if ((has & VMLX4_HAS_RETH) != 0) {
		vmlx4_put_be32(at, p->length);
		at += 4;
	}
	if ((has & VMLX4_HAS_ATOMIC) != 0) {
		put_be64(at, p->swap_add);
		put_be64(at + 8, p->compare);
		at += 16;
	}
	if ((has & VMLX4_HAS_MASKS) != 0) {
		put_be64(at, p->swap_mask);
		put_be64(at + 8, p->compare_mask);
		at += 16;
	}
	if ((has & VMLX4_HAS_AETH) != 0) {
		vmlx4_put_be32(at, (uint32_t)p->syndrome << 24 | (p->msn & 0xffffff));
		at += 4;
	}
	if ((has & VMLX4_HAS_ATOMIC_ACK) != 0) {
		put_be64(at, p->original);
		at += 8;
	}
	if ((has & (VMLX4_HAS_IMM | VMLX4_HAS_IETH)) != 0) {
		vmlx4_put_be32(at, p->imm);
		at += 4;
	}
	return at;
}

uint8_t *
vmlx4_ib_packet_head(const struct vmlx4_ib_packet *p, uint8_t *frame)
{
	bool udp = p->roce == VMLX4_ROCE_V2, ipv4 = udp && is_ipv4(p->dgid);
	uint8_t *at = put_ethernet(p, frame, !udp ? ETHERTYPE_ROCE :
		ipv4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);

	at = ipv4 ? put_ipv4(p, at) : put_ipv6(p, at, udp ? PROTOCOL_UDP : NEXT_HEADER_IBA);
	if (udp) {
		vmlx4_put_be16(at, p->udp_port);
		vmlx4_put_be16(at + 2, UDP_PORT_ROCE);
		memset(at + 4, 0, 4); /* no checksum: the ICRC covers more */
		at += 8;
	}
	at[0] = p->opcode;
	at[1] = (uint8_t)(p->solicited ? 0x80 : 0) | 0x40; /* not migrating */
	vmlx4_put_be16(at + 2, p->pkey);
	vmlx4_put_be32(at + 4, p->dest_qpn & 0xffffff);
	vmlx4_put_be32(at + 8, (p->ack_request ? 0x80000000u : 0) | (p->psn & VMLX4_PSN_MASK));
	return put_extended(p, at + BTH_SIZE, vmlx4_bth_what(p->opcode));
}

size_t
vmlx4_ib_packet_seal(const struct vmlx4_ib_packet *p, uint8_t *frame, size_t size)
{
	bool udp = p->roce == VMLX4_ROCE_V2, ipv4 = udp && is_ipv4(p->dgid);
	size_t network_size = ipv4 ? 20 : 40, pad = -size & 3, transport;
	uint8_t *network = frame + 14 + (p->tagged ? 4 : 0);
	uint8_t *bth = network + network_size + (udp ? 8 : 0);
	uint8_t *end = put_extended(p, bth + BTH_SIZE, 0);
	uint8_t scratch[64];
	uint32_t icrc;

	/* How long the extended headers are, the same function knows. */
	end += put_extended(p, scratch, vmlx4_bth_what(p->opcode)) - scratch;
	end += size;
	memset(end, 0, pad);
	end += pad;
	bth[1] |= (uint8_t)(pad << 4);
	transport = (size_t)(end - bth) + ICRC_SIZE;
	if (udp)
		vmlx4_put_be16(bth - 4, (uint16_t)(transport + 8));
	if (ipv4) {
		uint16_t sum;

		vmlx4_put_be16(network + 2, (uint16_t)(transport + 8 + 20));
		sum = (uint16_t)~vmlx4_sum_fold(vmlx4_sum(network, 20, 0));
		memcpy(network + 10, &sum, 2);
	} else {
		vmlx4_put_be16(network + 4, (uint16_t)(transport + (udp ? 8 : 0)));
	}
	icrc = vmlx4_icrc(network, network_size, udp, bth, (size_t)(end - bth));
	memcpy(end, &icrc, ICRC_SIZE);
	return (size_t)(end - frame) + ICRC_SIZE;
}

void
vmlx4_ib_packet_readdress(const struct vmlx4_ib_packet *p, uint8_t *frame, uint64_t va)
{
	bool udp = p->roce == VMLX4_ROCE_V2;
	size_t network_size = p->ipv4 ? 20 : 40;
	uint8_t *network = frame + 14 + (p->tagged ? 4 : 0);
	uint8_t *bth = network + network_size + (udp ? 8 : 0);
	uint8_t *end = network + (p->payload - p->network) + p->size + (bth[1] >> 4 & 3);
	bool xrc = (vmlx4_bth_what(p->opcode) & VMLX4_HAS_XRCETH) != 0;
	uint32_t icrc;

	put_be64(bth + BTH_SIZE + (xrc ? 4 : 0), va);
	icrc = vmlx4_icrc(network, network_size, udp, bth, (size_t)(end - bth));
	memcpy(end, &icrc, ICRC_SIZE);
}

/* ---- reading ---- */

/* The network header, and its type; NULL: too short. */
static const uint8_t *
network_of(const uint8_t *frame, size_t length, uint32_t *type)
{
	size_t at = 14;

	if (length < 14 + 4 + 40)
		return NULL;
	*type = vmlx4_be16(frame + 12);
	if (*type == ETHERTYPE_VLAN) {
		*type = vmlx4_be16(frame + 16);
		at = 18;
	}
	return frame + at;
}

bool
vmlx4_ib_is_packet(const uint8_t *frame, size_t length, bool v2)
{
	uint32_t type;
	const uint8_t *n = network_of(frame, length, &type);

	if (n == NULL)
		return false;
	if (type == ETHERTYPE_ROCE)
		return true;
	if (!v2)
		return false;
	/* Options and extension headers are not for it. */
	if (type == ETHERTYPE_IPV4)
		return n[0] == 0x45 && n[9] == PROTOCOL_UDP && (vmlx4_be16(n + 6) & 0x3fff) == 0 &&
			vmlx4_be16(n + 22) == UDP_PORT_ROCE;
	return type == ETHERTYPE_IPV6 && n[6] == PROTOCOL_UDP &&
		(size_t)(n - frame) + 48 <= length && vmlx4_be16(n + 42) == UDP_PORT_ROCE;
}

static void
read_network(struct vmlx4_ib_packet *p, const uint8_t *n)
{
	p->network = n;
	if (p->ipv4) {
		static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

		memcpy(p->sgid, mapped, 12);
		memcpy(p->sgid + 12, n + 12, 4);
		memcpy(p->dgid, mapped, 12);
		memcpy(p->dgid + 12, n + 16, 4);
		p->traffic_class = n[1];
		p->hop_limit = n[8];
		p->flow_label = 0;
	} else {
		memcpy(p->sgid, n + 8, VMLX4_GID_SIZE);
		memcpy(p->dgid, n + 24, VMLX4_GID_SIZE);
		p->traffic_class = (uint8_t)(vmlx4_be16(n) >> 4);
		p->hop_limit = n[7];
		p->flow_label = vmlx4_be32(n) & 0xfffff;
	}
}

/* Extended headers; where they end, or NULL: behind the end. */
static const uint8_t *
read_extended(struct vmlx4_ib_packet *p, const uint8_t *at, const uint8_t *end, unsigned int has)
{
	uint8_t scratch[64];

	/* They are as long as they would be when written. */
	if (end - at < put_extended(p, scratch, has) - scratch)
		return NULL;
	if ((has & VMLX4_HAS_XRCETH) != 0) {
		p->srqn = vmlx4_be32(at) & 0xffffff;
		at += 4;
	}
	if ((has & VMLX4_HAS_DETH) != 0) {
		p->qkey = vmlx4_be32(at);
		p->src_qpn = vmlx4_be32(at + 4) & 0xffffff;
		at += 8;
	}
	if ((has & (VMLX4_HAS_RETH | VMLX4_HAS_ATOMIC)) != 0) {
		p->va = be64(at);
		p->rkey = vmlx4_be32(at + 8);
		at += 12;
	}
	if ((has & VMLX4_HAS_RETH) != 0) {
		p->length = vmlx4_be32(at);
		at += 4;
	}
	if ((has & VMLX4_HAS_ATOMIC) != 0) {
		p->swap_add = be64(at);
		p->compare = be64(at + 8);
		at += 16;
	}
	if ((has & VMLX4_HAS_MASKS) != 0) {
		p->swap_mask = be64(at);
		p->compare_mask = be64(at + 8);
		at += 16;
	}
	if ((has & VMLX4_HAS_AETH) != 0) {
		p->syndrome = at[0];
		p->msn = vmlx4_be32(at) & 0xffffff;
		at += 4;
	}
	if ((has & VMLX4_HAS_ATOMIC_ACK) != 0) {
		p->original = be64(at);
		at += 8;
	}
	if ((has & (VMLX4_HAS_IMM | VMLX4_HAS_IETH)) != 0) {
		p->imm = vmlx4_be32(at);
		at += 4;
	}
	return at;
}

static enum vmlx4_ib_read
read_transport(struct vmlx4_ib_packet *p, const uint8_t *bth, const uint8_t *end)
{
	unsigned int has = vmlx4_bth_what(bth[0]), pad = bth[1] >> 4 & 3;
	const uint8_t *at;

	p->opcode = bth[0];
	p->solicited = (bth[1] & 0x80) != 0;
	p->pkey = vmlx4_be16(bth + 2);
	p->dest_qpn = vmlx4_be32(bth + 4) & 0xffffff;
	p->ack_request = (bth[8] & 0x80) != 0;
	p->psn = vmlx4_be32(bth + 8) & VMLX4_PSN_MASK;
	if (has == 0 || (bth[1] & 0x0f) != 0) /* or another version of the transport */
		return VMLX4_IB_BAD;
	at = read_extended(p, bth + BTH_SIZE, end, has);
	if (at == NULL || (size_t)(end - at) < pad)
		return VMLX4_IB_BAD;
	p->payload = at;
	p->size = (uint32_t)(end - at) - pad;
	return p->size == 0 || (has & VMLX4_HAS_PAYLOAD) != 0 ? VMLX4_IB_GOOD : VMLX4_IB_BAD;
}

enum vmlx4_ib_read
vmlx4_ib_packet_read(const uint8_t *frame, size_t length, bool v2, struct vmlx4_ib_packet *p)
{
	const uint8_t *n, *bth, *end;
	uint32_t type, icrc;
	bool udp;

	if (!vmlx4_ib_is_packet(frame, length, v2))
		return VMLX4_IB_OTHER;
	n = network_of(frame, length, &type);
	memset(p, 0, sizeof(*p));
	memcpy(p->dmac, frame, 6);
	memcpy(p->smac, frame + 6, 6);
	p->tagged = n - frame == 18;
	p->vlan = p->tagged ? vmlx4_be16(frame + 14) : 0;
	udp = type != ETHERTYPE_ROCE;
	p->roce = udp ? VMLX4_ROCE_V2 : VMLX4_ROCE_V1;
	p->ipv4 = type == ETHERTYPE_IPV4;
	read_network(p, n);
	bth = n + (p->ipv4 ? 20 : 40) + (udp ? 8 : 0);
	/* The frame may be padded behind it. */
	end = n + (p->ipv4 ? vmlx4_be16(n + 2) : 40u + vmlx4_be16(n + 4));
	if (!udp && n[6] != NEXT_HEADER_IBA)
		return VMLX4_IB_BAD;
	if (end > frame + length || end - bth < (ptrdiff_t)(BTH_SIZE + ICRC_SIZE) ||
	    ((end - bth) & 3) != 0)
		return VMLX4_IB_BAD;
	end -= ICRC_SIZE;
	icrc = vmlx4_icrc(n, p->ipv4 ? 20 : 40, udp, bth, (size_t)(end - bth));
	if (memcmp(&icrc, end, ICRC_SIZE) != 0)
		return VMLX4_IB_BAD;
	return read_transport(p, bth, end);
}
