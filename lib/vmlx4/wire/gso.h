/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_GSO_H_
#define VMLX4_GSO_H_

/*
 * What a host leaves for its network card to do, done in software: a frame from
 * a packet socket may carry only a part of its TCP or UDP checksum, and may be
 * many segments long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmlx4_offload {
	bool partial;          /* csum_start and csum_offset hold */
	uint16_t csum_start;   /* from the start of the frame to the L4 header */
	uint16_t csum_offset;  /* from there to the checksum field */
	uint8_t gso_type;      /* VIRTIO_NET_HDR_GSO_* without the ECN bit */
	uint16_t gso_size;     /* L4 payload of a segment */
};

/*
 * Finish the checksum of a frame whose field holds the sum of the pseudo
 * header. False when the offsets do not lie in the frame.
 */
bool vmlx4_csum_complete(uint8_t *frame, size_t length, const struct vmlx4_offload *offload);

/*
 * Cut a frame of TCP (IPv4, IPv6) or UDP segments and hand each with its
 * checksums to emit, built in scratch (as large as the frame). The number of
 * segments, or -EOPNOTSUPP for a kind that is not cut (IP fragments, tunnels)
 * and -EINVAL for one whose headers contradict the offload.
 */
int vmlx4_gso_segment(const uint8_t *frame, size_t length, const struct vmlx4_offload *offload,
	uint8_t *scratch, void (*emit)(void *arg, uint8_t *frame, size_t length), void *arg);

#endif /* VMLX4_GSO_H_ */
