/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_RX_VECTOR_H_
#define MLX4DV_RX_VECTOR_H_

/*
 * Vectors of the compiler, in little endian, and what the receive bursts do with them;
 * instructions by name only where no compiler finds them.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE4_1__
#include <immintrin.h>
#endif

typedef uint32_t rx_u32x4 __attribute__((vector_size(16)));
typedef uint64_t rx_u64x2 __attribute__((vector_size(16)));
typedef uint8_t rx_u8x16 __attribute__((vector_size(16)));

/* A vector from anywhere, and to anywhere. */
static inline rx_u32x4
rx_load(const void *from)
{
	rx_u32x4 v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline void
rx_store(void *to, rx_u32x4 v)
{
	memcpy(to, &v, sizeof(v));
}

static inline rx_u32x4
rx_all(uint32_t value)
{
	return (rx_u32x4){ value, value, value, value };
}

static inline rx_u32x4
rx_swap32(rx_u32x4 v)
{
	return (rx_u32x4)__builtin_shufflevector((rx_u8x16)v, (rx_u8x16)v,
		3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
}

static inline rx_u64x2
rx_swap64(rx_u64x2 v)
{
	return (rx_u64x2)__builtin_shufflevector((rx_u8x16)v, (rx_u8x16)v,
		7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
}

/* Words 0 of both, words 1 of both; or words 2 and 3. */
#define RX_LOW32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define RX_HIGH32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
/* Words 0 and 1 of both; or words 2 and 3. */
#define RX_LOW64(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define RX_HIGH64(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)

static inline bool
rx_any(rx_u32x4 v)
{
#ifdef __SSE4_1__
	return !_mm_testz_si128((__m128i)v, (__m128i)v);
#else
	rx_u64x2 halves = (rx_u64x2)v;

	return (halves[0] | halves[1]) != 0;
#endif
}

/* Is any bit of both set? */
static inline bool
rx_meet(rx_u32x4 a, rx_u32x4 b)
{
#ifdef __SSE4_1__
	return !_mm_testz_si128((__m128i)a, (__m128i)b);
#else
	return rx_any(a & b);
#endif
}

/* Is any bit of a set that b has not? */
static inline bool
rx_beyond(rx_u32x4 a, rx_u32x4 b)
{
#ifdef __SSE4_1__
	return !_mm_testc_si128((__m128i)b, (__m128i)a);
#else
	return rx_any(a & ~b);
#endif
}

static inline rx_u32x4
rx_lookup(const uint32_t *table, rx_u32x4 i)
{
#ifdef __AVX2__
	return (rx_u32x4)_mm_i32gather_epi32((const int *)table, (__m128i)i, sizeof(*table));
#else
	return (rx_u32x4){ table[i[0]], table[i[1]], table[i[2]], table[i[3]] };
#endif
}

/* Bytes of a frame within which tags are looked for: two of them and the type behind. */
#define RX_TAG_REACH (2 * RTE_ETHER_ADDR_LEN + 2 * RTE_VLAN_HLEN + 2)

/* The same word four times, mostly. */
struct rx_constants {
	rx_u32x4 error;           /* bits of the last byte of a CQE that no packet has */
	rx_u32x4 good;            /* of a status: all checksums verified */
	rx_u32x4 type, ipv6f;     /* of a status: what says the type */
	rx_u32x4 tunnel, tag;     /* of a CQE, big endian */
	rx_u32x4 vlan;            /* the type of a tag, in the upper half */
	rx_u32x4 reach;           /* bytes of a frame that has room for tags */
	rx_u32x4 upper;
	rx_u32x4 cut;             /* bytes of a tag */
};

/* The compiler does not know them: it would build them anew for each group. */
extern const struct rx_constants mdv_rx_constants __attribute__((visibility("hidden")));

#define RX_IS (&mdv_rx_constants)

#endif /* MLX4DV_RX_VECTOR_H_ */
