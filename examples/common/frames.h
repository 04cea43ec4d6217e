/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef EXAMPLES_FRAMES_H_
#define EXAMPLES_FRAMES_H_

/* Numbered Ethernet frames with contents that can be checked. */

#include <stdint.h>

#define FRAME_MIN 60u
#define FRAME_MAX 1514u

/* Where all frames go to. */
extern const uint8_t frame_mac[6];

void make_frame(uint8_t *frame, uint64_t number, uint64_t size);
/* The number of a frame; one of another size or content ends the program. */
uint64_t check_frame(const uint8_t *frame, uint32_t length, uint64_t size);

#endif /* EXAMPLES_FRAMES_H_ */
