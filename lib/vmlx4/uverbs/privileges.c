/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uverbs.h"

/*
 * What a kernel asks of a user: capabilities, and a limit on memory that is
 * pinned. The adapter asks for nothing unless the options say so: then a program
 * sees what it would see as that user.
 */

/* A page with doorbell records: pinned once, however many of its records are used. */
struct vmlx4_db_page {
	struct vmlx4_db_page *next;
	uint64_t address;
	unsigned int users;
};

static uint64_t
page_of(uint64_t address)
{
	return address & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t
pages(uint64_t start, uint64_t length)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return length == 0 ? 0 : (page_of(start + length - 1) - page_of(start)) / page + 1;
}

static struct vmlx4_db_page **
db_page_find(struct vmlx4_context *ctx, uint64_t db)
{
	struct vmlx4_db_page **at = &ctx->db_pages;

	while (*at != NULL && (*at)->address != page_of(db))
		at = &(*at)->next;
	return at;
}

/* CAP_IPC_LOCK lifts the limit, as in the kernel. */
static bool
may_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	return syscall(SYS_capget, &header, data) == 0 &&
		(data[0].effective & 1u << CAP_IPC_LOCK) != 0;
}

static uint64_t
limit_pages(const struct vmlx4_options *options)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	struct rlimit limit;

	if (options->memlock == VMLX4_MEMLOCK_BYTES)
		return options->memlock_bytes / page;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
			may_lock())
		return UINT64_MAX;
	return limit.rlim_cur / page;
}

int
vmlx4_pin_check(struct vmlx4_context *ctx, uint64_t start, uint64_t length, uint64_t db,
	const struct vmlx4_obj *instead)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	uint64_t wanted;

	if (adapter->options.memlock == VMLX4_MEMLOCK_NONE)
		return 0;
	wanted = adapter->pinned + pages(start, length) -
		(instead != NULL ? instead->pinned : 0);
	if (db != 0 && *db_page_find(ctx, db) == NULL)
		wanted++;
	return wanted > limit_pages(&adapter->options) ? -ENOMEM : 0;
}

void
vmlx4_obj_pin(struct vmlx4_obj *obj, uint64_t start, uint64_t length, uint64_t db)
{
	struct vmlx4_adapter *adapter = obj->ctx->adapter;
	struct vmlx4_db_page **at;

	if (adapter->options.memlock == VMLX4_MEMLOCK_NONE)
		return;
	adapter->pinned += pages(start, length) - obj->pinned;
	obj->pinned = pages(start, length);
	if (db == 0)
		return;
	at = db_page_find(obj->ctx, db);
	if (*at == NULL) {
		*at = calloc(1, sizeof(**at));
		if (*at == NULL)
			return; /* not counted */
		(*at)->address = page_of(db);
		adapter->pinned++;
	}
	(*at)->users++;
	obj->db = db;
}

void
vmlx4_obj_unpin(struct vmlx4_obj *obj)
{
	struct vmlx4_adapter *adapter = obj->ctx->adapter;
	struct vmlx4_db_page **at, *page;

	adapter->pinned -= obj->pinned;
	obj->pinned = 0;
	if (obj->db == 0)
		return;
	at = db_page_find(obj->ctx, obj->db);
	page = *at;
	obj->db = 0;
	if (page == NULL || --page->users > 0)
		return;
	adapter->pinned--;
	*at = page->next;
	free(page);
}
