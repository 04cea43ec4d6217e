/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "lane.h"

#define OVERHEAD 24u         /* FCS, preamble with SFD, gap: bytes on the wire */
#define FRAME_MIN 60u        /* without FCS */
#define NS_PER_S 1000000000u
#define SIZE_AT_FIRST (256u << 10)
#define STORE_HIGH (VMLX4_LANE_BYTES_MAX / 4 * 3)
#define STORE_RETRY_NS 1000u

struct record {
	uint64_t due;
	uint64_t length;     /* SKIP: go on at the start of the ring */
};
#define SKIP UINT64_MAX

void
vmlx4_lane_init(struct vmlx4_lane *lane, const struct vmlx4_shape *shape,
	uint64_t port_rate, uint64_t seed)
{
	memset(lane, 0, sizeof(*lane));
	lane->rate = shape->rate_of_port ? port_rate : shape->rate;
	lane->delay = shape->delay;
	lane->jitter = shape->jitter;
	lane->lots = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	if (lane->rate != 0)
		lane->fifo_ns = VMLX4_LANE_FIFO * 8ull * NS_PER_S / lane->rate;
}

void
vmlx4_lane_free(struct vmlx4_lane *lane)
{
	free(lane->bytes);
	lane->bytes = NULL;
	lane->size = 0;
	lane->head = lane->tail = 0;
}

/* Marsaglia's xorshift: the same numbers for the same seed everywhere. */
static uint64_t
draw(struct vmlx4_lane *lane, uint64_t below)
{
	lane->lots ^= lane->lots << 13;
	lane->lots ^= lane->lots >> 7;
	lane->lots ^= lane->lots << 17;
	return (lane->lots >> 11) % below;
}

void
vmlx4_lane_charge(struct vmlx4_lane *lane, size_t length, uint64_t now)
{
	uint64_t bits = ((length < FRAME_MIN ? FRAME_MIN : length) + OVERHEAD) * 8, time;

	if (lane->free_at < now) {
		lane->free_at = now;
		lane->rest = 0;
	}
	if (lane->rate == 0)
		return;
	time = bits * NS_PER_S + lane->rest;
	lane->free_at += time / lane->rate;
	lane->rest = time % lane->rate;
}

/* ---- the frames on their way ---- */

static size_t
record_size(size_t length)
{
	return (sizeof(struct record) + length + 15) & ~(size_t)15;
}

static bool
grow(struct vmlx4_lane *lane)
{
	size_t size = lane->size == 0 ? SIZE_AT_FIRST : 2 * lane->size, used = 0, at;
	uint8_t *bytes;

	if (size > VMLX4_LANE_BYTES_MAX)
		return false;
	bytes = malloc(size);
	if (bytes == NULL)
		return false;
	while (lane->head != lane->tail) {
		struct record record;

		at = lane->head & (lane->size - 1);
		memcpy(&record, lane->bytes + at, sizeof(record));
		if (record.length == SKIP) {
			lane->head += lane->size - at;
			continue;
		}
		memcpy(bytes + used, lane->bytes + at, record_size(record.length));
		used += record_size(record.length);
		lane->head += record_size(record.length);
	}
	free(lane->bytes);
	lane->bytes = bytes;
	lane->size = size;
	lane->head = 0;
	lane->tail = used;
	return true;
}

bool
vmlx4_lane_put(struct vmlx4_lane *lane, const uint8_t *frame, size_t length, uint64_t now)
{
	struct record record = { .length = SKIP };
	size_t need = record_size(length), at, skip;

	if (length == 0 || length > VMLX4_LANE_FRAME_MAX)
		return false;
	for (;;) {
		at = lane->size == 0 ? 0 : lane->tail & (lane->size - 1);
		skip = lane->size - at < need ? lane->size - at : 0;
		if (lane->size - (lane->tail - lane->head) >= skip + need && lane->size != 0)
			break;
		if (!grow(lane))
			return false;
	}
	if (skip != 0) {
		memcpy(lane->bytes + at, &record, sizeof(record));
		lane->tail += skip;
		at = 0;
	}
	vmlx4_lane_charge(lane, length, now);
	record.due = lane->free_at + (lane->rest != 0) + lane->delay;
	if (lane->jitter != 0)
		record.due += draw(lane, lane->jitter + 1);
	/* No frame overtakes another on a cable. */
	if (record.due < lane->last_due)
		record.due = lane->last_due;
	lane->last_due = record.due;
	record.length = length;
	memcpy(lane->bytes + at, &record, sizeof(record));
	memcpy(lane->bytes + at + sizeof(record), frame, length);
	lane->tail += need;
	return true;
}

const uint8_t *
vmlx4_lane_first(struct vmlx4_lane *lane, size_t *length, uint64_t *due)
{
	struct record record;
	size_t at;

	while (lane->head != lane->tail) {
		at = lane->head & (lane->size - 1);
		memcpy(&record, lane->bytes + at, sizeof(record));
		if (record.length == SKIP) {
			lane->head += lane->size - at;
			continue;
		}
		*length = record.length;
		*due = record.due;
		return lane->bytes + at + sizeof(record);
	}
	return NULL;
}

void
vmlx4_lane_take(struct vmlx4_lane *lane)
{
	size_t length;
	uint64_t due;

	if (vmlx4_lane_first(lane, &length, &due) != NULL)
		lane->head += record_size(length);
}

bool
vmlx4_lane_full(const struct vmlx4_lane *lane, uint64_t now, uint64_t *until)
{
	/* A cable that is too long for the memory: until something has arrived. */
	*until = now + STORE_RETRY_NS;
	if (lane->tail - lane->head >= STORE_HIGH)
		return true;
	*until = lane->free_at - lane->fifo_ns;
	return lane->rate != 0 && lane->free_at > now + lane->fifo_ns;
}
