/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_FRAMES_H_
#define TEST_PMD_FRAMES_H_

/* Frames with known content. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 16384

/* Small, seeded and the same everywhere: xorshift64*. */
struct rng {
	uint64_t state;
};

uint32_t rng_next(struct rng *rng);
/* 0 .. below - 1 */
uint32_t rng_below(struct rng *rng, uint32_t below);

extern const uint8_t mac_broadcast[6];
extern const uint8_t mac_foreign[6];
extern const uint8_t mac_sender[6];

/* Ethernet header (local experimental type) and seeded bytes. */
void frame_make(uint8_t *frame, size_t length, const uint8_t dst[6], uint64_t seed);

struct frame_flow {
	bool ipv6;
	uint8_t proto;          /* IPPROTO_* */
	uint32_t src4, dst4;    /* host order */
	uint8_t src6[16], dst6[16];
	uint16_t src_port, dst_port;
};

/* A flow that a seed names; fills all fields. */
struct frame_flow flow_make(bool ipv6, uint8_t proto, uint32_t seed);

/*
 * A frame of that flow with right checksums, length bytes in all (at least
 * 14 + 40 + 20).
 */
void frame_flow(uint8_t *frame, size_t length, const uint8_t dst[6],
	const struct frame_flow *flow);

/* Toeplitz hash as DPDK's own library computes it; ports in it or not. */
uint32_t flow_hash(const struct frame_flow *flow, const uint8_t *key, bool ports);

#endif /* TEST_PMD_FRAMES_H_ */
