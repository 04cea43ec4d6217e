/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of pools: registered by its pieces before the first packet, given back when
 * the pool goes. No mbuf of it is out then, and so no WQE names its regions.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mempool.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define MIN_PAGE 4096u /* no page is smaller */

/* ---- pieces ---- */

static bool
is_mbuf_pool(const struct rte_mempool *mp)
{
	return mp->private_data_size >= sizeof(struct rte_pktmbuf_pool_private) &&
		mp->elt_size >= sizeof(struct rte_mbuf) && (mp->flags & RTE_MEMPOOL_F_NON_IO) == 0;
}

/* Buffers of such a pool lie outside of its chunks, in memory given by the user. */
static bool
has_pinned_buffers(struct rte_mempool *mp)
{
	return is_mbuf_pool(mp) &&
		(rte_pktmbuf_priv_flags(mp) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
}

struct piece_walk {
	void (*each)(const struct mdv_range *piece, void *arg);
	void *arg;
	struct mdv_range run;         /* gathered so far */
};

/* What lies between two parts is mapped when no page has room in there. */
static void
add_part(struct piece_walk *walk, const struct mdv_range *r)
{
	if (walk->run.end != 0 && r->start >= walk->run.end &&
	    r->start - walk->run.end < MIN_PAGE) {
		walk->run.end = r->end;
		return;
	}
	if (walk->run.end != 0)
		walk->each(&walk->run, walk->arg);
	walk->run = *r;
}

static void
part_of_chunk(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *hdr, unsigned int i)
{
	struct mdv_range r = { (uintptr_t)hdr->addr, (uintptr_t)hdr->addr + hdr->len };

	RTE_SET_USED(mp);
	RTE_SET_USED(i);
	if (hdr->len != 0)
		add_part(arg, &r);
}

static void
part_of_buffers(struct rte_mempool *mp, void *arg, void *obj, unsigned int i)
{
	const struct rte_mbuf *m = obj;
	struct mdv_range r = { (uintptr_t)m->buf_addr, (uintptr_t)m->buf_addr + m->buf_len };

	RTE_SET_USED(mp);
	RTE_SET_USED(i);
	add_part(arg, &r);
}

/* The pieces of memory that the buffers of a pool lie in: few, however many buffers. */
void
mdv_mr_pool_pieces(struct rte_mempool *mp, void (*each)(const struct mdv_range *piece, void *arg),
	void *arg)
{
	struct piece_walk walk = { .each = each, .arg = arg };

	if (has_pinned_buffers(mp))
		rte_mempool_obj_iter(mp, part_of_buffers, &walk);
	else
		rte_mempool_mem_iter(mp, part_of_chunk, &walk);
	if (walk.run.end != 0)
		each(&walk.run, arg);
}

struct piece_search {
	struct mdv_range want;
	struct mdv_range found;
};

static void
match(const struct mdv_range *piece, void *arg)
{
	struct piece_search *search = arg;

	if (piece->start <= search->want.start && search->want.end <= piece->end)
		search->found = *piece;
}

int
mdv_mr_pool_piece(struct rte_mempool *mp, const struct mdv_range *r, struct mdv_range *piece)
{
	struct piece_search search = { .want = *r };

	mdv_mr_pool_pieces(mp, match, &search);
	*piece = search.found;
	return piece->end != 0 ? 0 : -ENOENT;
}

/* ---- registration ---- */

struct pool_walk {
	struct mdv_priv *priv;
	int ret;
};

static void
register_piece(const struct mdv_range *piece, void *arg)
{
	struct pool_walk *walk = arg;

	if (walk->ret == 0)
		walk->ret = mdv_mr_register(walk->priv, piece, true);
}

/* All of an RX pool, or no queue: a buffer that cannot be posted serves nobody. */
int
mdv_mr_rx_setup(struct mdv_rxq *rxq, struct rte_mempool *mp)
{
	struct pool_walk walk = { .priv = rxq->priv };

	mdv_mr_pool_pieces(mp, register_piece, &walk);
	if (walk.ret != 0)
		MDV_PLOG(rxq->priv, ERR, "RX queue %u: cannot register pool %s with the adapter: "
			 "%s%s", rxq->idx, mp->name, strerror(-walk.ret),
			 walk.ret == -ENOMEM || walk.ret == -EPERM ?
			 "; raise RLIMIT_MEMLOCK (ulimit -l unlimited)" : "");
	return walk.ret;
}

/* For RX buffers that a queue's cache misses: pools of many regions. */
int
mdv_mr_get(struct mdv_priv *priv, uintptr_t addr, size_t length, struct rte_mempool *mp,
	struct mdv_mr_entry *entry)
{
	struct mdv_range r = { addr, addr + length };

	return mdv_mr_find(priv, &r, mp, has_pinned_buffers(mp) ? &r : NULL, entry);
}

/* Only pools of mbufs; one that cannot be registered drops its packets, counted. */
static void
register_known(struct rte_mempool *mp, void *arg)
{
	struct pool_walk walk = { .priv = arg };

	if (is_mbuf_pool(mp) && !has_pinned_buffers(mp))
		mdv_mr_pool_pieces(mp, register_piece, &walk);
}

void
mdv_mr_register_known(struct mdv_priv *priv)
{
	rte_mempool_walk(register_known, priv);
}

/* ---- pools that come and go ---- */

static void
forget_piece(const struct mdv_range *piece, void *arg)
{
	mdv_mr_forget_pool(arg, piece);
}

static void
pool_event(enum rte_mempool_event event, struct rte_mempool *mp, void *arg)
{
	struct mdv_priv *priv = arg;

	if (event == RTE_MEMPOOL_EVENT_READY && priv->started &&
	    MDV_LOAD_ACQUIRE(&priv->gone) == 0)
		register_known(mp, priv);
	/* The mbufs of a pool that was never filled say nothing of their buffers. */
	if (event == RTE_MEMPOOL_EVENT_DESTROY &&
	    (mp->populated_size == mp->size || !has_pinned_buffers(mp)))
		mdv_mr_pool_pieces(mp, forget_piece, priv);
}

int
mdv_mr_pool_init(struct mdv_priv *priv)
{
	if (rte_mempool_event_callback_register(pool_event, priv) != 0)
		return -rte_errno;
	priv->mr.pool_events = true;
	return 0;
}

void
mdv_mr_pool_fini(struct mdv_priv *priv)
{
	if (priv->mr.pool_events)
		rte_mempool_event_callback_unregister(pool_event, priv);
	priv->mr.pool_events = false;
}
