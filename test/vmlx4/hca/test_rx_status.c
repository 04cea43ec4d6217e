/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "card.h"
#include "frames_tunnel.h"

/* What the CQE says of a packet's kinds and checksums, apart from the CQE. */

static struct vmlx4_unknowns unknowns;

static struct vmlx4_rx_status
status_of(const uint8_t *frame, size_t length)
{
	struct vmlx4_parsed parsed, inner;
	struct vmlx4_rx_status st;

	vmlx4_parse(frame, length, &parsed);
	if (vmlx4_is_vxlan(frame, &parsed, unknowns.vxlan_port) &&
	    vmlx4_parse_inner(frame, &parsed, false, &inner))
		parsed.inner = &inner;
	vmlx4_rx_status(&unknowns, frame, &parsed, &st);
	return st;
}

static int
setup(void **state)
{
	(void)state;
	unknowns = vmlx4_unknown_defaults;
	return 0;
}

/* Bits 31:25 of the first dword are about the outer headers, the status is the inner's. */
static void
test_tunnel(void **state)
{
	struct vmlx4_rx_status st = status_of(frame_vxlan4, sizeof(frame_vxlan4));

	(void)state;
	assert_int_equal(st.vlan, 0x8e000000);
	assert_int_equal(st.status, 0x14400004); /* IPOK, TCP, IPv4, L4 */
	assert_int_equal(st.checksum, 0xffff);
	st = status_of(frame_vxlan6, sizeof(frame_vxlan6));
	assert_int_equal(st.vlan, 0x8c000000);
	assert_int_equal(st.status, 0x19000004); /* IPOK, UDP, IPv6, L4 */
	assert_int_equal(st.checksum, 0xffff);
	/* The same as of the inner frame by itself. */
	st = status_of(frame_vxlan4 + 50, sizeof(frame_vxlan4) - 50);
	assert_int_equal(st.vlan, 0);
	assert_int_equal(st.status, 0x14400004);
}

/* One byte wrong at a time, in outer and inner headers and data. */
static void
test_tunnel_damage(void **state)
{
	static const struct {
		size_t at;
		uint32_t vlan, status;
	} damage[] = {
		{ 22, 0x0e000000, 0x14400004 },  /* outer time to live */
		{ 72, 0x8e000000, 0x04400004 },  /* inner time to live */
		{ 110, 0x8e000000, 0x14400000 }, /* inner data */
	};
	uint8_t frame[sizeof(frame_vxlan4)];
	struct vmlx4_rx_status st;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		memcpy(frame, frame_vxlan4, sizeof(frame));
		frame[damage[i].at] ^= 1;
		st = status_of(frame, sizeof(frame));
		assert_int_equal(st.vlan, damage[i].vlan);
		assert_int_equal(st.status, damage[i].status);
	}
}

static void
test_tunnel_outer_sum(void **state)
{
	uint8_t frame[sizeof(frame_vxlan6)];

	(void)state;
	/* None, and the option for what that means. */
	unknowns.rx_tunnel_no_sum_ok = 0;
	assert_int_equal(status_of(frame_vxlan4, sizeof(frame_vxlan4)).vlan, 0x8a000000);
	assert_int_equal(status_of(frame_vxlan6, sizeof(frame_vxlan6)).vlan, 0x8c000000);
	/* A wrong one; the inner packet is not the outer's concern. */
	memcpy(frame, frame_vxlan6, sizeof(frame));
	frame[60] ^= 1;
	assert_int_equal(status_of(frame, sizeof(frame)).vlan, 0x88000000);
	assert_int_equal(status_of(frame, sizeof(frame)).status, 0x19000004);
}

/* A tag in front is the outer's, and goes with the tunnel bits. */
static void
test_tunnel_tagged(void **state)
{
	uint8_t frame[sizeof(frame_vxlan4) + 4];
	struct vmlx4_rx_status st;

	(void)state;
	memcpy(frame, frame_vxlan4, 12);
	memcpy(frame + 12, "\x88\xa8\x20\x05", 4);
	memcpy(frame + 16, frame_vxlan4 + 12, sizeof(frame_vxlan4) - 12);
	st = status_of(frame, sizeof(frame));
	assert_int_equal(st.vlan, 0xce000000);
	assert_int_equal(st.sl_vid, 0x2005);
	assert_int_equal(st.status, 0x14400004);
}

/* Cut inside: what is left of it is no more than is there. */
static void
test_tunnel_truncated(void **state)
{
	size_t length;

	(void)state;
	for (length = 14; length < sizeof(frame_vxlan4); length++) {
		uint8_t *exact = malloc(length);
		struct vmlx4_rx_status st;

		assert_non_null(exact);
		memcpy(exact, frame_vxlan4, length);
		st = status_of(exact, length); /* a sanitizer sees reads behind it */
		assert_int_equal(st.status & VMLX4_HW_ST_L4OK, 0);
		assert_int_equal((st.vlan & VMLX4_HW_CQE_TUNNEL) != 0, length >= 64);
		free(exact);
	}
}

/* RFC 8200: over IPv6 UDP has to have a checksum; with none nothing is verified. */
static void
test_no_udp_sum(void **state)
{
	uint8_t frame[sizeof(frame_vxlan6) - 70];
	struct vmlx4_rx_status st;

	(void)state;
	memcpy(frame, frame_vxlan6 + 70, sizeof(frame));
	assert_int_equal(status_of(frame, sizeof(frame)).status, 0x19000004);
	memset(frame + 60, 0, 2);
	st = status_of(frame, sizeof(frame));
	assert_int_equal(st.status, 0x19000000);
	assert_int_not_equal(st.checksum, 0xffff);
}

/* Extension headers in front of UDP: a bit for each, and the checksum is found. */
static void
test_ipv6_extensions(void **state)
{
	uint8_t frame[sizeof(frame_vxlan6) - 70 + 16];
	struct vmlx4_rx_status st;

	(void)state;
	memcpy(frame, frame_vxlan6 + 70, 54);
	memcpy(frame + 70, frame_vxlan6 + 70 + 54, sizeof(frame) - 70);
	vmlx4_put_be16(frame + 18, (uint16_t)(vmlx4_be16(frame + 18) + 16));
	frame[20] = 0;                              /* hop-by-hop options… */
	memcpy(frame + 54, "\x3c\x00\x01\x04\x00\x00\x00\x00", 8);
	memcpy(frame + 62, "\x11\x00\x01\x04\x00\x00\x00\x00", 8); /* …destination options */
	st = status_of(frame, sizeof(frame));
	assert_int_equal(st.status, 0x19000504);
	assert_int_equal(st.checksum, 0xffff);
}

/* 802.2: LLC alone, and with a SNAP header. */
static void
test_llc(void **state)
{
	uint8_t frame[60] = { 0 };

	(void)state;
	vmlx4_put_be16(frame + 12, 46);
	memcpy(frame + 14, "\x42\x42\x03", 3);
	assert_int_equal(status_of(frame, 60).status, 1);
	memcpy(frame + 14, "\xaa\xaa\x03\x00\x00\x00\x08\x00", 8);
	assert_int_equal(status_of(frame, 60).status, 3);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_tunnel),
		TEST(test_tunnel_damage),
		TEST(test_tunnel_outer_sum),
		TEST(test_tunnel_tagged),
		TEST(test_tunnel_truncated),
		TEST(test_no_udp_sum),
		TEST(test_ipv6_extensions),
		TEST(test_llc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
