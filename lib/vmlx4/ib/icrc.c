/* SPDX-License-Identifier: BSD-3-Clause */

#include "../hca/internal.h"
#include "packet.h"

/*
 * The invariant CRC is the CRC-32 of Ethernet over what no router changes. What it
 * may change counts as ones, and so does a local route header, which packets on
 * Ethernet do not have (annexes A16.4.1, A17.3.3).
 */

#define SLICES 8u

static uint32_t table[SLICES][256];

static void __attribute__((constructor))
table_prepare(void)
{
	unsigned int i, k;

	for (i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (k = 0; k < 8; k++)
			crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
		table[0][i] = crc;
	}
	for (k = 1; k < SLICES; k++)
		for (i = 0; i < 256; i++)
			table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xff];
}

static uint32_t
crc_add(uint32_t crc, const uint8_t *data, size_t size)
{
	uint64_t w;

	for (; size >= 8; data += 8, size -= 8) {
		memcpy(&w, data, 8);
		w = le64toh(w) ^ crc;
		crc = table[7][w & 0xff] ^ table[6][w >> 8 & 0xff] ^
			table[5][w >> 16 & 0xff] ^ table[4][w >> 24 & 0xff] ^
			table[3][w >> 32 & 0xff] ^ table[2][w >> 40 & 0xff] ^
			table[1][w >> 48 & 0xff] ^ table[0][w >> 56];
	}
	for (; size != 0; data++, size--)
		crc = (crc >> 8) ^ table[0][(crc ^ *data) & 0xff];
	return crc;
}

/* Ones in place of what changes under way. */
static void
mask_network(uint8_t *header, bool ipv4)
{
	if (ipv4) {
		header[1] = 0xff;                /* type of service */
		header[8] = 0xff;                /* time to live */
		memset(header + 10, 0xff, 2);    /* checksum */
	} else {
		header[0] |= 0x0f;               /* traffic class, flow label */
		memset(header + 1, 0xff, 3);
		header[7] = 0xff;                /* hop limit */
	}
}

uint32_t
vmlx4_icrc(const uint8_t *network, size_t network_size, bool udp, const uint8_t *bth,
	size_t size)
{
	uint8_t masked[8 + 60 + 8 + 12];
	size_t at = 8;

	memset(masked, 0xff, 8);
	memcpy(masked + at, network, network_size);
	mask_network(masked + at, network_size < 40);
	at += network_size;
	if (udp) {
		memcpy(masked + at, bth - 8, 8);
		memset(masked + at + 6, 0xff, 2); /* checksum */
		at += 8;
	}
	memcpy(masked + at, bth, 12);
	masked[at + 4] = 0xff; /* congestion bits, and reserved ones */
	at += 12;
	return htole32(~crc_add(crc_add(0xffffffff, masked, at), bth + 12, size - 12));
}
