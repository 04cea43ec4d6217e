/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * Large send: one WQE with headers, an MSS and a payload becomes TCP segments,
 * on a Pro card also such as travel in VXLAN.
 */

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

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

/* The headers of one WQE, and of what is inside when they are a tunnel's. */
struct headers {
	struct vmlx4_parsed outer, inner;
	const struct vmlx4_parsed *tcp; /* one of them */
};

static void
patch_ip(uint8_t *frame, size_t length, const struct vmlx4_parsed *p, uint32_t number)
{
	uint8_t *l3 = frame + p->l3_offset;

	if (p->l3 == VMLX4_L3_IPV4) {
		vmlx4_put_be16(l3 + 2, (uint16_t)(length - p->l3_offset));
		vmlx4_put_be16(l3 + 4, (uint16_t)(vmlx4_be16(l3 + 4) + number));
	} else {
		vmlx4_put_be16(l3 + 4, (uint16_t)(length - p->l3_offset - 40));
	}
}

/* What differs between the frames cut from one WQE. */
static void
lso_patch(uint8_t *frame, size_t length, const struct headers *h, uint32_t number,
	uint32_t done, bool last)
{
	uint8_t *tcp = frame + h->tcp->l4_offset;

	patch_ip(frame, length, h->tcp, number);
	if (h->tcp != &h->outer) {
		patch_ip(frame, length, &h->outer, number);
		vmlx4_put_be16(frame + h->outer.l4_offset + 4,
			(uint16_t)(length - h->outer.l4_offset));
	}
	vmlx4_put_be32(tcp + 4, vmlx4_be32(tcp + 4) + done);
	if (!last)
		tcp[13] &= (uint8_t)~(TCP_FIN | TCP_PSH);
	if (number != 0)
		tcp[13] &= (uint8_t)~TCP_CWR;
}

/* A TCP header that ends where the headers end. */
static bool
lso_parse(const uint8_t *header, size_t length, const struct vmlx4_tx_ask *ask,
	struct headers *h)
{
	vmlx4_parse_headers(header, length, &h->outer);
	h->tcp = &h->outer;
	if (vmlx4_is_vxlan(header, &h->outer, ask->vxlan_port)) {
		if (!vmlx4_parse_inner(header, &h->outer, true, &h->inner))
			return false;
		h->tcp = &h->inner;
	}
	return h->tcp->l4 == VMLX4_L4_TCP &&
		length == h->tcp->l4_offset + (header[h->tcp->l4_offset + 12] >> 4) * 4u;
}

uint8_t
vmlx4_tx_lso(struct vmlx4_port *port, uint8_t *header, size_t header_length,
	const struct vmlx4_gather *payload, uint32_t mss, const struct vmlx4_tx_ask *ask)
{
	static uint8_t frame[VMLX4_MAX_FRAME]; /* the adapter is locked */
	struct cursor cursor = { .g = payload };
	struct headers headers;
	uint32_t done = 0, number = 0;

	header_length = vmlx4_tx_vlan(header, header_length, ask);
	if (mss == 0 || header_length + mss > sizeof(frame) ||
	    !lso_parse(header, header_length, ask, &headers))
		return VMLX4_HW_SYN_LOC_QP_OP;
	do {
		uint32_t n = payload->length - done;

		if (n > mss)
			n = mss;
		memcpy(frame, header, header_length);
		cursor_copy(&cursor, frame + header_length, n);
		lso_patch(frame, header_length + n, &headers, number, done,
			done + n == payload->length);
		vmlx4_tx_checksums(frame, header_length + n, ask);
		vmlx4_tx_emit(port, frame, header_length + n, ask);
		done += n;
		number++;
	} while (done < payload->length);
	port->stats.tx_lso++;
	return 0;
}
