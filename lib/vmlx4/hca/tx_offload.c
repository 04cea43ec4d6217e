/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

#define VXLAN_PORT 4789
#define VXLAN_HEADERS 16 /* UDP and VXLAN */

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

static void
store_sum(uint8_t *at, uint16_t sum)
{
	memcpy(at, &sum, 2);
}

static void
fill_ip(uint8_t *ip)
{
	size_t header = (ip[0] & 0xf) * 4u;

	store_sum(ip + 10, 0);
	store_sum(ip + 10, (uint16_t)~vmlx4_sum_fold(vmlx4_sum(ip, header, 0)));
}

/* What the field held before does not matter: the card overwrites it. */
static void
fill_l4(uint8_t *frame, const struct vmlx4_parsed *p)
{
	size_t length = p->l3_payload_end - p->l4_offset;
	uint8_t *l4 = frame + p->l4_offset;
	uint8_t *at = l4 + (p->l4 == VMLX4_L4_TCP ? 16 : 6);
	uint64_t sum = vmlx4_sum_pseudo(frame, p, p->ip_protocol, (uint32_t)length);
	uint16_t done;

	store_sum(at, 0);
	done = (uint16_t)~vmlx4_sum_fold(vmlx4_sum(l4, length, sum));
	if (done == 0 && p->l4 == VMLX4_L4_UDP)
		done = 0xffff; /* zero would say that there is none */
	store_sum(at, done);
}

static void
fill(uint8_t *frame, size_t length, bool ip, bool l4, struct vmlx4_parsed *p)
{
	vmlx4_parse(frame, length, p);
	if (l4 && p->l4 != VMLX4_L4_NONE)
		fill_l4(frame, p);
	if (ip && p->l3 == VMLX4_L3_IPV4)
		fill_ip(frame + p->l3_offset);
}

void
vmlx4_tx_checksums(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask)
{
	struct vmlx4_parsed outer, inner;
	bool tunnel = ask->inner_ip || ask->inner_l4;
	size_t at;

	if (tunnel) {
		vmlx4_parse(frame, length, &outer);
		at = outer.l4_offset + VXLAN_HEADERS;
		if (outer.l4 == VMLX4_L4_UDP && at < length &&
		    vmlx4_be16(frame + outer.l4_offset + 2) == VXLAN_PORT)
			fill(frame + at, length - at, ask->inner_ip, ask->inner_l4, &inner);
	}
	/* The checksum of an outer UDP header is never computed. */
	if (ask->csum_ip || ask->csum_l4)
		fill(frame, length, ask->csum_ip, ask->csum_l4 && !tunnel, &outer);
}

size_t
vmlx4_tx_vlan(uint8_t *frame, size_t length, const struct vmlx4_tx_ask *ask)
{
	if (ask->vlan_type == 0 || length < 12)
		return length;
	memmove(frame + 16, frame + 12, length - 12);
	vmlx4_put_be16(frame + 12, ask->vlan_type);
	vmlx4_put_be16(frame + 14, ask->vlan_tci);
	return length + 4;
}

/* Position in the payload of an LSO WQE. */
struct cursor {
	const struct vmlx4_gather *g;
	uint32_t seg, offset;
};

static void
cursor_copy(struct cursor *c, uint8_t *to, uint32_t size)
{
	while (size != 0) {
		uint32_t n = c->g->size[c->seg] - c->offset;

		if (n > size)
			n = size;
		memcpy(to, c->g->base[c->seg] + c->offset, n);
		to += n;
		size -= n;
		c->offset += n;
		if (c->offset == c->g->size[c->seg]) {
			c->seg++;
			c->offset = 0;
		}
	}
}

/* What differs between the frames cut from one WQE. */
static void
lso_patch(uint8_t *frame, size_t length, const struct vmlx4_parsed *p,
	uint32_t number, uint32_t done, bool last)
{
	uint8_t *l3 = frame + p->l3_offset, *tcp = frame + p->l4_offset;

	if (p->l3 == VMLX4_L3_IPV4) {
		vmlx4_put_be16(l3 + 2, (uint16_t)(length - p->l3_offset));
		vmlx4_put_be16(l3 + 4, (uint16_t)(vmlx4_be16(l3 + 4) + number));
	} else {
		vmlx4_put_be16(l3 + 4, (uint16_t)(length - p->l3_offset - 40));
	}
	vmlx4_put_be32(tcp + 4, vmlx4_be32(tcp + 4) + done);
	if (!last)
		tcp[13] &= (uint8_t)~(TCP_FIN | TCP_PSH);
	if (number != 0)
		tcp[13] &= (uint8_t)~TCP_CWR;
}

/* The headers alone: lengths in them need not fit what follows. */
static bool
lso_parse(uint8_t *header, size_t length, struct vmlx4_parsed *p)
{
	vmlx4_parse(header, length, p);
	if (p->l3 == VMLX4_L3_NONE || p->fragment || p->ip_protocol != 6 || p->l4_offset == 0)
		return false;
	return length >= p->l4_offset + 20u &&
		length == p->l4_offset + (header[p->l4_offset + 12] >> 4) * 4u;
}

uint8_t
vmlx4_tx_lso(struct vmlx4_port *port, uint8_t *header, size_t header_length,
	const struct vmlx4_gather *payload, uint32_t mss, const struct vmlx4_tx_ask *ask)
{
	static uint8_t frame[VMLX4_MAX_FRAME]; /* the adapter is locked */
	struct cursor cursor = { .g = payload };
	struct vmlx4_parsed parsed;
	uint32_t done = 0, number = 0;

	header_length = vmlx4_tx_vlan(header, header_length, ask);
	if (mss == 0 || header_length + mss > sizeof(frame) ||
	    !lso_parse(header, header_length, &parsed))
		return VMLX4_HW_SYN_LOC_QP_OP;
	do {
		uint32_t n = payload->length - done;

		if (n > mss)
			n = mss;
		memcpy(frame, header, header_length);
		cursor_copy(&cursor, frame + header_length, n);
		lso_patch(frame, header_length + n, &parsed, number, done,
			done + n == payload->length);
		vmlx4_tx_checksums(frame, header_length + n, ask);
		vmlx4_port_send(port, frame, header_length + n);
		done += n;
		number++;
	} while (done < payload->length);
	return 0;
}
