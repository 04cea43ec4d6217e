/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <stdlib.h>

#include "card.h"
#include "frames_tunnel.h"

/*
 * The verification suite that Microsoft publishes for RSS: its key, its
 * addresses and ports, and the hash values it states.
 */
static const uint8_t key[VMLX4_RSS_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct {
	const char *src, *dst;
	uint16_t sport, dport;
	uint32_t two, four;
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
		0x4b61e985, 0x02d1feef },
};


static void
prepare(struct vmlx4_qp *qp, uint8_t fields, const uint8_t *with)
{
	memset(qp, 0, sizeof(*qp));
	qp->rss = calloc(1, sizeof(*qp->rss));
	assert_non_null(qp->rss);
	qp->rss->fields = fields;
	memcpy(qp->rss->key, with, VMLX4_RSS_KEY);
	vmlx4_rss_prepare(qp);
}

/* A frame of TCP or UDP between the addresses of a vector; its length. */
static size_t
build(uint8_t *frame, unsigned int i, uint8_t protocol, bool fragment)
{
	bool v6 = strchr(vectors[i].src, ':') != NULL;
	size_t l4 = v6 ? 54 : 34, payload = 20;
	uint8_t *ip = frame + 14;

	memset(frame, 0, 128);
	vmlx4_put_be16(frame + 12, v6 ? 0x86dd : 0x0800);
	if (v6) {
		ip[0] = 0x60;
		vmlx4_put_be16(ip + 4, (uint16_t)payload);
		ip[6] = protocol;
		assert_int_equal(inet_pton(AF_INET6, vectors[i].src, ip + 8), 1);
		assert_int_equal(inet_pton(AF_INET6, vectors[i].dst, ip + 24), 1);
	} else {
		ip[0] = 0x45;
		vmlx4_put_be16(ip + 2, (uint16_t)(20 + payload));
		if (fragment)
			vmlx4_put_be16(ip + 6, 0x2000);
		ip[9] = protocol;
		assert_int_equal(inet_pton(AF_INET, vectors[i].src, ip + 12), 1);
		assert_int_equal(inet_pton(AF_INET, vectors[i].dst, ip + 16), 1);
	}
	vmlx4_put_be16(frame + l4, vectors[i].sport);
	vmlx4_put_be16(frame + l4 + 2, vectors[i].dport);
	return l4 + payload;
}

static bool
hash_of(const struct vmlx4_qp *qp, const uint8_t *frame, size_t length, uint32_t *hash)
{
	struct vmlx4_parsed parsed;

	vmlx4_parse(frame, length, &parsed);
	return vmlx4_rss_hash(qp, frame, &parsed, hash);
}

static void
test_published_vectors(void **state)
{
	uint8_t frame[128];
	struct vmlx4_qp qp;
	uint32_t hash;
	unsigned int i;

	(void)state;
	prepare(&qp, 0x3f, key);
	for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		assert_true(hash_of(&qp, frame, build(frame, i, 6, false), &hash));
		assert_int_equal(hash, vectors[i].four);
		assert_true(hash_of(&qp, frame, build(frame, i, 17, false), &hash));
		assert_int_equal(hash, vectors[i].four);
		/* Another protocol: the addresses only. */
		assert_true(hash_of(&qp, frame, build(frame, i, 1, false), &hash));
		assert_int_equal(hash, vectors[i].two);
	}
	free(qp.rss);
}

static void
test_fields_decide(void **state)
{
	uint8_t frame[128];
	struct vmlx4_qp qp;
	uint32_t hash = 7;

	(void)state;
	prepare(&qp, VMLX4_HASH_TCP_IPV4 | VMLX4_HASH_IPV6, key);
	assert_true(hash_of(&qp, frame, build(frame, 0, 6, false), &hash));
	assert_int_equal(hash, vectors[0].four);
	/* UDP is not among the fields, nor is plain IPv4. */
	hash = 7;
	assert_false(hash_of(&qp, frame, build(frame, 0, 17, false), &hash));
	assert_int_equal(hash, 7);
	assert_true(hash_of(&qp, frame, build(frame, 5, 17, false), &hash));
	assert_int_equal(hash, vectors[5].two);
	free(qp.rss);
}

