/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames from outside: parser, hash, status, steering, scatter, and what the
 * wires and the send side do to the same bytes.
 */

#include <linux/virtio_net.h>
#include <stdlib.h>

#include "card.h"
#include "fuzz.h"
#include "hca/burst.h"
#include "wire/gso.h"

/* Kernel headers of Debian 12 are older than it. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

static struct card card;
static struct vmlx4_cq *cq;
static struct vmlx4_qp *rx, hashing;
static struct vmlx4_flow flows[4];
static uint8_t scratch[VMLX4_MAX_FRAME + 64];

static void
flow_add(struct vmlx4_flow *flow, unsigned int priority)
{
	flow->priority = (uint16_t)priority;
	flow->port = &card.adapter->ports[1];
	flow->qp = rx;
	vmlx4_steering_add(flow);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	unsigned int i;

	(void)argc;
	(void)argv;
	card_new(&card, VMLX4_STRICT_REPORT);
	cq = card_cq(&card, 64, 64);
	rx = card_rq(&card, cq, 64, 2);
	hashing.rss = calloc(1, sizeof(*hashing.rss));
	if (hashing.rss == NULL)
		return -1;
	for (i = 0; i < VMLX4_RSS_KEY; i++)
		hashing.rss->key[i] = (uint8_t)(37 * i + 11);
	vmlx4_rss_prepare(&hashing);
	flows[0].match = (struct vmlx4_match){ .eth = true, .ipv4 = true, .tcp = true,
		.dst_port = htobe16(80), .dst_port_mask = 0xffff };
	flows[1].match = (struct vmlx4_match){ .eth = true, .ipv4 = true,
		.dst_ip = htobe32(0x0a000002), .dst_ip_mask = 0xffffffff };
	flows[2].match = (struct vmlx4_match){ .eth = true, .vlan_tag = htobe16(5),
		.vlan_mask = htobe16(0x0fff) };
	flows[3].flow_type = VMLX4_FLOW_ALL_DEFAULT;
	for (i = 0; i < 4; i++)
		flow_add(&flows[i], i);
	return 0;
}

static void
reset(void)
{
	unsigned int i;

	vmlx4_rq_reset(&rx->rq);
	vmlx4_cq_init(cq);
	memset(cq->db, 0, 8);
	for (i = 0; i < 64; i++)
		card_post_recv(rx, i, card.arena + 1024 * i, i % 4 == 3 ? 100 : 1024);
	card_rq_record(rx, 64);
	vmlx4_rq_ready(&rx->rq);
}

static void
look(const uint8_t *frame, size_t length)
{
	struct vmlx4_rx_status status;
	struct vmlx4_parsed parsed;
	uint32_t hash, plain;
	uint16_t checksum;

	vmlx4_parse(frame, length, &parsed);
	vmlx4_rss_hash(&hashing, frame, &parsed, &hash);
	vmlx4_rx_status(&card.adapter->options.unknowns, frame, &parsed, &status);
	/* The short way says what the long one does, or nothing. */
	if (vmlx4_rx_plain_status(frame, length, &plain, &checksum) &&
			(plain != status.status || checksum != status.checksum))
		abort();
}

static void
emit(void *arg, uint8_t *frame, size_t length)
{
	(void)arg;
	if (length > 0)
		look(frame, length);
}

/* A host's wish of what its card should finish. */
static void
segment(struct input *in, const uint8_t *frame, size_t length)
{
	static const uint8_t kinds[] = {
		VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6, VIRTIO_NET_HDR_GSO_UDP_L4,
		VIRTIO_NET_HDR_GSO_UDP,
	};
	struct vmlx4_offload offload = {
		.partial = true, .csum_start = take16(in), .csum_offset = take8(in),
		.gso_type = kinds[take8(in) % 4], .gso_size = take16(in),
	};
	uint8_t *copy = malloc(length);

	if (copy == NULL)
		return;
	memcpy(copy, frame, length);
	vmlx4_csum_complete(copy, length, &offload);
	vmlx4_gso_segment(copy, length, &offload, scratch, emit, NULL);
	free(copy);
}

/* What a send WQE may ask for. */
static void
finish(struct input *in, const uint8_t *frame, size_t length)
{
	uint8_t bits = take8(in);
	struct vmlx4_tx_ask ask = {
		.csum_ip = bits & 1, .csum_l4 = bits & 2, .inner_ip = bits & 4,
		.inner_l4 = bits & 8,
		.vlan_type = (bits & 0x10) == 0 ? 0 : (bits & 0x20) != 0 ? 0x88a8 : 0x8100,
		.vlan_tci = take16(in),
	};
	uint8_t *copy = malloc(length + 4);

	if (copy == NULL)
		return;
	memcpy(copy, frame, length);
	length = vmlx4_tx_vlan(copy, length, &ask);
	vmlx4_tx_checksums(copy, length, &ask);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t fields, *frame;
	size_t length;

	fields = take8(&in);
	hashing.rss->fields = fields & 0x3f;
	rx->rq.scatter_fcs = (fields & 0x40) != 0;
	card.adapter->options.strict = (fields & 0x80) != 0 ? VMLX4_STRICT_OFF :
		VMLX4_STRICT_REPORT;
	reset();
	while (in.left > 1) {
		length = take16(&in) % 2048;
		if (length > in.left)
			length = in.left;
		/* Of its size: a sanitizer sees what reads behind it. */
		frame = malloc(length + 1);
		if (frame == NULL)
			return 0;
		take(&in, frame + 1, length);
		if (length >= 14) {
			struct vmlx4_burst burst = {
				.count = 1, .frame = { frame + 1 },
				.length = { (uint32_t)length },
			};

			look(frame + 1, length);
			vmlx4_port_receive(&card.adapter->ports[1], frame + 1, length);
			vmlx4_port_receive_burst(&card.adapter->ports[1], &burst);
			segment(&in, frame + 1, length);
			finish(&in, frame + 1, length);
		}
		free(frame);
	}
	return 0;
}
