/* SPDX-License-Identifier: BSD-3-Clause */

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "frames.h"
#include "program.h"

const uint8_t frame_mac[6] = { 0x02, 0, 0, 0, 0, 0x02 };

static const uint8_t after_mac[8] = {
	0x02, 0, 0, 0, 0, 0x01, /* from */
	0x88, 0xb5,             /* for local experiments; IEEE 802 */
};

#define NUMBER_AT (sizeof(frame_mac) + sizeof(after_mac))

void
make_frame(uint8_t *frame, uint64_t number, uint64_t size)
{
	uint64_t number_be = htobe64(number), i;

	memcpy(frame, frame_mac, sizeof(frame_mac));
	memcpy(frame + sizeof(frame_mac), after_mac, sizeof(after_mac));
	memcpy(frame + NUMBER_AT, &number_be, sizeof(number_be));
	for (i = NUMBER_AT + sizeof(number_be); i < size; i++)
		frame[i] = (uint8_t)(number * 7 + i);
}

uint64_t
check_frame(const uint8_t *frame, uint32_t length, uint64_t size)
{
	uint8_t want[FRAME_MAX];
	uint64_t number;
	uint32_t i;

	if (length != size)
		die(1, "a frame of %u bytes came, -s is %" PRIu64, length, size);
	memcpy(&number, frame + NUMBER_AT, sizeof(number));
	number = be64toh(number);
	make_frame(want, number, size);
	if (memcmp(frame, want, length) != 0) {
		for (i = 0; frame[i] == want[i]; i++)
			;
		die(1, "frame %" PRIu64 ": byte %u is 0x%02x, not 0x%02x", number, i, frame[i],
		    want[i]);
	}
	return number;
}
