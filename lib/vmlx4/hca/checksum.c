/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * Ones' complement sums do not depend on the byte order as long as it is the
 * same for all words, so the sums are taken over native words.
 */
uint64_t
vmlx4_sum(const uint8_t *data, size_t length, uint64_t sum)
{
	uint64_t w;
	uint16_t last = 0;

	while (length >= 8) {
		memcpy(&w, data, 8);
		sum += (w & 0xffffffff) + (w >> 32);
		data += 8;
		length -= 8;
	}
	if (length >= 4) {
		uint32_t d;

		memcpy(&d, data, 4);
		sum += d;
		data += 4;
		length -= 4;
	}
	if (length >= 2) {
		uint16_t h;

		memcpy(&h, data, 2);
		sum += h;
		data += 2;
		length -= 2;
	}
	if (length != 0) {
		memcpy(&last, data, 1);
		sum += last;
	}
	return sum;
}

uint16_t
vmlx4_sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint64_t
vmlx4_sum_pseudo(const uint8_t *frame, const struct vmlx4_parsed *parsed,
	uint8_t protocol, uint32_t length)
{
	uint64_t sum = (uint64_t)htobe16(protocol) + htobe32(length);

	if (parsed->l3 == VMLX4_L3_IPV4)
		return vmlx4_sum(frame + parsed->l3_offset + 12, 8, sum);
	return vmlx4_sum(frame + parsed->l3_offset + 8, 32, sum);
}

static uint32_t fcs_table[4][256];

static void __attribute__((constructor))
fcs_prepare(void)
{
	unsigned int i, k;

	for (i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (k = 0; k < 8; k++)
			crc = (crc >> 1) ^ ((crc & 1) ? 0xedb88320u : 0);
		fcs_table[0][i] = crc;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 4; k++)
			fcs_table[k][i] = (fcs_table[k - 1][i] >> 8) ^
				fcs_table[0][fcs_table[k - 1][i] & 0xff];
}

uint32_t
vmlx4_fcs(const uint8_t *data, size_t length)
{
	uint32_t crc = 0xffffffff, w;

	for (; length >= 4; data += 4, length -= 4) {
		memcpy(&w, data, 4);
		crc ^= le32toh(w);
		crc = fcs_table[3][crc & 0xff] ^ fcs_table[2][(crc >> 8) & 0xff] ^
			fcs_table[1][(crc >> 16) & 0xff] ^ fcs_table[0][crc >> 24];
	}
	for (; length != 0; data++, length--)
		crc = (crc >> 8) ^ fcs_table[0][(crc ^ *data) & 0xff];
	return htole32(~crc); /* the wire carries the low byte first */
}
