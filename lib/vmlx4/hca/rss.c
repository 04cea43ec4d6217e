/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/* The 32 bits of the key that start at a bit. */
static uint32_t
key_window(const uint8_t *key, unsigned int bit)
{
	unsigned int byte = bit / 8, shift = bit % 8;
	uint64_t w = 0;
	unsigned int i;

	for (i = 0; i < 5; i++)
		w = (w << 8) | (byte + i < VMLX4_RSS_KEY ? key[byte + i] : 0);
	return (uint32_t)(w >> (8 - shift));
}

void
vmlx4_rss_prepare(struct vmlx4_qp *qp)
{
	unsigned int i, v, b;

	for (i = 0; i < 36; i++) {
		for (v = 0; v < 256; v++) {
			uint32_t hash = 0;

			for (b = 0; b < 8; b++)
				if (v & (0x80u >> b))
					hash ^= key_window(qp->rss->key, i * 8 + b);
			qp->rss->key_table[i][v] = hash;
		}
	}
}

static inline __attribute__((always_inline)) uint32_t
toeplitz(const uint32_t (*table)[256], const uint8_t *data, unsigned int from,
	unsigned int length)
{
	uint32_t even = 0, odd = 0;
	unsigned int i;

	/* Two chains: the loads of one overlap those of the other. */
	for (i = 0; i < length; i += 2) {
		even ^= table[from + i][data[i]];
		odd ^= table[from + i + 1][data[i + 1]];
	}
	return even ^ odd;
}

static uint32_t
xor_bytes(const uint8_t *data, unsigned int length, unsigned int width)
{
	uint32_t hash = 0;
	unsigned int i;

	for (i = 0; i < length; i++)
		hash ^= (uint32_t)data[i] << (24 - i % 4 * 8);
	if (width == 32)
		return hash;
	hash ^= hash >> 16;
	return (hash ^ hash >> 8) & 0xff;
}

/* What mlx4_en can have instead of Toeplitz; verbs cannot. */
static uint32_t
by_xor(const struct vmlx4_qp *qp, const uint8_t *addresses, unsigned int length,
	const uint8_t *ports)
{
	unsigned int width = qp->rss->function == VMLX4_RSS_XOR32 ? 32 : 8;
	uint32_t hash = xor_bytes(addresses, length, width);

	return ports != NULL ? hash ^ xor_bytes(ports, 4, width) : hash;
}

bool
vmlx4_rss_hash(const struct vmlx4_qp *qp, const uint8_t *frame,
	const struct vmlx4_parsed *parsed, uint32_t *hash)
{
	const uint32_t (*table)[256] = (const uint32_t (*)[256])qp->rss->key_table;
	const uint8_t *addresses;
	unsigned int length;
	uint8_t fields = qp->rss->fields, ip, l4;

	if (unlikely(qp->rss->inner) && parsed->inner != NULL) {
		parsed = parsed->inner;
		fields &= (uint8_t)~qp->rss->inner_hides;
	}
	if (parsed->l3 == VMLX4_L3_IPV4) {
		addresses = frame + parsed->l3_offset + 12;
		length = 8;
		ip = VMLX4_HASH_IPV4;
		l4 = parsed->l4 == VMLX4_L4_TCP ? VMLX4_HASH_TCP_IPV4 :
			parsed->l4 == VMLX4_L4_UDP ? VMLX4_HASH_UDP_IPV4 : 0;
	} else if (parsed->l3 == VMLX4_L3_IPV6) {
		addresses = frame + parsed->l3_offset + 8;
		length = 32;
		ip = VMLX4_HASH_IPV6;
		l4 = parsed->l4 == VMLX4_L4_TCP ? VMLX4_HASH_TCP_IPV6 :
			parsed->l4 == VMLX4_L4_UDP ? VMLX4_HASH_UDP_IPV6 : 0;
	} else {
		return false;
	}
	if ((fields & l4) == 0 && (fields & ip) == 0)
		return false;
	if (unlikely(qp->rss->function != VMLX4_RSS_TOEPLITZ)) {
		*hash = by_xor(qp, addresses, length,
			(fields & l4) != 0 ? frame + parsed->l4_offset : NULL);
		return true;
	}
	/* With lengths that the compiler knows: most of what a hash costs is the loop. */
	*hash = length == 8 ? toeplitz(table, addresses, 0, 8) : toeplitz(table, addresses, 0, 32);
	if ((fields & l4) != 0)
		*hash ^= length == 8 ? toeplitz(table, frame + parsed->l4_offset, 8, 4) :
			toeplitz(table, frame + parsed->l4_offset, 32, 4);
	return true;
}
