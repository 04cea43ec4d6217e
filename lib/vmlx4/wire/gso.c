/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <linux/virtio_net.h>

#include "csum.h"
#include "gso.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* Linux 6.2 */
#endif

/* Offsets of the checksum field in the L4 header. */
#define TCP_CHECK 16
#define UDP_CHECK 6

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

/* Where the headers of one big frame lie. */
struct layout {
	size_t l3, l4, payload;
	bool ipv4, tcp;
};

static uint16_t
load16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static void
store16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static uint32_t
load32(const uint8_t *at)
{
	return (uint32_t)load16(at) << 16 | load16(at + 2);
}

static void
store32(uint8_t *at, uint32_t value)
{
	store16(at, value >> 16);
	store16(at + 2, value);
}

/* Sum the L4 part, whose field holds the sum of the pseudo header, and store it. */
static void
complete(uint8_t *l4, size_t length, size_t offset)
{
	uint16_t sum = ~vmlx4_csum_fold(vmlx4_csum_add(0, l4, length));

	/* UDP: 0 would say "no checksum". */
	if (sum == 0 && offset == UDP_CHECK)
		sum = 0xffff;
	memcpy(l4 + offset, &sum, sizeof(sum));
}

bool
vmlx4_csum_complete(uint8_t *frame, size_t length, const struct vmlx4_offload *offload)
{
	size_t start = offload->csum_start, offset = offload->csum_offset;

	if (!offload->partial)
		return true;
	if (start >= length || length - start < offset + 2)
		return false;
	complete(frame + start, length - start, offset);
	return true;
}

/* Skip Ethernet and tags; the offset of L3, or 0 for a frame that is too short. */
static size_t
find_l3(const uint8_t *frame, size_t length, uint16_t *ethertype)
{
	size_t at = 12;

	while (length >= at + 2) {
		*ethertype = load16(frame + at);
		at += 2;
		if (*ethertype != 0x8100 && *ethertype != 0x88a8)
			return at;
		at += 2;
	}
	return 0;
}

/* Does L4 begin where the host says, right behind the outer IP header? */
static bool
find_l4(const uint8_t *frame, size_t length, struct layout *layout)
{
	const uint8_t *ip = frame + layout->l3;
	uint8_t protocol = layout->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	size_t at;
	uint8_t next;

	if (layout->ipv4)
		return length >= layout->l3 + 20 && ip[0] >> 4 == 4 && ip[9] == protocol &&
			(load16(ip + 6) & 0x3fff) == 0 &&
			layout->l3 + (ip[0] & 0xf) * 4u == layout->l4;
	if (length < layout->l3 + 40 || ip[0] >> 4 != 6)
		return false;
	next = ip[6];
	at = layout->l3 + 40;
	while (at < layout->l4 && (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING ||
			next == IPPROTO_DSTOPTS)) {
		next = frame[at];
		at += 8 + frame[at + 1] * 8u;
	}
	return at == layout->l4 && next == protocol;
}

static int
find_layout(const uint8_t *frame, size_t length, const struct vmlx4_offload *offload,
	struct layout *layout)
{
	size_t header;
	uint16_t ethertype = 0;

	/* The sums of the segments are made from the partial one. */
	if (!offload->partial || offload->gso_size == 0)
		return -EINVAL;
	layout->tcp = offload->gso_type == VIRTIO_NET_HDR_GSO_TCPV4 ||
		offload->gso_type == VIRTIO_NET_HDR_GSO_TCPV6;
	if (!layout->tcp && offload->gso_type != VIRTIO_NET_HDR_GSO_UDP_L4)
		return -EOPNOTSUPP;
	layout->l3 = find_l3(frame, length, &ethertype);
	layout->l4 = offload->csum_start;
	layout->ipv4 = ethertype == 0x0800;
	header = layout->tcp ? 20 : 8;
	if (layout->l3 == 0 || (!layout->ipv4 && ethertype != 0x86dd))
		return -EOPNOTSUPP;
	if (layout->l4 <= layout->l3 || layout->l4 + header > length ||
			offload->csum_offset != (layout->tcp ? TCP_CHECK : UDP_CHECK))
		return -EINVAL;
	/* An L4 header elsewhere is that of a tunnelled packet. */
	if (!find_l4(frame, length, layout))
		return -EOPNOTSUPP;
	if (layout->tcp)
		header = (frame[layout->l4 + 12] >> 4) * 4u;
	layout->payload = layout->l4 + header;
	if (header < (layout->tcp ? 20u : 8u) || layout->payload >= length)
		return -EINVAL;
	return 0;
}

static void
segment_l3(uint8_t *frame, size_t length, const struct layout *layout, unsigned int number)
{
	uint8_t *ip = frame + layout->l3;
	size_t header = layout->l4 - layout->l3;
	uint16_t sum;

	if (!layout->ipv4) {
		store16(ip + 4, length - layout->l3 - 40);
		return;
	}
	store16(ip + 2, length - layout->l3);
	store16(ip + 4, load16(ip + 4) + number);
	store16(ip + 10, 0);
	sum = ~vmlx4_csum_fold(vmlx4_csum_add(0, ip, header));
	memcpy(ip + 10, &sum, sizeof(sum));
}

static void
segment_l4(uint8_t *frame, size_t length, const struct layout *layout, size_t whole,
	size_t offset, bool last)
{
	uint8_t *l4 = frame + layout->l4;
	size_t field = layout->tcp ? TCP_CHECK : UDP_CHECK;
	uint16_t pseudo, old_length, new_length;

	if (layout->tcp) {
		store32(l4 + 4, load32(l4 + 4) + offset);
		if (!last)
			l4[13] &= ~(TCP_FIN | TCP_PSH);
		if (offset > 0)
			l4[13] &= ~TCP_CWR;
	} else {
		store16(l4 + 4, length - layout->l4);
	}
	/*
	 * The field holds the sum of the pseudo header with the length of the
	 * whole: exchange that length for the segment's own.
	 */
	memcpy(&pseudo, l4 + field, sizeof(pseudo));
	old_length = htons(whole - layout->l4);
	new_length = htons(length - layout->l4);
	pseudo = vmlx4_csum_fold((uint64_t)pseudo + (uint16_t)~old_length + new_length);
	memcpy(l4 + field, &pseudo, sizeof(pseudo));
	complete(l4, length - layout->l4, field);
}

int
vmlx4_gso_segment(const uint8_t *frame, size_t length, const struct vmlx4_offload *offload,
	uint8_t *scratch, void (*emit)(void *arg, uint8_t *frame, size_t length), void *arg)
{
	struct layout layout;
	size_t offset, size;
	int number = 0;
	int ret;

	if (length > 65535 + 14 + 8)
		return -EINVAL;
	ret = find_layout(frame, length, offload, &layout);
	if (ret < 0)
		return ret;
	for (offset = 0; layout.payload + offset < length; offset += size) {
		size_t rest = length - layout.payload - offset;
		bool last = rest <= offload->gso_size;

		size = last ? rest : offload->gso_size;
		memcpy(scratch, frame, layout.payload);
		memcpy(scratch + layout.payload, frame + layout.payload + offset, size);
		segment_l3(scratch, layout.payload + size, &layout, number);
		segment_l4(scratch, layout.payload + size, &layout, length, offset, last);
		emit(arg, scratch, layout.payload + size);
		number++;
	}
	return number;
}
