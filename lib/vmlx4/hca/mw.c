/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/*
 * Remote keys: which memory the peer of a QP may reach. A region has one; a window
 * has one for a part of a region, while it is bound. A window of type 1 is bound
 * anew as often as one likes, one of type 2 belongs to the QP that bound it until it
 * is invalidated.
 */

struct bind { /* [rc] the segment of a BIND_MW WQE, big endian */
	uint32_t flags1, flags2;
	uint32_t new_rkey, lkey;
	uint64_t addr, length;
};
_Static_assert(sizeof(struct bind) == 32, "bind segment");

#define BIND_ATOMIC 0x80000000u       /* flags1 */
#define BIND_REMOTE_WRITE 0x40000000u
#define BIND_REMOTE_READ 0x20000000u
#define BIND_TYPE_2 0x80000000u       /* flags2 */
#define BIND_ZERO_BASED 0x40000000u

static struct vmlx4_mr *
region(const struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd, uint32_t key)
{
	struct vmlx4_mr *mr = (key >> 8) < VMLX4_MR_TABLE ? adapter->mr_table[key >> 8] : NULL;

	return mr != NULL && mr->lkey == key && mr->pd == pd ? mr : NULL;
}

/* The window of an index; the key byte of a window is its user's to choose. */
static struct vmlx4_mw *
window(const struct vmlx4_adapter *adapter, const struct vmlx4_pd *pd, uint32_t key)
{
	struct vmlx4_mw *mw = (key >> 8) < VMLX4_MR_TABLE ? adapter->mw_table[key >> 8] : NULL;

	return mw != NULL && mw->pd == pd ? mw : NULL;
}

static bool
inside(uint64_t addr, uint64_t length, uint64_t iova, uint64_t size, uint64_t *offset)
{
	*offset = addr - iova;
	return *offset <= size && length <= size - *offset;
}

void *
vmlx4_rkey_map(struct vmlx4_qp *qp, uint32_t rkey, uint64_t addr, uint64_t length,
	uint32_t access)
{
	const struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	const struct vmlx4_pd *pd = qp->pd;
	const struct vmlx4_mr *mr;
	const struct vmlx4_mw *mw;
	uint64_t offset;

	if (pd == NULL && qp->srq != NULL)
		pd = qp->srq->pd;
	if (pd == NULL)
		return NULL;
	mr = region(adapter, pd, rkey);
	if (mr != NULL)
		return (mr->access & access) == access &&
			inside(addr, length, mr->iova, mr->length, &offset) ?
			(void *)(uintptr_t)(mr->start + offset) : NULL;
	mw = window(adapter, pd, rkey);
	if (mw == NULL || mw->rkey != rkey || mw->mr == NULL ||
	    (mw->type == IBV_MW_TYPE_2 && mw->qp != qp))
		return NULL;
	return (mw->access & access) == access &&
		inside(addr, length, mw->iova, mw->length, &offset) ?
		(void *)(uintptr_t)(mw->start + offset) : NULL;
}

void
vmlx4_mw_unbind(struct vmlx4_mw *mw)
{
	if (mw->mr == NULL)
		return;
	mw->mr->obj.users--;
	mw->mr = NULL;
	mw->qp = NULL;
}

static uint32_t
bind_access(const struct bind *bind)
{
	uint32_t flags = be32toh(bind->flags1);

	return ((flags & BIND_ATOMIC) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
		((flags & BIND_REMOTE_WRITE) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0) |
		((flags & BIND_REMOTE_READ) != 0 ? IBV_ACCESS_REMOTE_READ : 0);
}

/* May the window be bound to this region with that access? */
static bool
region_allows(const struct vmlx4_mr *mr, uint32_t access)
{
	if ((mr->access & IBV_ACCESS_MW_BIND) == 0)
		return false;
	return (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) == 0 ||
		(mr->access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

/* Type 1 is bound over what it was, type 2 only while it is free. */
static bool
window_allows(const struct vmlx4_mw *mw, const struct bind *bind)
{
	bool type_2 = (be32toh(bind->flags2) & BIND_TYPE_2) != 0;

	if (type_2 != (mw->type == IBV_MW_TYPE_2))
		return false;
	if (type_2)
		return mw->mr == NULL && bind->length != 0;
	return (be32toh(bind->flags2) & BIND_ZERO_BASED) == 0;
}

static void
bind_to(struct vmlx4_mw *mw, struct vmlx4_mr *mr, struct vmlx4_qp *qp, const struct bind *bind,
	uint64_t offset)
{
	vmlx4_mw_unbind(mw);
	mw->mr = mr;
	mr->obj.users++;
	mw->qp = mw->type == IBV_MW_TYPE_2 ? qp : NULL;
	mw->rkey = be32toh(bind->new_rkey);
	mw->start = mr->start + offset;
	mw->length = be64toh(bind->length);
	mw->iova = (be32toh(bind->flags2) & BIND_ZERO_BASED) != 0 ? 0 : be64toh(bind->addr);
	mw->access = bind_access(bind);
}

uint8_t
vmlx4_mw_bind(struct vmlx4_qp *qp, const uint8_t *segment, size_t size)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_mw *mw;
	struct vmlx4_mr *mr;
	struct bind bind;
	uint64_t offset;

	if (size < sizeof(bind))
		return VMLX4_HW_SYN_LOC_QP_OP;
	memcpy(&bind, segment, sizeof(bind));
	mw = window(adapter, qp->pd, be32toh(bind.new_rkey));
	if (mw == NULL || !window_allows(mw, &bind))
		return VMLX4_HW_SYN_MW_BIND;
	if (bind.length == 0) { /* the end of what it was bound to */
		vmlx4_mw_unbind(mw);
		mw->rkey = be32toh(bind.new_rkey);
		return 0;
	}
	mr = region(adapter, qp->pd, be32toh(bind.lkey));
	if (mr == NULL || !region_allows(mr, bind_access(&bind)) ||
	    !inside(be64toh(bind.addr), be64toh(bind.length), mr->iova, mr->length, &offset))
		return VMLX4_HW_SYN_MW_BIND;
	bind_to(mw, mr, qp, &bind, offset);
	return 0;
}

uint8_t
vmlx4_key_invalidate(struct vmlx4_qp *qp, uint32_t rkey, bool remote)
{
	struct vmlx4_mw *mw = window(qp->obj.ctx->adapter, qp->pd, rkey);

	/* A region that a program registered is there until it is deregistered. */
	if (mw == NULL || mw->rkey != rkey || mw->type != IBV_MW_TYPE_2 || mw->mr == NULL ||
	    mw->qp != qp)
		return remote ? VMLX4_HW_SYN_REM_ACCESS : VMLX4_HW_SYN_MW_BIND;
	vmlx4_mw_unbind(mw);
	return 0;
}
