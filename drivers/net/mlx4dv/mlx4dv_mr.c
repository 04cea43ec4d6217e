/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions. One table per port, sorted by address, says which lkey opens
 * which memory; queues keep the entries that they used last.
 *
 * The memory of a pool is registered by its pieces, to the byte, and goes with the
 * pool: nothing of it is on its way then (mlx4dv_mr_pool.c). Other EAL memory is
 * registered by the longest run of pages around an address, so that one region serves
 * many buffers; an external buffer by its own extent. Those live as long as some of
 * their memory does, and at most until the port is closed: a run that has grown
 * gets a new region, and the old one stays for the WQEs that name it. Nobody
 * tells when an external buffer is unmapped: it must stay until then.
 *
 * Locks: EAL's memory lock, then the table's. EAL frees memory, and calls us,
 * with the first one held. Nothing here allocates from EAL.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal_memconfig.h>
#include <rte_fbarray.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

struct mdv_mr {
	TAILQ_ENTRY(mdv_mr) next;
	struct ibv_mr *ibv;
	uintptr_t start, end;     /* what was not freed lies in here */
	bool of_pool;             /* goes as soon as some of it does */
};

/* ---- the table; called with its lock held ---- */

/* Index of the first entry that ends above addr. */
static uint32_t
table_find(const struct mdv_mr_table *t, uintptr_t addr)
{
	uint32_t low = 0, high = t->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->maps[mid].entry.end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct mdv_mr_map *
table_lookup(const struct mdv_mr_table *t, const struct mdv_range *r)
{
	uint32_t i = table_find(t, r->start);

	if (i == t->n || t->maps[i].entry.start > r->start || t->maps[i].entry.end < r->end)
		return NULL;
	return &t->maps[i];
}

/* Room for two more: cutting a hole splits an entry, and an insert follows. */
static int
table_reserve(struct mdv_mr_table *t)
{
	struct mdv_mr_map *maps;
	uint32_t room = t->room != 0 ? t->room * 2 : 16;

	if (t->n + 2 <= t->room)
		return 0;
	maps = realloc(t->maps, room * sizeof(*maps));
	if (maps == NULL)
		return -ENOMEM;
	t->maps = maps;
	t->room = room;
	return 0;
}

static void
table_insert_at(struct mdv_mr_table *t, uint32_t i, const struct mdv_mr_map *map)
{
	memmove(&t->maps[i + 1], &t->maps[i], (t->n - i) * sizeof(*t->maps));
	t->maps[i] = *map;
	t->n++;
}

/* No entry reaches into r afterwards. The caller has reserved room. */
static void
table_cut(struct mdv_mr_table *t, const struct mdv_range *r)
{
	uint32_t i = table_find(t, r->start);
	struct mdv_mr_entry *e;
	struct mdv_mr_map rest;

	while (i < t->n && t->maps[i].entry.start < r->end) {
		e = &t->maps[i].entry;
		if (e->start < r->start && e->end > r->end) {
			rest = t->maps[i];
			rest.entry.start = r->end;
			e->end = r->start;
			table_insert_at(t, i + 1, &rest);
			return;
		}
		if (e->start < r->start) {
			e->end = r->start;
			i++;
		} else if (e->end > r->end) {
			e->start = r->end;
			return;
		} else {
			t->n--;
			memmove(&t->maps[i], &t->maps[i + 1], (t->n - i) * sizeof(*t->maps));
		}
	}
}

static void
table_changed(struct mdv_mr_table *t)
{
	MDV_STORE_RELEASE(&t->generation, t->generation + 1);
}

static void
mr_free(struct mdv_priv *priv, struct mdv_mr *mr)
{
	int ret = mr->ibv != NULL ? ibv_dereg_mr(mr->ibv) : 0;

	if (ret != 0)
		MDV_PLOG(priv, WARNING, "ibv_dereg_mr() failed: %s", strerror(ret));
	TAILQ_REMOVE(&priv->mr.mrs, mr, next);
	free(mr);
}

static struct ibv_mr *
reg_mr(struct mdv_priv *priv, const struct mdv_range *r)
{
	return ibv_reg_mr(priv->pd, (void *)r->start, r->end - r->start, IBV_ACCESS_LOCAL_WRITE);
}

/* A region for r; it takes over from whatever served parts of r. */
static int
table_register(struct mdv_priv *priv, const struct mdv_range *r, bool of_pool)
{
	struct mdv_mr_table *t = &priv->mr;
	struct mdv_mr_map map;
	struct mdv_mr *mr;
	int ret;

	ret = table_reserve(t);
	mr = ret == 0 ? calloc(1, sizeof(*mr)) : NULL;
	if (mr == NULL)
		return -ENOMEM;
	mr->ibv = reg_mr(priv, r);
	if (mr->ibv == NULL) {
		ret = errno != 0 ? -errno : -EIO;
		free(mr);
		return ret;
	}
	mr->start = r->start;
	mr->end = r->end;
	mr->of_pool = of_pool;
	TAILQ_INSERT_TAIL(&t->mrs, mr, next);
	table_cut(t, r);
	map.entry = (struct mdv_mr_entry){
		.start = r->start, .end = r->end, .lkey = rte_cpu_to_be_32(mr->ibv->lkey),
	};
	map.mr = mr;
	table_insert_at(t, table_find(t, r->start), &map);
	/* What queues cached stays right: the old regions are still there. */
	return 0;
}

/* Has EAL given the page of this address back? Then *page is its extent. */
static bool
is_unused_page(uintptr_t addr, struct mdv_range *page)
{
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list((const void *)addr);
	int index;

	if (msl == NULL || msl->external != 0)
		return false;
	index = (int)((addr - (uintptr_t)msl->base_va) / msl->page_sz);
	page->start = (uintptr_t)msl->base_va + (size_t)index * msl->page_sz;
	page->end = page->start + msl->page_sz;
	return rte_fbarray_is_used((struct rte_fbarray *)(uintptr_t)&msl->memseg_arr, index) == 0;
}

/*
 * Take freed memory off the ends of what a region still serves. A hole in the
 * middle goes when the memory on one side of it does. Pages that came back in
 * the meantime count as its own: a region lives too long rather than not long
 * enough, as posted WQEs name it.
 */
static void
mr_trim(struct mdv_mr *mr, const struct mdv_range *r)
{
	struct mdv_range page;

	if (r->start <= mr->start && r->end > mr->start) {
		mr->start = RTE_MIN(r->end, mr->end);
		while (mr->start < mr->end && is_unused_page(mr->start, &page))
			mr->start = RTE_MIN(page.end, mr->end);
	}
	if (r->end >= mr->end && r->start < mr->end) {
		mr->end = RTE_MAX(r->start, mr->start);
		while (mr->start < mr->end && is_unused_page(mr->end - 1, &page))
			mr->end = RTE_MAX(page.start, mr->start);
	}
}

/* Without room for a split the whole table goes, and fills again. */
static void
table_drop(struct mdv_mr_table *t, const struct mdv_range *r)
{
	if (table_reserve(t) == 0)
		table_cut(t, r);
	else
		t->n = 0;
}

static bool
overlaps(const struct mdv_mr *mr, const struct mdv_range *r)
{
	return r->start < mr->end && mr->start < r->end;
}

/* The region of a pool is gone as a whole. */
static void
pool_mr_free(struct mdv_priv *priv, struct mdv_mr *mr)
{
	const struct mdv_range whole = { mr->start, mr->end };

	table_drop(&priv->mr, &whole);
	mr_free(priv, mr);
}

/* Memory is gone: no entry for it any more, and no region without memory. */
static void
table_forget(struct mdv_priv *priv, const struct mdv_range *r)
{
	struct mdv_mr_table *t = &priv->mr;
	struct mdv_mr *mr, *next;

	table_drop(t, r);
	table_changed(t);
	for (mr = TAILQ_FIRST(&t->mrs); mr != NULL; mr = next) {
		next = TAILQ_NEXT(mr, next);
		if (mr->of_pool) {
			if (overlaps(mr, r))
				pool_mr_free(priv, mr);
			continue;
		}
		mr_trim(mr, r);
		if (mr->start >= mr->end)
			mr_free(priv, mr);
	}
}

/* ---- which memory is one piece ---- */

/*
 * The run of EAL pages that holds r: all that are used, or with mr_ext_memseg_en=0
 * those that r lies in. Called with EAL's memory lock held.
 */
static int
eal_run(const struct mdv_priv *priv, const struct mdv_range *r, struct mdv_range *run)
{
	struct rte_memseg_list *msl = rte_mem_virt2memseg_list((const void *)r->start);
	struct rte_fbarray *arr;
	uintptr_t base;
	int index, before, after;

	if (msl == NULL)
		return -ENOENT;
	arr = &msl->memseg_arr;
	base = (uintptr_t)msl->base_va;
	index = (int)((r->start - base) / msl->page_sz);
	before = rte_fbarray_find_rev_contig_used(arr, (unsigned int)index);
	after = rte_fbarray_find_contig_used(arr, (unsigned int)index);
	if (before < 1 || after < 1)
		return -ENOENT;
	run->start = base + (size_t)(index - before + 1) * msl->page_sz;
	run->end = base + (size_t)(index + after) * msl->page_sz;
	if (r->end > run->end)
		return -ENOENT;
	if (!priv->mr_ext_memseg) {
		run->start = base + (size_t)index * msl->page_sz;
		run->end = base + RTE_ALIGN_CEIL(r->end - base, msl->page_sz);
	}
	return 0;
}

/* Look r up, or register the piece of memory around it: of the pool, of EAL, or whole. */
int
mdv_mr_find(struct mdv_priv *priv, const struct mdv_range *r, struct rte_mempool *mp,
	const struct mdv_range *whole, struct mdv_mr_entry *entry)
{
	struct mdv_mr_table *t = &priv->mr;
	const struct mdv_mr_map *map;
	struct mdv_range piece;
	bool of_pool;
	int ret = 0;

	/* The table and its regions are the primary's. */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return mdv_mp_get_entry(priv->data->port_id, r, mp, whole, entry);
	rte_rwlock_read_lock(&t->lock);
	map = table_lookup(t, r);
	if (map != NULL)
		*entry = map->entry;
	rte_rwlock_read_unlock(&t->lock);
	if (map != NULL)
		return 0;

	rte_mcfg_mem_read_lock();
	rte_rwlock_write_lock(&t->lock);
	map = table_lookup(t, r);
	if (map == NULL) {
		of_pool = mp != NULL && mdv_mr_pool_piece(mp, r, &piece) == 0;
		ret = of_pool ? 0 : eal_run(priv, r, &piece);
		if (ret != 0 && whole != NULL) {
			piece = *whole;
			ret = 0;
		}
		if (ret == 0)
			ret = table_register(priv, &piece, of_pool);
		map = ret == 0 ? table_lookup(t, r) : NULL;
	}
	if (map != NULL)
		*entry = map->entry;
	rte_rwlock_write_unlock(&t->lock);
	rte_mcfg_mem_read_unlock();
	return map != NULL ? 0 : ret != 0 ? ret : -EFAULT;
}

/* ---- TX ---- */

static void
cache_insert(struct mdv_txq *txq, const struct mdv_mr_entry *entry)
{
	memmove(&txq->mr[1], &txq->mr[0], sizeof(txq->mr) - sizeof(txq->mr[0]));
	txq->mr[0] = *entry;
}

uint32_t
mdv_mr_lookup_slow(struct mdv_txq *txq, const struct rte_mbuf *seg)
{
	struct mdv_priv *priv = txq->priv;
	uint32_t generation = MDV_LOAD_ACQUIRE(&priv->mr.generation);
	uintptr_t addr = rte_pktmbuf_mtod(seg, uintptr_t);
	struct mdv_range r = { addr, addr + RTE_MAX(seg->data_len, 1) };
	struct mdv_range buffer = {
		(uintptr_t)seg->buf_addr, (uintptr_t)seg->buf_addr + seg->buf_len,
	};
	struct rte_mempool *mp = NULL;
	struct mdv_mr_entry entry;

	if (txq->mr_generation != generation) {
		mdv_tx_forget_keys(txq);
		txq->mr_generation = generation;
	}
	if (r.start < buffer.start || r.end > buffer.end)
		return MDV_LKEY_NONE;
	/* The pool of a clone's bytes is that of the mbuf it was made from. */
	if (RTE_MBUF_CLONED(seg))
		mp = rte_mbuf_from_indirect((struct rte_mbuf *)(uintptr_t)seg)->pool;
	else if (!RTE_MBUF_HAS_EXTBUF(seg) || RTE_MBUF_HAS_PINNED_EXTBUF(seg))
		mp = seg->pool;
	if (mdv_mr_find(priv, &r, mp, RTE_MBUF_HAS_EXTBUF(seg) ? &buffer : NULL, &entry) != 0)
		return MDV_LKEY_NONE;
	cache_insert(txq, &entry);
	return entry.lkey;
}

/* ---- life ---- */

static void
mem_event(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
	struct mdv_range r = { (uintptr_t)addr, (uintptr_t)addr + len };
	struct mdv_priv *priv = arg;

	if (event != RTE_MEM_EVENT_FREE)
		return;
	rte_rwlock_write_lock(&priv->mr.lock);
	table_forget(priv, &r);
	rte_rwlock_write_unlock(&priv->mr.lock);
}

int
mdv_mr_register(struct mdv_priv *priv, const struct mdv_range *r, bool of_pool)
{
	int ret = 0;

	rte_rwlock_write_lock(&priv->mr.lock);
	if (table_lookup(&priv->mr, r) == NULL)
		ret = table_register(priv, r, of_pool);
	rte_rwlock_write_unlock(&priv->mr.lock);
	return ret;
}

bool
mdv_mr_knows(struct mdv_priv *priv, const struct mdv_range *r)
{
	bool known;

	rte_rwlock_read_lock(&priv->mr.lock);
	known = table_lookup(&priv->mr, r) != NULL;
	rte_rwlock_read_unlock(&priv->mr.lock);
	return known;
}

void
mdv_mr_forget(struct mdv_priv *priv, const struct mdv_range *r)
{
	rte_mcfg_mem_read_lock();
	rte_rwlock_write_lock(&priv->mr.lock);
	table_forget(priv, r);
	rte_rwlock_write_unlock(&priv->mr.lock);
	rte_mcfg_mem_read_unlock();
}

void
mdv_mr_forget_pool(struct mdv_priv *priv, const struct mdv_range *r)
{
	struct mdv_mr *mr, *next;

	rte_rwlock_write_lock(&priv->mr.lock);
	for (mr = TAILQ_FIRST(&priv->mr.mrs); mr != NULL; mr = next) {
		next = TAILQ_NEXT(mr, next);
		if (mr->of_pool && overlaps(mr, r))
			pool_mr_free(priv, mr);
	}
	table_changed(&priv->mr);
	rte_rwlock_write_unlock(&priv->mr.lock);
}

void
mdv_mr_changed(struct mdv_priv *priv)
{
	rte_rwlock_write_lock(&priv->mr.lock);
	table_changed(&priv->mr);
	rte_rwlock_write_unlock(&priv->mr.lock);
}

int
mdv_mr_init(struct mdv_priv *priv)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	rte_rwlock_init(&priv->mr.lock);
	TAILQ_INIT(&priv->mr.mrs);
	priv->mr.n = 0;
	snprintf(name, sizeof(name), "mdv_%u", priv->data->port_id);
	/* Memory that cannot be freed raises no event, and that is not supported. */
	if (rte_mem_event_callback_register(name, mem_event, priv) == 0)
		priv->mr.events = true;
	else if (rte_errno != ENOTSUP)
		return -rte_errno;
	return mdv_mr_pool_init(priv);
}

void
mdv_mr_count(struct mdv_priv *priv, uint64_t *regions, uint64_t *bytes)
{
	const struct mdv_mr *mr;

	rte_rwlock_read_lock(&priv->mr.lock);
	TAILQ_FOREACH(mr, &priv->mr.mrs, next) {
		*regions += 1;
		*bytes += mr->ibv->length;
	}
	rte_rwlock_read_unlock(&priv->mr.lock);
}

void
mdv_mr_fini(struct mdv_priv *priv)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	if (priv->mr.events) {
		snprintf(name, sizeof(name), "mdv_%u", priv->data->port_id);
		rte_mem_event_callback_unregister(name, priv);
		priv->mr.events = false;
	}
	mdv_mr_pool_fini(priv);
	while (!TAILQ_EMPTY(&priv->mr.mrs))
		mr_free(priv, TAILQ_FIRST(&priv->mr.mrs));
	free(priv->mr.maps);
	priv->mr.maps = NULL;
	priv->mr.n = priv->mr.room = 0;
	table_changed(&priv->mr);
}