static void
test_fragments_two_tuple(void **state)
{
	uint8_t frame[128];
	struct vmlx4_qp qp;
	uint32_t hash;

	(void)state;
	prepare(&qp, 0x3f, key);
	assert_true(hash_of(&qp, frame, build(frame, 1, 17, true), &hash));
	assert_int_equal(hash, vectors[1].two);
	free(qp.rss);
}

/* A symmetric key gives both directions one hash: any key is honoured. */
static void
test_symmetric_key(void **state)
{
	uint8_t symmetric[VMLX4_RSS_KEY], there[128], back[128];
	struct vmlx4_qp qp;
	uint32_t a, b;
	size_t length;
	unsigned int i;

	(void)state;
	for (i = 0; i < VMLX4_RSS_KEY; i++)
		symmetric[i] = i % 2 != 0 ? 0x5a : 0x6d;
	prepare(&qp, 0x3f, symmetric);
	length = build(there, 2, 6, false);
	memcpy(back, there, sizeof(back));
	memcpy(back + 26, there + 30, 4);
	memcpy(back + 30, there + 26, 4);
	memcpy(back + 34, there + 36, 2);
	memcpy(back + 36, there + 34, 2);
	assert_true(hash_of(&qp, there, length, &a));
	assert_true(hash_of(&qp, back, length, &b));
	assert_int_equal(a, b);
	assert_int_not_equal(a, vectors[2].four);
	free(qp.rss);
}

/* The 32 bits that start at every bit, by hand: Toeplitz as its definition has it. */
static uint32_t
definition(const uint8_t *with, const uint8_t *data, unsigned int length)
{
	uint32_t hash = 0, window = vmlx4_be32(with);
	unsigned int i, bit;

	for (i = 0; i < length; i++)
		for (bit = 0; bit < 8; bit++) {
			unsigned int next = 32 + i * 8 + bit;

			if ((data[i] << bit & 0x80) != 0)
				hash ^= window;
			window = window << 1 | (with[next / 8] >> (7 - next % 8) & 1);
		}
	return hash;
}

/* All sets of fields, kinds of packets, and keys of a generator. */
static void
test_all_fields(void **state)
{
	static const struct {
		unsigned int vector;
		uint8_t protocol, four, two;
	} kinds[] = {
		{ 0, 6, VMLX4_HASH_TCP_IPV4, VMLX4_HASH_IPV4 },
		{ 1, 17, VMLX4_HASH_UDP_IPV4, VMLX4_HASH_IPV4 },
		{ 2, 1, 0, VMLX4_HASH_IPV4 },
		{ 5, 6, VMLX4_HASH_TCP_IPV6, VMLX4_HASH_IPV6 },
		{ 6, 17, VMLX4_HASH_UDP_IPV6, VMLX4_HASH_IPV6 },
		{ 7, 58, 0, VMLX4_HASH_IPV6 },
	};
	uint8_t with[VMLX4_RSS_KEY], frame[128], tuple[36];
	uint32_t lot = 12345, hash;
	struct vmlx4_qp qp;
	unsigned int fields, i, k;

	(void)state;
	for (fields = 0; fields < 64; fields++) {
		for (i = 0; i < sizeof(with); i++)
			with[i] = (uint8_t)((lot = lot * 1103515245 + 12345) >> 16);
		prepare(&qp, (uint8_t)fields, with);
		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			size_t length = build(frame, kinds[k].vector, kinds[k].protocol, false);
			bool v6 = kinds[k].two == VMLX4_HASH_IPV6;
			unsigned int n = v6 ? 32 : 8;

			if ((fields & (kinds[k].four | kinds[k].two)) == 0) {
				assert_false(hash_of(&qp, frame, length, &hash));
				continue;
			}
			memcpy(tuple, frame + (v6 ? 22 : 26), n);
			memcpy(tuple + n, frame + (v6 ? 54 : 34), 4);
			assert_true(hash_of(&qp, frame, length, &hash));
			assert_int_equal(hash, definition(with, tuple,
				(fields & kinds[k].four) != 0 ? n + 4 : n));
		}
		free(qp.rss);
	}
}

