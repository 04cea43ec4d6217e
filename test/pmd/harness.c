/* SPDX-License-Identifier: BSD-3-Clause */

/* What the programs share: EAL, an adapter that outlives the ports, pools. */

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <rte_eal.h>

#include "harness.h"
#include "internal.h"

#define EXIT_SKIPPED 77
#define MAX_POOLS 96

static const char *running = "start-up";
static struct rte_mempool *pools[MAX_POOLS];
static unsigned int nb_pools;
static struct ibv_context *keeper;

void
test_running(const char *name)
{
	running = name;
}

void
test_fail(const char *file, int line, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%d: %s: ", base != NULL ? base + 1 : file, line, running);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(stderr);
	/* What the test left half done is of no interest to a leak checker. */
	_exit(EXIT_FAILURE);
}

void
test_skip(const char *format, ...)
{
	va_list args;

	printf("SKIP %s: ", running);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

void
sleep_ms(unsigned int milliseconds)
{
	struct timespec left = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = milliseconds % 1000 * 1000000l,
	};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* ---- pools ---- */

void
pool_adopt(struct rte_mempool *pool)
{
	CHECK(nb_pools < MAX_POOLS);
	pools[nb_pools++] = pool;
}

struct rte_mempool *
pool_create(unsigned int mbufs, uint16_t data_room)
{
	static unsigned int serial;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "test%u", serial++);
	pool = rte_pktmbuf_pool_create(name, mbufs, 0, 0,
		data_room + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	CHECK_MSG(pool != NULL, "no pool of %u mbufs of %u B: %s", mbufs, data_room,
		rte_strerror(rte_errno));
	pool_adopt(pool);
	return pool;
}

static void
pool_check(struct rte_mempool *pool)
{
	CHECK_MSG(rte_mempool_avail_count(pool) == pool->size,
		"pool %s: %u of %u mbufs came back", pool->name,
		rte_mempool_avail_count(pool), pool->size);
}

void
pools_release_all(void)
{
	while (nb_pools > 0)
		pool_release(pools[0]);
}

void
pool_release(struct rte_mempool *pool)
{
	unsigned int i;

	pool_check(pool);
	for (i = 0; i < nb_pools; i++)
		if (pools[i] == pool)
			pools[i] = pools[--nb_pools];
	rte_mempool_free(pool);
}

/* ---- descriptors ---- */

/*
 * Two kinds are EAL's: epoll's own, which its interrupt thread closes and makes anew
 * whenever a source comes or goes, at a moment of its choosing; and huge pages.
 */
static bool
is_eal(const char *target)
{
	return strcmp(target, "anon_inode:[eventpoll]") == 0 || strstr(target, "/rtemap_") != NULL;
}

unsigned int
fds_count(bool show)
{
	char path[64], target[256];
	unsigned int count = 0, fd;
	ssize_t length;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%u", fd);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		if (is_eal(target))
			continue;
		if (show)
			fprintf(stderr, "  fd %u: %s\n", fd, target);
		count++;
	}
	return count;
}

/* ---- start-up ---- */

const char *
verbs_device(void)
{
	return ibv_get_device_name(keeper->device);
}

/* The adapter lives as long as a context: hold one, so that counts compare. */
static void
adapter_hold(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK_MSG(list != NULL && list[0] != NULL,
		"no verbs device; run as: vmlx4 exec --strict --step -- mdv-test");
	keeper = ibv_open_device(list[0]);
	CHECK_MSG(keeper != NULL, "cannot open %s: %s", ibv_get_device_name(list[0]),
		strerror(errno));
	ibv_free_device_list(list);
}

/* One lcore that may run wherever the process may: tests run side by side. */
static void
lcore_map(char *map, size_t size)
{
	cpu_set_t cpus;
	size_t used;
	int cpu;

	CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	used = snprintf(map, size, "0@(");
	for (cpu = 0; cpu < CPU_SETSIZE && used + 8 < size; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			used += snprintf(map + used, size - used, "%d,", cpu);
	map[used - 1] = ')';
}

bool
eal_has_hugepages(void)
{
	return getenv("MDV_TEST_HUGE_DIR") != NULL;
}

/*
 * Without huge pages EAL's memory is one piece that never changes. With them it comes
 * and goes by the page: tests of that need MDV_TEST_HUGE_DIR, a mounted hugetlbfs.
 */
void
eal_start(const char *megabytes)
{
	const char *driver = getenv("MDV_TEST_DRIVER");
	char map[512];
	char *args[16] = {
		(char *)"mdv-test", (char *)"--no-pci", (char *)"--lcores", map,
		(char *)"--no-telemetry", (char *)"--no-shconf", (char *)"--iova-mode=va",
		(char *)"--log-level=notice",
	};
	char simd[64];
	int n = 8, ret;

	lcore_map(map, sizeof(map));
	/* Which of the vector paths: EAL's limit of their width, in bits. */
	if (getenv("MDV_TEST_SIMD") != NULL) {
		snprintf(simd, sizeof(simd), "--force-max-simd-bitwidth=%s",
			getenv("MDV_TEST_SIMD"));
		args[n++] = simd;
	}
	if (eal_has_hugepages()) {
		args[n++] = (char *)"--huge-dir";
		args[n++] = getenv("MDV_TEST_HUGE_DIR");
		args[n++] = (char *)"--huge-unlink";
	} else {
		args[n++] = (char *)"--no-huge";
		args[n++] = (char *)"-m";
		args[n++] = (char *)megabytes;
	}
	/*
	 * dlopen() rather than EAL's -d, which refuses a driver that lies under a
	 * world-writable directory.
	 */
	if (driver == NULL)
		driver = MDV_TEST_DRIVER_PATH;
	CHECK_MSG(dlopen(driver, RTLD_NOW | RTLD_GLOBAL) != NULL, "%s", dlerror());
	ret = rte_eal_init(n, args);
	CHECK_MSG(ret >= 0, "rte_eal_init: %s", rte_strerror(rte_errno));
	adapter_hold();
}

void
eal_stop(void)
{
	running = "clean-up";
	ibv_close_device(keeper);
	CHECK_OK(rte_eal_cleanup());
}
