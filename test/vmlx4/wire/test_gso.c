/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/virtio_net.h>

#include "wire/gso.h"

#define GSO_UDP_L4 5

/* A checksum of the test's own: big endian words, one at a time. */
static uint32_t
add_words(uint32_t sum, const uint8_t *at, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		sum += i % 2 == 0 ? at[i] << 8 : at[i];
	return sum;
}

static uint16_t
fold(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void
put16(uint8_t *at, unsigned int value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static unsigned int
get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

struct frame {
	uint8_t bytes[70000];
	size_t length, l3, l4, header; /* header: of L4 */
	bool ipv6, tcp;
	struct vmlx4_offload offload;
};

static uint32_t
pseudo_sum(const struct frame *frame, const uint8_t *bytes, size_t l4_length)
{
	uint32_t sum = (frame->tcp ? 6 : 17) + (l4_length & 0xffff) + (l4_length >> 16);

	return frame->ipv6 ? add_words(sum, bytes + frame->l3 + 8, 32) :
		add_words(sum, bytes + frame->l3 + 12, 8);
}

/* What a Linux stack leaves to the card: a whole chain, the pseudo header summed. */
static void
build(struct frame *frame, bool ipv6, bool tcp, unsigned int tags, size_t payload,
	unsigned int gso_size)
{
	uint8_t *at = frame->bytes;
	size_t i;

	memset(frame, 0, sizeof(*frame));
	frame->ipv6 = ipv6;
	frame->tcp = tcp;
	memcpy(at, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02", 12);
	at += 12;
	for (i = 0; i < tags; i++, at += 4)
		memcpy(at, i == 0 && tags == 2 ? "\x88\xa8\x20\x07" : "\x81\0\x60\x0a", 4);
	put16(at, ipv6 ? 0x86dd : 0x0800);
	at += 2;
	frame->l3 = at - frame->bytes;
	frame->header = tcp ? 32 : 8;
	frame->l4 = frame->l3 + (ipv6 ? 40 : 20);
	frame->length = frame->l4 + frame->header + payload;
	if (ipv6) {
		at[0] = 0x60;
		put16(at + 4, frame->header + payload);
		at[6] = tcp ? 6 : 17;
		at[7] = 64;
		for (i = 8; i < 40; i++)
			at[i] = i * 7;
	} else {
		at[0] = 0x45;
		put16(at + 2, frame->length - frame->l3);
		put16(at + 4, 0xfffe); /* runs over in the third segment */
		put16(at + 6, 0x4000);
		at[8] = 64;
		at[9] = tcp ? 6 : 17;
		memcpy(at + 12, "\x0a\1\2\3\xc0\xa8\xff\xfe", 8);
	}
	at = frame->bytes + frame->l4;
	put16(at, 40000);
	put16(at + 2, 5201);
	if (tcp) {
		memcpy(at + 4, "\xff\xff\xff\0", 4); /* the sequence runs over */
		at[12] = 8 << 4;
		at[13] = 0x80 | 0x10 | 0x08 | 0x01; /* CWR ACK PSH FIN */
	} else {
		put16(at + 4, 8 + payload);
	}
	for (i = 0; i < payload; i++)
		at[frame->header + i] = i * 31 + i / 251;
	put16(at + (tcp ? 16 : 6), fold(pseudo_sum(frame, frame->bytes,
		frame->length - frame->l4)));
	frame->offload = (struct vmlx4_offload) {
		.partial = true,
		.csum_start = frame->l4,
		.csum_offset = tcp ? 16 : 6,
		.gso_type = !tcp ? GSO_UDP_L4 : ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6 :
			VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = gso_size,
	};
}

struct collected {
	const struct frame *whole;
	unsigned int count;
	size_t payload;
};

static void
check_ip(const struct frame *whole, const uint8_t *bytes, size_t length, unsigned int number)
{
	const uint8_t *ip = bytes + whole->l3;

	if (whole->ipv6) {
		assert_int_equal(get16(ip + 4), length - whole->l4);
		return;
	}
	assert_int_equal(get16(ip + 2), length - whole->l3);
	assert_int_equal(get16(ip + 4), (0xfffe + number) & 0xffff);
	assert_int_equal(fold(add_words(0, ip, 20)), 0xffff);
}

static void
check_segment(void *arg, uint8_t *bytes, size_t length)
{
	struct collected *collected = arg;
	const struct frame *whole = collected->whole;
	const uint8_t *l4 = bytes + whole->l4;
	size_t start = whole->l4 + whole->header, size = length - start;
	bool last = start + collected->payload + size == whole->length;

	assert_int_equal(size, last ? size : whole->offload.gso_size);
	assert_in_range(size, 1, whole->offload.gso_size);
	assert_memory_equal(bytes, whole->bytes, whole->l3);
	assert_memory_equal(bytes + start, whole->bytes + start + collected->payload, size);
	check_ip(whole, bytes, length, collected->count);
	assert_int_equal(fold(add_words(pseudo_sum(whole, bytes, length - whole->l4), l4,
		length - whole->l4)), 0xffff);
	if (whole->tcp) {
		assert_int_equal(get32(l4 + 4), (uint32_t)(0xffffff00 + collected->payload));
		assert_int_equal(l4[13], 0x10 | (last ? 0x09 : 0) |
			(collected->count == 0 ? 0x80 : 0));
	} else {
		assert_int_equal(get16(l4 + 4), 8 + size);
		assert_int_not_equal(get16(l4 + 6), 0);
	}
	collected->payload += size;
	collected->count++;
}

static void
segment(bool ipv6, bool tcp, unsigned int tags, size_t payload, unsigned int gso_size)
{
	static struct frame frame;
	static uint8_t scratch[70000];
	struct collected collected = { .whole = &frame };

	build(&frame, ipv6, tcp, tags, payload, gso_size);
	assert_int_equal(vmlx4_gso_segment(frame.bytes, frame.length, &frame.offload, scratch,
		check_segment, &collected), (payload + gso_size - 1) / gso_size);
	assert_int_equal(collected.count, (payload + gso_size - 1) / gso_size);
	assert_int_equal(collected.payload, payload);
}

static void
segments_every_kind(void **state)
{
	static const size_t payloads[] = { 1, 1447, 1448, 1449, 2896, 7301, 64000 };
	unsigned int ipv6, tcp, tags;
	size_t i;

	(void)state;
	for (ipv6 = 0; ipv6 < 2; ipv6++)
		for (tcp = 0; tcp < 2; tcp++)
			for (tags = 0; tags < 3; tags++)
				for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
					segment(ipv6, tcp, tags, payloads[i], 1448);
}

static void
segments_of_odd_size(void **state)
{
	(void)state;
	segment(false, true, 0, 10000, 537);
	segment(true, true, 1, 10000, 8949);
	segment(true, false, 0, 100, 1);
}

static int
refused(struct frame *frame)
{
	static uint8_t scratch[70000];
	struct collected none = { .whole = frame };
	int ret = vmlx4_gso_segment(frame->bytes, frame->length, &frame->offload, scratch,
		check_segment, &none);

	assert_int_equal(none.count, 0);
	return ret;
}

static void
refuses_what_it_cannot_cut(void **state)
{
	static struct frame frame;

	(void)state;
	build(&frame, false, true, 0, 3000, 1448);
	frame.offload.gso_type = VIRTIO_NET_HDR_GSO_UDP; /* IP fragments */
	assert_int_equal(refused(&frame), -EOPNOTSUPP);

	build(&frame, false, true, 0, 3000, 1448);
	frame.bytes[frame.l3 + 9] = 47; /* GRE: the TCP header is that of an inner packet */
	assert_int_equal(refused(&frame), -EOPNOTSUPP);

	build(&frame, false, true, 0, 3000, 1448);
	frame.offload.csum_start += 20;
	assert_int_equal(refused(&frame), -EOPNOTSUPP);

	build(&frame, false, true, 0, 3000, 1448);
	frame.offload.gso_size = 0;
	assert_int_equal(refused(&frame), -EINVAL);

	build(&frame, false, true, 0, 3000, 1448);
	frame.offload.partial = false;
	assert_int_equal(refused(&frame), -EINVAL);

	build(&frame, false, true, 0, 3000, 1448);
	frame.bytes[frame.l4 + 12] = 4 << 4; /* shorter than a TCP header */
	assert_int_equal(refused(&frame), -EINVAL);

	build(&frame, false, true, 0, 3000, 1448);
	frame.length = frame.l4 + 10;
	assert_int_equal(refused(&frame), -EINVAL);

	build(&frame, true, true, 0, 3000, 1448);
	frame.length = frame.l3 + 30;
	assert_true(refused(&frame) < 0);

	build(&frame, false, true, 0, 3000, 1448);
	frame.length = 13;
	assert_true(refused(&frame) < 0);
}

static void
completes_a_partial_checksum(void **state)
{
	static struct frame frame;
	unsigned int ipv6, tcp;
	size_t payload;

	(void)state;
	for (ipv6 = 0; ipv6 < 2; ipv6++)
		for (tcp = 0; tcp < 2; tcp++)
			for (payload = 0; payload < 70; payload++) {
				build(&frame, ipv6, tcp, 1, payload, 0);
				assert_true(vmlx4_csum_complete(frame.bytes, frame.length,
					&frame.offload));
				assert_int_equal(fold(add_words(pseudo_sum(&frame, frame.bytes,
					frame.length - frame.l4), frame.bytes + frame.l4,
					frame.length - frame.l4)), 0xffff);
			}
}

static void
udp_checksum_is_never_zero(void **state)
{
	static struct frame frame;
	unsigned int missing;

	(void)state;
	build(&frame, false, false, 0, 2, 0);
	/* Choose the payload that makes the sum 0xffff: its complement is 0. */
	put16(frame.bytes + frame.l4 + 8, 0);
	missing = 0xffff - fold(add_words(0, frame.bytes + frame.l4, 10));
	put16(frame.bytes + frame.l4 + 8, missing);
	assert_true(vmlx4_csum_complete(frame.bytes, frame.length, &frame.offload));
	assert_int_equal(get16(frame.bytes + frame.l4 + 6), 0xffff);
}

static void
refuses_offsets_outside(void **state)
{
	uint8_t frame[64] = { 0 }, before[64] = { 0 };
	struct vmlx4_offload offload = { .partial = true, .csum_start = 64, .csum_offset = 0 };

	(void)state;
	assert_false(vmlx4_csum_complete(frame, sizeof(frame), &offload));
	offload.csum_start = 34;
	offload.csum_offset = 29;
	assert_false(vmlx4_csum_complete(frame, sizeof(frame), &offload));
	offload.csum_offset = 0xffff;
	assert_false(vmlx4_csum_complete(frame, sizeof(frame), &offload));
	assert_memory_equal(frame, before, sizeof(frame));
	offload.csum_offset = 28;
	assert_true(vmlx4_csum_complete(frame, sizeof(frame), &offload));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_every_kind),
		cmocka_unit_test(segments_of_odd_size),
		cmocka_unit_test(refuses_what_it_cannot_cut),
		cmocka_unit_test(completes_a_partial_checksum),
		cmocka_unit_test(udp_checksum_is_never_zero),
		cmocka_unit_test(refuses_offsets_outside),
	};

	return cmocka_run_group_tests_name("gso", tests, NULL, NULL);
}
