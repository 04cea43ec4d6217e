/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_DIGEST_H_
#define VMLX4_DIGEST_H_

/*
 * A digest by which the contract checker sees that memory changed. Fast rather
 * than strong: 16 bytes a multiplication, and 64 bits of result.
 */

#include <stdint.h>
#include <string.h>

static inline uint64_t
vmlx4_digest_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* 16 bytes, each half from where it lies. */
static inline uint64_t
vmlx4_digest_pair(const uint8_t *p, uint64_t salt, uint64_t digest)
{
	uint64_t a, b;

	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
	return vmlx4_digest_mix(a ^ salt, b ^ digest);
}

static inline uint64_t
vmlx4_digest_word(uint64_t digest, uint64_t a, uint64_t b)
{
	return vmlx4_digest_mix(a ^ 0xa0761d6478bd642fu, b ^ digest);
}

/* Bytes that follow those of digest; start with any number but 0. */
static inline uint64_t
vmlx4_digest(uint64_t digest, const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t a, b;

	/* Four multiplications that do not wait for each other. */
	for (; size >= 64; size -= 64, p += 64) {
		a = vmlx4_digest_pair(p, 0xa0761d6478bd642fu, digest) ^
			vmlx4_digest_pair(p + 16, 0xe7037ed1a0b428dbu, digest);
		b = vmlx4_digest_pair(p + 32, 0x8ebc6af09c88c6e3u, digest) ^
			vmlx4_digest_pair(p + 48, 0x589965cc75374cc3u, digest);
		digest = (a ^ (b << 32 | b >> 32)) + 0x9e3779b97f4a7c15u;
	}
	for (; size >= 16; size -= 16, p += 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		digest = vmlx4_digest_word(digest, a, b) + 0x9e3779b97f4a7c15u;
	}
	if (size != 0) {
		a = 0;
		b = 0;
		memcpy(&a, p, size < 8 ? size : 8);
		if (size > 8)
			memcpy(&b, p + 8, size - 8);
		digest = vmlx4_digest_word(digest, a, b ^ (uint64_t)size << 56) +
			0x9e3779b97f4a7c15u;
	}
	return digest;
}

#endif /* VMLX4_DIGEST_H_ */
