/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_FRAMES_H_
#define EXAMPLES_FRAMES_H_

/* Ethernet frames of one size, numbered from 0, with contents that can be checked. */

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MIN 60u
#define FRAME_MAX 1514u

/* Where all frames go to. */
extern const uint8_t frame_mac[6];

/* The frames that a port sends, or gets. */
struct frames {
	unsigned long port, total, size;
	unsigned long next;   /* number of the one to be sent next, or that is due */
	unsigned long count;  /* that were sent, or came */
};

void frames_init(struct frames *frames, unsigned long port, unsigned long total,
	unsigned long size);
void make_frame(struct frames *frames, uint8_t *frame);
/*
 * Count a frame that came. After a gap the missing ones stay missing in the count; another
 * size, content or order ends the program.
 */
void take_frame(struct frames *frames, const uint8_t *frame, uint32_t length);
/* Print how many there were, and how fast, if any were to be; whether that is all of them. */
bool report_frames(const struct frames *frames, const char *what, double seconds);

#endif /* EXAMPLES_FRAMES_H_ */
