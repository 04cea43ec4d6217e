/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_RING_H_
#define VMLX4_RING_H_

/*
 * Frames in memory shared by two processes, one of which writes and the other
 * reads. The other side may be broken or hostile: its indices and lengths are
 * read once and bounded, and a frame is copied out before anybody looks at it.
 *
 * head and tail count bytes and run free; a record is a header and the frame, on
 * a boundary of RECORD_ALIGN, in one piece: where it does not fit in front of the
 * end of the ring, a header of RECORD_SKIP says so.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VMLX4_RING_BYTES (2u << 20) /* power of two; a TSO of 256 KiB is a part of it */
#define VMLX4_RECORD_ALIGN 16u
#define VMLX4_RECORD_SKIP UINT32_MAX
#define VMLX4_RING_FRAME_MAX 65535u

/* Bits of wants: the side asks the other for a wake-up. */
#define VMLX4_WANT_FRAMES 1u
#define VMLX4_WANT_ROOM 2u

struct vmlx4_ring {
	/* Two lines each, as processors fetch lines in pairs. */
	_Alignas(128) uint64_t tail; /* the writer's */
	_Alignas(128) uint64_t head; /* the reader's */
	_Alignas(128) uint8_t bytes[VMLX4_RING_BYTES];
};

struct vmlx4_record {
	uint32_t length;
	uint32_t zero;
};

/* One side's view of a ring: what it need not read from the other. */
struct vmlx4_ring_view {
	struct vmlx4_ring *ring;
	uint64_t tail, head;   /* the writer's: own and cached; the reader's likewise */
	uint64_t shown;        /* what the other side sees of our index */
};

static inline size_t
vmlx4_record_size(size_t length)
{
	return (sizeof(struct vmlx4_record) + length + VMLX4_RECORD_ALIGN - 1) &
		~(size_t)(VMLX4_RECORD_ALIGN - 1);
}

/* ---- writer ---- */

/* Free bytes, at least want if there are as many. Negative: the reader's index is wrong. */
static inline int64_t
vmlx4_ring_room(struct vmlx4_ring_view *view, size_t want)
{
	uint64_t used = view->tail - view->head, head;

	if (VMLX4_RING_BYTES - used < want) {
		head = __atomic_load_n(&view->ring->head, __ATOMIC_ACQUIRE);
		used = view->tail - head;
		if (used > VMLX4_RING_BYTES)
			return -EPROTO;
		view->head = head;
	}
	return VMLX4_RING_BYTES - used;
}

/* Append a frame, not shown yet. False: no room, or a reader that lies. */
static inline bool
vmlx4_ring_put(struct vmlx4_ring_view *view, const void *frame, uint32_t length)
{
	size_t size = vmlx4_record_size(length), at = view->tail & (VMLX4_RING_BYTES - 1);
	size_t skip = VMLX4_RING_BYTES - at < size ? VMLX4_RING_BYTES - at : 0;
	struct vmlx4_record record = { .length = VMLX4_RECORD_SKIP };

	if (vmlx4_ring_room(view, skip + size) < (int64_t)(skip + size))
		return false;
	if (skip != 0) {
		memcpy(view->ring->bytes + at, &record, sizeof(record));
		view->tail += skip;
		at = 0;
	}
	record.length = length;
	memcpy(view->ring->bytes + at, &record, sizeof(record));
	memcpy(view->ring->bytes + at + sizeof(record), frame, length);
	view->tail += size;
	return true;
}

/* Show what was appended. True: there was something. */
static inline bool
vmlx4_ring_show(struct vmlx4_ring_view *view)
{
	if (view->shown == view->tail)
		return false;
	view->shown = view->tail;
	/* Orders: the records, before the index that hands them over. */
	__atomic_store_n(&view->ring->tail, view->tail, __ATOMIC_RELEASE);
	return true;
}

/* ---- reader ---- */

/*
 * Copy the next frame out; its length, 0 when there is none, -EPROTO for what no
 * writer of ours leaves.
 */
static inline int
vmlx4_ring_get(struct vmlx4_ring_view *view, uint8_t frame[VMLX4_RING_FRAME_MAX])
{
	for (;;) {
		size_t at = view->head & (VMLX4_RING_BYTES - 1);
		uint64_t there = view->tail - view->head;
		uint32_t length;

		if (there == 0) {
			view->tail = __atomic_load_n(&view->ring->tail, __ATOMIC_ACQUIRE);
			there = view->tail - view->head;
			if (there == 0)
				return 0;
			if (there > VMLX4_RING_BYTES || there % VMLX4_RECORD_ALIGN != 0)
				return -EPROTO;
		}
		/* Read once: the writer could change it behind the checks. */
		length = __atomic_load_n((const uint32_t *)(const void *)(view->ring->bytes + at),
			__ATOMIC_RELAXED);
		if (length == VMLX4_RECORD_SKIP) {
			if (at == 0 || VMLX4_RING_BYTES - at > there)
				return -EPROTO;
			view->head += VMLX4_RING_BYTES - at;
			continue;
		}
		if (length == 0 || length > VMLX4_RING_FRAME_MAX ||
				vmlx4_record_size(length) > there ||
				vmlx4_record_size(length) > VMLX4_RING_BYTES - at)
			return -EPROTO;
		memcpy(frame, view->ring->bytes + at + sizeof(struct vmlx4_record), length);
		view->head += vmlx4_record_size(length);
		return (int)length;
	}
}

/* Give the room of what was read back. True: there was something. */
static inline bool
vmlx4_ring_free(struct vmlx4_ring_view *view)
{
	if (view->shown == view->head)
		return false;
	view->shown = view->head;
	/* Orders: the reads of the records, before the index that gives them back. */
	__atomic_store_n(&view->ring->head, view->head, __ATOMIC_RELEASE);
	return true;
}

#endif /* VMLX4_RING_H_ */