/* XOR: every byte of the fields, or every word; the key has no part in it. */
static void
test_xor(void **state)
{
	uint8_t frame[128], byte = 0;
	struct vmlx4_qp qp;
	uint32_t hash, word;
	unsigned int i;

	(void)state;
	prepare(&qp, 0x3f, key);
	qp.rss->function = VMLX4_RSS_XOR8;
	assert_true(hash_of(&qp, frame, build(frame, 0, 6, false), &hash));
	for (i = 26; i < 38; i++)
		byte ^= frame[i];
	assert_int_equal(hash, byte);
	qp.rss->function = VMLX4_RSS_XOR32;
	assert_true(hash_of(&qp, frame, build(frame, 0, 6, false), &hash));
	assert_int_equal(hash, 0x420995bb ^ 0xa18e6450 ^ (2794u << 16 | 1766));
	/* Both directions hash alike, but for the ports' places in a word. */
	qp.rss->function = VMLX4_RSS_XOR8;
	assert_true(hash_of(&qp, frame, build(frame, 5, 17, false), &hash));
	for (byte = 0, i = 22; i < 58; i++)
		byte ^= frame[i];
	assert_int_equal(hash, byte);
	qp.rss->function = VMLX4_RSS_XOR32;
	assert_true(hash_of(&qp, frame, build(frame, 5, 58, false), &hash));
	for (word = 0, i = 22; i < 54; i += 4)
		word ^= vmlx4_be32(frame + i);
	assert_int_equal(hash, word);
	free(qp.rss);
}

/* INNER: the packet in the tunnel counts, and without a tunnel the packet itself. */
static void
test_inner(void **state)
{
	uint8_t frame[50 + 128], inner_frame[128];
	struct vmlx4_parsed parsed, inner;
	struct vmlx4_qp qp;
	uint32_t hash, plain;
	size_t length;

	(void)state;
	memcpy(frame, frame_vxlan4, 50);
	length = build(inner_frame, 3, 6, false);
	memcpy(frame + 50, inner_frame, length);
	vmlx4_put_be16(frame + 16, (uint16_t)(36 + length));
	vmlx4_put_be16(frame + 38, (uint16_t)(16 + length));
	vmlx4_parse(frame, 50 + length, &parsed);
	assert_true(vmlx4_parse_inner(frame, &parsed, false, &inner));
	parsed.inner = &inner;
	prepare(&qp, 0x3f, key);
	assert_true(vmlx4_rss_hash(&qp, frame, &parsed, &plain));
	assert_int_equal(plain, definition(key, frame + 26, 12)); /* outer */
	qp.rss->inner = true;
	assert_true(vmlx4_rss_hash(&qp, frame, &parsed, &hash));
	assert_int_equal(hash, vectors[3].four);
	qp.rss->inner_hides = VMLX4_HASH_L4;
	assert_true(vmlx4_rss_hash(&qp, frame, &parsed, &hash));
	assert_int_equal(hash, vectors[3].two);
	parsed.inner = NULL;
	assert_true(vmlx4_rss_hash(&qp, frame, &parsed, &hash));
	assert_int_equal(hash, plain);
	free(qp.rss);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_vectors),
		cmocka_unit_test(test_fields_decide),
		cmocka_unit_test(test_fragments_two_tuple),
		cmocka_unit_test(test_symmetric_key),
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_xor),
		cmocka_unit_test(test_inner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
