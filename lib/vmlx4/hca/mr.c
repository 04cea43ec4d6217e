/* SPDX-License-Identifier: BSD-3-Clause */

#include "burst.h"

void *
vmlx4_mr_map(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access)
{
	return vmlx4_mr_lookup(adapter, pd, lkey, addr, length, access);
}

void *
vmlx4_mr_refill(struct vmlx4_mr_cache *cache, struct vmlx4_adapter *adapter,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access)
{
	void *memory = vmlx4_mr_lookup(adapter, cache->pd, lkey, addr, length, access);
	const struct vmlx4_mr *mr;

	if (memory == NULL)
		return NULL;
	mr = adapter->mr_table[lkey >> 8];
	*cache = (struct vmlx4_mr_cache){ cache->pd, lkey, mr->iova, mr->length, mr->start };
	return memory;
}

const char *
vmlx4_mr_reason(struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd,
	uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access)
{
	const struct vmlx4_mr *mr = NULL;
	uint64_t offset;

	if ((lkey >> 8) < VMLX4_MR_TABLE)
		mr = adapter->mr_table[lkey >> 8];
	if (mr == NULL)
		return "no such memory region";
	if (mr->lkey != lkey)
		return "the key byte does not match";
	if (mr->pd != pd)
		return "the memory region belongs to another PD";
	offset = addr - mr->iova;
	if (offset > mr->length || length > mr->length - offset)
		return "outside the memory region";
	if ((mr->access & access) != access)
		return "the memory region lacks LOCAL_WRITE";
	return "covered";
}
