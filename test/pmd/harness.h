/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_PMD_HARNESS_H_
#define TEST_PMD_HARNESS_H_

/*
 * Tests of the driver through the public ethdev API, with the virtual adapter
 * in the same process and its engine stepped by the test. A test opens the
 * ports it needs; the harness closes what is left and then requires that no
 * mbuf, file descriptor or adapter object is missing or left over.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <vmlx4.h>

#include "frames.h"

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);

/* Defines and registers a test; the name is what the command line takes. */
#define TEST(fn)                                                       \
	static void fn(void);                                          \
	static struct test fn##_entry = { .name = #fn, .run = fn };    \
	__attribute__((constructor)) static void fn##_register(void)   \
	{                                                              \
		test_register(&fn##_entry);                            \
	}                                                              \
	static void fn(void)

__attribute__((noreturn, format(printf, 3, 4)))
void test_fail(const char *file, int line, const char *format, ...);

/* Ends the run as skipped: what the test is about is not part of this build. */
__attribute__((noreturn, format(printf, 1, 2)))
void test_skip(const char *format, ...);

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(cond)                                                    \
	do {                                                           \
		if (!(cond))                                           \
			FAIL("%s", #cond);                             \
	} while (0)

#define CHECK_MSG(cond, ...)                                           \
	do {                                                           \
		if (!(cond))                                           \
			FAIL(__VA_ARGS__);                             \
	} while (0)

#define CHECK_EQ(got, want)                                            \
	do {                                                           \
		long long got_ = (long long)(got);                     \
		long long want_ = (long long)(want);                   \
		if (got_ != want_)                                     \
			FAIL("%s is %lld, not %s = %lld", #got, got_,  \
				#want, want_);                         \
	} while (0)

/* For calls that return 0 or a negative errno. */
#define CHECK_OK(call)                                                 \
	do {                                                           \
		int ret_ = (call);                                     \
		if (ret_ != 0)                                         \
			FAIL("%s returned %d (%s)", #call, ret_,       \
				strerror(-ret_));                      \
	} while (0)

/* Step the adapter and look again until the condition holds; else fail. */
#define WAIT_FOR(cond, milliseconds)                                   \
	do {                                                           \
		unsigned int left_ = (milliseconds);                   \
		while (!(cond)) {                                      \
			if (left_-- == 0)                              \
				FAIL("not within %u ms: %s",           \
					(unsigned int)(milliseconds),  \
					#cond);                        \
			settle();                                      \
			sleep_ms(1);                                   \
		}                                                      \
	} while (0)

void sleep_ms(unsigned int milliseconds);

/* Does EAL's memory come and go? */
bool eal_has_hugepages(void);

/* ---- pools; all must be whole again when the test ends ---- */

/* data_room without headroom. */
struct rte_mempool *pool_create(unsigned int mbufs, uint16_t data_room);
/* Also check this pool at the end; the harness frees it. */
void pool_adopt(struct rte_mempool *pool);
/* Check that the pool is whole and free it now. */
void pool_release(struct rte_mempool *pool);

#define POOL_CHUNK (256u << 10) /* 64 mbufs */
/*
 * A pool of mbufs of 2048 bytes in chunks of private memory with unmapped gaps in
 * between, so that no single region can cover it.
 */
struct rte_mempool *pool_in_chunks(const char *name, unsigned int chunks);
/* The same in an area that stays the caller's. */
uint8_t *area_reserve(unsigned int chunks);
struct rte_mempool *pool_over_area(const char *name, uint8_t *area, unsigned int chunks);

/* ---- ports: 0 and 1 here are the verbs ports 1 and 2 ---- */

struct port_conf {
	uint16_t rxq, txq;
	uint16_t rxd, txd;
	struct rte_mempool *pool;       /* of every RX queue */
	struct rte_eth_conf eth;
	uint64_t tx_queue_offloads;
	bool promiscuous;
};

/* One RX and one TX queue of 256, promiscuous. */
struct port_conf port_conf(struct rte_mempool *pool);

/* Probe the vdev of an adapter port; returns the ethdev port. */
uint16_t port_open(unsigned int which);
/* Probe with these arguments; returns what EAL returned. */
int port_probe(const char *name, const char *args);
void port_configure(uint16_t port, const struct port_conf *conf);
void port_start(uint16_t port, const struct port_conf *conf);
/* Stop (if started), close and remove; checks each. */
void port_close(uint16_t port);
/* open + configure + start. */
uint16_t port_up(unsigned int which, const struct port_conf *conf);
/* The same, of verbs port 1, with arguments besides the device: "" or ",key=value". */
uint16_t port_up_with(const char *name, const char *more_args,
	const struct port_conf *conf);
/* A port that the test probed itself, for the helpers; which is the verbs port. */
void port_adopt(uint16_t port, unsigned int verbs);
void port_disown(uint16_t port);
/* The verbs port behind an ethdev port of ours. */
unsigned int port_verbs(uint16_t port);
/* The Linux interface of the port. */
void port_netdev(uint16_t port, char name[16]);
const char *verbs_device(void);

/* ---- traffic ---- */

/* Run the adapter until it has nothing to do. */
void settle(void);
void wire_inject(uint16_t port, const void *frame, size_t length);
/* Poll until nothing more comes, stepping in between. */
unsigned int rx_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int max);
/* Poll all queues, free everything; returns how many came. */
unsigned int rx_discard(uint16_t port);
/* Send all, stepping when the ring is full; fails when the queue is stuck. */
void tx_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, unsigned int n);
/* One frame in by the wire and received whole; one sent and seen on the wire. */
void check_traffic(uint16_t port);

/* A chain with the given segment lengths that holds bytes in order. */
struct rte_mbuf *mbuf_chain(struct rte_mempool *pool, const uint16_t *lengths,
	unsigned int segments, const uint8_t *bytes);
struct rte_mbuf *mbuf_frame(struct rte_mempool *pool, const uint8_t *bytes, size_t length);
/* Compare a received packet, and check that the chain is well formed. */
void check_mbuf(const struct rte_mbuf *m, const uint8_t *bytes, size_t length);
void free_mbufs(struct rte_mbuf **pkts, unsigned int n);

/* ---- what a port sends ---- */

void capture_start(uint16_t port);
unsigned int capture_count(uint16_t port);
void capture_clear(uint16_t port);
const uint8_t *capture_frame(uint16_t port, unsigned int index, size_t *length);
/* Frame index is exactly these bytes (zero padding up to 60 B is allowed). */
void check_capture(uint16_t port, unsigned int index, const uint8_t *bytes, size_t length);

/* ---- counters ---- */

struct rte_eth_stats stats_of(uint16_t port);
/* Since the test began. */
struct vmlx4_port_stats wire_stats(uint16_t port);
struct vmlx4_object_counts object_counts(void);
/* An xstat by name; fails when there is none of that name. */
uint64_t xstat_of(uint16_t port, const char *name);
/*
 * A counter of a queue: "rx" or "tx", "packets", "bytes" or "errors". By its xstat, as
 * DPDK 25.11 took the counters of queues out of rte_eth_stats.
 */
uint64_t queue_xstat_of(uint16_t port, const char *direction, unsigned int queue,
	const char *what);

#endif /* TEST_PMD_HARNESS_H_ */
