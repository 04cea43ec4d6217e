/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "frames.h"

const uint8_t frame_mac[6] = { 0x02, 0, 0, 0, 0, 0x02 };

static const uint8_t after_mac[8] = {
	0x02, 0, 0, 0, 0, 0x01, /* from */
	0x88, 0xb5,             /* for local experiments; IEEE 802 */
};

#define NUMBER_AT (sizeof(frame_mac) + sizeof(after_mac))

static void
write_frame(uint8_t *frame, unsigned long number, unsigned long size)
{
	uint64_t number_be = htobe64(number);
	unsigned long i;

	memcpy(frame, frame_mac, sizeof(frame_mac));
	memcpy(frame + sizeof(frame_mac), after_mac, sizeof(after_mac));
	memcpy(frame + NUMBER_AT, &number_be, sizeof(number_be));
	for (i = NUMBER_AT + sizeof(number_be); i < size; i++)
		frame[i] = (uint8_t)(number * 7 + i);
}

/* The number of a frame; one of another size or content ends the program. */
static unsigned long
read_frame(const uint8_t *frame, uint32_t length, unsigned long size)
{
	uint8_t want[FRAME_MAX];
	uint64_t number_be;
	unsigned long number;
	uint32_t i;

	if (length != size)
		errx(1, "a frame of %u bytes came, -s is %lu", length, size);
	memcpy(&number_be, frame + NUMBER_AT, sizeof(number_be));
	number = be64toh(number_be);
	write_frame(want, number, size);
	if (memcmp(frame, want, length) != 0) {
		for (i = 0; frame[i] == want[i]; i++)
			;
		errx(1, "frame %lu: byte %u is 0x%02x, not 0x%02x", number, i, frame[i],
		     want[i]);
	}
	return number;
}

void
frames_init(struct frames *frames, unsigned long port, unsigned long total, unsigned long size)
{
	*frames = (struct frames){ .port = port, .total = total, .size = size };
}

void
make_frame(struct frames *frames, uint8_t *frame)
{
	write_frame(frame, frames->next++, frames->size);
}

void
take_frame(struct frames *frames, const uint8_t *frame, uint32_t length)
{
	unsigned long number = read_frame(frame, length, frames->size);

	if (number < frames->next || number >= frames->total)
		errx(1, "frame %lu came, %lu or later was due, below %lu", number, frames->next,
		     frames->total);
	frames->next = number + 1;
	frames->count++;
}

bool
report_frames(const struct frames *frames, const char *what, double seconds)
{
	if (frames->total != 0)
		printf("port %lu: %s %lu packets of %lu bytes, %lu missing, %.3f Mpps\n",
		       frames->port, what, frames->count, frames->size,
		       frames->total - frames->count,
		       seconds > 0 ? (double)frames->count / seconds * 1e-6 : 0.0);
	return frames->count == frames->total;
}
