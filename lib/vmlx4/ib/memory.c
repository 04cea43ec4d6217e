/* SPDX-License-Identifier: BSD-3-Clause */

#include "transport.h"

/* Buffers of the program, by lists of segments. */

static uint8_t *
seg_map(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	const struct vmlx4_hw_data *seg, uint64_t offset, uint32_t size,
	const struct vmlx4_ib_where *where)
{
	uint32_t lkey = be32toh(seg->lkey);
	uint64_t addr = be64toh(seg->addr) + offset;
	void *to = vmlx4_mr_lookup(adapter, pd, lkey, addr, size, IBV_ACCESS_LOCAL_WRITE);

	if (unlikely(to == NULL))
		vmlx4_violation(adapter, VMLX4_RULE_LKEY, where->queue, where->number,
			where->index, "lkey %#x for %u bytes at %#llx: %s", lkey, size,
			(unsigned long long)addr, vmlx4_mr_reason(adapter, pd, lkey, addr, size,
			IBV_ACCESS_LOCAL_WRITE));
	return to;
}

uint8_t
vmlx4_ib_scatter(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	const struct vmlx4_hw_data *seg, uint32_t max, uint64_t offset, const uint8_t *data,
	uint32_t size, const struct vmlx4_ib_where *where)
{
	uint32_t i, room, n;
	uint8_t *to;

	for (i = 0; i < max && size != 0; i++, seg++) {
		if (be32toh(seg->lkey) == VMLX4_HW_LKEY_INVALID)
			break;
		room = be32toh(seg->byte_count);
		if (room == 0 || (room & VMLX4_HW_INLINE) != 0)
			room = room == VMLX4_HW_INLINE ? 0 : 0x80000000u;
		if (offset >= room) {
			offset -= room;
			continue;
		}
		room -= (uint32_t)offset;
		n = size < room ? size : room;
		to = seg_map(adapter, pd, seg, offset, n, where);
		if (to == NULL)
			return VMLX4_HW_SYN_LOC_PROT;
		memmove(to, data, n);
		data += n;
		size -= n;
		offset = 0;
	}
	return size == 0 ? 0 : VMLX4_HW_SYN_LOC_LEN;
}

void
vmlx4_ib_gather_part(const struct vmlx4_gather *g, uint32_t offset, uint32_t size, uint8_t *to)
{
	uint32_t i, n;

	for (i = 0; i < g->segs && size != 0; i++) {
		if (offset >= g->size[i]) {
			offset -= g->size[i];
			continue;
		}
		n = g->size[i] - offset < size ? g->size[i] - offset : size;
		memcpy(to, g->base[i] + offset, n);
		to += n;
		size -= n;
		offset = 0;
	}
}
