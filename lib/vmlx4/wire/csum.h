/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_CSUM_H_
#define VMLX4_CSUM_H_

/*
 * Internet checksum over memory. Sums are kept in memory order: a result is
 * stored as it is, whatever the byte order of the host.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Add the 16-bit words of [data, data + length) to a running sum. */
static inline uint64_t
vmlx4_csum_add(uint64_t sum, const void *data, size_t length)
{
	const uint8_t *at = data;
	uint32_t word;
	uint16_t half;

	/* 32-bit words: 2^32 of them fit before the sum can run over. */
	for (; length >= 4; at += 4, length -= 4) {
		memcpy(&word, at, sizeof(word));
		sum += word;
	}
	if (length >= 2) {
		memcpy(&half, at, sizeof(half));
		sum += half;
		at += 2;
		length -= 2;
	}
	if (length == 1) {
		half = 0;
		memcpy(&half, at, 1);
		sum += half;
	}
	return sum;
}

static inline uint16_t
vmlx4_csum_fold(uint64_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#endif /* VMLX4_CSUM_H_ */
