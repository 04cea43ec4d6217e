/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "card.h"
#include "frames.h"

#define PARSE(frame) parse_copy(frame, sizeof(frame))

/* From a buffer of just that size, so that a sanitizer sees a read behind it. */
static struct vmlx4_parsed
parse_copy(const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed p;
	uint8_t *copy = malloc(length != 0 ? length : 1);

	assert_non_null(copy);
	memcpy(copy, frame, length);
	vmlx4_parse(copy, length, &p);
	free(copy);
	return p;
}

static void
test_udp4(void **state)
{
	struct vmlx4_parsed p = PARSE(frame_udp4);

	(void)state;
	assert_int_equal(p.l3, VMLX4_L3_IPV4);
	assert_int_equal(p.l4, VMLX4_L4_UDP);
	assert_int_equal(p.l3_offset, 14);
	assert_int_equal(p.l4_offset, 34);
	assert_int_equal(p.l3_payload_end, 60);
	assert_false(p.fragment || p.options || p.truncated);
	assert_int_equal(p.vlans, 0);
}

static void
test_options_move_l4(void **state)
{
	struct vmlx4_parsed p = PARSE(frame_tcp4_options);

	(void)state;
	assert_int_equal(p.l4, VMLX4_L4_TCP);
	assert_int_equal(p.l4_offset, 38);
	assert_true(p.options);
}

static void
test_fragments_have_no_l4(void **state)
{
	struct vmlx4_parsed first = PARSE(frame_frag_first), later = PARSE(frame_frag_later);

	(void)state;
	assert_true(first.fragment && first.first_fragment);
	assert_int_equal(first.l4, VMLX4_L4_NONE);
	assert_int_equal(first.l4_offset, 34);
	assert_true(later.fragment && !later.first_fragment);
	assert_int_equal(later.l4, VMLX4_L4_NONE);
	assert_int_equal(later.l4_offset, 0);
}

static void
test_ipv6(void **state)
{
	struct vmlx4_parsed p = PARSE(frame_tcp6), f = PARSE(frame_udp6_frag);

	(void)state;
	assert_int_equal(p.l3, VMLX4_L3_IPV6);
	assert_int_equal(p.l4, VMLX4_L4_TCP);
	assert_int_equal(p.l4_offset, 54);
	assert_int_equal(p.l3_payload_end, 81);
	assert_true(f.fragment && f.first_fragment && !f.ipv6_ext);
	assert_int_equal(f.ipv6_ext_mask, 0x10);
	assert_int_equal(f.l4, VMLX4_L4_NONE);
}

static void
test_tags(void **state)
{
	struct vmlx4_parsed p = PARSE(frame_tagged);
	uint8_t two[sizeof(frame_tagged) + 4];

	(void)state;
	assert_int_equal(p.vlans, 1);
	assert_false(p.s_vlan);
	assert_int_equal(p.vlan_tci, 0xa123);
	assert_int_equal(p.l3_offset, 18);
	assert_int_equal(p.l4, VMLX4_L4_UDP);

	memcpy(two, frame_tagged, 12);
	memcpy(two + 12, "\x88\xa8\x00\x07", 4);
	memcpy(two + 16, frame_tagged + 12, sizeof(frame_tagged) - 12);
	p = PARSE(two);
	assert_int_equal(p.vlans, 2);
	assert_true(p.s_vlan);
	assert_int_equal(p.vlan_tci, 7);
	assert_int_equal(p.l3_offset, 22);
	assert_int_equal(p.l4, VMLX4_L4_UDP);
}

/* Padding is no payload; a packet that the frame cuts off is marked. */
static void
test_lengths(void **state)
{
	uint8_t padded[100] = { 0 };
	struct vmlx4_parsed p;

	(void)state;
	memcpy(padded, frame_udp4, sizeof(frame_udp4));
	p = PARSE(padded);
	assert_int_equal(p.l3_payload_end, 60);
	p = parse_copy(frame_udp4, 50);
	assert_true(p.truncated);
	assert_int_equal(p.l3_payload_end, 50);
}

/* Every prefix, and every prefix with every byte spoilt, stays inside the frame. */
static void
test_nothing_outside(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t length;
	} all[] = {
		{ frame_udp4, sizeof(frame_udp4) },
		{ frame_tcp4_options, sizeof(frame_tcp4_options) },
		{ frame_tcp6, sizeof(frame_tcp6) },
		{ frame_udp6_frag, sizeof(frame_udp6_frag) },
		{ frame_tagged, sizeof(frame_tagged) },
		{ frame_arp, sizeof(frame_arp) },
	};
	static const uint8_t values[] = { 0x00, 0x11, 0x2b, 0x3c, 0x4f, 0x80, 0xff };
	uint8_t copy[128];
	size_t i, length, at, v;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (length = 0; length <= all[i].length; length++)
			for (at = 12; at < length; at++)
				for (v = 0; v < sizeof(values); v++) {
					struct vmlx4_parsed p;

					memcpy(copy, all[i].frame, length);
					copy[at] = values[v];
					p = parse_copy(copy, length);
					assert_true(p.l3_payload_end <= length);
					assert_true(p.l4_offset <= length);
					if (p.l4 == VMLX4_L4_TCP)
						assert_true(p.l4_offset + 20u <= length);
					if (p.l4 == VMLX4_L4_UDP)
						assert_true(p.l4_offset + 8u <= length);
				}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp4),
		cmocka_unit_test(test_options_move_l4),
		cmocka_unit_test(test_fragments_have_no_l4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_nothing_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
