/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Does a round of a port's life leave anything behind? Each kind of round is done
 * a few times before the first look, so that what is made once and kept is there.
 */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "events.h"
#include "harness.h"
#include "internal.h"

#define WARM_UP 40
#define BURST 16

#define TOUCH_MOST (64ul << 20)

/*
 * What may differ, in bytes, however many rounds: libc keeps some freed memory at
 * hand, and splits its heap anew now and then.
 */
#define HEAP_SLACK (16 << 10)
#define RSS_SLACK (64 << 10)

static struct port_conf conf;

struct look {
	unsigned int mbufs, fds;
	struct vmlx4_object_counts objects;
	size_t dpdk_heap, libc_heap, rss;
};

static size_t
resident(void)
{
	unsigned long size, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL);
	CHECK(fscanf(file, "%lu %lu", &size, &pages) == 2);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Make resident what is mapped: the tables of the virtual adapter are large and
 * touched bit by bit, as no number of a queue comes back soon. What RSS grows by
 * from then on is memory that was asked for.
 */
static void
touch_all(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, inode;
	char line[512], mode[8];

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, mode, &inode) == 4 &&
		    inode == 0 && strncmp(mode, "rw-p", 4) == 0 && end - start <= TOUCH_MOST)
			madvise((void *)start, end - start, MADV_POPULATE_WRITE);
	fclose(maps);
}

static void
look(struct look *at)
{
	struct rte_malloc_socket_stats heap;

	at->mbufs = rte_mempool_avail_count(conf.pool);
	at->fds = fds_count(false);
	at->objects = object_counts();
	CHECK_OK(rte_malloc_get_socket_stats(0, &heap));
	at->dpdk_heap = heap.heap_allocsz_bytes;
	malloc_trim(0);
	at->libc_heap = mallinfo2().uordblks;
	at->rss = resident();
}

/* All objects but MRs. */
static long long
objects(const struct vmlx4_object_counts *c)
{
	return (long long)c->contexts + c->pds + c->channels + c->cqs + c->qps + c->wqs +
		c->tables + c->flows;
}

static bool
report(const char *name, unsigned int rounds, const struct look *a, const struct look *b,
	double seconds)
{
	long long mbufs = (long long)a->mbufs - b->mbufs;
	long long fds = (long long)b->fds - a->fds;
	long long mrs = (long long)b->objects.mrs - a->objects.mrs;
	long long others = objects(&b->objects) - objects(&a->objects);
	long long dpdk = (long long)b->dpdk_heap - (long long)a->dpdk_heap;
	long long libc = (long long)b->libc_heap - (long long)a->libc_heap;
	long long rss = (long long)b->rss - (long long)a->rss;

	printf("%-12s x %-5u left over: %lld mbufs, %lld descriptors, %lld MRs, %lld other "
		"objects, %lld B of the DPDK heap, %lld B of the libc heap, %lld KiB of RSS; "
		"%.1f s\n", name, rounds, mbufs, fds, mrs, others, dpdk, libc, rss / 1024, seconds);
	if (fds != 0)
		fds_count(true);
	return mbufs == 0 && fds == 0 && mrs == 0 && others == 0 && dpdk <= 0 &&
		libc <= HEAP_SLACK && rss <= RSS_SLACK;
}

/* ---- rounds ---- */

static uint16_t port;

/* Some packets each way; more are left unread, and unsent, for the stop. */
static void
traffic(void)
{
	struct rte_mbuf *pkts[BURST];
	uint8_t frame[200];
	unsigned int i;

	/* What the last round left on the wire. */
	settle();
	rx_discard(port);
	check_traffic(port);
	capture_clear(port);
	for (i = 0; i < BURST; i++) {
		frame_make(frame, sizeof(frame), mac_foreign, i);
		wire_inject(port, frame, sizeof(frame));
		pkts[i] = mbuf_frame(conf.pool, frame, sizeof(frame));
	}
	CHECK_OK(vmlx4_step(3) < 0);
	CHECK_EQ(rte_eth_tx_burst(port, 1, pkts, BURST), BURST);
}

static void
up(void)
{
	port_configure(port, &conf);
	port_start(port, &conf);
	traffic();
}

static void
start_stop(void)
{
	CHECK_OK(rte_eth_dev_start(port));
	traffic();
	CHECK_OK(rte_eth_dev_stop(port));
}

static void
attach_detach(void)
{
	port = port_open(0);
	up();
	port_close(port);
}

static void
reset(void)
{
	up();
	CHECK_OK(rte_eth_dev_reset(port));
}

/* The device leaves under the port, and is back for the next round. */
static void
unplug(void)
{
	port = port_open(0);
	up();
	fault_add("device remove");
	port_close(port);
	CHECK_OK(vmlx4_fault_clear());
}

static void
open_port(void)
{
	port = port_open(0);
}

static void
open_and_configure(void)
{
	open_port();
	port_configure(port, &conf);
	CHECK_OK(rte_eth_promiscuous_enable(port));
}

static void
close_port(void)
{
	port_close(port);
}

static const struct kind {
	const char *option;
	void (*before)(void);
	void (*round)(void);
	void (*after)(void);
} kinds[] = {
	{ "start-stop", open_and_configure, start_stop, close_port },
	{ "attach", NULL, attach_detach, NULL },
	{ "reset", open_port, reset, close_port },
	{ "unplug", NULL, unplug, NULL },
};

static bool
measure(const struct kind *kind, unsigned int rounds)
{
	struct timespec start, end;
	struct look before, after;
	unsigned int i;

	test_running(kind->option);
	if (kind->before != NULL)
		kind->before();
	for (i = 0; i < WARM_UP; i++)
		kind->round();
	touch_all();
	look(&before);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < rounds; i++)
		kind->round();
	clock_gettime(CLOCK_MONOTONIC, &end);
	look(&after);
	if (kind->after != NULL)
		kind->after();
	return report(kind->option, rounds, &before, &after, (double)(end.tv_sec - start.tv_sec) +
		(double)(end.tv_nsec - start.tv_nsec) * 1e-9);
}

static int
usage(void)
{
	fprintf(stderr, "usage: mdv-leaks [--start-stop N] [--attach N] [--reset N] [--unplug N]\n"
		"under vmlx4 exec --strict --step\n");
	return 2;
}

int
main(int argc, char **argv)
{
	unsigned int rounds[RTE_DIM(kinds)] = { 0 }, i, k;
	bool clean = true;
	char *end;

	for (i = 1; i + 1 < (unsigned int)argc; i += 2) {
		for (k = 0; k < RTE_DIM(kinds); k++)
			if (strncmp(argv[i], "--", 2) == 0 &&
			    strcmp(argv[i] + 2, kinds[k].option) == 0)
				break;
		if (k == RTE_DIM(kinds))
			return usage();
		rounds[k] = (unsigned int)strtoul(argv[i + 1], &end, 10);
		if (rounds[k] == 0 || *end != '\0')
			return usage();
	}
	if (argc == 1 || argc % 2 == 0)
		return usage();
	eal_start("512");
	conf = port_conf(pool_create(2048, 2048));
	conf.rxq = conf.txq = 2;
	for (k = 0; k < RTE_DIM(kinds); k++)
		if (rounds[k] != 0)
			clean &= measure(&kinds[k], rounds[k]);
	CHECK_EQ(vmlx4_violations(), 0);
	captures_stop();
	pools_release_all();
	eal_stop();
	return clean ? EXIT_SUCCESS : EXIT_FAILURE;
}
