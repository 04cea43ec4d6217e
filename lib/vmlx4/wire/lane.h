/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_LANE_H_
#define VMLX4_LANE_H_

/*
 * One direction of a cable with a rate and a length: frames go in, and are due at
 * its end when their last bit is. The sending MAC takes the time of preamble,
 * FCS and gap, too. All in the model's time, to the bit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../options.h"

#define VMLX4_LANE_FIFO (64u << 10)       /* bytes that the sending MAC stores */
#define VMLX4_LANE_BYTES_MAX (64u << 20)  /* on the way, in memory */
#define VMLX4_LANE_FRAME_MAX 65535u

struct vmlx4_lane {
	uint64_t rate, delay, jitter;
	uint64_t lots;           /* state of the random numbers, not 0 */
	uint64_t fifo_ns;        /* time that a full FIFO takes to leave */
	uint64_t free_at;        /* ns: when all that went in has left the MAC… */
	uint64_t rest;           /* …and what is missing to that, in 1/rate ns */
	uint64_t last_due;
	/* A ring of records; head and tail run free. */
	uint8_t *bytes;
	size_t size;             /* power of two, grows */
	uint64_t head, tail;
};

void vmlx4_lane_init(struct vmlx4_lane *lane, const struct vmlx4_shape *shape,
	uint64_t port_rate, uint64_t seed);
void vmlx4_lane_free(struct vmlx4_lane *lane);

/* The MAC sends length bytes from now on, or behind what it is sending. */
void vmlx4_lane_charge(struct vmlx4_lane *lane, size_t length, uint64_t now);
/* Put a frame in. False: no memory for it. */
bool vmlx4_lane_put(struct vmlx4_lane *lane, const uint8_t *frame, size_t length, uint64_t now);
/* The next frame at the end of the cable and when it is due, or NULL. */
const uint8_t *vmlx4_lane_first(struct vmlx4_lane *lane, size_t *length, uint64_t *due);
void vmlx4_lane_take(struct vmlx4_lane *lane); /* that one away */

/* Must the sender wait, and until when (at least)? */
bool vmlx4_lane_full(const struct vmlx4_lane *lane, uint64_t now, uint64_t *until);

#endif /* VMLX4_LANE_H_ */
