/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory that frames to send lie in as external buffers, each of which a driver has to
 * open by a memory region. They touch each other: with gaps, libibverbs would look
 * through as many mappings for each.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ethdev.h"

#define PAGE 4096u
#define HELD 1               /* our own reference: a region is never free */

static struct {
	uint8_t *area;
	size_t size, step;
	unsigned int count, next;
	struct rte_mbuf_ext_shared_info info[PERF_REGIONS_MAX];
} regions;

static void
never_freed(void *addr, void *opaque)
{
	(void)opaque;
	bench_die("the external buffer at %p was freed too often", addr);
}

void
regions_open(unsigned int count, unsigned int room)
{
	unsigned int i;

	regions.count = count;
	if (count == 0)
		return;
	regions.step = RTE_ALIGN_CEIL(room, PAGE);
	regions.size = count * regions.step;
	regions.area = mmap(NULL, regions.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (regions.area == MAP_FAILED)
		bench_die("--regions %u: %zu bytes: %s", count, regions.size, strerror(errno));
	regions.next = 0;
	for (i = 0; i < count; i++) {
		regions.info[i].free_cb = never_freed;
		rte_mbuf_ext_refcnt_set(&regions.info[i], HELD);
	}
}

void
regions_close(void)
{
	if (regions.count != 0)
		munmap(regions.area, regions.size);
	regions.count = 0;
}

void
regions_attach(struct rte_mbuf *m)
{
	unsigned int i = regions.next;

	if (regions.count == 0)
		return;
	if (++regions.next == regions.count)
		regions.next = 0;
	rte_mbuf_ext_refcnt_update(&regions.info[i], 1);
	rte_pktmbuf_attach_extbuf(m, regions.area + i * regions.step, RTE_BAD_IOVA,
		(uint16_t)regions.step, &regions.info[i]);
}
